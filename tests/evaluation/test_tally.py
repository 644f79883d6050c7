"""What counts prove: exactly for single questions, and safely for questions that come in groups."""

from __future__ import annotations

import numpy as np
import pytest

from quoth.evaluation.certification import AnswerCounts, CalibrationTrial, binomial_tail, certify


def in_groups(*groups: tuple[int, int], largest: int) -> AnswerCounts:
    return AnswerCounts(sum(answered for answered, _ in groups), sum(wrong for _, wrong in groups), groups, largest)


def test_single_questions_have_the_binomial_p_value() -> None:
    assert AnswerCounts(100, 3, None, 1).p_value(0.1) == binomial_tail(3, 100, 0.1)


@pytest.mark.parametrize("risk", [0.05, 0.3])
def test_groups_prove_no_more_than_as_many_single_questions(risk: float) -> None:
    flawless = in_groups(*[(7, 0)] * 40, largest=7)

    assert (
        binomial_tail(0, 280, risk)
        < binomial_tail(0, 40, risk)
        <= flawless.p_value(risk)
        <= 8 * binomial_tail(0, 40, risk)
    )


def test_a_group_that_is_all_wrong_outweighs_a_few_that_are_right() -> None:
    assert in_groups((7, 7), *[(7, 0)] * 10, largest=7).p_value(0.1) == 1.0


def test_nothing_answered_proves_nothing() -> None:
    assert in_groups(largest=5).p_value(0.1) == 1.0
    assert in_groups(largest=5).bound(0.05) == 1.0


def test_the_bound_of_groups_is_where_their_p_value_falls_to_the_level() -> None:
    tally = in_groups(*[(4, 0)] * 60, *[(4, 1)] * 5, largest=5)

    assert 5 / 260 < tally.bound(0.05) < 0.3
    assert tally.p_value(tally.bound(0.05)) == pytest.approx(0.05, rel=1e-4)


def test_groups_of_one_question_are_no_groups() -> None:
    trials = [CalibrationTrial(0.95, answered=True, wrong=False)] * 120
    alone = certify(trials, risk=0.05, confidence=0.95)

    assert certify(trials, risk=0.05, confidence=0.95, groups=[str(place) for place in range(120)]) == alone


def broken(*, aware: bool, draws: int) -> float:
    """How often a promise of 0.1 with confidence 0.9 is broken when groups of 6 are all wrong or all right."""
    dice = np.random.default_rng(2)
    names = [str(place // 6) for place in range(360)]
    count = 0
    for _ in range(draws):
        wrong = np.repeat(dice.random(60) < 0.101, 6)
        trials = [CalibrationTrial(0.95, answered=True, wrong=bool(one)) for one in wrong]
        count += certify(trials, risk=0.1, confidence=0.9, groups=names if aware else None).best is not None
    return count / draws


def test_the_promise_holds_for_questions_in_groups_when_it_knows_them() -> None:
    assert broken(aware=False, draws=200) > 0.2
    assert broken(aware=True, draws=200) <= 0.1
