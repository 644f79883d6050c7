"""Find the files of a corpus and read their bytes."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from quoth.documents.formats.recognition import FORMATS, recognise
from quoth.domain.manifest import BESIDE
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
class CorpusFiles:
    """The files to read, in order of their ids, and how many others there are, by ending.

    `folders` are the corpus roots that were searched as a whole, by their real paths; `closed` says what could not be
    looked into.
    """

    files: tuple[SourceFile, ...]
    ignored: Counter[str]
    closed: tuple[UnreadableFile, ...]
    folders: frozenset[str]


@dataclass(frozen=True, slots=True)
class Refused:
    """A file that could not be read, and what to do about it. `kept`: the index still holds its earlier form."""

    path: str
    why: str
    hint: str
    kept: bool


def root_name(root: Path) -> str:
    """Return the real path of a folder, the same however it was given."""
    return os.path.realpath(root)


def find_files(paths: Iterable[Path]) -> CorpusFiles:
    """Return the readable files under `paths`. A folder is a corpus root; the root of a single file is its folder.

    Raise `CorpusError` when two files would have the same id.
    """
    by_id: dict[str, SourceFile] = {}
    ignored: Counter[str] = Counter()
    closed: list[UnreadableFile] = []
    folders: set[str] = set()
    for given in paths:
        if given.is_dir():
            folders.add(root_name(given))
        for file in _expand(given, ignored, closed):
            other = by_id.setdefault(file.doc_id, file)
            if other.path.resolve() != file.path.resolve():
                raise CorpusError(
                    f"{other.path} and {file.path} would both be '{file.doc_id}'",
                    hint="Ingest the folder that holds both, so that their ids differ.",
                )
    files = tuple(by_id[doc_id] for doc_id in sorted(by_id))
    return CorpusFiles(files, ignored, tuple(closed), frozenset(folders))


def named_files(root: Path, doc_ids: Iterable[str]) -> CorpusFiles:
    """Return certain files of a folder, which is their root. Raise `CorpusError` when none has a readable format."""
    files: list[SourceFile] = []
    closed: list[UnreadableFile] = []
    for doc_id in sorted(set(doc_ids)):
        if (form := recognise(root / doc_id)) is not None:
            files.append(SourceFile(doc_id, root / doc_id, root, form))
        else:
            closed.append(UnreadableFile(doc_id, "it is of no kind that can be read", hint=_READABLE))
    if closed and not files:
        raise none_readable([refused(error, kept=False) for error in closed])
    return CorpusFiles(tuple(files), Counter(), tuple(closed), frozenset())


def check_files(files: CorpusFiles) -> None:
    """Raise `CorpusError` when there is nothing to read."""
    if not files.files:
        others = ", ".join(f"{count} {ending}" for ending, count in files.ignored.most_common(5))
        message = "no documents found" + (f" (only {others})" if others else "")
        raise CorpusError(message, hint="Give a folder with .pdf, .docx, .html, .md or .txt files.")


def refused(error: UnreadableFile, *, kept: bool) -> Refused:
    return Refused(error.path, str(error).removeprefix(f"{error.path}: "), error.hint, kept)


def none_readable(files: Sequence[Refused]) -> CorpusError:
    """Return the error for a run in which no file could be read."""
    reasons = "; ".join(f"{file.path}: {file.why}" for file in files[:3])
    return CorpusError(f"none of {len(files)} files could be read ({reasons})", hint=files[0].hint)


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
    """Return the files below `root`, without hidden files and folders and links that lead outside or nowhere."""
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
    """Return the file's bytes. Raise `UnreadableFile` when it cannot be read or has more than `most_mb` megabytes."""
    try:
        with path.open("rb") as file:
            # A sparse file may claim any size at no cost to its author, so the size is checked before reading.
            large = os.fstat(file.fileno()).st_size > most_mb * 2**20
            data = b"" if large else file.read(most_mb * 2**20 + 1)
    except OSError as error:
        raise UnreadableFile(label, str(error.strerror), hint="Check that the file can be read.") from error
    if large or len(data) > most_mb * 2**20:
        hint = "Split the file, or raise ingest.max_file_mb."
        raise UnreadableFile(label, f"it has more than {most_mb} MB", hint=hint)
    return data
