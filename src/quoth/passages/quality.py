"""How good a retrieval looks without knowing the right answer, and how good many look together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean, median
from typing import Any

from quoth.types import FoundPassage, Retrieval, Source, Status

TOP = 5
RELEVANT_ABOVE = 0.6
DECIMALS = 4


class Measure(StrEnum):
    """What is watched. The last two are counted among the first five passages."""

    TOP1 = "top1"
    RELEVANT = "relevant"
    FULL_TEXT_ONLY = "full_text_only"
    VECTOR_ONLY = "vector_only"


class Grade(StrEnum):
    TARGET = "target"
    OK = "ok"
    RED = "red"


@dataclass(frozen=True, slots=True)
class Tally:
    """How many passages, and the sum of their relevance."""

    count: int
    total: float

    @property
    def mean(self) -> float | None:
        return self.total / self.count if self.count else None


@dataclass(frozen=True, slots=True)
class Quality:
    """The signs of one retrieval.

    `top1` is the relevance of the first passage, 0 where there is none; `relevant` counts the passages above 0.6;
    `full_text_only` and `vector_only` count, among the first five, those that only one way of searching found.
    `sources` has every source, over all passages.
    """

    status: Status
    top1: float
    relevant: int
    full_text_only: int
    vector_only: int
    sources: Mapping[Source, Tally]
    degraded: tuple[str, ...]

    def value(self, measure: Measure) -> float:
        values: dict[Measure, float] = {
            Measure.TOP1: self.top1,
            Measure.RELEVANT: self.relevant,
            Measure.FULL_TEXT_ONLY: self.full_text_only,
            Measure.VECTOR_ONLY: self.vector_only,
        }
        return values[measure]

    def grade(self, measure: Measure) -> Grade:
        value = self.value(measure)
        match measure:
            case Measure.TOP1:
                return _grade(target=value > 0.75, red=value < 0.5)
            case Measure.RELEVANT:
                return _grade(target=value >= 3, red=value <= 1)
            case Measure.FULL_TEXT_ONLY:
                return _grade(target=value in {1, 2}, red=value in {0, TOP})
            case Measure.VECTOR_ONLY:
                return _grade(target=value in {2, 3}, red=value in {0, TOP})

    @property
    def flags(self) -> tuple[str, ...]:
        """The name of each red flag, such as `top1_low`, in the order of the measures."""
        return tuple(self._flag(measure) for measure in Measure if self.grade(measure) is Grade.RED)

    def _flag(self, measure: Measure) -> str:
        match measure:
            case Measure.TOP1:
                return "top1_low"
            case Measure.RELEVANT:
                return "relevant_few"
            case Measure.FULL_TEXT_ONLY | Measure.VECTOR_ONLY:
                return f"{measure}_none" if self.value(measure) == 0 else f"{measure}_all"


def _grade(*, target: bool, red: bool) -> Grade:
    if target:
        return Grade.TARGET
    return Grade.RED if red else Grade.OK


def quality_of(retrieval: Retrieval) -> Quality:
    """The signs of a retrieval, its passages taken in the order in which they are given."""
    passages = retrieval.passages
    top = Counter(one.source for one in passages[:TOP])
    return Quality(
        status=retrieval.status,
        top1=passages[0].relevance if passages else 0.0,
        relevant=sum(one.relevance > RELEVANT_ABOVE for one in passages),
        full_text_only=top[Source.FULL_TEXT],
        vector_only=top[Source.VECTOR],
        sources={source: _tally(one for one in passages if one.source is source) for source in Source},
        degraded=retrieval.degraded,
    )


def _tally(passages: Iterable[FoundPassage]) -> Tally:
    scores = [one.relevance for one in passages]
    return Tally(len(scores), math.fsum(scores))


@dataclass(frozen=True, slots=True)
class MeasureSummary:
    """One measure over many retrievals; `on_target` and `red` are shares of them, from 0 to 1."""

    mean: float
    median: float
    on_target: float
    red: float


@dataclass(frozen=True, slots=True)
class QualitySummary:
    """Many retrievals together. `measures` is empty when there are none; `degraded` counts those that lacked a part."""

    queries: int
    measures: Mapping[Measure, MeasureSummary]
    sources: Mapping[Source, Tally]
    statuses: Mapping[Status, int]
    flags: Mapping[str, int]
    degraded: int


def summary_of(qualities: Iterable[Quality]) -> QualitySummary:
    """The qualities together; their order makes no difference."""
    every = tuple(qualities)
    statuses = Counter(one.status for one in every)
    flags = Counter(flag for one in every for flag in one.flags)
    return QualitySummary(
        queries=len(every),
        measures={measure: _measured(measure, every) for measure in Measure} if every else {},
        sources={source: _together(one.sources[source] for one in every) for source in Source},
        statuses={status: statuses[status] for status in Status},
        flags=dict(sorted(flags.items())),
        degraded=sum(bool(one.degraded) for one in every),
    )


def _measured(measure: Measure, qualities: tuple[Quality, ...]) -> MeasureSummary:
    values = [one.value(measure) for one in qualities]
    grades = Counter(one.grade(measure) for one in qualities)
    share = {grade: grades[grade] / len(qualities) for grade in Grade}
    return MeasureSummary(fmean(values), float(median(values)), share[Grade.TARGET], share[Grade.RED])


def _together(tallies: Iterable[Tally]) -> Tally:
    every = tuple(tallies)
    return Tally(sum(one.count for one in every), math.fsum(one.total for one in every))


def quality_json(quality: Quality) -> dict[str, Any]:
    """One retrieval's signs, with the grade of each and the red flags."""
    return {
        "status": quality.status.value,
        "measures": {
            measure.value: {"value": _rounded(quality.value(measure)), "grade": quality.grade(measure).value}
            for measure in Measure
        },
        "sources": _sources_json(quality.sources),
        "degraded": list(quality.degraded),
        "flags": list(quality.flags),
    }


def summary_json(summary: QualitySummary) -> dict[str, Any]:
    return {
        "queries": summary.queries,
        "measures": {
            measure.value: {
                "mean": _rounded(one.mean),
                "median": _rounded(one.median),
                "on_target": _rounded(one.on_target),
                "red": _rounded(one.red),
            }
            for measure, one in summary.measures.items()
        },
        "sources": _sources_json(summary.sources),
        "statuses": {status.value: count for status, count in summary.statuses.items()},
        "flags": dict(summary.flags),
        "degraded": summary.degraded,
    }


def _sources_json(sources: Mapping[Source, Tally]) -> dict[str, Any]:
    return {
        source.value: {"count": one.count, "mean_relevance": None if one.mean is None else _rounded(one.mean)}
        for source, one in sources.items()
    }


def _rounded(value: float) -> float:
    return round(value, DECIMALS)
