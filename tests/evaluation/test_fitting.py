"""Logistic models: as the labels say, in the order that is allowed, and near to what was known where labels are few."""

from __future__ import annotations

import numpy as np
import pytest

from quoth.evaluation.fitting import fit, newton
from quoth.search.logistic import Logistic, logistic

SIGNS = {"good": 1, "bad": -1}
PRIOR = Logistic(-1.0, {"good": 1.0, "bad": -0.5})


def rows(count: int, truth: Logistic) -> tuple[list[dict[str, float]], list[bool]]:
    """Features drawn at random, and labels that come true as often as the truth says."""
    dice = np.random.default_rng(7)
    features = [{"good": float(good), "bad": float(bad)} for good, bad in dice.normal(1.0, 2.0, (count, 2))]
    return features, [bool(dice.random() < logistic(truth.log_odds(each))) for each in features]


def fitted(count: int, truth: Logistic, prior: Logistic | None) -> Logistic:
    features, labels = rows(count, truth)
    return fit(features, labels, shares=[1.0] * count, signs=SIGNS, ridge=3.0, prior=prior)


def distance(one: Logistic, other: Logistic) -> float:
    gaps = [one.weights.get(name, 0.0) - other.weights.get(name, 0.0) for name in SIGNS]
    return float(np.linalg.norm([one.intercept - other.intercept, *gaps]))


def test_many_rows_find_the_truth_with_and_without_a_prior() -> None:
    truth = Logistic(0.5, {"good": 0.4, "bad": -1.2})

    assert distance(fitted(20_000, truth, None), truth) < 0.1
    assert distance(fitted(20_000, truth, PRIOR), truth) < 0.1


def test_few_rows_stay_near_the_prior_and_more_go_further() -> None:
    truth = Logistic(0.5, {"good": 0.4, "bad": -1.2})
    moved = [distance(fitted(count, truth, PRIOR), PRIOR) for count in (1, 10, 100, 1_000)]

    assert moved == sorted(moved)
    assert moved[0] < 0.2
    assert moved[-1] > 1


def test_a_feature_that_would_get_the_wrong_sign_is_left_out() -> None:
    model = fitted(2_000, Logistic(0.0, {"good": 1.0, "bad": 0.8}), PRIOR)

    assert model.weights.keys() == {"good"}


def test_a_feature_that_never_varies_keeps_the_weight_it_had() -> None:
    features, labels = rows(100, PRIOR)
    flat = [{**each, "bad": 0.0} for each in features]
    model = fit(flat, labels, shares=[1.0] * 100, signs=SIGNS, ridge=3.0, prior=PRIOR)

    assert model.weights["bad"] == PRIOR.weights["bad"]


def test_a_row_counts_by_its_share() -> None:
    features, labels = rows(100, PRIOR)
    twice = fit(features * 2, labels * 2, shares=[1.0] * 200, signs=SIGNS, ridge=3.0, prior=PRIOR)

    assert fit(features, labels, shares=[2.0] * 100, signs=SIGNS, ridge=3.0, prior=PRIOR) == twice


def test_labels_that_the_prior_calls_impossible_do_not_break_the_fit() -> None:
    sure = Logistic(-50.0, {"good": 30.0})
    model = fitted(500, Logistic(0.0, {"good": -1.0}), sure)

    assert np.isfinite(model.intercept)
    assert model.weights.get("good", 0.0) >= 0


def test_at_the_solution_nothing_pulls() -> None:
    dice = np.random.default_rng(3)
    design, targets, shares = dice.normal(size=(50, 3)), dice.random(50), dice.random(50)
    ridge, towards = np.array([0.0, 1.0, 4.0]), np.array([0.0, 1.0, -1.0])
    weights = newton(design, targets, shares=shares, ridge=ridge, towards=towards, offset=0.3)
    expected = 1 / (1 + np.exp(-(design @ weights + 0.3)))

    assert design.T @ (shares * (targets - expected)) - ridge * (weights - towards) == pytest.approx(0, abs=1e-8)
