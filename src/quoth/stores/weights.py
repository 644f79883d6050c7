"""What a word of a question is worth, by one rule for every index that scores as tantivy does."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Sequence
from functools import cache

from quoth.stores.variants import Variant


def idf(evidence: int, held: int) -> float:
    """Of what `held` of all `evidence` sentences hold."""
    return math.log(1 + (evidence - held + 0.5) / (held + 0.5))


def weigh(
    variants: Sequence[Variant], evidence: int, *, held: Callable[[Variant], int]
) -> tuple[dict[Variant, float], float]:
    """The boost of each variant of a group that occurs, and the most that the group is worth: the idf of the word as
    asked, where it occurs.

    A synonym is never worth more than the word it stands for, or a rare one would outweigh the question.
    """
    occurring = {variant: found for variant in variants if (found := held(variant)) > 0}
    if not occurring:
        return {}, idf(evidence, 0)
    worth = idf(evidence, occurring.get(variants[0]) or max(occurring.values()))
    boosts = {}
    for variant, found in occurring.items():
        natural = sum(idf(evidence, held((token,))) for token in variant)
        boosts[variant] = min(worth, idf(evidence, found)) / natural
    return boosts, worth


def norm(length: int) -> int:
    """`length` as tantivy keeps it in one byte: exact up to 40, and then in ever larger steps."""
    norms = _norms()
    return norms[bisect.bisect_right(norms, length) - 1]


@cache
def _norms() -> tuple[int, ...]:
    norms = list(range(41))
    step = 2
    while len(norms) < 256:
        last = norms[-1]
        norms.extend(last + step * number for number in range(1, 9))
        step *= 2
    return tuple(norms)
