"""The cross-encoder in the package: what it reads, and that a score depends on nothing but its pair."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from quoth.errors import ModelError
from quoth.models.cross_encoder import MOST_QUESTION, MOST_SENTENCE, CrossEncoder, PairTokenizer
from quoth.models.shipped_models import MODELS
from quoth.types import SentenceInContext

QUESTION = "How deep should canola be sown?"
SENTENCES = [
    SentenceInContext("Sow canola seed 2 to 3 cm deep.", "Seeding", ""),
    SentenceInContext("The stock market fell.", "", ""),
    SentenceInContext("Canola is grown for its oil.", "Uses", ""),
    SentenceInContext("It should be placed 2 cm deep.", "Seeding", "Canola seed is small."),
]


@pytest.fixture(scope="module")
def encoder() -> CrossEncoder:
    return CrossEncoder(MODELS, threads=2)


@pytest.fixture(scope="module")
def tokenizer() -> PairTokenizer:
    return PairTokenizer(MODELS / "tokenizer.json")


def test_a_sentence_that_answers_scores_above_others(encoder: CrossEncoder) -> None:
    right, unrelated, related, leaning = encoder.read(QUESTION, SENTENCES)

    assert min(right, leaning) > related > unrelated
    assert right > 0 > unrelated


def test_a_score_depends_on_its_pair_alone(encoder: CrossEncoder) -> None:
    fresh = CrossEncoder(MODELS, threads=1)
    together = encoder.read(QUESTION, SENTENCES)

    assert encoder.read(QUESTION, SENTENCES[::-1]) == together[::-1]
    assert [fresh.read(QUESTION, [sentence])[0] for sentence in SENTENCES] == together
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(lambda _: fresh.read(QUESTION, SENTENCES), range(8))) == [together] * 8


def test_the_words_that_answer_are_marked_in_the_same_run(encoder: CrossEncoder) -> None:
    first = SENTENCES[0]
    (marks,) = encoder.mark(QUESTION, [first])

    best = max(marks, key=lambda mark: mark.log_odds)
    assert first.text[best.start : best.end] in {"2", "to", "3", "cm"}
    assert [(mark.start, mark.end) for mark in marks][:3] == [(0, 2), (2, 3), (4, 7)]
    assert encoder.mark(QUESTION, SENTENCES[::-1])[-1] == marks
    assert CrossEncoder(MODELS, threads=1).mark(QUESTION, [first]) == [marks]


def test_without_sentences_there_is_nothing_to_read(encoder: CrossEncoder) -> None:
    assert encoder.read(QUESTION, []) == []


def test_the_context_stands_behind_the_sentence(tokenizer: PairTokenizer) -> None:
    bare = tokenizer.encode("How deep?", SentenceInContext("It is 2 cm.", "", ""))
    whole = tokenizer.encode("How deep?", SentenceInContext("It is 2 cm.", "Seeding", "Canola is small."))

    assert whole.ids[: len(bare.ids)] == bare.ids
    assert set(bare.types[: bare.start]) == {0}
    assert set(bare.types[bare.start :]) == {1}
    assert set(whole.types[len(bare.ids) :]) == {0}
    assert whole.ids[-1] == bare.ids[-1]  # a separator ends both


def test_the_spans_of_tokens_are_those_of_the_sentence(tokenizer: PairTokenizer) -> None:
    tokens = tokenizer.encode("How deep?", SentenceInContext("Naïve 😀 café, 2.5 cm.", "", ""))

    assert ["Naïve 😀 café, 2.5 cm."[start:end] for start, end in tokens.offsets] == [
        *("Naïve", "😀", "café", ","),
        *("2", ".", "5", "cm", "."),
    ]


def test_long_texts_are_cut(tokenizer: PairTokenizer, encoder: CrossEncoder) -> None:
    long = SentenceInContext("soil " * 5_000, "depth " * 500, "seed " * 500)
    tokens = tokenizer.encode("why " * 5_000, long)

    assert tokens.start == MOST_QUESTION + 2
    assert len(tokens.offsets) == MOST_SENTENCE
    assert len(encoder.read("why " * 5_000, [long])) == 1


@pytest.mark.parametrize("text", ["", " ", "\0", "\ud800", "\N{ZERO WIDTH JOINER}", "é" * 3])
def test_any_text_has_a_score(encoder: CrossEncoder, text: str) -> None:
    (score,) = encoder.read(text, [SentenceInContext(text, text, text)])

    assert -40 < score < 40


def test_a_damaged_model_is_refused(tmp_path: Path) -> None:
    shutil.copyfile(MODELS / "tokenizer.json", tmp_path / "tokenizer.json")
    (tmp_path / "reader.json").write_text(json.dumps({"sha256": "0" * 64}))
    (tmp_path / "reader.onnx").write_bytes(b"no graph")

    with pytest.raises(ModelError, match="is damaged"):
        CrossEncoder(tmp_path, threads=1)


def test_a_missing_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="cannot be read") as caught:
        CrossEncoder(tmp_path, threads=1)

    assert caught.value.hint == "Install quoth again."
