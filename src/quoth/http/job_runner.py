"""A thread that does the jobs, one write after the other."""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from quoth.documents.ingest_report import IngestReport
from quoth.errors import IndexBusy, JobsUnavailable, QuothError
from quoth.http import logs, telemetry
from quoth.http.http_faults import HttpFault, client_error
from quoth.http.job_file import JobFile
from quoth.http.jobs import AuditLog, JobTable, WriteJob
from quoth.http.move_uploads import move_uploads
from quoth.http.response_types import ErrorDetailJson
from quoth.http.shared_uploads import SharedUploads
from quoth.http.upload_folder import UploadedFiles, UploadFolder
from quoth.output.json_types import to_json
from quoth.protocols import JobDatabase, Progress
from quoth.types import StoredDocument

Ingest = Callable[[Sequence[str], Progress], IngestReport]
"""Brings the index up to date with these files of the upload folder."""
Remove = Callable[[Sequence[str]], Collection[str]]
"""Removes documents from the index; returns those that were not in it."""
_Written = TypeVar("_Written")

FILES, AUDIT, JOBS, COPIES = "files", "audit.jsonl", "service.db", "copies"
"""Names in the state folder."""
_SEE_LOG = "See the log of the service."
_COMES_BACK = (
    "its file is in a folder that was ingested, and stays there: the next ingest of that folder brings it back"
)


@dataclass(frozen=True, slots=True)
class RunnerLimits:
    """Times in seconds, and the number of tries."""

    look: float = 1.0
    """How often to look for jobs of other processes and machines, and for those that they left behind."""
    busy: float = 600.0
    """How long to wait for another writer, such as `quoth ingest`."""
    tidy: float = 600.0
    """How often to remove leftover files."""
    old: float = 600.0
    """How old a leftover file must be before it is removed."""
    away: float = 5.0
    """How long to leave a shared database in peace that cannot be asked."""
    tries: int = 3
    """How often a job may end its process before it is given up."""


DEFAULT_LIMITS = RunnerLimits()


class JobRunner:
    """The jobs, files and audit log of uploads, and the thread that does the jobs."""

    def __init__(
        self,
        state: Path,
        *,
        ingest: Ingest,
        remove: Remove,
        limits: RunnerLimits = DEFAULT_LIMITS,
        shared: JobDatabase | None = None,
        stored: Callable[[], Mapping[str, StoredDocument]] = dict,
    ) -> None:
        """Keep jobs and files in the state folder, or in the `shared` database beside an index that holds `stored`."""
        state.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.files: UploadedFiles
        if shared is None:
            self.files = folder = UploadFolder(state / FILES)
            self.jobs = JobTable(JobFile(state / JOBS, uploaded=folder.files))
        else:
            self.files = SharedUploads(shared, state / COPIES)
            self.jobs = JobTable(shared)
        self.audit = AuditLog(state / AUDIT)
        self._state = state
        self._stored = stored
        self._said = ""
        self._ingest = ingest
        self._remove = remove
        self._limits = limits
        self._wake = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=copy_context().run, args=(self._run,), name="jobs", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """Look for jobs now."""
        self._wake.set()

    def stop(self, seconds: float) -> None:
        """Begin no further job, and wait up to `seconds` for the current one; a job cut off is done again later."""
        self._stopping.set()
        self._wake.set()
        self._thread.join(seconds)

    @property
    def is_moving(self) -> bool:
        """Whether the jobs and files of the state folder are still to be moved into the shared database."""
        return isinstance(self.files, SharedUploads) and (self._state / JOBS).exists()

    def _run(self) -> None:
        tidy_at = 0.0
        while not self._stopping.is_set():
            try:
                if isinstance(self.files, SharedUploads):
                    move_uploads(self._state / JOBS, self._state / FILES, self.jobs, self.files, self._stored)
                if time.monotonic() >= tidy_at:
                    tidy_at = time.monotonic() + self._limits.tidy
                    self._tidy()
                self.run_all()
                self._said = ""
            except JobsUnavailable as error:
                if str(error) != self._said:  # once, not with every look
                    self._said = str(error)
                    logs.log("jobs cannot be done", level=logging.WARNING, message=str(error), hint=error.hint)
                self._wake.wait(self._limits.away)
            except Exception:  # the next round may succeed; if the thread ended, nobody would notice
                logs.LOG.exception("jobs cannot be done")
                self._stopping.wait(self._limits.look)
            self._wake.wait(self._limits.look)
            self._wake.clear()

    def run_all(self) -> None:
        """Do all waiting jobs, unless another process is doing them."""
        if not self.jobs.waiting():
            return
        with self.jobs.alone() as is_ours:
            while is_ours and not self._stopping.is_set() and (jobs := self.jobs.claim()):
                self.files.clear()  # also of what a process that was killed has left
                self._do(jobs)
            if is_ours:
                self.files.clear()

    def _tidy(self) -> None:
        removed = self.files.tidy(lambda: {job.id for job in self.jobs.unfinished()}, older_than=self._limits.old)
        if removed:
            logs.log("removed what was left behind", files=removed)

    def _do(self, jobs: Sequence[WriteJob]) -> None:
        """Do jobs as one write; if that fails, do each by itself, so that one bad job does not fail the others."""
        if jobs[0].tries >= self._limits.tries:
            message = f"the service ended {jobs[0].tries} times while it did this"
            self._fail(jobs, ErrorDetailJson("cut-off", message, _SEE_LOG))
            return
        try:
            if jobs[0].kind == "delete":
                self._remove_documents(jobs)
            elif installed := self._install_files(jobs):
                self._ingest_files(installed)
        except _Stopped:
            self.jobs.release(jobs)
        except (sqlite3.Error, JobsUnavailable):
            raise  # the outcome could not be stored: the job will be done again
        except Exception as error:
            if len(jobs) > 1 and not isinstance(error, IndexBusy):
                for job in jobs:
                    if not self._is_finished(job):
                        self._do([job])
            else:
                self._fail(jobs, _logged(error))

    def _remove_documents(self, jobs: Sequence[WriteJob]) -> None:
        self.jobs.progress(jobs, step="removing", done=0, total=len(jobs))
        missing = self._retry_while_busy(jobs, lambda: self._remove([job.doc_id for job in jobs]))
        for job in jobs:
            notes, error = [], None
            is_uploaded = self.files.holds(job.doc_id)
            try:
                self.files.remove(job.doc_id)
            except OSError as fault:
                notes.append(f"its file could not be removed: {fault.strerror}")
            if not job.tries:  # an earlier try may have removed the document and its file already
                if job.doc_id in missing:
                    message = f"the index holds no document '{job.doc_id}'"
                    error = ErrorDetailJson("no-document", message, "GET /documents lists the ids.")
                elif not is_uploaded:
                    notes.append(_COMES_BACK)
            self._finish(job, error=error, notes=notes)

    def _install_files(self, jobs: Sequence[WriteJob]) -> list[WriteJob]:
        """Move the uploaded files to their final paths; return the jobs for which that worked, and fail the others."""
        installed = []
        for job in jobs:
            try:
                self.files.install(job.id, job.doc_id)
                installed.append(job)
            except HttpFault as fault:
                self._fail([job], fault.error)
        return installed

    def _ingest_files(self, jobs: Sequence[WriteJob]) -> None:
        doc_ids = [job.doc_id for job in jobs]
        report = self._retry_while_busy(jobs, lambda: self._ingest(doc_ids, self._progress(jobs)))
        refused = {file.path: file for file in report.refused}
        for job in jobs:
            if (file := refused.get(job.doc_id)) is not None:
                self._fail([job], ErrorDetailJson("unreadable-file", file.why, file.hint))
            else:
                self.files.confirm(job.id, job.doc_id)
                self._finish(job, error=None, notes=report.notes.get(job.doc_id, ()))

    def _retry_while_busy(self, jobs: Sequence[WriteJob], write: Callable[[], _Written]) -> _Written:
        until = time.monotonic() + self._limits.busy
        while True:
            try:
                return write()
            except IndexBusy:
                if self._stopping.is_set():
                    raise _Stopped from None
                if time.monotonic() > until:
                    raise
            self.jobs.progress(jobs, step="waiting for another writer", done=0, total=0)
            self._stopping.wait(self._limits.look)

    def _progress(self, jobs: Sequence[WriteJob]) -> Progress:
        """Return a callback that stores the progress at most twice a second."""
        stored_at = 0.0

        def progress(what: str, done: int, total: int) -> None:
            nonlocal stored_at
            if done == total or time.monotonic() - stored_at > 0.5:
                stored_at = time.monotonic()
                # A file that cannot be written is no reason to give up. A database that is lost is one: then another
                # machine may have taken over, and must not find an older write published after its own.
                with suppress(sqlite3.Error):
                    self.jobs.progress(jobs, step=what, done=done, total=total)

        return progress

    def _is_finished(self, job: WriteJob) -> bool:
        stored = self.jobs.get(job.id)
        return stored is None or stored.finished is not None

    def _fail(self, jobs: Sequence[WriteJob], error: ErrorDetailJson) -> None:
        for job in jobs:
            if self._is_finished(job):
                continue
            if job.kind == "put":
                self.files.restore(job.id, job.doc_id)
            self._finish(job, error=error, notes=())

    def _finish(self, job: WriteJob, *, error: ErrorDetailJson | None, notes: Sequence[str]) -> None:
        self.jobs.finish(job, error=error, notes=notes)
        state = "failed" if error else "done"
        why = to_json(error) if error else None
        telemetry.JOBS.labels(job.kind, state).inc()
        level = logging.WARNING if error else logging.INFO
        logs.log("job", level=level, job=job.id, kind=job.kind, doc_id=job.doc_id, state=state, error=why)
        # The job has ended, whatever goes wrong from here on; `_tidy` removes files that are left over.
        with suppress(OSError, JobsUnavailable):
            self.files.settle(job.id)
        try:
            self.audit.record(action=job.kind, doc_id=job.doc_id, job=job.id, outcome=state, error=why)
        except OSError:
            logs.LOG.exception("how a job ended could not be written down")


class _Stopped(Exception):
    """The service stops while a job waits for another writer."""


def _logged(error: Exception) -> ErrorDetailJson:
    """Log why jobs failed; return what clients may know of it."""
    if isinstance(error, QuothError):
        logs.log("a job failed", message=str(error), hint=error.hint)
        return client_error(error)
    logs.LOG.exception("a job failed")
    if isinstance(error, OSError):
        hint = "Ask the operator of the service to make room."
        return ErrorDetailJson("no-room", f"the file cannot be kept: {error.strerror}", hint)
    return ErrorDetailJson("internal", "something went wrong", _SEE_LOG)
