"""What somebody with limited access sees of a served cluster equals an index that never held the other documents."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quoth.cluster.remote_store import RemoteStore
from quoth.cluster.shard_host import ShardHost
from quoth.cluster.shard_replica import ShardReplica
from quoth.errors import IndexFault, IndexUnwritable, LabelsUnsupported, ShardMissing
from quoth.stores.embedded import EmbeddedStore
from quoth.stores.embedded.generations import Layout
from quoth.stores.sharded import ShardedStore, assign
from quoth.stores.sharded import cluster_manifest as manifest
from quoth.stores.sharded.shard_protocol import ShardAccess
from quoth.stores.sharded.sharded_reader import ShardedReader
from quoth.types import EVERYTHING, Access, Query, SplitDocument
from stores.access_contract import LABELLED, AccessContract
from stores.contract import NewStore, question, write
from stores.fakes import PROFILE, HashEmbedder
from stores.shards import WrittenShards, described, write_shards
from stores.test_sharded import questions
from stores.test_visible import ACCESSES, everything_of, labelled_corpora, unlabelled

from .remote_shards import LAYOUT, Wires, dies_at, remote, wait_for

SHARDS = 3
LEGAL = Access(frozenset({"legal"}), unlabelled=False)
NOBODY = Access(frozenset(), unlabelled=True)


class ServedShards(WrittenShards):
    """Is written in its folder, and read through hosts that are new after each publication."""

    def __init__(self, place: Path) -> None:
        super().__init__(place)
        self._place = place
        self._served: dict[str, tuple[RemoteStore, Wires]] = {}

    @contextmanager
    def read(self, access: Access = EVERYTHING) -> Iterator[ShardedReader]:
        _, version = manifest.versioned(self._location)
        if version not in self._served:
            wires = Wires(self._place, SHARDS)
            self._served[version] = RemoteStore(self._place, wires, layout=LAYOUT, strict=True), wires
        with self._served[version][0].read(access) as reader:
            yield reader

    def close(self) -> None:
        super().close()
        for store, wires in self._served.values():
            store.close()
            wires.close()


class TestAccessContract(AccessContract):
    @pytest.fixture(scope="class")
    @classmethod
    def new_store(cls, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NewStore]:
        made: list[ServedShards] = []

        def new() -> ServedShards:
            made.append(ServedShards(tmp_path_factory.mktemp("index")))
            return made[-1]

        yield new
        for store in made:
            store.close()


def served(place: Path, documents: Collection[SplitDocument], *, smallest_partition: int = 4096) -> None:
    write_shards(
        place,
        documents,
        shards=SHARDS,
        embedder=HashEmbedder(),
        profile=PROFILE,
        progress=None,
        smallest_partition=smallest_partition,
    )


@settings(max_examples=8, deadline=None)
@given(
    labelled_corpora(),
    st.lists(ACCESSES, min_size=2, max_size=2),
    st.lists(questions(), min_size=6, max_size=6),
    st.sampled_from([2, 8, 4096]),
)
def test_forbidden_documents_leave_no_trace(
    documents: list[SplitDocument], accesses: list[Access], asked: list[Query], smallest_partition: int
) -> None:
    ids = [document.document.id for document in documents]
    layout = Layout(200_000, smallest_partition)
    with tempfile.TemporaryDirectory() as folder:
        served(Path(folder, "all"), documents, smallest_partition=smallest_partition)
        wires = Wires(Path(folder, "all"), SHARDS, layout=layout)
        store = RemoteStore(wires.place, wires, layout=layout, strict=True)
        for number, access in enumerate(accesses):
            never = EmbeddedStore(Path(folder, str(number)), smallest_partition=smallest_partition)
            write(never, unlabelled([document for document in documents if access.sees(document.access)]))
            with never.read() as reader:
                expected = everything_of(reader, asked, ids)
            never.close()
            for _ in range(2):  # the second time what was replied is cached
                with store.read(access) as reader:
                    assert everything_of(reader, asked, ids) == expected
        store.close()
        wires.close()


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("labelled")
    served(place, LABELLED)
    return place


def test_what_is_visible_is_counted_once(labelled: Path) -> None:
    wires = Wires(labelled, SHARDS)
    with remote(wires) as (_, store):
        for labels in ({"legal"}, {"legal", "a team without documents"}):
            with store.read(Access(frozenset(labels), unlabelled=False)) as reader:
                assert [info.id for info in reader.documents()] == ["minutes.md", "pay.md"]
        assert [method for _, method in wires.calls].count("view") == SHARDS
        assert [method for _, method in wires.calls].count("documents") == SHARDS


def test_nothing_that_was_replied_to_one_is_given_to_another(labelled: Path) -> None:
    query = question("canola", "merger", vector="canola merger")
    with remote(Wires(labelled, SHARDS)) as (_, store):
        with store.read() as reader:
            hidden = next(iter(reader.sentences("pay.md")))
            assert reader.document("pay.md") is not None
            assert reader.neighbours([hidden]) != [(None, None)]
            assert len(reader.search(query).items) > 1
        with store.read(NOBODY) as reader:
            assert reader.document("pay.md") is None
            assert reader.documents(["pay.md"]) == ()
            assert reader.neighbours([hidden]) == [(None, None)]
            assert len(reader.search(query).items) == 1


@pytest.mark.parametrize("method", ["labels", "view", "search"])
def test_without_a_shard_the_others_show_what_is_visible_in_them(method: str, labelled: Path, tmp_path: Path) -> None:
    lost = assign("open.md", SHARDS)
    access = Access(frozenset({"legal"}), unlabelled=True)
    visible = [
        document
        for document in LABELLED
        if assign(document.document.id, SHARDS) != lost and access.sees(document.access)
    ]
    never = EmbeddedStore(tmp_path / "never")
    write(never, unlabelled(visible))
    query = question("merger", "canola", vector="The merger")
    wires = Wires(labelled, SHARDS)
    wires.faults[lost] = dies_at(method)
    with remote(wires) as (quoth, _), never.read() as expected:
        seen = quoth.seen_by(access)
        assert described(seen.read(lambda reader: reader.search(query))) == described(expected.search(query))
        assert seen.info == expected.info
        assert seen.read(lambda reader: reader.missing) == (f"shard {lost + 1} of {SHARDS}",)


def test_a_host_that_does_not_know_limits_gives_nothing(labelled: Path) -> None:
    wires = Wires(labelled, SHARDS)

    def earlier(method: str) -> None:
        if method in ("labels", "view"):
            raise IndexFault(f"KeyError: {method}", hint="")

    with remote(wires) as (_, store):
        with store.read() as reader:
            assert len(reader.documents()) == len(LABELLED)
        wires.faults |= dict.fromkeys(range(SHARDS), earlier)
        with pytest.raises(ShardMissing), store.read(LEGAL):
            pass


@pytest.mark.parametrize(
    ("limited", "method"),
    [
        (ShardAccess(EVERYTHING, 0), "documents"),
        (None, "documents"),
        (ShardAccess(LEGAL, 0), "info"),
        (ShardAccess(LEGAL, 0), "limited"),
        (ShardAccess(LEGAL, 0), "no such method"),
    ],
)
def test_a_host_refuses_what_is_no_limit(limited: ShardAccess | None, method: str, labelled: Path) -> None:
    host = ShardHost(str(labelled), cache=labelled / "cache", layout=LAYOUT)
    entry = manifest.read(labelled).shards[0]
    with pytest.raises(LabelsUnsupported):
        host.call(entry, "limited", (limited, method, (None,)))
    assert (
        ShardReplica(str(labelled), 0, 1, cache=labelled / "cache", layout=LAYOUT)
        .call_entry(entry, "limited", (limited, method, (None,)))
        .kind
        == "refused"
    )
    host.close()


def test_labels_that_are_set_come_into_service(tmp_path: Path) -> None:
    served(tmp_path, LABELLED)
    with remote(Wires(tmp_path, SHARDS)) as (quoth, store):
        nobody = quoth.seen_by(NOBODY)
        before = quoth.info
        assert [info.id for info in nobody.documents()] == ["open.md"]
        with pytest.raises(IndexUnwritable, match="served by a cluster"):
            quoth.relabel({"open.md": ["legal"]})
        ShardedStore(tmp_path).relabel({"open.md": ["legal"], "pay.md": []})
        wait_for(lambda: [info.id for info in nobody.documents()] == ["pay.md"])
        assert (quoth.info, store.trouble) == (before, "")
        assert [info.access for info in quoth.documents()] == [("board", "legal"), ("legal",), ()]
