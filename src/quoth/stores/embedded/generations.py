"""Generation directories: written aside, made durable, renamed into place, and cleaned when nobody needs them.

    generations/000007/manifest.json   every other file with its size and CRC-32, and the shards
                       shards/000/     embeddings.npy rows.npy … [codes.npy]           see dense_index.py
                       lexical/        the segments of all partitions                     see lexical_index.py

All of it is derived from SQLite. A file written into the directory before `seal` is listed, checked, published and
removed with the rest. A sealed file never changes, so the next generation links to the files that it takes over.

The documents are divided into partitions, so that a small change rebuilds little. The files of a partition depend on
its own documents alone, and a document's partition on its id and the size of the index. So an updated index gives the
same answers, byte for byte, as a new index of the same documents, and a partition whose documents did not change is
taken over as it is. On disk a partition is a folder in `shards/`.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import logging
import os
import shutil
import sqlite3
import weakref
import zlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from quoth.errors import IndexBusy
from quoth.language.stems import STEMS_VERSION, word_language_in, word_languages
from quoth.language.terms import ANALYSIS_VERSION
from quoth.machine import sync, usual_mode
from quoth.types import IndexInfo

_log = logging.getLogger(__name__)

_MANIFEST = "manifest.json"
PARTITIONS = "shards"
_VERSION = 3  # raise it when the content of the files of a partition changes
_CHECKED_UP_TO = 256 * 2**20  # bytes in all; reading more than this to check it would delay the first answer

FileEntry: TypeAlias = dict[str, int]
"""Size and CRC-32 of a file."""

TagIds: TypeAlias = Callable[[str], Sequence[int]]
"""Gives the ids of the tags of a sentence, which are stored as JSON."""


class DerivedFileDamaged(Exception):
    """A derived file is missing or is not what was written. The store rebuilds it."""


@dataclass(frozen=True, slots=True)
class PartitionRecord:
    """A partition as the manifest lists it. `segments` are its parts of the full text, as tantivy describes them."""

    number: int
    key: str
    sentences: int
    segments: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class GenerationManifest:
    folder: Path
    files: dict[str, FileEntry]
    partitions: tuple[PartitionRecord, ...]


def partition_folder(number: int) -> str:
    return f"{PARTITIONS}/{number:03d}"


def home(location: Path) -> Path:
    return location / "generations"


def directory(location: Path, generation: int) -> Path:
    return home(location) / f"{generation:06d}"


def save_numbers(path: Path, numbers: NDArray[Any]) -> None:
    """Save numbers that are not negative, in as few bytes each as the largest needs."""
    np.save(path, numbers.astype(np.min_scalar_type(int(numbers.max(initial=0)))))


@contextmanager
def writer_lock(location: Path) -> Iterator[None]:
    """Hold the right to write. The system releases it when the process ends, however it ends."""
    descriptor = os.open(location / "writer.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
            raise IndexBusy(
                f"another process (pid {owner}) is writing the index at {location}",
                hint="Wait for it to finish; reading goes on meanwhile.",
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def aside(location: Path) -> Iterator[Path]:
    """A directory to build in. Whatever is left there at the end is removed."""
    temporary = home(location) / ".building"  # only the holder of the writer's lock builds
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def take_over(source: Path, target: Path, files: Mapping[str, FileEntry]) -> dict[str, FileEntry]:
    """Link or copy sealed files into another generation; return the linked files. Raise `OSError` if one is gone."""
    linked = {}
    for name, entry in files.items():
        if (source / name).stat().st_size != entry["size"]:
            raise FileNotFoundError(f"{source / name} is not what was written")
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        try:
            (target / name).hardlink_to(source / name)
        except OSError:  # not every file system has links
            shutil.copyfile(source / name, target / name)
        else:
            linked[name] = entry
    return linked


def seal(built: Path, *, partitions: Sequence[PartitionRecord], sealed: Mapping[str, FileEntry]) -> None:
    """List every file in the manifest and make all files durable; the files in `sealed` already are."""
    files = sorted(path for path in built.rglob("*") if path.is_file() and not path.name.endswith(".lock"))
    entries = {}
    mode = usual_mode()
    for path in files:
        name = path.relative_to(built).as_posix()
        if name in sealed:
            entries[name] = sealed[name]
        else:
            entries[name] = {"size": path.stat().st_size, "crc32": _checksum(path)}
            path.chmod(mode)  # tantivy lets nobody else read some of its files
            sync(path)
    manifest = built / _MANIFEST
    content = {"parts": entries, "shards": [asdict(partition) for partition in partitions]}
    manifest.write_text(json.dumps(content, indent=1), encoding="utf-8")
    sync(manifest)
    for folder in sorted({folder for path in files for folder in path.relative_to(built).parents}):
        sync(built / folder)


def put_in_place(built: Path, location: Path, generation: int) -> None:
    """Rename a sealed directory to its final name, replacing a damaged one of that name."""
    target = directory(location, generation)
    if target.exists():
        discarded = home(location) / ".discarded"
        shutil.rmtree(discarded, ignore_errors=True)
        target.rename(discarded)
        built.rename(target)
        shutil.rmtree(discarded, ignore_errors=True)
    else:
        built.rename(target)
    sync(home(location))
    sync(location)


def clean(location: Path, *, keep: Collection[int]) -> None:
    """Remove every other generation and what earlier writers left; what a reader still holds stays until next time."""
    names = {directory(location, generation).name for generation in keep}
    for path in sorted(home(location).iterdir()):
        if path.name not in names and not _held(path):
            shutil.rmtree(path, ignore_errors=True)


def hold(folder: Path) -> object | None:
    """Keep a generation's files while the returned object lives; return None if the directory is missing."""
    try:
        descriptor = os.open(folder / _MANIFEST, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    holder = _Holder()
    weakref.finalize(holder, os.close, descriptor)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return holder


class _Holder:
    """Closes a file when it is collected."""


def manifest(folder: Path) -> GenerationManifest:
    """Return what a generation holds; `DerivedFileDamaged` if its manifest cannot be read."""
    try:
        listed = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        shards = (PartitionRecord(**{**shard, "segments": tuple(shard["segments"])}) for shard in listed["shards"])
        return GenerationManifest(folder, listed["parts"], tuple(shards))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DerivedFileDamaged(f"{folder}: {error}") from error


def check(folder: Path, files: Mapping[str, FileEntry]) -> None:
    """Compare files with what the manifest says of them; `DerivedFileDamaged` when one differs."""
    whole = sum(entry["size"] for entry in files.values()) <= _CHECKED_UP_TO
    try:
        for name, entry in files.items():
            same = (folder / name).stat().st_size == entry["size"]
            if not same or (whole and _checksum(folder / name) != entry["crc32"]):
                raise DerivedFileDamaged(f"{folder / name} is not what was written")
    except (OSError, KeyError, TypeError) as error:
        raise DerivedFileDamaged(f"{folder}: {error}") from error


def _held(folder: Path) -> bool:
    try:
        descriptor = os.open(folder / _MANIFEST, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _checksum(path: Path) -> int:
    value = 0
    with path.open("rb") as file:
        while block := file.read(2**20):
            value = zlib.crc32(block, value)
    return value


@dataclass(frozen=True, slots=True)
class Layout:
    """The least size of a partition, in sentences, and the number of vectors above which FAISS compares codes."""

    faiss_threshold: int
    smallest_partition: int

    def partitions(self, sentences: int) -> int:
        """Return how many partitions: two from four times the least size on, then double at every doubling.

        From a million sentences on they double at every fourfold: each further partition makes questions a little
        slower and small updates faster.
        """
        doubled = (sentences // (4 * self.smallest_partition)).bit_length()
        most = (sentences // self.smallest_partition).bit_length() // 2 + 2
        return 1 << min(doubled, most)


@dataclass(frozen=True, slots=True)
class Partition:
    """`documents` are rows, ordered by document id. Partitions with the same key hold the same."""

    number: int
    key: str
    documents: tuple[int, ...]
    with_codes: bool

    @property
    def folder(self) -> str:
        return partition_folder(self.number)


def document_languages(connection: sqlite3.Connection, info: IndexInfo) -> dict[int, str]:
    """Return the language of each document by its row, where it is not analysed as English is."""
    if not any(word_languages(info)):
        return {}
    found = connection.execute("SELECT row, json_extract(metadata, '$.language') FROM documents")
    return {row: code for row, tag in found if (code := word_language_in(info, tag))}


def partition_documents(
    connection: sqlite3.Connection, layout: Layout, *, languages: Mapping[int, str]
) -> tuple[Partition, ...]:
    """Divide the documents that `connection` sees. `languages`: see `document_languages`."""
    (sentences,) = connection.execute("SELECT count(*) FROM sentences WHERE embedding IS NOT NULL").fetchone()
    dealt: list[list[tuple[str, int, str]]] = [[] for _ in range(layout.partitions(sentences))]
    for doc_id, row, fingerprint in connection.execute("SELECT id, row, fingerprint FROM documents ORDER BY id"):
        dealt[partition_hash(doc_id) % len(dealt)].append((doc_id, row, fingerprint))
    many = sentences > max(layout.faiss_threshold, 1)
    if many and find_spec("faiss") is None:
        _log.warning("%d vectors: pip install 'quoth[faiss]' for faster search", sentences)
    made_by = _makers()
    return tuple(
        Partition(
            number,
            _key([made_by, many, number, len(dealt), documents, *_stemmed(documents, languages)]),
            tuple(row for _, row, _ in documents),
            many,
        )
        for number, documents in enumerate(dealt)
    )


def partition_hash(doc_id: str) -> int:
    """Return the number whose remainder by the number of partitions is the partition of a document."""
    return int.from_bytes(hashlib.sha256(doc_id.encode()).digest()[:8], "big")


def _stemmed(documents: Sequence[tuple[str, int, str]], languages: Mapping[int, str]) -> Iterator[object]:
    """Yield what a key has besides where documents are in languages other than English."""
    if others := [(row, languages[row]) for _, row, _ in documents if row in languages]:
        yield STEMS_VERSION, version("PyStemmer"), others


def _key(content: object) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


def _makers() -> str:
    """Return a key of the versions that build the files: partitions of different versions must not be mixed."""
    return _key([_VERSION, ANALYSIS_VERSION, version("tantivy")])
