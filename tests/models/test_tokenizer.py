"""Counting tokens: with a model's own tokenizer, or by an estimate on the safe side."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quoth.errors import SettingsError
from quoth.models.tokenizer import EstimateCounter, HuggingFaceCounter
from quoth.models.weights import Weights
from quoth.settings import EmbeddingSettings
from quoth.wiring import open_counter

EXAMPLES = Path(__file__).parents[2] / "examples"
SENTENCE = "Canola grows best at pH 6.0-7.0."


def test_a_tokenizer_counts_words_and_no_marks_around_them(tiny: Weights) -> None:
    counter = HuggingFaceCounter(tiny.tokenizer)

    assert counter.count("") == 0
    assert counter.count("one") >= 1
    assert counter.count("one one") == 2 * counter.count("one")


def test_a_long_text_is_counted_to_its_end(tiny: Weights, tmp_path: Path) -> None:
    described = json.loads(tiny.tokenizer.read_text(encoding="utf-8"))
    cutting = {"direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0}
    filling = {
        "strategy": {"Fixed": 64},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "[PAD]",
    }
    path = tmp_path / "cutting.json"
    path.write_text(json.dumps(described | {"truncation": cutting, "padding": filling}), encoding="utf-8")
    counter, plain = HuggingFaceCounter(path), HuggingFaceCounter(tiny.tokenizer)

    assert counter.count(SENTENCE * 30) == plain.count(SENTENCE * 30) > 64
    assert counter.count("one") == plain.count("one")


def test_minilm_counts_as_it_reads(minilm: Weights) -> None:
    counter = HuggingFaceCounter(minilm.tokenizer)

    assert counter.count("hello world") == 2
    assert counter.count(SENTENCE) == 14
    assert counter.count("lone \ud800 surrogate") > 0


@pytest.mark.parametrize("content", [None, b"", b"{}", b"\xff\xfe not json", b'{"version": "1.0"}'])
def test_a_damaged_or_missing_file_names_the_setting(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "tokenizer.json"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(SettingsError, match=r"context\.tokenizer") as caught:
        open_counter(str(path), EmbeddingSettings())
    assert "context.tokenizer" in caught.value.hint


def test_the_settings_come_before_the_model_and_the_model_before_the_estimate(tiny: Weights, tmp_path: Path) -> None:
    mine = tmp_path / "mine.json"
    mine.write_bytes(tiny.tokenizer.read_bytes())

    there, nowhere = (EmbeddingSettings(path=str(path)) for path in (tiny.directory, tmp_path / "nowhere"))

    assert open_counter(str(mine), there).name == "mine.json"
    assert open_counter(None, there).name == tiny.directory.name
    assert open_counter(None, nowhere).name == "estimate"


def test_the_estimate_is_seldom_below_a_real_tokenizer(minilm: Weights) -> None:
    real, estimate = HuggingFaceCounter(minilm.tokenizer), EstimateCounter()
    paragraphs = [
        paragraph
        for path in sorted(EXAMPLES.rglob("*.md"))
        for paragraph in path.read_text(encoding="utf-8").split("\n\n")
        if len(paragraph) > 200
    ]
    below = [paragraph for paragraph in paragraphs if estimate.count(paragraph) < real.count(paragraph)]

    assert len(paragraphs) > 100
    assert len(below) <= 0.02 * len(paragraphs)
    assert estimate.count("") == 0
