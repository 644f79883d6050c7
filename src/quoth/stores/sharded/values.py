"""What goes to a shard and comes back: small, frozen and fit to be sent to another machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from quoth.types import Filters, Vectors

WeighedVariant: TypeAlias = tuple[tuple[str, float], ...]
"""Tokens that a sentence must all hold, and what each is worth in the whole index."""


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """Where a sentence stands among equals. `lot` is the part that the one index would keep its document in."""

    lot: int
    doc_id: str
    ordinal: int


@dataclass(frozen=True, slots=True)
class Weights:
    """The words of a question by the statistics of the whole index.

    `groups` hold the variants that occur anywhere, `ideal` is the score of the ideal sentence, and `average` the number
    of terms in a sentence.
    """

    groups: tuple[tuple[WeighedVariant, ...], ...]
    ideal: float
    average: float


@dataclass(frozen=True, slots=True, eq=False)
class ShardQuery:
    """A question for one shard. `weights` None: not by words; `lots` are the parts that the one index would have."""

    vector: Vectors | None
    weights: Weights | None
    candidates: int
    filters: Filters
    lots: int


@dataclass(frozen=True, slots=True)
class Hit:
    """A sentence found by its words: of the score of the ideal sentence, it has between `least` and `most`."""

    row: int
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class Scored:
    """A sentence with its score, as it is given and before rounding, and its place among equals."""

    row: int
    score: float
    exact: float
    place: Place


@dataclass(frozen=True, slots=True)
class ShardHits:
    """The best of one shard: every sentence that can be among the best of the whole is in here."""

    lexical: tuple[Hit, ...]
    dense: tuple[Scored, ...]


@dataclass(frozen=True, slots=True)
class Chosen:
    """A sentence to be given. `lexical` is its score where that is known already."""

    row: int
    lexical: float | None
    found_by: tuple[str, ...]
