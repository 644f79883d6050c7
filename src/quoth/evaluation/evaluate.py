"""An evaluation: every measure of a run with its interval, the risk-coverage curve and the reliability diagram."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quoth.evaluation.bootstrap import Groups, groups_of, interval, resampled
from quoth.evaluation.curves import BINS, Flags, Floats, bin_of, ratio, risk_coverage
from quoth.evaluation.measures import Measure, measures_of
from quoth.evaluation.run import Judged

COVERAGES = tuple(percent / 100 for percent in range(2, 101, 2))
"""Where the risk-coverage curve is drawn."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A value with the ends of its 95% interval; None where it is undefined."""

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class Measured:
    """A measure and its figure over `counted` questions (or citations)."""

    key: str
    group: str
    title: str
    better: str
    counted: int
    figure: Figure


@dataclass(frozen=True, slots=True)
class RiskPoint:
    """The risk of the strictest threshold that answers at least `coverage`."""

    coverage: float
    risk: Figure


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """The questions with a confidence from `low` to `high`: how many, how sure on average, and what share is right."""

    low: float
    high: float
    count: int
    confidence: float | None
    right: Figure


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What a run is worth. `judged` is ordered by question id, so that the order of any file leaves no trace.

    `absent` says of measures that could not be taken why; `notes` is what else a reader must know.
    """

    judged: tuple[Judged, ...]
    measures: tuple[Measured, ...]
    absent: tuple[tuple[str, str], ...]
    curve: tuple[RiskPoint, ...]
    reliability: tuple[ReliabilityBin, ...]
    grouped_by: str
    groups: int
    notes: tuple[str, ...]

    def measure(self, key: str) -> Measured | None:
        return next((one for one in self.measures if one.key == key), None)


def evaluate(judged: Sequence[Judged], *, notes: Sequence[str]) -> Evaluation:
    """Measure a run; the same judgements give the same evaluation in whatever order they come."""
    ordered = in_order(judged)
    measures, absent = measures_of(ordered)
    groups = groups_of([one.labelled for one in ordered])
    confidence = np.array([one.confidence for one in ordered])
    right = np.array([one.right for one in ordered])
    bins = (bin_of(confidence)[:, None] == np.arange(BINS)) & np.array([[one.fault is None] for one in ordered])

    def statistic(weights: Floats) -> Floats:
        columns = [figures(measures, weights), _risks(confidence, right, weights), _shares(right, bins, weights)]
        return np.concatenate(columns, axis=1)

    plain = statistic(np.ones((1, len(ordered))))[0]
    spread = resampled(groups, statistic)
    found = [_figure(value, spread[:, column]) for column, value in enumerate(plain)]
    ends = len(measures), len(measures) + len(COVERAGES)
    return Evaluation(
        judged=ordered,
        measures=tuple(
            Measured(one.key, one.group, one.title, one.better, one.counted, figure)
            for one, figure in zip(measures, found[: ends[0]], strict=True)
        ),
        absent=tuple(absent.items()),
        curve=tuple(map(RiskPoint, COVERAGES, found[ends[0] : ends[1]])),
        reliability=_reliability(confidence, bins, found[ends[1] :]),
        grouped_by=groups.by,
        groups=groups.count,
        notes=(*notes, *_remarks(ordered, groups)),
    )


def in_order(judged: Sequence[Judged]) -> tuple[Judged, ...]:
    """By question id: sums of floating point depend on their order, and a file's order must not."""
    return tuple(sorted(judged, key=lambda one: one.labelled.question.id))


def figures(measures: Sequence[Measure], weights: Floats) -> Floats:
    """One row for each row of weights, one column for each measure."""
    return np.stack([one.of(weights) for one in measures], axis=1)


def rounded(value: float | None) -> float | None:
    """Six decimals, so that the noise of floating point never shows; None for what is not a number."""
    return None if value is None or not np.isfinite(value) else round(float(value), 6) + 0.0


def _figure(value: float, spread: Floats) -> Figure:
    ends = interval(spread) if np.isfinite(value) else None
    return Figure(rounded(value), rounded(ends[0]) if ends else None, rounded(ends[1]) if ends else None)


def _risks(confidence: Floats, right: Flags, weights: Floats) -> Floats:
    """The risk at each of `COVERAGES`: that of the first threshold which answers so many."""
    curve = risk_coverage(confidence, ~right, weights)
    wanted = np.array(COVERAGES) - 1e-9
    places = [np.searchsorted(row, wanted) for row in curve.coverage]
    return np.stack([risk[np.minimum(place, len(risk) - 1)] for risk, place in zip(curve.risk, places, strict=True)])


def _shares(
    right: Flags,
    bins: Flags,
    weights: Floats,
) -> Floats:
    """The share of right answers in each bin."""
    above = np.einsum("rq,qb->rb", weights, (bins & right[:, None]).astype(np.float64))
    return ratio(above, np.einsum("rq,qb->rb", weights, bins.astype(np.float64)))


def _reliability(confidence: Floats, bins: Flags, shares: Sequence[Figure]) -> tuple[ReliabilityBin, ...]:
    return tuple(
        ReliabilityBin(
            low=number / BINS,
            high=(number + 1) / BINS,
            count=int(bins[:, number].sum()),
            confidence=rounded(float(confidence[bins[:, number]].mean())) if bins[:, number].any() else None,
            right=share,
        )
        for number, share in enumerate(shares)
    )


def _remarks(judged: Sequence[Judged], groups: Groups) -> list[str]:
    remarks = []
    if faults := sum(one.fault is not None for one in judged):
        remarks.append(f"{faults} of {len(judged)} questions have no result and count as wrong")
    if any(one.origin is not None and not one.origin.calibrated for one in judged):
        remarks.append("the confidence is not calibrated: here its probabilities may be too high or too low")
    if groups.count < len(judged):
        remarks.append(f"intervals resample {groups.count} groups of questions with the same {groups.by}")
    return remarks
