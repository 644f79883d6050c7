"""What every store that keeps labels must do. A test module subclasses `AccessContract` and gives `new_store`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from quoth.errors import CorpusError
from quoth.types import Access, SplitDocument

from .contract import NewStore, question, write
from .fakes import PROFILE, HashEmbedder, split

LABELLED = (
    replace(split("minutes.md", "The merger with the canola mill is near."), access=("board", "legal")),
    split("open.md", "Canola is grown."),
    replace(split("pay.md", "Nobody is paid in canola.", "The merger costs jobs."), access=("legal",)),
)


class AccessContract:
    @pytest.fixture(scope="class")
    @classmethod
    def new_store(cls) -> NewStore:
        """Make an empty store; each call makes another."""
        raise NotImplementedError

    def test_who_shares_a_label_sees_a_document(self, new_store: NewStore) -> None:
        store = new_store()
        write(store, LABELLED)

        def seen(*labels: str, unlabelled: bool = True) -> list[str]:
            with store.read(Access(frozenset(labels), unlabelled)) as reader:
                return [info.id for info in reader.documents()]

        assert seen() == ["open.md"]
        assert seen(unlabelled=False) == []
        assert seen("Board") == ["minutes.md", "open.md"]
        assert seen("legal", "nobody's", unlabelled=False) == ["minutes.md", "pay.md"]
        with store.read() as reader:
            assert [info.access for info in reader.documents()] == [("board", "legal"), (), ("legal",)]
        with store.read(Access(frozenset({"board"}), unlabelled=True)) as reader:
            assert [info.access for info in reader.documents()] == [(), ()]

    def test_what_is_not_seen_is_not_there(self, new_store: NewStore) -> None:
        store, never = new_store(), new_store()
        write(store, LABELLED)
        write(never, [LABELLED[1]])
        query = question("canola", "merger", vector="canola merger")
        with store.read(Access(frozenset(), unlabelled=True)) as limited, never.read() as reader:
            (sentence,) = limited.search(query).items
            (expected,) = reader.search(query).items
            assert sentence == expected
            assert limited.frequencies(["canola", "merger"]) == {"canola": 1, "merger": 0}
            assert limited.document("minutes.md") is None
            assert list(limited.sentences("minutes.md")) == []
            assert limited.passages("minutes.md") == ()
            assert limited.page("minutes.md", 1) is None
            assert list(limited.texts(["minutes.md"])) == []
            assert limited.vectors("minutes.md").shape == (0, limited.info.model.dimension)
            assert limited.info == replace(reader.info, generation=1)
            hidden = LABELLED[0].sentences[0]
            assert limited.neighbours([hidden]) == [(None, None)]

    def test_labels_are_no_part_of_the_content(self, new_store: NewStore) -> None:
        labelled, plain = new_store(), new_store()

        assert write(labelled, LABELLED) == write(plain, [replace(split, access=()) for split in LABELLED])

    def test_labels_are_replaced_without_a_new_generation(self, new_store: NewStore) -> None:
        store = new_store()
        before = write(store, LABELLED)
        board = Access(frozenset({"board"}), unlabelled=False)
        with store.read(board) as reader:
            store.relabel({"minutes.md": ["Legal "], "open.md": ["board", "BOARD"]})
            assert [info.id for info in reader.documents()] == ["minutes.md"]  # an open reader does not change

        with store.read(board) as reader:
            assert [info.id for info in reader.documents()] == ["open.md"]
        with store.read() as reader:
            assert reader.info == before
        assert {doc_id: known.access for doc_id, known in store.stored_documents().items()} == {
            "minutes.md": ("legal",),
            "open.md": ("board",),
            "pay.md": ("legal",),
        }

    def test_no_label_is_replaced_when_one_of_the_documents_is_unknown(self, new_store: NewStore) -> None:
        store = new_store()
        write(store, LABELLED)
        before = store.stored_documents()

        with pytest.raises(CorpusError, match=r"no\.md"):
            store.relabel({"minutes.md": [], "no.md": ["board"]})
        assert store.stored_documents() == before

    def test_labels_that_somebody_set_stay_until_the_files_state_others(self, new_store: NewStore) -> None:
        store = new_store()
        write(store, LABELLED)
        store.relabel({"minutes.md": ["ceo"], "open.md": ["hr"]})

        changed = split("minutes.md", "The merger is off.")
        write(store, [replace(changed, access=("board", "legal")), split("open.md", "Canola is an oil seed.")])
        stored = store.stored_documents()
        assert (stored["minutes.md"].access, stored["minutes.md"].stated_access) == (("ceo",), ("board", "legal"))
        assert stored["open.md"].access == ("hr",)

        write(store, [replace(changed, access=("board",))])
        assert store.stored_documents()["minutes.md"].access == ("board",)

    def test_a_renamed_document_keeps_the_labels_that_somebody_set(self, new_store: NewStore) -> None:
        store = new_store()
        write(store, LABELLED)
        store.relabel({"open.md": ["hr"]})

        source = store.stored_documents()["open.md"].source_sha256
        moved = split("moved5.md", "Canola is grown.")  # in shards it belongs where the other one is
        write(store, [replace(moved, document=replace(moved.document, source_sha256=source))], remove=["open.md"])

        assert store.stored_documents()["moved5.md"].access == ("hr",)

    def test_other_labels_alone_are_no_new_generation(self, new_store: NewStore) -> None:
        store = new_store()
        before = write(store, LABELLED)
        stated: dict[str, tuple[str, ...]] = {}

        def none_changed() -> Iterable[SplitDocument]:
            stated["open.md"] = ("hr",)  # as files are read
            yield from ()

        after = store.write(
            none_changed(), remove=(), embedder=HashEmbedder(), profile=PROFILE, progress=None, labels=stated
        )

        assert after == before
        assert store.stored_documents()["open.md"].access == ("hr",)
        assert store.stored_documents()["open.md"].stated_access == ("hr",)
