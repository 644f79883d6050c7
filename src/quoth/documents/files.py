"""Find the files of a corpus and read their bytes."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

from quoth.documents.containers import container_path, may_hold_files
from quoth.documents.formats.recognition import ARCHIVE, FORMATS, recognise, recognised
from quoth.documents.worker.pool import Extraction
from quoth.domain.manifest import BESIDE
from quoth.errors import CorpusError, NothingReadable, UnreadableFile
from quoth.settings import IngestSettings
from quoth.types import Refused

_NO_DOCUMENTS = frozenset({"corpus.yaml", "questions.jsonl"})
"""Files at the root of a corpus that are about its documents."""
_INDEX = "quoth.db"
UPLOADED = Path("/quoth:uploads")
"""Stands for the root of files that a database keeps for every machine. There is no such folder."""
_DEFAULTS = IngestSettings()
_READABLE = f"Readable are: {', '.join(FORMATS)}"


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file of a corpus. `doc_id` is its POSIX path relative to `root`; the path may lead into an archive."""

    doc_id: str
    path: Path
    root: Path
    format: str


@dataclass(frozen=True, slots=True)
class ClosedPlace:
    """A folder, an archive or a file below `root` that could not be looked into."""

    root: Path
    error: UnreadableFile


@dataclass(frozen=True, slots=True)
class CorpusFiles:
    """The files to read, in order of their ids, and how many others there are, by ending.

    `folders` are the corpus roots that were searched as a whole, by their real paths; `closed` says what could not be
    looked into.
    """

    files: tuple[SourceFile, ...]
    ignored: Counter[str]
    closed: tuple[ClosedPlace, ...]
    folders: frozenset[str]


def root_name(root: Path) -> str:
    """Return the real path of a folder, the same however it was given."""
    return os.path.realpath(root)


def find_files(paths: Iterable[Path], settings: IngestSettings = _DEFAULTS) -> CorpusFiles:
    """Return the readable files under `paths`. A folder is a corpus root; the root of a single file is its folder.

    Containers are opened in a worker process, within the limits of the settings. Raise `CorpusError` when two files
    would have the same id.
    """
    by_id: dict[str, SourceFile] = {}
    ignored: Counter[str] = Counter()
    closed: list[ClosedPlace] = []
    folders: set[str] = set()
    with Extraction(replace(settings, workers=1)) as workers:
        for given in paths:
            if given.is_dir():
                folders.add(root_name(given))
            search = _Search(workers, ignored, [])
            for file in search.files(given):
                other = by_id.setdefault(file.doc_id, file)
                if other.path.resolve() != file.path.resolve():
                    raise CorpusError(
                        f"{other.path} and {file.path} would both be '{file.doc_id}'",
                        hint="Ingest the folder that holds both, so that their ids differ.",
                    )
            closed += [ClosedPlace(given if given.is_dir() else given.parent, error) for error in search.closed]
    files = tuple(by_id[doc_id] for doc_id in sorted(by_id))
    return CorpusFiles(files, ignored, tuple(closed), frozenset(folders))


def named_files(folder: Path, doc_ids: Iterable[str], *, root: Path | None = None) -> CorpusFiles:
    """Return certain files of a folder, which is their root unless they are only copied there from another one.

    Raise `CorpusError` when none has a readable format.
    """
    root = root or folder
    files: list[SourceFile] = []
    closed: list[UnreadableFile] = []
    for doc_id in sorted(set(doc_ids)):
        if (form := recognise(folder / doc_id)) not in {None, ARCHIVE}:
            files.append(SourceFile(doc_id, folder / doc_id, root, form))
        else:
            closed.append(UnreadableFile(doc_id, "it is of no kind that can be read", hint=_READABLE))
    if closed and not files:
        raise none_readable([refused(error, kept=False) for error in closed])
    places = tuple(ClosedPlace(root, error) for error in closed)
    return CorpusFiles(tuple(files), Counter(), places, frozenset())


def check_files(files: CorpusFiles) -> None:
    """Raise `CorpusError` when there is nothing to read."""
    if not files.files and files.closed:
        raise none_readable([refused(place.error, kept=False) for place in files.closed])
    if not files.files:
        others = ", ".join(f"{count} {ending}" for ending, count in files.ignored.most_common(5))
        message = "no documents found" + (f" (only {others})" if others else "")
        raise CorpusError(message, hint="Give a folder with .pdf, .docx, .pptx, .xlsx, .csv, .html, .md or .txt files.")


def refused(error: UnreadableFile, *, kept: bool) -> Refused:
    return Refused(error.path, str(error).removeprefix(f"{error.path}: "), error.hint, kept)


def none_readable(files: Sequence[Refused]) -> NothingReadable:
    """Return the error for a run in which no file could be read."""
    return NothingReadable([(file.path, file.why, file.hint) for file in files])


@dataclass(frozen=True, slots=True)
class _Search:
    """A search for files, and what it finds beside them: see `CorpusFiles`."""

    workers: Extraction
    ignored: Counter[str]
    closed: list[UnreadableFile]

    def files(self, given: Path) -> list[SourceFile]:
        """Return the readable files at or below a path."""
        if given.is_dir():
            return self._walk(given)
        if not given.exists():
            raise CorpusError(f"{given} does not exist", hint="Give a folder or a file with documents.")
        form = recognise(given)
        if form is None:
            raise CorpusError(f"{given} is of no kind that can be read", hint=_READABLE)
        return self._documents(given, given.parent, form)

    def _walk(self, root: Path) -> list[SourceFile]:
        """Return the files below `root`, without hidden ones, those of an index, and links that lead outside."""
        inside = Path(os.path.realpath(root))
        files = []

        def refuse(error: OSError) -> None:
            why, hint = f"the folder cannot be read: {error.strerror}", "Check the rights of the folder."
            self.closed.append(UnreadableFile(os.path.relpath(error.filename, root), why, hint=hint))

        for folder, folders, names in os.walk(root, onerror=refuse):
            folders[:] = sorted(
                name for name in folders if not name.startswith(".") and not _is_index(Path(folder, name))
            )
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
                if path.parent == root and name in _NO_DOCUMENTS:
                    continue
                if (form := recognise(path)) is not None:
                    files += self._documents(path, root, form)
                elif not name.endswith(BESIDE):
                    self.ignored[path.suffix.lower() or name] += 1
        return files

    def _documents(self, path: Path, root: Path, form: str) -> list[SourceFile]:
        """Return a file as a document, unless it is an archive, and the documents inside it."""
        doc_id = path.relative_to(root).as_posix()
        own = [] if form == ARCHIVE else [SourceFile(doc_id, path, root, form)]
        if not may_hold_files(path, form):
            return own
        try:
            listing = self.workers.list_contents(path, form=form, label=doc_id)
        except UnreadableFile as error:
            self.closed.append(error)
            return own
        self.ignored.update(listing.ignored)
        self.closed.extend(listing.refused)
        return own + [SourceFile(f"{doc_id}/{one.name}", path / one.name, root, one.format) for one in listing.members]


def _is_index(folder: Path) -> bool:
    """Return whether a folder is an index, whose own files would look like documents in JSON."""
    try:
        return (folder / _INDEX).is_file()
    except OSError:  # it can be listed, but not entered; walking into it says so
        return False


def read_bytes(path: Path, *, label: str, most_mb: int, workers: Extraction) -> bytes:
    """Return the bytes of a file, or of one inside a container, which a worker process opens.

    Raise `UnreadableFile` when it cannot be read or has more than `most_mb` megabytes.
    """
    try:
        with path.open("rb") as file:
            # A sparse file may claim any size at no cost to its author, so the size is checked before reading.
            large = os.fstat(file.fileno()).st_size > most_mb * 2**20
            data = b"" if large else file.read(most_mb * 2**20 + 1)
    except NotADirectoryError:
        return workers.read_content(path, label=label, most_bytes=most_mb * 2**20)
    except OSError as error:
        raise UnreadableFile(label, str(error.strerror), hint="Check that the file can be read.") from error
    if large or len(data) > most_mb * 2**20:
        hint = "Split the file, or raise ingest.max_file_mb."
        raise UnreadableFile(label, f"it has more than {most_mb} MB", hint=hint)
    return data


def read_again(root: Path, doc_id: str, *, extraction: Extraction, most_mb: int) -> tuple[str, str] | None:
    """Return the canonical text of a document below `root` and the SHA-256 of its file, as an ingest reads them.

    None when there is no such file, or it cannot be read.
    """
    try:
        path = (root / doc_id).resolve()
        packed = container_path(path) is not None
        if not path.is_relative_to(root.resolve()) or not (packed or path.is_file()):
            return None
        data = read_bytes(path, label=doc_id, most_mb=most_mb, workers=extraction)
        form = recognised(BytesIO(data), path.suffix.lower()) if packed else recognise(path)
        if form is None:
            return None
        return extraction.read(data, form=form, label=doc_id)[0].text, hashlib.sha256(data).hexdigest()
    except (OSError, ValueError, RuntimeError, UnreadableFile):  # an id that is no valid path names no document
        return None
