"""Jobs: writes that go on behind a request. They are kept in a file, so that every process and a restart know them."""

from __future__ import annotations

import fcntl
import json
import secrets
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
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
    tries INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX IF NOT EXISTS jobs_by_state ON jobs (state, number);
CREATE INDEX IF NOT EXISTS jobs_to_do ON jobs (number) WHERE finished IS NULL;
"""
_COLUMNS = "id, kind, doc_id, state, step, done, total, error, notes, created, finished, tries"
_MOST_TOGETHER = 64
_KEPT = 10_000
_BUSY_SECONDS = 30.0


class Kind(StrEnum):
    PUT = "put"
    DELETE = "delete"


@dataclass(frozen=True, slots=True)
class Job:
    id: str
    kind: Kind
    doc_id: str
    state: str
    step: str
    done: int
    total: int
    error: Mapping[str, str] | None
    notes: tuple[str, ...]
    created: str
    finished: str | None
    tries: int
    """How often it was begun before; more than 0 for one that was cut off with its process."""

    def json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "kind": self.kind.value,
            "doc_id": self.doc_id,
            "state": self.state,
            "step": self.step,
            "done": self.done,
            "total": self.total,
            "error": self.error,
            "notes": list(self.notes),
            "created": self.created,
            "finished": self.finished,
        }


class Jobs:
    """Threads and processes may share it: each call is one transaction."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        # The journal stays as SQLite makes it: what writes ahead needs room even to be read, and a full disk has none.
        with self._lock, closing(self._connect()) as connection:
            if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'jobs_to_do'").fetchone():
                connection.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")

    def new_id(self) -> str:
        return secrets.token_hex(12)

    def add(self, job_id: str, kind: Kind, doc_id: str) -> Job:
        with self._lock, closing(self._connect()) as connection, connection:
            connection.execute(
                "INSERT INTO jobs (id, kind, doc_id, state, created) VALUES (?, ?, ?, 'queued', ?)",
                (job_id, kind.value, doc_id, self._now()),
            )
            connection.execute(
                "DELETE FROM jobs WHERE finished IS NOT NULL AND number <= (SELECT max(number) FROM jobs) - ?", (_KEPT,)
            )
        found = self.get(job_id)
        if found is None:
            raise sqlite3.OperationalError("a job is gone as soon as it was written")
        return found

    def get(self, job_id: str) -> Job | None:
        rows = self._read("WHERE id = ?", (job_id,))
        return rows[0] if rows else None

    def recent(self, most: int) -> tuple[Job, ...]:
        """The newest first."""
        return self._read("ORDER BY number DESC LIMIT ?", (most,))

    def waiting(self) -> int:
        with self._lock, closing(self._connect()) as connection:
            return int(connection.execute("SELECT count(*) FROM jobs WHERE finished IS NULL").fetchone()[0])

    def to_do(self) -> tuple[Job, ...]:
        """What is not finished, the oldest first."""
        return self._read("WHERE finished IS NULL ORDER BY number", ())

    def last_to_do(self, doc_id: str) -> Job | None:
        """The last job that will change a document; None where nothing is on its way."""
        rows = self._read("WHERE finished IS NULL AND doc_id = ? ORDER BY number DESC LIMIT 1", (doc_id,))
        return rows[0] if rows else None

    @contextmanager
    def alone(self) -> Iterator[bool]:
        """Whether we are the one that does jobs, for as long as the block lasts.

        The system lets go of the lock when a process ends, however it ends: what it was doing can be taken up at once,
        while a process that is only slow, or stopped for a while, keeps what it does to itself.
        """
        with self._path.with_name(f"{self._path.name}.lock").open("ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                mine = True
            except BlockingIOError:
                mine = False
            yield mine

    def claim(self) -> tuple[Job, ...]:
        """The next jobs that can be done as one write, for whoever is `alone`.

        They are of one kind and of different documents, so that the order of what was asked for is kept. One that was
        begun before comes by itself, so that what ended its process cannot harm others again.
        """
        if not self.waiting():
            return ()  # whoever only looks keeps nobody from writing
        with self._lock, closing(self._connect()) as connection:
            connection.execute("BEGIN IMMEDIATE")
            with connection:
                rows = connection.execute(
                    f"SELECT {_COLUMNS} FROM jobs WHERE finished IS NULL ORDER BY number LIMIT ?",  # noqa: S608
                    (_MOST_TOGETHER,),
                ).fetchall()
                taken: list[Job] = []
                for job in map(_job, rows):
                    if taken and (
                        taken[0].tries or job.tries or job.kind != taken[0].kind or job.doc_id in _documents(taken)
                    ):
                        break
                    taken.append(job)
                connection.executemany(
                    "UPDATE jobs SET state = 'running', tries = tries + 1 WHERE id = ?", [(job.id,) for job in taken]
                )
        return tuple(taken)

    def progress(self, jobs: Sequence[Job], *, step: str, done: int, total: int) -> None:
        """How far they are."""
        self._update(
            "UPDATE jobs SET step = ?, done = ?, total = ? WHERE id = ? AND finished IS NULL",
            [(step, done, total, job.id) for job in jobs],
        )

    def finish(self, job: Job, *, error: Mapping[str, str] | None, notes: Sequence[str]) -> None:
        state = "failed" if error else "done"
        written = json.dumps(error) if error else None
        self._update(
            "UPDATE jobs SET state = ?, step = '', error = ?, notes = ?, finished = ? WHERE id = ?",
            [(state, written, json.dumps(list(notes)), self._now(), job.id)],
        )

    def release(self, jobs: Sequence[Job]) -> None:
        """Give back what was not begun, for whoever comes next."""
        self._update(
            "UPDATE jobs SET state = 'queued', step = '', done = 0, total = 0, tries = ? "
            "WHERE id = ? AND finished IS NULL",
            [(job.tries, job.id) for job in jobs],
        )

    def _update(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        with self._lock, closing(self._connect()) as connection, connection:
            connection.executemany(statement, rows)

    def _read(self, which: str, values: tuple[object, ...]) -> tuple[Job, ...]:
        statement = f"SELECT {_COLUMNS} FROM jobs {which}"  # noqa: S608 - our own words
        with self._lock, closing(self._connect()) as connection:
            return tuple(map(_job, connection.execute(statement, values).fetchall()))

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=_BUSY_SECONDS)
        connection.execute("PRAGMA synchronous = FULL")
        return connection

    def _now(self) -> str:
        return datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="milliseconds")


def _documents(jobs: Sequence[Job]) -> set[str]:
    return {one.doc_id for one in jobs}


def _job(row: tuple[Any, ...]) -> Job:
    job_id, kind, doc_id, state, step, done, total, error, notes, created, finished, tries = row
    said = json.loads(error) if error else None
    heard = tuple(json.loads(notes))
    return Job(job_id, Kind(kind), doc_id, state, step, done, total, said, heard, created, finished, tries)
