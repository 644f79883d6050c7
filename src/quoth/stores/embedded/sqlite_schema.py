"""The truth: the SQLite schema, its connections, and what an index says about itself.

`embeddings.key` is a hash of the model's identity and the text, so that a vector is found again by what it stands for;
`embeddings.vector` holds float16: the cosine moves by less than 0.0005, and the index is half as large.
`embeddings.tokens` holds the codes of the text's tokens for late interaction, empty for a model that has none.
`loose` names the embeddings that perhaps no sentence uses: made by a write that was not published yet. Publishing looks
at these alone, so that it need not look at all.
"""

# ruff: noqa: S608  only constant names are put into SQL; values are always bound

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from quoth.errors import IndexDamaged, IndexMismatch
from quoth.stores.content import digest_of
from quoth.types import IndexInfo, Known, ModelIdentity

FORMAT = 3
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


FileIdentity = tuple[int, int, int]
"""Process, device and inode. While a connection is open, its inode is given to no other file."""


def identify(place: Path) -> FileIdentity | None:
    """Which file is the database at `place` now; None when there is none.

    A process may fork, and an index may be removed and made again: neither may go on with what was open before.
    """
    try:
        file = (place / DATABASE).stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return os.getpid(), file.st_dev, file.st_ino


def connect_writer(place: Path) -> sqlite3.Connection:
    """Open the database for the one writer, making it where there is none."""
    connection = sqlite3.connect(place / DATABASE, isolation_level=None, timeout=10)
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


def connect_reader(place: Path) -> tuple[sqlite3.Connection, bool]:
    """Open the database for reading only, and say whether the connection sees later generations too."""
    uri = f"{(place / DATABASE).absolute().as_uri()}?mode=ro"
    try:
        return _connect_readonly(uri), True
    except sqlite3.OperationalError as error:
        # Beside a WAL database SQLite keeps files to coordinate. Where they cannot be made, nobody can write through
        # here either, and the database may be read as it is; unless a log that was never merged makes it incomplete.
        log = place / f"{DATABASE}-wal"
        refused = "unable to open" in str(error) or "readonly" in str(error)
        if not refused or (log.exists() and log.stat().st_size):
            raise
        return _connect_readonly(uri + "&immutable=1"), False


def _connect_readonly(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=10, check_same_thread=False)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master")  # opening is lazy: fail here if at all
    except BaseException:
        connection.close()
        raise
    return connection


def merge_log(connection: sqlite3.Connection) -> None:
    """Bring the log into the database file, as far as open readers and the disk let it; all is published already."""
    with suppress(sqlite3.Error):
        connection.execute("PRAGMA busy_timeout = 0")  # never wait for readers
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def read_meta(connection: sqlite3.Connection) -> dict[str, str]:
    """Every entry of `meta`; empty while the schema has not been made."""
    if connection.execute("SELECT count(*) FROM sqlite_master WHERE name = 'meta'").fetchone() == (0,):
        return {}
    return dict(connection.execute("SELECT key, value FROM meta"))


def read_known(connection: sqlite3.Connection) -> dict[str, Known]:
    found = connection.execute("SELECT id, fingerprint, source_sha256, root FROM documents")
    return {doc_id: Known(*rest) for doc_id, *rest in found}


def read_info(connection: sqlite3.Connection, place: Path) -> IndexInfo | None:
    """What the published generation says about itself; None when nothing has been published."""
    meta = read_meta(connection)
    if not meta:
        return None
    if meta.get("format") != str(FORMAT):
        raise IndexMismatch(
            f"the index at {place} has format {meta.get('format')}; this version of Quoth reads {FORMAT}",
            hint="Ingest into another directory (--index), or use the version of Quoth that made it.",
        )
    if "generation" not in meta:
        return None
    try:
        return IndexInfo(
            format=int(meta["format"]),
            generation=int(meta["generation"]),
            digest=meta["digest"],
            model=ModelIdentity(**json.loads(meta["model"])),
            profile_name=meta["profile_name"],
            profile_source=meta["profile_source"],
            documents=int(meta["documents"]),
            sentences=int(meta["sentences"]),
        )
    except (KeyError, ValueError, TypeError) as error:
        raise IndexDamaged(f"the index at {place} does not describe itself", hint="Ingest again.") from error


def write_info(connection: sqlite3.Connection, info: IndexInfo) -> None:
    entries = {
        "generation": str(info.generation),
        "digest": info.digest,
        "model": json.dumps(asdict(info.model)),
        "profile_name": info.profile_name,
        "profile_source": info.profile_source,
        "documents": str(info.documents),
        "sentences": str(info.sentences),
        "vectors": "float16",
    }
    connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", entries.items())


def describe(
    connection: sqlite3.Connection, *, generation: int, model: ModelIdentity, profile: tuple[str, str]
) -> IndexInfo:
    """What the content of the open transaction amounts to."""
    name, source = profile
    (sentences,) = connection.execute("SELECT coalesce(sum(sentences), 0) FROM documents").fetchone()
    documents = connection.execute("SELECT id, fingerprint FROM documents").fetchall()
    return IndexInfo(
        format=FORMAT,
        generation=generation,
        digest=digest_of(FORMAT, model, profile=profile, documents=documents),
        model=model,
        profile_name=name,
        profile_source=source,
        documents=len(documents),
        sentences=sentences,
    )
