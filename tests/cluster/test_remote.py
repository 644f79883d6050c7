"""Shards behind calls: whole answers are those of one index, and partial ones say what they lack."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quoth.cluster.remote_store import RemoteStore
from quoth.cluster.shard_host import ShardHost
from quoth.errors import IndexFault, IndexMismatch, IndexUnwritable, NoIndex, ShardLost, ShardMissing
from quoth.library import Quoth
from quoth.output.render import json_line, retrieval_json
from quoth.overrides import Overrides
from quoth.search.hybrid_search import token_weights
from quoth.stores.embedded import EmbeddedStore
from quoth.stores.locations import open_location
from quoth.stores.sharded import assign
from quoth.stores.sharded import cluster_manifest as manifest
from quoth.stores.sharded.cluster_manifest import describe_shard
from quoth.types import Abstention, Filters, Query, Question, QuestionTokens, SplitDocument
from stores.fakes import PROFILE, HashEmbedder
from stores.replay import ReplayEmbedder, documents_of
from stores.shards import both, described
from stores.test_sharded import WORDS, corpora, questions

from .remote_shards import (
    CROPS,
    HASH,
    LAYOUT,
    QUESTIONS,
    Wires,
    corpus,
    dies_at,
    late_at,
    plain,
    remote,
    rewritten,
    shards_of,
    wait_for,
    waits_at,
    without_shard,
)

SHARDS = 3
LOST = assign("canola.md", SHARDS)
NAME = f"shard {LOST + 1} of {SHARDS}"
NEVER = "~"
"""For words that differ, since where a part is missing nobody knows what the corpus never mentions."""
ELSEWHERE = next(f"{crop}.md" for crop in CROPS if assign(f"{crop}.md", SHARDS) != LOST)


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> EmbeddedStore:
    return corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def published(one: EmbeddedStore, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("shards")
    shards_of(one, place, shards=SHARDS)
    return place


@pytest.fixture(scope="module")
def rest(one: EmbeddedStore, tmp_path_factory: pytest.TempPathFactory) -> EmbeddedStore:
    """One index of what is left when a shard is lost."""
    return without_shard(one, tmp_path_factory.mktemp("rest") / "index", shard=LOST, shards=SHARDS)


# Whole


def test_whole_answers_are_those_of_one_index(one: EmbeddedStore, published: Path) -> None:
    alone = Quoth(one, HASH)
    with remote(Wires(published, SHARDS)) as (several, store):
        for question in QUESTIONS:
            assert plain(several.ask(question), notes=True) == plain(alone.ask(question), notes=True)
            found, expected = several.retrieve(question), alone.retrieve(question)
            assert json_line(retrieval_json(found)) == json_line(retrieval_json(expected))
        assert several.documents() == alone.documents()
        assert several.document("flax.md") == alone.document("flax.md")
        assert several.document("no.md") is None
        assert several.sentences("flax.md") == alone.sentences("flax.md")
        assert several.passages("flax.md") == alone.passages("flax.md")
        assert several.locate("flax.md", 0, 4) == ()
        assert store.stored_documents() == one.stored_documents()
        assert store.size() > 0
        assert [(state.name, state.up) for state in store.states()] == [
            (f"shard {number} of {SHARDS}", True) for number in (1, 2, 3)
        ]
        assert store.trouble == ""


def test_what_was_said_is_not_asked_again(published: Path) -> None:
    wires = Wires(published, SHARDS)
    with remote(wires) as (quoth, _):
        first = quoth.ask(QUESTIONS[0])
        assert {"words", "search", "fetch", "around"} <= {method for _, method in wires.calls}
        wires.calls.clear()
        assert quoth.ask(QUESTIONS[0]) == first
        assert {method for _, method in wires.calls} <= {"search", "fetch", "ping"}


def test_a_question_asks_each_shard_twice(published: Path) -> None:
    wires = Wires(published, SHARDS)
    with remote(wires) as (quoth, _):
        assert quoth.info.documents == len(CROPS)
        wires.calls.clear()
        quoth.ask("Which crop is stored below any other?")
        calls = [(shard, method) for shard, method in wires.calls if method != "ping"]
        assert sorted(calls) == [(shard, method) for shard in range(SHARDS) for method in ("fetch", "search")]


@settings(max_examples=8, deadline=None)
@given(corpora(), st.lists(questions(), min_size=6, max_size=6), st.sampled_from([1, 4, 500_000]))
def test_whether_words_are_counted_here_or_there_changes_nothing(
    documents: list[SplitDocument], asked: list[Query], words: int
) -> None:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patched:
        patched.setattr("quoth.cluster.remote_store._MOST_WORDS", words)
        patched.setattr("quoth.cluster.remote_store._FEWEST_WORDS", 1)
        one, _ = both(Path(folder), documents, shards=SHARDS, smallest_partition=4096)
        wires = Wires(Path(folder) / "several", SHARDS)
        store = RemoteStore(wires.place, wires, layout=LAYOUT, strict=True)
        terms = [*WORDS, "unheard", "lime soil", "Straße", "大学"]
        with one.read() as alone, store.read() as together:
            assert together.frequencies(terms) == alone.frequencies(terms)
            for query in asked:
                found, expected = together.search(query), alone.search(query)
                assert described(found) == described(expected)
                assert np.array_equal(found.vectors, expected.vectors)
                sentences = [item.sentence for item in found.items]
                assert together.neighbours(sentences) == alone.neighbours(sentences)
        for opened in (one, store, wires):
            opened.close()


def test_it_cannot_be_written(published: Path) -> None:
    with remote(Wires(published, SHARDS)) as (_, store), pytest.raises(IndexUnwritable, match="served by a cluster"):
        store.write([], remove=(), embedder=HashEmbedder(), profile=PROFILE, progress=None)


def test_where_nothing_is_published_there_is_no_index(tmp_path: Path) -> None:
    with remote(Wires(tmp_path, 1)) as (quoth, store):
        with pytest.raises(NoIndex):
            _ = quoth.info
        assert (store.size(), store.stored_documents(), store.published(), store.states()) == (0, {}, None, ())


# A shard is lost


@pytest.mark.parametrize("way", ["dies", "is late"])
@pytest.mark.parametrize("method", ["info", "words", "search", "fetch", "documents"])
def test_without_a_shard_the_others_answer_as_one_index_and_say_so(
    method: str, way: str, published: Path, rest: EmbeddedStore
) -> None:
    wires = Wires(published, SHARDS)
    wires.faults[LOST] = dies_at(method) if way == "dies" else late_at(method)
    left = Quoth(rest, HASH)
    with remote(wires) as (quoth, store):
        if method == "documents":
            assert quoth.documents() == left.documents()
        for question in QUESTIONS:
            outcome, expected = quoth.ask(question), left.ask(question)

            said = plain(outcome, notes=False).replace("the parts of the corpus that could be asked", NEVER)
            assert said == plain(expected, notes=False).replace("in the corpus", f"in {NEVER}")
            assert outcome.notes.degraded == (NAME, "evidence")
            said = "the answer may be in it" if isinstance(outcome, Abstention) else "may be in it, and the confidence"
            assert said in outcome.notes.warnings[-1]
            assert NAME in outcome.notes.warnings[-1]
            found = quoth.retrieve(question)
            assert found.degraded == (NAME,)
            assert NAME in (found.warning or "")
            assert found.passages == left.retrieve(question).passages
        assert (LOST, method) in wires.failed
        assert [state.up for state in store.states()].count(False) == 1


def test_a_shard_that_is_back_is_asked_again(one: EmbeddedStore, published: Path) -> None:
    wires = Wires(published, SHARDS)
    alone = Quoth(one, HASH)
    with remote(wires) as (quoth, store):
        wires.faults[LOST] = dies_at()
        assert quoth.ask(QUESTIONS[0]).notes.degraded == (NAME, "evidence")
        calls = len([one for one in wires.calls if one == (LOST, "search")])
        assert quoth.ask(QUESTIONS[1]).notes.degraded == (NAME, "evidence")
        assert len([one for one in wires.calls if one == (LOST, "search")]) == calls  # nobody waits for it twice
        del wires.faults[LOST]
        wait_for(lambda: all(state.up for state in store.states()))
        for question in QUESTIONS:
            assert plain(quoth.ask(question), notes=True) == plain(alone.ask(question), notes=True)
        assert store.states()[LOST].faults >= 1


def test_a_shard_that_is_quiet_is_noticed_when_it_dies(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quoth.cluster.remote_shard._QUIET_SECONDS", 0.1)
    wires = Wires(published, SHARDS)
    with remote(wires) as (quoth, store):
        quoth.ask(QUESTIONS[0])
        wires.faults[LOST] = dies_at()
        wait_for(lambda: [state.up for state in store.states()].count(False) == 1)
        assert "gone" in store.states()[LOST].why


def test_several_shards_are_lost_at_once(published: Path) -> None:
    wires = Wires(published, SHARDS)
    with remote(wires) as (quoth, _):
        quoth.ask(QUESTIONS[0])
        wires.faults |= {0: dies_at(), 2: dies_at()}
        outcome = quoth.ask(QUESTIONS[2])
        assert outcome.notes.degraded == ("shard 1 of 3", "shard 3 of 3", "evidence")
        assert "shard 1 of 3 and shard 3 of 3" in outcome.notes.warnings[0]
        assert "in them" in outcome.notes.warnings[0]
        wires.faults[1] = dies_at()
        with pytest.raises(ShardMissing, match="every shard"):
            quoth.ask(QUESTIONS[2])


def test_a_document_of_a_missing_shard_is_never_said_not_to_exist(published: Path) -> None:
    wires = Wires(published, SHARDS)
    with remote(wires) as (quoth, _):
        wires.faults[LOST] = dies_at()
        for ask in (quoth.document, quoth.sentences, quoth.passages, lambda one: quoth.locate(one, 0, 4)):
            with pytest.raises(ShardMissing, match=f"{NAME} of the index"):
                ask("canola.md")
        assert quoth.document(ELSEWHERE) is not None
        assert "canola.md" not in [one.id for one in quoth.documents()]


def test_a_question_within_documents_that_are_there_is_told_only_of_scores(published: Path) -> None:
    wires = Wires(published, SHARDS)
    with remote(wires) as (quoth, _):
        wires.faults[LOST] = dies_at()
        outcome = quoth.ask("How deep is it sown?", filters=Filters(doc_ids=ELSEWHERE))
        assert outcome.notes.degraded == (NAME, "evidence")
        assert "every document that was asked for is there" in outcome.notes.warnings[0]
        both = quoth.ask("How deep is it sown?", filters=Filters(doc_ids=[ELSEWHERE, "canola.md"]))
        assert "every document" not in both.notes.warnings[0]
        dated = quoth.ask("How deep is it sown?", filters=Filters(doc_ids=ELSEWHERE, as_of="2024-01-01"))
        assert "every document" not in dated.notes.warnings[0]
        with quoth.reading() as reader:
            assert reader.missing == (NAME,)
            assert not reader.may_lack(Filters((ELSEWHERE,), {}, (), None, None))


def test_a_word_that_only_a_missing_shard_may_hold_is_not_said_to_be_unknown_to_the_corpus(published: Path) -> None:
    wires = Wires(published, SHARDS)
    with remote(wires) as (quoth, _):
        whole = quoth.ask("What does Halvorsen say?", filters=Filters(doc_ids=ELSEWHERE))
        wires.faults[LOST] = dies_at()
        assert quoth.ask(QUESTIONS[0]).notes.degraded == (NAME, "evidence")
        outcome = quoth.ask("What does Lindqvist say?", filters=Filters(doc_ids=ELSEWHERE))
        assert isinstance(whole, Abstention)
        assert isinstance(outcome, Abstention)
        assert whole.objection.detail.endswith("is not mentioned in what the filters leave of the corpus.")
        assert outcome.objection.detail.endswith("is not mentioned in the parts of the corpus that could be asked.")
        assert "words that only it may hold count as unknown here" in outcome.notes.warnings[0]
        assert "there may be an answer" in outcome.notes.warnings[0]


def test_how_much_a_word_tells_is_counted_of_the_parts_that_are_there(published: Path, rest: EmbeddedStore) -> None:
    words = "Sow canola and rye"
    spans = tuple((found.start(), found.end()) for found in re.finditer(r"\w+", words))
    tokens = QuestionTokens(spans, np.zeros((len(spans), 4), dtype=np.float32), np.zeros(len(spans), dtype=np.float32))
    wires = Wires(published, SHARDS)
    with remote(wires) as (quoth, _), rest.read() as left:
        wires.faults[LOST] = dies_at()
        quoth.ask(QUESTIONS[0])
        with quoth.reading() as reader:
            assert reader.missing == (NAME,)
            assert (reader.info.documents, reader.info.sentences) == (left.info.documents, left.info.sentences)
            assert token_weights(words, tokens, reader).tolist() == token_weights(words, tokens, left).tolist()


def test_a_shard_that_is_not_open_yet_holds_up_no_question(one: EmbeddedStore, published: Path) -> None:
    wires = Wires(published, SHARDS)
    wires.faults[LOST], go_on = waits_at("info")
    with remote(wires, first_seconds=0.1) as (quoth, store):
        try:
            wait_for(lambda: quoth.ask(QUESTIONS[0]).notes.degraded == (NAME, "evidence"))  # the others may be late too
            assert "has not been opened" in store.states()[LOST].why
        finally:
            go_on.set()
        wait_for(lambda: all(state.up for state in store.states()))
        assert plain(quoth.ask(QUESTIONS[0]), notes=True) == plain(Quoth(one, HASH).ask(QUESTIONS[0]), notes=True)


def test_a_shard_that_cannot_be_compared_with_the_manifest_is_not_taken_for_one_that_was(published: Path) -> None:
    def fails(method: str) -> None:
        if method == "info":
            raise ValueError("no room")

    wires = Wires(published, SHARDS)
    wires.faults[LOST] = fails
    with remote(wires) as (quoth, store):
        assert quoth.ask(QUESTIONS[0]).notes.degraded == (NAME, "evidence")
        assert store.states()[LOST].why == "ValueError: no room"
        wires.faults.clear()
        wait_for(lambda: all(state.up for state in store.states()))


def test_where_no_shard_is_open_yet_it_is_said_and_ends(published: Path) -> None:
    wires = Wires(published, SHARDS)
    fault, go_on = waits_at("info")
    wires.faults |= dict.fromkeys(range(SHARDS), fault)
    with remote(wires, first_seconds=0.1) as (quoth, store):
        try:
            with pytest.raises(ShardMissing, match=r"every shard .* has not been opened"):
                quoth.ask(QUESTIONS[0])
        finally:
            go_on.set()
        wait_for(lambda: all(state.up for state in store.states()))
        assert quoth.ask(QUESTIONS[0]).notes.degraded == ("evidence",)


def test_a_calibration_is_not_in_force_without_a_shard(published: Path) -> None:
    wires = Wires(published, SHARDS)
    with remote(wires) as (quoth, _):
        made_for = quoth.circumstances()
    calibration = {"threshold": 0.0001, "slope": 2.0, "made_for": dict(made_for)}
    calibrated = Overrides({**HASH.file, "calibration": calibration}, {}, {})
    wires = Wires(published, SHARDS)
    with remote(wires, overrides=calibrated) as (quoth, _):
        assert quoth.ask(QUESTIONS[2]).notes.calibrated
        wires.faults[LOST] = dies_at()
        assert not quoth.ask(QUESTIONS[2]).notes.calibrated


def test_no_kept_result_is_given_for_another_state_of_the_index(published: Path) -> None:
    keeping = Overrides(
        {"embedding": {"model_name": "hash"}, "rerank": {"kind": "late"}, "cache": {"memory_mb": 33}}, {}, {}
    )
    wires = Wires(published, SHARDS)
    with remote(wires, overrides=keeping) as (quoth, store):
        wires.faults[LOST] = dies_at()
        assert quoth.retrieve(QUESTIONS[2]).degraded == (NAME,)
        del wires.faults[LOST]
        wait_for(lambda: all(state.up for state in store.states()))
        stages: list[str] = []
        assert quoth.explain_retrieval(QUESTIONS[2], done=stages.append).retrieval.degraded == ()
        assert "cache" not in stages  # what lacked a part was not kept
        assert quoth.explain_retrieval(QUESTIONS[2], done=stages.append).retrieval.degraded == ()
        assert stages[-1] == "cache"
        wires.faults[LOST] = dies_at()
        with pytest.raises(ShardMissing):
            quoth.document("canola.md")
            quoth.sentences("canola.md")
        assert quoth.retrieve(QUESTIONS[2]).degraded == (NAME,)


def test_where_it_must_be_whole_a_lost_shard_is_an_error(published: Path) -> None:
    wires = Wires(published, SHARDS)
    with remote(wires, strict=True) as (quoth, _):
        whole = quoth.ask(QUESTIONS[0])
        wires.faults[LOST] = dies_at()
        with pytest.raises(ShardLost, match=NAME):
            quoth.ask(QUESTIONS[0])
        del wires.faults[LOST]
        assert quoth.ask(QUESTIONS[0]) == whole
    wires = Wires(published, SHARDS)
    wires.faults[LOST] = dies_at()
    with remote(wires, strict=True) as (quoth, _), pytest.raises(ShardLost, match=NAME):
        quoth.ask(QUESTIONS[0])


# Generations


def test_a_new_generation_comes_into_service_without_a_failure(one: EmbeddedStore, tmp_path: Path) -> None:
    place = tmp_path / "shards"
    shards_of(one, place, shards=3)
    without_canola(one, tmp_path / "less")
    before, after = Quoth(one, HASH), Quoth(EmbeddedStore(tmp_path / "less"), HASH)
    expected = {
        question: (plain(before.ask(question), notes=True), plain(after.ask(question), notes=True))
        for question in QUESTIONS
    }
    assert len(set(expected[QUESTIONS[0]])) == 2
    seen: set[tuple[str, int]] = set()
    wrong: list[object] = []
    stop = threading.Event()
    with remote(Wires(place, 3)) as (quoth, store):
        threads = [threading.Thread(target=asking, args=(quoth, expected, seen, wrong, stop)) for _ in range(3)]
        for thread in threads:
            thread.start()
        wait_for(lambda: len(seen) >= len(QUESTIONS))
        shards_of(one, place, shards=5, prefix="newer", without=["canola.md"])  # also of another number
        wait_for(lambda: (QUESTIONS[0], 1) in seen or bool(wrong))
        stop.set()
        for thread in threads:
            thread.join()
        assert wrong == []
        for question in QUESTIONS:
            assert plain(quoth.ask(question), notes=True) == expected[question][1]
        assert len(store.states()) == 5


def without_canola(one: EmbeddedStore, place: Path) -> None:
    rewritten(one, place, [document for document in documents_of(one) if document.document.id != "canola.md"])


def asking(
    quoth: Quoth,
    expected: dict[str, tuple[str, str]],
    seen: set[tuple[str, int]],
    wrong: list[object],
    stop: threading.Event,
) -> None:
    while not stop.is_set():
        for question, answers in expected.items():
            try:
                answer = plain(quoth.ask(question), notes=True)
                seen.add((question, answers.index(answer)))
            except Exception as error:  # shown by the test
                wrong.append(error)
                return


def test_a_generation_that_cannot_be_opened_does_not_replace_the_one_before(
    one: EmbeddedStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("remote_store", "shard_host"):
        monkeypatch.setattr(f"quoth.cluster.{module}._AGAIN_SECONDS", 0.2)
    place = tmp_path / "shards"
    shards_of(one, place, shards=2)
    with remote(Wires(place, 2)) as (quoth, store):
        whole = plain(quoth.ask(QUESTIONS[0]), notes=True)
        aside = tmp_path / "aside"
        shutil.copytree(place, aside)
        shards_of(one, aside, shards=2, prefix="newer", without=["canola.md"])
        for name in ("newer-000", "newer-001"):
            shutil.copytree(aside / name, place / name)
        broken = next((place / "newer-001").rglob("*.db"), None) or next((place / "newer-001").glob("*"))
        content = broken.read_bytes()
        broken.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        shutil.copy(aside / "cluster.json", place / "cluster.json")
        wait_for(lambda: "newer-001" in store.trouble)
        assert "stays in service" in store.trouble
        assert plain(quoth.ask(QUESTIONS[0]), notes=True) == whole
        broken.write_bytes(content)
        wait_for(lambda: store.trouble == "")
        assert quoth.info.generation == 2


def test_a_shard_comes_back_while_a_new_generation_is_being_opened(one: EmbeddedStore, tmp_path: Path) -> None:
    shards_of(one, tmp_path, shards=2)
    wires = Wires(tmp_path, 2)
    with remote(wires) as (quoth, store):
        quoth.ask(QUESTIONS[0])
        wires.faults[0], go_on = waits_at("info")
        wires.calls.clear()
        try:
            shards_of(one, tmp_path, shards=2, prefix="newer", without=["canola.md"])
            wait_for(lambda: (0, "info") in wires.calls)
            wires.faults[1] = dies_at()
            assert quoth.ask(QUESTIONS[2]).notes.degraded == ("shard 2 of 2", "evidence")
            del wires.faults[1]
            wait_for(lambda: all(state.up for state in store.states()))
            assert quoth.info.generation == 1
        finally:
            go_on.set()
        wait_for(lambda: quoth.info.generation == 2)


def test_a_damaged_manifest_does_not_end_the_service(one: EmbeddedStore, tmp_path: Path) -> None:
    shards_of(one, tmp_path, shards=2)
    with remote(Wires(tmp_path, 2)) as (quoth, store):
        whole = quoth.ask(QUESTIONS[0])
        content = (tmp_path / "cluster.json").read_bytes()
        (tmp_path / "cluster.json").write_bytes(content[:-40])
        wait_for(lambda: "cluster.json" in store.trouble)
        assert quoth.ask(QUESTIONS[0]) == whole
        (tmp_path / "cluster.json").unlink()
        wait_for(lambda: "any more" in store.trouble)
        (tmp_path / "cluster.json").write_bytes(content)
        wait_for(lambda: store.trouble == "")


# Hosts


def test_a_host_gives_nothing_of_a_shard_that_is_another(one: EmbeddedStore, tmp_path: Path) -> None:
    shards_of(one, tmp_path, shards=1)
    entry = manifest.read(tmp_path).shards[0]
    host = ShardHost(str(tmp_path), cache=tmp_path / "cache", layout=LAYOUT)
    assert host.call(entry, "info", ()).digest == entry.digest
    with pytest.raises(IndexMismatch, match="was changed"):
        host.call(replace(entry, digest="another"), "info", ())
    with pytest.raises(IndexFault, match="lacks"):
        host.call(replace(entry, folder="no", files={"no/index.db": next(iter(entry.files.values()))}), "info", ())
    with pytest.raises(KeyError):
        host.call(entry, "__class__", ())
    host.close()
    assert host.call(entry, "info", ()).digest == entry.digest  # it can be used again
    host.close()


def test_a_damaged_shard_is_named_when_it_is_opened(one: EmbeddedStore, tmp_path: Path) -> None:
    names = shards_of(one, tmp_path, shards=2)
    path = next(path for path in sorted((tmp_path / names[1]).rglob("*")) if path.is_file())
    path.write_bytes(b"x" + path.read_bytes()[1:])
    with remote(Wires(tmp_path, 2)) as (quoth, store):
        assert quoth.ask(QUESTIONS[0]).notes.degraded == ("shard 2 of 2", "evidence")
        assert names[1] in store.states()[1].why


def test_a_shard_of_another_profile_never_comes_into_service(one: EmbeddedStore, tmp_path: Path) -> None:
    shards_of(one, tmp_path, shards=2)
    own = [document for document in documents_of(one) if assign(document.document.id, 2) == 1]
    written = EmbeddedStore(tmp_path / "odd")
    written.write(own, remove=(), embedder=ReplayEmbedder(Path(one.location)), profile=PROFILE, progress=None)
    written.close()
    published, version = manifest.versioned(open_location(tmp_path))
    entry, _, known = describe_shard(tmp_path, "odd")
    (tmp_path / entry.listing).write_bytes(manifest.listing_bytes(known))
    odd = replace(published, shards=(published.shards[0], entry))
    manifest.write(open_location(tmp_path), odd, over=version)
    with remote(Wires(tmp_path, 2)) as (quoth, store):
        assert quoth.ask(QUESTIONS[0]).notes.degraded == ("shard 2 of 2", "evidence")
        wait_for(lambda: store.states()[1].faults > 2)  # it is looked at again, and is what it was
        assert not store.states()[1].up
        assert "has another profile" in store.states()[1].why
        assert quoth.ask(QUESTIONS[2]).notes.degraded == ("shard 2 of 2", "evidence")


def test_a_manifest_whose_shard_is_of_another_model_is_refused(one: EmbeddedStore, tmp_path: Path) -> None:
    shards_of(one, tmp_path, shards=2)
    content = json.loads((tmp_path / "cluster.json").read_bytes())
    content["index"]["model"]["name"] = "another"
    content["sha256"] = manifest.checksum(content)
    (tmp_path / "cluster.json").write_text(json.dumps(content))
    with remote(Wires(tmp_path, 2)) as (quoth, _), pytest.raises(ShardMissing, match="made with"):
        quoth.ask(Question("1", QUESTIONS[0], Filters((), {}, (), None, None)))
