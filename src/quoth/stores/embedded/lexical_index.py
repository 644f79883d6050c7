"""Full text on tantivy: BM25 over the evidence sentences, as a share of what an ideal sentence would score.

Tantivy weighs a term that occurs once in a sentence of average length with exactly its idf. So the ideal sentence, of
average length and holding each term once, scores the sum of the idfs, whatever the question; a term that no sentence
holds counts in that sum as the rarest possible, and lowers every score.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import weakref
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import tantivy

from quoth.stores.database_rows import RowLimits, search_text
from quoth.stores.embedded import generations
from quoth.stores.embedded.document_tables import DocumentTables
from quoth.stores.embedded.generations import Partition, TagIds, save_numbers
from quoth.stores.query_terms import Variant, asked, stems_of, weigh

FOLDER = "lexical"
LENGTHS = "lengths.npy"
_META = "meta.json"  # tantivy's own list of its segments

# A budget, not an allocation: 1 GB holds some ten million sentences, so that each partition is one segment.
_BUDGET = 10**9

_MOST_SETS = 64

MARGIN = 64  # hits beyond the asked number: scores that rounding makes equal at the cut are settled by position

_MOST_COUNTS = 50_000
"""How many counts of words are kept, the first that are asked for: a generation never changes."""
_USUAL_CHARACTERS = 64
"""Counts of longer words are not kept, so that those that are take little memory."""

_FEW_IDS = 100
"""Up to this many, looking each of them up is faster than walking through a set of them."""

Segment: TypeAlias = dict[str, Any]
"""A segment as tantivy lists it."""


class LexicalQuery(NamedTuple):
    """A question as tantivy searches it, and the score of the ideal sentence."""

    query: tantivy.Query
    ideal: float


class LexicalHit(NamedTuple):
    """A sentence found by words. `address` is its segment and number there, in the order of the partitions."""

    row: int
    score: float
    address: tuple[int, int]


def build(
    tables: DocumentTables,
    partition: Partition,
    folder: Path,
    *,
    tag_ids: TagIds,
    languages: Mapping[int, str],
) -> tuple[Segment, ...]:
    """Write the segments of the partition's evidence sentences into `folder`; `compose` makes an index of them.

    The number of terms of each sentence is written beside the vectors: tantivy keeps it only roughly.

    `languages` are the languages of documents, by row, where they are not analysed as English is.
    """
    (folder / FOLDER).mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as apart:
        index = tantivy.Index(_schema(), path=apart, reuse=False)
        index.register_tokenizer("quoth", _as_given())
        writer = index.writer(heap_size=_BUDGET, num_threads=1)
        lengths = array("i")
        for document, length in _documents(tables, partition, tag_ids, languages):
            writer.add_document(document)
            lengths.append(length)
        writer.commit()
        writer.wait_merging_threads()
        segments = tuple(json.loads((Path(apart) / _META).read_bytes())["segments"])
        for segment in segments:
            for path in Path(apart).glob(f"{_name(segment)}.*"):
                path.rename(folder / FOLDER / path.name)
    save_numbers(folder / partition.folder / LENGTHS, np.frombuffer(lengths, dtype=np.int32))
    return segments


def compose(segments: Sequence[Segment], folder: Path) -> None:
    """Make one index of segments that were built separately.

    No segment has deleted sentences, so its counts of sentences, tokens and terms are exact. Their sums equal the
    counts of one large segment, so every score is the same however the sentences are divided.
    """
    (folder / FOLDER).mkdir(exist_ok=True)
    tantivy.Index(_schema(), path=str(folder / FOLDER), reuse=False)
    described = json.loads((folder / FOLDER / _META).read_bytes())
    (folder / FOLDER / _META).write_text(json.dumps(described | {"segments": segments}), encoding="utf-8")


def file_prefix(segment: Segment) -> str:
    """Return what the names of a segment's files begin with."""
    return f"{FOLDER}/{_name(segment)}."


def _name(segment: Segment) -> str:
    return str(segment["segment_id"]).replace("-", "")


@cache
def _as_given() -> tantivy.TextAnalyzer:
    """Take tokens from between spaces: they are stemmed before, each document's by its language."""
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).build()


def _documents(
    tables: DocumentTables, partition: Partition, tag_ids: TagIds, languages: Mapping[int, str]
) -> Iterator[tuple[tantivy.Document, int]]:
    """Yield each evidence sentence as tantivy takes it, and its number of terms."""
    for document_row in partition.documents:
        for found in tables.evidence(document_row):
            document = tantivy.Document()
            document.add_integer("row", found.row)
            document.add_integer("document", document_row)
            for tag_id in tag_ids(found.tags):
                document.add_integer("tag", tag_id)
            stems = stems_of(search_text(found.text, found.lead), languages.get(document_row, ""))
            document.add_text("body", " ".join(stems))
            yield document, len(stems)


class LexicalIndex:
    """The full text of one generation. Threads may share it."""

    def __init__(self, folder: Path) -> None:
        listed = generations.manifest(folder).files
        files = {name: entry for name, entry in listed.items() if name.startswith(f"{FOLDER}/")}
        if f"{FOLDER}/{_META}" not in files:
            raise generations.DerivedFileDamaged(f"{FOLDER} is not in the manifest of {folder}")
        generations.check(folder, files)
        try:
            self._index = self._open(folder / FOLDER)
            self._searcher = self._index.searcher()
        except (ValueError, OSError) as error:
            raise generations.DerivedFileDamaged(f"{folder / FOLDER}: {error}") from error
        self._schema = self._index.schema
        self._counts: dict[Variant, int] = {}
        self._sets: dict[tuple[str, frozenset[int]], tantivy.Query] = {}
        self.sentences = self._searcher.num_docs

    def _open(self, folder: Path) -> tantivy.Index:
        if not os.access(folder, os.W_OK):  # tantivy locks a file even to read, so it reads a copy
            copy = tempfile.mkdtemp(prefix="quoth-lexical-")
            weakref.finalize(self, shutil.rmtree, copy, ignore_errors=True)
            folder = Path(shutil.copytree(folder, copy, dirs_exist_ok=True, copy_function=shutil.copyfile))
        index = tantivy.Index.open(str(folder))
        index.config_reader(reload_policy="manual")  # a generation never changes
        return index

    def plan(self, groups: Sequence[Sequence[str]], languages: Sequence[str]) -> LexicalQuery | None:
        """Weigh the words of a question; return None if it has no words to search for."""
        weighed = [self._weigh(variants) for variants in asked(groups, languages)]
        if not weighed or self.sentences == 0:
            return None
        return LexicalQuery(sum_of(query for query, _ in weighed), sum(worth for _, worth in weighed))

    def top(self, plan: LexicalQuery, count: int, limits: RowLimits) -> dict[int, float]:
        """Return the rows of the `count` best sentences within `limits`, with their scores.

        Best first; equal scores in the order of the partitions, of document ids in each, and of sentences.
        """
        found = self.found(self.within(plan.query, limits), count + MARGIN)
        best = [(-share(hit.score, plan.ideal), hit.address, hit.row) for hit in found]
        return {row: -of_ideal for of_ideal, _, row in sorted(best)[:count]}

    def scores(self, plan: LexicalQuery, wanted: Collection[int]) -> dict[int, float]:
        """Return the score of each wanted row, 0 to 1."""
        if not wanted:
            return {}
        both = [(tantivy.Occur.Must, self._anyone("row", wanted)), (tantivy.Occur.Should, plan.query)]
        found = {hit.row: hit.score for hit in self.found(tantivy.Query.boolean_query(both), len(wanted))}
        return {row: share(found.get(row, 0.0), plan.ideal) for row in wanted}

    def counted(self, variants: Sequence[Variant], limits: RowLimits) -> int:
        """Count the sentences within `limits` that hold every token of any of `variants`."""
        if not variants or self.sentences == 0:
            return 0
        return self._count(self.within(sum_of(map(self._all_of, variants)), limits))

    def holding(self, variants: Sequence[Variant]) -> int:
        """Count the sentences that hold every token of any of `variants`."""
        if not variants or self.sentences == 0:
            return 0
        if len(variants) == 1:
            return self.held(variants[0])  # without a search, for most words
        return self._count(sum_of(map(self._all_of, variants)))

    def within(self, query: tantivy.Query, limits: RowLimits) -> tantivy.Query:
        """Restrict `query` to the sentences within `limits`, without changing scores."""
        if limits.anywhere:
            return query
        limited = [("tag", ids) for ids in limits.tags]
        if limits.documents is not None:
            limited.append(("document", limits.documents))
        clauses = [query, *(self._anyone(field, ids) for field, ids in limited)]
        return tantivy.Query.boolean_query([(tantivy.Occur.Must, clause) for clause in clauses])

    def found(self, query: tantivy.Query, limit: int) -> list[LexicalHit]:
        """Return the best `limit` sentences, best first."""
        hits = self._searcher.search(query, limit=max(1, limit), count=False).hits
        found = self._searcher.fast_field_values("row", [address for _, address in hits])
        return [
            LexicalHit(int(row), float(score), (address.segment_ord, address.doc))
            for row, (score, address) in zip(found, hits, strict=True)
            if row is not None
        ]

    def _weigh(self, variants: Sequence[Variant]) -> tuple[tantivy.Query | None, float]:
        """Return the query for one group, and the most that it can score."""
        boosts, worth = weigh(variants, self.sentences, held=self.held)
        queries = [boosted(self._all_of(variant), boost) for variant, boost in boosts.items()]
        return best_of(queries), worth

    def held(self, variant: Variant) -> int:
        """Count the sentences that hold every token of `variant`."""
        known = self._counts.get(variant)
        if known is not None:
            return known
        held = self._searcher.doc_freq("body", variant[0]) if len(variant) == 1 else self._count(self._all_of(variant))
        if len(self._counts) < _MOST_COUNTS and sum(map(len, variant)) <= _USUAL_CHARACTERS:
            self._counts[variant] = held
        return held

    def most_used(self, count: int) -> list[tuple[str, int]]:
        """Return up to `count` tokens, those that most sentences hold, each with the number of these sentences."""
        return self._searcher.terms_with_prefix("body", "", limit=count)

    def _count(self, query: tantivy.Query) -> int:
        return int(self._searcher.search(query, limit=1, count=True).count)  # type: ignore[attr-defined]

    def _all_of(self, variant: Variant) -> tantivy.Query:
        return self.every([(token, 1.0) for token in variant])

    def every(self, tokens: Sequence[tuple[str, float]]) -> tantivy.Query:
        """Match what holds every token, each with its boost."""
        terms = [
            boosted(tantivy.Query.term_query(self._schema, "body", token, "freq"), boost) for token, boost in tokens
        ]
        return terms[0] if len(terms) == 1 else tantivy.Query.boolean_query([(tantivy.Occur.Must, t) for t in terms])

    def _anyone(self, field: str, ids: Collection[int]) -> tantivy.Query:
        """Match any of `ids` without adding to the score. The query for a frozen set is kept: it is asked for again."""
        if isinstance(ids, frozenset) and (made := self._sets.get((field, ids))) is not None:
            return made
        query = self._matching(field, ids)
        if isinstance(ids, frozenset):
            if len(self._sets) >= _MOST_SETS:
                self._sets.clear()
            self._sets[field, ids] = query
        return query

    def _matching(self, field: str, ids: Collection[int]) -> tantivy.Query:
        if len(ids) > _FEW_IDS:
            return tantivy.Query.const_score_query(tantivy.Query.term_set_query(self._schema, field, list(ids)), 0.0)
        each = sum_of(tantivy.Query.term_query(self._schema, field, number) for number in ids)
        return tantivy.Query.const_score_query(each, 0.0)


def share(score: float, ideal: float) -> float:
    """Return the share of the ideal sentence's score, at most 1."""
    return round(min(1.0, score / ideal), 6)


def boosted(query: tantivy.Query, boost: float) -> tantivy.Query:
    return query if boost == 1 else tantivy.Query.boost_query(query, boost)


def best_of(queries: Sequence[tantivy.Query]) -> tantivy.Query | None:
    """Score by the best of `queries`; None where there is none."""
    if len(queries) < 2:
        return queries[0] if queries else None
    return tantivy.Query.disjunction_max_query(queries)


def sum_of(queries: Iterable[tantivy.Query | None]) -> tantivy.Query:
    """Score by the sum of `queries`, of which any will do."""
    clauses = [(tantivy.Occur.Should, query) for query in queries if query is not None]
    return tantivy.Query.boolean_query(clauses) if clauses else tantivy.Query.empty_query()


def _schema() -> tantivy.Schema:
    builder = tantivy.SchemaBuilder()
    builder.add_integer_field("row", indexed=True, fast=True)
    builder.add_integer_field("document", indexed=True)
    builder.add_integer_field("tag", indexed=True)
    builder.add_text_field("body", tokenizer_name="quoth", index_option="freq")
    return builder.build()
