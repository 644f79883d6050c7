"""Generation directories: written aside, made durable, renamed into place, and cleaned when nobody needs them.

    generations/000007/manifest.json   every other file with its size and CRC-32, and the shards
                       shards/000/     vectors.npy rows.npy documents.npy [faiss.index]   see dense.py
                       lexical/        the segments of all shards                         see lexical.py

All of it is derived from SQLite. A further derived part is one more file here: whoever writes it into the directory
before `seal` gets it listed, checked, published and removed with the rest. A file is never changed once it is sealed,
so the next generation links to those that it takes over.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import weakref
import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeAlias

from quoth.errors import IndexBusy
from quoth.machine import usual_mode

_MANIFEST = "manifest.json"
_CHECKED_UP_TO = 256 * 2**20  # bytes in all; reading more than this to check it would delay the first answer

Entry: TypeAlias = dict[str, int]
"""Size and CRC-32 of a file."""


class PartDamaged(Exception):
    """A derived file is missing or is not what was written. The store rebuilds it."""


@dataclass(frozen=True, slots=True)
class ShardRecord:
    """A shard as the manifest lists it. `segments` are its parts of the full text, as tantivy describes them."""

    number: int
    key: str
    sentences: int
    segments: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Manifest:
    parts: dict[str, Entry]
    shards: tuple[ShardRecord, ...]


def home(place: Path) -> Path:
    return place / "generations"


def directory(place: Path, generation: int) -> Path:
    return home(place) / f"{generation:06d}"


@contextmanager
def writer_lock(place: Path) -> Iterator[None]:
    """Hold the right to write. The system releases it when the process ends, however it ends."""
    descriptor = os.open(place / "writer.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(descriptor, 32, 0).decode("ascii", "replace").strip() or "unknown"
            raise IndexBusy(
                f"another process (pid {owner}) is writing the index at {place}",
                hint="Wait for it to finish; reading goes on meanwhile.",
            ) from None
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def aside(place: Path) -> Iterator[Path]:
    """A directory to build in. Whatever is left there at the end is removed."""
    temporary = home(place) / ".building"  # only the holder of the writer's lock builds
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def take_over(source: Path, target: Path, parts: Mapping[str, Entry]) -> dict[str, Entry]:
    """Bring sealed files into another generation; return those that need no sealing again. `OSError` if one is gone."""
    linked = {}
    for name, entry in parts.items():
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


def seal(built: Path, *, shards: Sequence[ShardRecord], sealed: Mapping[str, Entry]) -> None:
    """List every file in the manifest and make it all durable; those of `sealed` are already."""
    files = sorted(path for path in built.rglob("*") if path.is_file() and not path.name.endswith(".lock"))
    parts = {}
    mode = usual_mode()
    for path in files:
        name = path.relative_to(built).as_posix()
        if name in sealed:
            parts[name] = sealed[name]
        else:
            parts[name] = {"size": path.stat().st_size, "crc32": _checksum(path)}
            path.chmod(mode)  # tantivy lets nobody else read some of its files
            _sync(path)
    manifest = built / _MANIFEST
    content = {"parts": parts, "shards": [asdict(shard) for shard in shards]}
    manifest.write_text(json.dumps(content, indent=1), encoding="utf-8")
    _sync(manifest)
    for folder in sorted({folder for path in files for folder in path.relative_to(built).parents}):
        _sync(built / folder)


def put_in_place(built: Path, place: Path, generation: int) -> None:
    """Rename a sealed directory to its final name; a damaged one of that name gives way."""
    target = directory(place, generation)
    if target.exists():
        discarded = home(place) / ".discarded"
        shutil.rmtree(discarded, ignore_errors=True)
        target.rename(discarded)
        built.rename(target)
        shutil.rmtree(discarded, ignore_errors=True)
    else:
        built.rename(target)
    _sync(home(place))
    _sync(place)


def clean(place: Path, *, keep: Collection[int]) -> None:
    """Remove every other generation and what earlier writers left; what a reader still holds stays until next time."""
    kept = {directory(place, generation).name for generation in keep}
    for path in sorted(home(place).iterdir()):
        if path.name not in kept and not _held(path):
            shutil.rmtree(path, ignore_errors=True)


def hold(folder: Path) -> object | None:
    """Keep a generation's files for as long as the returned object lives; None when the directory is not there."""
    try:
        descriptor = os.open(folder / _MANIFEST, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    holder = _Holder()
    weakref.finalize(holder, os.close, descriptor)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return holder


class _Holder:
    """Alive while someone reads a generation."""


def manifest(folder: Path) -> Manifest:
    """What a generation holds; `PartDamaged` when it does not say."""
    try:
        listed = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        shards = (ShardRecord(**{**shard, "segments": tuple(shard["segments"])}) for shard in listed["shards"])
        return Manifest(listed["parts"], tuple(shards))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PartDamaged(f"{folder}: {error}") from error


def check(folder: Path, parts: Mapping[str, Entry]) -> None:
    """Compare files with what the manifest says of them; `PartDamaged` when one differs."""
    whole = sum(entry["size"] for entry in parts.values()) <= _CHECKED_UP_TO
    try:
        for name, entry in parts.items():
            same = (folder / name).stat().st_size == entry["size"]
            if not same or (whole and _checksum(folder / name) != entry["crc32"]):
                raise PartDamaged(f"{folder / name} is not what was written")
    except (OSError, KeyError, TypeError) as error:
        raise PartDamaged(f"{folder}: {error}") from error


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


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
