"""One ingest at a time for one place, in a folder and in object storage, and no lock that outlives its holder."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest

from quoth.cluster import index_lock as lock
from quoth.errors import IndexBusy, IndexFault
from quoth.stores.locations import Location, VersionConflict, open_location
from stores.object_storage import Storage

HOLD = """
import sys
from quoth.stores.locations import open_location
from quoth.cluster import index_lock as lock
with lock.held(open_location(sys.argv[1]), beat=0.05):
    print("held", flush=True)
    sys.stdin.read()
"""
PATIENCE = 0.6
"""Seconds without a beat after which a holder counts as dead, where it is."""


def holder(place: Location) -> subprocess.Popen[str]:
    """Another process that holds the lock."""
    program = subprocess.Popen(
        [sys.executable, "-c", HOLD, place.uri], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert program.stdout is not None
    assert program.stdout.readline() == "held\n"
    return program


def test_a_second_one_is_sent_away_and_told_who_is_at_work(place: Location) -> None:
    with holder(place) as other:
        with pytest.raises(IndexBusy, match=rf"process {other.pid} on .* is writing the index"), lock.held(place):
            pass
        other.communicate("")

    with lock.held(place, patience=PATIENCE) as still_held:
        still_held()


def test_a_holder_that_was_killed_holds_nothing(place: Location) -> None:
    with holder(place) as other:
        other.kill()

    with lock.held(place, patience=PATIENCE) as still_held:
        still_held()


def test_it_can_be_held_again_and_again(place: Location) -> None:
    for _ in range(3):
        with lock.held(place, patience=PATIENCE):
            assert place.get(lock.NAME) is not None


def test_one_that_was_let_go_is_taken_at_once(
    storage: Storage, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = open_location(f"s3://bucket/{tmp_path.name}")
    for _ in range(2):
        with lock.held(place):
            pass

    assert not caplog.messages  # nobody was watched


class Flaky:
    """A place in object storage whose replies get lost: what was asked is done, and then it fails as told."""

    def __init__(self, place: Location, *, fail: Callable[[str], Exception | None]) -> None:
        self._place = place
        self._fail = fail

    def __getattr__(self, name: str) -> object:
        return getattr(self._place, name)

    def get(self, name: str) -> tuple[bytes, str] | None:
        found = self._place.get(name)
        self._raise("get")
        return found

    def put(self, name: str, content: bytes, *, over: str | None) -> str:
        version = self._place.put(name, content, over=over)
        self._raise("put")
        return version

    def _raise(self, what: str) -> None:
        if (error := self._fail(what)) is not None:
            raise error


def test_a_write_whose_reply_was_lost_is_not_taken_for_anothers(storage: Storage, tmp_path: Path) -> None:
    """The storage's client writes again then, and finds what it wrote itself."""
    place = open_location(f"s3://bucket/{tmp_path.name}")
    flaky = Flaky(place, fail=lambda what: VersionConflict("") if what == "put" else None)

    with lock.held(cast("Location", flaky), beat=0.05) as still_held:
        still_held()
        with pytest.raises(IndexBusy), lock.held(place):
            pass
        still_held()


def test_a_storage_that_is_away_for_a_while_does_not_end_the_beat(storage: Storage, tmp_path: Path) -> None:
    place = open_location(f"s3://bucket/{tmp_path.name}")
    away, beaten = threading.Event(), threading.Semaphore(0)

    def fail(what: str) -> Exception | None:
        if not away.is_set():
            return None
        beaten.release()
        return VersionConflict("") if what == "put" else IndexFault("the storage is away")

    with lock.held(cast("Location", Flaky(place, fail=fail)), beat=0.02) as still_held:
        away.set()
        for _ in range(4):
            assert beaten.acquire(timeout=60)
        with pytest.raises(IndexFault, match="away"):
            still_held()
        away.clear()
        with pytest.raises(IndexBusy), lock.held(place):  # its beats are written again
            pass
        still_held()
        away.set()  # what was published is no failure because the lock cannot be let go

    with lock.held(place, patience=PATIENCE):
        pass


def test_a_lock_that_is_anothers_by_now_is_left_alone(storage: Storage, tmp_path: Path) -> None:
    place = open_location(f"s3://bucket/{tmp_path.name}")
    with lock.held(place, beat=1000):
        found = place.get(lock.NAME)
        assert found is not None
        place.put(lock.NAME, b"{}", over=found[1])

    assert place.get(lock.NAME) is not None
    assert (place.get(lock.NAME) or (b"",))[0] == b"{}"


def test_a_holder_that_slept_too_long_learns_that_it_lost_the_lock(storage: Storage, tmp_path: Path) -> None:
    place = open_location(f"s3://bucket/{tmp_path.name}")
    with lock.held(place, beat=0.05) as still_held:
        still_held()
        for _ in range(20):  # it is written anew all the time, and somebody must write between two of those
            found = place.get(lock.NAME)
            assert found is not None
            try:
                place.put(lock.NAME, b"{}", over=found[1])
                break
            except VersionConflict:
                continue
        for thread in threading.enumerate():
            if thread.daemon and thread.name.endswith("(beat)"):
                thread.join(timeout=10)

        with pytest.raises(IndexBusy, match="another ingest"):
            still_held()

    assert place.get(lock.NAME) is not None  # it is the other's


def test_two_places_do_not_concern_each_other(tmp_path: Path) -> None:
    with lock.held(open_location(tmp_path / "a")), lock.held(open_location(tmp_path / "b")):
        pass
