"""The SQLite database: its schema, its connections, and the description of the published index.

`embeddings.key` is a hash of the model's identity and the text, so that a vector is found again by what it stands for;
`embeddings.vector` holds float16: the cosine moves by less than 0.0005, and the index is half as large.
`embeddings.tokens` holds the codes of the text's tokens for late interaction, empty for a model that has none.
`loose` names the embeddings that perhaps no sentence uses: made by a write that was not published yet. Publishing looks
at these alone, so that it need not look at all.
"""

# ruff: noqa: S608  only constant names are put into SQL; values are always bound

from __future__ import annotations

import json
import sqlite3
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import msgspec

from quoth.errors import IndexDamaged, IndexMismatch
from quoth.stores.write_template import FORMAT
from quoth.types import IndexInfo, StoredDocument

DATABASE = "quoth.db"
_PAGE = 8192  # bytes; of the usual 4096, a vector with its tokens takes half and a little more

# Rows are never reused (AUTOINCREMENT), so a row means one sentence for as long as the index lives.
_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

CREATE TABLE documents (
    row INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    fingerprint TEXT NOT NULL,
    sha256 TEXT NOT NULL,
    source_sha256 TEXT NOT NULL,
    encoding TEXT NOT NULL,
    format TEXT NOT NULL,
    extractor TEXT NOT NULL,
    root TEXT NOT NULL,
    characters INTEGER NOT NULL,
    sentences INTEGER NOT NULL,
    pages INTEGER NOT NULL,
    document_type TEXT,
    is_binding INTEGER,
    metadata TEXT NOT NULL,
    text TEXT NOT NULL
);

CREATE TABLE embeddings (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,
    vector BLOB NOT NULL,
    tokens BLOB NOT NULL
);

CREATE TABLE loose (embedding INTEGER PRIMARY KEY);

CREATE TABLE sentences (
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
CREATE INDEX sentences_by_embedding ON sentences (embedding);

CREATE TABLE passages (
    document INTEGER NOT NULL REFERENCES documents (row) ON DELETE CASCADE,
    ordinal INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    start INTEGER NOT NULL,
    stop INTEGER NOT NULL,
    section TEXT NOT NULL,
    page INTEGER,
    tokens INTEGER NOT NULL,
    PRIMARY KEY (document, ordinal)
) WITHOUT ROWID;

CREATE TABLE pages (
    row INTEGER PRIMARY KEY,
    document INTEGER NOT NULL REFERENCES documents (row) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    width REAL NOT NULL,
    height REAL NOT NULL,
    spans TEXT NOT NULL,
    boxes BLOB NOT NULL,
    UNIQUE (document, number)
);

CREATE TABLE tags (
    id INTEGER PRIMARY KEY,
    facet TEXT NOT NULL,
    value TEXT NOT NULL,
    UNIQUE (facet, value)
);

CREATE TABLE sentence_tags (
    sentence INTEGER NOT NULL REFERENCES sentences (row) ON DELETE CASCADE,
    tag INTEGER NOT NULL REFERENCES tags (id),
    PRIMARY KEY (sentence, tag)
) WITHOUT ROWID;
CREATE INDEX sentences_by_tag ON sentence_tags (tag, sentence);
"""


def connect_writer(location: Path) -> sqlite3.Connection:
    """Open the database for the one writer, making it where there is none."""
    connection = sqlite3.connect(location / DATABASE, isolation_level=None, timeout=10)
    try:
        connection.execute(f"PRAGMA page_size = {_PAGE}")  # of a new database; an old one keeps its own
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA cache_size = -65536")
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
            connection.executescript(f"BEGIN;{_SCHEMA}INSERT INTO meta VALUES ('format', '{FORMAT}');COMMIT;")
    except BaseException:
        connection.close()
        raise
    return connection


def merge_log(connection: sqlite3.Connection) -> None:
    """Merge the write-ahead log into the database file, as far as readers and the disk allow. Failing does no harm."""
    with suppress(sqlite3.Error):
        connection.execute("PRAGMA busy_timeout = 0")  # never wait for readers
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def read_stored_documents(connection: sqlite3.Connection) -> dict[str, StoredDocument]:
    found = connection.execute("SELECT id, fingerprint, source_sha256, root FROM documents")
    return {doc_id: StoredDocument(*rest) for doc_id, *rest in found}


def read_info(connection: sqlite3.Connection, location: Path) -> IndexInfo | None:
    """Return the description of the published generation; None if nothing is published."""
    if connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'meta'").fetchone() == (0,):
        return None
    meta = dict(connection.execute("SELECT key, value FROM meta"))
    if meta.get("format") != str(FORMAT):
        raise IndexMismatch(
            f"the index at {location} has format {meta.get('format')}; this version of Quoth reads {FORMAT}",
            hint="Ingest into another directory (--index), or use the version of Quoth that made it.",
        )
    if "generation" not in meta:
        return None
    try:
        model = json.loads(meta["model"])
        return msgspec.convert({**meta, "model": model}, IndexInfo, strict=False)  # numbers are kept as text
    except (KeyError, ValueError) as error:
        raise IndexDamaged(f"the index at {location} does not describe itself", hint="Ingest again.") from error


def write_info(connection: sqlite3.Connection, info: IndexInfo) -> None:
    entries = {name: str(value) for name, value in asdict(info).items()}
    entries |= {"model": json.dumps(asdict(info.model)), "vectors": "float16"}
    connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", entries.items())
