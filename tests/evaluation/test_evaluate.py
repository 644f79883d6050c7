from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quoth.errors import QuothError
from quoth.evaluation.evaluate import evaluate
from quoth.evaluation.judgements import Judgement
from quoth.evaluation.saved_runs import evaluation_json, is_saved, read_saved
from quoth.output.render import json_line

from .samples import GOLD, abstention, answer, item, lost, quote, six, staged


def many(count: int) -> list[Judgement]:
    """A run with ties, abstentions, false answers and a fault."""
    chance = random.Random(7)  # noqa: S311 - a sample, not a secret
    judged = []
    for number in range(count):
        labelled = item(f"q{number}", GOLD) if number % 3 else item(f"q{number}")
        make = abstention if chance.random() < 0.3 else answer
        place = quote(10, 20) if chance.random() < 0.6 else quote(50, 60)
        judged.append(make(labelled, round(chance.random(), 1), place))
    return [*judged[:-1], lost(judged[-1])]


def test_two_evaluations_of_the_same_run_are_identical() -> None:
    first, second = (json_line(evaluation_json(evaluate(many(60), notes=()))) for _ in range(2))

    assert first == second


@settings(max_examples=10)
@given(st.permutations(many(25)))
def test_the_order_of_the_questions_leaves_no_trace(judged: list[Judgement]) -> None:
    assert evaluate(judged, notes=()) == evaluate(many(25), notes=())


def test_every_figure_lies_in_its_interval_or_has_none() -> None:
    evaluation = evaluate(many(90), notes=())

    assert {one.key for one in evaluation.measures} >= {"hit@1", "char_f1", "auroc", "aurc", "coverage@5%", "ece"}
    for one in evaluation.measures:
        assert one.figure.value is not None, one.key
        assert one.figure.low is not None, one.key
        assert one.figure.high is not None, one.key
        if one.key != "ece":  # resampling adds noise to the gap of every bin, so this one is biased upwards
            assert one.figure.low <= one.figure.value <= one.figure.high, one.key


def test_the_curve_ends_with_the_risk_of_answering_everything() -> None:
    evaluation = evaluate(six(), notes=())

    assert evaluation.curve[-1][0] == 1.0
    assert evaluation.curve[-1][1].value == 0.5
    assert evaluation.curve[0][1].value == 0.0


def test_the_bins_hold_every_question_that_has_a_result() -> None:
    evaluation = evaluate(many(60), notes=())

    assert sum(one.count for one in evaluation.reliability) == 59


def test_notes_say_what_a_reader_must_know() -> None:
    evaluation = evaluate(many(60), notes=("mind the gap",))

    assert evaluation.notes == ("mind the gap", "1 of 60 questions have no result and count as wrong")


def test_a_set_of_one_question_can_be_evaluated() -> None:
    evaluation = evaluate([answer(item("1", GOLD), 0.5, quote(10, 20))], notes=())

    hit, auroc = evaluation.measure("hit@1"), evaluation.measure("auroc")
    assert hit is not None and hit.figure.value == 1.0
    assert auroc is not None and auroc.figure.value is None


def test_a_saved_evaluation_gives_back_what_was_judged(tmp_path: Path) -> None:
    judged = [
        staged(answer(item("1", GOLD, doc_ids=("a.md",)), 0.9, quote(10, 20, tags={"crop": "rye"})), *[(1,)] * 5),
        abstention(item("2", (3, 4), mode="all", alternatives=((7, 9),)), 0.2),
        lost(answer(item("3"), 0.5)),
    ]
    evaluation = evaluate(judged, notes=())
    path = tmp_path / "saved.json"
    path.write_text(json_line(evaluation_json(evaluation)) + "\n", encoding="utf-8")

    assert is_saved(path)
    assert read_saved(path) == evaluation.judged
    assert evaluate(read_saved(path), notes=()) == evaluation


@pytest.mark.parametrize("content", ["", "[]", "{", '{"format": "quoth-evaluation-1"}', '{"results": [{"id": 1}]}'])
def test_another_file_is_no_evaluation(tmp_path: Path, content: str) -> None:
    (tmp_path / "x.json").write_text(content, encoding="utf-8")

    with pytest.raises(QuothError, match="no complete evaluation") as raised:
        read_saved(tmp_path / "x.json")
    assert raised.value.hint
    with pytest.raises(QuothError, match="cannot read"):
        read_saved(tmp_path / "absent.json")
