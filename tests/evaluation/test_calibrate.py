"""A certified threshold keeps its promise, and what cannot be shown is not claimed."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import comb

import numpy as np
import pytest

from quoth.evaluation.certification import (
    STARTS,
    THRESHOLDS,
    AnswerCounts,
    CalibrationTrial,
    binomial_tail,
    certify,
    fewest,
)


def right(confidence: float, count: int) -> list[CalibrationTrial]:
    return [CalibrationTrial(confidence, answered=True, wrong=False)] * count


def wrong(confidence: float, count: int) -> list[CalibrationTrial]:
    return [CalibrationTrial(confidence, answered=True, wrong=True)] * count


def exact_tail(wrong: int, answered: int, risk: Fraction) -> Fraction:
    return sum((comb(answered, k) * risk**k * (1 - risk) ** (answered - k) for k in range(wrong + 1)), Fraction(0))


@pytest.mark.parametrize("risk", [Fraction(1, 20), Fraction(1, 3), Fraction(9, 10)])
@pytest.mark.parametrize(("wrong", "answered"), [(0, 0), (0, 1), (1, 1), (0, 59), (3, 100), (40, 90), (12, 700)])
def test_the_tail_is_the_sum_of_the_binomial_probabilities(wrong: int, answered: int, risk: Fraction) -> None:
    assert binomial_tail(wrong, answered, float(risk)) == pytest.approx(
        float(exact_tail(wrong, answered, risk)), rel=1e-10
    )


def test_a_tail_of_many_questions_neither_overflows_nor_vanishes() -> None:
    assert binomial_tail(5_000, 100_000, 0.05) == pytest.approx(0.5, abs=0.01)
    assert 0 < binomial_tail(0, 10_000, 0.05) < 1e-200


@pytest.mark.parametrize(("answered", "level"), [(59, 0.05), (90, 0.01), (1, 0.1)])
def test_without_an_error_the_bound_has_a_closed_form(answered: int, level: float) -> None:
    assert AnswerCounts(answered, 0, None, 1).bound(level) == pytest.approx(1 - level ** (1 / answered), abs=1e-8)


def test_the_bound_is_where_the_tail_falls_to_the_level() -> None:
    assert binomial_tail(7, 200, AnswerCounts(200, 7, None, 1).bound(0.02)) == pytest.approx(0.02, rel=1e-5)


def test_nothing_answered_and_all_wrong_bound_nothing() -> None:
    assert AnswerCounts(0, 0, None, 1).bound(0.05) == 1.0
    assert AnswerCounts(4, 4, None, 1).bound(0.05) == 1.0


@pytest.mark.parametrize(("risk", "confidence"), [(0.05, 0.95), (0.01, 0.99), (0.2, 0.9), (0.5, 0.5)])
@pytest.mark.parametrize("errors", [0, 1, 5])
def test_fewest_is_the_first_number_that_can_be_certified(risk: float, confidence: float, errors: int) -> None:
    number = fewest(risk, confidence, wrong=errors)
    enough = right(0.95, number - errors) + wrong(0.95, errors)

    # All of them stand above the strictest start, which is the first to be tested.
    first = next(step for step in certify(enough, risk=risk, confidence=confidence).steps if step.tested)
    assert first.certified
    assert certify(enough[1:], risk=risk, confidence=confidence).best is None


def test_five_percent_at_ninety_five_takes_ninety_questions_without_an_error() -> None:
    assert fewest(0.05, 0.95) == 90


def test_the_loosest_threshold_that_passes_is_taken() -> None:
    trials = right(0.95, 150) + right(0.505, 150) + wrong(0.3, 100)
    best = certify(trials, risk=0.05, confidence=0.95).best

    assert best is not None
    assert (best.answered, best.wrong) == (300, 0)
    assert 0.3 < best.threshold < 0.32


def test_testing_goes_on_at_the_next_start_when_few_questions_are_above_the_first() -> None:
    trials = wrong(0.97, 1) + right(0.7, 200)
    certification = certify(trials, risk=0.1, confidence=0.9)

    tested = [step for step in certification.steps if step.tested]
    assert tested[0].threshold == STARTS[0]
    assert not tested[0].certified
    assert certification.best is not None


def test_a_threshold_that_passes_hands_its_level_on_and_one_that_fails_keeps_it() -> None:
    trials = right(0.95, 500) + wrong(0.5, 500)
    steps = {step.threshold: step for step in certify(trials, risk=0.05, confidence=0.95).steps}
    share = 0.05 / len(STARTS)

    assert steps[STARTS[0]].level == pytest.approx(share)
    assert steps[STARTS[2]].level == pytest.approx(3 * share)
    assert steps[STARTS[3]].level == pytest.approx(share)  # the errors at 0.5 came before it
    assert not steps[STARTS[3]].certified


def test_the_levels_that_can_be_lost_add_up_to_what_is_promised() -> None:
    lost = [step.level for step in certify(wrong(0.99, 50), risk=0.05, confidence=0.95).steps if step.tested]

    assert sum(lost) == pytest.approx(0.05)


def test_a_question_that_another_check_refuses_is_answered_at_no_threshold() -> None:
    refused = [CalibrationTrial(0.95, answered=False, wrong=True)] * 500
    certification = certify(right(0.95, 200) + refused, risk=0.05, confidence=0.95)

    assert certification.best is not None
    assert certification.steps[-1].answered == 200


def test_no_confidence_of_four_decimals_lies_on_a_threshold() -> None:
    assert all(round(threshold, 4) != threshold for threshold in THRESHOLDS if threshold)
    assert set(STARTS) <= set(THRESHOLDS)
    assert list(THRESHOLDS) == sorted(THRESHOLDS, reverse=True)


def test_when_nothing_is_certified_the_nearest_is_known() -> None:
    certification = certify(right(0.8, 60) + wrong(0.8, 3) + wrong(0.5, 30), risk=0.05, confidence=0.95)

    assert certification.best is None
    assert (certification.nearest.answered, certification.nearest.wrong) == (63, 3)
    assert 0.05 < certification.nearest.bound < 0.2


def test_the_order_of_the_questions_does_not_matter() -> None:
    trials = right(0.95, 120) + wrong(0.4, 20) + right(0.4, 80)

    assert certify(trials, risk=0.1, confidence=0.9) == certify(trials[::-1], risk=0.1, confidence=0.9)


Shape = Callable[[float], float]


def broken(shape: Shape, true_share: Shape, *, risk: float, confidence: float, questions: int, draws: int) -> float:
    """How often a certified threshold has a true share of wrong answers above the risk."""
    dice = np.random.default_rng(11)
    count = 0
    for _ in range(draws):
        scores = [dice.random() for _ in range(questions)]
        trials = [CalibrationTrial(score, answered=True, wrong=dice.random() < shape(score)) for score in scores]
        best = certify(trials, risk=risk, confidence=confidence).best
        count += best is not None and true_share(best.threshold) > risk
    return count / draws


@pytest.mark.parametrize(
    ("shape", "true_share"),
    [
        # Just above the risk whatever the confidence: every certified threshold is a mistake.
        (lambda _: 0.1001, lambda _: 0.1001),
        # Falling with the confidence, (1 - c) / 2: the mean above t is (1 - t) / 4, and 0.6 is the edge.
        (lambda score: (1 - score) / 2, lambda threshold: (1 - threshold) / 4),
        # Rising with the confidence, c / 5: the mean above t is (1 + t) / 10, so that only 0 would keep the risk.
        (lambda score: score / 5, lambda threshold: (1 + threshold) / 10),
    ],
    ids=["flat", "falling", "rising"],
)
def test_the_promise_is_broken_no_more_often_than_it_says(shape: Shape, true_share: Shape) -> None:
    draws = 600
    share = broken(shape, true_share, risk=0.1, confidence=0.9, questions=250, draws=draws)

    # Three standard deviations of the count itself.
    assert share <= 0.1 + 3 * (0.1 * 0.9 / draws) ** 0.5


def test_a_confidence_that_is_worth_something_mostly_gets_a_threshold() -> None:
    dice = np.random.default_rng(3)
    found = 0
    for _ in range(50):
        scores = dice.random(1_000)
        errors = dice.random(1_000) < (1 - scores) / 2
        trials = [
            CalibrationTrial(float(one), answered=True, wrong=bool(bad))
            for one, bad in zip(scores, errors, strict=True)
        ]
        found += certify(trials, risk=0.1, confidence=0.9).best is not None

    assert found >= 35
