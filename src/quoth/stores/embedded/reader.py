"""One generation of the index, read inside one SQLite transaction."""

# ruff: noqa: S608  only constant names are put into SQL; values are always bound

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from quoth.errors import IndexMismatch
from quoth.stores.embedded import derived, rows
from quoth.stores.embedded.dense import DenseIndex, cosines
from quoth.stores.embedded.faults import reading
from quoth.stores.embedded.lexical import LexicalIndex, Plan
from quoth.stores.embedded.limits import Limits
from quoth.stores.embedded.shards import Layout
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
    Vectors,
)

_JOINED = "FROM sentences s JOIN documents d ON d.row = s.document"


class EmbeddedReader:
    """See `protocols.Reader`."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        info: IndexInfo,
        *,
        place: Path,
        indexes: derived.Derived,
        layout: Layout,
    ) -> None:
        self._connection = connection
        self._info = info
        self._place = place
        self._indexes = indexes
        self._layout = layout

    @property
    def info(self) -> IndexInfo:
        return self._info

    @property
    def missing(self) -> tuple[str, ...]:
        return ()

    def may_lack(self, filters: Filters) -> bool:
        return False

    def search(self, query: Query) -> Candidates:
        with reading(self._place):
            limits = self.limits(query.filters)
            plan = self.lexical.plan(query.terms) if query.terms else None
            lexical = {} if plan is None else self.lexical.top(plan, query.candidates, limits)
            vector = self.checked(query.vector)
            dense_rows = [] if vector is None else self._nearest(vector, query.candidates, limits)
            return self._candidates(plan, vector, lexical=lexical, dense_rows=dense_rows)

    def frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        return {term: self.lexical.frequency(term) for term in terms}

    def document(self, doc_id: str) -> Document | None:
        with reading(self._place):
            found = self._connection.execute(f"SELECT {rows.WHOLE} FROM documents WHERE id = ?", _storable(doc_id))
            row = found.fetchone()
        return None if row is None else rows.document(row)

    def documents(self, ids: Collection[str] | None = None) -> tuple[DocumentInfo, ...]:
        with reading(self._place):
            where, values = (
                ("", []) if ids is None else ("WHERE id IN (SELECT value FROM json_each(?))", [json.dumps(sorted(ids))])
            )
            found = self._connection.execute(f"SELECT {rows.LISTED} FROM documents {where}", values)
            return tuple(sorted(map(rows.listed, found), key=lambda document: document.id))

    def sentences(self, doc_id: str) -> Iterator[Sentence]:
        with reading(self._place):
            yield from self._sentences("d.id = ? ORDER BY s.ordinal", _storable(doc_id))

    def passages(self, doc_id: str) -> tuple[Passage, ...]:
        with reading(self._place):
            found = self._connection.execute(
                f"SELECT {rows.PASSAGE_COLUMNS} FROM passages "
                "WHERE document = (SELECT row FROM documents WHERE id = ?) ORDER BY ordinal",
                _storable(doc_id),
            )
            return tuple(rows.passage(doc_id, row) for row in found)

    def page(self, doc_id: str, number: int) -> Page | None:
        with reading(self._place):
            found = self._connection.execute(
                f"SELECT {rows.PAGE_COLUMNS} FROM pages "
                "WHERE document = (SELECT row FROM documents WHERE id = ?) AND number = ?",
                (*_storable(doc_id), number),
            ).fetchone()
            return None if found is None else rows.page(found)

    def neighbours(self, candidate: Sentence) -> tuple[Sentence | None, Sentence | None]:
        span = candidate.quote.span
        with reading(self._place):
            found = self._connection.execute(
                f"SELECT s.document, s.ordinal {_JOINED} WHERE d.id = ? AND s.start = ? AND s.stop = ?",
                (*_storable(candidate.doc_id), span.start, span.end),
            ).fetchone()
            if found is None:
                return None, None
            document, ordinal = found
            return self._at(document, ordinal - 1), self._at(document, ordinal + 1)

    def expect(self, sentences: Sequence[Sentence]) -> None:
        pass  # all of it is near

    def vectors(self, doc_id: str) -> Vectors:
        with reading(self._place):
            blobs = self._connection.execute(
                f"SELECT e.vector {_JOINED} JOIN embeddings e ON e.id = s.embedding WHERE d.id = ? ORDER BY s.ordinal",
                _storable(doc_id),
            ).fetchall()
        stored = np.frombuffer(b"".join(blob for (blob,) in blobs), dtype=np.float16)
        return rows.unpack(stored.reshape(-1, self._info.model.dimension))

    @property
    def lexical(self) -> LexicalIndex:
        return self._indexes.lexical(self._rebuild)

    @property
    def dense(self) -> DenseIndex:
        return self._indexes.dense(self._rebuild)

    def _rebuild(self) -> None:
        derived.build(
            self._connection,
            self._place,
            generation=self._info.generation,
            dimension=self._info.model.dimension,
            layout=self._layout,
            previous=None,
        )

    def checked(self, vector: Vectors | None) -> Vectors | None:
        if vector is None:
            return None
        if vector.shape != (self._info.model.dimension,):
            raise IndexMismatch(
                f"a vector of shape {vector.shape} cannot be searched among {self._info.model.dimension} dimensions",
                hint="Ask with the model that the index was made with; quoth status names it.",
            )
        return vector.astype(np.float32, copy=False)  # another type would copy the whole matrix to match

    def limits(self, filters: Filters) -> Limits:
        """The filters as rows and ids. What does not exist is in no list, and so matches nothing."""
        tests: list[str] = []
        values: list[object] = []
        for column, wanted in (("id", filters.doc_ids), ("document_type", filters.document_types)):
            if wanted:
                tests.append(f"{column} IN (SELECT value FROM json_each(?))")
                values.append(json.dumps(wanted))
        if filters.is_binding is not None:
            tests.append("is_binding = ?")
            values.append(filters.is_binding)
        if filters.as_of is not None:
            tests.append("coalesce(json_extract(metadata, '$.effective_date'), '') <= ?")
            values.append(filters.as_of)
        documents = None
        if tests:
            documents = self._integers(f"SELECT row FROM documents WHERE {' AND '.join(tests)}", values)
        tagged = "SELECT id FROM tags WHERE facet = ? AND value IN (SELECT value FROM json_each(?))"
        tags = [
            self._integers(tagged, (*_storable(facet), json.dumps(wanted)))
            for facet, wanted in filters.tags.items()
            if wanted
        ]
        return Limits(documents, tags)

    def _nearest(self, vector: Vectors, count: int, limits: Limits) -> list[int]:
        nearest = self.dense.top(vector, count, self.dense.allowed(limits))
        return [int(row) for row in self.dense.rows[nearest]]

    def _candidates(
        self, plan: Plan | None, vector: Vectors | None, *, lexical: Mapping[int, float], dense_rows: list[int]
    ) -> Candidates:
        """Both scores for every row found either way, ordered by sentence id."""
        found = sorted({*lexical, *dense_rows})
        if not found:
            return Candidates((), np.empty((0, self._info.model.dimension), dtype=np.float32))
        positions = self.dense.positions(np.array(found, dtype=np.int64))
        by_dense = set(dense_rows)
        others = {} if plan is None else self.lexical.scores(plan, by_dense - lexical.keys())
        vectors = self.dense.take(positions)
        dense = np.zeros(len(found)) if vector is None else cosines(vector, vectors)
        items = [
            Candidate(
                sentence=sentence,
                lexical=lexical.get(row) or others.get(row, 0.0),
                dense=float(cosine),
                found_by=("lexical",) * (row in lexical) + ("dense",) * (row in by_dense),
                tokens=tokens,
            )
            for row, sentence, cosine, tokens in zip(found, self.rows(found), dense, self.tokens(found), strict=True)
        ]
        order = sorted(range(len(items)), key=lambda place: items[place].sentence.id)
        return Candidates(tuple(items[place] for place in order), vectors[order])

    def rows(self, wanted: Sequence[int]) -> Iterator[Sentence]:
        """The sentences of these rows, by row."""
        test = "s.row IN (SELECT value FROM json_each(?)) ORDER BY s.row"
        return self._sentences(test, (json.dumps(wanted),))

    def ordinals(self, wanted: Sequence[int]) -> Iterator[tuple[str, int]]:
        """The document's id and the place in it of these rows, by row."""
        return self._connection.execute(
            f"SELECT d.id, s.ordinal {_JOINED} WHERE s.row IN (SELECT value FROM json_each(?)) ORDER BY s.row",
            (json.dumps(wanted),),
        )

    def tokens(self, wanted: Sequence[int]) -> Iterator[bytes]:
        """The codes of the tokens of these rows, by row."""
        found = self._connection.execute(
            "SELECT e.tokens FROM sentences s JOIN embeddings e ON e.id = s.embedding "
            "WHERE s.row IN (SELECT value FROM json_each(?)) ORDER BY s.row",
            (json.dumps(wanted),),
        )
        return (tokens for (tokens,) in found)

    def _at(self, document: int, ordinal: int) -> Sentence | None:
        return next(self._sentences("s.document = ? AND s.ordinal = ?", (document, ordinal)), None)

    def _sentences(self, test: str, values: Collection[object]) -> Iterator[Sentence]:
        found = self._connection.execute(f"SELECT {rows.QUOTED} {_JOINED} WHERE {test}", tuple(values))
        return map(rows.sentence, found)

    def _integers(self, sql: str, values: Iterable[object]) -> list[int]:
        return [value for (value,) in self._connection.execute(sql, tuple(values))]


def _storable(text: str) -> tuple[str]:
    """`text` as SQLite can compare it; a lone surrogate, which is in no stored text, becomes `?`."""
    return (text.encode("utf-8", "replace").decode("utf-8"),)
