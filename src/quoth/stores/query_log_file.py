"""The query log in a SQLite file: a row per question, with how good its results looked.

Kept only where someone asks for it, readable by its owner alone. It is a record and no part of an answer: whatever
happens to the file, a question goes on.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from quoth.errors import QuothError
from quoth.stores.disk_faults import FileIdentity, connect_readonly, identify, write_ahead_log
from quoth.stores.query_log_rows import COLUMNS, QueryEntry, RetrievalLog, instant, read_row
from quoth.types import Retrieval

VERSION = 1
BUSY_SECONDS = 2.0

_APPLICATION = 0x51754C67  # "QuLg": tells a query log from other databases
_TYPES = ", ".join(f"{name} {kind} NOT NULL" for name, kind in COLUMNS.items())
_CREATE = f"CREATE TABLE queries (id INTEGER PRIMARY KEY, {_TYPES})"
_INSERT = f"INSERT INTO queries ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"  # noqa: S608
_SELECT = f"SELECT {', '.join(COLUMNS)} FROM queries WHERE time >= ? ORDER BY time DESC, id DESC LIMIT ?"  # noqa: S608
_HINT = "Name a file that quoth writes (the setting log.queries), or move this one away."
_MAKING = threading.Lock()
"""Held while a log is created: closing a file drops all locks of this process on it, SQLite's too."""


class QueryLog(RetrievalLog):
    """A query log at `path`; the first entry makes the file. Threads and processes may write and read it at once."""

    def __init__(self, path: str | Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(str(path), failures=(sqlite3.Error, OSError), clock=clock)
        self._path = Path(path)
        self._lock = threading.Lock()
        self._open: tuple[sqlite3.Connection, FileIdentity | None] | None = None
        self._inherited: list[sqlite3.Connection] = []

    def record(self, retrieval: Retrieval, *, time: str, milliseconds: float) -> None:
        with (
            self._lock
        ):  # while one thread waits for a locked file the others wait for it, and then leave the file alone
            super().record(retrieval, time=time, milliseconds=milliseconds)

    def _write(self, row: tuple[Any, ...]) -> None:
        try:
            self._connection().execute(_INSERT, row)
        except Exception:
            self._let_go()
            raise

    def entries(self, since: str | None, limit: int | None) -> tuple[QueryEntry, ...]:
        start = "" if since is None else instant(since)
        with _reading(self._path) as connection:
            rows = connection.execute(_SELECT, (start, -1 if limit is None else max(0, limit))).fetchall()
            return tuple(read_row(row) for row in reversed(rows))

    def close(self) -> None:
        with self._lock:
            self._let_go()

    def _connection(self) -> sqlite3.Connection:
        """Return the connection for writing; a new one in a child process, and where the log was moved away."""
        if self._open is not None and self._open[1] != identify(self._path):
            self._let_go()
        if self._open is None:
            self._open = _connect(self._path), identify(self._path)
        return self._open[0]

    def _let_go(self) -> None:
        if self._open is not None:
            connection, file = self._open
            self._open = None
            if file is not None and file.process != os.getpid():
                self._inherited.append(connection)  # closing it would take the parent's log away from under it
                return
            with suppress(sqlite3.Error):
                connection.close()


def _connect(path: Path) -> sqlite3.Connection:
    with _MAKING:
        if not path.exists() and (waiting := write_ahead_log(path)).exists():
            # SQLite would read its entries into the new file, and another process may still be writing them.
            raise QuothError(f"{waiting} belongs to a log that was moved away without it", hint="Move it along.")
        with suppress(FileExistsError):
            # Made by us rather than by SQLite, which would let everybody read it; its side files take after it.
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        if _pragma(connection, "application_id") == 0:
            _create(connection)
        _check(connection, path)
        with suppress(sqlite3.OperationalError):  # another process is switching it at this moment
            connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")  # survives the death of a process
    except BaseException:
        connection.close()
        raise
    return connection


def _create(connection: sqlite3.Connection) -> None:
    """Make the table in an empty database; a database of others is left as it is."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
            connection.execute(_CREATE)
            connection.execute("CREATE INDEX queries_time ON queries (time)")
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _check(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a database that is no query log, or one that a newer version wrote."""
    if _pragma(connection, "application_id") != _APPLICATION:
        raise QuothError(f"{path} is not a query log", hint=_HINT)
    version = _pragma(connection, "user_version")
    if version != VERSION:
        raise QuothError(
            f"{path} is a query log of version {version}, and this quoth knows version {VERSION}",
            hint="Update quoth, or name another file in log.queries.",
        )


def _pragma(connection: sqlite3.Connection, name: str) -> int:
    value: int = connection.execute(f"PRAGMA {name}").fetchone()[0]
    return value


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    """Open a connection that cannot write; raise `QuothError` for what is wrong with the file."""
    try:
        if not path.exists():
            raise QuothError(f"there is no query log at {path}", hint="Set log.queries to a file, then ask something.")
        connection, _ = connect_readonly(path, timeout=BUSY_SECONDS)
        with closing(connection):
            _check(connection, path)
            yield connection
    except (sqlite3.OperationalError, OSError) as error:
        raise QuothError(f"{path} cannot be read: {error}", hint="Check its permissions, and try again.") from error
    except sqlite3.DatabaseError as error:
        raise QuothError(f"{path} is not a query log, or is damaged: {error}", hint=_HINT) from error
    except (ValueError, TypeError, KeyError) as error:
        raise QuothError(f"{path} holds an entry that cannot be read: {error}", hint=_HINT) from error
