"""Where uploaded files are kept: a corpus folder of the service's own. No name leads out of it.

An upload waits in `.incoming` under the id of its job. When the job is done its file has taken its place in the folder,
and what was there before is gone; when it fails, what was there before is back.
"""

from __future__ import annotations

import os
import shutil
import unicodedata
from collections.abc import Mapping
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
        or len(part.encode("utf-8", "replace")) > _LONGEST_PART
        or any(unicodedata.category(character) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} for character in part)
    )


class Library:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._incoming = folder / ".incoming"
        self._previous = folder / ".previous"
        for one in (folder, self._incoming, self._previous):
            one.mkdir(parents=True, exist_ok=True)

    def incoming(self, job_id: str) -> Path:
        """Where the bytes of an upload go until its job is done."""
        return self._incoming / job_id

    def describe(self, job_id: str, fields: Mapping[str, Any]) -> None:
        """Keep what was said about an upload, beside it; nothing where nothing was said."""
        if fields:
            self._beside(self.incoming(job_id)).write_text(yaml.safe_dump(dict(fields), allow_unicode=True), "utf-8")

    def drop(self, job_id: str) -> None:
        """Forget an upload that is not to be taken."""
        for path in (self.incoming(job_id), self._beside(self.incoming(job_id))):
            path.unlink(missing_ok=True)

    def install(self, job_id: str, doc_id: str) -> None:
        """Put an upload in its place, and keep what was there. Doing so again, after a crash, changes nothing."""
        place, kept = self._place(doc_id), self._previous / job_id
        place.parent.mkdir(parents=True, exist_ok=True)
        self._inside(place.parent)
        if not self._marker(job_id).exists():  # later the place may hold the new file already
            for source, target in ((place, kept), (self._beside(place), self._beside(kept))):
                target.unlink(missing_ok=True)
                with suppress(FileNotFoundError):
                    shutil.copyfile(source, target)
            self._marker(job_id).touch()
        self._beside(place).unlink(missing_ok=True)
        with suppress(FileNotFoundError):
            shutil.copyfile(self._beside(self.incoming(job_id)), self._beside(place))
        with suppress(FileNotFoundError):  # it was installed before
            self.incoming(job_id).replace(place)

    def settle(self, job_id: str) -> None:
        """The upload stays: what was there before is not needed any more."""
        kept = self._previous / job_id
        for path in (self._marker(job_id), kept, self._beside(kept)):
            path.unlink(missing_ok=True)
        self.drop(job_id)

    def restore(self, job_id: str, doc_id: str) -> None:
        """The upload was refused: what was there before is back."""
        if self._marker(job_id).exists():
            place, kept = self._place(doc_id), self._previous / job_id
            for path, before in ((place, kept), (self._beside(place), self._beside(kept))):
                path.unlink(missing_ok=True)
                with suppress(FileNotFoundError):
                    before.replace(path)
            self._tidy(place.parent)
        self.settle(job_id)

    def remove(self, doc_id: str) -> None:
        """Remove a document's file; nothing happens where there is none."""
        place = self._place(doc_id)
        if place.parent.is_dir():
            self._inside(place.parent)
            place.unlink(missing_ok=True)
            self._beside(place).unlink(missing_ok=True)
            self._tidy(place.parent)

    def fits(self, doc_id: str) -> bool:
        """Whether a file can be at this place: nothing above it is a file, and it is no folder."""
        place = self._place(doc_id)
        above = [one for one in place.parents if one.is_relative_to(self.folder)]
        return not place.is_dir() and not any(one.exists() and not one.is_dir() for one in above)

    def _place(self, doc_id: str) -> Path:
        return self.folder.joinpath(*checked_id(doc_id).split("/"))

    def _inside(self, folder: Path) -> None:
        """Somebody else may have put a link here; through it nothing is written."""
        if not Path(os.path.realpath(folder)).is_relative_to(os.path.realpath(self.folder)):
            hint = "Ask the operator of the service to remove the link."
            raise HttpFault(409, "document-id", "a link leads out of the folder of uploads", hint=hint)

    def _tidy(self, folder: Path) -> None:
        """Remove the folders that are empty now."""
        with suppress(OSError):
            while folder != self.folder:
                folder.rmdir()
                folder = folder.parent

    def _marker(self, job_id: str) -> Path:
        """Says that what was at the place of an upload is safe."""
        return self._previous / f"{job_id}.kept"

    @staticmethod
    def _beside(path: Path) -> Path:
        return path.with_name(path.name + BESIDE)
