"""Jobs, which are writes that go on after their request, and the audit log of them.

A database keeps the jobs across restarts: a SQLite file for the processes of one machine, or the database of the index
for all machines that serve it. The statements are the same for both.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import msgspec

from quoth.http.response_types import ErrorDetailJson, JobJson
from quoth.machine import sync
from quoth.output.json_types import to_json
from quoth.protocols import JobDatabase, Statements

_LAST_PUT = "SELECT max(number) FROM jobs WHERE finished IS NULL AND kind = 'put' GROUP BY doc_id"
_HELD = f"""
SELECT count(*), coalesce(sum(bytes), 0) FROM (
    SELECT doc_id, owner, bytes FROM jobs WHERE number IN ({_LAST_PUT})
    UNION ALL
    SELECT doc_id, owner, bytes FROM uploads
    WHERE doc_id NOT IN (SELECT doc_id FROM jobs WHERE finished IS NULL AND kind = 'put')
) AS held WHERE doc_id <> ?
"""  # noqa: S608 - our own words
_COUNT_UPLOAD = (
    "INSERT INTO uploads (doc_id, owner, bytes) VALUES (?, ?, ?) "
    "ON CONFLICT (doc_id) DO UPDATE SET owner = excluded.owner, bytes = excluded.bytes"
)
JobKind = Literal["put", "delete"]
_MOST_PER_CLAIM = 64
_MOST_STORED = 10_000


class WriteJob(JobJson, frozen=True):
    tries: int
    """How often it was begun before; above 0 if its process ended in the middle of it."""
    owner: str | None
    """The id of who started it; None without keys, and for a job from before this was kept."""
    bytes: int

    def json(self) -> dict[str, Any]:
        content = to_json(self)
        for name in ("tries", "owner", "bytes"):
            del content[name]
        return content


@dataclass(frozen=True, slots=True)
class UploadQuota:
    """How many documents may be uploaded, and how many bytes, in all and by each owner; 0 is no limit."""

    documents: int
    bytes: int
    documents_each: int
    bytes_each: int


NO_QUOTA = UploadQuota(0, 0, 0, 0)


class OverQuota(Exception):
    """An upload would go over a quota. `documents` and `bytes` are the quota; `own` if it is that of its owner."""

    def __init__(self, documents: int, size: int, *, own: bool) -> None:
        super().__init__("over the quota")
        self.documents = documents
        self.bytes = size
        self.own = own


_COLUMNS = WriteJob.__struct_fields__


class JobTable:
    """The jobs of a database. Threads, processes and machines may share it: each call is one transaction."""

    def __init__(self, database: JobDatabase, clock: Callable[[], float] = time.time) -> None:
        self._database = database
        self._clock = clock
        self.alone = database.alone

    def new_id(self) -> str:
        return secrets.token_hex(12)

    def add(
        self,
        job_id: str,
        kind: JobKind,
        doc_id: str,
        *,
        owner: str | None = None,
        size: int = 0,
        quota: UploadQuota = NO_QUOTA,
    ) -> WriteJob:
        """Add a job and return it. Raise `OverQuota`, and add nothing, if there is no room for its `size` in bytes."""
        with self._database.transaction(alone=True) as run:
            if kind == "put":
                _check_quota(run, doc_id, owner, size, quota)
            run.execute(
                "INSERT INTO jobs (id, kind, doc_id, state, created, owner, bytes) VALUES (?, ?, ?, 'queued', ?, ?, ?)",
                (job_id, kind, doc_id, self._now(), owner, size),
            )
            run.execute(
                "DELETE FROM jobs WHERE finished IS NOT NULL AND number <= (SELECT max(number) FROM jobs) - ?",
                (_MOST_STORED,),
            )
            return _select(run, "WHERE id = ?", job_id)[0]

    def take(self, job: WriteJob) -> None:
        """Add a job of another table as it is, unless it is here already."""
        values = {name: getattr(job, name) for name in _COLUMNS}
        values |= {"error": _error_text(job.error), "notes": json.dumps(job.notes)}
        with self._database.transaction(alone=True) as run:
            run.execute(
                f"INSERT INTO jobs ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))}) "  # noqa: S608
                "ON CONFLICT DO NOTHING",
                list(values.values()),
            )

    def check_quota(self, doc_id: str, *, owner: str | None, size: int, quota: UploadQuota) -> None:
        """Raise `OverQuota` if there is no room now for a document of `size` bytes."""
        if quota != NO_QUOTA:
            with self._database.transaction() as run:
                _check_quota(run, doc_id, owner, size, quota)

    def get(self, job_id: str) -> WriteJob | None:
        return next(iter(self._read("WHERE id = ?", job_id)), None)

    def recent(self, most: int, *, owners: Sequence[str | None] | None = None) -> tuple[WriteJob, ...]:
        """Return the newest jobs, newest first: those of `owners` (None among them is nobody), or all."""
        if owners is None:
            return self._read("ORDER BY number DESC LIMIT ?", most)
        named = [owner or "" for owner in owners]
        marks = ", ".join("?" * len(named))
        return self._read(f"WHERE coalesce(owner, '') IN ({marks}) ORDER BY number DESC LIMIT ?", *named, most)

    def waiting(self) -> int:
        with self._database.transaction() as run:
            return int(run.execute("SELECT count(*) FROM jobs WHERE finished IS NULL")[0][0])

    def unfinished(self) -> tuple[WriteJob, ...]:
        """Return the jobs that are not finished, oldest first."""
        return self._read("WHERE finished IS NULL ORDER BY number")

    def last_unfinished(self, doc_id: str) -> WriteJob | None:
        """Return the last job that will change a document; None if there is none."""
        return next(iter(self._read("WHERE finished IS NULL AND doc_id = ? ORDER BY number DESC", doc_id)), None)

    def uploads(self) -> list[tuple[str, str | None, int]]:
        """Return the id of each uploaded document, with its owner and its size in bytes."""
        with self._database.transaction() as run:
            return [
                (doc_id, owner, size) for doc_id, owner, size in run.execute("SELECT doc_id, owner, bytes FROM uploads")
            ]

    def count_upload(self, doc_id: str, owner: str | None, size: int) -> None:
        """Count a document as an upload of `owner`."""
        with self._database.transaction() as run:
            run.execute(_COUNT_UPLOAD, (doc_id, owner, size))

    def claim(self) -> tuple[WriteJob, ...]:
        """Mark the next jobs that can be done as one write as running, and return them; only for the holder of `alone`.

        They are of one kind and of different documents, so that writes keep their order. A job that was begun before
        comes by itself: if it ended its process, it cannot do that to others again.
        """
        if not self.waiting():
            return ()  # without a write lock
        with self._database.transaction(alone=True) as run:
            claimed: list[WriteJob] = []
            for job in _select(run, "WHERE finished IS NULL ORDER BY number LIMIT ?", _MOST_PER_CLAIM):
                if claimed and (
                    claimed[0].tries
                    or job.tries
                    or job.kind != claimed[0].kind
                    or job.doc_id in {other.doc_id for other in claimed}
                ):
                    break
                claimed.append(job)
            for job in claimed:
                run.execute("UPDATE jobs SET state = 'running', tries = tries + 1 WHERE id = ?", (job.id,))
        return tuple(claimed)

    def progress(self, jobs: Sequence[WriteJob], *, step: str, done: int, total: int) -> None:
        self._update(
            "UPDATE jobs SET step = ?, done = ?, total = ? WHERE id = ? AND finished IS NULL",
            [(step, done, total, job.id) for job in jobs],
        )

    def finish(self, job: WriteJob, *, error: ErrorDetailJson | None, notes: Sequence[str]) -> None:
        state = "failed" if error else "done"
        with self._database.transaction() as run:
            run.execute(
                "UPDATE jobs SET state = ?, step = '', error = ?, notes = ?, finished = ? WHERE id = ?",
                (state, _error_text(error), json.dumps(list(notes)), self._now(), job.id),
            )
            if error is None and job.kind == "put":
                run.execute(_COUNT_UPLOAD, (job.doc_id, job.owner, job.bytes))
            elif error is None:
                run.execute("DELETE FROM uploads WHERE doc_id = ?", (job.doc_id,))

    def release(self, jobs: Sequence[WriteJob]) -> None:
        """Put claimed jobs that were not begun back into the queue."""
        self._update(
            "UPDATE jobs SET state = 'queued', step = '', done = 0, total = 0, tries = ? "
            "WHERE id = ? AND finished IS NULL",
            [(job.tries, job.id) for job in jobs],
        )

    def _update(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        with self._database.transaction() as run:
            for row in rows:
                run.execute(statement, row)

    def _read(self, condition: str, *values: object) -> tuple[WriteJob, ...]:
        with self._database.transaction() as run:
            return _select(run, condition, *values)

    def _now(self) -> str:
        return datetime.fromtimestamp(self._clock(), UTC).isoformat(timespec="milliseconds")


def _error_text(error: ErrorDetailJson | None) -> str | None:
    return None if error is None else json.dumps(to_json(error))


def _check_quota(run: Statements, doc_id: str, owner: str | None, size: int, quota: UploadQuota) -> None:
    """Raise `OverQuota` if a document of `size` bytes, in the place of the one that has its id, would be too much."""
    limits = (
        (quota.documents, quota.bytes, "", ()),
        (quota.documents_each, quota.bytes_each, " AND coalesce(owner, '') = ?", (owner or "",)),
    )
    for documents, size_limit, own, whose in limits:
        if documents or size_limit:
            ((count, held),) = run.execute(_HELD + own, (doc_id, *whose))
            if (documents and count + 1 > documents) or (size_limit and held + size > size_limit):
                raise OverQuota(documents, size_limit, own=bool(own))


def _select(run: Statements, condition: str, *values: object) -> tuple[WriteJob, ...]:
    statement = f"SELECT {', '.join(_COLUMNS)} FROM jobs {condition}"  # noqa: S608 - our own words
    rows = [dict(zip(_COLUMNS, row, strict=True)) for row in run.execute(statement, values)]
    written = [row | {name: json.loads(row[name] or "null") for name in ("error", "notes")} for row in rows]
    return msgspec.convert(written, tuple[WriteJob, ...])


class AuditLog:
    """A JSON Lines file with one line per write, synced to disk before `record` returns.

    Processes and threads may share it. It is opened for each line, so it can be rotated while the service runs.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def record(self, **entry: object) -> None:
        """Append an entry with the current time; after an `OSError` the caller must refuse the write it describes."""
        time = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = json.dumps({"time": time, **entry}, ensure_ascii=False, default=str)
        # UTF-8 cannot hold a lone surrogate; it becomes its JSON escape.
        content = line.encode("utf-8", "backslashreplace") + b"\n"
        is_new = not self._path.exists()
        if not self._path.parent.exists():
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self._path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
        with os.fdopen(descriptor, "a+b", buffering=0) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            if is_new:
                sync(self._path.parent)
            size = os.fstat(descriptor).st_size
            # Under the lock no other process is writing, so a full disk or a power cut left a line without an end.
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                content = b"\n" + content
            written = file.write(content)
            os.fsync(descriptor)
        if written < len(content):
            raise OSError(errno.ENOSPC, "only a part of the entry could be written", str(self._path))
