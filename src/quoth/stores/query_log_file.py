"""The questions that were asked and how good what was found for them looked: one row each, in a SQLite file.

Kept only where someone asks for it, readable by its owner alone. It is a record and no part of an answer: whatever
happens to the file, a question goes on.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from quoth.errors import QuothError
from quoth.quality import QualitySummary, summary_of
from quoth.stores.query_rows import COLUMNS, QueryEntry, entry_of, instant, read_row, row_of
from quoth.types import Retrieval

VERSION = 1
BUSY_SECONDS = 2.0
REST_SECONDS = 5.0
"""How long a file that failed is left alone: one that is locked must not slow down each question."""

_APPLICATION = 0x51754C67  # "QuLg": tells a query log from other databases
_CREATE = f"CREATE TABLE queries (id INTEGER PRIMARY KEY, {', '.join(' '.join(one) for one in COLUMNS.items())})"
_INSERT = f"INSERT INTO queries ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))})"  # noqa: S608
_SELECT = f"SELECT {', '.join(COLUMNS)} FROM queries WHERE time >= ? ORDER BY time DESC, id DESC LIMIT ?"  # noqa: S608
_HINT = "Name a file that quoth writes (the setting log.queries), or move this one away."
_MAKING = threading.Lock()
"""Closing a file lets go of all locks of this process on it, those of SQLite too: nobody may have opened it yet."""
_log = logging.getLogger(__name__)


class QueryLog:
    """A query log at `path`; the first entry makes the file. Threads and processes may write and read it at once."""

    def __init__(self, path: str | Path, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._path = Path(path)
        self._clock = clock
        self._lock = threading.Lock()
        self._open: _Writer | None = None
        self._inherited: list[_Writer] = []
        self._again: float | None = None

    def add(self, entry: QueryEntry) -> None:
        """Write one entry; where that fails it is dropped, which is logged once until it works again."""
        with self._lock:
            if self._again is not None and self._clock() < self._again:
                return
            try:
                self._writer().connection.execute(_INSERT, row_of(entry))
            except (sqlite3.Error, OSError, QuothError) as error:
                self._failed(error)
            else:
                self._again = None

    def record(self, retrieval: Retrieval, *, time: str, milliseconds: float) -> None:
        """Write what a retrieval came to; `time` is ISO 8601."""
        self.add(entry_of(retrieval, time=time, milliseconds=milliseconds))

    def entries(self, since: str | None, limit: int | None) -> tuple[QueryEntry, ...]:
        """The latest `limit` entries from the time `since` on, the oldest first; None means all."""
        start = "" if since is None else instant(since)
        with _reading(self._path) as connection:
            rows = connection.execute(_SELECT, (start, -1 if limit is None else max(0, limit))).fetchall()
            return tuple(read_row(row) for row in reversed(rows))

    def summary(self, since: str | None, limit: int | None) -> QualitySummary:
        """The same entries together."""
        return summary_of(entry.quality for entry in self.entries(since, limit))

    def close(self) -> None:
        """Let go of the file. The log can be used again."""
        with self._lock:
            self._let_go()

    def _writer(self) -> _Writer:
        if self._open is not None and self._open.process != os.getpid():
            # A connection of the parent process: closing it here would take its log away from under it.
            self._inherited.append(self._open)
            self._open = None
        if self._open is not None and self._open.file != _identity(self._path):
            self._let_go()  # the file was moved away, as one does with logs that have grown
        if self._open is None:
            self._open = _writer(self._path)
        return self._open

    def _let_go(self) -> None:
        if self._open is not None:
            with suppress(sqlite3.Error):
                self._open.connection.close()
            self._open = None

    def _failed(self, error: Exception) -> None:
        self._let_go()
        if self._again is None:
            _log.warning("the query log %s cannot be written: %s. Questions go on without it.", self._path, error)
        self._again = self._clock() + REST_SECONDS


@dataclass(frozen=True, slots=True)
class _Writer:
    connection: sqlite3.Connection
    file: tuple[int, int] | None
    process: int


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _write_ahead(path: Path) -> Path:
    """Where entries wait that are not yet merged into the file."""
    return path.with_name(f"{path.name}-wal")


def _writer(path: Path) -> _Writer:
    with _MAKING:
        if not path.exists() and (waiting := _write_ahead(path)).exists():
            # SQLite would take its entries for those of a new file, and another process may still be at it.
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
    return _Writer(connection, _identity(path), os.getpid())


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
    """A connection that cannot write; what is wrong with the file is a `QuothError`."""
    try:
        if not path.exists():
            raise QuothError(f"there is no query log at {path}", hint="Set log.queries to a file, then ask something.")
        with closing(_connect_readonly(path)) as connection:
            _check(connection, path)
            yield connection
    except (sqlite3.OperationalError, OSError) as error:
        raise QuothError(f"{path} cannot be read: {error}", hint="Check its permissions, and try again.") from error
    except sqlite3.DatabaseError as error:
        raise QuothError(f"{path} is not a query log, or is damaged: {error}", hint=_HINT) from error
    except (ValueError, TypeError, KeyError) as error:
        raise QuothError(f"{path} holds an entry that cannot be read: {error}", hint=_HINT) from error


def _connect_readonly(path: Path) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?mode=ro"
    try:
        return _connect(uri)
    except sqlite3.OperationalError as error:
        # Beside its file SQLite wants others, to coordinate. Where they cannot be made nobody writes through here, and
        # the file may be read as it is; unless entries wait in a log that was never merged into it.
        waiting = _write_ahead(path)
        refused = "unable to open" in str(error) or "readonly" in str(error)
        if not refused or (waiting.exists() and waiting.stat().st_size):
            raise
        return _connect(uri + "&immutable=1")


def _connect(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master")  # opening is lazy: fail here if at all
    except BaseException:
        connection.close()
        raise
    return connection
