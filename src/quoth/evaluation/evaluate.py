"""Evaluate a run: every metric with its interval, the risk-coverage curve and the reliability diagram."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quoth.evaluation.judgements import Judgement
from quoth.evaluation.labelled_questions import LabelledQuestion, same_words
from quoth.evaluation.measures import BINS, Flags, Floats, Metric, bin_of, measures_of, ratio, risk_coverage

COVERAGES = tuple(percent / 100 for percent in range(2, 101, 2))
"""The shares of answered questions at which the risk-coverage curve is drawn."""
RESAMPLES = 1_000
SEED = 20_210_417
LEVEL = 0.95
FEWEST_GROUPS = 20
"""With fewer groups than this, a finer grouping is used: resampling few groups says little."""
_CELLS = 4_000_000
"""The most weights held in memory at a time."""


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

    `absent` gives the reason for each metric that could not be computed; `notes` holds remarks for the reader. `curve`
    holds for each of `COVERAGES` the risk at the strictest threshold that answers at least this share.
    """

    judged: tuple[Judgement, ...]
    measures: tuple[MetricValue, ...]
    absent: tuple[tuple[str, str], ...]
    curve: tuple[tuple[float, Estimate], ...]
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
        curve=tuple(zip(COVERAGES, estimates[ends[0] : ends[1]], strict=True)),
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


# Bootstrap intervals: how far a figure would move if other questions of the same kind had been asked.


@dataclass(frozen=True, slots=True, eq=False)
class QuestionGroups:
    """Questions that are right or wrong together: `of` is the group number of each question, from 0."""

    by: str
    of: NDArray[np.intp]

    @property
    def count(self) -> int:
        return int(self.of.max()) + 1


def groups_of(items: Sequence[LabelledQuestion]) -> QuestionGroups:
    """Group questions by the documents they are restricted to, else by their text, else not at all.

    The first grouping with at least `FEWEST_GROUPS` groups is used.
    """
    keys: dict[str, list[str]] = {
        "document": ["\n".join(sorted(item.question.filters.doc_ids)) or f"?{item.question.id}" for item in items],
        "question text": [same_words(item) for item in items],
        "question": [item.question.id for item in items],
    }
    if not any(item.question.filters.doc_ids for item in items):
        del keys["document"]
    by = next((name for name, key in keys.items() if len(set(key)) >= FEWEST_GROUPS), "question")
    return QuestionGroups(by, np.unique(keys[by], return_inverse=True)[1].astype(np.intp))


def resampled(groups: QuestionGroups, statistic: Callable[[Floats], Floats]) -> Floats:
    """Compute a statistic for every resample; it maps rows of weights to rows of figures. The seed is fixed."""
    return np.concatenate([statistic(weights) for weights in _weights(groups)])


def _weights(groups: QuestionGroups) -> Iterator[Floats]:
    """Yield how often each question is drawn when all groups are resampled with replacement."""
    generator = np.random.default_rng(SEED)
    rows = max(1, _CELLS // len(groups.of))
    for begin in range(0, RESAMPLES, rows):
        size = min(rows, RESAMPLES - begin)
        drawn = generator.integers(0, groups.count, size=(size, groups.count))
        flat = np.bincount((drawn + np.arange(size)[:, None] * groups.count).ravel(), minlength=size * groups.count)
        yield flat.reshape(size, groups.count)[:, groups.of].astype(np.float64)


def interval(values: Floats) -> tuple[float, float] | None:
    """Return the middle 95% of the resampled figures; None when none is finite."""
    known = values[np.isfinite(values)]
    if not len(known):
        return None
    low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def two_sided(differences: Floats) -> float | None:
    """Return the two-sided bootstrap p-value of a difference from 0; None when no difference is finite."""
    known = differences[np.isfinite(differences)]
    if not len(known):
        return None
    tail = min(np.count_nonzero(known <= 0), np.count_nonzero(known >= 0))
    return float(min(1.0, 2 * (tail + 1) / (len(known) + 1)))
