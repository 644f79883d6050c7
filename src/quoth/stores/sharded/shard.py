"""What is asked of one shard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from quoth.protocols import Reader
from quoth.stores.sharded.values import Chosen, Scored, ShardHits, ShardQuery, Weights
from quoth.stores.variants import Variant
from quoth.types import Candidates

_Given = TypeVar("_Given")


class Shard(Protocol):
    """One generation of one shard. Rows are its own, and mean nothing to another."""

    @property
    def reader(self) -> Reader:
        """The shard as the index it is, for whatever concerns one of its documents."""
        ...

    def held(self, variants: Sequence[Variant]) -> tuple[int, ...]:
        """How many evidence sentences hold every token of each variant."""
        ...

    def search(self, query: ShardQuery) -> ShardHits:
        """What can be among the best of the whole: by words with bounds of the score, by vector exactly."""
        ...

    def scores(self, weights: Weights, rows: Sequence[int], *, lots: int) -> tuple[Scored, ...]:
        """The exact lexical score of each row, in ascending order of rows."""
        ...

    def candidates(self, query: ShardQuery, chosen: Sequence[Chosen]) -> Candidates:
        """The sentences chosen, with both scores, in any order."""
        ...


class Each(Protocol):
    """Ask several shards the same, one after the other or at once; what each gives comes in the order of the shards."""

    def __call__(self, ask: Callable[[int], _Given], shards: Sequence[int]) -> list[_Given]: ...


def in_turn(ask: Callable[[int], _Given], shards: Sequence[int]) -> list[_Given]:
    """One shard after the other."""
    return [ask(shard) for shard in shards]


def shard_name(place: int, shards: int) -> str:
    """As people are told of it; `place` counts from 0, and its number from 1."""
    return f"shard {place + 1} of {shards}"
