"""Verification: slice the source again and compare with `==`, nothing softer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

from quoth.errors import OffsetMismatch
from quoth.types import Document, Quote

TextOf = Callable[[str], str | None]
"""The canonical text of a document, by its id; None when there is no such document."""


def verify_quote(document: Document, quote: Quote) -> None:
    """Raise `OffsetMismatch` unless the document holds exactly this text exactly there."""
    if document.quote(quote.span) != quote.text:
        raise OffsetMismatch(document.id, quote.span.start, quote.span.end)


@dataclass(frozen=True, slots=True)
class Failure:
    """A citation that does not hold, and why."""

    question_id: str
    doc_id: str
    start: int
    end: int
    why: str


@dataclass(frozen=True, slots=True)
class Verification:
    citations: int
    failures: tuple[Failure, ...]


def verify_run(results: Iterable[Mapping[str, Any]], text_of: TextOf) -> Verification:
    """Check every citation (answers, sides of conflicts and nearest evidence, with their leads) of a run's objects."""
    count = 0
    failures: list[Failure] = []
    for result in results:
        named = result.get("question_id")
        question_id = "" if named is None else str(named)
        if (why := _contradiction(result)) is not None:
            failures.append(Failure(question_id, "-", 0, 0, why))
        for citation in _citations(result):
            count += 1
            why = _why_wrong(citation, text_of)
            if why is not None:
                place = (citation.get("doc_id"), citation.get("start"), citation.get("end"))
                failures.append(Failure(question_id, *place, why))  # type: ignore[arg-type]
    return Verification(count, tuple(failures))


def _contradiction(result: Mapping[str, Any]) -> str | None:
    """What is wrong with a result as a whole: it says other words than it cites, or denies that it answers."""
    texts = [citation.get("text") for citation in result.get("answer_sentences") or ()]
    if "final_answer" in result and result["final_answer"] != "\n".join(map(str, texts)):
        return "its final_answer is not the quoted sentences"
    if "abstained" in result and bool(result["abstained"]) == bool(texts):
        return "it abstains and answers, or does neither"
    return None


def _citations(result: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    for citation in chain(result.get("answer_sentences") or (), _sides(result), result.get("nearest") or ()):
        yield citation
        if citation.get("lead"):
            yield {"doc_id": citation.get("doc_id"), **citation["lead"]}


def _sides(result: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    """What the sources say that disagree; one that is no citation at all is an empty one, which cannot hold."""
    for conflict in _list(result.get("conflicts")):
        for side in _list(conflict.get("statements") if isinstance(conflict, Mapping) else conflict):
            yield side if isinstance(side, Mapping) else {}


def _list(found: Any) -> list[Any]:  # noqa: ANN401 - any JSON
    return found if isinstance(found, list) else [] if found is None else [found]


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
    return None


def _shortened(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "…")
