"""Evaluate a run: every metric with its interval, the risk-coverage curve and the reliability diagram."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quoth.evaluation.bootstrap import QuestionGroups, groups_of, interval, resampled
from quoth.evaluation.curves import BINS, Flags, Floats, bin_of, ratio, risk_coverage
from quoth.evaluation.judgements import Judgement
from quoth.evaluation.measures import Metric, measures_of

COVERAGES = tuple(percent / 100 for percent in range(2, 101, 2))
"""The shares of answered questions at which the risk-coverage curve is drawn."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with the ends of its 95% interval; None where it is undefined."""

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class MetricValue:
    """A metric with its estimate over `counted` questions (or citations)."""

    key: str
    group: str
    title: str
    better: str
    counted: int
    figure: Estimate


@dataclass(frozen=True, slots=True)
class RiskPoint:
    """The risk at the strictest threshold that answers at least the share `coverage`."""

    coverage: float
    risk: Estimate


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """The questions with a confidence from `low` to `high`: their count, mean confidence and share of right answers."""

    low: float
    high: float
    count: int
    confidence: float | None
    right: Estimate


@dataclass(frozen=True, slots=True)
class Evaluation:
    """The evaluation of a run. `judged` is ordered by question id, so that the order of a file does not matter.

    `absent` gives the reason for each metric that could not be computed; `notes` holds remarks for the reader.
    """

    judged: tuple[Judgement, ...]
    measures: tuple[MetricValue, ...]
    absent: tuple[tuple[str, str], ...]
    curve: tuple[RiskPoint, ...]
    reliability: tuple[ReliabilityBin, ...]
    grouped_by: str
    groups: int
    notes: tuple[str, ...]

    def measure(self, key: str) -> MetricValue | None:
        return next((metric for metric in self.measures if metric.key == key), None)


def evaluate(judged: Sequence[Judgement], *, notes: Sequence[str]) -> Evaluation:
    """Compute every metric of a run; the order of the judgements does not matter."""
    ordered = in_order(judged)
    measures, absent = measures_of(ordered)
    groups = groups_of([judgement.labelled for judgement in ordered])
    confidence = np.array([judgement.confidence for judgement in ordered])
    right = np.array([judgement.right for judgement in ordered])
    bins = (bin_of(confidence)[:, None] == np.arange(BINS)) & np.array(
        [[judgement.fault is None] for judgement in ordered]
    )

    def statistic(weights: Floats) -> Floats:
        columns = [figures(measures, weights), _risks(confidence, right, weights), _shares(right, bins, weights)]
        return np.concatenate(columns, axis=1)

    plain = statistic(np.ones((1, len(ordered))))[0]
    spread = resampled(groups, statistic)
    estimates = [estimate(value, spread[:, column]) for column, value in enumerate(plain)]
    ends = len(measures), len(measures) + len(COVERAGES)
    return Evaluation(
        judged=ordered,
        measures=tuple(
            MetricValue(metric.key, metric.group, metric.title, metric.better, metric.counted, figure)
            for metric, figure in zip(measures, estimates[: ends[0]], strict=True)
        ),
        absent=tuple(absent.items()),
        curve=tuple(map(RiskPoint, COVERAGES, estimates[ends[0] : ends[1]])),
        reliability=_reliability(confidence, bins, estimates[ends[1] :]),
        grouped_by=groups.by,
        groups=groups.count,
        notes=(*notes, *_remarks(ordered, groups)),
    )


def in_order(judged: Sequence[Judgement]) -> tuple[Judgement, ...]:
    """Sort by question id: floating-point sums depend on their order, and the result must not depend on a file's."""
    return tuple(sorted(judged, key=lambda judgement: judgement.labelled.question.id))


def figures(measures: Sequence[Metric], weights: Floats) -> Floats:
    """Return the figures of all metrics: a row for each row of weights, a column for each metric."""
    return np.stack([metric.of(weights) for metric in measures], axis=1)


def rounded(value: float | None) -> float | None:
    """Round to six decimals, which hides floating-point noise; None for None, NaN and infinity."""
    return None if value is None or not np.isfinite(value) else round(float(value), 6) + 0.0


def estimate(value: float, spread: Floats) -> Estimate:
    """Return a figure with the interval of its resampled values."""
    ends = interval(spread) if np.isfinite(value) else None
    low, high = ends or (None, None)
    return Estimate(rounded(value), rounded(low), rounded(high))


def _risks(confidence: Floats, right: Flags, weights: Floats) -> Floats:
    """Return the risk at each of `COVERAGES`, taken at the first threshold that answers so many."""
    curve = risk_coverage(confidence, ~right, weights)
    wanted = np.array(COVERAGES) - 1e-9
    places = [np.searchsorted(row, wanted) for row in curve.coverage]
    return np.stack([risk[np.minimum(place, len(risk) - 1)] for risk, place in zip(curve.risk, places, strict=True)])


def _shares(right: Flags, bins: Flags, weights: Floats) -> Floats:
    """Return the share of right answers in each bin."""
    above = np.einsum("rq,qb->rb", weights, (bins & right[:, None]).astype(np.float64))
    return ratio(above, np.einsum("rq,qb->rb", weights, bins.astype(np.float64)))


def _reliability(confidence: Floats, bins: Flags, shares: Sequence[Estimate]) -> tuple[ReliabilityBin, ...]:
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


def _remarks(judged: Sequence[Judgement], groups: QuestionGroups) -> list[str]:
    remarks = []
    if faults := sum(judgement.fault is not None for judgement in judged):
        remarks.append(f"{faults} of {len(judged)} questions have no result and count as wrong")
    if any(judgement.origin is not None and not judgement.origin.calibrated for judgement in judged):
        remarks.append("the confidence is not calibrated: here its probabilities may be too high or too low")
    if groups.count < len(judged):
        remarks.append(f"intervals resample {groups.count} groups of questions with the same {groups.by}")
    return remarks
