"""One generation of a sharded index: every shard is asked, and what they give is put together.

A search takes up to four rounds: how many sentences hold each word, summed over the shards; what each shard finds by
those numbers; the exact scores of those that its bounds leave open; and the sentences chosen.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from quoth.errors import PartMissing
from quoth.protocols import Reader
from quoth.stores.sharded import merge, scoring
from quoth.stores.sharded.assign import assign
from quoth.stores.sharded.shard import Each, Shard, shard_name
from quoth.stores.sharded.values import Hit, Scored, ShardHits, ShardQuery, Weights
from quoth.types import (
    Candidates,
    Document,
    DocumentInfo,
    Filters,
    IndexInfo,
    Page,
    Passage,
    Query,
    Sentence,
    Vectors,
)


class ShardedReader:
    """See `protocols.Reader`. None stands for a shard that cannot be asked: the others are one index without it.

    `evidence` sentences of the shards that are there have `terms` terms; `lots`: see `ShardQuery`.
    """

    def __init__(
        self, shards: Sequence[Shard | None], info: IndexInfo, *, evidence: int, terms: int, lots: int, each: Each
    ) -> None:
        self._shards = shards
        self._info = info
        self._evidence = evidence
        self._terms = terms
        self._lots = lots
        self._each = each
        self._there = {place: shard for place, shard in enumerate(shards) if shard is not None}
        self._all = list(self._there)

    @property
    def info(self) -> IndexInfo:
        return self._info

    @property
    def missing(self) -> tuple[str, ...]:
        return tuple(self._name(place) for place in range(len(self._shards)) if place not in self._there)

    def may_lack(self, filters: Filters) -> bool:
        """What a document was replaced by, and when, may be known in another shard: a day is asked of all of them."""
        if not filters.doc_ids or filters.as_of is not None:
            return bool(self.missing)
        return not self._there.keys() >= set(self._places(filters.doc_ids))

    def search(self, query: Query) -> Candidates:
        asked = ShardQuery(
            vector=query.vector,
            weights=self._weights(query.terms),
            candidates=query.candidates,
            filters=query.filters,
            lots=self._lots,
        )
        places = self._within(query.filters)
        found = dict(zip(places, self._each(lambda one: self._there[one].search(asked), places), strict=True))
        lexical = self._best_by_words(asked, found)
        dense = merge.best(((shard, one) for shard, hits in found.items() for one in hits.dense), query.candidates)
        chosen = merge.chosen(lexical, dense)
        parts = self._each(lambda one: self._there[one].candidates(asked, chosen[one]), list(chosen))
        return merge.gathered(parts, self._info.model.dimension)

    def frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        counted = self._each(lambda one: self._there[one].reader.frequencies(terms), self._all)
        return {term: sum(one[term] for one in counted) for term in terms}

    def document(self, doc_id: str) -> Document | None:
        return self._of(doc_id).document(doc_id)

    def documents(self, ids: Collection[str] | None = None) -> tuple[DocumentInfo, ...]:
        asked: dict[int, list[str] | None]
        if ids is None:
            asked = dict.fromkeys(self._all)
        else:
            places = self._present(ids)
            asked = {place: [one for one in ids if self._place_of(one) == place] for place in places}
        listed = self._each(lambda one: self._there[one].reader.documents(asked[one]), sorted(asked))
        return tuple(sorted((one for part in listed for one in part), key=lambda document: document.id))

    def sentences(self, doc_id: str) -> Iterator[Sentence]:
        return self._of(doc_id).sentences(doc_id)

    def passages(self, doc_id: str) -> tuple[Passage, ...]:
        return self._of(doc_id).passages(doc_id)

    def page(self, doc_id: str, number: int) -> Page | None:
        return self._of(doc_id).page(doc_id, number)

    def neighbours(self, candidate: Sentence) -> tuple[Sentence | None, Sentence | None]:
        return self._of(candidate.doc_id).neighbours(candidate)

    def expect(self, sentences: Sequence[Sentence]) -> None:
        by_place: dict[int, list[Sentence]] = {}
        for sentence in sentences:
            by_place.setdefault(self._place_of(sentence.doc_id), []).append(sentence)
        self._each(lambda one: self._there[one].reader.expect(by_place[one]), sorted(by_place))

    def vectors(self, doc_id: str) -> Vectors:
        return self._of(doc_id).vectors(doc_id)

    def _weights(self, terms: Sequence[Sequence[str]]) -> Weights | None:
        """The words of a question by the statistics of all shards; None where nothing can be searched for."""
        groups = scoring.asked(terms)
        if not groups or self._evidence == 0:
            return None
        variants = scoring.lookups(groups)
        counted = self._each(lambda one: self._there[one].held(variants), self._all)
        held = dict(zip(variants, map(sum, zip(*counted, strict=True)), strict=True))
        return scoring.weights(groups, held, evidence=self._evidence, terms=self._terms)

    def _best_by_words(self, asked: ShardQuery, found: dict[int, ShardHits]) -> dict[merge.Key, float | None]:
        """The best of all, with the scores that had to be worked out to tell."""
        hits: list[tuple[int, Hit]] = [(shard, hit) for shard, one in found.items() for hit in one.lexical]
        if not hits:
            return {}
        told = merge.contest(hits, asked.candidates)
        winners: dict[merge.Key, float | None] = dict.fromkeys(told.certain)
        if told.open and asked.weights is not None:
            winners |= merge.best(self._scores(asked.weights, told.open), told.left)
        return winners

    def _scores(self, weights: Weights, keys: Sequence[merge.Key]) -> Iterator[tuple[int, Scored]]:
        rows: dict[int, list[int]] = {}
        for shard, row in keys:
            rows.setdefault(shard, []).append(row)
        scored = self._each(lambda one: self._there[one].scores(weights, rows[one], lots=self._lots), list(rows))
        for shard, found in zip(rows, scored, strict=True):
            yield from ((shard, one) for one in found)

    def _within(self, filters: Filters) -> Sequence[int]:
        """The shards in which a question has to be asked."""
        return self._present(filters.doc_ids) if filters.doc_ids else self._all

    def _present(self, doc_ids: Collection[str]) -> list[int]:
        return [place for place in self._places(doc_ids) if place in self._there]

    def _places(self, doc_ids: Collection[str]) -> list[int]:
        return sorted({self._place_of(doc_id) for doc_id in doc_ids})

    def _of(self, doc_id: str) -> Reader:
        place = self._place_of(doc_id)
        if place not in self._there:
            raise PartMissing(self._name(place), f"the document {doc_id} would be in it")
        return self._there[place].reader

    def _name(self, place: int) -> str:
        return shard_name(place, len(self._shards))

    def _place_of(self, doc_id: str) -> int:
        return assign(doc_id, len(self._shards))
