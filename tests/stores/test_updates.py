"""An index that was updated, against one that was built afresh from the same documents."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quoth.stores.embedded import EmbeddedStore
from quoth.types import NO_FILTERS, Filters, Query, SplitDocument

from .child import described
from .contract import question, write
from .fakes import HashEmbedder, split

TESTS = Path(__file__).parent.parent
TOPICS = ("soil", "lime", "canola", "frost", "seed", "rye")
SMALL = {"smallest_partition": 4}
"""So that a few sentences make several shards."""
LAYOUTS = {"exact": SMALL, "faiss": {**SMALL, "faiss_threshold": 2}, "one shard": {}}


def document(doc_id: str, seed: int) -> SplitDocument:
    """Sentences on a few topics; many are the same in two documents, and so their scores are equal."""
    drawn = random.Random(seed)  # noqa: S311
    texts = [" ".join(drawn.choices(TOPICS, k=drawn.randint(1, 4))) + "." for _ in range(drawn.randint(0, 12))]
    tags = [{"crop": (drawn.choice(TOPICS),)} if drawn.random() < 0.5 else {} for _ in texts]
    return split(doc_id, *texts, tags=tags)


def answers(store: EmbeddedStore) -> list[object]:
    """Everything that a search can show, exactly."""
    only = Filters((), {"crop": ("soil", "rye")}, (), None, None)
    queries = [question(*terms, vector=" ".join(terms), candidates=5) for terms in (TOPICS[:2], TOPICS[2:], ("rye",))]
    queries += [question(*TOPICS, vector="frost seed", candidates=7, filters=only)]
    queries += [Query(HashEmbedder().embed(["canola"])[0], (), 3, NO_FILTERS)]
    with store.read() as reader:
        found = [reader.search(query) for query in queries]
        return [
            reader.info.digest,
            [(one.items, one.vectors.tobytes()) for one in found],
            reader.frequencies([*TOPICS, "soil lime"]),
            [(info, list(reader.sentences(info.id)), reader.passages(info.id)) for info in reader.documents()],
            [reader.vectors(info.id).tobytes() for info in reader.documents()],
        ]


changes = st.lists(
    st.lists(
        st.tuples(st.sampled_from(["put", "remove", "rename"]), st.integers(0, 9), st.integers(0, 50)),
        min_size=1,
        max_size=4,
    ),
    min_size=1,
    max_size=3,
)


def apply(held: dict[str, int], batch: list[tuple[str, int, int]]) -> None:
    for what, number, seed in batch:
        doc_id = f"{number}.md"
        if what == "put":
            held[doc_id] = seed
        elif what == "remove":
            held.pop(doc_id, None)
        elif doc_id in held:
            held[f"{number}-renamed.md"] = held.pop(doc_id)


@pytest.mark.parametrize("layout", LAYOUTS)
@settings(max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=st.dictionaries(st.integers(0, 9), st.integers(0, 50), min_size=2), batches=changes)
def test_an_updated_index_answers_as_one_built_afresh(
    tmp_path_factory: pytest.TempPathFactory,
    layout: str,
    first: Mapping[int, int],
    batches: list[list[tuple[str, int, int]]],
) -> None:
    if layout == "faiss":
        pytest.importorskip("faiss")
    held = {f"{number}.md": seed for number, seed in first.items()}
    updated = EmbeddedStore(tmp_path_factory.mktemp("updated"), **LAYOUTS[layout])
    write(updated, (document(doc_id, seed) for doc_id, seed in held.items()))
    for batch in batches:
        before = dict(held)
        apply(held, batch)
        put = [document(doc_id, seed) for doc_id, seed in held.items() if before.get(doc_id) != seed]
        write(updated, put, remove=sorted(before.keys() - held.keys()))

    fresh = EmbeddedStore(tmp_path_factory.mktemp("fresh"), **LAYOUTS[layout])
    write(fresh, (document(doc_id, seed) for doc_id, seed in sorted(held.items())))
    assert answers(updated) == answers(fresh)


def test_a_process_that_has_read_before_answers_as_one_that_starts_now(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path / "index", **SMALL)  # keeps what it has loaded of unchanged shards
    for number in range(12):
        write(store, [document(f"{number % 5}.md", number)], remove=[f"{(number + 2) % 5}.md"])
        assert answers(store) == answers(EmbeddedStore(tmp_path / "index", **SMALL))


def test_however_the_sentences_are_divided_the_scores_are_the_same(tmp_path: Path) -> None:
    asked = question(*TOPICS[:3], vector="frost seed", candidates=1000)
    found = []
    for size in (1, 4, 16, 4096):
        store = EmbeddedStore(tmp_path / str(size), smallest_partition=size)
        write(store, [document(f"{number}.md", number) for number in range(20)])
        with store.read() as reader:
            found.append(reader.search(asked))

    assert len({len(list((tmp_path / str(size)).glob("generations/*/shards/*"))) for size in (1, 4, 16, 4096)}) == 4
    assert all(other.items == found[0].items for other in found)
    assert all(np.array_equal(other.vectors, found[0].vectors) for other in found)


def parts(index: Path, generation: int) -> dict[str, int]:
    """The inode of every sealed file."""
    folder = index / "generations" / f"{generation:06d}"
    listed = json.loads((folder / "manifest.json").read_text())["parts"]
    return {name: (folder / name).stat().st_ino for name in listed}


def test_what_did_not_change_is_neither_built_nor_written_again(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path, **SMALL)
    write(store, [document(f"{number}.md", number) for number in range(40)])
    embedder = HashEmbedder()
    write(store, [split("7.md", "A sentence that was not there before.")], embedder=embedder)

    before, after = parts(tmp_path, 1), parts(tmp_path, 2)
    anew = {name for name, inode in after.items() if before.get(name) != inode}
    shards = {name.split("/")[1] for name in anew if name.startswith("shards/")}
    segments = {name.split(".")[0] for name in anew if name.startswith("lexical/") and not name.endswith(".json")}
    assert len({name.split("/")[1] for name in after if name.startswith("shards/")}) >= 4
    assert len(shards) == len(segments) == 1
    assert embedder.embedded == ["A sentence that was not there before."]


def test_a_shard_that_is_not_as_it_was_written_is_built_anew(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path / "index", **SMALL)
    documents = [document(f"{number}.md", number) for number in range(40)]
    write(store, documents)
    folder = tmp_path / "index" / "generations" / "000001"
    cut = max(folder.glob("shards/*/embeddings.npy"), key=lambda path: path.stat().st_size)
    os.truncate(cut, 200)
    gone = max((folder / "lexical").glob("*.term"), key=lambda path: path.stat().st_size)
    gone.unlink()
    new = split("new.md", "A new sentence.")
    write(store, [new])

    fresh = EmbeddedStore(tmp_path / "fresh", **SMALL)
    write(fresh, [*documents, new])
    assert answers(EmbeddedStore(tmp_path / "index", **SMALL)) == answers(fresh)


def test_links_are_not_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(1, "links are not permitted here")

    monkeypatch.setattr(os, "link", refused)
    store = EmbeddedStore(tmp_path / "index", **SMALL)
    documents = [document(f"{number}.md", number) for number in range(40)]
    write(store, documents[:-1])
    write(store, documents[-1:])

    fresh = EmbeddedStore(tmp_path / "fresh", **SMALL)
    write(fresh, documents)
    assert answers(EmbeddedStore(tmp_path / "index", **SMALL)) == answers(fresh)


# Another process that goes on asking


def versions() -> Iterator[SplitDocument]:
    yield from (document("changing.md", seed) for seed in range(100, 112))


def test_another_process_goes_on_asking_and_gets_one_generation_or_the_next(tmp_path: Path) -> None:
    place = tmp_path / "index"
    store = EmbeddedStore(place, **SMALL)
    steady = [document(f"{number}.md", number) for number in range(8)]
    write(store, steady)
    expected = [described(store)]
    with subprocess.Popen(
        [sys.executable, "-m", f"{__package__}.child", "ask_until_told", str(place)],
        cwd=TESTS,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as asking:
        assert asking.stdin is not None
        assert asking.stdout is not None
        heard = [asking.stdout.readline()]  # it has begun
        for version in versions():
            write(store, [version])
            expected.append(described(store))
            heard.append(asking.stdout.readline())
        asking.stdin.close()
        heard += asking.stdout.readlines()

    assert asking.returncode == 0
    asked = [expected.index(line.rstrip("\n")) for line in heard]  # each is exactly what one generation answers
    assert asked == sorted(asked)
    assert asked[0] == 0
    assert asked[-1] == len(expected) - 1  # the question after the last update saw it
    assert len(set(asked)) > 2
    fresh = EmbeddedStore(tmp_path / "fresh", **SMALL)
    for place_in_order, version in enumerate(versions(), 1):
        write(fresh, [*steady, version])
        wanted = json.loads(described(fresh))
        assert wanted["found"] == json.loads(expected[place_in_order])["found"]
