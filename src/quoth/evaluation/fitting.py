"""Fit logistic models by Newton's method: freely, or drawn towards weights that are known to be good."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from quoth.evaluation.measures import Floats
from quoth.search.logistic import Logistic

_DECIMALS = 4
_ROUNDS = 100
_PRECISION = 1e-10


def fit(
    rows: Sequence[Mapping[str, float]],
    labels: Sequence[float],
    *,
    shares: Sequence[float],
    signs: Mapping[str, int],
    ridge: float,
    prior: Logistic | None,
) -> Logistic:
    """Fit the weights of the features, each with the sign it must have; a feature that would get another is left out.

    Labels are true, false or a chance between. Each row counts by its share. All is drawn towards `prior`, as strongly
    as `ridge` says, so that few rows change little; without one the weights are drawn towards 0 and the intercept is
    free. A weight is as far from the prior as it changes the log odds at one standard deviation of its feature.
    """
    names = list(rows[0])
    values = np.array([[row[name] for name in names] for row in rows])
    centre, spread = values.mean(axis=0), values.std(axis=0) + 1e-9
    known = np.array([prior.weights.get(name, 0.0) if prior else 0.0 for name in names])
    towards = np.array([prior.intercept + known @ centre if prior else 0.0, *(known * spread)])
    pull = np.full(len(towards), ridge)
    pull[0] = ridge if prior else 0.0
    design = np.c_[np.ones(len(values)), (values - centre) / spread]
    kept = list(range(len(towards)))
    while True:
        solved = newton(
            design[:, kept], np.array(labels, float), shares=np.array(shares), ridge=pull[kept], towards=towards[kept]
        )
        wrong = {at for at, weight in zip(kept, solved, strict=True) if at and signs[names[at - 1]] * weight <= 0}
        if not wrong:
            break
        kept = [at for at in kept if at not in wrong]
    features = [at - 1 for at in kept[1:]]
    weights = solved[1:] / spread[features]
    rounded = {names[at]: round(float(weight), _DECIMALS) for at, weight in zip(features, weights, strict=True)}
    return Logistic(
        round(float(solved[0] - weights @ centre[features]), _DECIMALS),
        {name: weight for name, weight in rounded.items() if weight},
    )


def newton(
    design: Floats, targets: Floats, *, shares: Floats, ridge: Floats, towards: Floats, offset: Floats | float = 0.0
) -> Floats:
    """Return the weights of a logistic regression with a penalty: `ridge` / 2 * squared distance from `towards`.

    `targets` lie between 0 and 1. `offset` is added to the log odds. A step is halved while it increases the loss.
    """

    def loss(weights: Floats) -> float:
        odds = design @ weights + offset
        distance = weights - towards
        return float(shares @ (np.logaddexp(0, odds) - targets * odds) + ridge @ (distance * distance) / 2)

    weights = towards.copy()
    best = loss(weights)
    for _ in range(_ROUNDS):
        expected = 0.5 * (1 + np.tanh((design @ weights + offset) / 2))  # the logistic function
        pull = design.T @ (shares * (targets - expected)) - ridge * (weights - towards)
        curvature = (design * (shares * expected * (1 - expected))[:, None]).T @ design + np.diag(ridge + 1e-9)
        step = np.linalg.solve(curvature, pull)
        while (new := loss(weights + step)) > best and np.abs(step).max() > _PRECISION:
            step = step / 2
        weights, best = weights + step, new
        if np.abs(step).max() <= _PRECISION:
            break
    return weights
