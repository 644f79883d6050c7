"""Shards on this machine: in place if the location is a folder, or else a verified copy."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import time
import weakref
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from quoth.errors import IndexDamaged
from quoth.stores.disk_faults import reading, writing
from quoth.stores.locations import FileDigest, Location, digest_file
from quoth.stores.sharded.cluster_manifest import PUBLISH, ShardEntry

_ATTEMPTS = 100
_PAUSE = 0.1
"""Seconds between attempts to have a copy alone: who only looks holds it for less, who reads it perhaps for ever."""


class ShardCopy:
    """A shard's folder. A copy is kept for as long as this value lives."""

    def __init__(self, folder: Path, hold: int | None) -> None:
        self.folder = folder
        if hold is not None:
            weakref.finalize(self, os.close, hold)


def fetch_shard(location: Location, entry: ShardEntry, *, cache: Path) -> ShardCopy:
    """Return the shard on this machine; `IndexDamaged` names a file that differs from the manifest.

    Every file of a folder is read and compared, and so is every file of a new copy. For an existing copy only the sizes
    are compared; an incomplete copy is made again, unless somebody reads it.
    """
    if location.folder is not None:
        for name, expected in entry.inside.items():
            with reading(location.folder):
                _check(location, name, location.folder / name, expected)
        return ShardCopy(location.folder / entry.folder, None)
    home = _home(location, cache)
    with writing(home):
        home.mkdir(parents=True, exist_ok=True)
        hold = os.open(home / f"{entry.folder}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        _held(location, entry, home, hold)
    except BaseException:
        os.close(hold)
        raise
    return ShardCopy(home / entry.folder, hold)


def _held(location: Location, entry: ShardEntry, home: Path, hold: int) -> None:
    """Take a shared lock on a complete copy. Making or removing a copy takes an exclusive lock."""
    for _ in range(_ATTEMPTS):
        fcntl.flock(hold, fcntl.LOCK_SH)  # waits for another process that fetches the same shard
        if _incomplete(home, entry) is None:
            return
        fcntl.flock(hold, fcntl.LOCK_UN)
        try:
            fcntl.flock(hold, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # another looks as we do, or was first
            time.sleep(_PAUSE)
            continue
        if _incomplete(home, entry) is not None:
            _fetch(location, entry, home)
        # The lock cannot be changed to a shared one at once: somebody may tidy up between, so we look again.
    raise IndexDamaged(
        f"the copy of {location.uri}/{entry.folder} in {home} is damaged, and another process reads it",
        hint=f"End that process, or remove {home / entry.folder}, and try again.",
    )


def _incomplete(folder: Path, entry: ShardEntry) -> str | None:
    """Return a file of a shard in `folder` that is missing or has another size; None if the shard is complete."""
    for name, file in entry.inside.items():
        with suppress(OSError):
            if (folder / name).stat().st_size == file.size:
                continue
        return name
    return None


def missing_file(location: Location, entry: ShardEntry) -> str | None:
    """Return a file of the shard that is missing, or in a folder has another size; None if all seem to be there."""
    if location.folder is not None:
        return _incomplete(location.folder, entry)
    names = set(location.names(entry.folder))
    return next((name for name in entry.inside if name not in names), None)


def check_present(location: Location, entry: ShardEntry) -> None:
    """Raise `IndexDamaged` if a file is missing. Nothing is read."""
    if (name := missing_file(location, entry)) is not None:
        raise IndexDamaged(f"{location.uri}/{name} is missing or is not what was written", hint=PUBLISH)


def remove_unused(location: Location, *, cache: Path, keep: Collection[str]) -> None:
    """Remove the copies of other shards of this location that nobody holds."""
    home = _home(location, cache)
    if location.folder is not None or not home.is_dir():
        return
    for lock in home.glob("*.lock"):
        folder = home / lock.stem
        if lock.stem in keep:
            continue
        with suppress(OSError):
            descriptor = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)  # the lock's file stays: another may be waiting for it
            finally:
                os.close(descriptor)


def _fetch(location: Location, entry: ShardEntry, home: Path) -> None:
    aside = home / f".{entry.folder}"
    shutil.rmtree(aside, ignore_errors=True)
    try:
        for name, expected in entry.inside.items():
            with writing(home):
                _check(location, name, aside / name, expected, download=True)
        with writing(home):
            shutil.rmtree(home / entry.folder, ignore_errors=True)  # an incomplete copy
            (aside / entry.folder).rename(home / entry.folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _home(location: Location, cache: Path) -> Path:
    return cache / "shards" / hashlib.sha256(location.uri.encode()).hexdigest()[:16]


def _check(location: Location, name: str, path: Path, expected: FileDigest, *, download: bool = False) -> None:
    """Raise `IndexDamaged` unless the file at `path`, perhaps downloaded first, is what the manifest says of `name`."""
    try:
        if download:
            location.download(name, path)
        found = digest_file(path)
    except (FileNotFoundError, NotADirectoryError):
        problem = f"the index at {location.uri} lacks {name}, which its manifest names"
        raise IndexDamaged(problem, hint=PUBLISH) from None
    if found != expected:
        raise IndexDamaged(f"{location.uri}/{name} is not what was written", hint=PUBLISH)
