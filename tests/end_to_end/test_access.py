"""Whoever asks gets, byte for byte, what an index gives that never held the documents they may not see."""

from __future__ import annotations

import json
import random
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quoth import Filters, Quoth
from quoth.language.display import Vocabulary
from quoth.library import ingest_paths
from quoth.output.inspection_report import inspection_json
from quoth.output.match_json import match_json
from quoth.output.render import document_json, json_line, outcome_json, retrieval_json, sentence_json
from quoth.overrides import NO_OVERRIDES, Overrides
from quoth.protocols import Embedder
from quoth.settings import EmbeddingSettings
from quoth.stores.embedded import EmbeddedStore
from quoth.stores.sharded import ShardedStore
from quoth.types import EVERYTHING, NO_FILTERS, Access, Question
from quoth.wiring import open_embedder
from stores.replay import ReplayEmbedder, documents_of
from stores.shards import write_shards

from .samples import sample_index

FAKE = {"embedding": {"model_name": "hash"}, "rerank": {"kind": "late"}}
UNCACHED = {"cache": {"result_seconds": 0}}
"""A cache knows a result by the content of the index: it would compare a result with itself."""
LABELS = ("board", "legal", "hr")
STATEMENTS = (
    "Canola grows best at a soil pH between 6.0 and 7.0.",
    "Canola is sown at 2.5 cm into moist soil.",
    "Wheat is sown at 4 cm in October.",
    "The Association must approve every fence over 1.8 m.",
    "Acme Corporation bought Halvorsen Farms in 2021.",
    "However, wheat must not be sown after November.",
    "Rice needs flooded fields, see Section 2.",
    "Der Weizen wird im Oktober gesät.",
    "Straw may be burned from May to September.",
)
QUESTIONS = (
    "What soil pH is best for canola?",
    "How deep is wheat sown, and when?",
    "Who bought Halvorsen Farms?",
    "How high may a fence be?",
    "Wann wird Weizen gesät?",
)


@st.composite
def corpora(draw: st.DrawFn) -> dict[str, str]:
    """The texts of a few documents by id; some are replaced by others, and some have a bibliography."""
    files = {}
    for number in range(draw(st.integers(1, 7))):
        said = draw(st.lists(st.sampled_from(STATEMENTS), min_size=1, max_size=6))
        head = {"title": f"Guide {number}", "document_type": draw(st.sampled_from(["guide", "rule"]))}
        if draw(st.booleans()):
            head["superseded_by"] = f"{draw(st.integers(0, 6))}.md"
        if draw(st.booleans()):
            head["effective_date"] = f"202{number}-04-01"
        front = "\n".join(f"{key}: {value}" for key, value in head.items())
        paper = "\n\n## References\n\n1. Lee S (2010) Canola and wheat. Plant J 59: 149-155.\n" * (number % 3 == 0)
        files[f"{number}.md"] = f"---\n{front}\n---\n\n# {number} Sowing\n\n" + " ".join(said) + paper
    return files


def overrides(**sections: Mapping[str, object]) -> Overrides:
    return replace(NO_OVERRIDES, file={**UNCACHED, **sections})


def outputs(quoth: Quoth, questions: Sequence[str], ids: Collection[str]) -> Iterator[str]:
    """Yield all that somebody can be told, as the doors write it."""
    for number, question in enumerate(questions):
        days = Filters(as_of="2022-06-01") if number == 0 else NO_FILTERS
        asked = quoth.explain(question, filters=days)
        yield json_line(outcome_json(asked.outcome))
        yield json_line(retrieval_json(quoth.retrieve(question, filters=days)))
        yield json_line(quoth.receipt(outcome_json(asked.outcome), day="2026-01-01", program="quoth"))
    yield json_line(outcome_json(quoth.ask("Lee on canola", filters=Filters(regions="references"))))
    for word in ("canola", "sown"):
        found = quoth.find(word)
        for document in found.documents:
            yield f"{document.doc_id} {document.count}"
            yield from (json.dumps(match_json(document.doc_id, "", match)) for match in document.matches)
    yield from (json_line(document_json(info)) for info in quoth.documents())
    yield from (json_line(line) for line in inspection_json(quoth.inspect()))
    for doc_id in sorted(ids):
        yield repr(quoth.document(doc_id))
        vocabulary = Vocabulary(shown.text if (shown := quoth.document(doc_id)) else "")
        yield from (json_line(sentence_json(sentence, vocabulary)) for sentence in quoth.sentences(doc_id))
        yield repr((quoth.passages(doc_id), quoth.locate(doc_id, 0, 5)))
    yield repr(replace(quoth.info, generation=1))


def ingested(place: Path, files: Mapping[str, str], given: Overrides) -> EmbeddedStore:
    """An index of these files; of none, an index that is empty."""
    root = place / "corpus"
    for name, text in {**files, "empty.md": "# Nothing"}.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    ingest_paths([root], place / "index", profile="agriculture", overrides=given)
    opened = Quoth.open(place / "index")
    opened.remove("empty.md")
    return EmbeddedStore(place / "index")


def in_shards(place: Path, one: EmbeddedStore, embedder: Embedder) -> ShardedStore:
    """The documents of an index, with their labels, in three shards."""
    stored = one.stored_documents()
    documents = [replace(split, access=stored[split.document.id].access) for split in documents_of(one)]
    with one.read() as reader:
        profile = (reader.info.profile_name, reader.info.profile_source)
    write_shards(place, documents, shards=3, embedder=embedder, profile=profile, progress=None)
    return ShardedStore(place)


@settings(max_examples=12, deadline=None)
@given(
    corpora(),
    st.lists(st.frozensets(st.sampled_from(LABELS), max_size=2), min_size=7, max_size=7),
    st.builds(Access, st.frozensets(st.sampled_from(LABELS)), st.booleans()),
    st.lists(st.sampled_from(QUESTIONS), min_size=3, max_size=3, unique=True),
)
def test_the_outputs_are_those_of_an_index_that_never_held_the_others(
    files: dict[str, str], drawn: list[frozenset[str]], access: Access, questions: list[str]
) -> None:
    given = overrides(**FAKE)
    labels = dict(zip(files, drawn, strict=False))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        held = ingested(place / "all", files, given)
        held.relabel(labels)
        visible = {doc_id: text for doc_id, text in files.items() if access.sees(labels[doc_id])}
        expected = list(outputs(Quoth(ingested(place / "never", visible, given), given), questions, files))
        shards = in_shards(place / "shards", held, open_embedder(EmbeddingSettings(model_name="hash")))
        for store in (held, shards):
            limited = Quoth(store, given).seen_by(access)
            assert list(outputs(limited, questions, files)) == expected


@pytest.mark.parametrize("seed", [1, 2])
def test_the_same_holds_with_the_real_model_on_a_sample(
    seed: int, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    sample = sample_index("governance", tmp_path_factory)
    given = overrides()
    drawn = random.Random(seed)  # noqa: S311
    embedder = ReplayEmbedder(sample)
    known = list(documents_of(EmbeddedStore(sample)))
    labelled = [replace(split, access=(drawn.choice(LABELS),) if drawn.random() < 0.7 else ()) for split in known]
    access = Access(frozenset({"board"}), unlabelled=True)
    with EmbeddedStore(sample).read() as reader:
        profile = (reader.info.profile_name, reader.info.profile_source)
    for name, documents in (
        ("all", labelled),
        ("never", [replace(split, access=()) for split in labelled if access.sees(split.access)]),
    ):
        EmbeddedStore(tmp_path / name).write(documents, remove=(), embedder=embedder, profile=profile, progress=None)
    write_shards(tmp_path / "shards", labelled, shards=3, embedder=embedder, profile=profile, progress=None)
    ids = [split.document.id for split in labelled]
    questions = ["How high may a fence be?", "What must an owner submit before work begins?", "Who may rent a unit?"]
    expected = list(outputs(Quoth(EmbeddedStore(tmp_path / "never"), given), questions, ids))

    assert len({access.sees(split.access) for split in labelled}) == 2
    for store in (EmbeddedStore(tmp_path / "all"), ShardedStore(tmp_path / "shards")):
        limited = Quoth(store, given).seen_by(access)
        assert list(outputs(limited, questions, ids)) == expected


def test_who_sees_everything_loses_nothing(tmp_path: Path) -> None:
    given = overrides(**FAKE)
    files = {"a.md": f"# A\n\n{STATEMENTS[0]}", "b.md": f"# B\n\n{STATEMENTS[1]}"}
    store = ingested(tmp_path, files, given)
    plain = list(outputs(Quoth(store, given), QUESTIONS, files))
    store.relabel({"a.md": ["board"]})

    assert list(outputs(Quoth(store, given), QUESTIONS, files)) == plain
    assert list(outputs(Quoth(store, given).seen_by(EVERYTHING), QUESTIONS, files)) == plain


def test_a_grid_asks_as_the_one_who_made_it_sees_the_index(tmp_path: Path) -> None:
    given = overrides(**FAKE)
    store = ingested(tmp_path, {"a.md": f"# A\n\n{STATEMENTS[0]}", "b.md": f"# B\n\n{STATEMENTS[1]}"}, given)
    store.relabel({"a.md": ["board"]})
    delivered: list[object] = []
    limited = Quoth(store, given).seen_by(Access(frozenset(), unlabelled=True))
    limited.answer_each(
        [Question("1", QUESTIONS[0], NO_FILTERS, ())], lambda _, outcome: delivered.append(outcome), workers=2
    )

    (outcome,) = delivered
    assert not isinstance(outcome, Exception)
    assert "a.md" not in json_line(outcome_json(outcome))  # type: ignore[arg-type]


def test_a_result_that_was_cached_for_one_is_not_given_to_another(tmp_path: Path) -> None:
    given = replace(NO_OVERRIDES, file=FAKE)
    store = ingested(tmp_path, {"a.md": f"# A\n\n{STATEMENTS[0]}", "b.md": f"# B\n\n{STATEMENTS[1]}"}, given)
    quoth = Quoth(store, given)
    store.relabel({"a.md": ["board"]})
    board, nobody = (quoth.seen_by(Access(frozenset(held), unlabelled=True)) for held in ({"board"}, ()))
    question = "soil pH for canola"

    assert "a.md" in {found.passage.doc_id for found in board.retrieve(question).passages}
    assert "a.md" not in {found.passage.doc_id for found in nobody.retrieve(question).passages}
    store.relabel({"a.md": ["legal"]})
    assert "a.md" not in {found.passage.doc_id for found in board.retrieve(question).passages}
