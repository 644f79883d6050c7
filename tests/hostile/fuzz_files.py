"""The doors that take files: every format, and archives."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

from fuzz_door import MEMORY_MB, SECONDS, Tried, limited
from fuzz_inputs import make, spoiled
from fuzz_seeds import FORMATS, seeds_of
from invariants import broken
from quoth.documents.files import SourceFile
from quoth.documents.worker.pool import Extraction
from quoth.documents.worker.process import pack
from quoth.domain.profile import load_profile
from quoth.errors import UnreadableFile
from quoth.settings import IngestSettings

_ENDINGS = {"markdown": "md", "text": "txt", "asciidoc": "adoc", "latex": "tex"}
_ACCIDENTS = ("it cannot be read: ", "it crashed", "reading it took", "it needs more memory", "it is nested too deeply")
_PROFILE = load_profile("general")
LIMITS = IngestSettings(seconds=SECONDS, memory_mb=MEMORY_MB, workers=1)


def ending(form: str) -> str:
    return _ENDINGS.get(form, form)


def _refused(error: UnreadableFile, name: str) -> tuple[str, ...]:
    """What is wrong with a refusal: an accident, or no hint."""
    text = str(error).removeprefix(f"{name}: ")
    if any(accident in text for accident in _ACCIDENTS):
        return (text,)
    return () if error.hint else (f"refused without a hint: {text}",)


class FileDoor:
    """The extractor of a format, in its worker process, and the splitter behind it."""

    share = 1

    def __init__(self, form: str, extraction: Extraction) -> None:
        self.name = form
        self._extraction = extraction

    def try_one(self, random: Random) -> Tried:
        data = make(self.name, random)
        name = f"a.{ending(self.name)}"
        try:
            extract, _ = self._extraction.read(data, form=self.name, label=name)
        except UnreadableFile as error:
            return Tried(data, taken=False, wrong=_refused(error, name))
        again, _ = self._extraction.read(data, form=self.name, label=name)
        differs = () if pack(again) == pack(extract) else ("reading it again gave something else",)
        with limited():
            wrong = tuple(broken(extract, SourceFile(name, Path(name), Path(), self.name), _PROFILE))
        return Tried(data, taken=True, wrong=(*differs, *wrong))


class ArchiveDoor:
    """ZIP archives: what they hold is listed, and each file in them is unpacked."""

    name, share = "zip", 4
    _PER_FILE = 2**20

    def __init__(self, extraction: Extraction, folder: Path) -> None:
        self._extraction = extraction
        self._path = folder / "archive.zip"

    def try_one(self, random: Random) -> Tried:
        data = _archive(random)
        self._path.write_bytes(data)
        try:
            listing = self._extraction.list_contents(self._path, form="zip", label="archive.zip")
        except UnreadableFile as error:
            return Tried(data, taken=False, wrong=_refused(error, "archive.zip"))
        return Tried(
            data, taken=True, wrong=tuple(self._unpacked([self._path / member.name for member in listing.members[:5]]))
        )

    def _unpacked(self, paths: list[Path]) -> Iterator[str]:
        for path in paths:
            if not path.is_relative_to(self._path) or ".." in path.parts:
                yield f"a file of the archive is outside of it: {path}"
            try:
                content = self._extraction.read_content(path, label="inside", most_bytes=self._PER_FILE)
            except UnreadableFile as error:
                yield from _refused(error, "inside")
            else:
                if len(content) > self._PER_FILE:
                    yield f"{len(content)} bytes were unpacked"


_NAMES = (
    "a.md",
    "deep/b.txt",
    "../up.md",
    "/root.md",
    "a.md",
    "c.zip",
    ".hidden.md",
    "é.html",
    "x" * 300 + ".md",
    "d.eml",
    "",
)


def _archive(random: Random, depth: int = 0) -> bytes:
    buffer = io.BytesIO()
    how = random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2))
    with zipfile.ZipFile(buffer, "w", how) as file:
        for name in dict.fromkeys(random.choices(_NAMES, k=random.choice((1, 2, 5)))):
            form = {"html": "html", "zip": "zip", "eml": "eml"}.get(name.rpartition(".")[2], "markdown")
            if form == "zip":
                content = _archive(random, depth + 1) if depth < 2 else b"PK"
            else:
                content = random.choice(seeds_of(form)) * random.choice((1, 1, 1, 300))
            file.writestr(name or "empty", content)
    data = buffer.getvalue()
    return data if depth or random.random() < 0.2 else spoiled(data, data[::-1], "zip", random)


def file_doors(extraction: Extraction) -> Iterator[FileDoor | ArchiveDoor]:
    for form in FORMATS:
        yield FileDoor(form, extraction)
    yield ArchiveDoor(extraction, Path(tempfile.mkdtemp(prefix="fuzz-zip-")))
