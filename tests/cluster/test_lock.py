"""One ingest at a time for one place, in a folder and in object storage, and no lock that outlives its holder."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from quoth.errors import IndexBusy
from quoth.stores.places import Changed, Place, open_place
from quoth.stores.sharded import lock
from stores.object_storage import Storage, object_storage

HOLD = """
import sys
from quoth.stores.places import open_place
from quoth.stores.sharded import lock
with lock.held(open_place(sys.argv[1]), beat=0.05):
    print("held", flush=True)
    sys.stdin.read()
"""
PATIENCE = 0.6


@pytest.fixture(scope="module")
def storage() -> Iterator[Storage]:
    with object_storage() as found:
        yield found


@pytest.fixture(params=["folder", "objects"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "folder":
        return open_place(tmp_path / "index")
    request.getfixturevalue("storage")
    return open_place(f"s3://bucket/{tmp_path.name}")


def holder(place: Place) -> subprocess.Popen[str]:
    """Another process that holds the lock."""
    program = subprocess.Popen(
        [sys.executable, "-c", HOLD, place.uri], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert program.stdout is not None
    assert program.stdout.readline() == "held\n"
    return program


def test_a_second_one_is_sent_away_and_told_who_is_at_work(place: Place) -> None:
    with holder(place) as other:
        with pytest.raises(IndexBusy, match=rf"process {other.pid} on .* is writing the index"), lock.held(place):
            pass
        other.communicate("")

    with lock.held(place, patience=PATIENCE) as still_held:
        still_held()


def test_a_holder_that_was_killed_holds_nothing(place: Place) -> None:
    with holder(place) as other:
        other.kill()

    with lock.held(place, patience=PATIENCE) as still_held:
        still_held()


def test_it_can_be_held_again_and_again(place: Place) -> None:
    for _ in range(3):
        with lock.held(place, patience=PATIENCE):
            assert place.get(lock.NAME) is not None


def test_nothing_of_it_is_left_in_object_storage(storage: Storage, tmp_path: Path) -> None:
    place = open_place(f"s3://bucket/{tmp_path.name}")
    with lock.held(place):
        assert f"{tmp_path.name}/{lock.NAME}" in storage.names()

    assert f"{tmp_path.name}/{lock.NAME}" not in storage.names()


def test_a_holder_that_slept_too_long_learns_that_it_lost_the_lock(storage: Storage, tmp_path: Path) -> None:
    place = open_place(f"s3://bucket/{tmp_path.name}")
    with lock.held(place, beat=0.05) as still_held:
        still_held()
        for _ in range(20):  # it is written anew all the time, and somebody must write between two of those
            found = place.get(lock.NAME)
            assert found is not None
            try:
                place.put(lock.NAME, b"{}", over=found[1])
                break
            except Changed:
                continue
        for thread in threading.enumerate():
            if thread.daemon and thread.name.endswith("(beat)"):
                thread.join(timeout=10)

        with pytest.raises(IndexBusy, match="another ingest"):
            still_held()

    assert place.get(lock.NAME) is not None  # it is the other's


def test_two_places_do_not_concern_each_other(tmp_path: Path) -> None:
    with lock.held(open_place(tmp_path / "a")), lock.held(open_place(tmp_path / "b")):
        pass
