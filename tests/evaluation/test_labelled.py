from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from quoth.errors import QuestionError
from quoth.evaluation.labelled_questions import Gold, gold_problems, read_labelled
from quoth.types import Span

from .samples import GOLD, item

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
GOOD: dict[str, Any] = {
    "id": "1",
    "question": "How deep?",
    "answerable": True,
    "gold": [{"doc_id": "a.md", "start": 2, "end": 6, "text": "2 cm"}],
}
NOT: dict[str, Any] = {"id": "2", "question": "How long?", "answerable": False, "gold": []}


def written(folder: Path, *lines: object) -> Path:
    path = folder / "questions.jsonl"
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return path


def test_a_set_is_read_in_its_order_with_its_gold(tmp_path: Path) -> None:
    gold = [{**GOOD["gold"][0], "alternatives": [{"start": 8, "end": 12}]}]
    first, second = read_labelled(
        written(tmp_path, {**GOOD, "gold": gold, "gold_mode": "all", "doc_scope": ["a.md"]}, "", NOT)
    )

    assert first.question.filters.doc_ids == ("a.md",)
    assert first.gold == (Gold("a.md", Span(2, 6), "2 cm", (Span(8, 12),)),)
    assert (first.answerable, first.gold_mode) == (True, "all")
    assert (second.question.text, second.answerable, second.gold) == ("How long?", False, ())


@pytest.mark.parametrize("mode", [None, "any"])
def test_one_gold_is_enough_unless_all_are_asked_for(tmp_path: Path, mode: str | None) -> None:
    (one,) = read_labelled(written(tmp_path, {**GOOD, "gold_mode": mode}))

    assert one.gold_mode == "any"


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ("{", "not JSON"),
        ("How deep?", "no JSON object"),
        ({"id": "2", "answerable": False}, '"question"'),
        ({**NOT, "answerable": "no"}, '"answerable"'),
        ({**NOT, "answerable": True}, "answerable and has no gold"),
        ({**GOOD, "id": "2", "answerable": False}, "not answerable and has gold"),
        ({**GOOD, "id": "2", "gold_mode": "some"}, '"gold_mode"'),
        ({**GOOD, "id": "2", "gold": "2 cm"}, '"gold" must be a list'),
        ({**GOOD, "id": "2", "gold": ["2 cm"]}, "must be an object"),
        ({**GOOD, "id": "2", "gold": [{"doc_id": "a.md", "start": 2, "end": 6}]}, '"text"'),
        ({**GOOD, "id": "2", "gold": [{**GOOD["gold"][0], "start": True}]}, "whole numbers"),
        ({**GOOD, "id": "2", "gold": [{**GOOD["gold"][0], "end": 2}]}, "0 <= start < end"),
        ({**GOOD, "id": "2", "gold": [{**GOOD["gold"][0], "alternatives": [7]}]}, "whole numbers"),
        (GOOD, "the id '1' is used before"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_bad_line_is_named_with_a_hint(tmp_path: Path, bad: object, why: str) -> None:
    with pytest.raises(QuestionError, match="line 3: ") as raised:
        read_labelled(written(tmp_path, GOOD, "", bad))

    assert why in str(raised.value)
    assert raised.value.hint


@pytest.mark.parametrize("content", [b"", b"\n \n", b"\xff\xfe"])
def test_a_file_without_questions_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "empty.jsonl").write_bytes(content)

    with pytest.raises(QuestionError):
        read_labelled(tmp_path / "empty.jsonl")
    with pytest.raises(QuestionError, match="cannot read"):
        read_labelled(tmp_path / "absent.jsonl")


@pytest.mark.parametrize("name", ["agriculture", "governance"])
def test_the_samples_that_ship_are_question_sets_whose_gold_is_in_place(name: str) -> None:
    items = read_labelled(EXAMPLES / name / "questions.jsonl")

    assert {one.answerable for one in items} == {True, False}
    assert gold_problems(items, lambda doc_id: (EXAMPLES / name / doc_id).read_bytes().decode("utf-8")) == ()


def test_gold_of_other_documents_is_noticed() -> None:
    items = [item("1", GOLD)]

    assert gold_problems(items, lambda _: "x" * 30) == ()
    assert gold_problems(items, lambda _: None) == ("the index lacks 1 documents that hold gold, such as a.md",)
    assert "1 gold texts are not at their offsets" in gold_problems(items, lambda _: "y" * 30)[0]
