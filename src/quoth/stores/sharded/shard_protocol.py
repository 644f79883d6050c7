"""A shard, the values that go to it and come back, and the rule that assigns documents to shards."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias, TypeVar

from quoth.protocols import Reader
from quoth.stores.embedded.lexical_index import MARGIN
from quoth.stores.query_terms import Variant
from quoth.types import Access, Candidates, Filters, Vectors

WeighedVariant: TypeAlias = tuple[tuple[str, float], ...]
"""Tokens that a sentence must all hold, and what each is worth in the whole index."""


@dataclass(frozen=True, slots=True, order=True)
class TieBreak:
    """The order among equal scores. `partition` is where one index of all documents would put the document."""

    partition: int
    doc_id: str
    ordinal: int


@dataclass(frozen=True, slots=True)
class QueryWeights:
    """The words of a question, weighed by the statistics of the whole index.

    `groups` hold the variants that occur anywhere, `ideal` is the score of the ideal sentence, and `average` the number
    of terms in a sentence.
    """

    groups: tuple[tuple[WeighedVariant, ...], ...]
    ideal: float
    average: float


@dataclass(frozen=True, slots=True, eq=False)
class ShardQuery:
    """A question for one shard. Without `weights` full text is not searched.

    `partitions` is how many partitions one embedded index of all documents would have; it decides ties.
    """

    vector: Vectors | None
    weights: QueryWeights | None
    candidates: int
    filters: Filters
    partitions: int


@dataclass(frozen=True, slots=True)
class BoundedHit:
    """A sentence found by its words: of the score of the ideal sentence, it has between `least` and `most`."""

    row: int
    least: float
    most: float


@dataclass(frozen=True, slots=True)
class ScoredHit:
    """A sentence with its score, rounded and exact, and the tie-break for equal scores."""

    row: int
    score: float
    exact: float
    tie_break: TieBreak


@dataclass(frozen=True, slots=True)
class ShardHits:
    """The best of one shard, with every sentence that can be among the best of all shards."""

    lexical: tuple[BoundedHit, ...]
    dense: tuple[ScoredHit, ...]


@dataclass(frozen=True, slots=True)
class ShardChoice:
    """What to fetch from a shard: `rows` are among the best for sure, `contested` ones if their exact score is.

    `likely` are documents of the shard that are likely to be quoted: a shard far away may send them along.
    """

    rows: tuple[int, ...]
    contested: tuple[int, ...]
    likely: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class FetchedSentences:
    """The sentences of a choice with both scores; `found_by` is left empty. `rows` has the row of each candidate.

    `scored` are the exact lexical scores of the contested rows, ordered by row.
    """

    candidates: Candidates
    rows: tuple[int, ...]
    scored: tuple[ScoredHit, ...]


@dataclass(frozen=True, slots=True)
class WordCounts:
    """How many evidence sentences of a shard hold each token: every token if `complete`, else the most used ones."""

    counts: Mapping[str, int]
    complete: bool

    def holding(self, variants: Sequence[Variant]) -> int | None:
        """Count the sentences that hold every token of any of `variants`; None if the counts of tokens do not tell."""
        possible = [variant for variant in variants if all(self._count(token) != 0 for token in variant)]
        if not possible:
            return 0
        if len(possible) > 1 or len(possible[0]) > 1:
            return None
        return self._count(possible[0][0])

    def _count(self, token: str) -> int | None:
        return self.counts.get(token, 0 if self.complete else None)


@dataclass(frozen=True, slots=True)
class ShardAccess:
    """Limited access to one shard, while the labels in it have this revision."""

    access: Access
    revision: int


LAST = 1e-6
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
        score=min(1.0, least[count - 1]) - 2 * LAST if len(least) >= count else nothing,
        exact=least[count + MARGIN - 1] if len(least) >= count + MARGIN else nothing,
    )


_Given = TypeVar("_Given")


class Shard(Protocol):
    """One generation of one shard. Its row numbers mean nothing to another shard."""

    @property
    def reader(self) -> Reader:
        """The shard as an index, for questions about single documents."""

    def held(self, variants: Sequence[Variant]) -> tuple[int, ...]:
        """Count the evidence sentences that hold every token of each variant."""

    def holding(self, terms: Sequence[Sequence[Variant]]) -> tuple[int, ...]:
        """Count the evidence sentences that hold any variant of each term."""

    def search(self, query: ShardQuery) -> ShardHits:
        """Return what can be among the best of all: by words with bounds of the score, by vector exactly."""

    def fetch(self, query: ShardQuery, choice: ShardChoice) -> FetchedSentences:
        """Return the chosen sentences, and the exact scores of the contested ones."""


class AskShards(Protocol):
    """Ask several shards the same, in turn or at once; the answers come in the order of the shards."""

    def __call__(self, ask: Callable[[int], _Given], shards: Sequence[int]) -> list[_Given]: ...


def ask_in_turn(ask: Callable[[int], _Given], shards: Sequence[int]) -> list[_Given]:
    """One shard after the other."""
    return [ask(shard) for shard in shards]


def shard_name(number: int, shards: int) -> str:
    """Return the name of a shard for messages, which count from 1; `number` counts from 0."""
    return f"shard {number + 1} of {shards}"


def assign(doc_id: str, shards: int) -> int:
    """Return the number of the shard, from 0, of a document: always the same for an id.

    Not the hash by which an embedded index deals its documents out inside: each of its parts would otherwise get
    either all documents of a shard or none.
    """
    named = doc_id.encode("utf-8", "replace")  # a lone surrogate is in no stored id, and may be asked for all the same
    return int.from_bytes(hashlib.blake2b(named, digest_size=8, person=b"quoth shard").digest(), "big") % shards
