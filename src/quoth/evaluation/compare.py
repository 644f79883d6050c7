"""Two runs on the same questions: what differs, and whether chance alone would explain it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from quoth.errors import QuothError
from quoth.evaluation.bootstrap import groups_of, interval, resampled, two_sided
from quoth.evaluation.curves import Floats
from quoth.evaluation.evaluate import Figure, figures, in_order, rounded
from quoth.evaluation.measures import Measure, measures_of
from quoth.evaluation.recorded import MISSING
from quoth.evaluation.run import Judged, faulty
from quoth.evaluation.saved import figure_json

SIGNIFICANT = 0.05
COMPARISON = "quoth-comparison-1"


@dataclass(frozen=True, slots=True)
class SignTest:
    """On how many questions each run does better by itself, and the exact two-sided chance of so uneven a split.

    Of a measure that is right or wrong for each question this is McNemar's test.
    """

    first: int
    second: int
    p: float


@dataclass(frozen=True, slots=True)
class Difference:
    """A measure in both runs, and second minus first with its paired 95% interval; `p` is that of the bootstrap.

    `verdict` is "better", "worse" or "different" (where neither is good) of the second run, or "" where chance would
    do; `sign` is None for a figure that no single question has.
    """

    key: str
    group: str
    title: str
    first: float | None
    second: float | None
    difference: Figure
    p: float | None
    sign: SignTest | None
    verdict: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """`only_first` and `only_second` are the ids of questions that the other run lacks: there they count as wrong."""

    questions: int
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    differences: tuple[Difference, ...]
    not_compared: tuple[str, ...]
    grouped_by: str
    groups: int


def compare(first: Sequence[Judged], second: Sequence[Judged]) -> Comparison:
    """The paired differences of every measure that both runs have."""
    ones, others = _paired(first, second), _paired(second, first)
    measured, measured_others = measures_of(ones)[0], measures_of(others)[0]
    by_key = {one.key: one for one in measured_others}
    pairs = [(one, by_key[one.key]) for one in measured if one.key in by_key]
    left = [one for one, _ in pairs]
    right = [other for _, other in pairs]
    groups = groups_of([one.labelled for one in ones])

    def statistic(weights: Floats) -> Floats:
        return figures(right, weights) - figures(left, weights)

    plain = np.ones((1, len(ones)))
    values = np.stack([figures(left, plain)[0], figures(right, plain)[0]])
    spread = resampled(groups, statistic)
    keys = {one.key for one in left}
    return Comparison(
        questions=len(ones),
        only_first=_lacking(first, second),
        only_second=_lacking(second, first),
        differences=tuple(_difference(pair, values[:, column], spread[:, column]) for column, pair in enumerate(pairs)),
        not_compared=tuple(one.key for one in (*measured, *measured_others) if one.key not in keys),
        grouped_by=groups.by,
        groups=groups.count,
    )


def _paired(own: Sequence[Judged], other: Sequence[Judged]) -> tuple[Judged, ...]:
    """A result for every question of either run, by id; `QuothError` where the two labels of a question differ."""
    judged = {one.labelled.question.id: one for one in own}
    for one in other:
        item = one.labelled
        mine = judged.setdefault(item.question.id, faulty(item, MISSING)).labelled
        if (mine.question.text, mine.answerable, mine.gold) != (item.question.text, item.answerable, item.gold):
            raise QuothError(
                f"question '{item.question.id}' is not the same in both runs",
                hint="Compare runs over one set; after its labels have changed, evaluate both anew.",
            )
    return in_order(list(judged.values()))


def _lacking(own: Sequence[Judged], other: Sequence[Judged]) -> tuple[str, ...]:
    return tuple(sorted(_ids(own) - _ids(other)))


def _ids(judged: Iterable[Judged]) -> set[str]:
    return {one.labelled.question.id for one in judged}


def _difference(pair: tuple[Measure, Measure], values: Floats, spread: Floats) -> Difference:
    one, other = pair
    first, second = rounded(values[0]), rounded(values[1])
    change = rounded(values[1] - values[0])
    ends = interval(spread) if change is not None else None
    p = two_sided(spread) if change is not None else None
    if not np.any(spread[np.isfinite(spread)]):
        p = None if p is None else 1.0  # the same in every resample
    return Difference(
        key=one.key,
        group=one.group,
        title=one.title,
        first=first,
        second=second,
        difference=Figure(change, rounded(ends[0]) if ends else None, rounded(ends[1]) if ends else None),
        p=rounded(p),
        sign=sign_test(one, other),
        verdict=_verdict(one.better, change, p),
    )


def sign_test(one: Measure, other: Measure) -> SignTest | None:
    """Over the questions that count in both; "better" follows the measure (higher where neither is good)."""
    if one.each is None or other.each is None:
        return None
    change = other.each - one.each
    higher, lower = int(np.count_nonzero(change > 1e-9)), int(np.count_nonzero(change < -1e-9))
    first, second = (higher, lower) if one.better == "lower" else (lower, higher)
    return SignTest(first, second, round(exact_binomial(min(first, second), first + second), 6))


def exact_binomial(fewer: int, total: int) -> float:
    """The two-sided chance that a fair coin splits `total` throws at least as unevenly; 1 without throws."""
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
            one.key: {
                "group": one.group,
                "title": one.title,
                "first": one.first,
                "second": one.second,
                "difference": figure_json(one.difference),
                "p": one.p,
                "sign_test": {"first": one.sign.first, "second": one.sign.second, "p": one.sign.p}
                if one.sign
                else None,
                "verdict": one.verdict or None,
            }
            for one in comparison.differences
        },
        "not_compared": list(comparison.not_compared),
    }
