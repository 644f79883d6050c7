"""What the adapters have in common: opening an index, asking it, and what they tell of each text they hand over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from quoth.corpus.authority import supersessions
from quoth.errors import SettingsError
from quoth.interfaces.python import Quoth
from quoth.questions import checked_day
from quoth.render import DECIMALS, citation_json
from quoth.render_retrieval import found_json
from quoth.types import Answer, Citation, Conflict, Filters, FoundPassage, Outcome, Question, Retrieval, Span

Kind = Literal["passages", "sentences"]
"""Passages to read (`Quoth.retrieve`), or the quoted sentences of an answer (`Quoth.ask`)."""

Texts = str | Sequence[str]
"""A lone text stands for a list of one."""

_RENAMED = {"section_hierarchy": "section", "page_number": "page", "source": "found_by", "score": "relevance_score"}
"""One name for both kinds; `source` means the document in other frameworks, here it was what found the passage."""


SHARED = (
    "kind",
    "chunk_id",
    "doc_id",
    "start",
    "end",
    "offset_unit",
    "doc_sha256",
    "title",
    "document_name",
    "document_type",
    "section",
    "section_title",
    "page",
    "is_binding",
    "authority",
    "effective_date",
    "superseded_by",
    "conflicts",
    "relevance_score",
)
"""What the metadata of both kinds begins with, in this order."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A verbatim text with its stable id, its absolute score and all that is known of it.

    `text` is the document's text from `metadata["start"]` to `metadata["end"]`, in code points.
    """

    id: str
    text: str
    score: float
    metadata: dict[str, Any]


def opened(index: Quoth | str | Path, settings: Mapping[str, object] | None) -> Quoth:
    """The index itself where it is open already; `NoIndex` when there is none at a place."""
    if not isinstance(index, Quoth):
        return Quoth.open(index, settings=settings)
    if settings:
        raise SettingsError(
            "an index that is open has its settings already", hint="Give them to Quoth.open, or give the place here."
        )
    return index


def checked_kind(kind: str) -> Kind:
    known: Kind
    for known in get_args(Kind):
        if kind == known:
            return known
    raise SettingsError(f"there is no kind '{kind}'", hint='Use "passages" or "sentences".')


def checked_most(most: int | None) -> int | None:
    if most is not None and most < 1:
        raise SettingsError(f"at most {most} is too few", hint="Give 1 or more, or None for what the settings say.")
    return most


def filters_of(
    *,
    doc_ids: Texts,
    document_types: Texts,
    tags: Mapping[str, Texts] | None,
    as_of: str | None,
) -> Filters:
    """`QuestionError` when `as_of` is no day."""
    return Filters(
        doc_ids=texts_of(doc_ids),
        tags={facet: texts_of(values) for facet, values in (tags or {}).items()},
        document_types=texts_of(document_types),
        is_binding=None,
        as_of=None if as_of is None else checked_day(as_of),
    )


def texts_of(value: Texts) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def find(quoth: Quoth, query: str, *, kind: Kind, filters: Filters, most: int | None) -> list[Evidence]:
    """The texts for a question, in the order of the result; none where nothing was found, or for an abstention.

    `most` leaves no sentence without the one that completes it: those come together, the first ones in any case.
    """
    question = Question("1", query, filters)
    if kind == "passages":
        return _passages(quoth.retrieve(question, most=most))
    return _sentences(quoth.ask(question), most=most)


def _passages(retrieval: Retrieval) -> list[Evidence]:
    return [
        Evidence(one.passage.id, one.content, one.relevance, _passage_metadata(one, retrieval))
        for one in retrieval.passages
    ]


def _sentences(outcome: Outcome, *, most: int | None) -> list[Evidence]:
    if not isinstance(outcome, Answer):
        return []
    return [
        Evidence(one.sentence.id, one.sentence.text, one.score, _sentence_metadata(one, outcome))
        for one in _whole(outcome.citations, most)
    ]


def _whole(citations: Sequence[Citation], most: int | None) -> list[Citation]:
    """The first citations, at most `most`, each with its companions or not at all; the first is never left out."""
    together: dict[str, list[Citation]] = {}
    for one in citations:
        together.setdefault(one.companion_of or one.sentence.id, []).append(one)
    kept: set[str] = set()
    for group in together.values():
        if most is not None and kept and len(kept) + len(group) > most:
            break
        kept |= {one.sentence.id for one in group}
    return [one for one in citations if one.sentence.id in kept]


def _passage_metadata(one: FoundPassage, retrieval: Retrieval) -> dict[str, Any]:
    told = found_json(one)
    del told["content"]
    told |= {
        "kind": "passage",
        "title": one.document.metadata.title,
        "conflicts": _conflicts(one.passage.doc_id, one.passage.span, retrieval.conflicts),
        "status": retrieval.status.value,
    }
    return _ordered(told)


def _sentence_metadata(one: Citation, answer: Answer) -> dict[str, Any]:
    about, sentence = one.metadata, one.sentence
    told = citation_json(one)
    del told["text"]
    replaced = supersessions(about, sentence.section)
    # What `citation_json` tells only in a profile with authority is told of every document here, as of a passage.
    told |= {
        "kind": "sentence",
        "chunk_id": sentence.id,
        "title": about.title,
        "document_name": about.title or sentence.doc_id,
        "document_type": about.document_type,
        "section_title": sentence.section[-1] if sentence.section else None,
        "is_binding": about.is_binding if one.authority is None else one.authority == "binding",
        "authority": one.authority,
        "effective_date": about.effective_date,
        "superseded_by": [{"section": each.section, "by": each.by} for each in replaced] or None,
        "conflicts": _conflicts(sentence.doc_id, sentence.quote.span, answer.conflicts),
        "confidence": round(answer.confidence, DECIMALS),
    }
    return _ordered(told)


def _conflicts(doc_id: str, span: Span, conflicts: Sequence[Conflict]) -> list[str]:
    """What other sources in force say against a statement inside `span`, in words for people."""
    return [
        conflict.detail
        for conflict in conflicts
        if any(
            one.sentence.doc_id == doc_id and span.start <= one.sentence.quote.span.start < span.end
            for one in conflict.statements
        )
    ]


def _ordered(told: Mapping[str, Any]) -> dict[str, Any]:
    named = {_RENAMED.get(name, name): value for name, value in told.items()} | {"offset_unit": "codepoint"}
    return {name: named[name] for name in SHARED} | named
