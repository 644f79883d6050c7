"""Indexes from before texts and vectors were kept once: read as they are, and changed by the next write.

Such an index keeps the text of a document in one piece, that of each sentence again, section and tags with each
sentence, and each vector with its key. Its generations hold what the current ones hold, and the vectors once more.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quoth.stores.database_rows import QUOTED, Row
from quoth.stores.embedded import vector_blocks
from quoth.stores.embedded.document_tables import EvidenceRow, cut_text, evidence_embeddings, row_of

_COLUMNS = QUOTED.count(",") + 1


@dataclass(frozen=True, slots=True)
class EarlierTables:
    """See `DocumentTables`."""

    connection: sqlite3.Connection
    dimension: int

    def sentences(self, condition: str, *values: object, extra: str = "", join: str = "") -> list[tuple[Row, Row]]:
        joined = f"FROM sentences s JOIN documents d ON d.row = s.document {join}"
        found = self.connection.execute(f"SELECT {QUOTED}{extra and ', '}{extra} {joined} {condition}", values)
        return [(row[:_COLUMNS], row[_COLUMNS:]) for row in found.fetchall()]

    def text(self, document: int) -> str:
        (text,) = self.connection.execute("SELECT text FROM documents WHERE row = ?", (document,)).fetchone()
        return str(text)

    def encoded_texts(self, ids: Collection[str]) -> list[tuple[str, bytes]]:
        sql = "SELECT id, CAST(text AS BLOB) FROM documents WHERE id IN (SELECT value FROM json_each(?)) ORDER BY id"
        return self.connection.execute(sql, (json.dumps(sorted(ids)),)).fetchall()

    def evidence(self, document: int) -> Iterator[EvidenceRow]:
        sql = (
            "SELECT row, embedding, tags, text, lead_text FROM sentences "
            "WHERE document = ? AND embedding IS NOT NULL ORDER BY ordinal"
        )
        return (EvidenceRow(*row) for row in self.connection.execute(sql, (document,)))

    def embeddings(self, document: int) -> list[int]:
        return evidence_embeddings(self.connection, document)

    def vectors(self, embeddings: NDArray[np.int64]) -> NDArray[np.float16]:
        sql = "SELECT j.key, e.vector FROM json_each(?) j CROSS JOIN embeddings e ON e.id = j.value"
        found = sorted(self.connection.execute(sql, (json.dumps(embeddings.tolist()),)))
        return vector_blocks.unpacked([blob for _, blob in found], (len(embeddings), self.dimension))


_TABLES = """
CREATE TABLE texts (row INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE places (row INTEGER PRIMARY KEY, kind TEXT NOT NULL, section TEXT NOT NULL, tags TEXT NOT NULL);
CREATE TABLE vectors (block INTEGER PRIMARY KEY, vectors BLOB NOT NULL);
CREATE TABLE free_ids (id INTEGER PRIMARY KEY);
CREATE TABLE moved (
    row INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL REFERENCES documents (row) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    start INTEGER NOT NULL,
    stop INTEGER NOT NULL,
    lead_start INTEGER,
    lead_stop INTEGER,
    page INTEGER,
    ocr REAL,
    place INTEGER NOT NULL,
    embedding INTEGER REFERENCES embeddings (id),
    UNIQUE (document, ordinal)
);
"""


def change_tables(connection: sqlite3.Connection, *, dimension: int) -> None:
    """Make the current tables of the earlier ones, within the open transaction. Rows and ids stay as they are."""
    execute = connection.execute
    for statement in filter(str.strip, _TABLES.split(";")):
        execute(statement)
    documents = [row for (row,) in execute("SELECT row FROM documents ORDER BY row")]
    for document in documents:
        (text,) = execute("SELECT text FROM documents WHERE row = ?", (document,)).fetchone()
        connection.executemany(
            "INSERT INTO texts VALUES (?, ?)", ((row_of(document, number), part) for number, part in cut_text(text))
        )
        _move_sentences(connection, document)
    execute("DELETE FROM sqlite_sequence WHERE name = 'moved'")
    execute("INSERT INTO sqlite_sequence SELECT 'moved', seq FROM sqlite_sequence WHERE name = 'sentences'")
    execute("DROP TABLE sentence_tags")
    execute("DROP TABLE sentences")
    execute("ALTER TABLE moved RENAME TO sentences")
    execute("CREATE INDEX sentences_by_embedding ON sentences (embedding)")
    execute("ALTER TABLE documents DROP COLUMN text")
    # An interrupted write of another model may have left vectors of another length, which no sentence uses.
    execute("DELETE FROM embeddings WHERE length(vector) <> ?", (2 * dimension,))
    execute("DELETE FROM loose WHERE embedding NOT IN (SELECT id FROM embeddings)")
    vector_blocks.put(connection, execute("SELECT id, vector FROM embeddings ORDER BY id"))
    execute("ALTER TABLE embeddings DROP COLUMN vector")


def _move_sentences(connection: sqlite3.Connection, document: int) -> None:
    """Copy the sentences of a document without their text, and list their places."""
    places: dict[Row, int] = {}
    moved = []
    found = connection.execute(
        "SELECT kind, section, tags, row, document, ordinal, start, stop, lead_start, lead_stop, page, ocr, embedding "
        "FROM sentences WHERE document = ? ORDER BY ordinal",
        (document,),
    )
    for kind, section, tags, *rest, embedding in found:
        place = places.setdefault((kind, section, tags), len(places))
        moved.append((*rest, place, embedding))
    connection.executemany("INSERT INTO moved VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", moved)
    connection.executemany(
        "INSERT INTO places VALUES (?, ?, ?, ?)",
        ((row_of(document, number), *place) for place, number in places.items()),
    )
