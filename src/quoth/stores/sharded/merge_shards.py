"""Merge what the shards found: choose the best sentences of all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from quoth.stores.embedded.dense_index import sorted_candidates
from quoth.stores.embedded.lexical_index import MARGIN
from quoth.stores.sharded.shard_protocol import BoundedHit, ChosenSentence, ScoredHit
from quoth.types import Candidates, Vectors

Key: TypeAlias = tuple[int, int]
"""A shard and a row of it."""


_LAST = 1e-6
"""The last decimal of a score: what is nearer may become equal."""


@dataclass(frozen=True, slots=True)
class ScoreThresholds:
    """The scores that a sentence must be able to reach to be among the best.

    `score` is compared with the score capped at 1, `exact` with the uncapped score. A single index takes `MARGIN` more
    sentences than asked for, by the uncapped score, and then orders them by the capped score.
    """

    score: float
    exact: float

    def within_reach(self, most: float) -> bool:
        return min(1.0, most) >= self.score and most >= self.exact


def thresholds(least: Sequence[float], count: int) -> ScoreThresholds:
    """Return what others must reach, given the lower bounds of scores, highest first."""
    nothing = -1.0
    return ScoreThresholds(
        score=min(1.0, least[count - 1]) - 2 * _LAST if len(least) >= count else nothing,
        exact=least[count + MARGIN - 1] if len(least) >= count + MARGIN else nothing,
    )


@dataclass(frozen=True, slots=True)
class LexicalContest:
    """The best by words as far as bounds tell: all `certain`, and the `left` best of `open`."""

    certain: tuple[Key, ...]
    open: tuple[Key, ...]
    left: int


def contest(hits: Sequence[tuple[int, BoundedHit]], count: int) -> LexicalContest:
    """Compare the bounds of the hits of all shards to find the `count` (at least 1) best."""
    if len(hits) <= count:
        return LexicalContest(tuple((shard, hit.row) for shard, hit in hits), (), 0)
    to_reach = thresholds(sorted((hit.least for _, hit in hits), reverse=True), count)
    bar = min(1.0, sorted((hit.most for _, hit in hits), reverse=True)[count]) + 2 * _LAST  # at most `count` exceed it
    certain = tuple((shard, hit.row) for shard, hit in hits if min(1.0, hit.least) > bar)
    unsettled = tuple(
        (shard, hit.row) for shard, hit in hits if min(1.0, hit.least) <= bar and to_reach.within_reach(hit.most)
    )
    left = count - len(certain)
    if len(unsettled) <= left:
        return LexicalContest(certain + unsettled, (), 0)
    return LexicalContest(certain, unsettled, left)


def best(found: Iterable[tuple[int, ScoredHit]], count: int) -> dict[Key, float]:
    """Return the `count` best with their scores; equal scores in the order of their tie-breaks."""
    nearly = sorted(found, key=lambda hit: (-hit[1].exact, hit[1].tie_break))[: max(0, count) + MARGIN]
    ranked = sorted(nearly, key=lambda hit: (-hit[1].score, hit[1].tie_break))
    return {(shard, hit.row): hit.score for shard, hit in ranked[: max(0, count)]}


def chosen(lexical: Mapping[Key, float | None], dense: Iterable[Key]) -> dict[int, list[ChosenSentence]]:
    """Return the sentences to fetch from each shard."""
    by_vector = set(dense)
    wanted: dict[int, list[ChosenSentence]] = {}
    for key in sorted({*lexical, *by_vector}):
        found_by = ("lexical",) * (key in lexical) + ("dense",) * (key in by_vector)
        wanted.setdefault(key[0], []).append(ChosenSentence(key[1], lexical.get(key), found_by))
    return wanted


def gathered(answers: Sequence[Candidates], dimension: int) -> Candidates:
    """Return the candidates of all shards, ordered by sentence id."""
    items = [item for answer in answers for item in answer.items]
    vectors: Vectors = np.empty((0, dimension), dtype=np.float32)
    if items:
        vectors = np.concatenate([answer.vectors for answer in answers])
    return sorted_candidates(items, vectors)
