"""One write into an embedded index.

SQLite lets one transaction write at a time, and vectors must be durable long before the documents are published. So
documents wait in a database of their own (`staging.db`, which nobody needs after a crash), each chunk of vectors
commits by itself, and the last transaction moves the documents over, builds the derived indexes from what it sees, and
names the new generation.
"""

# ruff: noqa: S608  only constant names are put into SQL; values are always bound

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from quoth.errors import OffsetMismatch
from quoth.stores import database_rows as rows
from quoth.stores.database_rows import Row
from quoth.stores.disk_faults import writing
from quoth.stores.embedded import derived_indexes, sqlite_schema, vector_blocks
from quoth.stores.embedded.document_tables import cut_text, row_of_sql, rows_of
from quoth.stores.embedded.generations import Layout
from quoth.stores.write_template import CHUNK, WriteTemplate
from quoth.types import Document, IndexInfo, Refusals, Sentence, SplitDocument, StoredDocument, Vectors

_FILE = "staging.db"

_KEPT = "ordinal, start, stop, lead_start, lead_stop, page, ocr, place"
_STAGED = {
    "sentences": f"row INTEGER PRIMARY KEY, document INTEGER NOT NULL, {_KEPT}, text, lead_text, key BLOB",
    "texts": "document INTEGER NOT NULL, number INTEGER NOT NULL, text",
    "places": "document INTEGER NOT NULL, number INTEGER NOT NULL, kind, section, tags",
    "passages": f"document INTEGER NOT NULL, {rows.PASSAGE_COLUMNS}",
    "pages": f"document INTEGER NOT NULL, {rows.PAGE_COLUMNS}",
}
_SCHEMA = f"""
CREATE TABLE staging.documents (number INTEGER PRIMARY KEY, {rows.DOCUMENT_COLUMNS});
CREATE UNIQUE INDEX staging.documents_by_id ON documents (id);
CREATE TABLE staging.removed (id TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE staging.missing (sentence INTEGER PRIMARY KEY, key BLOB NOT NULL);
""" + "".join(
    f"CREATE TABLE staging.{table} ({columns}); CREATE INDEX staging.{table}_by_document ON {table} (document);"
    for table, columns in _STAGED.items()
)

_LEAVING = "SELECT id FROM staging.documents UNION ALL SELECT id FROM staging.removed"
"""The documents that a write replaces or removes."""

_BEFORE = """
FROM main.documents m WHERE m.stated_access = staging.documents.stated_access AND m.access <> m.stated_access
AND (m.id = staging.documents.id OR m.id IN (SELECT id FROM staging.removed)
     AND m.source_sha256 = staging.documents.source_sha256
     AND NOT EXISTS (SELECT 1 FROM main.documents n WHERE n.id = staging.documents.id))
"""
_KEEP_LABELS = f"""
UPDATE staging.documents SET access = (SELECT m.access {_BEFORE} ORDER BY m.id LIMIT 1)
WHERE EXISTS (SELECT 1 {_BEFORE})
"""
"""A document keeps the labels that somebody has set, also under another name, until its files state other ones."""


@dataclass(eq=False, kw_only=True)
class EmbeddedWriter(WriteTemplate):
    """See `WriteTemplate`. `folder` holds the index; the caller holds its writer lock."""

    elsewhere: ClassVar[str] = "directory (--index)"
    connection: sqlite3.Connection
    folder: Path
    layout: Layout

    @contextmanager
    def staging(self) -> Iterator[None]:
        with writing(self.folder):
            self._discard_staging()
            self.connection.execute("ATTACH ? AS staging", (str(self.folder / _FILE),))
        try:
            with writing(self.folder):
                self.connection.execute("PRAGMA staging.journal_mode = OFF")
                self.connection.execute("PRAGMA staging.synchronous = OFF")
                self.connection.executescript(_SCHEMA)
            yield
        finally:
            with suppress(sqlite3.Error):  # the error that led here says more
                if self.connection.in_transaction:
                    self.connection.execute("ROLLBACK")
                self.connection.execute("DETACH staging")
            self._discard_staging()

    def stored_documents(self) -> Mapping[str, StoredDocument]:
        with writing(self.folder):
            return sqlite_schema.read_stored_documents(self.connection)

    def stage(self, split: SplitDocument) -> None:
        """Stage a document, each sentence with the key of its vector."""
        with self._transaction():
            self._delete_staged(split.document.id)
            self._insert("documents", rows.DOCUMENT_COLUMNS, [rows.document_row(split)])
            (number,) = self.connection.execute("SELECT max(number) FROM staging.documents").fetchone()
            places: dict[Row, int] = {}
            sentences = [
                (number, *self._sentence_row(ordinal, sentence, split.document, places=places))
                for ordinal, sentence in enumerate(split.sentences)
            ]
            self._insert("sentences", f"document, {_KEPT}, text, lead_text, key", sentences)
            self._insert("texts", "document, number, text", ((number, *part) for part in cut_text(split.document.text)))
            shared = ((number, place, *values) for values, place in places.items())
            self._insert("places", "document, number, kind, section, tags", shared)
            passages = ((number, *rows.passage_row(*numbered)) for numbered in enumerate(split.passages))
            self._insert("passages", f"document, {rows.PASSAGE_COLUMNS}", passages)
            pages = ((number, *rows.page_row(page)) for page in split.pages)
            self._insert("pages", f"document, {rows.PAGE_COLUMNS}", pages)

    def _sentence_row(self, ordinal: int, sentence: Sentence, document: Document, *, places: dict[Row, int]) -> Row:
        """Return the values for `_KEPT`, and text, lead and key; add its place to the numbered `places`.

        Only where it begins and ends is kept of the text, so it must be what stands there.
        """
        quotes = (sentence.quote, sentence.lead) if sentence.lead else (sentence.quote,)
        for quote in quotes:
            if document.quote(quote.span) != quote.text:
                raise OffsetMismatch(document.id, quote.span.start, quote.span.end)
        values = dict(zip(rows.SENTENCE_COLUMNS.split(", "), rows.sentence_row(ordinal, sentence), strict=True))
        shared = rows.picked("kind, section, tags", values)
        values["place"] = places.setdefault(shared, len(places))
        return (*rows.picked(f"{_KEPT}, text, lead_text", values), rows.evidence_key(self.model, sentence))

    def unstage(self, doc_id: str) -> None:
        with self._transaction():
            self._delete_staged(doc_id)

    def finish_staging(self, moved: Mapping[str, str]) -> None:
        with self._transaction():
            self._insert("removed", "id", ((doc_id,) for doc_id in self.removed))
            roots = ((root, doc_id) for doc_id, root in moved.items())
            self.connection.executemany("UPDATE main.documents SET root = ? WHERE id = ?", roots)

    def state_labels(self, labels: Mapping[str, tuple[str, ...]]) -> None:
        with self._transaction():
            sqlite_schema.set_labels(self.connection, labels, stated=True)

    def remember(self, refusals: Refusals) -> None:
        covered = (json.dumps(sorted(refusals.folders)), json.dumps(sorted(refusals.files)))
        with self._transaction():
            self.connection.execute(
                "DELETE FROM main.refused_files WHERE root IN (SELECT value FROM json_each(?)) "
                "OR path IN (SELECT value FROM json_each(?))",
                covered,
            )
            self.connection.executemany(
                "INSERT INTO main.refused_files VALUES (?, ?, ?, ?)", rows.refusal_rows(refusals)
            )

    @property
    def index_name(self) -> str:
        return f"the index at {self.folder}"

    def keeps_documents(self) -> bool:
        query = f"SELECT count(*) FROM documents WHERE id NOT IN ({_LEAVING})"
        return bool(self.connection.execute(query).fetchone() != (0,))

    def find_missing(self) -> int:
        with self._transaction():
            return self.connection.execute(
                "INSERT INTO staging.missing SELECT min(row), key FROM staging.sentences "
                "WHERE key IS NOT NULL AND key NOT IN (SELECT key FROM embeddings) GROUP BY key"
            ).rowcount

    def missing(self, *, after: int) -> list[Row]:
        with writing(self.folder):
            return self.connection.execute(
                "SELECT m.sentence, m.key, s.text, s.lead_text FROM staging.missing m "
                "JOIN staging.sentences s ON s.row = m.sentence WHERE m.sentence > ? ORDER BY m.sentence LIMIT ?",
                (after, CHUNK),
            ).fetchall()

    def keep(self, keys: Sequence[bytes], vectors: Vectors, tokens: Sequence[bytes]) -> None:
        blobs = [vector.tobytes() for vector in vectors.astype("<f2")]
        with self._transaction():
            ids = vector_blocks.take_ids(self.connection, len(keys), size=len(blobs[0]))
            self.connection.executemany("INSERT INTO embeddings VALUES (?, ?, ?)", zip(ids, keys, tokens, strict=True))
            vector_blocks.put(self.connection, zip(ids, blobs, strict=True))
            self.connection.executemany("INSERT INTO loose VALUES (?)", ((number,) for number in ids))

    def publish(self) -> IndexInfo:
        previous = self.old.generation if self.old else 0
        with self._transaction():
            self._replace_documents()
            documents = self.connection.execute(
                "SELECT id, fingerprint, sentences, json_extract(metadata, '$.language') FROM documents"
            ).fetchall()
            info = self.describe(documents, generation=previous + 1)
            tables = sqlite_schema.document_tables(self.connection, dimension=info.model.dimension)
            derived_indexes.build(self.connection, tables, self.folder, info, layout=self.layout, previous=previous)
            sqlite_schema.write_info(self.connection, info)
        return info

    def _replace_documents(self) -> None:
        """Bring what is staged into the main tables, within the open transaction."""
        execute = self.connection.execute
        execute(
            "INSERT OR IGNORE INTO loose SELECT s.embedding FROM main.documents d JOIN main.sentences s "
            f"ON s.document = d.row WHERE d.id IN ({_LEAVING}) AND s.embedding IS NOT NULL"
        )
        execute(_KEEP_LABELS)
        leaving = execute(f"SELECT row FROM main.documents WHERE id IN ({_LEAVING})").fetchall()
        for table in ("texts", "places"):
            bounds = (rows_of(document) for (document,) in leaving)
            self.connection.executemany(f"DELETE FROM main.{table} WHERE row BETWEEN ? AND ?", bounds)
        execute(f"DELETE FROM documents WHERE id IN ({_LEAVING})")
        (last,) = execute("SELECT coalesce(max(row), 0) FROM main.documents").fetchone()
        execute(
            f"INSERT INTO documents ({rows.DOCUMENT_COLUMNS}) "
            f"SELECT {rows.DOCUMENT_COLUMNS} FROM staging.documents ORDER BY number"
        )
        staged = "JOIN staging.documents t ON t.number = s.document JOIN main.documents d ON d.id = t.id"
        execute(
            f"INSERT INTO sentences (document, {_KEPT}, embedding) "
            f"SELECT d.row, {rows.qualified('s', _KEPT)}, e.id FROM staging.sentences s {staged} "
            "LEFT JOIN embeddings e ON e.key = s.key ORDER BY t.number, s.ordinal"
        )
        for table, columns in (("passages", rows.PASSAGE_COLUMNS), ("pages", rows.PAGE_COLUMNS)):
            execute(
                f"INSERT INTO main.{table} (document, {columns}) SELECT d.row, {rows.qualified('s', columns)} "
                f"FROM staging.{table} s {staged} ORDER BY t.number, s.rowid"
            )
        for table, columns in (("texts", "text"), ("places", "kind, section, tags")):
            execute(
                f"INSERT INTO main.{table} (row, {columns}) SELECT {row_of_sql('d.row', 's.number')}, "
                f"{rows.qualified('s', columns)} FROM staging.{table} s {staged} ORDER BY t.number, s.number"
            )
        execute(
            "INSERT OR IGNORE INTO tags (facet, value) SELECT DISTINCT facet.key, value.value "
            "FROM main.places p, json_each(p.tags) facet, json_each(facet.value) value WHERE p.row > ? "
            "AND p.tags <> '{}'",
            (rows_of(last)[1],),
        )
        unused = execute(
            "SELECT e.id FROM loose l CROSS JOIN embeddings e ON e.id = l.embedding "  # in this order: there are few
            "WHERE NOT EXISTS (SELECT 1 FROM main.sentences s WHERE s.embedding = e.id)"
        ).fetchall()
        self.connection.executemany("DELETE FROM embeddings WHERE id = ?", unused)
        vector_blocks.free_ids(self.connection, [number for (number,) in unused])
        execute("DELETE FROM loose")

    def _insert(self, table: str, columns: str, values: Iterable[Row]) -> None:
        marks = ", ".join("?" * len(columns.split(", ")))
        self.connection.executemany(f"INSERT INTO staging.{table} ({columns}) VALUES ({marks})", values)

    def _delete_staged(self, doc_id: str) -> None:
        number = "(SELECT number FROM staging.documents WHERE id = ?)"
        for table in _STAGED:
            self.connection.execute(f"DELETE FROM staging.{table} WHERE document = {number}", (doc_id,))
        self.connection.execute("DELETE FROM staging.documents WHERE id = ?", (doc_id,))

    def _discard_staging(self) -> None:
        for path in self.folder.glob(_FILE + "*"):
            path.unlink(missing_ok=True)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with writing(self.folder), self.connection:  # commits at the end, or rolls back
            self.connection.execute("BEGIN")
            yield
