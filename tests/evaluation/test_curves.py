from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.evaluation.measures import (
    Flags,
    Floats,
    area_under_risk,
    auroc,
    calibration_error,
    coverage_at,
    risk_coverage,
)

CONFIDENCE = np.array([0.9, 0.8, 0.8, 0.5])
WRONG = np.array([False, True, False, True])
NO_FAULTS = np.zeros(4, dtype=np.bool_)


def ones(count: int) -> Floats:
    return np.ones((1, count))


def test_equal_confidences_are_answered_together() -> None:
    curve = risk_coverage(CONFIDENCE, WRONG, ones(4))

    assert curve.thresholds.tolist() == [0.9, 0.8, 0.5]
    assert curve.coverage.tolist() == [[0.25, 0.75, 1.0]]
    assert curve.risk.tolist() == [[0.0, pytest.approx(1 / 3), 0.5]]


def test_the_area_is_the_mean_risk_of_the_thresholds_that_let_each_question_through() -> None:
    curve = risk_coverage(CONFIDENCE, WRONG, ones(4))

    assert area_under_risk(curve).tolist() == [pytest.approx((0 + 1 / 3 + 1 / 3 + 1 / 2) / 4)]


@pytest.mark.parametrize(("risk", "coverage"), [(0.05, 0.25), (1 / 3, 0.75), (0.34, 0.75), (0.49, 0.75), (0.5, 1.0)])
def test_coverage_at_a_risk_is_the_largest_share_that_keeps_it(risk: float, coverage: float) -> None:
    assert coverage_at(risk_coverage(CONFIDENCE, WRONG, ones(4)), risk).tolist() == [coverage]


def test_coverage_may_grow_past_a_risk_that_is_too_high_for_a_while() -> None:
    confidence = np.array([0.9, 0.8, 0.7, 0.6, 0.5])
    curve = risk_coverage(confidence, np.array([True, False, False, False, True]), ones(5))

    assert coverage_at(curve, 0.25).tolist() == [0.8]
    assert coverage_at(curve, 0.1).tolist() == [0.0]


def test_auroc_is_the_share_of_pairs_in_the_right_order() -> None:
    # Right: .9 and .8; wrong: .8 and .5. Three pairs in order and one tie.
    assert auroc(CONFIDENCE, ~WRONG, ones(4)).tolist() == [3.5 / 4]
    assert np.isnan(auroc(CONFIDENCE, np.ones(4, dtype=np.bool_), ones(4))).all()


def test_the_calibration_error_is_the_mean_gap_of_the_bins() -> None:
    # Bins: .9 alone (gap .1), both .8 (mean .8, half right: gap .3), .5 (wrong: gap .5).
    expected = (1 * 0.1 + 2 * 0.3 + 1 * 0.5) / 4

    assert calibration_error(CONFIDENCE, ~WRONG, NO_FAULTS, weights=ones(4)).tolist() == [pytest.approx(expected)]


def test_a_fault_has_the_largest_gap_and_mends_no_bin() -> None:
    confidence = np.array([0.92, 1.0])
    right = np.array([True, False])

    error = calibration_error(confidence, right, np.array([False, True]), weights=ones(2))

    assert error.tolist() == [pytest.approx((0.08 + 1) / 2)]


def test_a_bin_begins_at_its_lower_end() -> None:
    # .3 * 10 is a little less than 3 in floating point.
    error = calibration_error(
        np.array([0.3, 0.31]), np.array([True, False]), np.zeros(2, dtype=np.bool_), weights=ones(2)
    )

    assert error.tolist() == [pytest.approx(abs(0.305 - 0.5))]


def test_an_empty_weighting_has_no_figures() -> None:
    nothing = np.zeros((1, 4))
    curve = risk_coverage(CONFIDENCE, WRONG, nothing)

    assert np.isnan(area_under_risk(curve)).all()
    assert np.isnan(coverage_at(curve, 0.1)).all()


def everything(confidence: Floats, right: Flags, weights: Floats) -> list[float]:
    curve = risk_coverage(confidence, ~right, weights)
    faults = np.zeros(len(right), dtype=np.bool_)
    figures = [
        area_under_risk(curve),
        *(coverage_at(curve, risk) for risk in (0.05, 0.2, 0.5)),
        auroc(confidence, right, weights),
        calibration_error(confidence, right, faults, weights=weights),
    ]
    return [float(one[0]) for one in figures]


rows = st.lists(
    st.tuples(st.integers(0, 10).map(lambda tenth: tenth / 10), st.booleans(), st.integers(0, 3)),
    min_size=1,
    max_size=12,
)


@given(rows, st.randoms(use_true_random=False))
def test_no_figure_depends_on_the_order_of_the_questions(
    given_rows: list[tuple[float, bool, int]], chance: object
) -> None:
    shuffled = list(given_rows)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]

    assert _figures(given_rows) == pytest.approx(_figures(shuffled), nan_ok=True)


@given(rows)
def test_a_weight_is_a_number_of_copies(given_rows: list[tuple[float, bool, int]]) -> None:
    copies = [(confidence, right, 1) for confidence, right, weight in given_rows for _ in range(weight)]
    if copies:
        assert _figures(given_rows) == pytest.approx(_figures(copies), nan_ok=True)


def _figures(given_rows: list[tuple[float, bool, int]]) -> list[float]:
    confidence, right, weights = (np.array(column) for column in zip(*given_rows, strict=True))
    return everything(confidence, right, weights[None, :].astype(np.float64))
