"""The file that makes one index of several: what it says is checked, and half an index is refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from quoth.errors import IndexBusy, IndexDamaged, IndexFault, IndexMismatch, NoIndex
from quoth.stores.embedded import EmbeddedStore
from quoth.stores.locations import open_location
from quoth.stores.sharded import ShardedStore, assign
from quoth.stores.sharded import cluster_manifest as manifest
from quoth.stores.sharded.cluster_manifest import ShardEntry
from quoth.stores.sharded.local_shard import LocalShard
from quoth.types import Access

from .contract import CORPUS, question, search, texts, write
from .fakes import PROFILE, HashEmbedder, split
from .shards import folders, publish, write_shards

FOLDERS = folders(3)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("made") / "index"
    write_shards(place, CORPUS, shards=3, embedder=HashEmbedder(), profile=PROFILE, progress=None)
    return place


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Path:
    """An index of three shards, to be changed."""
    return Path(shutil.copytree(made, tmp_path / "index"))


def read(place: Path) -> None:
    with ShardedStore(place).read():
        pass


def change(place: Path, edit: Callable[[dict[str, Any]], object]) -> None:
    content = json.loads((place / manifest.NAME).read_bytes())
    edit(content)
    content["sha256"] = manifest.checksum(content)
    (place / manifest.NAME).write_text(json.dumps(content), encoding="utf-8")


def home_of(doc_id: str) -> str:
    return FOLDERS[assign(doc_id, 3)]


def test_what_is_written_is_read(place: Path) -> None:
    cluster = manifest.read(place)

    assert [entry.folder for entry in cluster.shards] == list(FOLDERS)
    assert cluster.evidence == 6
    assert cluster.info.documents == sum(entry.documents for entry in cluster.shards) == 4
    home = open_location(place)
    manifest.write(home, cluster, over=manifest.versioned(home)[1])
    assert manifest.read(place) == cluster
    listings = [f"{folder}.documents.jsonl" for folder in FOLDERS]
    assert sorted(path.name for path in place.iterdir()) == sorted([manifest.NAME, *FOLDERS, *listings])


def test_two_who_publish_over_the_same_do_not_both(place: Path) -> None:
    home = open_location(place)
    cluster, version = manifest.versioned(home)
    manifest.write(home, replace(cluster, settings={"first": True}), over=version)

    with pytest.raises(IndexBusy, match="meanwhile"):
        manifest.write(home, replace(cluster, settings={"second": True}), over=version)
    assert manifest.read(place).settings == {"first": True}


def test_each_shard_is_an_index_of_its_own(place: Path) -> None:
    for entry in manifest.read(place).shards:
        store = EmbeddedStore(place / entry.folder)
        with store.read() as reader:
            assert (reader.info.generation, reader.info.digest) == (entry.generation, entry.digest)
            assert len(reader.documents()) == entry.documents


def test_without_the_file_there_is_no_index(place: Path) -> None:
    (place / manifest.NAME).unlink()
    store = ShardedStore(place)

    with pytest.raises(NoIndex), store.read():
        pass
    assert (store.stored_documents(), store.published(), store.size()) == ({}, None, 0)


def test_a_file_that_may_not_be_read_says_so(place: Path) -> None:
    (place / manifest.NAME).unlink()
    (place / manifest.NAME).mkdir()

    with pytest.raises(IndexFault, match="cannot be read"):
        read(place)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"{}", b"7", b"\xff\xfe", b'{"format": 2}', b'{"format": 2, "index": 3}']
)
def test_a_file_that_says_nothing_is_damaged(place: Path, content: bytes) -> None:
    (place / manifest.NAME).write_bytes(content)

    with pytest.raises(IndexDamaged, match=r"cluster\.json") as damage:
        read(place)
    assert damage.value.hint


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (lambda content: content.update(shards=[]), "names no shard"),
        (lambda content: content["shards"].pop(), "other numbers"),
        (lambda content: content["shards"].append(content["shards"][0]), "twice"),
        (lambda content: content["shards"][1].update(folder="../elsewhere"), "not a folder beside it"),
        (lambda content: content["shards"][1].update(folder=".."), "not a folder beside it"),
        (lambda content: content["shards"][1].update(folder=""), "not a folder beside it"),
        (lambda content: content["shards"][1].update(terms=-1), "cannot be"),
        (lambda content: content["shards"][1].update(evidence="6"), "cannot be"),
        (lambda content: content["shards"][1].update(more=1), "does not describe"),
        (lambda content: content["shards"][1].pop("digest"), "does not describe"),
        (lambda content: content["index"].pop("model"), "does not describe"),
        (lambda content: content["index"].update(documents=5), "other numbers"),
    ],
)
def test_a_file_that_contradicts_itself_is_damaged(
    place: Path, edit: Callable[[dict[str, Any]], object], why: str
) -> None:
    change(place, edit)

    with pytest.raises(IndexDamaged, match=why):
        read(place)


def test_a_number_that_was_changed_is_noticed(place: Path) -> None:
    written = (place / manifest.NAME).read_text(encoding="utf-8")
    terms = f'"terms": {manifest.read(place).shards[0].terms}'
    (place / manifest.NAME).write_text(written.replace(terms, '"terms": 7777'), encoding="utf-8")

    with pytest.raises(IndexDamaged, match="not what was written"):
        read(place)


def test_a_newer_format_is_refused_and_not_overwritten(place: Path) -> None:
    change(place, lambda content: content.update(format=4, future=True))

    with pytest.raises(IndexMismatch, match="format 4"):
        read(place)
    with pytest.raises(IndexMismatch, match="format 4"):
        publish(place, FOLDERS)


def test_a_missing_shard_is_named(place: Path) -> None:
    shutil.rmtree(place / FOLDERS[1])

    with pytest.raises(IndexDamaged, match=f"{FOLDERS[1]} .* missing"):
        read(place)


def test_a_shard_with_nothing_in_it_is_missing(place: Path) -> None:
    shutil.rmtree(place / FOLDERS[1])
    (place / FOLDERS[1]).mkdir()

    with pytest.raises(IndexDamaged, match=f"{FOLDERS[1]} .* missing"):
        read(place)


def test_a_shard_that_was_changed_alone_is_refused_until_all_are_published_anew(place: Path) -> None:
    doc_id = CORPUS[0].document.id
    store = EmbeddedStore(place / home_of(doc_id))
    write(store, [split(doc_id, "Canola is new.")])
    several = ShardedStore(place)

    with pytest.raises(IndexMismatch, match=f"{home_of(doc_id)} .* changed after"), several.read():
        pass
    before = manifest.read(place).info
    after = publish(place, FOLDERS)
    assert (after.generation, after.documents) == (before.generation + 1, before.documents)
    assert after.digest != before.digest
    assert texts(search(several, question("new"))) == {"Canola is new."}


def test_publishing_the_same_again_changes_nothing(place: Path) -> None:
    before = (place / manifest.NAME).stat().st_mtime_ns

    assert publish(place, FOLDERS) == manifest.read(place).info
    assert (place / manifest.NAME).stat().st_mtime_ns == before


def test_a_damaged_file_can_be_published_anew(place: Path) -> None:
    before = manifest.read(place)
    (place / manifest.NAME).write_bytes(b"{")

    publish(place, FOLDERS)
    assert manifest.read(place) == before


def test_a_shard_of_another_model_is_refused(place: Path) -> None:
    index = place / FOLDERS[0]
    shutil.rmtree(index)
    own = [one for one in CORPUS if home_of(one.document.id) == FOLDERS[0]]
    write(EmbeddedStore(index), own, embedder=HashEmbedder(name="another"))

    with pytest.raises(IndexMismatch, match="made with another, not fake"):
        read(place)
    with pytest.raises(IndexMismatch, match="made with fake, not another"):
        publish(place, FOLDERS)


def test_a_shard_of_another_profile_is_refused(place: Path) -> None:
    write(EmbeddedStore(place / FOLDERS[2]), profile=("other", "name: other\n"))

    with pytest.raises(IndexMismatch, match=r"another profile \(other\)"):
        read(place)
    with pytest.raises(IndexMismatch, match=r"another profile \(other\)"):
        publish(place, FOLDERS)


def test_a_document_in_the_wrong_shard_is_not_published(place: Path) -> None:
    doc_id = CORPUS[0].document.id
    wrong = next(folder for folder in FOLDERS if folder != home_of(doc_id))
    write(EmbeddedStore(place / wrong), [CORPUS[0]])

    with pytest.raises(
        IndexMismatch, match=f"{doc_id} is in {wrong}, and belongs in shard {assign(doc_id, 3) + 1} of 3"
    ):
        publish(place, FOLDERS)


def test_an_index_published_while_it_is_opened_is_read_whole(place: Path) -> None:
    doc_id = CORPUS[0].document.id

    class Late(ShardedStore):
        """Publishes between reading the file and opening the shards."""

        def _entered(self, entry: ShardEntry, stack: ExitStack, access: Access) -> LocalShard:
            if not done:
                done.append(entry.folder)
                write(EmbeddedStore(place / home_of(doc_id)), [split(doc_id, "Canola is new.")])
                publish(place, FOLDERS)
            return super()._entered(entry, stack, access)

    done: list[str] = []
    with Late(place).read() as reader:
        assert reader.info.generation == 2
        assert texts(reader.search(question("new"))) == {"Canola is new."}


def test_an_open_reader_keeps_what_it_opened(place: Path) -> None:
    doc_id = CORPUS[0].document.id
    with ShardedStore(place).read() as reader:
        write(EmbeddedStore(place / home_of(doc_id)), [split(doc_id, "Canola is new.")])
        publish(place, FOLDERS)

        assert reader.info.generation == 1
        assert len(list(reader.sentences(doc_id))) == 4
        assert reader.frequencies(["new"]) == {"new": 0}
