"""Questions put to the engine, or results of an earlier run, each judged against its gold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import isfinite
from typing import Any

from quoth.errors import QuothError
from quoth.evaluation.overlap import Place, touches
from quoth.evaluation.questions import Labelled
from quoth.evaluation.stages import Stages, stages_of
from quoth.interfaces.python import Quoth
from quoth.protocols import Progress
from quoth.render import outcome_json
from quoth.types import Evidence, Span
from quoth.verify import TextOf, verify_run

FAULT_CONFIDENCE = 1.0
"""A question without a result counts as a wrong answer given with the highest confidence, so that it never helps."""


@dataclass(frozen=True, slots=True)
class Quoted:
    """A sentence as it was quoted; `tags` are the main values."""

    doc_id: str
    span: Span
    text: str
    score: float
    tags: Mapping[str, str]

    @property
    def place(self) -> Place:
        return self.doc_id, self.span


@dataclass(frozen=True, slots=True)
class Exactness:
    """How many citations were sliced again from their sources, and how many of them do not hold."""

    citations: int
    inexact: int


@dataclass(frozen=True, slots=True)
class Origin:
    """What made a result: the profile, and the digests of the index and the settings."""

    profile: str
    index: str
    settings: str
    calibrated: bool


@dataclass(frozen=True, slots=True)
class Judged:
    """One question with what came of it.

    `quotes` are those of the answer, best first; of an abstention those that it withheld, or the nearest evidence where
    nothing was chosen. `right` means that the question is answerable and one of the quotes touches gold. `fault` says
    why there is no result (then it counts as a wrong answer, see `FAULT_CONFIDENCE`). `exactness`, `redundancy` (before
    and after selection) and `stages` are None where nobody could tell.
    """

    labelled: Labelled
    abstained: bool
    confidence: float
    right: bool
    quotes: tuple[Quoted, ...]
    reason: str | None
    detail: str | None
    fault: str | None
    exactness: Exactness | None
    redundancy: tuple[float, float] | None
    stages: Stages | None
    origin: Origin | None

    @property
    def answered(self) -> bool:
        """Whether an answer was given; a question without a result has none."""
        return not self.abstained and self.fault is None


def judge_each(quoth: Quoth, items: Sequence[Labelled], *, progress: Progress | None) -> tuple[Judged, ...]:
    """Ask every question and judge what comes of it, in the given order.

    One that raises is a fault and the others go on; what would stop all of them (the index, the model, the settings)
    is raised before the first.
    """
    quoth.prepare()
    text_of = texts_of(quoth)
    judged = []
    for done, item in enumerate(items, 1):
        judged.append(_judge_live(quoth, item, text_of))
        if progress:
            progress("asking", done, len(items))
    return tuple(judged)


def texts_of(quoth: Quoth) -> TextOf:
    """The texts of the index's documents; the last few are kept."""

    @lru_cache(maxsize=64)
    def text_of(doc_id: str) -> str | None:
        document = quoth.document(doc_id)
        return document.text if document else None

    return text_of


def _judge_live(quoth: Quoth, item: Labelled, text_of: TextOf) -> Judged:
    try:
        asked = quoth.explain(item.question)
    except Exception as error:  # whatever it is, it must be counted and not end the evaluation
        return faulty(item, f"{error.code if isinstance(error, QuothError) else type(error).__name__}: {error}")
    result = outcome_json(asked.outcome)
    judged = judge_result(item, result, text_of=text_of)
    if judged.fault is not None:
        return judged
    withheld = tuple(map(_from_evidence, asked.trace.selection.evidence)) if judged.abstained else ()
    quotes = withheld or judged.quotes
    return replace(judged, quotes=quotes, right=is_right(item, quotes), stages=stages_of(asked, item))


def _from_evidence(one: Evidence) -> Quoted:
    tags = {facet: values[0] for facet, values in one.sentence.tags.items()}
    return Quoted(one.sentence.doc_id, one.sentence.quote.span, one.sentence.text, round(one.score, 4), tags)


def judge_result(item: Labelled, result: Mapping[str, Any], *, text_of: TextOf | None) -> Judged:
    """Judge one JSON object of a run; exactness is known only with the sources. What is no result is a fault."""
    try:
        confidence = _confidence(result)
        abstained = result["abstained"]
        if not isinstance(abstained, bool):
            raise TypeError("abstained must be true or false")
        shown = result["answer_sentences"] or (result.get("nearest") if abstained else None) or []
        quotes = tuple(map(_from_citation, shown))
        code, detail = _reason(result.get("reason") or {})
        redundancy, origin = _notes(result.get("run_notes") or {})
        exactness = _exactness(result, text_of) if text_of else None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        return faulty(item, f"the result cannot be read: {type(error).__name__}: {error}")
    return Judged(
        labelled=item,
        abstained=abstained,
        confidence=confidence,
        right=is_right(item, quotes),
        quotes=quotes,
        reason=code,
        detail=detail,
        fault=None,
        exactness=exactness,
        redundancy=redundancy,
        stages=None,
        origin=origin,
    )


def faulty(item: Labelled, why: str) -> Judged:
    """A question without a result: wrong, with the highest confidence, and one citation that does not hold."""
    return Judged(
        labelled=item,
        abstained=False,
        confidence=FAULT_CONFIDENCE,
        right=False,
        quotes=(),
        reason=None,
        detail=None,
        fault=why,
        exactness=Exactness(1, 1),
        redundancy=None,
        stages=None,
        origin=None,
    )


def is_right(item: Labelled, quotes: Sequence[Quoted]) -> bool:
    """Whether the question can be answered and one of the quotes touches gold."""
    return item.answerable and any(touches(one.place, gold) for one in quotes for gold in item.gold)


def _confidence(result: Mapping[str, Any]) -> float:
    value = result["confidence"]
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or not 0 <= value <= 1:
        raise ValueError("confidence must be a number from 0 to 1")
    return float(value)


def _from_citation(content: Mapping[str, Any]) -> Quoted:
    doc_id, text, start, end = (content[name] for name in ("doc_id", "text", "start", "end"))
    if not isinstance(doc_id, str) or not isinstance(text, str):
        raise TypeError("doc_id and text must be texts")
    if type(start) is not int or type(end) is not int:
        raise TypeError("start and end must be whole numbers")
    tags = {str(facet): str(value) for facet, value in (content.get("tags") or {}).items()}
    score = float(content.get("score") or 0.0)
    return Quoted(doc_id, Span(start, end), text, score if isfinite(score) else 0.0, tags)


def _reason(reason: Mapping[str, Any]) -> tuple[str | None, str | None]:
    code, detail = reason.get("code"), reason.get("detail")
    return None if code is None else str(code), None if detail is None else str(detail)


def _notes(notes: Mapping[str, Any]) -> tuple[tuple[float, float] | None, Origin | None]:
    scores = notes.get("scores") or {}
    before, after = scores.get("redundancy_before"), scores.get("redundancy_after")
    redundancy = None if before is None or after is None else (float(before), float(after))
    if not all(isinstance(notes.get(name), str) for name in ("profile", "index", "settings")):
        return redundancy, None
    return redundancy, Origin(notes["profile"], notes["index"], notes["settings"], bool(notes.get("calibrated")))


def _exactness(result: Mapping[str, Any], text_of: TextOf) -> Exactness:
    checked = verify_run([result], text_of)
    # A result that says other words than it cites is one more thing that does not hold.
    contradictions = sum(failure.doc_id == "-" for failure in checked.failures)
    return Exactness(checked.citations + contradictions, len(checked.failures))
