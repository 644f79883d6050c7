"""Copies of shards on this machine: shared by whoever reads, whole, and removed when nobody needs them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from quoth.errors import IndexDamaged
from quoth.stores.embedded import EmbeddedStore
from quoth.stores.locations import Location, open_location
from quoth.stores.sharded import ShardedStore, assign, sharded_store
from quoth.stores.sharded import cluster_manifest as manifest

from .fakes import PROFILE, HashEmbedder, split
from .object_storage import BUCKET, Storage, object_storage
from .shards import publish as publish_shards

READ = """
import sys
from pathlib import Path
from quoth.stores.locations import open_location
from quoth.stores.sharded import sharded_store as fetched
from quoth.stores.sharded import cluster_manifest as manifest
place = open_location(sys.argv[1])
held = fetched.fetch_shard(place, manifest.read(place).shards[0], cache=Path(sys.argv[2]))
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture(scope="module")
def storage() -> Iterator[Storage]:
    with object_storage() as found:
        yield found


def publish(place: Location, folder: Path, *texts: str, name: str) -> None:
    """Put an index of two shards into object storage, whose folders have names that begin so."""
    documents = [split(f"{number}.md", text) for number, text in enumerate(texts)]
    named = [f"{name}-{number}" for number in range(2)]
    for number, shard in enumerate(named):
        store = EmbeddedStore(folder / shard)
        mine = [one for one in documents if assign(one.document.id, 2) == number]
        store.write(mine, remove=(), embedder=HashEmbedder(), profile=PROFILE, progress=None)
        store.close()
    publish_shards(folder, named)
    for path in folder.rglob("*"):
        if path.is_file() and path.name != manifest.NAME:
            place.upload(path, path.relative_to(folder).as_posix())
    before = place.get(manifest.NAME)
    place.put(manifest.NAME, (folder / manifest.NAME).read_bytes(), over=before[1] if before else None)


@pytest.fixture
def place(storage: Storage, tmp_path: Path) -> Location:
    found = open_location(f"s3://{BUCKET}/{tmp_path.name}")
    publish(found, tmp_path / "made", "Sow it.", "Roll it.", "Hoe it.", name="old")
    return found


def copies(cache: Path) -> set[str]:
    return {path.name for path in cache.glob("shards/*/*") if path.is_dir()}


def test_a_copy_is_shared_by_those_who_read_it(place: Location, tmp_path: Path) -> None:
    entry = manifest.read(place).shards[0]
    arguments = [sys.executable, "-c", READ, place.uri, str(tmp_path / "cache")]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        first = sharded_store.fetch_shard(place, entry, cache=tmp_path / "cache")  # and does not wait for ever
        second = sharded_store.fetch_shard(place, entry, cache=tmp_path / "cache")
        sharded_store.remove_unused(place, cache=tmp_path / "cache", keep=())
        assert first.folder == second.folder
        assert copies(tmp_path / "cache") == {entry.folder}
        other.communicate("")
    del first, second

    sharded_store.remove_unused(place, cache=tmp_path / "cache", keep=())

    assert copies(tmp_path / "cache") == set()
    assert sharded_store.fetch_shard(place, entry, cache=tmp_path / "cache").folder.is_dir()


def test_a_copy_that_is_not_whole_is_made_again_unless_somebody_reads_it(
    place: Location, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharded_store, "_PAUSE", 0.001)
    entry = manifest.read(place).shards[0]
    held = sharded_store.fetch_shard(place, entry, cache=tmp_path)
    database = held.folder / "quoth.db"
    content = database.read_bytes()
    database.write_bytes(content[:-1])

    with pytest.raises(IndexDamaged, match="is damaged, and another process reads it"):
        sharded_store.fetch_shard(place, entry, cache=tmp_path)
    del held

    assert (sharded_store.fetch_shard(place, entry, cache=tmp_path).folder / "quoth.db").read_bytes() == content


def test_a_store_lets_go_of_the_generation_before_when_nobody_reads_it(place: Location, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    store = ShardedStore(place.uri, cache=cache)
    with store.read() as before:
        assert copies(cache) == {"old-0", "old-1"}
        publish(place, tmp_path / "again", *(["Sow it again."] * 4), name="new")
        store._cached = None  # a manifest is taken for the newest for some seconds
        with store.read() as after:
            assert after.info.documents == 4
        assert before.document("0.md") is not None  # it is still there
        assert copies(cache) == {"old-0", "old-1", "new-0", "new-1"}

    with store.read():
        pass
    assert copies(cache) == {"new-0", "new-1"}
    store.close()
