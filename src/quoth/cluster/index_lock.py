"""Allow one ingest at a time for a location.

In a folder the operating system keeps the lock, and frees it when the process ends in any way. Object storage has no
locks. There the lock is an object that its holder rewrites every few seconds (a heartbeat), and marks as free at the
end. It is not removed, because it might belong to another process by then. A process that finds it taken watches it for
a while: if it changes, another ingest is running; if not, the holder is dead, and the lock is taken over. No clocks are
compared. A holder that was only suspended learns of this when it publishes at the latest, because that replaces the
version of the manifest that it started from.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from quoth.errors import IndexBusy, QuothError
from quoth.stores.disk_faults import writing
from quoth.stores.locations import Location, VersionConflict

NAME = "ingest.lock"
_log = logging.getLogger(__name__)
_BEAT = 5.0
_PATIENCE = 30.0
"""Seconds without a heartbeat after which the holder counts as dead."""
_FREE = b'{"holder": null}'


@contextmanager
def held(location: Location, *, beat: float = _BEAT, patience: float = _PATIENCE) -> Iterator[Callable[[], None]]:
    """Hold the lock of `location`; raise `IndexBusy` if another process holds it.

    Yields a function that raises `IndexBusy` if the lock was lost meanwhile.
    """
    if location.folder is not None:
        with _flock(location.folder):
            yield lambda: None
    else:
        lock = _ObjectLock(location)
        lock.take(patience)
        beating = threading.Thread(target=lock.beat, args=(beat,), daemon=True)
        beating.start()
        try:
            yield lock.check
        finally:
            lock.stop.set()
            beating.join()
            lock.release()


@contextmanager
def _flock(folder: Path) -> Iterator[None]:
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(descriptor, 200, 0).decode("utf-8", "replace").strip() or "unknown"
            raise _busy(str(folder), owner) from None
        with writing(folder):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, _name().encode(), 0)
        yield
    finally:
        os.close(descriptor)


class _ObjectLock:
    """The lock as an object in storage."""

    def __init__(self, location: Location) -> None:
        self._place = location
        self._beats = 0
        self._mark = os.urandom(8).hex()
        self._version: str | None = None
        self.stop = threading.Event()

    def take(self, patience: float) -> None:
        found = self._place.get(NAME)
        try:
            self._write(over=self._watch(*found, patience) if found else None)
        except VersionConflict as error:
            self._version = self._ours()
            if self._version is None:
                raise _busy(self._place.uri, self._owner()) from error

    def beat(self, every: float) -> None:
        """Rewrite the object until `stop`, or until another process has taken the lock."""
        while not self.stop.wait(every):
            with suppress(QuothError):  # storage may answer next time; `check` tells if not
                try:
                    self._write(over=self._version)
                except VersionConflict:
                    self._version = self._ours()
                if self._version is None:
                    return

    def check(self) -> None:
        if self._ours() is None:
            raise _busy(self._place.uri, self._owner())

    def release(self) -> None:
        """Free the lock. A failure is ignored: the work is done, and the next process takes the lock over."""
        with suppress(QuothError, VersionConflict):
            if (version := self._ours()) is not None:
                self._place.put(NAME, _FREE, over=version)

    def _watch(self, content: bytes, version: str, patience: float) -> str | None:
        """Return the version to replace if the holder is dead or finished; raise `IndexBusy` if the object changes."""
        if content == _FREE:
            return version
        _log.warning("%s left a lock: looking for %.0f s whether it is still at work", self._owner(), patience)
        until = time.monotonic() + patience
        while time.monotonic() < until:
            time.sleep(min(1.0, patience / 5))
            found = self._place.get(NAME)
            if found is None or found[0] == _FREE:
                return found[1] if found else None
            if found[1] != version:
                raise _busy(self._place.uri, self._owner())
        return version

    def _write(self, *, over: str | None) -> None:
        self._beats += 1
        content = {"holder": _name(), "mark": self._mark, "beats": self._beats}
        self._version = self._place.put(NAME, json.dumps(content).encode(), over=over)

    def _ours(self) -> str | None:
        """Return the version in storage if we wrote it: the reply to a successful write can be lost."""
        found = self._place.get(NAME)
        return found[1] if found is not None and self._mark.encode() in found[0] else None

    def _owner(self) -> str:
        found = self._place.get(NAME)
        try:
            return str(json.loads(found[0])["holder"]) if found else "unknown"
        except (ValueError, KeyError, TypeError):
            return "unknown"


def _name() -> str:
    return f"process {os.getpid()} on {platform.node()}"


def _busy(location: str, owner: str) -> IndexBusy:
    return IndexBusy(
        f"another ingest ({owner}) is writing the index at {location}",
        hint="Wait for it to finish; reading goes on meanwhile.",
    )
