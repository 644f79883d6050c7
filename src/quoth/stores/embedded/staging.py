"""Where documents wait until they are published: a database of its own, which nobody needs after a crash."""

# ruff: noqa: S608  only constant names are put into SQL; values are always bound

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from quoth.stores.embedded import rows
from quoth.stores.embedded.faults import writing
from quoth.types import ModelIdentity, SplitDocument

_FILE = "staging.db"

_SCHEMA = f"""
CREATE TABLE staging.documents (number INTEGER PRIMARY KEY, {rows.DOCUMENT_COLUMNS});
CREATE UNIQUE INDEX staging.documents_by_id ON documents (id);
CREATE TABLE staging.sentences (row INTEGER PRIMARY KEY, document INTEGER NOT NULL, {rows.SENTENCE_COLUMNS}, key BLOB);
CREATE INDEX staging.sentences_by_document ON sentences (document);
CREATE TABLE staging.passages (document INTEGER NOT NULL, {rows.PASSAGE_COLUMNS});
CREATE INDEX staging.passages_by_document ON passages (document);
CREATE TABLE staging.pages (document INTEGER NOT NULL, {rows.PAGE_COLUMNS});
CREATE INDEX staging.pages_by_document ON pages (document);
CREATE TABLE staging.removed (id TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE staging.missing (sentence INTEGER PRIMARY KEY, key BLOB NOT NULL);
"""


LEAVING = "SELECT id FROM staging.documents UNION ALL SELECT id FROM staging.removed"
"""The documents that a write replaces or removes."""


@contextmanager
def attached(connection: sqlite3.Connection, place: Path) -> Iterator[None]:
    """The staging database, new and empty; it is removed at the end."""
    with writing(place):
        _discard(place)
        connection.execute("ATTACH ? AS staging", (str(place / _FILE),))
    try:
        with writing(place):
            connection.execute("PRAGMA staging.journal_mode = OFF")
            connection.execute("PRAGMA staging.synchronous = OFF")
            connection.executescript(_SCHEMA)
        yield
    finally:
        with suppress(sqlite3.Error):  # the error that led here says more
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            connection.execute("DETACH staging")
        _discard(place)


def take_back(connection: sqlite3.Connection, doc_id: str) -> None:
    """Forget a document that was staged, if it was."""
    number = "(SELECT number FROM staging.documents WHERE id = ?)"
    for table in ("sentences", "passages", "pages"):
        connection.execute(f"DELETE FROM staging.{table} WHERE document = {number}", (doc_id,))
    connection.execute("DELETE FROM staging.documents WHERE id = ?", (doc_id,))


def put(connection: sqlite3.Connection, split: SplitDocument, *, model: ModelIdentity) -> None:
    """Set a document aside, each sentence with the key of its vector under `model`."""
    values = rows.document_row(split)
    added = connection.execute(
        f"INSERT INTO staging.documents ({rows.DOCUMENT_COLUMNS}) VALUES ({_marks(len(values))})", values
    )
    sentences = (
        (
            added.lastrowid,
            *rows.sentence_row(ordinal, sentence),
            rows.embedding_key(model, sentence.search_text) if sentence.kind.evidence else None,
        )
        for ordinal, sentence in enumerate(split.sentences)
    )
    connection.executemany(
        f"INSERT INTO staging.sentences (document, {rows.SENTENCE_COLUMNS}, key) VALUES ({_marks(14)})", sentences
    )
    connection.executemany(
        f"INSERT INTO staging.passages (document, {rows.PASSAGE_COLUMNS}) VALUES ({_marks(9)})",
        ((added.lastrowid, *rows.passage_row(number, passage)) for number, passage in enumerate(split.passages)),
    )
    connection.executemany(
        f"INSERT INTO staging.pages (document, {rows.PAGE_COLUMNS}) VALUES ({_marks(6)})",
        ((added.lastrowid, *rows.page_row(page)) for page in split.pages),
    )


def publish(connection: sqlite3.Connection) -> None:
    """Bring what is staged into the main tables, within the open transaction; a new version replaces the old one."""
    execute = connection.execute
    execute(
        "INSERT OR IGNORE INTO loose SELECT s.embedding FROM main.documents d JOIN main.sentences s "
        f"ON s.document = d.row WHERE d.id IN ({LEAVING}) AND s.embedding IS NOT NULL"
    )
    execute(f"DELETE FROM documents WHERE id IN ({LEAVING})")
    execute(
        f"INSERT INTO documents ({rows.DOCUMENT_COLUMNS}) "
        f"SELECT {rows.DOCUMENT_COLUMNS} FROM staging.documents ORDER BY number"
    )
    (last,) = execute("SELECT coalesce(max(row), 0) FROM sentences").fetchone()
    execute(
        f"INSERT INTO sentences (document, {rows.SENTENCE_COLUMNS}, embedding) SELECT d.row, "
        f"{_of('s', rows.SENTENCE_COLUMNS)}, e.id "
        "FROM staging.sentences s JOIN staging.documents t ON t.number = s.document "
        "JOIN main.documents d ON d.id = t.id LEFT JOIN embeddings e ON e.key = s.key ORDER BY t.number, s.ordinal"
    )
    for table, names in (("passages", rows.PASSAGE_COLUMNS), ("pages", rows.PAGE_COLUMNS)):
        execute(
            f"INSERT INTO main.{table} (document, {names}) SELECT d.row, {_of('s', names)} "
            f"FROM staging.{table} s JOIN staging.documents t ON t.number = s.document "
            "JOIN main.documents d ON d.id = t.id ORDER BY t.number, s.rowid"
        )
    tagged = (
        "FROM main.sentences s, json_each(s.tags) facet, json_each(facet.value) value WHERE s.row > ? "
        "AND s.tags <> '{}'"
    )
    execute(f"INSERT OR IGNORE INTO tags (facet, value) SELECT DISTINCT facet.key, value.value {tagged}", (last,))
    execute(
        "INSERT OR IGNORE INTO sentence_tags SELECT s.row, "
        f"(SELECT id FROM tags t WHERE t.facet = facet.key AND t.value = value.value) {tagged}",
        (last,),
    )
    execute(
        "DELETE FROM embeddings WHERE id IN (SELECT embedding FROM loose l "
        "WHERE NOT EXISTS (SELECT 1 FROM main.sentences s WHERE s.embedding = l.embedding))"
    )
    execute("DELETE FROM loose")


def _discard(place: Path) -> None:
    for path in place.glob(_FILE + "*"):
        path.unlink(missing_ok=True)


def _of(table: str, columns: str) -> str:
    return ", ".join(f"{table}.{column}" for column in columns.split(", "))


def _marks(count: int) -> str:
    return ", ".join("?" * count)
