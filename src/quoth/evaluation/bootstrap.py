"""Bootstrap intervals: how far a figure would move if other questions of the same kind had been asked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quoth.evaluation.curves import Floats
from quoth.evaluation.labelled_questions import LabelledQuestion

RESAMPLES = 1_000
SEED = 20_210_417
LEVEL = 0.95
FEWEST_GROUPS = 20
"""With fewer groups than this, a finer grouping is used: resampling few groups says little."""
_CELLS = 4_000_000
"""The most weights held in memory at a time."""


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


def same_words(item: LabelledQuestion) -> str:
    """Return the text of a question, without regard to case and white space."""
    return " ".join(item.question.text.casefold().split())


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
