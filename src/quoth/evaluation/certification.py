"""Certify a confidence threshold: with probability `confidence` over the draw of the labelled questions, at most the
share `risk` of the questions answered at the threshold is answered wrongly.

The argument is in docs/calibration.md, "Why the promise holds". It needs that the labelled and the future questions, or
the groups they come in, are drawn independently from the same source, and that every threshold is fixed in advance.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

_BETS = np.array([0.999, 0.7, 0.5, 0.35, 0.25, 0.12, 0.06])
"""Shares of the highest bet that no group can lose everything with."""


@dataclass(frozen=True, slots=True)
class AnswerCounts:
    """How many questions were answered, and how many of them wrongly.

    `groups` holds both numbers for each group, None when the questions stand alone. `largest` is the number of
    questions in the largest group, answered or not.
    """

    answered: int
    wrong: int
    groups: tuple[tuple[int, int], ...] | None
    largest: int

    def p_value(self, risk: float) -> float:
        """Return an upper limit of the probability of so few wrong answers if their true share is above the risk."""
        if self.groups is None:
            return binomial_tail(self.wrong, self.answered, risk)
        return _bets(self.groups, self.largest, risk)

    def bound(self, level: float) -> float:
        """Return the upper confidence bound of the share of wrong answers at `level`; 1 without answers."""
        low, high = self.wrong / self.answered if self.answered else 1.0, 1.0
        while high - low > 1e-9:  # the p-value falls as the risk grows
            middle = (low + high) / 2
            low, high = (low, middle) if self.p_value(middle) <= level else (middle, high)
        return high


def _bets(groups: tuple[tuple[int, int], ...], largest: int, risk: float) -> float:
    if not groups or risk <= 0:
        return 1.0
    if risk >= 1:
        return 0.0
    counts = np.array(groups, dtype=np.float64)
    z = counts[:, 1] - risk * counts[:, 0]
    bets = _BETS / ((1 - risk) * largest)
    fortunes = np.log1p(-bets[:, None] * z).sum(axis=1)
    most = float(fortunes.max())
    return min(1.0, math.exp(-most) / float(np.exp(fortunes - most).mean()))


def binomial_tail(wrong: int, answered: int, risk: float) -> float:
    """P(Binomial(answered, risk) <= wrong), summed exactly up to rounding."""
    if wrong >= answered or risk <= 0:
        return 1.0
    if risk >= 1:
        return 0.0
    terms = (
        math.lgamma(answered + 1)
        - math.lgamma(count + 1)
        - math.lgamma(answered - count + 1)
        + count * math.log(risk)
        + (answered - count) * math.log1p(-risk)
        for count in range(wrong + 1)
    )
    return min(1.0, math.fsum(map(math.exp, terms)))


def _threshold(percent: int) -> float:
    """Return half a ten-thousandth below a percentage: confidences have four decimals, so none equals a threshold."""
    return max(0, 1_000 * percent - 5) / 100_000


THRESHOLDS = tuple(_threshold(percent) for percent in range(99, -1, -1))
"""From the strictest to the loosest; never chosen by looking at questions."""
STARTS = tuple(_threshold(percent) for percent in (90, 75, 60, 45, 30))
"""The thresholds where testing starts again, each with an equal share of the level."""


@dataclass(frozen=True, slots=True)
class CalibrationTrial:
    """One labelled question, asked with no threshold in force.

    `answered` is false when another check refused it: then no threshold makes it answered. `wrong` means that the
    sentences, quoted or withheld, do not answer the question, or that nothing could.
    """

    confidence: float
    answered: bool
    wrong: bool


@dataclass(frozen=True, slots=True)
class ThresholdTest:
    """A threshold: how many questions are answered at it, how many wrongly, and whether it is certified.

    It is not `tested` when the threshold before it failed and it is no start; `level` is then the share of a start.
    """

    threshold: float
    counts: AnswerCounts
    level: float
    tested: bool
    certified: bool

    @property
    def answered(self) -> int:
        return self.counts.answered

    @property
    def wrong(self) -> int:
        return self.counts.wrong

    @property
    def bound(self) -> float:
        """Return the upper bound of the share of wrong answers at this level."""
        return self.counts.bound(self.level)


@dataclass(frozen=True, slots=True)
class Certification:
    """Every threshold from the strictest to the loosest, tested together for one promise."""

    risk: float
    confidence: float
    steps: tuple[ThresholdTest, ...]

    @property
    def best(self) -> ThresholdTest | None:
        """Return the loosest certified threshold; None when none is certified."""
        return next((step for step in reversed(self.steps) if step.certified), None)

    @property
    def nearest(self) -> ThresholdTest:
        """Return the threshold with the lowest bound; among equals, the one that answers most."""
        return min(self.steps, key=lambda step: (step.bound, -step.answered, -step.threshold))


def certify(
    trials: Sequence[CalibrationTrial], *, risk: float, confidence: float, groups: Sequence[str] | None = None
) -> Certification:
    """Test every threshold; all that are certified hold together with the given confidence.

    `groups` names the group of each trial; None means that the questions were drawn one by one.
    """
    share = (1 - confidence) / len(STARTS)
    steps: list[ThresholdTest] = []
    carried = 0.0
    counts_at = _counter(trials, groups)
    for threshold in THRESHOLDS:
        level = carried + (share if threshold in STARTS else 0.0)
        counts = counts_at(threshold, level > 0)
        passed = level > 0 and counts.p_value(risk) <= level
        steps.append(ThresholdTest(threshold, counts, level or share, tested=level > 0, certified=passed))
        carried = level if passed else 0.0
    return Certification(risk, confidence, tuple(steps))


def _counter(trials: Sequence[CalibrationTrial], groups: Sequence[str] | None) -> Callable[[float, bool], AnswerCounts]:
    """Return a function that counts the answers at a threshold; it skips the groups where nothing is tested."""
    confidences = np.array([trial.confidence if trial.answered else -np.inf for trial in trials])
    wrong = np.array([trial.wrong for trial in trials], dtype=np.bool_)
    names, group = np.unique(np.array(groups or range(len(trials))), return_inverse=True)
    largest = int(np.bincount(group, minlength=1).max())

    def counts_at(threshold: float, tested: bool) -> AnswerCounts:
        given = confidences >= threshold
        answered, bad = int(given.sum()), int((given & wrong).sum())
        if largest == 1 or not tested:  # groups of one question each are no groups
            return AnswerCounts(answered, bad, None if largest == 1 else (), largest)
        counts = np.stack([np.bincount(group[mask], minlength=len(names)) for mask in (given, given & wrong)], axis=1)
        return AnswerCounts(answered, bad, tuple((a, b) for a, b in counts.tolist() if a), largest)

    return counts_at


def fewest(risk: float, confidence: float, *, wrong: int = 0) -> int:
    """Return how many questions (or groups) must be answered for a start to pass with `wrong` wrong answers."""
    share = (1 - confidence) / len(STARTS)
    return bisect_left(range(2**40), True, lo=wrong + 1, key=lambda count: binomial_tail(wrong, count, risk) <= share)
