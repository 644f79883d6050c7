"""The authority of documents, and the documents that supersede them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from quoth.domain.profile import Profile
from quoth.language.numbering import LABEL, label_name
from quoth.language.words import fold
from quoth.protocols import Reader
from quoth.types import NO_FILTERS, DocumentInfo, Filters, Metadata, Ranked, Sentence, Statement, Supersession

_LABELLED = re.compile(rf"(?P<label>{LABEL})\s*(?=[\dA-Z(])")


def supersessions(metadata: Metadata, section: tuple[str, ...]) -> tuple[Supersession, ...]:
    """Return the supersessions of the text under these headings: of the whole document and of the section."""
    return tuple(
        successor
        for successor in metadata.superseded_by
        if successor.section is None or names_section(successor.section, section)
    )


def is_superseded(metadata: Metadata, section: tuple[str, ...]) -> bool:
    return bool(supersessions(metadata, section))


def authority_of(metadata: Metadata, profile: Profile) -> str | None:
    """Return `binding`, `guidance`, `precedent`, ...; None in a profile without authority.

    The `is_binding` of the document wins over its type.
    """
    if profile.authority is None:
        return None
    if metadata.is_binding:
        return "binding"
    declared = profile.document_types.get(metadata.document_type or "")
    if declared is None or (metadata.is_binding is False and declared.authority == "binding"):
        return "guidance"
    return declared.authority


def is_binding(metadata: Metadata, profile: Profile) -> bool | None:
    """Return whether a document is binding by its own metadata, else by its type; None when neither shows it."""
    declared = profile.document_types.get(metadata.document_type or "")
    if metadata.is_binding is not None or declared is None or profile.authority is None:
        return metadata.is_binding
    return declared.authority == "binding"


def type_by_title(lines: Iterable[str], profile: Profile) -> str | None:
    """Return the document type that a title names; None if no line does, or in a profile without authority.

    The first line that names one decides, and in it what comes first: a `First Amendment to the Declaration` is an
    amendment.
    """
    if profile.authority is None:
        return None
    for line in lines:
        words = " ".join(fold(line).split())
        named = [
            (found.start(), -found.end(), name)
            for name, declared in profile.document_types.items()
            for pattern in declared.titled_by
            if (found := pattern.search(words))
        ]
        if named:
            return min(named)[2]
    return None


def statement_of(sentence: Sentence, document: DocumentInfo, profile: Profile) -> Statement:
    """Return a sentence with the authority of its document, to compare with other statements."""
    metadata = document.metadata
    return Statement(
        sentence,
        metadata.title or document.id,
        authority_of(metadata, profile),
        authority_guessed=metadata.type_guessed,
        in_force=not is_superseded(metadata, sentence.section),
    )


def names_section(wanted: str, section: tuple[str, ...]) -> bool:
    """Return whether a heading names the wanted section: `7.3 Fences` names `Section 7.3`, `Section 7.31` does not."""
    return any(_same_section(wanted, heading) for heading in section)


@lru_cache(maxsize=4096)
def _same_section(wanted: str, heading: str) -> bool:
    (label, target), (other, text) = _parted(wanted), _parted(heading)
    if (label and other and label != other) or not text.startswith(target):
        return False
    # A section includes its subsections: `9` includes `9.9` and `9(b)`, but not `91` or `9a`.
    return bool(target) and not re.match(r"\w", text[len(target) :])


def _parted(written: str) -> tuple[str, str]:
    """Split the name of a section into its label and the rest, folded: `§ 7.3 Fences` into `Section`, `7.3 fences`."""
    match = _LABELLED.match(written.strip())
    label, rest = (label_name(match["label"]), written.strip()[match.end() :]) if match else ("", written.strip())
    return label, " ".join(fold(rest).split())


def successors_of(ranked: Sequence[Ranked], reader: Reader) -> tuple[str, ...]:
    """Return the ids of the documents in force that replace the best sentence; () when it is in force itself."""
    best = min(
        ranked,
        key=lambda candidate: (-candidate.relevance, candidate.sentence.doc_id, candidate.sentence.quote.span),
        default=None,
    )
    if best is None:
        return ()
    about = next(iter(reader.documents([best.sentence.doc_id])), None)
    direct = supersessions(about.metadata, best.sentence.section) if about else ()
    return last_of_chain([successor.by for successor in direct], reader)


def within_successors(filters: Filters, successors: Sequence[str]) -> Filters | None:
    """Return filters for a search in the successors alone; None when `filters.doc_ids` excludes them all.

    The other filters are dropped, except `as_of`: a successor may have another type or other tags.
    """
    wanted = [doc_id for doc_id in successors if not filters.doc_ids or doc_id in filters.doc_ids]
    return replace(NO_FILTERS, doc_ids=tuple(sorted(wanted)), as_of=filters.as_of) if wanted else None


def last_of_chain(doc_ids: Sequence[str], reader: Reader) -> tuple[str, ...]:
    """Follow supersessions from `doc_ids` and return the documents that nothing replaces.

    Where documents replace each other in a circle, return `doc_ids` themselves. Documents that the index does not hold
    are left out.
    """
    seen: dict[str, bool] = {}
    waiting = list(doc_ids)
    while waiting:
        infos = reader.documents(waiting)
        waiting = []
        for info in infos:
            further = [successor.by for successor in info.metadata.superseded_by if successor.section is None]
            seen[info.id] = bool(further)
            waiting += [doc_id for doc_id in further if doc_id not in seen]
    last = tuple(doc_id for doc_id, replaced in seen.items() if not replaced)
    return last or tuple(doc_id for doc_id in doc_ids if doc_id in seen)
