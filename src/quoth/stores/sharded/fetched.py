"""A shard on this machine: where it lies, when the place is a folder, or else a copy that was compared on its way."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import weakref
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from quoth.errors import IndexDamaged, QuothError
from quoth.stores.embedded.faults import reading, writing
from quoth.stores.places import File, Place, file_of
from quoth.stores.sharded.manifest import PUBLISH, ShardEntry


class Fetched:
    """A shard's folder. A copy is kept for as long as this value lives."""

    def __init__(self, folder: Path, hold: int | None) -> None:
        self.folder = folder
        if hold is not None:
            weakref.finalize(self, os.close, hold)


def fetched(place: Place, entry: ShardEntry, *, cache: Path) -> Fetched:
    """The shard, every file as the manifest says; `IndexDamaged` names the one that is not."""
    if place.folder is not None:
        check_files(place, entry)
        return Fetched(place.folder / entry.folder, None)
    home = _home(place, cache)
    with writing(home):
        home.mkdir(parents=True, exist_ok=True)
        hold = os.open(home / f"{entry.folder}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        fcntl.flock(hold, fcntl.LOCK_EX)  # another process may be fetching the same shard
        if not (home / entry.folder).is_dir():  # it is renamed to this when all of it is there
            _fetch(place, entry, home)
        fcntl.flock(hold, fcntl.LOCK_SH)
    except BaseException:
        os.close(hold)
        raise
    return Fetched(home / entry.folder, hold)


def check_files(place: Place, entry: ShardEntry) -> None:
    """Compare a shard in a folder with what was written."""
    assert place.folder is not None  # noqa: S101 - for the type alone
    for name, expected in _inside(entry).items():
        path = place.folder / name
        with reading(place.folder):
            try:
                found = file_of(path)
            except (FileNotFoundError, NotADirectoryError):
                raise _missing(place, name) from None
        if found != expected:
            raise _damaged(place, name)


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
        for name, expected in _inside(entry).items():
            target = aside / name
            with writing(home):
                try:
                    place.download(name, target)
                except FileNotFoundError:
                    raise _missing(place, name) from None
            if file_of(target) != expected:
                raise _damaged(place, name)
        with writing(home):
            (aside / entry.folder).rename(home / entry.folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _inside(entry: ShardEntry) -> Mapping[str, File]:
    return {name: one for name, one in entry.files.items() if name != entry.listing}


def _home(place: Place, cache: Path) -> Path:
    return cache / "shards" / hashlib.sha256(place.uri.encode()).hexdigest()[:16]


def _missing(place: Place, name: str) -> QuothError:
    return IndexDamaged(f"the index at {place.uri} lacks {name}, which its manifest names", hint=PUBLISH)


def _damaged(place: Place, name: str) -> QuothError:
    return IndexDamaged(f"{place.uri}/{name} is not what was written", hint=PUBLISH)
