"""A shard on this machine: where it lies, when the place is a folder, or else a copy that was compared on its way."""

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

from quoth.errors import IndexDamaged, QuothError
from quoth.stores.embedded.faults import reading, writing
from quoth.stores.places import Place, file_of
from quoth.stores.sharded.manifest import PUBLISH, ShardEntry

_ATTEMPTS = 100
_PAUSE = 0.1
"""Seconds between attempts to have a copy alone: who only looks holds it for less, who reads it perhaps for ever."""


class Fetched:
    """A shard's folder. A copy is kept for as long as this value lives."""

    def __init__(self, folder: Path, hold: int | None) -> None:
        self.folder = folder
        if hold is not None:
            weakref.finalize(self, os.close, hold)


def fetched(place: Place, entry: ShardEntry, *, cache: Path) -> Fetched:
    """The shard on this machine; `IndexDamaged` names a file that is not as the manifest says.

    Every file of a folder is read and compared, and so is every file of a copy when it is made. Of a copy that is there
    already the sizes are compared: one that is not whole is made again, unless somebody reads it.
    """
    if place.folder is not None:
        check_files(place, entry)
        return Fetched(place.folder / entry.folder, None)
    home = _home(place, cache)
    with writing(home):
        home.mkdir(parents=True, exist_ok=True)
        hold = os.open(home / f"{entry.folder}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        _held(place, entry, home, hold)
    except BaseException:
        os.close(hold)
        raise
    return Fetched(home / entry.folder, hold)


def _held(place: Place, entry: ShardEntry, home: Path, hold: int) -> None:
    """Share the lock of a copy that is whole. Who makes or removes one has the lock alone for that time."""
    for _ in range(_ATTEMPTS):
        fcntl.flock(hold, fcntl.LOCK_SH)  # waits for another process that fetches the same shard
        if _is_whole(home, entry):
            return
        fcntl.flock(hold, fcntl.LOCK_UN)
        try:
            fcntl.flock(hold, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # another looks as we do, or was first
            time.sleep(_PAUSE)
            continue
        if not _is_whole(home, entry):
            _fetch(place, entry, home)
        # The lock cannot be changed to a shared one at once: somebody may tidy up between, so we look again.
    raise IndexDamaged(
        f"the copy of {place.uri}/{entry.folder} in {home} is damaged, and another process reads it",
        hint=f"End that process, or remove {home / entry.folder}, and try again.",
    )


def _is_whole(home: Path, entry: ShardEntry) -> bool:
    return all(_has_size(home / name, one.size) for name, one in entry.inside.items())


def _has_size(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size == size
    except OSError:
        return False


def check_files(place: Place, entry: ShardEntry) -> None:
    """Compare a shard in a folder with what was written."""
    assert place.folder is not None  # noqa: S101 - for the type alone
    for name, expected in entry.inside.items():
        path = place.folder / name
        with reading(place.folder):
            try:
                found = file_of(path)
            except (FileNotFoundError, NotADirectoryError):
                raise _missing(place, name) from None
        if found != expected:
            raise _damaged(place, name)


def lacking(place: Place, entry: ShardEntry) -> str | None:
    """A file of the shard that is missing, or in a folder has another size; None where all seem to be there."""
    if place.folder is None:
        names = set(place.names(entry.folder))
        return next((name for name in entry.inside if name not in names), None)
    return next((name for name, one in entry.inside.items() if not _has_size(place.folder / name, one.size)), None)


def check_there(place: Place, entry: ShardEntry) -> None:
    """`IndexDamaged` names a file that is lacking. Nothing is read."""
    if (name := lacking(place, entry)) is not None:
        raise IndexDamaged(f"{place.uri}/{name} is missing or is not what was written", hint=PUBLISH)


def tidy(place: Place, *, cache: Path, keep: Collection[str]) -> None:
    """Remove the copies of other shards of this place that nobody holds."""
    home = _home(place, cache)
    if place.folder is not None or not home.is_dir():
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


def _fetch(place: Place, entry: ShardEntry, home: Path) -> None:
    aside = home / f".{entry.folder}"
    shutil.rmtree(aside, ignore_errors=True)
    try:
        for name, expected in entry.inside.items():
            target = aside / name
            with writing(home):
                try:
                    place.download(name, target)
                except FileNotFoundError:
                    raise _missing(place, name) from None
            if file_of(target) != expected:
                raise _damaged(place, name)
        with writing(home):
            shutil.rmtree(home / entry.folder, ignore_errors=True)  # one that is not whole
            (aside / entry.folder).rename(home / entry.folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _home(place: Place, cache: Path) -> Path:
    return cache / "shards" / hashlib.sha256(place.uri.encode()).hexdigest()[:16]


def _missing(place: Place, name: str) -> QuothError:
    return IndexDamaged(f"the index at {place.uri} lacks {name}, which its manifest names", hint=PUBLISH)


def _damaged(place: Place, name: str) -> QuothError:
    return IndexDamaged(f"{place.uri}/{name} is not what was written", hint=PUBLISH)
