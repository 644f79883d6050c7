from __future__ import annotations

import json
from dataclasses import replace
from statistics import NormalDist

import pytest

from quoth.errors import QuothError
from quoth.evaluation.compare import Difference, SignTest, compare, comparison_json, exact_binomial
from quoth.evaluation.judgements import Judgement

from .samples import GOLD, answer, item, quote, six, staged


def differences(first: list[Judgement], second: list[Judgement]) -> dict[str, Difference]:
    return {one.key: one for one in compare(first, second).differences}


def run(hits: str) -> list[Judgement]:
    """An answer for each letter: `x` is right, `.` is wrong."""
    places = {"x": quote(10, 20), ".": quote(50, 60)}
    return [answer(item(f"{number:03}", GOLD), 0.5, places[hit]) for number, hit in enumerate(hits)]


@pytest.mark.parametrize(
    ("fewer", "total", "p"), [(0, 0, 1.0), (0, 1, 1.0), (0, 5, 2 / 32), (1, 8, 2 * 9 / 256), (4, 8, 1.0)]
)
def test_the_sign_test_is_exact(fewer: int, total: int, p: float) -> None:
    assert exact_binomial(fewer, total) == pytest.approx(p)


def test_the_sign_test_of_many_questions_agrees_with_the_normal_distribution() -> None:
    normal = NormalDist(1_000, (2_000 / 4) ** 0.5)

    assert exact_binomial(900, 2_000) == pytest.approx(2 * normal.cdf(900.5), rel=0.05)


def test_a_run_does_not_differ_from_itself() -> None:
    for one in differences(six(), list(reversed(six()))).values():
        if one.first is not None:
            assert (one.difference.value, one.p, one.verdict) == (0.0, 1.0, ""), one.key


def test_hits_are_compared_question_by_question() -> None:
    found = differences(run("x" * 10 + "." * 12 + "x" * 8), run("x" * 10 + "x" * 12 + "." + "x" * 7))["hit@1"]

    assert (found.first, found.second) == (0.6, round(29 / 30, 6))
    assert found.difference.value == pytest.approx(11 / 30, abs=1e-6)
    assert found.sign_test == SignTest(1, 12, round(2 * 14 / 2**13, 6))
    assert found.difference.low is not None and found.difference.low > 0
    assert found.p is not None and found.p < 0.01
    assert found.verdict == "better"


def test_a_small_difference_may_be_chance() -> None:
    found = differences(run("xx...xx.."), run("xxx..xx.."))["hit@1"]

    assert found.sign_test == SignTest(0, 1, 1.0)
    assert found.verdict == ""


def test_lower_is_better_where_it_is() -> None:
    found = differences(run("." * 12 + "x" * 12), run("x" * 24))

    assert found["answer_risk"].verdict == "better"
    assert found["answer_risk"].sign_test == SignTest(0, 12, round(2 / 2**12, 6))
    assert found["aurc"].verdict == "better"
    assert found["aurc"].sign_test is None


def test_a_question_in_only_one_of_the_runs_is_named_and_wrong_in_the_other() -> None:
    comparison = compare(run("xxxx"), run("xxx"))
    hit = next(one for one in comparison.differences if one.key == "hit@1")

    assert (comparison.questions, comparison.only_first, comparison.only_second) == (4, ("003",), ())
    assert (hit.first, hit.second) == (1.0, 0.75)
    assert compare(run("xxx"), run("xxxx")).only_second == ("003",)


def test_two_labels_for_one_question_are_refused() -> None:
    first = run("xx")
    other = [replace(one, labelled=item(one.labelled.question.id, (50, 60))) for one in first]

    with pytest.raises(QuothError, match="'000' is not the same in both runs") as raised:
        compare(first, other)
    assert raised.value.hint


def test_what_only_one_run_has_is_listed() -> None:
    stages = [staged(one, *[(1,)] * 5) for one in run("xx")]

    assert "recall_dense" in compare(stages, run("xx")).not_compared
    assert "recall_dense" in compare(run("xx"), stages).not_compared


def test_a_comparison_is_the_same_every_time_and_is_json() -> None:
    first, second = (json.dumps(comparison_json(compare(run("xx.x"), run("x.xx")))) for _ in range(2))

    assert first == second
    assert json.loads(first)["differences"]["hit@1"]["sign_test"] == {"first": 1, "second": 1, "p": 1.0}
