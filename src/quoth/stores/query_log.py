"""The query log: a row per question, with how good its results looked. Here it is a SQLite file.

Kept only where someone asks for it, readable by its owner alone. It is a record and no part of an answer: whatever
happens to the log, a question goes on.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import asdict, astuple, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from quoth.errors import QuothError
from quoth.passages.quality import Quality, SourceRelevance, quality_of
from quoth.stores.disk_faults import FileIdentity, connect_readonly, identify, write_ahead_log
from quoth.types import FoundBy, Retrieval, Status

COLUMNS = dict(
    column.split(" ")
    for column in (
        "time TEXT, question TEXT, kind TEXT, status TEXT, best REAL, top1 REAL, relevant INTEGER, "
        "full_text_only INTEGER, vector_only INTEGER, both_count INTEGER, both_relevance REAL, vector_count INTEGER, "
        "vector_relevance REAL, full_text_count INTEGER, full_text_relevance REAL, lexical_weight REAL, "
        "dense_weight REAL, filters TEXT, degraded TEXT, index_digest TEXT, settings_digest TEXT, milliseconds REAL"
    ).split(", ")
)
"""Types by name; none may be null. A `..._relevance` is a sum over passages, so that means can be made of many."""

REST_SECONDS = 5.0
"""How long a log that failed is left alone: a locked file must not slow down every question."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class QueryEntry:
    """A question in the log, as it is read back. `time` is ISO 8601 in UTC."""

    time: str
    question: str
    quality: Quality


class RetrievalLog(ABC):
    """A log of retrievals. It is no part of an answer: whatever happens to it, a question goes on.

    `name` names it in warnings; `failures` are the errors of its storage.
    """

    def __init__(self, name: str, *, failures: tuple[type[Exception], ...], clock: Callable[[], float]) -> None:
        self._name = name
        self._failures: tuple[type[Exception], ...] = (*failures, QuothError)
        self._clock = clock
        self._state = threading.Lock()
        self._rest_until: float | None = None

    def record(self, retrieval: Retrieval, *, time: str, milliseconds: float) -> None:
        """Write a row; `time` is ISO 8601. A row that cannot be written is dropped, with one warning until it works."""
        with self._state:
            if self._rest_until is not None and self._clock() < self._rest_until:
                return
        try:
            self._write(_row_of(retrieval, time=time, milliseconds=milliseconds))
        except self._failures as error:
            with self._state:
                if self._rest_until is None:
                    _log.warning(
                        "the query log %s cannot be written: %s. Questions go on without it.", self._name, error
                    )
                self._rest_until = self._clock() + REST_SECONDS
        else:
            with self._state:
                self._rest_until = None

    @abstractmethod
    def _write(self, row: tuple[Any, ...]) -> None:
        """Write the values of `COLUMNS`."""

    @abstractmethod
    def entries(self, since: str | None, limit: int | None) -> tuple[QueryEntry, ...]:
        """Return the latest `limit` entries since the time `since`, the oldest first; None means all."""

    @abstractmethod
    def close(self) -> None:
        """Release the file or the connections. The log can be used again."""


def _row_of(retrieval: Retrieval, *, time: str, milliseconds: float) -> tuple[Any, ...]:
    quality = quality_of(retrieval)
    return (
        instant(time),
        retrieval.question.text.encode("utf-8", "replace").decode(),  # a lone surrogate has no UTF-8
        retrieval.kind.value,
        quality.status.value,
        retrieval.best,
        quality.top1,
        quality.relevant,
        quality.full_text_only,
        quality.vector_only,
        *(number for source in FoundBy for number in astuple(quality.sources[source])),
        *retrieval.weights,
        json.dumps(asdict(retrieval.filters)),
        json.dumps(quality.degraded),
        retrieval.index,
        retrieval.settings,
        milliseconds,
    )


def read_row(row: tuple[Any, ...]) -> QueryEntry:
    """Return the entry of a row; ValueError, TypeError or KeyError if it is not one."""
    values = dict(zip(COLUMNS, row, strict=True))
    quality = Quality(
        status=Status(values["status"]),
        top1=values["top1"],
        relevant=values["relevant"],
        full_text_only=values["full_text_only"],
        vector_only=values["vector_only"],
        sources={
            source: SourceRelevance(values[f"{source}_count"], values[f"{source}_relevance"]) for source in FoundBy
        },
        degraded=tuple(json.loads(values["degraded"])),
    )
    return QueryEntry(values["time"], values["question"], quality)


def instant(time: str) -> str:
    """Return a time in one form, so that times can be compared as text; without a zone it is UTC."""
    try:
        read = datetime.fromisoformat(time)
    except ValueError as error:
        raise QuothError(f"'{time}' is not a time", hint="Write it as 2026-01-31 or 2026-01-31T08:00:00Z.") from error
    zoned = read if read.tzinfo is not None else read.replace(tzinfo=UTC)
    return zoned.astimezone(UTC).isoformat(timespec="microseconds")


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
        # While one thread waits for a locked file, the others wait for that thread, and then leave the file alone.
        with self._lock:
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
    with connection:  # commits at the end, or rolls back
        connection.execute("BEGIN IMMEDIATE")
        if connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,):
            connection.execute(_CREATE)
            connection.execute("CREATE INDEX queries_time ON queries (time)")
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {VERSION}")


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
