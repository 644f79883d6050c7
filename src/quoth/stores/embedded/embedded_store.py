"""An index in one directory, for one machine: many readers, one writer."""

# ruff: noqa: S608  only constant names are put into SQL; values are always bound

from __future__ import annotations

import json
import os
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar
from weakref import WeakValueDictionary

import numpy as np

from quoth.errors import NoIndex
from quoth.language.stems import word_language_in, word_languages
from quoth.protocols import Embedder, Neighbours, Progress
from quoth.stores import database_rows as rows
from quoth.stores.database_rows import Row, RowLimits
from quoth.stores.disk_faults import FileIdentity, connect_readonly, identify, reading, writing
from quoth.stores.embedded import derived_indexes, generations
from quoth.stores.embedded import sqlite_schema as schema
from quoth.stores.embedded.dense_index import DenseIndex, checked_vector, scored_candidates
from quoth.stores.embedded.derived_indexes import DerivedIndexes
from quoth.stores.embedded.embedded_writer import EmbeddedWriter
from quoth.stores.embedded.generations import Layout
from quoth.stores.embedded.lexical_index import LexicalIndex
from quoth.stores.query_terms import variants
from quoth.types import (
    Candidates,
    Document,
    DocumentInfo,
    Filters,
    IndexInfo,
    Page,
    Passage,
    Query,
    Refusals,
    Refused,
    Sentence,
    SplitDocument,
    StoredDocument,
    Vectors,
)

_JOINED = "FROM sentences s JOIN documents d ON d.row = s.document"
_OF_DOCUMENT = "document = (SELECT row FROM documents WHERE id = ?)"
_BESIDE = f"""
SELECT s.ordinal > m.ordinal, {rows.QUOTED} FROM documents d CROSS JOIN sentences m ON m.document = d.row
CROSS JOIN sentences s ON s.document = d.row AND s.ordinal IN (m.ordinal - 1, m.ordinal + 1)
WHERE d.id = ? AND m.start = ? AND m.stop = ?
"""  # a cross join keeps the order of the tables
_LISTED = "IN (SELECT value FROM json_each(?))"


@dataclass(frozen=True, slots=True)
class _Borrowed:
    """A connection, and the file it has open. If it is not `lasting`, it cannot see later generations."""

    connection: sqlite3.Connection
    database: FileIdentity
    lasting: bool


class EmbeddedStore:
    """See `protocols.Store`. For `faiss_threshold` and `smallest_partition` see `Layout`."""

    kind = "embedded"

    def __init__(self, location: Path | str, *, faiss_threshold: int = 200_000, smallest_partition: int = 4096) -> None:
        self._location = Path(location)
        self._database_file = self._location / schema.DATABASE
        self._layout = Layout(faiss_threshold, smallest_partition)
        self._lock = threading.Lock()
        self._database: FileIdentity | None = None
        self._idle: list[_Borrowed] = []
        self._latest: DerivedIndexes | None = None
        self._loaded: WeakValueDictionary[tuple[FileIdentity, int, str], DerivedIndexes] = WeakValueDictionary()

    @property
    def location(self) -> str:
        return str(self._location)

    def size(self) -> int:
        """Return the bytes of all files in the folder; a file that a writer removes meanwhile is not counted."""
        total = 0
        for inside, _, names in os.walk(self._location):
            for name in names:
                with suppress(FileNotFoundError):
                    total += Path(inside, name).stat().st_size
        return total

    def published(self) -> float | None:
        """Return when the directory of the generation was made; rebuilding damaged indexes makes it younger."""
        with self._snapshot() as (_, info):
            if info is not None:
                with suppress(OSError):
                    return generations.directory(self._location, info.generation).stat().st_mtime
        return None

    @contextmanager
    def read(self) -> Iterator[EmbeddedReader]:
        with self._snapshot() as (loan, info):
            if info is None:
                raise NoIndex(str(self._location))
            indexes = self._indexes(loan.database, info)
            yield EmbeddedReader(loan.connection, info, self._location, indexes, self._layout)

    def stored_documents(self) -> Mapping[str, StoredDocument]:
        with suppress(NoIndex), self._snapshot() as (loan, info), reading(self._location):
            return schema.read_stored_documents(loan.connection) if info else {}
        return {}

    def refused_files(self) -> tuple[tuple[str, Refused], ...]:
        with suppress(NoIndex), self._snapshot() as (loan, info), reading(self._location):
            return schema.read_refused_files(loan.connection) if info else ()
        return ()

    def write(
        self,
        put: Iterable[SplitDocument],
        *,
        remove: Collection[str],
        embedder: Embedder,
        profile: tuple[str, str],
        progress: Progress | None,
        refusals: Refusals | None = None,
    ) -> IndexInfo:
        with ExitStack() as stack:
            with writing(self._location):
                generations.home(self._location).mkdir(parents=True, exist_ok=True)
                stack.enter_context(generations.writer_lock(self._location))
                connection = stack.enter_context(closing(schema.connect_writer(self._location)))
                published = schema.read_info(connection, self._location)
                current = published.generation if published else 0
                generations.clean(self._location, keep={current})  # slow readers may have used the previous generation
            writer = EmbeddedWriter(
                old=published,
                embedder=embedder,
                profile=profile,
                progress=progress,
                connection=connection,
                folder=self._location,
                layout=self._layout,
            )
            try:
                info = writer.run(put, remove, refusals)
            except BaseException:
                self._clean_after_failure(connection)
                raise
            schema.merge_log(connection)
            return info

    def _clean_after_failure(self, connection: sqlite3.Connection) -> None:
        # Ask the database: an interrupt can arrive just after the commit, and then the new generation is in service.
        with suppress(OSError, sqlite3.Error):
            published = schema.read_info(connection, self._location)
            current = published.generation if published else 0
            generations.clean(self._location, keep={current - 1, current})

    def close(self) -> None:
        with self._lock:
            self._forget()

    @contextmanager
    def _snapshot(self) -> Iterator[tuple[_Borrowed, IndexInfo | None]]:
        """A connection inside a read transaction, with what it sees; None when nothing has been published."""
        with reading(self._location):
            loan = self._borrow()
        try:
            with reading(self._location):
                loan.connection.execute("BEGIN")
                info = schema.read_info(loan.connection, self._location)
            yield loan, info
        finally:
            with suppress(sqlite3.Error):
                loan.connection.execute("ROLLBACK")
            self._give_back(loan)

    def _borrow(self) -> _Borrowed:
        while True:
            with self._lock:
                database = self._current_database()
                if self._idle:
                    return self._idle.pop()
            connection, lasting = connect_readonly(self._database_file, timeout=10)
            with ExitStack() as stack:
                stack.callback(connection.close)
                if identify(self._database_file) == database:  # else somebody replaced the index meanwhile
                    stack.pop_all()
                    return _Borrowed(connection, database, lasting)

    def _give_back(self, loan: _Borrowed) -> None:
        with self._lock:
            if loan.lasting and loan.database == self._database:
                self._idle.append(loan)
                return
        loan.connection.close()

    def _current_database(self) -> FileIdentity:
        """Return the identity of the database; forget what was loaded from another one before."""
        database = identify(self._database_file)
        if database is None:
            raise NoIndex(str(self._location))
        if database != self._database:
            self._forget()
            self._database = database
        return database

    def _indexes(self, database: FileIdentity, info: IndexInfo) -> DerivedIndexes:
        """Return the shared indexes of a generation; the latest stay loaded between reads."""
        # The key needs the digest: where connections do not last, a new file may reuse the inode of the old file.
        key = (database, info.generation, info.digest)
        with self._lock:
            indexes = self._loaded.get(key)
            if indexes is None:
                before = self._latest if database == self._database else None
                indexes = DerivedIndexes(self._location, info.generation, database=database, before=before)
                self._loaded[key] = indexes
            newest = max(generation for file, generation, _ in self._loaded if file == database)
            if database == self._database and info.generation == newest:
                self._latest = indexes
            return indexes

    def _forget(self) -> None:
        for loan in self._idle:
            loan.connection.close()
        self._idle.clear()
        self._loaded.clear()
        self._latest = None
        self._database = None


@dataclass(eq=False)
class EmbeddedReader:
    """See `protocols.Reader`."""

    connection: sqlite3.Connection
    info: IndexInfo
    location: Path
    indexes: DerivedIndexes
    layout: Layout
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
        found = self._rows(f"SELECT {rows.WHOLE} FROM documents WHERE id = ?", _storable(doc_id))
        return rows.document(found[0]) if found else None

    def texts(self, ids: Collection[str]) -> Iterator[tuple[str, bytes]]:
        # As a blob, the text is not decoded on the way.
        found = self._rows(f"SELECT id, CAST(text AS BLOB) FROM documents WHERE id {_LISTED}", json.dumps(sorted(ids)))
        return iter(sorted(found))

    def documents(self, ids: Collection[str] | None = None) -> tuple[DocumentInfo, ...]:
        where = "" if ids is None else f"WHERE id {_LISTED}"
        values = () if ids is None else (json.dumps(sorted(ids)),)
        found = self._rows(f"SELECT {self._listed} FROM documents {where}", *values)
        return tuple(sorted(map(rows.listed, found), key=lambda document: document.id))

    @cached_property
    def _listed(self) -> str:
        """`LISTED`, without what an index from before does not record."""
        with reading(self.location):
            recorded = schema.has_readings(self.connection)
        return rows.LISTED if recorded else rows.LISTED.replace("reading", "NULL")

    def sentences(self, doc_id: str) -> Iterator[Sentence]:
        found = self._rows(f"SELECT {rows.QUOTED} {_JOINED} WHERE d.id = ? ORDER BY s.ordinal", _storable(doc_id))
        return map(rows.sentence, found)

    def passages(self, doc_id: str) -> tuple[Passage, ...]:
        sql = f"SELECT {rows.PASSAGE_COLUMNS} FROM passages WHERE {_OF_DOCUMENT} ORDER BY ordinal"
        return tuple(rows.passage(doc_id, row) for row in self._rows(sql, _storable(doc_id)))

    def page(self, doc_id: str, number: int) -> Page | None:
        sql = f"SELECT {rows.PAGE_COLUMNS} FROM pages WHERE {_OF_DOCUMENT} AND number = ?"
        found = self._rows(sql, _storable(doc_id), number)
        return rows.page(found[0]) if found else None

    def neighbours(self, sentences: Sequence[Sentence]) -> list[Neighbours]:
        return [self._beside(sentence) for sentence in sentences]

    def _beside(self, sentence: Sentence) -> Neighbours:
        span = sentence.quote.span
        found = self._rows(_BESIDE, _storable(sentence.doc_id), span.start, span.end)
        beside = {after: rows.sentence(tuple(row)) for after, *row in found}
        return beside.get(0), beside.get(1)

    def vectors(self, doc_id: str) -> Vectors:
        embedded = f"SELECT e.vector {_JOINED} JOIN embeddings e ON e.id = s.embedding"
        blobs = self._column(f"{embedded} WHERE d.id = ? ORDER BY s.ordinal", _storable(doc_id))
        stored = np.frombuffer(b"".join(blobs), dtype=np.float16)
        return rows.unit_vectors(stored.reshape(-1, self.info.model.dimension))

    @property
    def lexical(self) -> LexicalIndex:
        return self.indexes.lexical(self._rebuild)

    @property
    def dense(self) -> DenseIndex:
        return self.indexes.dense(self._rebuild)

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
        derived_indexes.build(self.connection, self.location, self.info, layout=self.layout, previous=0)

    def checked(self, vector: Vectors | None) -> Vectors | None:
        return checked_vector(vector, self.info.model.dimension)

    def limits(self, filters: Filters) -> RowLimits:
        """Return the filters as rows and ids. A value that does not exist matches nothing."""
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
        return RowLimits(documents, tags)

    def _nearest(self, vector: Vectors, count: int, limits: RowLimits) -> set[int]:
        nearest = self.dense.top(vector, count, self.dense.allowed(limits))
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
        vectors = self.dense.take(self.dense.positions(np.array(found, dtype=np.int64)))
        read = zip(found, self.rows(found), self._tokens(found), strict=True)
        scored = [(sentence, lexical(row, sentence), found_by[row], tokens) for row, sentence, tokens in read]
        return scored_candidates(scored, vector, vectors)

    def rows(self, wanted: Sequence[int]) -> Iterator[Sentence]:
        """Return the sentences of these rows, ordered by row."""
        sql = f"SELECT {rows.QUOTED} {_JOINED} WHERE s.row {_LISTED} ORDER BY s.row"
        return map(rows.sentence, self._rows(sql, json.dumps(wanted)))

    def ordinals(self, wanted: Sequence[int]) -> list[Row]:
        """Return document id and ordinal of these rows, ordered by row."""
        return self._rows(f"SELECT d.id, s.ordinal {_JOINED} WHERE s.row {_LISTED} ORDER BY s.row", json.dumps(wanted))

    def _tokens(self, wanted: Sequence[int]) -> list[bytes]:
        """Return the token codes of these rows, ordered by row."""
        sql = "SELECT e.tokens FROM sentences s JOIN embeddings e ON e.id = s.embedding"
        return self._column(f"{sql} WHERE s.row {_LISTED} ORDER BY s.row", json.dumps(wanted))

    def _rows(self, sql: str, *values: object) -> list[Row]:
        with reading(self.location):
            return self.connection.execute(sql, values).fetchall()

    def _column(self, sql: str, *values: object) -> list[Any]:
        return [value for (value,) in self._rows(sql, *values)]


def _storable(text: str) -> str:
    """Return `text` as a bindable value: a lone surrogate, which no stored text has, becomes `?`."""
    return text.encode("utf-8", "replace").decode("utf-8")
