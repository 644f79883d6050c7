"""The SQLite database: its connections, and the description of the published index. Its tables: `schema.sql`."""

# ruff: noqa: S608  only constant names are put into SQL; values are always bound

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import msgspec

from quoth.errors import IndexDamaged, IndexMismatch
from quoth.stores.database_rows import Row, refused_files, stored_labels, to_json
from quoth.stores.embedded.document_tables import CurrentTables, DocumentTables
from quoth.stores.embedded.earlier_tables import EarlierTables, change_tables
from quoth.stores.write_template import FORMAT
from quoth.types import IndexInfo, Refused, StoredDocument, labels_of

DATABASE = "quoth.db"
_PAGE = 16_384  # bytes; the token codes of a sentence take a tenth of it, so little is left over at its end
_TABLES = f"{FORMAT}.1"
"""The version of the tables, in the place of the format, so that an earlier program refuses to read them."""
_EARLIER = str(FORMAT)

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
            connection.executescript(f"BEGIN;{schema}INSERT INTO meta VALUES ('format', '{_TABLES}');COMMIT;")
        else:
            _add_missing(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def has_readings(connection: sqlite3.Connection) -> bool:
    """Return whether the index records how files were read; one that was made before does so from its next write on."""
    return _has_column(connection, "reading")


def has_labels(connection: sqlite3.Connection) -> bool:
    """Return whether the index keeps labels; one that was made before does so from its next write on."""
    return _has_column(connection, "access")


def _has_column(connection: sqlite3.Connection, name: str) -> bool:
    found = connection.execute("SELECT count(*) FROM pragma_table_info('documents') WHERE name = ?", (name,)).fetchone()
    return bool(found != (0,))


_READINGS = (
    "ALTER TABLE documents ADD COLUMN reading TEXT;CREATE TABLE refused_files "
    "(root TEXT NOT NULL, path TEXT NOT NULL, why TEXT NOT NULL, hint TEXT NOT NULL);"
)
_LABELS = "".join(
    f"ALTER TABLE documents ADD COLUMN {name} TEXT NOT NULL DEFAULT '[]';" for name in ("access", "stated_access")
)


def _add_missing(connection: sqlite3.Connection) -> None:
    """Add what is missing in an index of the same format. The content stays as it was, and so does its format."""
    if _tables(connection) not in (_EARLIER, _TABLES):
        return  # `read_info` refuses it
    missing = ("" if has_readings(connection) else _READINGS) + ("" if has_labels(connection) else _LABELS)
    if missing:
        connection.executescript(f"BEGIN;{missing}COMMIT;")


def document_tables(connection: sqlite3.Connection, *, dimension: int) -> DocumentTables:
    """Return how texts, sentences and vectors are read from this database."""
    earlier = _tables(connection) == _EARLIER
    return EarlierTables(connection, dimension) if earlier else CurrentTables(connection, dimension)


def bring_up_to_date(connection: sqlite3.Connection, info: IndexInfo) -> None:
    """Give an index of an earlier version the current tables, with the same content."""
    if _tables(connection) != _EARLIER:
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        change_tables(connection, dimension=info.model.dimension)
        connection.execute("UPDATE meta SET value = ? WHERE key = 'format'", (_TABLES,))
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    with suppress(sqlite3.Error):  # without room for it, what was freed is used by later writes
        connection.execute("VACUUM")


def _tables(connection: sqlite3.Connection) -> str:
    found = connection.execute("SELECT value FROM meta WHERE key = 'format'").fetchone()
    return str(found[0]) if found else ""


def merge_log(connection: sqlite3.Connection) -> None:
    """Merge the write-ahead log into the database file, as far as readers and the disk allow. Failing does no harm."""
    with suppress(sqlite3.Error):
        connection.execute("PRAGMA busy_timeout = 0")  # never wait for readers
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def read_stored_documents(connection: sqlite3.Connection) -> dict[str, StoredDocument]:
    labels = "access, stated_access" if has_labels(connection) else "'[]', '[]'"
    found = connection.execute(f"SELECT id, fingerprint, source_sha256, root, {labels} FROM documents")
    return {
        doc_id: StoredDocument(fingerprint, sha256, root, stored_labels(access), stored_labels(stated))
        for doc_id, fingerprint, sha256, root, access, stated in found
    }


def label_revision(connection: sqlite3.Connection) -> int:
    """Return the number of times that labels of documents were changed without a new generation."""
    found = connection.execute("SELECT value FROM meta WHERE key = 'label_revision'").fetchone()
    return int(found[0]) if found else 0


def read_labelled_documents(connection: sqlite3.Connection) -> list[Row]:
    """Return row, id, fingerprint, number of sentences, language and labels of every document."""
    access = "access" if has_labels(connection) else "'[]'"
    found = connection.execute(
        f"SELECT row, id, fingerprint, sentences, json_extract(metadata, '$.language'), {access} FROM documents"
    )
    return [(*rest, stored_labels(labels)) for *rest, labels in found]


def set_labels(connection: sqlite3.Connection, labels: Mapping[str, Iterable[str]], *, stated: bool) -> list[str]:
    """Replace the labels of documents by id, within the open transaction; return the ids that are not there.

    `stated`: the files of the documents state them now.
    """
    columns = "access = ?1, stated_access = ?1" if stated else "access = ?1"
    written = [(to_json(labels_of(own)), doc_id) for doc_id, own in sorted(labels.items())]
    unknown = [
        pair[1]
        for pair in written
        if connection.execute(f"UPDATE documents SET {columns} WHERE id = ?2", pair).rowcount == 0
    ]
    revision = label_revision(connection) + 1
    connection.execute("INSERT OR REPLACE INTO meta VALUES ('label_revision', ?)", (str(revision),))
    return unknown


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
    if meta.get("format") not in (_EARLIER, _TABLES):
        raise IndexMismatch(
            f"the index at {location} has format {meta.get('format')}; this version of Quoth reads {FORMAT}",
            hint="Ingest into another directory (--index), or use the version of Quoth that made it.",
        )
    if "generation" not in meta:
        return None
    try:
        parsed = {name: json.loads(meta[name]) for name in ("model", "language_counts") if name in meta}
        return msgspec.convert(meta | {"format": FORMAT} | parsed, IndexInfo, strict=False)  # numbers are kept as text
    except (KeyError, ValueError) as error:
        raise IndexDamaged(f"the index at {location} does not describe itself", hint="Ingest again.") from error


def write_info(connection: sqlite3.Connection, info: IndexInfo) -> None:
    entries = {name: str(value) for name, value in asdict(info).items()}
    entries |= {"model": json.dumps(asdict(info.model)), "language_counts": json.dumps(info.language_counts)}
    entries |= {"vectors": "float16", "format": _tables(connection)}
    connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", entries.items())
