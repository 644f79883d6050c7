"""An index as versions wrote it that kept texts and vectors twice."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import numpy as np

from quoth.stores.database_rows import QUOTED
from quoth.stores.embedded.document_tables import CurrentTables

_TABLES = """
CREATE TABLE earlier_embeddings (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,
    -- float16: the cosine moves by less than 0.0005, and the index is half as large.
    vector BLOB NOT NULL,
    -- The codes of the text's tokens for late interaction; empty for a model that has none.
    tokens BLOB NOT NULL
);
CREATE TABLE earlier_sentences (
    row INTEGER PRIMARY KEY AUTOINCREMENT,
    document INTEGER NOT NULL REFERENCES documents (row) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    start INTEGER NOT NULL,
    stop INTEGER NOT NULL,
    kind TEXT NOT NULL,
    section TEXT NOT NULL,
    lead_start INTEGER,
    lead_stop INTEGER,
    lead_text TEXT,
    page INTEGER,
    ocr REAL,
    tags TEXT NOT NULL,
    text TEXT NOT NULL,
    embedding INTEGER REFERENCES embeddings (id),
    UNIQUE (document, ordinal)
);
CREATE TABLE sentence_tags (
    sentence INTEGER NOT NULL REFERENCES sentences (row) ON DELETE CASCADE,
    tag INTEGER NOT NULL REFERENCES tags (id),
    PRIMARY KEY (sentence, tag)
) WITHOUT ROWID;
CREATE INDEX sentences_by_tag ON sentence_tags (tag, sentence);
ALTER TABLE documents ADD COLUMN text TEXT NOT NULL DEFAULT '';
"""
_RENAMED = """
DROP TABLE sentences;
DROP TABLE embeddings;
DROP TABLE texts;
DROP TABLE places;
DROP TABLE vectors;
DROP TABLE free_ids;
ALTER TABLE earlier_sentences RENAME TO sentences;
ALTER TABLE earlier_embeddings RENAME TO embeddings;
CREATE INDEX sentences_by_embedding ON sentences (embedding);
"""
_TAGS = """
INSERT INTO sentence_tags SELECT s.row, t.id FROM sentences s, json_each(s.tags) facet, json_each(facet.value) value
JOIN tags t ON t.facet = facet.key AND t.value = value.value
"""
_QUOTED = ", ".join(column.split(".")[1] for column in QUOTED.split(", ")[1:])


def make_earlier(index: Path, *, dimension: int = 32) -> None:
    """Give a closed index, with its newest generation, the tables and files of an earlier version."""
    with closing(sqlite3.connect(index / "quoth.db")) as connection:
        tables = CurrentTables(connection, dimension)
        stored = connection.execute("SELECT id, key, tokens FROM embeddings").fetchall()
        vectors = tables.vectors(np.array([number for number, *_ in stored], dtype=np.int64))
        sentences = tables.sentences("", extra="s.row, s.document, s.ordinal, s.embedding")
        documents = [(tables.text(row), row) for (row,) in connection.execute("SELECT row FROM documents").fetchall()]
        connection.executescript(_TABLES)
        blobs = {number: vector.tobytes() for (number, *_), vector in zip(stored, vectors, strict=True)}
        connection.executemany(
            "INSERT INTO earlier_embeddings VALUES (?, ?, ?, ?)",
            ((number, key, blobs[number], tokens) for number, key, tokens in stored),
        )
        connection.executemany(
            f"INSERT INTO earlier_sentences ({_QUOTED}, row, document, ordinal, embedding) "  # noqa: S608
            f"VALUES ({', '.join('?' * (len(_QUOTED.split(', ')) + 4))})",
            ((*row[1:], *more) for row, more in sentences),
        )
        connection.executemany("UPDATE documents SET text = ? WHERE row = ?", documents)
        connection.execute(
            "UPDATE sqlite_sequence SET seq = (SELECT seq FROM sqlite_sequence WHERE name = 'sentences') "
            "WHERE name = 'earlier_sentences'"
        )
        connection.executescript(_RENAMED)
        connection.execute(_TAGS)
        connection.execute("UPDATE meta SET value = '3' WHERE key = 'format'")
        connection.commit()
    _write_earlier_files(max((index / "generations").iterdir()), blobs)


def _write_earlier_files(folder: Path, vectors: Mapping[int, bytes]) -> None:
    described = json.loads((folder / "manifest.json").read_text())
    parts = described["parts"]
    for path in sorted(folder.glob("shards/*/*.npy")):
        numbers = np.load(path)
        written = path.with_name({"embeddings": "vectors.npy", "codes": "faiss.index"}.get(path.stem, path.name))
        del parts[path.relative_to(folder).as_posix()]
        path.unlink()
        if path.stem == "embeddings":
            blobs = b"".join(vectors[number] for number in numbers.tolist())
            np.save(written, np.frombuffer(blobs, dtype=np.float16))
        elif path.stem == "codes":
            written.write_bytes(b"as FAISS writes it")
        else:
            np.save(written, numbers.astype(np.int32 if path.stem == "lengths" else np.int64))
        content = written.read_bytes()
        parts[written.relative_to(folder).as_posix()] = {"size": len(content), "crc32": zlib.crc32(content)}
    (folder / "manifest.json").write_text(json.dumps(described))
