"""What somebody with limited access sees equals an index that never held the other documents."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quoth.errors import CorpusError, IndexUnwritable
from quoth.protocols import Reader, Store
from quoth.stores.embedded import EmbeddedStore
from quoth.stores.sharded import ShardedStore
from quoth.types import Access, Query, SplitDocument

from .contract import question, write
from .fakes import PROFILE, HashEmbedder, split
from .shards import described, write_shards
from .test_sharded import WORDS, corpora, questions

LABELS = ("board", "legal", "hr")
ACCESSES = st.builds(Access, st.frozensets(st.sampled_from(LABELS)), st.booleans())
TERMS = [*WORDS, "unheard", "lime soil", "Straße", "大学", "生"]


@st.composite
def labelled_corpora(draw: st.DrawFn) -> list[SplitDocument]:
    """Corpora whose documents have labels, and some none."""
    labels = st.frozensets(st.sampled_from(LABELS), max_size=2).map(lambda some: tuple(sorted(some)))
    return [replace(document, access=draw(labels)) for document in draw(corpora())]


def unlabelled(documents: Sequence[SplitDocument]) -> list[SplitDocument]:
    return [replace(document, access=()) for document in documents]


def everything_of(reader: Reader, asked: Sequence[Query], ids: Collection[str]) -> list[object]:
    """All that a reader gives, ready to be compared."""
    found = [reader.search(query) for query in asked]
    first = [next(iter(reader.sentences(doc_id)), None) for doc_id in sorted(ids)]
    return [
        reader.info,
        reader.missing,
        [(described(candidates), candidates.vectors.tobytes()) for candidates in found],
        reader.frequencies(TERMS),
        reader.documents(),
        reader.documents(ids),
        list(reader.texts(ids)),
        [(reader.document(doc_id), reader.passages(doc_id), reader.page(doc_id, 1)) for doc_id in sorted(ids)],
        [list(reader.sentences(doc_id)) for doc_id in sorted(ids)],
        [reader.vectors(doc_id).tobytes() for doc_id in sorted(ids)],
        reader.neighbours([sentence for sentence in first if sentence]),
    ]


def stores(place: Path, documents: Sequence[SplitDocument], *, smallest_partition: int, faiss: bool) -> list[Store]:
    """The documents in one index, and in three shards."""
    layout = {"smallest_partition": smallest_partition, "faiss_threshold": 2 if faiss else 200_000}
    one = EmbeddedStore(place / "one", **layout)
    write(one, documents)
    write_shards(
        place / "several",
        documents,
        shards=3,
        embedder=HashEmbedder(),
        profile=PROFILE,
        progress=None,
        smallest_partition=smallest_partition,
    )
    return [one, ShardedStore(place / "several", smallest_partition=smallest_partition)]


@settings(max_examples=16, deadline=None)
@given(
    labelled_corpora(),
    st.lists(ACCESSES, min_size=2, max_size=2),
    st.lists(questions(), min_size=6, max_size=6),
    st.sampled_from([2, 8, 4096]),
    st.booleans(),
)
def test_forbidden_documents_leave_no_trace(
    documents: list[SplitDocument],
    accesses: list[Access],
    asked: list[Query],
    smallest_partition: int,
    faiss: bool,
) -> None:
    ids = [document.document.id for document in documents]
    with tempfile.TemporaryDirectory() as folder:
        held = stores(Path(folder, "all"), documents, smallest_partition=smallest_partition, faiss=faiss)
        for number, access in enumerate(accesses):
            visible = unlabelled([document for document in documents if access.sees(document.access)])
            never = EmbeddedStore(Path(folder, str(number)), smallest_partition=smallest_partition)
            write(never, visible)
            with never.read() as reader:
                expected = everything_of(reader, asked, ids)
            for store in held:
                with store.read(access) as reader:
                    assert everything_of(reader, asked, ids) == expected
                store.close()
            never.close()


def test_a_view_of_many_vectors_compares_every_visible_one(tmp_path: Path) -> None:
    pytest.importorskip("faiss")
    documents = [replace(split(f"{number}.md", f"Topic {number} here."), access=LABELS[:1]) for number in range(60)]
    hidden = [replace(split(f"h{number}.md", f"Topic {number} there."), access=LABELS[1:2]) for number in range(60)]
    store, never = EmbeddedStore(tmp_path / "all", faiss_threshold=2), EmbeddedStore(tmp_path / "never")
    write(store, [*documents, *hidden])
    write(never, unlabelled(documents))
    query = question(vector="Topic 7 here.", candidates=20)

    with store.read(Access(frozenset(LABELS[:1]), unlabelled=False)) as reader, never.read() as expected:
        assert described(reader.search(query)) == described(expected.search(query))


def test_people_who_see_the_same_share_what_was_counted(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path)
    write(store, [replace(split("a.md", "Board."), access=("board",)), split("b.md", "All.")])

    def seen(*labels: str) -> object:
        with store.read_part(Access(frozenset(labels), unlabelled=True)) as reader:
            return reader.visible

    assert seen("board") is seen("board", "a team without documents")
    assert seen("board") is not seen()
    before = seen("board")
    store.relabel({"b.md": ["board"]})
    assert seen("board") is not before


def test_labels_set_in_shards_are_published_all_or_none(tmp_path: Path) -> None:
    labelled = [replace(split(f"{number}.md", "Sow."), access=("hr",)) for number in range(6)]
    (_, several) = stores(tmp_path, labelled, smallest_partition=8, faiss=False)
    files = {path: path.read_bytes() for path in (tmp_path / "several").rglob("*.db")}
    manifest = tmp_path / "several/cluster.json"
    before = manifest.read_bytes()

    with pytest.raises(CorpusError, match=r"no\.md"):
        several.relabel({"0.md": ["board"], "1.md": ["board"], "no.md": ["board"]})
    assert manifest.read_bytes() == before
    several.relabel({f"{number}.md": ["board"] for number in range(6)})
    several.relabel({"0.md": []})
    assert {path: path.read_bytes() for path in files} == files  # only the manifest is another
    assert json.loads(manifest.read_bytes())["format"] == 3  # versions that do not know these labels refuse it
    with several.read(Access(frozenset({"board"}), unlabelled=False)) as reader:
        assert len(reader.documents()) == 5
    with several.read(Access(frozenset({"hr"}), unlabelled=True)) as reader:
        assert [info.id for info in reader.documents()] == ["0.md"]


def test_labels_cannot_be_set_in_object_storage() -> None:
    with pytest.raises(IndexUnwritable, match="object storage"):
        ShardedStore("s3://bucket/index").relabel({"a.md": ["board"]})
