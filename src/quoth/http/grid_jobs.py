"""Grids that are made after their request: a folder for each, and the thread that makes them one after the other.

The folder holds the request, the progress and the finished files, so that every process of the service sees them. A
grid that a stop or a crash cut off goes on after the next start.
"""

from __future__ import annotations

import fcntl
import json
import re
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import copy_context
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from quoth.errors import QuothError
from quoth.grid.grid_cells import GridPlan, plan_grid
from quoth.grid.run_grid import IndexChanged, make_grid
from quoth.grid.write_grid import FORMATS, write_grid
from quoth.http import logs, telemetry
from quoth.http.guard.askers import Asker, includes
from quoth.http.guard.index_access import IndexAccess
from quoth.http.http_faults import client_error
from quoth.http.response_types import ErrorDetailJson, GridJobJson
from quoth.library import Quoth
from quoth.machine import available_cores, replaced_file
from quoth.output.json_types import to_json
from quoth.search.question_files import question_of
from quoth.types import Access

FILES = tuple(f"grid{suffix}" for suffix in FORMATS)
"""The files of a finished grid."""
MOST_WAITING = 200
_MOST_STORED = 100
_REQUEST, _STATE, _BEGUN, _ROWS = "request.json", "state.json", "begun", "grid.jsonl"
_ID = re.compile(r"[0-9]{17}-[0-9a-f]{12}")
_LOOK_SECONDS = 5.0
"""How often to look for grids that another process left behind."""
_TRIES = 3
"""How often a grid is begun anew because the index changed meanwhile, or because its process ended."""


class GridJobs:
    """The grids in a folder of the service's state. Threads and processes may share the folder."""

    def __init__(self, folder: Path, quoth: Quoth, accesses: IndexAccess) -> None:
        self._folder = folder
        self._quoth = quoth
        self._accesses = accesses
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=copy_context().run, args=(self._run,), name="grids", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self, seconds: float) -> None:
        """Stop after the current cells, and wait up to `seconds`; the finished cells are kept."""
        self._stopping.set()
        self._wake.set()
        self._thread.join(seconds)

    def add(self, request: dict[str, Any], plan: GridPlan, *, asker: str, access: Access) -> GridJobJson:
        """Accept a grid: `request` holds `questions`, `docs` and `document_types`, and `plan` is made of them.

        It is made of what the asker (their id) may see now, which is `access`, and only they get it.
        """
        moment = time.time_ns()
        grid_id = f"{moment // 1000:017d}-{secrets.token_hex(6)}"  # sorts by age
        created = datetime.fromtimestamp(moment / 1e9, UTC).isoformat(timespec="milliseconds")
        state = GridJobJson(
            id=grid_id,
            state="queued",
            documents=len(plan.documents),
            questions=len(plan.questions),
            done=0,
            total=sum(1 for _ in plan.asked()),
            seconds_left=None,
            error=None,
            created=created,
            finished=None,
        )
        place = self._folder / grid_id
        place.mkdir(mode=0o700, parents=True)
        self._store(place, state)
        # The request comes last: without it the folder is no grid.
        with replaced_file(place / _REQUEST) as file:
            file.write(json.dumps(request | {"asker": asker, "access": _access_json(access)}).encode())
        self._wake.set()
        for old in [job.id for job in self.recent() if job.finished][_MOST_STORED:]:
            self.remove(old)
        return state

    def belongs_to(self, asker: Asker, grid_id: str) -> bool:
        """Return whether the asker made this grid, and may still see all that it is made of."""
        try:
            request = json.loads((self._folder / grid_id / _REQUEST).read_bytes())
        except FileNotFoundError:  # removed meanwhile
            return False
        if not asker.owns(request.get("asker")):
            return False
        access = self._accesses.of(asker)
        return includes(access, _access_in(request)) and self._sees_rows(access, grid_id)

    def _sees_rows(self, access: Access, grid_id: str) -> bool:
        """Return whether `access` sees every document of a grid now: its labels may have changed since."""
        try:
            rows = self.file(grid_id, _ROWS).stat()
            ids = frozenset() if access.labels is None else _row_ids(self.file(grid_id, _ROWS), rows.st_mtime_ns)
        except FileNotFoundError:  # it is not made yet
            return True
        return not ids or len(self._quoth.seen_by(access).read(lambda reader: reader.documents(ids))) == len(ids)

    def get(self, grid_id: str) -> GridJobJson | None:
        try:
            if not _ID.fullmatch(grid_id) or not (self._folder / grid_id / _REQUEST).exists():
                return None
            return msgspec.json.decode((self._folder / grid_id / _STATE).read_bytes(), type=GridJobJson)
        except FileNotFoundError:  # removed meanwhile
            return None

    def recent(self) -> list[GridJobJson]:
        """Return all grids, the newest first."""
        names = sorted((path.name for path in self._folder.glob("*-*")), reverse=True)
        return [job for name in names if (job := self.get(name)) is not None]

    def file(self, grid_id: str, name: str) -> Path:
        """Return the path of a finished grid's file; `name` is one of `FILES`."""
        return self._folder / grid_id / name

    def remove(self, grid_id: str) -> None:
        """Remove a grid with its files; one that is being made stops at its next cell."""
        with suppress(FileNotFoundError):
            (self._folder / grid_id / _REQUEST).unlink()
        shutil.rmtree(self._folder / grid_id, ignore_errors=True)

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self.run_all()
            except Exception:  # the next round may succeed; if the thread ended, nobody would notice
                logs.LOG.exception("grids cannot be made")
                self._stopping.wait(_LOOK_SECONDS)
            self._wake.wait(_LOOK_SECONDS)
            self._wake.clear()

    def run_all(self) -> None:
        """Make all waiting grids, the oldest first, unless another process is making them."""
        while not self._stopping.is_set() and (waiting := self._waiting()):
            with self._alone() as is_ours:
                if not is_ours:
                    return
                self._make(waiting[-1])

    def _waiting(self) -> Sequence[GridJobJson]:
        return [job for job in self.recent() if job.finished is None]

    @contextmanager
    def _alone(self) -> Iterator[bool]:
        """Yield whether this process holds the lock for making grids; the system releases it when a process ends."""
        with (self._folder / "lock").open("ab") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                is_ours = True
            except BlockingIOError:
                is_ours = False
            yield is_ours

    def _make(self, job: GridJobJson) -> None:
        place = self._folder / job.id
        error: ErrorDetailJson | None = None
        try:
            self._count_try(job, place)
            self._make_files(job, place)
        except _Ended:
            (place / _BEGUN).unlink(missing_ok=True)
            return
        except Exception as fault:
            if not (place / _REQUEST).exists():
                return  # it was removed while it was made
            error = _logged(fault)
        ended = "failed" if error else "done"
        done = job.done if error else job.total
        finished = datetime.now(UTC).isoformat(timespec="milliseconds")
        with suppress(FileNotFoundError):
            self._store(place, _changed(job, state=ended, done=done, error=error, finished=finished))
        telemetry.JOBS.labels("grid", ended).inc()
        logs.log("grid", job=job.id, state=ended, cells=job.total)

    def _count_try(self, job: GridJobJson, place: Path) -> None:
        """Raise `_CutOff` if the grid has ended its process several times without finishing a cell more."""
        with (place / _BEGUN).open("a+", encoding="utf-8") as file:
            file.seek(0)
            if file.read().split()[-_TRIES:] == [str(job.done)] * _TRIES:
                raise _CutOff
            file.write(f"{job.done}\n")

    def _make_files(self, job: GridJobJson, place: Path) -> None:
        request = json.loads((place / _REQUEST).read_bytes())
        questions = [question_of(each, default_id=str(at)) for at, each in enumerate(request["questions"], 1)]
        # One core is left for those who ask meanwhile.
        workers = max(1, available_cores() - 1)
        quoth = self._quoth.seen_by(_access_in(request))
        for left in reversed(range(_TRIES)):
            plan = plan_grid(quoth, questions, docs=request["docs"], document_types=request["document_types"])
            progress = self._progress(job, place)
            try:
                grid = make_grid(quoth, plan, place / _ROWS, workers=workers, tell=_log_note, progress=progress)
                for name in FILES:
                    write_grid(quoth, grid, place / name)
                return
            except IndexChanged:
                if not left:
                    raise

    def _progress(self, job: GridJobJson, place: Path) -> Callable[[str, int, int], None]:
        """Return a callback that stores the progress at most twice a second, and ends the work when it should."""
        began, stored_at, first = time.monotonic(), 0.0, -1

        def progress(_: str, done: int, total: int) -> None:
            nonlocal stored_at, first
            now = time.monotonic()
            first = done if first < 0 else first
            if now - stored_at < 0.5 and done < total:
                return
            if self._stopping.is_set() or not (place / _REQUEST).exists():
                raise _Ended
            stored_at = now
            left = (now - began) / (done - first) * (total - done) if done > first else None
            seconds = None if left is None else round(left, 1)
            self._store(place, _changed(job, state="running", done=done, total=total, seconds_left=seconds))

        return progress

    def _store(self, place: Path, job: GridJobJson) -> None:
        with replaced_file(place / _STATE) as file:
            file.write(json.dumps(to_json(job)).encode())


class _CutOff(Exception):
    """A grid ends its process again and again."""


class _Ended(Exception):
    """The service stops, or the grid was removed while it was made."""


def _access_json(access: Access) -> dict[str, Any]:
    return {"labels": None if access.labels is None else sorted(access.labels), "unlabelled": access.unlabelled}


def _access_in(request: Mapping[str, Any]) -> Access:
    """Return what a grid is made of; a request from before there were labels is of everything."""
    access = request.get("access") or {"labels": None, "unlabelled": True}
    labels = access["labels"]
    return Access(None if labels is None else frozenset(labels), unlabelled=access["unlabelled"])


@lru_cache(maxsize=2 * _MOST_STORED)
def _row_ids(rows: Path, _written: int) -> frozenset[str]:
    """Return the documents in the rows of a grid, which are read once for each time that they were written."""
    with rows.open("rb") as lines:
        return frozenset(line["doc_id"] for line in map(json.loads, lines) if "doc_id" in line)


def _changed(job: GridJobJson, **changes: Any) -> GridJobJson:  # noqa: ANN401 - the values of any fields
    return msgspec.structs.replace(job, **{"seconds_left": None, **changes})


def _log_note(message: str) -> None:
    logs.log("grid", message=message)


def _logged(error: Exception) -> ErrorDetailJson:
    """Log why a grid failed; return what clients may know of it."""
    if isinstance(error, _CutOff):
        message = f"the service ended {_TRIES} times while it made this"
        return ErrorDetailJson("cut-off", message, "See the log of the service.")
    if isinstance(error, IndexChanged):
        return ErrorDetailJson(error.code, str(error), "Ask for it again when the documents stay as they are.")
    if isinstance(error, QuothError):
        logs.log("a grid failed", message=str(error), hint=error.hint)
        return client_error(error)
    logs.LOG.exception("a grid failed")
    if isinstance(error, OSError):
        hint = "Ask the operator of the service to make room."
        return ErrorDetailJson("no-room", f"the grid cannot be kept: {error.strerror}", hint)
    return ErrorDetailJson("internal", "something went wrong", "See the log of the service.")
