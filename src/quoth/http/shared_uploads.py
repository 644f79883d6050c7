"""Uploaded files in the database of the index, for every machine that serves it.

A file stands there in chunks, under the id of the job that brought it, from before its job is accepted. When the job is
done it is the installed file of its document, in place of the one before. Until then both are there, so that whichever
of them the index has can be given out. Only the worker copies files to its machine, to ingest them from a folder.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from quoth.documents.files import UPLOADED
from quoth.http.upload_folder import UploadFolder, checked_id, in_the_way, upload_lost, yaml_fields
from quoth.protocols import JobDatabase, Statements
from quoth.types import StoredDocument

_CHUNK = 2**20
_OF_NO_JOB = "NOT EXISTS (SELECT 1 FROM jobs WHERE jobs.id = upload_files.job AND finished IS NULL)"


class SharedContent:
    """What uploaded files hold."""

    def __init__(self, database: JobDatabase) -> None:
        self._database = database

    def has(self, doc_id: str, sha256: str) -> bool:
        """Return whether there is an uploaded file of these bytes for the document, even if its job is not finished."""
        return self._any("doc_id = ? AND sha256 = ?", doc_id, sha256)

    def content(self, doc_id: str, sha256: str) -> bytes | None:
        """Return the bytes of an uploaded file; None if there is none of this hash."""
        with self._database.transaction() as run:
            for (job_id,) in run.execute(
                "SELECT job FROM upload_files WHERE doc_id = ? AND sha256 = ?", (doc_id, sha256)
            ):
                data = b"".join(_chunks(run, job_id))
                if hashlib.sha256(data).hexdigest() == sha256:
                    return data
        return None

    def _any(self, condition: str, *values: object) -> bool:
        with self._database.transaction() as run:
            return bool(run.execute(f"SELECT 1 FROM upload_files WHERE {condition} LIMIT 1", values))  # noqa: S608


class SharedUploads(SharedContent):
    """See `UploadedFiles`. `folder` is where this machine receives files and copies those that it ingests."""

    root: Path | None = UPLOADED

    def __init__(self, database: JobDatabase, folder: Path) -> None:
        super().__init__(database)
        self._copies = UploadFolder(folder)
        self.path = self._copies.path

    def incoming(self, job_id: str) -> Path:
        return self._copies.incoming(job_id)

    def keep(self, job_id: str, doc_id: str, sha256: str) -> None:
        path = self.incoming(job_id)
        with self._database.transaction() as run, path.open("rb") as file:
            for ordinal, chunk in enumerate(iter(lambda: file.read(_CHUNK), b"")):
                run.execute("INSERT INTO upload_chunks (job, ordinal, data) VALUES (?, ?, ?)", (job_id, ordinal, chunk))
            run.execute(
                "INSERT INTO upload_files (job, doc_id, sha256, received) VALUES (?, ?, ?, ?)",
                (job_id, doc_id, sha256, _now().isoformat()),
            )
        path.unlink()

    def describe(self, job_id: str, fields: Mapping[str, Any]) -> None:
        if fields:
            with self._database.transaction() as run:
                run.execute("UPDATE upload_files SET fields = ? WHERE job = ?", (yaml_fields(fields), job_id))

    def waiting(self, job_id: str) -> tuple[bytes, Mapping[str, Any]] | None:
        with self._database.transaction() as run:
            found = run.execute("SELECT fields FROM upload_files WHERE job = ?", (job_id,))
            if not found:
                return None
            return b"".join(_chunks(run, job_id)), yaml.safe_load(found[0][0]) or {}

    def install(self, job_id: str, doc_id: str) -> None:
        if not self.fits(doc_id):
            raise in_the_way(doc_id)
        digest, path = hashlib.sha256(), self.incoming(job_id)
        with self._database.transaction() as run:
            found = run.execute("SELECT sha256, fields FROM upload_files WHERE job = ?", (job_id,))
            with path.open("wb") as file:
                for chunk in _chunks(run, job_id):
                    digest.update(chunk)
                    file.write(chunk)
        if not found or digest.hexdigest() != found[0][0]:
            raise upload_lost()
        self._copies.describe(job_id, yaml.safe_load(found[0][1]) or {})
        self._copies.install(job_id, doc_id)

    def confirm(self, job_id: str, doc_id: str) -> None:
        with self._database.transaction() as run:
            run.execute("DELETE FROM upload_files WHERE doc_id = ? AND installed AND job <> ?", (doc_id, job_id))
            run.execute("UPDATE upload_files SET installed = true WHERE job = ?", (job_id,))

    def restore(self, job_id: str, doc_id: str) -> None:
        """Do nothing: the file before is still the installed one."""

    def settle(self, job_id: str) -> None:
        self._copies.settle(job_id)
        with self._database.transaction() as run:
            run.execute(f"DELETE FROM upload_files WHERE job = ? AND NOT installed AND {_OF_NO_JOB}", (job_id,))  # noqa: S608

    def remove(self, doc_id: str) -> None:
        with self._database.transaction() as run:
            run.execute("DELETE FROM upload_files WHERE doc_id = ? AND installed", (doc_id,))

    def holds(self, doc_id: str) -> bool:
        return self._any("doc_id = ? AND installed", doc_id)

    def owns(self, doc_id: str, stored: StoredDocument) -> bool:
        return stored.root == str(UPLOADED) or self.has(doc_id, stored.source_sha256)

    def fits(self, doc_id: str) -> bool:
        """Return whether no file is where this one needs a folder, and the other way round, as in a folder."""
        above = [str(parent) for parent in PurePosixPath(checked_id(doc_id)).parents]
        marks, below = ", ".join("?" * len(above)), f"{doc_id}/"
        condition = f"installed AND (doc_id IN ({marks}) OR substr(doc_id, 1, ?) = ?)"
        return not self._any(condition, *above, len(below), below)

    def clear(self) -> None:
        for path in self.path.iterdir():
            if path.name.startswith("."):
                continue  # others are received here
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()

    def tidy(self, unfinished: Callable[[], Collection[str]], *, older_than: float) -> int:
        latest = (_now() - timedelta(seconds=older_than)).isoformat()
        with self._database.transaction() as run:
            left = run.execute(
                f"DELETE FROM upload_files WHERE received < ? AND NOT installed AND {_OF_NO_JOB} RETURNING job",  # noqa: S608
                (latest,),
            )
        return len(left) + self._copies.tidy(unfinished, older_than=older_than)


def _chunks(run: Statements, job_id: str) -> Iterator[bytes]:
    """Yield the chunks of a file one by one, so that no more than one of them is in memory."""
    ordinal = 0
    while found := run.execute("SELECT data FROM upload_chunks WHERE job = ? AND ordinal = ?", (job_id, ordinal)):
        yield found[0][0]
        ordinal += 1


def _now() -> datetime:
    return datetime.now(UTC)
