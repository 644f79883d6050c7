"""Does the jobs, one write after the other, in a thread of its own."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from quoth.errors import IndexBusy, QuothError
from quoth.ingest import IngestReport
from quoth.interfaces.guard.words import client_words
from quoth.interfaces.http import logs, metrics
from quoth.interfaces.http.faults import HttpFault, error_json
from quoth.interfaces.http.jobs import Job, Jobs, Kind
from quoth.interfaces.http.library import Library
from quoth.protocols import Progress

Ingest = Callable[[Sequence[str], Progress], IngestReport]
"""Brings the index up to date with these files of the library."""
Remove = Callable[[Sequence[str]], Collection[str]]
"""Takes documents out of the index; gives those that were not in it."""
Ended = Callable[[Job, Mapping[str, str] | None], None]
"""Is told how a job ended: its error, or None."""
_Written = TypeVar("_Written")


@dataclass(frozen=True, slots=True)
class Patience:
    """In seconds: how often a process looks for jobs that another one left behind, how long it waits for another
    writer such as `quoth ingest`, how often it cleans up, and how old what is cleaned up must be.

    `tries`: a job whose process was ended so often while it did it is not begun again.
    """

    look: float
    busy: float
    tidy: float
    old: float
    tries: int


USUAL = Patience(look=1.0, busy=600.0, tidy=600.0, old=600.0, tries=3)


class Runner:
    def __init__(
        self,
        jobs: Jobs,
        library: Library,
        *,
        ingest: Ingest,
        remove: Remove,
        ended: Ended | None = None,
        patience: Patience = USUAL,
    ) -> None:
        self._jobs = jobs
        self._library = library
        self._ingest = ingest
        self._remove = remove
        self._ended = ended
        self._patience = patience
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="jobs", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """There is something to do."""
        self._wake.set()

    def stop(self, seconds: float) -> None:
        """Begin nothing more, and wait a while for what is under way; what is cut off is taken up again later."""
        self._stopping.set()
        self._wake.set()
        self._thread.join(seconds)

    def _run(self) -> None:
        clean_at = 0.0
        while not self._stopping.is_set():
            try:
                if time.monotonic() >= clean_at:
                    clean_at = time.monotonic() + self._patience.tidy
                    self._tidy()
                self.run_all()
            except Exception:  # the next round may go better, and a thread that ended would never tell
                logs.LOG.exception("jobs cannot be done")
                self._stopping.wait(self._patience.look)
            self._wake.wait(self._patience.look)
            self._wake.clear()

    def run_all(self) -> None:
        """Do what there is to do, unless another process is at it."""
        with self._jobs.alone() as mine:
            while mine and not self._stopping.is_set() and (jobs := self._jobs.claim()):
                self._do(jobs)

    def _tidy(self) -> None:
        left = self._library.tidy(lambda: {job.id for job in self._jobs.to_do()}, older_than=self._patience.old)
        if left:
            logs.log("removed what was left behind", files=left)

    def _do(self, jobs: Sequence[Job]) -> None:
        """Do jobs as one write. What one of them makes impossible, the others do not suffer from."""
        if jobs[0].tries >= self._patience.tries:
            self._fail(jobs, "cut-off", f"the service ended {jobs[0].tries} times while it did this", _SEE_LOG)
            return
        try:
            self._work(jobs)
        except _Stopped:
            self._jobs.release(jobs)
        except sqlite3.Error:
            raise  # not the job is at fault: how it ended could not be kept, and it will be taken up again
        except Exception as error:
            if len(jobs) > 1 and not isinstance(error, IndexBusy):
                for job in jobs:
                    if not self._is_finished(job):
                        self._do([job])
            elif isinstance(error, QuothError):
                logs.log("a job failed", message=str(error), hint=error.hint)
                self._fail(jobs, *client_words(error))
            elif isinstance(error, OSError):
                logs.LOG.exception("a job failed")
                hint = "Ask the operator of the service to make room."
                self._fail(jobs, "no-room", f"the file cannot be kept: {error.strerror}", hint)
            else:
                logs.LOG.exception("a job failed")
                self._fail(jobs, "internal", "something went wrong", _SEE_LOG)

    def _work(self, jobs: Sequence[Job]) -> None:
        if jobs[0].kind is Kind.DELETE:
            self._take_out(jobs)
        elif placed := self._placed(jobs):
            self._put_in(placed)

    def _take_out(self, jobs: Sequence[Job]) -> None:
        self._jobs.progress(jobs, step="removing", done=0, total=len(jobs))
        missing = self._patiently(jobs, lambda: self._remove([job.doc_id for job in jobs]))
        for job in jobs:
            uploaded = self._is_uploaded(job.doc_id)
            notes = self._without_file(job)
            said = f"the index holds no document '{job.doc_id}'"
            gone = _error("no-document", said, "GET /documents lists the ids.")
            # One that was begun before and cut off has removed it itself, and its file.
            lost = job.doc_id in missing and not job.tries
            more = () if uploaded or lost or job.tries else (_COMES_BACK,)
            self._finish(job, error=gone if lost else None, notes=(*notes, *more))

    def _without_file(self, job: Job) -> tuple[str, ...]:
        """Remove the file of a document that is in the index no more; what there is to say about that."""
        try:
            self._library.remove(job.doc_id)
        except OSError as error:
            return (f"its file could not be removed: {error.strerror}",)
        return ()

    def _is_uploaded(self, doc_id: str) -> bool:
        try:
            return self._library.holds(doc_id)
        except HttpFault:
            return False  # a name that no upload can have

    def _placed(self, jobs: Sequence[Job]) -> list[Job]:
        """The jobs whose files are in their places now; the others have failed."""
        placed = []
        for job in jobs:
            try:
                self._library.install(job.id, job.doc_id)
                placed.append(job)
            except HttpFault as fault:
                self._fail([job], fault.code, str(fault.detail), fault.hint)
        return placed

    def _put_in(self, jobs: Sequence[Job]) -> None:
        report = self._patiently(jobs, lambda: self._ingest([job.doc_id for job in jobs], self._progress(jobs)))
        refused = {one.path: one for one in report.refused}
        for job in jobs:
            if (why := refused.get(job.doc_id)) is not None:
                self._fail([job], "unreadable-file", why.why, why.hint)
            else:
                self._finish(job, error=None, notes=report.notes.get(job.doc_id, ()))

    def _patiently(self, jobs: Sequence[Job], write: Callable[[], _Written]) -> _Written:
        until = time.monotonic() + self._patience.busy
        while True:
            try:
                return write()
            except IndexBusy:
                if self._stopping.is_set():
                    raise _Stopped from None
                if time.monotonic() > until:
                    raise
            self._jobs.progress(jobs, step="waiting for another writer", done=0, total=0)
            self._stopping.wait(self._patience.look)

    def _progress(self, jobs: Sequence[Job]) -> Progress:
        told = 0.0

        def progress(what: str, done: int, total: int) -> None:
            nonlocal told
            if done == total or time.monotonic() - told > 0.5:
                told = time.monotonic()
                with suppress(sqlite3.Error):  # nobody gives up a write because it cannot be told of
                    self._jobs.progress(jobs, step=what, done=done, total=total)

        return progress

    def _is_finished(self, job: Job) -> bool:
        now = self._jobs.get(job.id)
        return now is None or now.finished is not None

    def _fail(self, jobs: Sequence[Job], code: str, message: str, hint: str) -> None:
        for job in jobs:
            if self._is_finished(job):
                continue
            if job.kind is Kind.PUT:
                self._library.restore(job.id, job.doc_id)
            self._finish(job, error=_error(code, message, hint), notes=())

    def _finish(self, job: Job, *, error: dict[str, str] | None, notes: Sequence[str]) -> None:
        self._jobs.finish(job, error=error, notes=notes)
        state = "failed" if error else "done"
        metrics.JOBS.labels(job.kind.value, state).inc()
        level = logging.WARNING if error else logging.INFO
        logs.log("job", level=level, job=job.id, kind=job.kind.value, doc_id=job.doc_id, state=state, error=error)
        # From here on it has ended, whatever else goes wrong; what stays lying about is tidied up later.
        with suppress(OSError):
            self._library.settle(job.id)
        if self._ended is not None:
            try:
                self._ended(job, error)
            except OSError:
                logs.LOG.exception("how a job ended could not be written down")


class _Stopped(Exception):
    """The service ends while a job waits for its turn."""


_SEE_LOG = "See the log of the service."
_COMES_BACK = (
    "its file is in a folder that was ingested, and stays there: the next ingest of that folder brings it back"
)


def _error(code: str, message: str, hint: str) -> dict[str, str]:
    said: dict[str, str] = error_json(code, message, hint)["error"]
    return said
