"""Right and wrong answers, counted, and what they prove about the true share of wrong ones.

Questions that stand alone make the number of wrong answers binomial, which gives an exact test.

Questions in groups (about one document, in the same words) are wrong together and right together; only the groups are
independent. For a group with n answers, w of them wrong, let z = w - risk * n. If the true share of wrong answers is
above the risk, z is above 0 on average; then a bet on the opposite, which multiplies a fortune by 1 - b * z for each
group, does not gain on average, and a fortune of 1 grows to 1 / p or more with probability at most p. So 1 / fortune
is a valid p-value, whatever happens within the groups. The bet b is small enough that no group can ruin the fortune,
which is divided among several bets at the start, since the best one is not known.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

_BETS = np.array([0.999, 0.7, 0.5, 0.35, 0.25, 0.12, 0.06])
"""Shares of the highest bet that no group can lose everything with."""


@dataclass(frozen=True, slots=True)
class Tally:
    """Answers given and wrong ones among them. `groups` holds both for each group, None when all stand alone.

    `largest` is how many questions the largest group has, answered or not.
    """

    answered: int
    wrong: int
    groups: tuple[tuple[int, int], ...] | None
    largest: int

    def p_value(self, risk: float) -> float:
        """How likely so few wrong answers are, at most, if their true share is above the risk."""
        if self.groups is None:
            return tail(self.wrong, self.answered, risk)
        return _bets(self.groups, self.largest, risk)

    def bound(self, level: float) -> float:
        """The share of wrong answers from which on so few of them would come up with at most `level`; 1 for none."""
        lowest = self.wrong / self.answered if self.answered else 1.0
        return _crossing(self.p_value, level, lowest)


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


def tail(wrong: int, answered: int, risk: float) -> float:
    """P(Binomial(answered, risk) <= wrong), summed exactly up to rounding."""
    if wrong >= answered or risk <= 0:
        return 1.0
    if risk >= 1:
        return 0.0
    whole = math.lgamma(answered + 1)
    terms = (
        whole
        - math.lgamma(count + 1)
        - math.lgamma(answered - count + 1)
        + count * math.log(risk)
        + (answered - count) * math.log1p(-risk)
        for count in range(wrong + 1)
    )
    return min(1.0, math.fsum(map(math.exp, terms)))


def upper_bound(wrong: int, answered: int, level: float) -> float:
    """The Clopper-Pearson bound of a binomial share."""
    return Tally(answered, wrong, None, 1).bound(level)


def _crossing(p_value: Callable[[float], float], level: float, lowest: float) -> float:
    """Where a falling p-value comes down to the level."""
    low, high = lowest, 1.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (low, middle) if p_value(middle) <= level else (middle, high)
    return high
