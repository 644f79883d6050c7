"""A small map from raw confidences to probabilities, fitted to labelled questions, and how well it fits others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quoth.calibration import log_odds
from quoth.evaluation.calibrate import Trial

FLATTEST = 0.01
"""The least slope: a map is never flat or falling, so that the order of the confidences stays."""
_ROUNDS = 100
_PRECISION = 1e-10

_Numbers = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ProbabilityMap:
    """probability = logistic(slope * log odds of the confidence + intercept), with a slope above 0."""

    slope: float
    intercept: float


def fit_map(trials: Sequence[Trial]) -> ProbabilityMap:
    """The map under which what became of all trials is most likely, those that a check refused included.

    Right and wrong count as a little less than 1 and a little more than 0, as Platt proposed, so that a few questions
    without an error do not make every answer certain.
    """
    odds = np.array([log_odds(one.confidence) for one in trials])
    wrong = np.array([one.wrong for one in trials])
    bad, good = int(wrong.sum()), int((~wrong).sum())
    targets = np.where(wrong, 1 / (bad + 2), (good + 1) / (good + 2))
    slope, intercept = _most_likely(np.stack([odds, np.ones_like(odds)], axis=1), targets)
    if slope < FLATTEST:
        slope, (intercept,) = FLATTEST, _most_likely(np.ones((len(odds), 1)), targets, offset=FLATTEST * odds)
    return ProbabilityMap(float(slope), float(intercept))


def _most_likely(inputs: _Numbers, targets: _Numbers, *, offset: _Numbers | float = 0.0) -> _Numbers:
    """Weights of a logistic regression by Newton's method; steps are halved while they make things worse."""
    weights = np.zeros(inputs.shape[1])
    loss = _loss(inputs @ weights + offset, targets)
    for _ in range(_ROUNDS):
        expected = _logistic(inputs @ weights + offset)
        pull = inputs.T @ (targets - expected)
        curvature = (inputs * (expected * (1 - expected))[:, None]).T @ inputs + 1e-9 * np.eye(len(weights))
        step = np.linalg.solve(curvature, pull)
        while (new := _loss(inputs @ (weights + step) + offset, targets)) > loss and np.abs(step).max() > _PRECISION:
            step = step / 2
        weights, loss = weights + step, new
        if np.abs(step).max() <= _PRECISION:
            break
    return weights


def _logistic(odds: _Numbers) -> _Numbers:
    return np.asarray(0.5 * (1 + np.tanh(odds / 2)), dtype=np.float64)


def _loss(odds: _Numbers, targets: _Numbers) -> float:
    return float(np.sum(np.logaddexp(0, odds) - targets * odds))
