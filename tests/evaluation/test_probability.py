"""The map to probabilities is fitted, keeps the order, and is never surer than its questions."""

from __future__ import annotations

import math

import numpy as np
import pytest

from quoth.answer.calibration import calibrated, log_odds
from quoth.evaluation.calibrate import FLATTEST, fit_map
from quoth.evaluation.certification import CalibrationTrial
from quoth.settings import CalibrationSettings


def drawn(slope: float, intercept: float, *, count: int) -> list[CalibrationTrial]:
    """Trials whose outcomes obey a map."""
    dice = np.random.default_rng(5)
    scores = [dice.uniform(0.02, 0.98) for _ in range(count)]
    chances = [1 / (1 + math.exp(-(slope * log_odds(score) + intercept))) for score in scores]
    return [
        CalibrationTrial(score, answered=True, wrong=dice.random() >= chance)
        for score, chance in zip(scores, chances, strict=True)
    ]


def mapped(fitted: tuple[float, float], confidence: float) -> float:
    return calibrated(confidence, CalibrationSettings(threshold=0.5, slope=fitted[0], intercept=fitted[1]))


@pytest.mark.parametrize(("slope", "intercept"), [(1.0, 0.0), (2.0, -1.0), (0.4, 0.7)])
def test_the_map_that_made_the_outcomes_is_found_again(slope: float, intercept: float) -> None:
    fitted = fit_map(drawn(slope, intercept, count=20_000))

    assert fitted[0] == pytest.approx(slope, rel=0.1)
    assert fitted[1] == pytest.approx(intercept, abs=0.1)


def test_the_mean_probability_is_the_share_that_is_right() -> None:
    trials = drawn(1.5, 0.5, count=400)
    fitted = fit_map(trials)

    mean = sum(mapped(fitted, one.confidence) for one in trials) / len(trials)
    assert mean == pytest.approx(sum(not one.wrong for one in trials) / len(trials), abs=0.01)


def test_the_order_of_confidences_stays_even_when_they_are_worse_than_nothing() -> None:
    trials = [CalibrationTrial(0.9, answered=True, wrong=True)] * 50 + [
        CalibrationTrial(0.1, answered=True, wrong=False)
    ] * 50
    fitted = fit_map(trials)

    assert fitted[0] == FLATTEST
    assert mapped(fitted, 0.1) < mapped(fitted, 0.5) < mapped(fitted, 0.9)
    assert mapped(fitted, 0.5) == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("count", [1, 20, 500])
def test_questions_without_an_error_do_not_make_everything_certain(count: int) -> None:
    fitted = fit_map([CalibrationTrial(0.8, answered=True, wrong=False)] * count)

    assert mapped(fitted, 0.8) == pytest.approx((count + 1) / (count + 2), abs=0.01)


def test_confidences_that_part_right_from_wrong_are_fitted_all_the_same() -> None:
    trials = [CalibrationTrial(0.9, answered=True, wrong=False)] * 40 + [
        CalibrationTrial(0.2, answered=True, wrong=True)
    ] * 40
    fitted = fit_map(trials)

    assert 0.9 < mapped(fitted, 0.9) < 1
    assert 0 < mapped(fitted, 0.2) < 0.1


def test_a_refused_question_counts_in_the_map() -> None:
    refused = [CalibrationTrial(0.8, answered=False, wrong=True)] * 30
    answered = [CalibrationTrial(0.8, answered=True, wrong=False)] * 30

    assert mapped(fit_map(refused + answered), 0.8) == pytest.approx(0.5, abs=0.01)
