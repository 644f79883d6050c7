"""Which of the sentences that the shards found are the best of all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from quoth.stores.embedded.lexical import MARGIN
from quoth.stores.sharded.values import Chosen, Hit, Scored
from quoth.types import Candidates, Vectors

Key: TypeAlias = tuple[int, int]
"""A shard and a row of it."""


_LAST = 1e-6
"""The last decimal of a score: what is nearer may become equal."""


@dataclass(frozen=True, slots=True)
class Marks:
    """What a sentence must be able to reach to be among the best: `score` with the whole score, which is at most 1, and
    `exact` with the one that has no limit. One index looks at so many more than it was asked for, by the exact score,
    and then orders these by the score that it gives."""

    score: float
    exact: float

    def within_reach(self, most: float) -> bool:
        return min(1.0, most) >= self.score and most >= self.exact


def marks(least: Sequence[float], count: int) -> Marks:
    """What `least` scores, the highest first, leave for others to reach."""
    nothing = -1.0
    return Marks(
        score=min(1.0, least[count - 1]) - 2 * _LAST if len(least) >= count else nothing,
        exact=least[count + MARGIN - 1] if len(least) >= count + MARGIN else nothing,
    )


@dataclass(frozen=True, slots=True)
class Contest:
    """The best by words, as far as their bounds tell: `certain` are among them, and of `open` the `left` best are."""

    certain: tuple[Key, ...]
    open: tuple[Key, ...]
    left: int


def contest(hits: Sequence[tuple[int, Hit]], count: int) -> Contest:
    """Who is among the `count` best, of which there is one at least; `hits` are of all shards."""
    if len(hits) <= count:
        return Contest(tuple((shard, hit.row) for shard, hit in hits), (), 0)
    to_reach = marks(sorted((hit.least for _, hit in hits), reverse=True), count)
    bar = min(1.0, sorted((hit.most for _, hit in hits), reverse=True)[count]) + 2 * _LAST  # at most `count` exceed it
    certain = tuple((shard, hit.row) for shard, hit in hits if min(1.0, hit.least) > bar)
    unsettled = tuple(
        (shard, hit.row) for shard, hit in hits if min(1.0, hit.least) <= bar and to_reach.within_reach(hit.most)
    )
    left = count - len(certain)
    if len(unsettled) <= left:
        return Contest(certain + unsettled, (), 0)
    return Contest(certain, unsettled, left)


def best(found: Iterable[tuple[int, Scored]], count: int) -> dict[Key, float]:
    """The `count` best with their scores; equal ones in the order of their places."""
    nearly = sorted(found, key=lambda one: (-one[1].exact, one[1].place))[: max(0, count) + MARGIN]
    ranked = sorted(nearly, key=lambda one: (-one[1].score, one[1].place))
    return {(shard, one.row): one.score for shard, one in ranked[: max(0, count)]}


def chosen(lexical: Mapping[Key, float | None], dense: Iterable[Key]) -> dict[int, list[Chosen]]:
    """What each shard has to give."""
    by_vector = set(dense)
    wanted: dict[int, list[Chosen]] = {}
    for key in sorted({*lexical, *by_vector}):
        found_by = ("lexical",) * (key in lexical) + ("dense",) * (key in by_vector)
        wanted.setdefault(key[0], []).append(Chosen(key[1], lexical.get(key), found_by))
    return wanted


def gathered(parts: Sequence[Candidates], dimension: int) -> Candidates:
    """The candidates of all shards, ordered by sentence id."""
    items = [item for part in parts for item in part.items]
    vectors: Vectors = np.empty((0, dimension), dtype=np.float32)
    if items:
        vectors = np.concatenate([part.vectors for part in parts])
    order = sorted(range(len(items)), key=lambda place: items[place].sentence.id)
    return Candidates(tuple(items[place] for place in order), vectors[order])
