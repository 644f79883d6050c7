"""The SQLite database: its connections, and the description of the published index. Its tables: `schema.sql`."""

# ruff: noqa: S608  only constant names are put into SQL; values are always bound

from __future__ import annotations

import json
import sqlite3
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import msgspec

from quoth.errors import IndexDamaged, IndexMismatch
from quoth.stores.database_rows import refused_files
from quoth.stores.write_template import FORMAT
from quoth.types import IndexInfo, Refused, StoredDocument

DATABASE = "quoth.db"
_PAGE = 8192  # bytes; of the usual 4096, a vector with its tokens takes half and a little more

_SCHEMA = Path(__file__).with_name("schema.sql")


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
            schema = _SCHEMA.read_text(encoding="utf-8")
            connection.executescript(f"BEGIN;{schema}INSERT INTO meta VALUES ('format', '{FORMAT}');COMMIT;")
        elif not has_readings(connection):
            _add_readings(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def has_readings(connection: sqlite3.Connection) -> bool:
    """Return whether the index records how files were read; one that was made before does so from its next write on."""
    found = connection.execute("SELECT count(*) FROM pragma_table_info('documents') WHERE name = 'reading'").fetchone()
    return bool(found != (0,))


def _add_readings(connection: sqlite3.Connection) -> None:
    """Add what is missing in an index of the same format. The content stays as it was, and so does its format."""
    if connection.execute("SELECT value FROM meta WHERE key = 'format'").fetchone() != (str(FORMAT),):
        return  # `read_info` refuses it
    connection.executescript(
        "BEGIN;ALTER TABLE documents ADD COLUMN reading TEXT;CREATE TABLE refused_files "
        "(root TEXT NOT NULL, path TEXT NOT NULL, why TEXT NOT NULL, hint TEXT NOT NULL);COMMIT;"
    )


def merge_log(connection: sqlite3.Connection) -> None:
    """Merge the write-ahead log into the database file, as far as readers and the disk allow. Failing does no harm."""
    with suppress(sqlite3.Error):
        connection.execute("PRAGMA busy_timeout = 0")  # never wait for readers
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def read_stored_documents(connection: sqlite3.Connection) -> dict[str, StoredDocument]:
    found = connection.execute("SELECT id, fingerprint, source_sha256, root FROM documents")
    return {doc_id: StoredDocument(*rest) for doc_id, *rest in found}


def read_refused_files(connection: sqlite3.Connection) -> tuple[tuple[str, Refused], ...]:
    if not has_readings(connection):
        return ()
    found = connection.execute("SELECT root, path, why, hint FROM refused_files ORDER BY rowid").fetchall()
    return refused_files(found, {doc_id for (doc_id,) in connection.execute("SELECT id FROM documents")})


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
        parsed = {name: json.loads(meta[name]) for name in ("model", "language_counts") if name in meta}
        return msgspec.convert(meta | parsed, IndexInfo, strict=False)  # numbers are kept as text
    except (KeyError, ValueError) as error:
        raise IndexDamaged(f"the index at {location} does not describe itself", hint="Ingest again.") from error


def write_info(connection: sqlite3.Connection, info: IndexInfo) -> None:
    entries = {name: str(value) for name, value in asdict(info).items()}
    entries |= {"model": json.dumps(asdict(info.model)), "language_counts": json.dumps(info.language_counts)}
    entries["vectors"] = "float16"
    connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", entries.items())
