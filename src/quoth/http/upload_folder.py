"""The folder of uploaded files, which the service ingests as a corpus. No document id leads out of it.

An upload waits in `.incoming` under the id of its job. `install` copies it to the path of its document, and the file
that was there to `.previous`; `restore` brings that file back if the job fails. Both copies stay until the job is
finished, so that it can be begun again at any point.
"""

from __future__ import annotations

import os
import shutil
import time
import unicodedata
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import yaml

from quoth.documents.files import root_name
from quoth.documents.formats.recognition import FORMATS
from quoth.domain.manifest import BESIDE
from quoth.http.http_faults import HttpFault
from quoth.machine import sync
from quoth.types import StoredDocument

_MOST_NAME_BYTES = 200
_MOST_ID_BYTES = 1_000
_RESERVED = frozenset({"corpus.yaml", "questions.jsonl"})
_VIEWS = frozenset({"text", "original", "span", "pages"})
"""Words that may follow a document's id in a URL, so that no id may end with them."""


def checked_id(doc_id: str) -> str:
    """Return `doc_id` if it names a readable file inside the folder; raise `HttpFault` if not."""
    names = doc_id.split("/")
    if len(doc_id.encode("utf-8", "replace")) > _MOST_ID_BYTES or any(map(_is_bad_name, names)):
        hint = "Use a relative path such as guides/canola.md: no '..', no hidden or empty parts, no control characters."
        raise HttpFault(422, "document-id", "this cannot be the id of a document", hint=hint)
    if names[-1] in _RESERVED or names[-1].endswith(BESIDE) or names[-1] in _VIEWS:
        raise HttpFault(422, "document-id", f"'{names[-1]}' means something else here", hint="Choose another name.")
    if Path(names[-1]).suffix.lower() not in FORMATS:
        hint = f"Readable are: {', '.join(FORMATS)}"
        raise HttpFault(415, "document-kind", "the name does not end like a file that can be read", hint=hint)
    return doc_id


def _is_bad_name(name: str) -> bool:
    return (
        not name
        or name.startswith(".")
        or name != name.strip()
        or "\\" in name
        or "\N{REPLACEMENT CHARACTER}" in name  # it stands for undecodable bytes: different names could become one
        or len(name.encode("utf-8", "replace")) > _MOST_NAME_BYTES
        or any(unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} for character in name)
    )


def in_the_way(doc_id: str) -> HttpFault:
    message = f"a document, a folder or a link is in the way of '{doc_id}'"
    return HttpFault(409, "document-id", message, hint="Choose another id.")


def upload_lost() -> HttpFault:
    return HttpFault(410, "upload-lost", "the file that was uploaded is gone", hint="Upload it again.")


def yaml_fields(fields: Mapping[str, Any]) -> str:
    """Return metadata as it stands in the file beside a document."""
    return yaml.safe_dump(dict(fields), allow_unicode=True)


class UploadedFiles(Protocol):
    """Uploaded files: those that wait for their job, and one for each document whose job is done.

    Every method may be repeated after a crash in the middle of it.
    """

    path: Path
    """The folder that files are ingested from."""
    root: Path | None
    """What the index names as their folder; None for `path`."""

    def incoming(self, job_id: str) -> Path:
        """Return the path that an upload is received at."""

    def keep(self, job_id: str, doc_id: str, sha256: str) -> None:
        """Take up an upload that was received, until its job is finished."""

    def describe(self, job_id: str, fields: Mapping[str, Any]) -> None:
        """Store the metadata of an upload, if there is any."""

    def waiting(self, job_id: str) -> tuple[bytes, Mapping[str, Any]] | None:
        """Return an upload whose job is not finished, with its metadata; None if there is no such upload any more."""

    def install(self, job_id: str, doc_id: str) -> None:
        """Copy an upload to its document's path below `path`; raise `HttpFault` if it cannot be."""

    def confirm(self, job_id: str, doc_id: str) -> None:
        """Make an installed upload the file of its document, now that the index holds it."""

    def restore(self, job_id: str, doc_id: str) -> None:
        """Bring back the file that was there before an upload that was refused."""

    def settle(self, job_id: str) -> None:
        """Delete the copies of an upload and of the file before it, once the job is finished or was not accepted."""

    def remove(self, doc_id: str) -> None:
        """Delete a document's file and metadata, if they exist."""

    def holds(self, doc_id: str) -> bool:
        """Return whether there is an uploaded file of that id."""

    def owns(self, doc_id: str, stored: StoredDocument) -> bool:
        """Return whether a document of the index is an upload, and not from another folder."""

    def fits(self, doc_id: str) -> bool:
        """Return whether a file can have this id: its path is no folder, and all above it are folders inside ours."""

    def clear(self) -> None:
        """Delete copies that were made to be ingested."""

    def tidy(self, unfinished: Callable[[], Collection[str]], *, older_than: float) -> int:
        """Delete files that crashes left behind and that no unfinished job needs; return how many there were.

        An upload that is being received has no job yet, so files written to in the last `older_than` seconds stay.
        """


class UploadFolder:
    """Uploaded files of one machine. See `UploadedFiles`."""

    root: Path | None = None

    def __init__(self, path: Path) -> None:
        self.path = path
        self._incoming = path / ".incoming"
        self._previous = path / ".previous"
        for folder in (path, self._incoming, self._previous):
            folder.mkdir(parents=True, exist_ok=True)

    def incoming(self, job_id: str) -> Path:
        """Return the path of an upload until its job is finished."""
        return self._incoming / job_id

    def keep(self, job_id: str, doc_id: str, sha256: str) -> None:
        """Do nothing: the file is here."""

    def describe(self, job_id: str, fields: Mapping[str, Any]) -> None:
        if fields:
            with _beside(self.incoming(job_id)).open("wb") as file:
                file.write(yaml_fields(fields).encode("utf-8"))
                file.flush()
                os.fsync(file.fileno())
        sync(self._incoming)

    def waiting(self, job_id: str) -> tuple[bytes, Mapping[str, Any]] | None:
        try:
            return _with_fields(self.incoming(job_id))
        except FileNotFoundError:
            return None

    def installed(self, doc_id: str) -> tuple[bytes, Mapping[str, Any]]:
        """Return the file of a document, with its metadata."""
        return _with_fields(self._target(doc_id))

    def install(self, job_id: str, doc_id: str) -> None:
        incoming, target, previous = self.incoming(job_id), self._target(doc_id), self._previous / job_id
        if not incoming.exists():
            raise upload_lost()
        if not self.fits(doc_id):
            raise in_the_way(doc_id)
        target.parent.mkdir(parents=True, exist_ok=True)
        if not self._marker(job_id).exists():  # otherwise the target may already be the new file
            self._copy(target, previous, job_id)
            self._marker(job_id).touch()
            sync(self._previous)
        self._copy(incoming, target, job_id)
        sync(target.parent)

    def confirm(self, job_id: str, doc_id: str) -> None:
        """Do nothing: the file is in its place."""

    def restore(self, job_id: str, doc_id: str) -> None:
        if self._marker(job_id).exists():
            target, previous = self._target(doc_id), self._previous / job_id
            if target.parent.is_dir():
                self._copy(previous, target, job_id)
                sync(target.parent)
                self._remove_empty_folders(target.parent)

    def settle(self, job_id: str) -> None:
        incoming, previous = self.incoming(job_id), self._previous / job_id
        copies = (previous, _beside(previous), incoming, _beside(incoming), self._temporary(job_id))
        for path in (self._marker(job_id), *copies):
            path.unlink(missing_ok=True)

    def remove(self, doc_id: str) -> None:
        try:
            target = self._target(doc_id)
        except HttpFault:
            return  # the document came from another folder, and no upload can have its id
        if target.parent.is_dir() and self._is_inside(target.parent):
            target.unlink(missing_ok=True)
            _beside(target).unlink(missing_ok=True)
            self._remove_empty_folders(target.parent)

    def holds(self, doc_id: str) -> bool:
        try:
            target = self._target(doc_id)
        except HttpFault:
            return False  # no upload can have this id
        return target.is_file() and not target.is_symlink()

    def owns(self, doc_id: str, stored: StoredDocument) -> bool:
        # If this folder was moved, the index still names the old one, where the file is no more.
        is_moved = not Path(stored.root, doc_id).exists() and self.holds(doc_id)
        return stored.root == root_name(self.path) or is_moved

    def files(self) -> Iterator[tuple[str, int]]:
        """Yield the id and the size in bytes of every document in the folder."""
        for path in sorted(self.path.rglob("*")):
            doc_id = path.relative_to(self.path).as_posix()
            if not doc_id.startswith(".") and not path.name.endswith(BESIDE) and self.holds(doc_id):
                yield doc_id, path.stat().st_size

    def fits(self, doc_id: str) -> bool:
        target = self._target(doc_id)
        if target.is_dir() and not target.is_symlink():
            return False
        above = [folder for folder in target.parents if folder != self.path and folder.is_relative_to(self.path)]
        existing = [folder for folder in above if folder.exists() or folder.is_symlink()]
        return all(folder.is_dir() and self._is_inside(folder) for folder in existing)

    def clear(self) -> None:
        """Do nothing: the files stay here."""

    def tidy(self, unfinished: Callable[[], Collection[str]], *, older_than: float) -> int:
        # The files are listed before the jobs: a job that is added in between still keeps its files.
        latest = time.time() - older_than
        files = [*self._incoming.iterdir(), *self._previous.iterdir()]
        old = [path for path in files if _written_at(path) < latest]
        needed = set(unfinished())
        leftover = [path for path in old if path.name.partition(".")[0] not in needed]
        for path in leftover:
            path.unlink(missing_ok=True)
        return len(leftover)

    def _copy(self, source: Path, target: Path, job_id: str) -> None:
        """Replace the metadata of `target`, then the file, each in one step; delete what `source` does not have.

        Both become hard links to one file if possible: no file in here is written to again.
        """
        temporary = self._temporary(job_id)
        for old, new in ((_beside(source), _beside(target)), (source, target)):
            temporary.unlink(missing_ok=True)
            try:
                _link_or_copy(old, temporary)
            except FileNotFoundError:
                new.unlink(missing_ok=True)
            else:
                temporary.replace(new)
        temporary.unlink(missing_ok=True)  # a rename does nothing if both are links to one file

    def _target(self, doc_id: str) -> Path:
        return self.path.joinpath(*checked_id(doc_id).split("/"))

    def _is_inside(self, folder: Path) -> bool:
        """Return whether a folder is really inside ours, and not reached through a symbolic link."""
        return Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(self.path))

    def _remove_empty_folders(self, folder: Path) -> None:
        """Remove `folder` and those above it while they are empty."""
        with suppress(OSError):
            while folder != self.path:
                folder.rmdir()
                folder = folder.parent

    def _marker(self, job_id: str) -> Path:
        """Return the file that marks the copies in `.previous` as complete."""
        return self._previous / f"{job_id}.kept"

    def _temporary(self, job_id: str) -> Path:
        return self._incoming / f"{job_id}.aside"


def _beside(path: Path) -> Path:
    """Return the path of a file's metadata."""
    return path.with_name(path.name + BESIDE)


def _with_fields(path: Path) -> tuple[bytes, Mapping[str, Any]]:
    beside = _beside(path)
    return path.read_bytes(), (yaml.safe_load(beside.read_bytes()) or {}) if beside.exists() else {}


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:  # not every file system has hard links
        shutil.copyfile(source, target, follow_symlinks=False)
        if not target.is_symlink():
            with target.open("rb") as file:
                os.fsync(file.fileno())


def _written_at(path: Path) -> float:
    """Return when a file was last written, in seconds since 1970; infinity if it is gone."""
    try:
        return path.lstat().st_mtime
    except FileNotFoundError:
        return float("inf")
