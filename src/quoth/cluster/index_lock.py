"""One ingest at a time for one place.

In a folder the system keeps the lock and lets go of it when the process ends, however it ends. Object storage has no
such thing: there the lock is an object that its holder writes anew every few seconds, and at the end says that it is
free. It is not removed, as it might be another's by then. Who finds one that is not free watches it for a while. If it
changes, somebody is at work; if it does not, its holder is dead, and the lock is taken over. No clocks are compared.
A holder that was only asleep learns of it at the latest when it publishes, which is a write over the version of the
manifest that it began with.
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
from quoth.stores.embedded.faults import writing
from quoth.stores.places import Changed, Place

NAME = "ingest.lock"
_log = logging.getLogger(__name__)
_BEAT = 5.0
_PATIENCE = 30.0
"""Seconds without a change after which the holder of an object is taken for dead."""
_FREE = b'{"holder": null}'


@contextmanager
def held(place: Place, *, beat: float = _BEAT, patience: float = _PATIENCE) -> Iterator[Callable[[], None]]:
    """Hold the right to write at `place`: `IndexBusy` where another does.

    Gives a function that raises `IndexBusy` when the lock was lost meanwhile.
    """
    if place.folder is not None:
        with _flock(place.folder):
            yield _never_lost
    else:
        lock = _Object(place)
        lock.take(patience)
        beating = threading.Thread(target=lock.beat, args=(beat,), daemon=True)
        beating.start()
        try:
            yield lock.check
        finally:
            lock.stop.set()
            beating.join()
            lock.let_go()


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


class _Object:
    """The lock as an object in storage."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._beats = 0
        self._mark = os.urandom(8).hex()
        self._version: str | None = None
        self.stop = threading.Event()

    def take(self, patience: float) -> None:
        found = self._place.get(NAME)
        over = found[1] if found else None
        if found is not None and found[0] != _FREE:
            over = self._watch(found[1], patience)
        try:
            self._write(over=over)
        except Changed as error:
            self._version = self._ours()
            if self._version is None:
                raise _busy(self._place.uri, self._owner()) from error

    def beat(self, every: float) -> None:
        """Write it anew until told to stop, or until it is another's."""
        while not self.stop.wait(every):
            with suppress(QuothError):  # the storage does not answer: it may next time, and the check tells if not
                if not self._written_anew():
                    return

    def check(self) -> None:
        if self._ours() is None:
            raise _busy(self._place.uri, self._owner())

    def let_go(self) -> None:
        """What was done is done: nothing here makes a failure of it, and whoever comes next takes the lock over."""
        with suppress(QuothError, Changed):
            if (version := self._ours()) is not None:
                self._place.put(NAME, _FREE, over=version)

    def _written_anew(self) -> bool:
        try:
            self._write(over=self._version)
        except Changed:
            self._version = self._ours()
        return self._version is not None

    def _watch(self, version: str, patience: float) -> str | None:
        """What to write over, should the holder be dead or have finished; `IndexBusy` as soon as the object changes."""
        until = time.monotonic() + patience
        _log.warning("%s left a lock: looking for %.0f s whether it is still at work", self._owner(), patience)
        while time.monotonic() < until:
            time.sleep(min(1.0, patience / 5))
            found = self._place.get(NAME)
            if found is None:
                return None
            if found[0] == _FREE:
                return found[1]
            if found[1] != version:
                raise _busy(self._place.uri, self._owner())
        return version

    def _write(self, *, over: str | None) -> None:
        self._beats += 1
        content = {"holder": _name(), "mark": self._mark, "beats": self._beats}
        self._version = self._place.put(NAME, json.dumps(content).encode(), over=over)

    def _ours(self) -> str | None:
        """The version in storage if it is of our hand after all: the answer to a write can be lost on its way."""
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


def _never_lost() -> None:
    return


def _busy(place: str, owner: str) -> IndexBusy:
    return IndexBusy(
        f"another ingest ({owner}) is writing the index at {place}",
        hint="Wait for it to finish; reading goes on meanwhile.",
    )
