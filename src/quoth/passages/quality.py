"""How good a retrieval looks without knowing the right answer, and how good many look together."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from statistics import fmean, median
from typing import Any

from quoth.types import FoundBy, Retrieval, Status

TOP = 5
RELEVANT_ABOVE = 0.6
DECIMALS = 4


class QualityMeasure(StrEnum):
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
class SourceRelevance:
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
    `full_text_only` and `vector_only` count the passages among the first five that only one kind of search found.
    `sources` has every source, over all passages.
    """

    status: Status
    top1: float
    relevant: int
    full_text_only: int
    vector_only: int
    sources: Mapping[FoundBy, SourceRelevance]
    degraded: tuple[str, ...]

    def value(self, measure: QualityMeasure) -> float:
        value: float = getattr(self, measure.value)
        return value

    def grade(self, measure: QualityMeasure) -> Grade:
        value = self.value(measure)
        on_target, is_red = _LIMITS[measure]
        if on_target(value):
            return Grade.TARGET
        return Grade.RED if is_red(value) else Grade.OK

    @property
    def flags(self) -> tuple[str, ...]:
        """The name of each red flag, such as `top1_low`, in the order of the measures."""
        endings = {QualityMeasure.TOP1: "low", QualityMeasure.RELEVANT: "few"}
        return tuple(
            f"{measure}_{endings.get(measure) or ('all' if self.value(measure) else 'none')}"
            for measure in QualityMeasure
            if self.grade(measure) is Grade.RED
        )


_LIMITS: Mapping[QualityMeasure, tuple[Callable[[float], bool], Callable[[float], bool]]] = {
    QualityMeasure.TOP1: (lambda value: value > 0.75, lambda value: value < 0.5),
    QualityMeasure.RELEVANT: (lambda value: value >= 3, lambda value: value <= 1),
    QualityMeasure.FULL_TEXT_ONLY: ({1, 2}.__contains__, {0, TOP}.__contains__),
    QualityMeasure.VECTOR_ONLY: ({2, 3}.__contains__, {0, TOP}.__contains__),
}
"""When a value is on target, and when it is red."""


def quality_of(retrieval: Retrieval) -> Quality:
    """Return the signs of a retrieval, its passages taken in the order in which they are given."""
    passages = retrieval.passages
    top = Counter(found.source for found in passages[:TOP])
    return Quality(
        status=retrieval.status,
        top1=passages[0].relevance if passages else 0.0,
        relevant=sum(found.relevance > RELEVANT_ABOVE for found in passages),
        full_text_only=top[FoundBy.FULL_TEXT],
        vector_only=top[FoundBy.VECTOR],
        sources={
            source: _together(SourceRelevance(1, found.relevance) for found in passages if found.source is source)
            for source in FoundBy
        },
        degraded=retrieval.degraded,
    )


@dataclass(frozen=True, slots=True)
class MeasureSummary:
    """One measure over many retrievals; `on_target` and `red` are shares of them, from 0 to 1."""

    mean: float
    median: float
    on_target: float
    red: float


@dataclass(frozen=True, slots=True)
class QualitySummary:
    """Many retrievals. `measures` is empty if there are none; `degraded` counts retrievals that lack a part."""

    queries: int
    measures: Mapping[QualityMeasure, MeasureSummary]
    sources: Mapping[FoundBy, SourceRelevance]
    statuses: Mapping[Status, int]
    flags: Mapping[str, int]
    degraded: int


def summary_of(qualities: Iterable[Quality]) -> QualitySummary:
    """Summarise the qualities; their order makes no difference."""
    every = tuple(qualities)
    statuses = Counter(quality.status for quality in every)
    flags = Counter(flag for quality in every for flag in quality.flags)
    return QualitySummary(
        queries=len(every),
        measures={measure: _measured(measure, every) for measure in QualityMeasure} if every else {},
        sources={source: _together(quality.sources[source] for quality in every) for source in FoundBy},
        statuses={status: statuses[status] for status in Status},
        flags=dict(sorted(flags.items())),
        degraded=sum(bool(quality.degraded) for quality in every),
    )


def _measured(measure: QualityMeasure, qualities: tuple[Quality, ...]) -> MeasureSummary:
    values = [quality.value(measure) for quality in qualities]
    grades = [quality.grade(measure) for quality in qualities]
    target, red = (grades.count(grade) / len(grades) for grade in (Grade.TARGET, Grade.RED))
    return MeasureSummary(fmean(values), float(median(values)), target, red)


def _together(tallies: Iterable[SourceRelevance]) -> SourceRelevance:
    every = tuple(tallies)
    return SourceRelevance(sum(tally.count for tally in every), math.fsum(tally.total for tally in every))


def quality_json(quality: Quality) -> dict[str, Any]:
    """One retrieval's signs, with the grade of each and the red flags."""
    return {
        "status": quality.status.value,
        "measures": {
            measure.value: {"value": round(quality.value(measure), DECIMALS), "grade": quality.grade(measure).value}
            for measure in QualityMeasure
        },
        "sources": _sources_json(quality.sources),
        "degraded": list(quality.degraded),
        "flags": list(quality.flags),
    }


def summary_json(summary: QualitySummary) -> dict[str, Any]:
    return {
        "queries": summary.queries,
        "measures": {
            measure.value: {name: round(value, DECIMALS) for name, value in asdict(figures).items()}
            for measure, figures in summary.measures.items()
        },
        "sources": _sources_json(summary.sources),
        "statuses": {status.value: count for status, count in summary.statuses.items()},
        "flags": dict(summary.flags),
        "degraded": summary.degraded,
    }


def _sources_json(sources: Mapping[FoundBy, SourceRelevance]) -> dict[str, Any]:
    return {
        source.value: {
            "count": tally.count,
            "mean_relevance": None if tally.mean is None else round(tally.mean, DECIMALS),
        }
        for source, tally in sources.items()
    }
