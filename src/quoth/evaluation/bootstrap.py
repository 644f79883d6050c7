"""Bootstrap: how far a figure would move if other questions of the same kind had been asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quoth.evaluation.curves import Floats
from quoth.evaluation.questions import Labelled

RESAMPLES = 1_000
SEED = 20_210_417
LEVEL = 0.95
FEWEST_GROUPS = 20
"""With fewer groups than this, resampling them says little; then a finer grouping is used."""
_CELLS = 4_000_000
"""Weights held in memory at a time."""


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Questions that stand or fall together: `of` is the group of each question, counted from 0."""

    by: str
    of: NDArray[np.intp]

    @property
    def count(self) -> int:
        return int(self.of.max()) + 1


def groups_of(items: Sequence[Labelled]) -> Groups:
    """By the documents that a question is confined to, else by its words, else each question alone.

    The first of these that makes at least `FEWEST_GROUPS` groups is taken.
    """
    keys: dict[str, list[str]] = {
        "document": ["\n".join(sorted(item.question.filters.doc_ids)) or f"?{item.question.id}" for item in items],
        "question text": [" ".join(item.question.text.casefold().split()) for item in items],
        "question": [item.question.id for item in items],
    }
    if not any(item.question.filters.doc_ids for item in items):
        del keys["document"]
    by = next((name for name, key in keys.items() if len(set(key)) >= FEWEST_GROUPS), "question")
    return Groups(by, np.unique(keys[by], return_inverse=True)[1].astype(np.intp))


def resampled(groups: Groups, statistic: Callable[[Floats], Floats]) -> Floats:
    """The statistic (rows of weights in, rows of figures out) of every resample: one row each, the same every time."""
    return np.concatenate([statistic(weights) for weights in _weights(groups)])


def _weights(groups: Groups) -> Iterator[Floats]:
    """How often each question is drawn when as many groups as there are are drawn with replacement."""
    generator = np.random.default_rng(SEED)
    rows = max(1, _CELLS // len(groups.of))
    for begin in range(0, RESAMPLES, rows):
        size = min(rows, RESAMPLES - begin)
        drawn = generator.integers(0, groups.count, size=(size, groups.count))
        flat = np.bincount((drawn + np.arange(size)[:, None] * groups.count).ravel(), minlength=size * groups.count)
        yield flat.reshape(size, groups.count)[:, groups.of].astype(np.float64)


def interval(values: Floats) -> tuple[float, float] | None:
    """The middle 95% of the resampled figures; None when none is defined."""
    known = values[np.isfinite(values)]
    if not len(known):
        return None
    low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def two_sided(differences: Floats) -> float | None:
    """How likely a difference this far from 0 would be if there were none; None when no difference is defined."""
    known = differences[np.isfinite(differences)]
    if not len(known):
        return None
    tail = min(np.count_nonzero(known <= 0), np.count_nonzero(known >= 0))
    return float(min(1.0, 2 * (tail + 1) / (len(known) + 1)))
