"""One generation of an embedded index, or the documents of it that somebody may see."""

# ruff: noqa: S608  only constant names are put into SQL; values are always bound

from __future__ import annotations

import json
import sqlite3
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from quoth.language.stems import word_language_in, word_languages
from quoth.protocols import Neighbours
from quoth.stores import database_rows as rows
from quoth.stores.database_rows import Row, RowLimits
from quoth.stores.disk_faults import reading
from quoth.stores.embedded import derived_indexes
from quoth.stores.embedded import sqlite_schema as schema
from quoth.stores.embedded.dense_index import DenseIndex, checked_vector, scored_candidates
from quoth.stores.embedded.derived_indexes import DerivedIndexes
from quoth.stores.embedded.document_tables import DocumentTables
from quoth.stores.embedded.generations import Layout
from quoth.stores.embedded.lexical_index import LexicalIndex
from quoth.stores.embedded.visible_documents import NO_CHANGES, EvidenceCounts, LabelChanges, VisibleDocuments
from quoth.stores.query_terms import stems_of, variants
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
    Span,
    Vectors,
)

_OF_DOCUMENT = "document = (SELECT row FROM documents WHERE id = ?)"
_PLACE = """
SELECT s.document, s.ordinal FROM documents d CROSS JOIN sentences s ON s.document = d.row
WHERE d.id = ? AND s.start = ? AND s.stop = ?
"""  # a cross join keeps the order of the tables
_LISTED = "IN (SELECT value FROM json_each(?))"


@dataclass(eq=False)
class EmbeddedReader:
    """See `protocols.Reader`.

    With `visible` documents it finds and gives these alone. Its searches score by the statistics of the whole index
    all the same, unless `LocalShard` asks it: see `visible_reader`.
    """

    connection: sqlite3.Connection
    info: IndexInfo
    location: Path
    indexes: DerivedIndexes
    layout: Layout
    visible: VisibleDocuments | None = None
    changes: LabelChanges = NO_CHANGES
    missing: ClassVar[tuple[str, ...]] = ()

    def may_lack(self, filters: Filters) -> bool:
        return False

    def search(self, query: Query) -> Candidates:
        with reading(self.location):
            limits = self.limits(query.filters)
            plan = self.lexical.plan(query.terms, self.languages) if query.terms else None
            scores = {} if plan is None else self.lexical.top(plan, query.candidates, limits)
            vector = self.checked(query.vector)
            near = set() if vector is None else self._nearest(vector, query.candidates, limits)
            found_by = {row: ("lexical",) * (row in scores) + ("dense",) * (row in near) for row in {*scores, *near}}
            if plan is not None:
                scores |= self.lexical.scores(plan, near - scores.keys())
            return self.candidates(found_by, vector, lexical=lambda row, _: scores.get(row, 0.0))

    def frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        return {term: self.lexical.holding(variants(term, self.languages)) for term in terms}

    def document(self, doc_id: str) -> Document | None:
        if not self._sees(doc_id):
            return None
        found = self._rows(f"SELECT row, {rows.WHOLE} FROM documents WHERE id = ?", _storable(doc_id))
        if not found:
            return None
        row, *fields = found[0]
        with reading(self.location):
            return rows.document(tuple(fields), self.tables.text(row))

    def texts(self, ids: Collection[str]) -> Iterator[tuple[str, bytes]]:
        with reading(self.location):
            return iter(self.tables.encoded_texts(self._seen(ids)))

    def documents(self, ids: Collection[str] | None = None) -> tuple[DocumentInfo, ...]:
        if ids is None and self.visible is not None and not self.visible.everything:
            ids = self.visible.ids
        where = "" if ids is None else f"WHERE id {_LISTED}"
        values = () if ids is None else (json.dumps(sorted(self._seen(ids))),)
        found = self._rows(f"SELECT {self._listed} FROM documents {where}", *values)
        listed = sorted(map(rows.listed, found), key=lambda document: document.id)
        if self.visible is not None or not self.changes.labels:
            return tuple(listed)
        own = self.changes.labels
        return tuple(replace(document, access=own.get(document.id, document.access)) for document in listed)

    @cached_property
    def _listed(self) -> str:
        """`LISTED`, without what an index from before does not record, and without labels for limited access."""
        with reading(self.location):
            recorded = schema.has_readings(self.connection)
            labels = self.visible is None and schema.has_labels(self.connection)
        listed = rows.LISTED if recorded else rows.LISTED.replace("reading", "NULL")
        return listed if labels else listed.replace("access", "'[]'")

    def sentences(self, doc_id: str, near: Span | None = None) -> Iterator[Sentence]:
        if not self._sees(doc_id):
            return iter(())
        within = "" if near is None else "AND s.ordinal BETWEEN ? AND ?"
        bounds = () if near is None else self._ordinals_near(doc_id, near)
        found = self._sentences(f"WHERE d.id = ? {within} ORDER BY s.ordinal", _storable(doc_id), *bounds)
        return (sentence for sentence, _ in found)

    def _ordinals_near(self, doc_id: str, near: Span) -> tuple[int, int]:
        """Return the ordinals of the last sentence that begins at the start of `near` or before, and at its end."""
        found = self._rows("SELECT row, sentences FROM documents WHERE id = ?", _storable(doc_id))
        row, count = found[0] if found else (-1, 0)

        def start(ordinal: int) -> int:
            return int(self._column("SELECT start FROM sentences WHERE document = ? AND ordinal = ?", row, ordinal)[0])

        # Ordinals count from 0 without gaps, so each of some dozen looks halves what is left.
        first, last = (bisect_right(range(count), at, key=start) - 1 for at in (near.start, near.end))
        return max(0, first), last

    def passages(self, doc_id: str) -> tuple[Passage, ...]:
        if not self._sees(doc_id):
            return ()
        sql = f"SELECT {rows.PASSAGE_COLUMNS} FROM passages WHERE {_OF_DOCUMENT} ORDER BY ordinal"
        return tuple(rows.passage(doc_id, row) for row in self._rows(sql, _storable(doc_id)))

    def page(self, doc_id: str, number: int) -> Page | None:
        if not self._sees(doc_id):
            return None
        sql = f"SELECT {rows.PAGE_COLUMNS} FROM pages WHERE {_OF_DOCUMENT} AND number = ?"
        found = self._rows(sql, _storable(doc_id), number)
        return rows.page(found[0]) if found else None

    def neighbours(self, sentences: Sequence[Sentence]) -> list[Neighbours]:
        return [self._beside(sentence) for sentence in sentences]

    def _beside(self, sentence: Sentence) -> Neighbours:
        if not self._sees(sentence.doc_id):
            return None, None
        span = sentence.quote.span
        found = self._rows(_PLACE, _storable(sentence.doc_id), span.start, span.end)
        if not found:
            return None, None
        document, ordinal = found[0]
        condition = "WHERE s.document = ? AND s.ordinal IN (?, ?)"
        near = self._sentences(condition, document, ordinal - 1, ordinal + 1, extra="s.ordinal")
        beside = {place: other for other, (place,) in near}
        return beside.get(ordinal - 1), beside.get(ordinal + 1)

    def vectors(self, doc_id: str) -> Vectors:
        if not self._sees(doc_id):
            return np.empty((0, self.info.model.dimension), dtype=np.float32)
        found = self._rows("SELECT row FROM documents WHERE id = ?", _storable(doc_id))
        with reading(self.location):
            embeddings = [number for (row,) in found for number in self.tables.embeddings(row)]
            return rows.unit_vectors(self.tables.vectors(np.array(embeddings, dtype=np.int64)))

    @cached_property
    def tables(self) -> DocumentTables:
        return schema.document_tables(self.connection, dimension=self.info.model.dimension)

    @property
    def lexical(self) -> LexicalIndex:
        return self.indexes.lexical(self._rebuild)

    @property
    def dense(self) -> DenseIndex:
        return self.indexes.dense(self.tables, self._rebuild)

    @cached_property
    def languages(self) -> tuple[str, ...]:
        return word_languages(self.info)

    def languages_by_document(self, doc_ids: Collection[str]) -> dict[str, str]:
        """Return the one of `languages` that each of these documents has."""
        if len(self.languages) == 1:
            return dict.fromkeys(doc_ids, self.languages[0])
        sql = f"SELECT id, json_extract(metadata, '$.language') FROM documents WHERE id {_LISTED}"
        found = self._rows(sql, json.dumps(sorted(set(doc_ids))))
        return {doc_id: word_language_in(self.info, tag) for doc_id, tag in found}

    def _rebuild(self) -> None:
        # Not from `self.info`: a limited reader describes what is visible.
        with reading(self.location):
            info = schema.read_info(self.connection, self.location)
        if info is not None:
            derived_indexes.build(self.connection, self.tables, self.location, info, layout=self.layout, previous=0)

    def evidence(self) -> EvidenceCounts:
        """Count the visible evidence sentences; all of them where nothing is limited."""
        return self._counted(None) if self.visible is None else self.visible.evidence(self._counted)

    def _counted(self, documents: frozenset[int] | None) -> EvidenceCounts:
        dense = self.dense
        lengths = dense.lengths(self._lengths)
        allowed = dense.allowed(RowLimits(documents, ()))
        positions = np.arange(len(lengths)) if allowed is None else allowed
        return EvidenceCounts(positions, int(lengths[positions].sum()), int(lengths.sum()))

    def _lengths(self, wanted: Sequence[int]) -> list[int]:
        """Count the terms of the sentences in these rows, in the same order."""
        ordered = sorted(wanted)
        sentences = list(self.rows(ordered))
        languages = self.languages_by_document([sentence.doc_id for sentence in sentences])
        counted = {
            row: len(stems_of(sentence.search_text, languages[sentence.doc_id]))
            for row, sentence in zip(ordered, sentences, strict=True)
        }
        return [counted[row] for row in wanted]

    def _sees(self, doc_id: str) -> bool:
        return self.visible is None or doc_id in self.visible.ids

    def _seen(self, ids: Collection[str]) -> Collection[str]:
        return ids if self.visible is None else self.visible.ids.intersection(ids)

    def checked(self, vector: Vectors | None) -> Vectors | None:
        return checked_vector(vector, self.info.model.dimension)

    def limits(self, filters: Filters) -> RowLimits:
        """Return the filters, and what is visible, as rows and ids. A value that does not exist matches nothing."""
        tests: list[str] = []
        values: list[object] = []
        for column, wanted in (("id", filters.doc_ids), ("document_type", filters.document_types)):
            if wanted:
                tests.append(f"{column} {_LISTED}")
                values.append(json.dumps(wanted))
        if filters.is_binding is not None:
            tests.append("is_binding = ?")
            values.append(filters.is_binding)
        if filters.as_of is not None:
            tests.append("coalesce(json_extract(metadata, '$.effective_date'), '') <= ?")
            values.append(filters.as_of)
        sql = f"SELECT row FROM documents WHERE {' AND '.join(tests)}"
        documents = self._column(sql, *values) if tests else None
        tagged = f"SELECT id FROM tags WHERE facet = ? AND value {_LISTED}"
        tags = [
            self._column(tagged, _storable(facet), json.dumps(wanted))
            for facet, wanted in filters.tags.items()
            if wanted
        ]
        limits = RowLimits(documents, tags)
        limited = self.visible is not None and not self.visible.everything
        return self.visible.restricted(limits) if self.visible is not None and limited else limits

    def nearest(self, vector: Vectors, count: int, limits: RowLimits) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return positions and cosines as `DenseIndex.nearest` does.

        Where some documents are not visible, every vector within `limits` is compared: whether codes propose some, and
        which of equal ones, depends on the size of the whole index.
        """
        if self.visible is None or self.visible.everything:
            return self.dense.nearest(vector, count, self.dense.allowed(limits), self.tables)
        whole = limits.documents is self.visible.rows and not limits.tags
        allowed = self.evidence().positions if whole else self.dense.allowed(limits)
        return self.dense.nearest(vector, count, allowed, self.tables, exactly=True)

    def _nearest(self, vector: Vectors, count: int, limits: RowLimits) -> set[int]:
        nearest = self.dense.top(vector, count, self.dense.allowed(limits), self.tables)
        return set(self.dense.rows[nearest].tolist())

    def candidates(
        self,
        found_by: Mapping[int, tuple[str, ...]],
        vector: Vectors | None,
        *,
        lexical: Callable[[int, Sentence], float],
    ) -> Candidates:
        """Return the sentences of these rows with both scores, ordered by sentence id."""
        found = sorted(found_by)
        vectors = self.dense.take(self.dense.positions(np.array(found, dtype=np.int64)), self.tables)
        read = zip(found, self._with_tokens(found), strict=True)
        scored = [(sentence, lexical(row, sentence), found_by[row], tokens) for row, (sentence, tokens) in read]
        return scored_candidates(scored, vector, vectors)

    def rows(self, wanted: Sequence[int]) -> Iterator[Sentence]:
        """Return the sentences of these rows, ordered by row."""
        found = self._sentences(f"WHERE s.row {_LISTED} ORDER BY s.row", json.dumps(wanted))
        return (sentence for sentence, _ in found)

    def ordinals(self, wanted: Sequence[int]) -> list[Row]:
        """Return document id and ordinal of these rows, ordered by row."""
        joined = "FROM sentences s JOIN documents d ON d.row = s.document"
        return self._rows(f"SELECT d.id, s.ordinal {joined} WHERE s.row {_LISTED} ORDER BY s.row", json.dumps(wanted))

    def _with_tokens(self, wanted: Sequence[int]) -> Iterator[tuple[Sentence, bytes]]:
        """Return the sentences of these rows with their token codes, ordered by row."""
        condition = f"WHERE s.row {_LISTED} ORDER BY s.row"
        found = self._sentences(
            condition, json.dumps(wanted), extra="e.tokens", join="JOIN embeddings e ON e.id = s.embedding"
        )
        return ((sentence, tokens) for sentence, (tokens,) in found)

    def _sentences(
        self, condition: str, *values: object, extra: str = "", join: str = ""
    ) -> Iterator[tuple[Sentence, Row]]:
        with reading(self.location):
            found = self.tables.sentences(condition, *values, extra=extra, join=join)
        return ((rows.sentence(row), more) for row, more in found)

    def _rows(self, sql: str, *values: object) -> list[Row]:
        with reading(self.location):
            return self.connection.execute(sql, values).fetchall()

    def _column(self, sql: str, *values: object) -> list[Any]:
        return [value for (value,) in self._rows(sql, *values)]


def _storable(text: str) -> str:
    """Return `text` as a bindable value: a lone surrogate, which no stored text has, becomes `?`."""
    return text.encode("utf-8", "replace").decode("utf-8")
