"""Compare two runs on the same questions: what differs, and whether chance alone would explain it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from math import comb
from typing import Any

import numpy as np

from quoth.errors import QuothError
from quoth.evaluation.evaluate import Estimate, estimate, figures, groups_of, in_order, resampled, rounded, two_sided
from quoth.evaluation.judgements import Judgement, faulty
from quoth.evaluation.measures import Floats, Metric, measures_of
from quoth.evaluation.saved_runs import MISSING

SIGNIFICANT = 0.05
COMPARISON = "quoth-comparison-1"


@dataclass(frozen=True, slots=True)
class SignTest:
    """On how many questions each run does better, and the exact two-sided probability of so uneven a split by chance.

    For a metric that is either right or wrong for each question this is McNemar's test.
    """

    first: int
    second: int
    p: float


@dataclass(frozen=True, slots=True)
class Difference:
    """A metric in both runs, and second minus first with its paired 95% interval; `p` comes from the bootstrap.

    `verdict` describes the second run: "better", "worse", "different" (where neither is good), or "" when the
    difference may be chance. `sign_test` is None for a figure that no single question has.
    """

    key: str
    group: str
    title: str
    first: float | None
    second: float | None
    difference: Estimate
    p: float | None
    sign_test: SignTest | None
    verdict: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs compared. `only_first` and `only_second` are ids that the other run lacks, where they count as wrong."""

    questions: int
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    differences: tuple[Difference, ...]
    not_compared: tuple[str, ...]
    grouped_by: str
    groups: int


def compare(first: Sequence[Judgement], second: Sequence[Judgement]) -> Comparison:
    """Compute the paired difference of every metric that both runs have."""
    own, others = _paired(first, second), _paired(second, first)
    measured, measured_others = measures_of(own)[0], measures_of(others)[0]
    by_key = {metric.key: metric for metric in measured_others}
    pairs = [(metric, by_key[metric.key]) for metric in measured if metric.key in by_key]
    left = [metric for metric, _ in pairs]
    right = [other for _, other in pairs]
    groups = groups_of([judgement.labelled for judgement in own])

    def statistic(weights: Floats) -> Floats:
        return figures(right, weights) - figures(left, weights)

    plain = np.ones((1, len(own)))
    values = np.stack([figures(left, plain)[0], figures(right, plain)[0]])
    spread = resampled(groups, statistic)
    keys = {metric.key for metric in left}
    return Comparison(
        questions=len(own),
        only_first=tuple(sorted(_ids(first) - _ids(second))),
        only_second=tuple(sorted(_ids(second) - _ids(first))),
        differences=tuple(_difference(pair, values[:, column], spread[:, column]) for column, pair in enumerate(pairs)),
        not_compared=tuple(metric.key for metric in (*measured, *measured_others) if metric.key not in keys),
        grouped_by=groups.by,
        groups=groups.count,
    )


def _paired(own: Sequence[Judgement], other: Sequence[Judgement]) -> tuple[Judgement, ...]:
    """Return a judgement for every question of either run, by id; `QuothError` where its labels differ."""
    judged = {judgement.labelled.question.id: judgement for judgement in own}
    for judgement in other:
        item = judgement.labelled
        mine = judged.setdefault(item.question.id, faulty(item, MISSING)).labelled
        if (mine.question.text, mine.answerable, mine.gold) != (item.question.text, item.answerable, item.gold):
            raise QuothError(
                f"question '{item.question.id}' is not the same in both runs",
                hint="Compare runs over one set; after its labels have changed, evaluate both anew.",
            )
    return in_order(list(judged.values()))


def _ids(judged: Iterable[Judgement]) -> set[str]:
    return {judgement.labelled.question.id for judgement in judged}


def _difference(pair: tuple[Metric, Metric], values: Floats, spread: Floats) -> Difference:
    metric, other = pair
    change = estimate(values[1] - values[0], spread)
    p = two_sided(spread) if change.value is not None else None
    if p is not None and not np.any(spread[np.isfinite(spread)]):
        p = 1.0  # the same in every resample
    return Difference(
        key=metric.key,
        group=metric.group,
        title=metric.title,
        first=rounded(values[0]),
        second=rounded(values[1]),
        difference=change,
        p=rounded(p),
        sign_test=sign_test(metric, other),
        verdict=_verdict(metric.better, change.value, p),
    )


def sign_test(metric: Metric, other: Metric) -> SignTest | None:
    """Compare question by question where both count; "better" follows the metric (higher where neither is good)."""
    if metric.each is None or other.each is None:
        return None
    change = other.each - metric.each
    higher, lower = int(np.count_nonzero(change > 1e-9)), int(np.count_nonzero(change < -1e-9))
    first, second = (higher, lower) if metric.better == "lower" else (lower, higher)
    return SignTest(first, second, round(exact_binomial(min(first, second), first + second), 6))


def exact_binomial(fewer: int, total: int) -> float:
    """Return the two-sided probability that a fair coin splits `total` throws at least as unevenly; 1 for no throws."""
    tail = sum(comb(total, count) for count in range(fewer + 1))
    return min(1.0, 2 * tail / (1 << total))


def _verdict(better: str, change: float | None, p: float | None) -> str:
    if not change or p is None or p >= SIGNIFICANT:
        return ""
    if not better:
        return "different"
    return "better" if (change > 0) == (better == "higher") else "worse"


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    return {
        "format": COMPARISON,
        "questions": comparison.questions,
        "only_first": list(comparison.only_first),
        "only_second": list(comparison.only_second),
        "bootstrap": {"grouped_by": comparison.grouped_by, "groups": comparison.groups},
        "differences": {
            difference.key: {
                name: value for name, value in asdict(difference).items() if name not in {"key", "verdict"}
            }
            | {"verdict": difference.verdict or None}
            for difference in comparison.differences
        },
        "not_compared": list(comparison.not_compared),
    }
