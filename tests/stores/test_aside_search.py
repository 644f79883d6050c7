"""Search beside the text: what filters, scores and passages mean there. `contract.py` asks every store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from quoth.protocols import Reader
from quoth.stores.aside_search import LONGEST_TOKENS, MOST_EMBEDDED, AsideSearch
from quoth.stores.embedded import EmbeddedStore
from quoth.types import Filters, RegionKind, SplitDocument

from .contract import question, write
from .fakes import HashEmbedder, metadata, split

REFERENCES, BACK, MASTHEAD = RegionKind.REFERENCES, RegionKind.BACK_MATTER, RegionKind.MASTHEAD
ENTRIES = ("Lee S (2010) Volatiles of maize.", "Glick B (2014) Ethylene and waterlogging.", "Das S (2006) Tulsi.")
PAPER = split(
    "paper.pdf",
    "S. Lee wrote this in Basel.",
    "We measured ethylene in maize.",
    *ENTRIES,
    "Nobody paid for it.",
    "Nothing is declared.",
    kinds=(MASTHEAD, RegionKind.PARAGRAPH, *[REFERENCES] * 3, BACK, BACK),
    tags=({}, {}, {"crop": ("corn",)}, {}, {}, {}, {}),
    about=metadata(document_type="paper", is_binding=False),
)
OTHER = split("other.pdf", "Oke O (2001) Maize streak.", kinds=(REFERENCES,), about=metadata(document_type="thesis"))


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    store = EmbeddedStore(tmp_path / "index")
    write(store, [PAPER, OTHER])
    with store.read() as opened:
        yield opened


def found(
    reader: Reader, *terms: str, kinds: tuple[RegionKind, ...] = (REFERENCES,), filters: Filters | None = None
) -> set[str]:
    view = AsideSearch(None).view(reader, kinds)
    return {item.sentence.text for item in view.search(question(*terms, filters=filters or Filters())).items}


def test_without_kinds_the_reader_stays_as_it_is(reader: Reader) -> None:
    assert AsideSearch(None).view(reader, ()) is reader


def test_words_find_what_holds_them(reader: Reader) -> None:
    assert found(reader, "waterlogging") == {ENTRIES[1]}
    assert found(reader, "maize") == {ENTRIES[0], "Oke O (2001) Maize streak."}
    assert found(reader, "ethylene", kinds=(BACK, MASTHEAD)) == set()


@pytest.mark.parametrize(
    ("filters", "texts"),
    [
        (Filters(doc_ids="other.pdf"), {"Oke O (2001) Maize streak."}),
        (Filters(document_types="paper"), {ENTRIES[0]}),
        (Filters(is_binding=False), {ENTRIES[0]}),
        (Filters(tags={"crop": ("corn", "rye")}), {ENTRIES[0]}),
        (Filters(tags={"crop": "rye"}), set()),
        (Filters(as_of="2021-04-01"), {ENTRIES[0], "Oke O (2001) Maize streak."}),
        (Filters(as_of="2021-03-31"), set()),
    ],
)
def test_every_filter_holds(reader: Reader, filters: Filters, texts: set[str]) -> None:
    assert found(reader, "maize", filters=filters) == texts


def test_a_score_means_the_same_under_every_filter(reader: Reader) -> None:
    view = AsideSearch(None).view(reader, [REFERENCES])
    scores = [
        {item.sentence.id: item.lexical for item in view.search(question("maize", "lee", filters=filters)).items}
        for filters in (Filters(), Filters(doc_ids="paper.pdf"))
    ]

    assert scores[1].items() < scores[0].items()
    assert all(0 < score <= 1 for score in scores[0].values())


def test_meaning_finds_what_shares_no_word(reader: Reader) -> None:
    view = AsideSearch(HashEmbedder()).view(reader, [BACK])
    items = view.search(question("funding", vector="Nobody paid for it.")).items

    assert {item.found_by for item in items} == {("dense",)}
    assert max(items, key=lambda item: item.dense).sentence.text == "Nobody paid for it."


def test_back_matter_is_searched_with_its_heading(reader: Reader) -> None:
    assert found(reader, "guide", kinds=(BACK,)) == {"Nobody paid for it.", "Nothing is declared."}
    assert found(reader, "guide", kinds=(REFERENCES, MASTHEAD)) == set()


def test_counts_are_of_the_text_and_of_what_stands_beside_it(reader: Reader) -> None:
    view = AsideSearch(None).view(reader, [REFERENCES])

    assert view.frequencies(["maize", "ethylene", "rye"]) == {"maize": 3, "ethylene": 2, "rye": 0}
    assert reader.frequencies(["maize"]) == {"maize": 1}


def test_an_entry_is_a_passage_and_back_matter_a_run(reader: Reader) -> None:
    view = AsideSearch(None).view(reader, [REFERENCES, BACK])
    text = PAPER.document.text
    passages = [
        (passage.first, passage.last, text[passage.span.start : passage.span.end])
        for passage in view.passages("paper.pdf")
    ]

    assert passages == [
        *((number, number, entry) for number, entry in enumerate(ENTRIES, 2)),
        (5, 6, "Nobody paid for it.\nNothing is declared."),
    ]


def test_a_long_run_is_cut_between_sentences(tmp_path: Path) -> None:
    long = [f"Author {number} wrote {'very ' * 100}much." for number in range(20)]
    store = EmbeddedStore(tmp_path / "index")
    write(store, [split("a.pdf", *long, kinds=[BACK] * 20)])
    with store.read() as reader:
        passages = AsideSearch(None).view(reader, [BACK]).passages("a.pdf")

    assert [passage.first for passage in passages[1:]] == [passage.last + 1 for passage in passages[:-1]]
    assert (passages[0].first, passages[-1].last) == (0, 19)
    assert all(passage.tokens <= LONGEST_TOKENS for passage in passages)


def many() -> SplitDocument:
    texts = [f"Entry {number} on topic{number}." for number in range(MOST_EMBEDDED + 50)]
    return split("many.pdf", *texts, kinds=[REFERENCES] * len(texts))


def test_only_so_many_are_embedded_and_each_once(tmp_path: Path) -> None:
    store, embedder = EmbeddedStore(tmp_path / "index"), HashEmbedder()
    last = f"topic{MOST_EMBEDDED + 49}"
    write(store, [many()])
    search = AsideSearch(embedder)
    with store.read() as reader:
        view = search.view(reader, [REFERENCES])
        best = max(view.search(question(last, vector=last)).items, key=lambda item: item.lexical)
        view.search(question(last, vector=last))

    assert last in best.sentence.text
    assert len(embedder.embedded) == len(set(embedder.embedded)) == MOST_EMBEDDED


def test_a_new_generation_is_read_again(tmp_path: Path) -> None:
    store, search = EmbeddedStore(tmp_path / "index"), AsideSearch(None)
    write(store, [PAPER])
    with store.read() as reader:
        assert len(search.view(reader, [REFERENCES]).search(question("maize")).items) == 1
    write(store, [OTHER])
    with store.read() as reader:
        assert len(search.view(reader, [REFERENCES]).search(question("maize")).items) == 2


def test_an_index_without_such_parts_gives_nothing(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path / "index")
    write(store, [split("a.md", "Canola is sown.")])
    with store.read() as reader:
        view = AsideSearch(HashEmbedder()).view(reader, [REFERENCES])

        assert view.search(question("canola", vector="canola")).items == ()
        assert view.passages("a.md") == ()
