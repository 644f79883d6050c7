"""Values as plain JSON and back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from quoth.interfaces.python import Quoth
from quoth.plain import from_plain, to_plain
from quoth.types import Candidate, Filters, Quote, RegionKind, Retrieved, Sentence, Span, Support, Usage

SENTENCE = Sentence(
    "a/\N{SNOWMAN}.md",
    Quote(Span(3, 9), "Sow it"),
    RegionKind.LIST_ITEM,
    section=("One", "Two"),
    lead=Quote(Span(0, 2), "In"),
    page=None,
    ocr=0.5,
    tags={"crop": ("canola", "corn")},
)
VALUES = [
    Span(0, 1),
    SENTENCE,
    Candidate(SENTENCE, 0.1 + 0.2, -0.0, ("lexical",), b"\x00\xff"),
    Filters(("a.md",), {"crop": ("canola",)}, (), True, "2022-04-01"),
    Support(1 / 3, None, {"late": 0.25}, (0.5, 1.0)),
    Usage("m", 1, 2, 3, None),
]


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_what_comes_back_is_equal_to_what_went(value: Any) -> None:  # noqa: ANN401
    back = from_plain(type(value), json.loads(json.dumps(to_plain(value))))

    assert back == value
    assert repr(back) == repr(value)


def test_a_whole_retrieval_comes_back_equal(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    (corpus / "a.md").write_text("# Fences\n\nA fence shall not exceed six feet.\n", encoding="utf-8")
    settings = {"embedding.model_name": "hash"}
    quoth = Quoth.build(corpus, index=tmp_path / "index", profile="governance", settings=settings)
    retrieved = quoth.explain_retrieval("How high may a fence be, not exceed feet?")

    assert retrieved.retrieval.passages
    assert from_plain(Retrieved, json.loads(json.dumps(to_plain(retrieved)))) == retrieved


@pytest.mark.parametrize(
    "plain",
    [None, [], [1], [1, 2, 3], ["1", 2], [1.0, 2], [True, 2], [2, 1], {"start": 1, "end": 2}, "12"],
    ids=repr,
)
def test_anything_else_is_refused(plain: object) -> None:
    with pytest.raises((ValueError, TypeError, KeyError)):
        from_plain(Span, plain)


def test_a_value_without_a_plain_form_is_refused() -> None:
    with pytest.raises(TypeError, match="object"):
        to_plain(object())
