"""Find the files of a corpus and read them as text, byte for byte: no newline is translated, no mark removed."""

from __future__ import annotations

import codecs
import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from quoth.errors import CorpusError, UnreadableFile

FORMATS = {".md": "markdown", ".markdown": "markdown", ".txt": "text", ".text": "text"}
"""File endings and the format their text is split by."""

# The four-byte marks come first: one of them begins with a two-byte one.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_DETECTION_SAMPLE = 1 << 20
# What Western text never holds: several accented letters in a row, or a sign inside a word. Other encodings do.
_NOT_WESTERN = re.compile(r"(?=[^\x00-\x7f]{4})\W{0,3}[^\W\d_a-zA-Z]|[^\W\d_][¡-©«-¯±-³¶¸¹»-¿][^\W\d_]")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of a corpus. `doc_id` is its POSIX path relative to `root`."""

    doc_id: str
    path: Path
    root: Path
    format: str


@dataclass(frozen=True, slots=True)
class Found:
    """The files to read, in order of their ids, how many others there were by ending, and what could not be looked
    into."""

    files: tuple[SourceFile, ...]
    ignored: Counter[str]
    closed: tuple[UnreadableFile, ...]


@dataclass(frozen=True, slots=True)
class SourceText:
    text: str
    encoding: str
    source_sha256: str

    @property
    def sha256(self) -> str:
        """Of the canonical text, encoded as UTF-8."""
        return text_sha256(self.text)


def text_sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def find_files(paths: Iterable[Path]) -> Found:
    """The readable files under `paths`. A folder is a corpus root; a single file's root is its folder."""
    by_id: dict[str, SourceFile] = {}
    ignored: Counter[str] = Counter()
    closed: list[UnreadableFile] = []
    for given in paths:
        for file in _expand(given, ignored, closed):
            other = by_id.setdefault(file.doc_id, file)
            if other.path.resolve() != file.path.resolve():
                raise CorpusError(
                    f"{other.path} and {file.path} would both be '{file.doc_id}'",
                    hint="Ingest the folder that holds both, so that their ids differ.",
                )
    return Found(tuple(by_id[doc_id] for doc_id in sorted(by_id)), ignored, tuple(closed))


def _expand(given: Path, ignored: Counter[str], closed: list[UnreadableFile]) -> list[SourceFile]:
    if given.is_dir():
        return _walk(given, ignored, closed)
    if not given.exists():
        raise CorpusError(f"{given} does not exist", hint="Give a folder or a file with documents.")
    if given.suffix.lower() not in FORMATS:
        raise CorpusError(f"{given} has no ending that can be read", hint=f"Readable are: {', '.join(FORMATS)}")
    return [SourceFile(given.name, given, given.parent, FORMATS[given.suffix.lower()])]


def _walk(root: Path, ignored: Counter[str], closed: list[UnreadableFile]) -> list[SourceFile]:
    """Files below `root`; hidden files and folders are left out, and so is any link that leads outside or nowhere."""
    inside = Path(os.path.realpath(root))
    files = []

    def refuse(error: OSError) -> None:
        why, hint = f"the folder cannot be read: {error.strerror}", "Check the rights of the folder."
        closed.append(UnreadableFile(os.path.relpath(error.filename, root), why, hint=hint))

    for folder, folders, names in os.walk(root, onerror=refuse):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(names):
            path = Path(folder, name)
            # A pipe or a device would keep us waiting; only a file is read.
            if name.startswith(".") or not path.is_file() or not Path(os.path.realpath(path)).is_relative_to(inside):
                continue
            if (ending := path.suffix.lower()) in FORMATS:
                files.append(SourceFile(path.relative_to(root).as_posix(), path, root, FORMATS[ending]))
            elif path.parent != root or name not in {"corpus.yaml", "questions.jsonl"}:
                ignored[ending or name] += 1
    return files


def read_text(path: Path, *, label: str) -> SourceText:
    """The file's text, its encoding recorded; `UnreadableFile` says why it cannot be taken."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UnreadableFile(label, str(error.strerror), hint="Check that the file can be read.") from error
    encoding = _encoding(data, label)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise UnreadableFile(label, f"it is not {encoding}: {error.reason}", hint="Save the file as UTF-8.") from error
    if "\x00" in text:
        raise UnreadableFile(label, "it holds NUL characters", hint="It is not a text file, or it is damaged.")
    return SourceText(text, encoding, hashlib.sha256(data).hexdigest())


def _encoding(data: bytes, label: str) -> str:
    """By its byte order mark; else UTF-8 when it is; else as its text suggests, or refused when nothing fits."""
    for mark, name in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return name
    if b"\x00" in data:
        raise UnreadableFile(label, "it holds NUL bytes", hint="It is not a text file, or it is damaged.")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        if _mostly_utf8(data):
            why = f"it is UTF-8 with a broken character at byte {error.start}"
            raise UnreadableFile(label, why, hint="Save the file as UTF-8 again.") from error
        return "cp1252" if _looks_western(data) else _detected(data, label, near=error.start)
    return "utf-8"


def _mostly_utf8(data: bytes) -> bool:
    """Whether more characters beyond ASCII are whole than broken: other encodings hardly ever look so."""
    broken = data.decode("utf-8", "replace").count("\ufffd") - data.count("\ufffd".encode())
    whole = sum(1 for character in data.decode("utf-8", "ignore") if not character.isascii())
    return whole > broken


def _looks_western(data: bytes) -> bool:
    """Whether it reads well as Windows' Western encoding, of which Latin-1 is a part: guessers mistake short texts."""
    try:
        return _NOT_WESTERN.search(data.decode("cp1252")) is None
    except UnicodeDecodeError:
        return False


def _detected(data: bytes, label: str, *, near: int) -> str:
    import charset_normalizer  # only an odd file needs it

    start = max(0, near - _DETECTION_SAMPLE // 2)
    sample = data[start : start + _DETECTION_SAMPLE]
    best = charset_normalizer.from_bytes(sample, cp_exclusion=["cp1252", "latin_1"]).best()
    if best is None:
        raise UnreadableFile(label, "its encoding is not known", hint="Save the file as UTF-8.")
    return best.encoding
