"""Authority: what a document is worth, and whether a part of it has been replaced."""

from __future__ import annotations

import re
from functools import lru_cache

from quoth.profile import Profile
from quoth.text.fold import fold
from quoth.text.numerals import LABEL, label_name
from quoth.types import DocumentInfo, Metadata, Sentence, Statement, Supersession

_LABELLED = re.compile(rf"(?P<label>{LABEL})\s*(?=[\dA-Z(])")


def supersessions(metadata: Metadata, section: tuple[str, ...]) -> tuple[Supersession, ...]:
    """What replaces the text under these headings: the whole document's successors and the section's own."""
    return tuple(one for one in metadata.superseded_by if one.section is None or names_section(one.section, section))


def is_superseded(metadata: Metadata, section: tuple[str, ...]) -> bool:
    return bool(supersessions(metadata, section))


def authority_of(metadata: Metadata, profile: Profile) -> str | None:
    """`binding`, `guidance`, `precedent`, ...; the document's own word wins over its type's."""
    if profile.authority is None:
        return None
    if metadata.is_binding:
        return "binding"
    declared = profile.document_types.get(metadata.document_type or "")
    if declared is None or (metadata.is_binding is False and declared.authority == "binding"):
        return "guidance"
    return declared.authority


def is_binding(metadata: Metadata, profile: Profile) -> bool | None:
    """What the document says of itself, or else what its type says; None where neither does."""
    declared = profile.document_types.get(metadata.document_type or "")
    if metadata.is_binding is not None or declared is None or profile.authority is None:
        return metadata.is_binding
    return declared.authority == "binding"


def statement_of(sentence: Sentence, document: DocumentInfo, profile: Profile) -> Statement:
    """A sentence with what its document is worth, ready to be compared with what others state."""
    metadata = document.metadata
    return Statement(
        sentence,
        metadata.title or document.id,
        authority_of(metadata, profile),
        in_force=not is_superseded(metadata, sentence.section),
    )


def names_section(wanted: str, section: tuple[str, ...]) -> bool:
    """Whether one of the headings is the wanted section: `Section 7.3` is `7.3 Fences`, and not `Section 7.31`."""
    return any(_same_section(wanted, heading) for heading in section)


@lru_cache(maxsize=4096)
def _same_section(wanted: str, heading: str) -> bool:
    (label, target), (other, text) = _parted(wanted), _parted(heading)
    if (label and other and label != other) or not text.startswith(target):
        return False
    # What is below a section goes with it: `9` is `9.9` and `9(b)`, but not `91` or `9a`.
    return bool(target) and not re.match(r"\w", text[len(target) :])


def _parted(written: str) -> tuple[str, str]:
    """The label of a section, as one name, and the rest, folded: `§ 7.3 Fences` is `Section` and `7.3 fences`."""
    match = _LABELLED.match(written.strip())
    label, rest = (label_name(match["label"]), written.strip()[match.end() :]) if match else ("", written.strip())
    return label, " ".join(fold(rest).split())
