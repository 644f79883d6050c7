"""A shard that is an embedded index on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import tantivy

from quoth.protocols import Reader
from quoth.stores.embedded.dense import cosines
from quoth.stores.embedded.faults import reading
from quoth.stores.embedded.lexical import MARGIN, either, share, together
from quoth.stores.embedded.limits import Limits
from quoth.stores.embedded.reader import EmbeddedReader
from quoth.stores.embedded.shards import lot
from quoth.stores.sharded.merge import marks
from quoth.stores.sharded.scoring import Scorer, average, natural
from quoth.stores.sharded.values import Chosen, Hit, Place, Scored, ShardHits, ShardQuery, WeighedVariant, Weights
from quoth.stores.variants import Variant
from quoth.types import Candidate, Candidates, Vectors

_ROUNDING = 1e-5
"""Of a score: more than what adding up in single precision, in any order, can change."""


class LocalShard:
    """See `shard.Shard`. `terms` is the number of terms that its evidence sentences have together."""

    def __init__(self, reader: EmbeddedReader, place: Path, *, terms: int) -> None:
        self._reader = reader
        self._place = place
        self._terms = terms

    @property
    def reader(self) -> Reader:
        return self._reader

    def held(self, variants: Sequence[Variant]) -> tuple[int, ...]:
        with reading(self._place):
            return tuple(map(self._reader.lexical.held, variants))

    def search(self, query: ShardQuery) -> ShardHits:
        with reading(self._place):
            limits = self._reader.limits(query.filters)
            vector = self._reader.checked(query.vector)
            return ShardHits(
                lexical=() if query.weights is None else self._hits(query.weights, query.candidates, limits),
                dense=() if vector is None else self._nearest(vector, query, limits),
            )

    def scores(self, weights: Weights, rows: Sequence[int], *, lots: int) -> tuple[Scored, ...]:
        scorer = Scorer(weights)
        wanted = sorted(rows)
        with reading(self._place):
            texts = [sentence.search_text for sentence in self._reader.rows(wanted)]
            places = self._places(wanted, lots)
        scored = []
        for row, text, place in zip(wanted, texts, places, strict=True):
            score = scorer.score(text)
            scored.append(Scored(row, share(score, weights.ideal), score / weights.ideal, place))
        return tuple(scored)

    def candidates(self, query: ShardQuery, chosen: Sequence[Chosen]) -> Candidates:
        ordered = sorted(chosen, key=lambda one: one.row)
        wanted = [one.row for one in ordered]
        scorer = None if query.weights is None else Scorer(query.weights)
        with reading(self._place):
            dense = self._reader.dense
            vectors = dense.take(dense.positions(np.array(wanted, dtype=np.int64)))
            found = list(zip(self._reader.rows(wanted), self._reader.tokens(wanted), strict=True))
        vector = self._reader.checked(query.vector)
        near = np.zeros(len(wanted)) if vector is None else cosines(vector, vectors)
        items = []
        for one, (sentence, tokens), cosine in zip(ordered, found, near, strict=True):
            lexical = one.lexical
            if lexical is None:
                lexical = 0.0 if scorer is None else scorer.share(sentence.search_text)
            items.append(Candidate(sentence, lexical, float(cosine), one.found_by, tokens))
        return Candidates(tuple(items), vectors)

    def _hits(self, weights: Weights, count: int, limits: Limits) -> tuple[Hit, ...]:
        """Tantivy proposes with what each word is worth in the whole index, but with the average length of its own.

        Let a be the average length here and A that of all. What a word adds is worth / (1 + k / often), where k is an
        increasing linear function of length / average: so with A in place of a it becomes at most A / a times as
        large where that is more than 1, and otherwise shrinks to no less than A / a of it. That holds for the best of
        several variants and for sums as well, so that each score lies between two bounds; and a sentence that was not
        returned has no more than the upper bound of the last that was. More are asked for until that is too little.
        """
        lexical = self._reader.lexical
        if count <= 0 or lexical.sentences == 0:
            return ()
        groups = (self._variants(group) for group in weights.groups)
        query = lexical.within(together(either(group) for group in groups), limits)
        ratio = weights.average / (average(lexical.sentences, self._terms) or weights.average)
        least, most = min(1.0, ratio) * (1 - _ROUNDING), max(1.0, ratio) * (1 + _ROUNDING)
        limit = count + MARGIN
        while True:
            found = lexical.found(query, limit)
            shares = [hit.score / weights.ideal for hit in found]
            to_reach = marks([one * least for one in shares], count)  # tantivy gives the best first
            if len(found) < limit or not to_reach.within_reach(shares[-1] * most):
                return tuple(
                    Hit(hit.row, one * least, one * most)
                    for hit, one in zip(found, shares, strict=True)
                    if to_reach.within_reach(one * most)
                )
            limit *= 4

    def _variants(self, group: Sequence[WeighedVariant]) -> list[tantivy.Query]:
        """Queries for the variants that occur here."""
        lexical = self._reader.lexical
        queries = []
        for variant in group:
            held = [lexical.held((token,)) for token, _ in variant]
            if all(held):
                worth = (natural(lexical.sentences, count) for count in held)
                queries.append(
                    lexical.every([(token, weight / own) for (token, weight), own in zip(variant, worth, strict=True)])
                )
        return queries

    def _nearest(self, vector: Vectors, query: ShardQuery, limits: Limits) -> tuple[Scored, ...]:
        dense = self._reader.dense
        nearest, found = dense.nearest(vector, query.candidates, dense.allowed(limits))
        scores = dict(zip(dense.rows[nearest].tolist(), found.tolist(), strict=True))
        rows = sorted(scores)
        places = self._places(rows, query.lots)
        return tuple(Scored(row, scores[row], scores[row], place) for row, place in zip(rows, places, strict=True))

    def _places(self, rows: Sequence[int], lots: int) -> list[Place]:
        return [Place(lot(doc_id) % lots, doc_id, ordinal) for doc_id, ordinal in self._reader.ordinals(rows)]
