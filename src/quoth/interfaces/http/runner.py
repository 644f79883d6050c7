"""Does the jobs, one write after the other, in a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import TypeVar

from quoth.errors import IndexBusy, QuothError
from quoth.ingest import IngestReport
from quoth.interfaces.http import logs, metrics
from quoth.interfaces.http.faults import error_json
from quoth.interfaces.http.jobs import Job, Jobs, Kind
from quoth.interfaces.http.library import Library
from quoth.protocols import Progress

_LOOK_SECONDS = 1.0
"""How often a process looks for jobs that another one left behind."""
_BEAT_SECONDS = 3.0
_BUSY_SECONDS = 600.0
"""How long to wait for another writer, such as `quoth ingest`."""

Ingest = Callable[[Sequence[str], Progress], IngestReport]
"""Brings the index up to date with these files of the library."""
Remove = Callable[[Sequence[str]], Collection[str]]
"""Takes documents out of the index; gives those that were not in it."""
_Written = TypeVar("_Written")


class Runner:
    def __init__(self, jobs: Jobs, library: Library, *, ingest: Ingest, remove: Remove) -> None:
        self._jobs = jobs
        self._library = library
        self._ingest = ingest
        self._remove = remove
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
        while not self._stopping.is_set():
            self._wake.wait(_LOOK_SECONDS)
            self._wake.clear()
            try:
                while not self._stopping.is_set() and (jobs := self._jobs.claim()):
                    self._do(jobs)
            except Exception:  # the next round may go better, and a thread that ended would never tell
                logs.LOG.exception("jobs cannot be done")
                self._stopping.wait(_LOOK_SECONDS)

    def _do(self, jobs: Sequence[Job]) -> None:
        alive = threading.Event()
        beating = threading.Thread(target=self._beat, args=(jobs, alive), name="jobs-alive", daemon=True)
        beating.start()
        try:
            self._work(jobs)
        except QuothError as error:
            self._fail(jobs, error.code, str(error), error.hint)
        except Exception:
            logs.LOG.exception("a job failed")
            self._fail(jobs, "internal", "something went wrong", "See the log of the service.")
        finally:
            alive.set()
            beating.join()

    def _beat(self, jobs: Sequence[Job], ended: threading.Event) -> None:
        while not ended.wait(_BEAT_SECONDS):
            with suppress(Exception):  # a beat that is missed is made up for by the next
                self._jobs.beat(jobs)

    def _work(self, jobs: Sequence[Job]) -> None:
        ids = [job.doc_id for job in jobs]
        if jobs[0].kind is Kind.DELETE:
            self._jobs.progress(jobs, step="removing", done=0, total=len(jobs))
            missing = self._patiently(jobs, lambda: self._remove(ids))
            for job in jobs:
                self._library.remove(job.doc_id)
                gone = _error(
                    "no-document", f"the index holds no document '{job.doc_id}'", "GET /documents lists the ids."
                )
                self._finish(job, error=gone if job.doc_id in missing else None, notes=())
            return
        for job in jobs:
            self._library.install(job.id, job.doc_id)
        report = self._patiently(jobs, lambda: self._ingest(ids, self._progress(jobs)))
        refused = {one.path: one for one in report.refused}
        for job in jobs:
            if (why := refused.get(job.doc_id)) is not None:
                self._library.restore(job.id, job.doc_id)
                self._finish(job, error=_error("unreadable-file", why.why, why.hint), notes=())
            else:
                self._library.settle(job.id)
                self._finish(job, error=None, notes=report.notes.get(job.doc_id, ()))

    def _patiently(self, jobs: Sequence[Job], write: Callable[[], _Written]) -> _Written:
        until = time.monotonic() + _BUSY_SECONDS
        while True:
            try:
                return write()
            except IndexBusy:
                if time.monotonic() > until or self._stopping.is_set():
                    raise
            self._jobs.progress(jobs, step="waiting for another writer", done=0, total=0)
            self._stopping.wait(_LOOK_SECONDS)

    def _progress(self, jobs: Sequence[Job]) -> Progress:
        told = 0.0

        def progress(what: str, done: int, total: int) -> None:
            nonlocal told
            if done == total or time.monotonic() - told > 0.5:
                told = time.monotonic()
                self._jobs.progress(jobs, step=what, done=done, total=total)

        return progress

    def _fail(self, jobs: Sequence[Job], code: str, message: str, hint: str) -> None:
        for job in jobs:
            now = self._jobs.get(job.id)
            if now is not None and now.finished is not None:
                continue
            if job.kind is Kind.PUT:
                self._library.restore(job.id, job.doc_id)
            self._finish(job, error=_error(code, message, hint), notes=())

    def _finish(self, job: Job, *, error: dict[str, str] | None, notes: Sequence[str]) -> None:
        self._jobs.finish(job, error=error, notes=notes)
        state = "failed" if error else "done"
        metrics.JOBS.labels(job.kind.value, state).inc()
        logs.log("job", job=job.id, kind=job.kind.value, doc_id=job.doc_id, state=state, error=error)


def _error(code: str, message: str, hint: str) -> dict[str, str]:
    said: dict[str, str] = error_json(code, message, hint)["error"]
    return said
