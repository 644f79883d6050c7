"""The tables of jobs in a SQLite file, for the processes of one machine."""

from __future__ import annotations

import fcntl
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

_SCHEMA = """
CREATE TABLE IF NOT EXISTS jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL CHECK (kind IN ('put', 'delete')),
    doc_id TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed')),
    step TEXT NOT NULL DEFAULT '',
    done INTEGER NOT NULL DEFAULT 0,
    total INTEGER NOT NULL DEFAULT 0,
    error TEXT,
    notes TEXT NOT NULL DEFAULT '[]',
    created TEXT NOT NULL,
    finished TEXT,
    tries INTEGER NOT NULL DEFAULT 0,
    owner TEXT,
    bytes INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS jobs_by_state ON jobs (state, number);
CREATE INDEX IF NOT EXISTS jobs_to_do ON jobs (number) WHERE finished IS NULL;
CREATE TABLE IF NOT EXISTS uploads (
    doc_id TEXT PRIMARY KEY,
    owner TEXT,
    bytes INTEGER NOT NULL
) WITHOUT ROWID;
"""
_ADDED = {"owner": "TEXT", "bytes": "INTEGER NOT NULL DEFAULT 0"}
"""Columns that the first tables of jobs did not have."""
_BUSY_SECONDS = 30.0


class JobFile:
    """See `protocols.JobDatabase`."""

    def __init__(self, path: Path, *, uploaded: Callable[[], Iterable[tuple[str, int]]] = tuple) -> None:
        """`uploaded` gives the ids and sizes of documents from before the file counted uploads; they have no owner."""
        self.path = path
        self._lock = threading.Lock()
        # No WAL: it needs free space even for reading, and a full disk has none.
        with self._connection() as connection:
            if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'uploads'").fetchone():
                connection.execute("BEGIN IMMEDIATE")
                for statement in filter(str.strip, _SCHEMA.split(";")):
                    connection.execute(statement)
                there = {row[1] for row in connection.execute("PRAGMA table_info(jobs)")}
                for name in _ADDED.keys() - there:
                    connection.execute(f"ALTER TABLE jobs ADD COLUMN {name} {_ADDED[name]}")
                connection.executemany("INSERT INTO uploads (doc_id, bytes) VALUES (?, ?)", uploaded())

    @contextmanager
    def transaction(self, *, alone: bool = False) -> Iterator[_FileStatements]:
        with self._connection() as connection:
            if alone:
                connection.execute("BEGIN IMMEDIATE")
            yield _FileStatements(connection)

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Hold a lock of the system, which releases it when a process ends, however it ends."""
        with self.path.with_name(f"{self.path.name}.lock").open("ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                is_ours = True
            except BlockingIOError:
                is_ours = False
            yield is_ours

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with self._lock, closing(sqlite3.connect(self.path, timeout=_BUSY_SECONDS)) as connection, connection:
            connection.execute("PRAGMA synchronous = FULL")
            yield connection


class _FileStatements:
    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self._connection.execute(statement, values).fetchall()
