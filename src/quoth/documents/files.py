"""Find the files of a corpus and read them as text, byte for byte: no newline is translated, no mark removed."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from quoth.corpus.encodings import encoding_of
from quoth.corpus.kinds import FORMATS, recognise
from quoth.corpus.manifest import BESIDE
from quoth.errors import CorpusError, UnreadableFile

_READABLE = f"Readable are: {', '.join(FORMATS)}"


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


def root_name(root: Path) -> str:
    """The one name of a folder, however it was given."""
    return os.path.realpath(root)


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


def find_in(root: Path, doc_ids: Iterable[str]) -> Found:
    """Certain files of a folder, which is their root; one of no kind that can be read is named as not looked into."""
    files: list[SourceFile] = []
    closed: list[UnreadableFile] = []
    for doc_id in sorted(set(doc_ids)):
        if (form := recognise(root / doc_id)) is not None:
            files.append(SourceFile(doc_id, root / doc_id, root, form))
        else:
            closed.append(UnreadableFile(doc_id, "it is of no kind that can be read", hint=_READABLE))
    return Found(tuple(files), Counter(), tuple(closed))


def _expand(given: Path, ignored: Counter[str], closed: list[UnreadableFile]) -> list[SourceFile]:
    if given.is_dir():
        return _walk(given, ignored, closed)
    if not given.exists():
        raise CorpusError(f"{given} does not exist", hint="Give a folder or a file with documents.")
    form = recognise(given)
    if form is None:
        raise CorpusError(f"{given} is of no kind that can be read", hint=_READABLE)
    return [SourceFile(given.name, given, given.parent, form)]


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
            try:
                # A pipe or a device would keep us waiting; only a file is read.
                if name.startswith(".") or not path.is_file():
                    continue
            except OSError as error:  # the folder can be listed, but not entered
                refuse(error)
                break
            if not Path(os.path.realpath(path)).is_relative_to(inside):
                continue
            if (form := recognise(path)) is not None:
                files.append(SourceFile(path.relative_to(root).as_posix(), path, root, form))
            elif not name.endswith(BESIDE) and (path.parent != root or name not in {"corpus.yaml", "questions.jsonl"}):
                ignored[path.suffix.lower() or name] += 1
    return files


def read_bytes(path: Path, *, label: str, most_mb: int) -> bytes:
    """The file as it is; `UnreadableFile` when it cannot be read or has more than `most_mb` megabytes."""
    try:
        with path.open("rb") as file:
            # A file that says that it is larger is not read at all: one that is mostly holes costs nothing but to us.
            large = os.fstat(file.fileno()).st_size > most_mb * 2**20
            data = b"" if large else file.read(most_mb * 2**20 + 1)
    except OSError as error:
        raise UnreadableFile(label, str(error.strerror), hint="Check that the file can be read.") from error
    if large or len(data) > most_mb * 2**20:
        hint = "Split the file, or raise ingest.max_file_mb."
        raise UnreadableFile(label, f"it has more than {most_mb} MB", hint=hint)
    return data


def decode(data: bytes, *, label: str) -> SourceText:
    """The text of a file, its encoding recorded; `UnreadableFile` says why it cannot be taken."""
    encoding = encoding_of(data, label=label)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        raise UnreadableFile(label, f"it is not {encoding}: {error.reason}", hint="Save the file as UTF-8.") from error
    if "\x00" in text:
        raise UnreadableFile(label, "it holds NUL characters", hint="It is not a text file, or it is damaged.")
    return SourceText(text, encoding, hashlib.sha256(data).hexdigest())
