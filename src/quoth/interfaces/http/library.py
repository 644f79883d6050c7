"""Where uploaded files are kept: a corpus folder of the service's own. No name leads out of it.

An upload waits in `.incoming` under the id of its job. When the job is done its file has taken its place in the folder,
and what was there before is gone; when it fails, what was there before is back. Until the job is finished both stay, in
`.incoming` and `.previous`, so that it can be begun again at any point.
"""

from __future__ import annotations

import os
import shutil
import time
import unicodedata
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from quoth.corpus.kinds import FORMATS
from quoth.corpus.manifest import BESIDE
from quoth.interfaces.http.faults import HttpFault

_LONGEST_PART = 200
_LONGEST = 1_000
_RESERVED = frozenset({"corpus.yaml", "questions.jsonl"})
_VIEWS = frozenset({"text", "original", "span", "pages"})
"""What can follow a document's id in an address, so that no document may be called so."""


def checked_id(doc_id: str) -> str:
    """An id that names a file inside the folder, whatever it is given; `HttpFault` for any other."""
    parts = doc_id.split("/")
    if len(doc_id.encode("utf-8", "replace")) > _LONGEST or any(_wrong(part) for part in parts):
        hint = "Use a relative path such as guides/canola.md: no '..', no hidden or empty parts, no control characters."
        raise HttpFault(422, "document-id", "this cannot be the id of a document", hint=hint)
    if parts[-1] in _RESERVED or parts[-1].endswith(BESIDE) or parts[-1] in _VIEWS:
        raise HttpFault(422, "document-id", f"'{parts[-1]}' means something else here", hint="Choose another name.")
    if Path(parts[-1]).suffix.lower() not in FORMATS:
        hint = f"Readable are: {', '.join(FORMATS)}"
        raise HttpFault(415, "document-kind", "the name does not end like a file that can be read", hint=hint)
    return doc_id


def _wrong(part: str) -> bool:
    return (
        not part
        or part.startswith(".")
        or part != part.strip()
        or "\\" in part
        or "\N{REPLACEMENT CHARACTER}" in part  # what stands for bytes that were no text: any two would be one
        or len(part.encode("utf-8", "replace")) > _LONGEST_PART
        or any(unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} for character in part)
    )


class Library:
    """Every step may be cut off by a crash and done again: it changes nothing that it changed before."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._incoming = folder / ".incoming"
        self._previous = folder / ".previous"
        for one in (folder, self._incoming, self._previous):
            one.mkdir(parents=True, exist_ok=True)

    def incoming(self, job_id: str) -> Path:
        """Where the bytes of an upload stay until its job is done."""
        return self._incoming / job_id

    def describe(self, job_id: str, fields: Mapping[str, Any]) -> None:
        """Keep what was said about an upload, beside it; nothing where nothing was said."""
        if fields:
            told = yaml.safe_dump(dict(fields), allow_unicode=True).encode("utf-8")
            _write(self._beside(self.incoming(job_id)), told)
        _settle_names(self._incoming)

    def drop(self, job_id: str) -> None:
        """Forget an upload that is not to be taken."""
        for path in (self.incoming(job_id), self._beside(self.incoming(job_id)), self._aside(job_id)):
            path.unlink(missing_ok=True)

    def install(self, job_id: str, doc_id: str) -> None:
        """Put an upload in its place, and keep what was there. `HttpFault` when it cannot be there."""
        place, kept = self._place(doc_id), self._previous / job_id
        if not self.incoming(job_id).exists():
            raise HttpFault(410, "upload-lost", "the file that was uploaded is gone", hint="Upload it again.")
        if not self.fits(doc_id):
            raise in_the_way(doc_id)
        place.parent.mkdir(parents=True, exist_ok=True)
        if not self._marker(job_id).exists():  # later the place may hold the new file already
            for source, target in ((place, kept), (self._beside(place), self._beside(kept))):
                self._copy(source, target, job_id)
            self._marker(job_id).touch()
            _settle_names(self._previous)
        self._copy(self._beside(self.incoming(job_id)), self._beside(place), job_id)
        self._copy(self.incoming(job_id), place, job_id)
        _settle_names(place.parent)

    def restore(self, job_id: str, doc_id: str) -> None:
        """The upload was refused: what was there before is back."""
        if self._marker(job_id).exists():
            place, kept = self._place(doc_id), self._previous / job_id
            if place.parent.is_dir():
                self._copy(self._beside(kept), self._beside(place), job_id)
                self._copy(kept, place, job_id)
                _settle_names(place.parent)
                self._tidy_folders(place.parent)

    def settle(self, job_id: str) -> None:
        """The job is finished: neither the upload nor what was there before is needed any more."""
        kept = self._previous / job_id
        for path in (self._marker(job_id), kept, self._beside(kept)):
            path.unlink(missing_ok=True)
        self.drop(job_id)

    def remove(self, doc_id: str) -> None:
        """Remove a document's file; nothing happens where there is none."""
        try:
            place = self._place(doc_id)
        except HttpFault:
            return  # a document of another folder may have a name that no upload can have
        if place.parent.is_dir() and self._is_inside(place.parent):
            place.unlink(missing_ok=True)
            self._beside(place).unlink(missing_ok=True)
            self._tidy_folders(place.parent)

    def holds(self, doc_id: str) -> bool:
        """Whether there is a file of that id here."""
        place = self._place(doc_id)
        return place.is_file() and not place.is_symlink()

    def fits(self, doc_id: str) -> bool:
        """Whether a file can be at this place: nothing above it is a file or leads elsewhere, and it is no folder."""
        place = self._place(doc_id)
        above = [one for one in place.parents if one != self.folder and one.is_relative_to(self.folder)]
        there = [one for one in above if one.exists() or one.is_symlink()]
        return not (place.is_dir() and not place.is_symlink()) and all(
            one.is_dir() and self._is_inside(one) for one in there
        )

    def tidy(self, to_do: Callable[[], Collection[str]], *, older_than: float) -> int:
        """Remove what crashes left behind: files of no job that is to do. Gives how many they were.

        An upload that is just being received has no job yet, so only files count that nobody has written to for
        `older_than` seconds. They are listed before the jobs: else one that comes in between would seem to have none.
        """
        latest = time.time() - older_than
        found = [one for folder in (self._incoming, self._previous) for one in folder.iterdir() if _age(one) < latest]
        needed = set(to_do())
        leftover = [one for one in found if one.name.partition(".")[0] not in needed]
        for path in leftover:
            path.unlink(missing_ok=True)
        return len(leftover)

    def _copy(self, source: Path, target: Path, job_id: str) -> None:
        """Make `target` what `source` is, all at once; where there is no source, there is no target either.

        Both share their bytes where the file system can do that: no file in here is ever written to again.
        """
        aside = self._aside(job_id)
        aside.unlink(missing_ok=True)
        try:
            _double(source, aside)
        except FileNotFoundError:
            target.unlink(missing_ok=True)
            return
        aside.replace(target)
        aside.unlink(missing_ok=True)  # two names of one file are not renamed into each other

    def _place(self, doc_id: str) -> Path:
        return self.folder.joinpath(*checked_id(doc_id).split("/"))

    def _is_inside(self, folder: Path) -> bool:
        """Somebody else may have put a link here; through it nothing is written."""
        return Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(self.folder))

    def _tidy_folders(self, folder: Path) -> None:
        """Remove the folders that are empty now."""
        with suppress(OSError):
            while folder != self.folder:
                folder.rmdir()
                folder = folder.parent

    def _marker(self, job_id: str) -> Path:
        """Says that what was at the place of an upload is safe."""
        return self._previous / f"{job_id}.kept"

    def _aside(self, job_id: str) -> Path:
        return self._incoming / f"{job_id}.aside"

    @staticmethod
    def _beside(path: Path) -> Path:
        return path.with_name(path.name + BESIDE)


def in_the_way(doc_id: str) -> HttpFault:
    said = f"a document, a folder or a link is in the way of '{doc_id}'"
    return HttpFault(409, "document-id", said, hint="Choose another id.")


def _write(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _double(source: Path, target: Path) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:  # not every file system knows second names
        shutil.copyfile(source, target, follow_symlinks=False)
        if not target.is_symlink():
            with target.open("rb") as file:
                os.fsync(file.fileno())


def _settle_names(folder: Path) -> None:
    """Have the names in a folder on the disk, too, before anybody relies on them."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _age(path: Path) -> float:
    """When it was written last; never, for one that is gone."""
    try:
        return path.lstat().st_mtime
    except FileNotFoundError:
        return float("inf")
