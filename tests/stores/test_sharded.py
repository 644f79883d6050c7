"""An index of several shards answers as one index of the same documents."""

from __future__ import annotations

import pickle
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quoth.errors import IndexUnwritable
from quoth.stores.embedded.generations import partition_hash
from quoth.stores.sharded import ShardedStore, assign
from quoth.stores.sharded import sharded_reader as merge
from quoth.stores.sharded.shard_protocol import BoundedHit, ScoredHit, TieBreak
from quoth.types import NO_FILTERS, Filters, Query, SplitDocument

from .access_contract import AccessContract
from .contract import CORPUS, NewStore, StoreContract, question, search
from .fakes import PROFILE, HashEmbedder, metadata, split
from .shards import WrittenShards, both, described

_Given = TypeVar("_Given")


class TestContract(StoreContract):
    """What concerns one write that nobody may notice half of is not for shards, which are published one by one."""

    test_repeated_texts_are_embedded_once = None  # type: ignore[assignment]
    test_vectors_of_two_models_never_mix = None  # type: ignore[assignment]
    test_progress_counts_what_is_embedded = None  # type: ignore[assignment]
    test_an_error_in_the_documents_publishes_nothing = None  # type: ignore[assignment]
    test_threads_search_while_generations_change = None  # type: ignore[assignment]

    @pytest.fixture(scope="class")
    @classmethod
    def new_store(cls, tmp_path_factory: pytest.TempPathFactory) -> NewStore:
        return lambda: WrittenShards(tmp_path_factory.mktemp("index"))


class TestAccessContract(AccessContract):
    @pytest.fixture(scope="class")
    @classmethod
    def new_store(cls, tmp_path_factory: pytest.TempPathFactory) -> NewStore:
        return lambda: WrittenShards(tmp_path_factory.mktemp("index"))


# Documents


def test_a_document_is_always_in_the_same_shard() -> None:
    assert [assign(f"guides/{number}.md", 4) for number in range(8)] == [2, 3, 2, 0, 2, 1, 0, 3]
    assert assign("été/土壤.md", 7) == 5
    assert assign("\ud800", 5) == assign("?", 5)


def test_documents_are_spread_evenly_over_the_shards_and_over_the_parts_of_each() -> None:
    ids = [f"{number}.md" for number in range(4000)]
    for shards in (2, 3, 4, 8):
        spread = Counter((assign(one, shards), partition_hash(one) % 4) for one in ids)

        assert len(spread) == 4 * shards
        assert max(spread.values()) < 1.4 * len(ids) / (4 * shards)


def test_the_whole_describes_itself_as_one_index_would(tmp_path: Path) -> None:
    one, several = both(tmp_path, CORPUS, shards=3, smallest_partition=4096)

    with one.read() as alone, several.read() as together:
        assert together.info == alone.info
        assert together.documents() == alone.documents()
        assert together.documents(["empty.md", "no.md"]) == alone.documents(["empty.md", "no.md"])
        assert together.documents([]) == ()
    assert several.stored_documents() == one.stored_documents()
    assert several.kind == one.kind
    assert several.location == str(tmp_path / "several")
    assert several.size() > 0
    assert several.published() == pytest.approx((tmp_path / "several/cluster.json").stat().st_mtime)
    several.close()
    assert len(search(several, question("canola")).items) == 2  # it can be used again


def test_it_cannot_be_written_as_a_whole(tmp_path: Path) -> None:
    _, several = both(tmp_path, CORPUS, shards=2, smallest_partition=4096)

    with pytest.raises(IndexUnwritable, match="made of shards") as refused:
        several.write([], remove=(), embedder=HashEmbedder(), profile=PROFILE, progress=None)
    assert refused.value.hint


# Search


WORDS = ("soil", "lime", "canola", "the", "rates", "kg/ha", "6.0-7.0", "e-mail", "wheat", "plants", "Straßen", "大学生")

sentences = st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join)


@st.composite
def corpora(draw: st.DrawFn) -> list[SplitDocument]:
    """Up to nine documents, of which some say the same."""
    documents = []
    for number in range(draw(st.integers(1, 9))):
        texts = draw(st.lists(sentences, max_size=8))
        tags = [{"crop": ("canola",)} if place % 3 == 0 else {} for place in range(len(texts))]
        about = replace(metadata(), language=draw(st.sampled_from([None, "en", "de", "zh"])))
        documents.append(split(f"{number}.md", *texts, tags=tags, about=about))
    return documents


def questions() -> st.SearchStrategy[Query]:
    words = st.sampled_from([*WORDS, "unheard", "lime soil", "Straße", "大学"])
    return st.builds(
        Query,
        vector=st.none() | st.sampled_from(WORDS).map(lambda word: HashEmbedder().embed([word])[0]),
        terms=st.lists(st.lists(words, min_size=1, max_size=3).map(tuple), max_size=6).map(tuple),
        candidates=st.integers(0, 8),
        filters=st.sampled_from(
            [
                NO_FILTERS,
                NO_FILTERS,
                Filters(("1.md", "4.md"), {}, (), None, None),
                Filters((), {"crop": ("canola",)}, (), None, None),
            ]
        ),
    )


@settings(max_examples=16, deadline=None)
@given(corpora(), st.integers(1, 5), st.lists(questions(), min_size=8, max_size=8), st.sampled_from([2, 8, 4096]))
def test_the_candidates_are_those_of_one_index(
    documents: list[SplitDocument], shards: int, asked: list[Query], smallest_partition: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        one, several = both(Path(folder), documents, shards=shards, smallest_partition=smallest_partition)
        for query in asked:
            alone, together = search(one, query), search(several, query)

            assert described(together) == described(alone)
            assert np.array_equal(together.vectors, alone.vectors)
        with one.read() as reader, several.read() as readers:
            terms = [*WORDS, "unheard", "lime soil", "Straße", "大学", "生"]
            assert readers.frequencies(terms) == reader.frequencies(terms)
        one.close()
        several.close()


def test_scores_are_those_of_one_index_where_the_logarithm_is_rounded_either_way(tmp_path: Path) -> None:
    """Of 18 sentences 6 hold `plants`: the C library's logarithm in single precision is not the nearest number."""
    texts = (
        "soil soil; soil soil e-mail soil plants soil kg/ha soil soil; kg/ha; kg/ha; canola; soil soil",
        "soil e-mail; soil soil soil; plants soil soil soil wheat soil the soil soil; soil soil soil plants the",
        "soil canola soil 6.0-7.0 soil 6.0-7.0 the e-mail soil; 6.0-7.0 6.0-7.0 soil soil soil soil soil soil soil",
        "rates lime soil soil; soil soil soil soil; 6.0-7.0 plants; 6.0-7.0 soil kg/ha plants",
        "e-mail soil soil e-mail soil soil soil soil kg/ha; soil wheat soil 6.0-7.0 soil e-mail soil 6.0-7.0 plants",
    )
    documents = [split(f"{number}.md", *text.split("; ")) for number, text in enumerate(texts)]
    one, several = both(tmp_path, documents, shards=2, smallest_partition=2)
    terms = (("wheat", "6.0-7.0"), ("wheat",), ("soil",), ("unheard", "wheat", "plants"), ("plants",))
    query = Query(vector=None, terms=terms, candidates=18, filters=NO_FILTERS)

    assert described(search(several, query)) == described(search(one, query))


def test_equal_scores_at_the_cut_are_settled_as_in_one_index(tmp_path: Path) -> None:
    documents = [split(f"{number}.md", *["Same."] * 7) for number in range(24)]
    one, several = both(tmp_path, documents, shards=4, smallest_partition=16)  # eight parts in one, two in each of four

    for count in (1, 5, 20, 60, 167, 168, 200):
        query = question("same", vector="Same.", candidates=count)
        assert described(search(several, query)) == described(search(one, query))


def test_what_only_seems_worse_in_its_shard_is_not_missed(tmp_path: Path) -> None:
    # In a shard of short sentences a long one looks longer than it is among all: tantivy ranks it too low there.
    ids = [f"{number}.md" for number in range(400)]
    short = [one for one in ids if assign(one, 2) == 0][:40]
    long = [one for one in ids if assign(one, 2) == 1][:40]
    filler = " ".join(f"word{number}" for number in range(30))
    documents = [split(one, f"lime {number}", f"soil lime lime {filler}") for number, one in enumerate(short)]
    documents += [split(one, f"soil {number} {filler} {filler}") for number, one in enumerate(long)]
    one, several = both(tmp_path, documents, shards=2, smallest_partition=4096)

    for count in (1, 10, 39, 41, 79, 100):
        query = question("lime", "soil", candidates=count)
        assert described(search(several, query)) == described(search(one, query))


def test_more_hits_than_the_first_look_brings_are_all_weighed(tmp_path: Path) -> None:
    documents = [split(f"{number}.md", *[f"soil {'x ' * (place % 5)}" for place in range(60)]) for number in range(12)]
    one, several = both(tmp_path, documents, shards=3, smallest_partition=64)

    query = question("soil", candidates=5)
    assert described(search(several, query)) == described(search(one, query))


def test_a_shard_without_documents_is_no_harm(tmp_path: Path) -> None:
    one, several = both(tmp_path, CORPUS[:1], shards=5, smallest_partition=4096)

    query = question("canola", "starter", vector="canola")
    assert described(search(several, query)) == described(search(one, query))


def test_shards_may_be_asked_at_once(tmp_path: Path) -> None:
    one, _ = both(tmp_path, CORPUS, shards=3, smallest_partition=4096)
    asked_in: set[int] = set()
    with ThreadPoolExecutor(3) as pool:

        def at_once(ask: Callable[[int], _Given], shards: Sequence[int]) -> list[_Given]:
            asked_in.update(shards)
            return list(pool.map(ask, shards))

        several = ShardedStore(tmp_path / "several", each=at_once)
        query = question("canola", "committee", vector="canola grows best", candidates=2)
        assert described(search(several, query)) == described(search(one, query))
    assert asked_in == {0, 1, 2}


def test_only_the_shards_of_the_documents_asked_for_are_searched(tmp_path: Path) -> None:
    both(tmp_path, CORPUS, shards=3, smallest_partition=4096)
    asked: list[Sequence[int]] = []

    def noted(ask: Callable[[int], _Given], shards: Sequence[int]) -> list[_Given]:
        asked.append(list(shards))
        return [ask(shard) for shard in shards]

    search(
        ShardedStore(tmp_path / "several", each=noted),
        question("canola", filters=Filters(("canola/guide.md",), {}, (), None, None)),
    )
    home = assign("canola/guide.md", 3)
    assert asked == [[0, 1, 2], [home], [home]]  # words are counted everywhere


def test_what_shards_are_asked_and_give_can_be_sent_elsewhere(tmp_path: Path) -> None:
    both(tmp_path, CORPUS, shards=3, smallest_partition=4096)
    sent = 0

    def by_post(ask: Callable[[int], _Given], shards: Sequence[int]) -> list[_Given]:
        nonlocal sent
        given_back = []
        for shard in shards:
            content = pickle.dumps(ask(shard))
            sent += len(content)
            given_back.append(pickle.loads(content))  # noqa: S301  made above
        return given_back

    query = question("canola", "committee", vector="canola grows best", candidates=2)
    several = ShardedStore(tmp_path / "several", each=by_post)
    assert described(search(several, query)) == described(search(ShardedStore(tmp_path / "several"), query))
    assert sent > 0


# The contest by bounds


def test_bounds_settle_what_they_can() -> None:
    hits = [
        (0, BoundedHit(1, 0.8, 0.9)),
        (1, BoundedHit(1, 0.5, 0.6)),
        (1, BoundedHit(2, 0.55, 0.58)),
        (0, BoundedHit(2, 0.1, 0.2)),
    ]

    told = merge.contest(hits, 2)
    assert (told.certain, told.open, told.left) == (((0, 1),), ((1, 1), (1, 2)), 1)
    told = merge.contest(hits, 3)
    assert (set(told.certain), told.open) == ({(0, 1), (1, 1), (1, 2)}, ())
    assert set(merge.contest(hits, 9).certain) == {(shard, hit.row) for shard, hit in hits}


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 14), st.integers(0, 4)), max_size=90), st.integers(1, 6))
def test_the_contest_never_loses_a_winner(drawn: list[tuple[int, int, int]], count: int) -> None:
    scored = [
        (shard, ScoredHit(row, min(1.0, true / 10), true / 10, TieBreak(row % 3, "a", row)))
        for row, (shard, true, _) in enumerate(drawn)
    ]
    hits = [
        (shard, BoundedHit(row, (true - slack) / 10, (true + slack) / 10))
        for row, (shard, true, slack) in enumerate(drawn)
    ]
    told = merge.contest(hits, count)
    left = merge.best([one for one in scored if (one[0], one[1].row) in told.open], told.left)

    assert {*told.certain, *left} == merge.best(scored, count).keys()
