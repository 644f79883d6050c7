"""Move the jobs and files of one machine into the database that several machines share."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any

from quoth.http import logs
from quoth.http.job_file import JobFile
from quoth.http.jobs import JobTable
from quoth.http.shared_uploads import SharedUploads
from quoth.http.upload_folder import UploadFolder
from quoth.types import StoredDocument

_ALL = 10**9


def move_uploads(
    jobs_file: Path,
    folder: Path,
    jobs: JobTable,
    files: SharedUploads,
    stored: Callable[[], Mapping[str, StoredDocument]],
) -> None:
    """Move what a service has kept in its state folder, if there is any. It may be repeated after a crash.

    Files that are not what the index holds stay behind: they came from elsewhere, or another machine has replaced them.
    The old file and folder are renamed at the end, and may be deleted then.
    """
    if not jobs_file.exists():
        return
    old_files = UploadFolder(folder)
    old_jobs = JobTable(JobFile(jobs_file, uploaded=old_files.files))
    with old_jobs.alone() as is_ours:
        if not is_ours or not jobs_file.exists():
            return  # another process is at it, or was
        unfinished = {job.id for job in old_jobs.unfinished()}
        for job in old_jobs.unfinished():
            old_files.restore(job.id, job.doc_id)  # the index may not hold the new file yet
        moved = _move_files(old_jobs, old_files, jobs, files, stored())
        for job in reversed(old_jobs.recent(_ALL)):
            if job.id in unfinished and jobs.get(job.id) is None and (upload := old_files.waiting(job.id)):
                _add(files, job.id, job.doc_id, *upload)
            jobs.take(job)
        left = len(list(old_files.files())) - moved
        logs.log("uploads were moved into the database", jobs=len(unfinished), files=moved, left_behind=left)
        for path in (folder, jobs_file):
            path.rename(next(name for name in _names(path) if not name.exists()))


def _move_files(
    old_jobs: JobTable,
    old_files: UploadFolder,
    jobs: JobTable,
    files: SharedUploads,
    stored: Mapping[str, StoredDocument],
) -> int:
    """Move the files of documents that the index holds; return how many there are."""
    owners = {doc_id: (owner, size) for doc_id, owner, size in old_jobs.uploads()}
    moved = 0
    for doc_id, size in old_files.files():
        data, fields = old_files.installed(doc_id)
        sha256 = hashlib.sha256(data).hexdigest()
        if doc_id in stored and stored[doc_id].source_sha256 == sha256:
            moved += 1
            job_id = hashlib.sha256(f"{doc_id} {sha256}".encode()).hexdigest()[:24]  # the same after a crash
            _add(files, job_id, doc_id, data, fields)
            files.confirm(job_id, doc_id)
            jobs.count_upload(doc_id, *owners.get(doc_id, (None, size)))
    return moved


def _add(files: SharedUploads, job_id: str, doc_id: str, data: bytes, fields: Mapping[str, Any]) -> None:
    if files.waiting(job_id) is None:  # otherwise a crash came behind this
        files.incoming(job_id).write_bytes(data)
        files.keep(job_id, doc_id, hashlib.sha256(data).hexdigest())
    files.describe(job_id, fields)


def _names(path: Path) -> Iterator[Path]:
    """Yield names for what was moved: `files.moved`, `files.moved.2`, …"""
    yield path.with_name(f"{path.name}.moved")
    for number in count(2):
        yield path.with_name(f"{path.name}.moved.{number}")
