"""Verify quotes: slice the source text again and compare it with `==`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from quoth.errors import OffsetMismatch
from quoth.types import Document, Quote

TextOf = Callable[[str], str | None]
"""Return the canonical text of the document with an id; None when there is no such document."""


def verify_quote(document: Document, quote: Quote) -> None:
    """Raise `OffsetMismatch` unless the document has exactly this text at exactly this span."""
    if document.quote(quote.span) != quote.text:
        raise OffsetMismatch(document.id, quote.span.start, quote.span.end)


@dataclass(frozen=True, slots=True)
class CitationMismatch:
    """A citation that differs from its source; `why` is for people."""

    question_id: str
    doc_id: str
    start: int
    end: int
    why: str


@dataclass(frozen=True, slots=True)
class Verification:
    citations: int
    failures: tuple[CitationMismatch, ...]


def verify_run(results: Iterable[Mapping[str, Any]], text_of: TextOf) -> Verification:
    """Check every citation in a run: answers, what stands beside them and other places, conflicts and nearest
    evidence, with their leads."""
    count = 0
    failures: list[CitationMismatch] = []
    for result in results:
        given_id = result.get("question_id")
        question_id = "" if given_id is None else str(given_id)
        if (why := _contradiction(result)) is not None:
            failures.append(CitationMismatch(question_id, "-", 0, 0, why))
        for citation in _citations(result):
            count += 1
            if (why := _why_wrong(citation, text_of)) is not None:
                location = (citation.get("doc_id"), citation.get("start"), citation.get("end"))
                failures.append(CitationMismatch(question_id, *location, why))  # type: ignore[arg-type]
    return Verification(count, tuple(failures))


def _contradiction(result: Mapping[str, Any]) -> str | None:
    """Return how a result contradicts itself, or None: its answer is not its citations, or it abstains and answers."""
    texts = [citation.get("text") for citation in result.get("answer_sentences") or ()]
    if "final_answer" in result and result["final_answer"] != "\n".join(map(str, texts)):
        return "its final_answer is not the quoted sentences"
    if "abstained" in result and bool(result["abstained"]) == bool(texts):
        return "it abstains and answers, or does neither"
    return None


def _citations(result: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    quoted, nearest, near = (result.get(name) or () for name in ("answer_sentences", "nearest", "see_also"))
    conflicts = (
        conflict.get("statements") if isinstance(conflict, Mapping) else conflict
        for conflict in _list(result.get("conflicts"))
    )
    # A malformed statement becomes an empty citation, which fails the check.
    sides = (side if isinstance(side, Mapping) else {} for statements in conflicts for side in _list(statements))
    for citation in (*quoted, *sides, *nearest, *near):
        yield citation
        if citation.get("lead"):
            yield {"doc_id": citation.get("doc_id"), **citation["lead"]}
        yield from (place if isinstance(place, Mapping) else {} for place in _list(citation.get("also")))


def _list(value: Any) -> list[Any]:  # noqa: ANN401 - any JSON
    return value if isinstance(value, list) else [] if value is None else [value]


def _why_wrong(citation: Mapping[str, Any], text_of: TextOf) -> str | None:
    doc_id, start, end, text = (citation.get(key) for key in ("doc_id", "start", "end", "text"))
    if not (isinstance(doc_id, str) and isinstance(start, int) and isinstance(end, int) and isinstance(text, str)):
        return "it has no doc_id, start, end and text"
    source = text_of(doc_id)
    if source is None:
        return "there is no such document"
    if not 0 <= start < end <= len(source):
        return f"it lies outside the document's {len(source)} characters"
    if source[start:end] != text:
        return f"the document says {_shortened(source[start:end])}, the citation {_shortened(text)}"
    if not all(_is_within(span, start, end) for span in _list(citation.get("highlights"))):
        return "its highlights are no parts of it"
    return None


def _is_within(span: Any, start: int, end: int) -> bool:  # noqa: ANN401 - any JSON
    match span:
        case [int(first), int(last)]:
            return start <= first < last <= end
    return False


def _shortened(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "…")
