"""What a replica of a shard does when a new generation is slow to open, damaged, or in place of another."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from quoth.cluster import shard_host as host
from quoth.cluster.shard_host import version_of
from quoth.cluster.shard_replica import ShardReplica
from quoth.stores.embedded import EmbeddedStore
from quoth.stores.locations import Location
from quoth.stores.sharded import cluster_manifest as manifest
from quoth.stores.sharded.cluster_manifest import ShardEntry
from quoth.stores.sharded.sharded_store import ShardCopy, fetch_shard

from .remote_shards import LAYOUT, PATIENCE, corpus, shards_of, wait_for


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> EmbeddedStore:
    return corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture
def place(one: EmbeddedStore, tmp_path: Path) -> Path:
    shards_of(one, tmp_path / "shards", shards=1)
    return tmp_path / "shards"


@pytest.fixture
def hosting(place: Path) -> Iterator[ShardReplica]:
    hosted = ShardReplica(str(place), 0, 1, cache=place / "cache", layout=LAYOUT)
    hosted.open_published()
    yield hosted
    hosted.close()


def newest(place: Path) -> ShardEntry:
    return manifest.read(place).shards[0]


def damaged(entry: ShardEntry, place: Path) -> tuple[Path, bytes]:
    path = next(path for path in sorted((place / entry.folder).rglob("*")) if path.is_file())
    content = path.read_bytes()
    path.write_bytes(b"x" + content[1:])
    return path, content


def test_a_replica_is_well_while_a_new_generation_is_being_opened(
    one: EmbeddedStore, place: Path, hosting: ShardReplica, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def slowly(home: Location, entry: ShardEntry, *, cache: Path) -> ShardCopy:
        begun.set()
        go_on.wait(PATIENCE)
        return fetch_shard(home, entry, cache=cache)

    before = newest(place)
    shards_of(one, place, shards=1, prefix="newer", without=["canola.md"])
    monkeypatch.setattr(host, "fetch_shard", slowly)
    with ThreadPoolExecutor(2) as pool:
        try:
            asked = pool.submit(hosting.call_entry, newest(place), "info", ())
            assert begun.wait(PATIENCE)
            pool.submit(hosting.check_health).result(PATIENCE / 4)
            assert hosting.call(version_of(before), "info", ()).kind == "given"
            assert hosting.call(version_of(newest(place)), "info", ()).kind == "unknown"
        finally:
            go_on.set()
        assert asked.result(PATIENCE).kind == "given"
    assert hosting.call(version_of(newest(place)), "info", ()).kind == "given"


def test_a_damaged_generation_does_no_harm_to_the_one_before_and_is_not_read_all_the_time(
    one: EmbeddedStore, place: Path, hosting: ShardReplica, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = newest(place)
    shards_of(one, place, shards=1, prefix="newer", without=["canola.md"])
    path, content = damaged(newest(place), place)
    hosting.open_published()
    assert hosting.call_entry(newest(place), "info", ()).kind == "refused"
    hosting.check_health()
    assert hosting.call(version_of(before), "info", ()).kind == "given"
    path.write_bytes(content)
    again = hosting.call_entry(newest(place), "info", ())
    assert (again.kind, path.name in str(again.value)) == ("refused", True)  # as it was when it was last looked at
    monkeypatch.setattr("quoth.cluster.shard_host.time", _Later())
    assert hosting.call_entry(newest(place), "info", ()).kind == "given"
    hosting.check_health()


class _Later:
    """A clock that is far ahead."""

    @staticmethod
    def monotonic() -> float:
        return threading.TIMEOUT_MAX / 1e3


def test_any_error_in_a_shard_is_told_and_the_replica_goes_on(
    place: Path, hosting: ShardReplica, monkeypatch: pytest.MonkeyPatch
) -> None:
    def runs_out(*_: object) -> None:
        raise MemoryError("no room")

    monkeypatch.setattr(host, "_METHODS", {**host._METHODS, "search": runs_out})
    said = hosting.call(version_of(newest(place)), "search", (None,))
    assert (said.kind, said.value) == ("refused", "MemoryError: no room")
    assert hosting.call(version_of(newest(place)), "info", ()).kind == "given"


def test_the_generation_before_is_let_go_when_nobody_asks_for_it(
    one: EmbeddedStore, place: Path, hosting: ShardReplica, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = newest(place)
    assert hosting.call(version_of(before), "counts", (["canola"], ())).kind == "given"
    assert is_open(place / before.folder)
    shards_of(one, place, shards=1, prefix="newer", without=["canola.md"])
    hosting.open_published()
    assert is_open(place / before.folder)  # questions may be under way in it
    monkeypatch.setattr(host, "_IDLE_SECONDS", -1.0)
    hosting.open_published()
    wait_for(lambda: not is_open(place / before.folder))
    assert hosting.call(version_of(newest(place)), "counts", (["rye"], ())).kind == "given"


def is_open(folder: Path) -> bool:
    """Whether this process has a file of the folder open, or mapped."""
    links = []
    for one in Path("/proc/self/fd").iterdir():
        try:
            links.append(str(one.readlink()))
        except OSError:
            continue
    return any(str(folder) in link for link in (*links, Path("/proc/self/maps").read_text()))


def test_a_shard_is_asked_again_after_an_error_and_not_when_it_is_slow() -> None:
    """In a process of its own: Ray is imported."""
    code = """
import sys
from types import SimpleNamespace
from ray.exceptions import ActorDiedError
from quoth.cluster.shard_replica import HandleTransport, ShardReply
from quoth.errors import ShardLost
from quoth.stores.sharded.cluster_manifest import ShardEntry

entry = ShardEntry("shard", 1, "digest", 1, 1, 1, 1, {})
waited = []

def handle(*answers):
    left = list(answers)
    def result(timeout_s):
        waited.append(timeout_s)
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer
    response = SimpleNamespace(result=result, cancel=lambda: None)
    return SimpleNamespace(call=SimpleNamespace(remote=lambda *args: response))

def asked(*answers):
    waited.clear()
    return HandleTransport([handle(*answers)], seconds=8.0)(0, entry, "search", ())

assert asked(ActorDiedError(), ShardReply("given", 5)) == 5
assert len(waited) == 2
for failures in ([TimeoutError()], [ActorDiedError(), ActorDiedError()]):
    try:
        asked(*failures)
    except ShardLost as lost:
        print(lost.why)
    else:
        sys.exit("it was not lost")
    assert len(waited) == len(failures), waited
    assert waited[0] > 7.5, waited
"""
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert "it did not answer within 8 s" in done.stdout
