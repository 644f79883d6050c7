"""From labelled questions to a threshold with a guarantee.

The promise: with probability `confidence` over the draw of the labelled questions, at most the share `risk` of the
questions that are answered at the threshold is answered wrongly. It needs one thing only: that the labelled and the
future questions, or the groups that they come in, are drawn independently from the same source.

Why it holds. Fix a threshold t before looking at any question, and call r the share of wrong answers among those whose
confidence reaches t. Given that n of the labelled questions are answered at t, the number of wrong ones is binomial
(n, r). If r were above the risk, a number w as low as the one seen would come up with a probability of at most
p = P(Binomial(n, risk) <= w); so rejecting "r is above the risk" when p is at most some level errs at most that often.
For questions in groups `tally` has a p-value of its own.

Many thresholds are tried. They are fixed in advance and tested from the strictest to the loosest, and the level
1 - confidence is shared out among fixed starts. A threshold that is rejected hands its level on to the next one; a
threshold that is not keeps it, and testing goes on at the next start with that start's own share. For the first
threshold in the order whose r really is above the risk, and for every later one, the level at hand comes from starts
behind the previous such threshold, which kept all it had. So each share is spent on one wrong rejection at most, and
the probability of any is at most the sum of the shares (the fallback procedure, as a refinement of fixed-sequence
testing in learn-then-test). Nothing is assumed about the confidence: a bad one only means that little is certified.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from quoth.evaluation.tally import Tally, tail


def _threshold(percent: int) -> float:
    """Half of a ten-thousandth below a percentage: confidences have four decimals, so none lies on a threshold."""
    return max(0, 1_000 * percent - 5) / 100_000


THRESHOLDS = tuple(_threshold(percent) for percent in range(99, -1, -1))
"""From the strictest to the loosest; never chosen by looking at questions."""
STARTS = tuple(_threshold(percent) for percent in (90, 75, 60, 45, 30))
"""Where testing begins anew, each with an equal share of the level."""


@dataclass(frozen=True, slots=True)
class Trial:
    """One labelled question, asked with no threshold in force.

    `answered` is false when another check refused it: then no threshold makes it answered. `wrong` means that the
    sentences, quoted or withheld, do not answer the question, or that nothing could.
    """

    confidence: float
    answered: bool
    wrong: bool


@dataclass(frozen=True, slots=True)
class Step:
    """One threshold: how many questions are answered at it, how many of them wrongly, and whether it is certified.

    It is not `tested` where the one before did not pass and no start is; its `level` is then that of a start.
    """

    threshold: float
    tally: Tally
    level: float
    tested: bool
    certified: bool

    @property
    def answered(self) -> int:
        return self.tally.answered

    @property
    def wrong(self) -> int:
        return self.tally.wrong

    @property
    def bound(self) -> float:
        """What the share of wrong answers is shown to stay below, at this level."""
        return self.tally.bound(self.level)


@dataclass(frozen=True, slots=True)
class Certification:
    """Every threshold from the strictest to the loosest, tested together for one promise."""

    risk: float
    confidence: float
    steps: tuple[Step, ...]

    @property
    def best(self) -> Step | None:
        """The loosest threshold that is certified; None when none is."""
        return next((step for step in reversed(self.steps) if step.certified), None)

    @property
    def nearest(self) -> Step:
        """The threshold with the lowest bound; the one that answers most among equals."""
        return min(self.steps, key=lambda step: (step.bound, -step.answered, -step.threshold))


def certify(
    trials: Sequence[Trial], *, risk: float, confidence: float, groups: Sequence[str] | None = None
) -> Certification:
    """Test every threshold; all that are certified hold together with the given confidence.

    `groups` names the group of each trial; None means that the questions were drawn one by one.
    """
    share = (1 - confidence) / len(STARTS)
    steps: list[Step] = []
    carried = 0.0
    tally_at = _counter(trials, groups)
    for threshold in THRESHOLDS:
        level = carried + (share if threshold in STARTS else 0.0)
        tally = tally_at(threshold, level > 0)
        passed = level > 0 and tally.p_value(risk) <= level
        steps.append(Step(threshold, tally, level or share, tested=level > 0, certified=passed))
        carried = level if passed else 0.0
    return Certification(risk, confidence, tuple(steps))


def _counter(trials: Sequence[Trial], groups: Sequence[str] | None) -> Callable[[float, bool], Tally]:
    """What is answered at a threshold; where it is not tested the groups are left uncounted, and prove nothing."""
    confidences = np.array([one.confidence if one.answered else -np.inf for one in trials])
    wrong = np.array([one.wrong for one in trials], dtype=np.bool_)
    names, group = np.unique(np.array(groups or range(len(trials))), return_inverse=True)
    largest = int(np.bincount(group, minlength=1).max())

    def tally_at(threshold: float, tested: bool) -> Tally:
        given = confidences >= threshold
        answered, bad = int(given.sum()), int((given & wrong).sum())
        if largest == 1:  # groups of one question each are no groups
            return Tally(answered, bad, None, 1)
        if not tested:
            return Tally(answered, bad, (), largest)
        counts = np.stack([np.bincount(group[mask], minlength=len(names)) for mask in (given, given & wrong)], axis=1)
        return Tally(answered, bad, tuple((a, b) for a, b in counts.tolist() if a), largest)

    return tally_at


def fewest(risk: float, confidence: float, *, wrong: int = 0) -> int:
    """How many answered questions a start needs to pass with so many wrong ones: with fewer, nothing can be shown.

    Of questions in groups at least so many groups are needed.
    """
    share = (1 - confidence) / len(STARTS)
    low, high = wrong, wrong + 1
    while tail(wrong, high, risk) > share:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if tail(wrong, middle, risk) <= share else (middle, high)
    return high
