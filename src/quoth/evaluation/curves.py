"""Metrics of the confidence - risk against coverage, AUROC and calibration - under many weightings at once.

Every function takes `weights`, one row for each weighting and one column for each question (a row of ones is the plain
figure), and returns one number for each row, NaN where it is undefined. Questions of equal confidence are handled
together, so that no figure depends on their order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
Flags: TypeAlias = NDArray[np.bool_]

BINS = 10
"""Bins of equal width in which confidence and the share of right answers are compared."""
_SLACK = 1e-9
"""Sums of weights are whole numbers; a risk at its limit must not be lost to rounding."""


@dataclass(frozen=True, slots=True, eq=False)
class RiskCoverage:
    """For each weighting (row) and threshold (column, strictest first) the share answered and the wrong among them.

    The risk of an empty answer set is NaN.
    """

    thresholds: Floats
    coverage: Floats
    risk: Floats


def risk_coverage(confidence: Floats, wrong: Flags, weights: Floats) -> RiskCoverage:
    """Compute the curve over every threshold that separates two questions."""
    thresholds, answered = _by_group(-confidence, weights)
    _, errors = _by_group(-confidence, weights * wrong)
    answered, errors = np.cumsum(answered, axis=1), np.cumsum(errors, axis=1)
    return RiskCoverage(-thresholds, ratio(answered, answered[:, -1:]), ratio(errors, answered))


def area_under_risk(curve: RiskCoverage) -> Floats:
    """Return the mean risk over all coverages: for each question, the risk at the threshold that just answers it."""
    steps = np.diff(curve.coverage, axis=1, prepend=0.0)
    return _or_nan(np.nansum(curve.risk * steps, axis=1), np.isfinite(curve.coverage[:, -1]))


def coverage_at(curve: RiskCoverage, risk: float) -> Floats:
    """Return the largest share answered at a threshold where at most `risk` of the answers are wrong; 0 if none is."""
    good = curve.risk <= risk + _SLACK  # NaN compares as false
    return _or_nan(np.max(np.where(good, curve.coverage, 0.0), axis=1), np.isfinite(curve.coverage[:, -1]))


def auroc(scores: Floats, positive: Flags, weights: Floats) -> Floats:
    """Return the probability that a positive scores higher than a negative; a tie counts half."""
    _, above = _by_group(scores, weights * positive)
    _, below = _by_group(scores, weights * ~positive)
    beaten = np.cumsum(below, axis=1) - below / 2
    return ratio(np.sum(above * beaten, axis=1), above.sum(axis=1) * below.sum(axis=1))


def bin_of(confidence: Floats) -> NDArray[np.intp]:
    """Return the bin of each confidence; 1.0 belongs to the last bin."""
    # Add a little before truncating: 0.3 * 10 must not fall into the bin below.
    return np.minimum((confidence * BINS + _SLACK).astype(np.intp), BINS - 1)


def calibration_error(confidence: Floats, right: Flags, faults: Flags, *, weights: Floats) -> Floats:
    """Return the expected calibration error: the gap between confidence and share right, averaged over the bins.

    A question without a result counts outside the bins, with the largest gap, 1.
    """
    inside = (bin_of(confidence)[:, None] == np.arange(BINS)) & ~faults[:, None]
    gaps = np.einsum("rq,qb->rb", weights, np.where(inside, (confidence - right)[:, None], 0.0))
    lost = np.einsum("rq,q->r", weights, faults.astype(np.float64))
    return ratio(np.abs(gaps).sum(axis=1) + lost, weights.sum(axis=1))


def _by_group(keys: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """Return the distinct keys, ascending, and the total weight of each."""
    unique, group = np.unique(keys, return_inverse=True)
    order = np.argsort(group, kind="stable")
    starts = np.searchsorted(group[order], np.arange(len(unique)))
    return unique, np.add.reduceat(weights[:, order], starts, axis=1)


def ratio(above: Floats, below: Floats) -> Floats:
    """Divide; NaN where the divisor is 0."""
    shape = np.broadcast_shapes(above.shape, below.shape)
    result = np.full(shape, np.nan)
    np.divide(above, below, out=result, where=np.broadcast_to(below > 0, shape))
    return result


def _or_nan(values: Floats, known: Flags) -> Floats:
    return np.where(known, values, np.nan)
