"""Shared by the adapters: opening an index, asking it, and the metadata of each text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

from quoth.domain.authority import supersessions
from quoth.errors import SettingsError
from quoth.library import Quoth
from quoth.output.render import DECIMALS, citation_json, found_json
from quoth.types import Answer, Citation, Conflict, Filters, FoundPassage, Question, Retrieval, Span

EvidenceKind = Literal["passages", "sentences"]
"""Passages to read (`Quoth.retrieve`), or the quoted sentences of an answer (`Quoth.ask`)."""

Texts = str | Sequence[str]
"""One text, or several."""

_RENAMED = {"section_hierarchy": "section", "page_number": "page", "source": "found_by", "score": "relevance_score"}
"""One name for both kinds. Other frameworks call the document `source`; in a passage it is what found the passage."""

SHARED = (
    *"kind chunk_id doc_id start end offset_unit doc_sha256 title document_name document_type section".split(),
    *"section_title page is_binding authority effective_date superseded_by conflicts relevance_score".split(),
)
"""The first names in the metadata of both kinds, in this order."""


@dataclass(frozen=True, slots=True)
class CitedEvidence:
    """A verbatim text with a stable id, an absolute score and metadata.

    `text` is the document's text from `metadata["start"]` to `metadata["end"]`, in code points.
    """

    id: str
    text: str
    score: float
    metadata: dict[str, Any]


def opened(index: Quoth | str | Path, settings: Mapping[str, object] | None) -> Quoth:
    """Return `index` if it is open, else open it; raise `NoIndex` if there is none at that location."""
    if not isinstance(index, Quoth):
        return Quoth.open(index, settings=settings)
    if settings:
        raise SettingsError(
            "an index that is open has its settings already", hint="Give them to Quoth.open, or give the place here."
        )
    return index


def checked_kind(kind: str) -> EvidenceKind:
    """Return `kind`; raise `SettingsError` if there is no such kind."""
    if kind in get_args(EvidenceKind):
        return cast(EvidenceKind, kind)
    raise SettingsError(f"there is no kind '{kind}'", hint='Use "passages" or "sentences".')


def checked_most(most: int | None) -> int | None:
    if most is not None and most < 1:
        raise SettingsError(f"at most {most} is too few", hint="Give 1 or more, or None for what the settings say.")
    return most


def find(quoth: Quoth, query: str, *, kind: EvidenceKind, filters: Filters, most: int | None) -> list[CitedEvidence]:
    """Return the texts for a question, in the order of the result; none if nothing was found, or for an abstention.

    With `most`, a sentence and its companions are returned together or not at all, except that the first always are.
    """
    question = Question("1", query, filters)
    if kind == "passages":
        retrieval = quoth.retrieve(question, most=most)
        return [_passage(found, retrieval) for found in retrieval.passages]
    outcome = quoth.ask(question)
    if not isinstance(outcome, Answer):
        return []
    return [_sentence(citation, outcome) for citation in _whole_groups(outcome.citations, most)]


def _whole_groups(citations: Sequence[Citation], most: int | None) -> list[Citation]:
    """Return the first citations, at most `most`, without splitting companions; the first group is never left out."""
    groups: dict[str, list[Citation]] = {}
    for citation in citations:
        groups.setdefault(citation.companion_of or citation.sentence.id, []).append(citation)
    chosen: set[str] = set()
    for group in groups.values():
        if most is not None and chosen and len(chosen) + len(group) > most:
            break
        chosen |= {citation.sentence.id for citation in group}
    return [citation for citation in citations if citation.sentence.id in chosen]


def _passage(found: FoundPassage, retrieval: Retrieval) -> CitedEvidence:
    metadata = found_json(found)
    del metadata["content"]
    metadata |= {
        "kind": "passage",
        "title": found.document.metadata.title,
        "conflicts": _conflicts(found.passage.doc_id, found.passage.span, retrieval.conflicts),
        "status": retrieval.status.value,
    }
    return CitedEvidence(found.passage.id, found.content, found.relevance, _ordered(metadata))


def _sentence(citation: Citation, answer: Answer) -> CitedEvidence:
    document, sentence = citation.metadata, citation.sentence
    metadata = citation_json(citation)
    del metadata["text"]
    replaced = supersessions(document, sentence.section)
    # `citation_json` gives some of these only in a profile with authority; passages have them always.
    metadata |= {
        "kind": "sentence",
        "chunk_id": sentence.id,
        "title": document.title,
        "document_name": document.title or sentence.doc_id,
        "document_type": document.document_type,
        "section_title": sentence.section[-1] if sentence.section else None,
        "is_binding": document.is_binding if citation.authority is None else citation.authority == "binding",
        "authority": citation.authority,
        "authority_guessed": document.type_guessed,
        "effective_date": document.effective_date,
        "superseded_by": [{"section": successor.section, "by": successor.by} for successor in replaced] or None,
        "conflicts": _conflicts(sentence.doc_id, sentence.quote.span, answer.conflicts),
        "confidence": round(answer.confidence, DECIMALS),
    }
    return CitedEvidence(sentence.id, sentence.text, citation.score, _ordered(metadata))


def _conflicts(doc_id: str, span: Span, conflicts: Sequence[Conflict]) -> list[str]:
    """Return a description of each conflict with a statement that begins inside `span`."""
    return [
        conflict.detail
        for conflict in conflicts
        if any(
            side.sentence.doc_id == doc_id and span.start <= side.sentence.quote.span.start < span.end
            for side in conflict.statements
        )
    ]


def _ordered(metadata: Mapping[str, Any]) -> dict[str, Any]:
    named = {_RENAMED.get(name, name): value for name, value in metadata.items()} | {"offset_unit": "codepoint"}
    return {name: named[name] for name in SHARED} | named
