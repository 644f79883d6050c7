"""A shard that is an embedded index on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import tantivy

from quoth.stores.database_rows import RowLimits
from quoth.stores.disk_faults import reading
from quoth.stores.embedded.embedded_reader import EmbeddedReader
from quoth.stores.embedded.generations import partition_hash
from quoth.stores.embedded.lexical_index import MARGIN, best_of, share, sum_of
from quoth.stores.embedded.visible_documents import VisibleDocuments
from quoth.stores.query_terms import Variant
from quoth.stores.sharded.bm25 import Scorer, average, token_weight
from quoth.stores.sharded.shard_protocol import (
    BoundedHit,
    FetchedSentences,
    QueryWeights,
    ScoredHit,
    ShardChoice,
    ShardHits,
    ShardQuery,
    TieBreak,
    WeighedVariant,
    thresholds,
)
from quoth.types import Sentence, Vectors

_ROUNDING = 1e-5
"""The share of a score that covers any rounding error of single-precision sums, in any order."""


@dataclass(frozen=True, slots=True)
class LocalShard:
    """See `shard_protocol.Shard`. `terms` is the number of terms that its evidence sentences have together.

    With a reader of some documents it counts and finds in these alone. `terms` is that of all its sentences even then,
    since tantivy scores by them.
    """

    reader: EmbeddedReader
    terms: int

    def held(self, variants: Sequence[Variant]) -> tuple[int, ...]:
        if self._limited is not None:
            return self.holding([(variant,) for variant in variants])
        with reading(self.reader.location):
            return tuple(map(self.reader.lexical.held, variants))

    def holding(self, terms: Sequence[Sequence[Variant]]) -> tuple[int, ...]:
        visible = self._limited
        with reading(self.reader.location):
            if visible is not None:
                return tuple(visible.held(tuple(variants), self.reader.lexical) for variants in terms)
            return tuple(map(self.reader.lexical.holding, terms))

    @property
    def _limited(self) -> VisibleDocuments | None:
        visible = self.reader.visible
        return None if visible is None or visible.everything else visible

    def search(self, query: ShardQuery) -> ShardHits:
        with reading(self.reader.location):
            limits = self.reader.limits(query.filters)
            vector = self.reader.checked(query.vector)
            return ShardHits(
                lexical=() if query.weights is None else self._hits(query.weights, query.candidates, limits),
                dense=() if vector is None else self._nearest(vector, query, limits),
            )

    def fetch(self, query: ShardQuery, choice: ShardChoice) -> FetchedSentences:
        scorer = None if query.weights is None else Scorer(query.weights)
        row_of: dict[str, int] = {}
        scores: dict[int, float] = {}
        languages: dict[str, str] = {}

        def lexical(row: int, sentence: Sentence) -> float:
            row_of[sentence.id] = row
            if scorer is None:
                return 0.0
            if sentence.doc_id not in languages:
                languages.update(self.reader.languages_by_document([sentence.doc_id]))
            scores[row] = scorer.score(sentence.search_text, languages[sentence.doc_id])
            return share(scores[row], scorer.ideal)

        with reading(self.reader.location):
            wanted: dict[int, tuple[str, ...]] = dict.fromkeys((*choice.rows, *choice.contested), ())
            found = self.reader.candidates(wanted, self.reader.checked(query.vector), lexical=lexical)
            contested = sorted(choice.contested) if scorer is not None else []
            tie_breaks = self._tie_breaks(contested, query.partitions) if contested else []
        ideal = 1.0 if scorer is None else scorer.ideal
        return FetchedSentences(
            candidates=found,
            rows=tuple(row_of[item.sentence.id] for item in found.items),
            scored=tuple(
                ScoredHit(row, share(scores[row], ideal), scores[row] / ideal, tie_break)
                for row, tie_break in zip(contested, tie_breaks, strict=True)
            ),
        )

    def _hits(self, weights: QueryWeights, count: int, limits: RowLimits) -> tuple[BoundedHit, ...]:
        """Return the sentences that tantivy proposes, with bounds on their scores.

        Tantivy weighs each word by its worth in the whole index, but knows only the average length a of this shard, not
        the average A of the whole index. A word adds worth / (1 + k / often), where k is an increasing linear function
        of length / average. With A in place of a this grows at most by the factor A / a if that is above 1, and
        otherwise shrinks at most by it. The same holds for the best of several variants and for sums, so each score
        lies between two bounds. A sentence that tantivy did not return scores at most the upper bound of the last one
        returned; ask for more until that is too low to matter.
        """
        lexical = self.reader.lexical
        if count <= 0 or lexical.sentences == 0:
            return ()
        groups = (self._variants(group) for group in weights.groups)
        query = lexical.within(sum_of(best_of(group) for group in groups), limits)
        ratio = weights.average / (average(lexical.sentences, self.terms) or weights.average)
        least, most = min(1.0, ratio) * (1 - _ROUNDING), max(1.0, ratio) * (1 + _ROUNDING)
        limit = count + MARGIN
        while True:
            found = lexical.found(query, limit)
            shares = [hit.score / weights.ideal for hit in found]
            to_reach = thresholds([score * least for score in shares], count)  # tantivy gives the best first
            if len(found) < limit or not to_reach.within_reach(shares[-1] * most):
                return tuple(
                    BoundedHit(hit.row, score * least, score * most)
                    for hit, score in zip(found, shares, strict=True)
                    if to_reach.within_reach(score * most)
                )
            limit *= 4

    def _variants(self, group: Sequence[WeighedVariant]) -> list[tantivy.Query]:
        """Return queries for the variants that occur here."""
        lexical = self.reader.lexical
        queries = []
        for variant in group:
            held = [lexical.held((token,)) for token, _ in variant]
            if all(held):
                worth = (token_weight(lexical.sentences, count, 1.0) for count in held)
                queries.append(
                    lexical.every([(token, weight / own) for (token, weight), own in zip(variant, worth, strict=True)])
                )
        return queries

    def _nearest(self, vector: Vectors, query: ShardQuery, limits: RowLimits) -> tuple[ScoredHit, ...]:
        nearest, found = self.reader.nearest(vector, query.candidates, limits)
        scores = sorted(zip(self.reader.dense.rows[nearest].tolist(), found.tolist(), strict=True))
        tie_breaks = self._tie_breaks([row for row, _ in scores], query.partitions)
        return tuple(
            ScoredHit(row, score, score, tie_break) for (row, score), tie_break in zip(scores, tie_breaks, strict=True)
        )

    def _tie_breaks(self, rows: Sequence[int], partitions: int) -> list[TieBreak]:
        return [
            TieBreak(partition_hash(doc_id) % partitions, doc_id, ordinal)
            for doc_id, ordinal in self.reader.ordinals(rows)
        ]
