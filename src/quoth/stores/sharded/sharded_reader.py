"""One generation of a sharded index: asks every shard and merges the answers.

A search takes up to three rounds of calls. The first counts the sentences that hold each word, over all shards, as far
as the counts are not known. The second searches each shard with these counts. The last fetches the best sentences, and
exact scores for those whose bounds leave open whether they are among the best; the losers are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from itertools import chain, islice
from typing import TypeAlias, TypeVar

import numpy as np

from quoth.errors import ShardMissing
from quoth.language.stems import word_languages
from quoth.protocols import Neighbours, Reader
from quoth.stores.embedded.dense_index import sorted_candidates
from quoth.stores.embedded.lexical_index import MARGIN
from quoth.stores.query_terms import asked, variants
from quoth.stores.sharded import bm25 as scoring
from quoth.stores.sharded.shard_protocol import (
    LAST,
    AskShards,
    BoundedHit,
    FetchedSentences,
    QueryWeights,
    ScoredHit,
    Shard,
    ShardChoice,
    ShardQuery,
    assign,
    shard_name,
    thresholds,
)
from quoth.types import (
    Candidate,
    Candidates,
    Document,
    DocumentInfo,
    Filters,
    IndexInfo,
    Page,
    Passage,
    Query,
    Sentence,
    Span,
    Vectors,
)

_Reply = TypeVar("_Reply")
Key: TypeAlias = tuple[int, int]
"""A shard and a row of it."""
_LIKELY = 8
"""How many of the nearest sentences are likely to be quoted."""


@dataclass(eq=False)
class ShardedReader:
    """See `protocols.Reader`. None stands for a shard that cannot be reached: the others answer without it.

    `evidence` sentences of the shards that are there have `terms` terms; `partitions`: see `ShardQuery`.
    """

    shards: Sequence[Shard | None]
    info: IndexInfo
    _: KW_ONLY
    evidence: int
    terms: int
    partitions: int
    each: AskShards

    def __post_init__(self) -> None:
        self._present = {number: shard for number, shard in enumerate(self.shards) if shard is not None}
        self._languages = word_languages(self.info)

    @property
    def missing(self) -> tuple[str, ...]:
        return tuple(self._name(number) for number, shard in enumerate(self.shards) if shard is None)

    def may_lack(self, filters: Filters) -> bool:
        """Any shard may say what replaced a document and when, so a filter by date needs all of them."""
        if not filters.doc_ids or filters.as_of is not None:
            return bool(self.missing)
        return any(self._shard_of(doc_id) not in self._present for doc_id in filters.doc_ids)

    def search(self, query: Query) -> Candidates:
        shard_query = ShardQuery(
            vector=query.vector,
            weights=self._weights(query.terms),
            candidates=query.candidates,
            filters=query.filters,
            partitions=self.partitions,
        )
        numbers = self._by_shard(query.filters.doc_ids) if query.filters.doc_ids else self._present
        found = self._ask(numbers, lambda _, shard: shard.search(shard_query))
        settled = contest([(number, hit) for number, own in found.items() for hit in own.lexical], query.candidates)
        nearest = best(((number, hit) for number, hits in found.items() for hit in hits.dense), query.candidates)
        choices = _choices(settled, nearest)
        fetched = self._ask(choices, lambda number, shard: shard.fetch(shard_query, choices[number]))
        exact = ((number, hit) for number, answer in fetched.items() for hit in answer.scored)
        return self._merged(fetched, lexical={*settled.certain, *best(exact, settled.left)}, dense=nearest)

    def frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        held = [variants(term, self._languages) for term in terms]
        counted = self._ask(self._present, lambda _, shard: shard.holding(held)).values()
        return dict.fromkeys(terms, 0) | dict(zip(terms, map(sum, zip(*counted, strict=True)), strict=False))

    def document(self, doc_id: str) -> Document | None:
        return self._of(doc_id).document(doc_id)

    def texts(self, ids: Collection[str]) -> Iterator[tuple[str, bytes]]:
        wanted = self._by_shard(ids)
        found = self._ask(wanted, lambda number, shard: list(shard.reader.texts(wanted[number]))).values()
        return iter(sorted(chain.from_iterable(found)))

    def documents(self, ids: Collection[str] | None = None) -> tuple[DocumentInfo, ...]:
        wanted = dict.fromkeys(self._present) if ids is None else self._by_shard(ids)
        listed = self._ask(wanted, lambda number, shard: shard.reader.documents(wanted[number])).values()
        return tuple(sorted(chain.from_iterable(listed), key=lambda document: document.id))

    def sentences(self, doc_id: str, near: Span | None = None) -> Iterator[Sentence]:
        return self._of(doc_id).sentences(doc_id, near)

    def passages(self, doc_id: str) -> tuple[Passage, ...]:
        return self._of(doc_id).passages(doc_id)

    def page(self, doc_id: str, number: int) -> Page | None:
        return self._of(doc_id).page(doc_id, number)

    def neighbours(self, sentences: Sequence[Sentence]) -> list[Neighbours]:
        by_shard: dict[int, list[Sentence]] = {}
        for sentence in sentences:
            self._of(sentence.doc_id)  # raises `ShardMissing` if its shard does not answer
            by_shard.setdefault(self._shard_of(sentence.doc_id), []).append(sentence)
        listed = self._ask(by_shard, lambda number, shard: shard.reader.neighbours(by_shard[number]))
        beside = {
            sentence.id: neighbours
            for number, answers in listed.items()
            for sentence, neighbours in zip(by_shard[number], answers, strict=True)
        }
        return [beside[sentence.id] for sentence in sentences]

    def vectors(self, doc_id: str) -> Vectors:
        return self._of(doc_id).vectors(doc_id)

    def _weights(self, terms: Sequence[Sequence[str]]) -> QueryWeights | None:
        """Weigh the words of a question by the statistics of all shards; None if it has no words."""
        groups = asked(terms, self._languages)
        if not groups or self.evidence == 0:
            return None
        looked_up = scoring.lookups(groups)
        counted = self._ask(self._present, lambda _, shard: shard.held(looked_up)).values()
        held = dict(zip(looked_up, map(sum, zip(*counted, strict=True)), strict=True))
        return scoring.weights(groups, held, evidence=self.evidence, terms=self.terms)

    def _merged(
        self, fetched: Mapping[int, FetchedSentences], *, lexical: Collection[Key], dense: Collection[Key]
    ) -> Candidates:
        """Return the sentences that are among the best by words or by vectors, each with what found it."""
        items: list[Candidate] = []
        no_vectors: Vectors = np.empty((0, self.info.model.dimension), dtype=np.float32)
        vectors = [no_vectors]
        for number, answer in fetched.items():
            kept = []
            for place, (row, item) in enumerate(zip(answer.rows, answer.candidates.items, strict=True)):
                key = number, row
                found_by = ("lexical",) * (key in lexical) + ("dense",) * (key in dense)
                if found_by:
                    kept.append(place)
                    items.append(replace(item, found_by=found_by))
            vectors.append(answer.candidates.vectors[kept])
        return sorted_candidates(items, np.concatenate(vectors))

    def _ask(self, numbers: Iterable[int], ask: Callable[[int, Shard], _Reply]) -> dict[int, _Reply]:
        """Return the reply of each shard, in the order of their numbers."""
        ordered = sorted(numbers)
        if not ordered:
            return {}
        return dict(zip(ordered, self.each(lambda number: ask(number, self._present[number]), ordered), strict=True))

    def _by_shard(self, doc_ids: Iterable[str]) -> dict[int, list[str]]:
        """Return the ids that each present shard would hold."""
        ids: dict[int, list[str]] = {}
        for doc_id in doc_ids:
            if (number := self._shard_of(doc_id)) in self._present:
                ids.setdefault(number, []).append(doc_id)
        return ids

    def _of(self, doc_id: str) -> Reader:
        number = self._shard_of(doc_id)
        if number not in self._present:
            raise ShardMissing(self._name(number), f"the document {doc_id} would be in it")
        return self._present[number].reader

    def _name(self, number: int) -> str:
        return shard_name(number, len(self.shards))

    def _shard_of(self, doc_id: str) -> int:
        return assign(doc_id, len(self.shards))


@dataclass(frozen=True, slots=True)
class LexicalContest:
    """The best by words as far as bounds tell: all `certain`, and the `left` best of `open`."""

    certain: tuple[Key, ...]
    open: tuple[Key, ...]
    left: int


def contest(hits: Sequence[tuple[int, BoundedHit]], count: int) -> LexicalContest:
    """Compare the bounds of the hits of all shards to find the `count` best."""
    if len(hits) <= max(0, count):
        return LexicalContest(tuple((shard, hit.row) for shard, hit in hits), (), 0)
    to_reach = thresholds(sorted((hit.least for _, hit in hits), reverse=True), count)
    bar = min(1.0, sorted((hit.most for _, hit in hits), reverse=True)[count]) + 2 * LAST  # at most `count` exceed it
    certain = tuple((shard, hit.row) for shard, hit in hits if min(1.0, hit.least) > bar)
    unsettled = tuple(
        (shard, hit.row) for shard, hit in hits if min(1.0, hit.least) <= bar and to_reach.within_reach(hit.most)
    )
    left = count - len(certain)
    if len(unsettled) <= left:
        return LexicalContest(certain + unsettled, (), 0)
    return LexicalContest(certain, unsettled, left)


def best(found: Iterable[tuple[int, ScoredHit]], count: int) -> dict[Key, ScoredHit]:
    """Return the `count` best, best first; equal scores in the order of their tie-breaks."""
    nearly = sorted(found, key=lambda hit: (-hit[1].exact, hit[1].tie_break))[: max(0, count) + MARGIN]
    ranked = sorted(nearly, key=lambda hit: (-hit[1].score, hit[1].tie_break))
    return {(shard, hit.row): hit for shard, hit in ranked[: max(0, count)]}


def _choices(settled: LexicalContest, nearest: Mapping[Key, ScoredHit]) -> dict[int, ShardChoice]:
    """Return what to fetch from each shard."""
    rows: dict[int, list[int]] = {}
    contested: dict[int, list[int]] = {}
    for number, row in sorted({*settled.certain, *nearest}):
        rows.setdefault(number, []).append(row)
    for number, row in settled.open:
        contested.setdefault(number, []).append(row)
    likely: dict[int, dict[str, None]] = {}
    for (number, _), hit in islice(nearest.items(), _LIKELY):
        likely.setdefault(number, {})[hit.tie_break.doc_id] = None
    return {
        number: ShardChoice(
            tuple(rows.get(number, ())), tuple(contested.get(number, ())), tuple(likely.get(number, ()))
        )
        for number in rows.keys() | contested.keys()
    }
