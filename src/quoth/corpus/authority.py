"""Authority: what a document is worth, and whether a part of it has been replaced."""

from __future__ import annotations

from quoth.profile import Profile
from quoth.text.fold import fold
from quoth.types import DocumentInfo, Metadata, Sentence, Statement, Supersession


def supersessions(metadata: Metadata, section: tuple[str, ...]) -> tuple[Supersession, ...]:
    """What replaces the text under these headings: the whole document's successors and the section's own."""
    return tuple(one for one in metadata.superseded_by if one.section is None or _names(one.section, section))


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


def statement_of(sentence: Sentence, document: DocumentInfo, profile: Profile) -> Statement:
    """A sentence with what its document is worth, ready to be compared with what others state."""
    metadata = document.metadata
    return Statement(
        sentence,
        metadata.title or document.id,
        authority_of(metadata, profile),
        in_force=not is_superseded(metadata, sentence.section),
    )


def _names(wanted: str, section: tuple[str, ...]) -> bool:
    """Whether one of the headings is the wanted section: `Section 7.3` is not `Section 7.31`."""
    target = fold(wanted).strip()
    return any(
        (heading := fold(one)).startswith(target) and not heading[len(target) : len(target) + 1].isalnum()
        for one in section
    )
