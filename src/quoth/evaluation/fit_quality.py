"""How well fitted weights predict labels, on rows that they were not fitted to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quoth.evaluation.measures import Flags, Floats, auroc, calibration_error
from quoth.search.logistic import Logistic

FOLDS = 5


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """What a model is fitted to: features, labels, how much each row counts, and the fold of its question."""

    features: Sequence[Mapping[str, float]]
    labels: Flags
    shares: Floats
    folds: NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class PredictionQuality:
    """How well probabilities predict labels."""

    log_loss: float
    auroc: float | None
    """None where all labels are the same."""
    calibration_error: float


@dataclass(frozen=True, slots=True)
class HeldOut:
    """The quality of the weights in force and of fitted ones, on questions that these were not fitted to.

    `margin` is the standard error of the difference in log loss, from its spread over the folds. `constant` is the log
    loss of a model without features, which always says how often the label is true.
    """

    in_force: PredictionQuality
    fitted: PredictionQuality
    margin: float
    constant: float

    @property
    def better(self) -> bool:
        """Whether the fit lowers the log loss, and learnt something from the features."""
        return self.fitted.log_loss < min(self.in_force.log_loss, self.constant)

    @property
    def clear(self) -> bool:
        """Whether it lowers the log loss by more than chance would."""
        return self.in_force.log_loss - self.fitted.log_loss > self.margin


def compare(before: Rows, in_force: Logistic, after: Rows, models: Sequence[Logistic]) -> HeldOut:
    """Compare the model in force with those that were fitted without the fold of each row."""
    each = list(zip(after.features, after.folds.tolist(), strict=True))
    usual = [_usual(after, fold) for fold in range(FOLDS)]
    old = np.array([in_force.log_odds(features) for features in before.features])
    new = np.array([models[fold].log_odds(features) for features, fold in each])
    gains = [_log_loss(before, old, fold) - _log_loss(after, new, fold) for fold in range(FOLDS)]
    return HeldOut(
        in_force=_quality(before, old),
        fitted=_quality(after, new),
        margin=float(np.std(gains, ddof=1) / FOLDS**0.5),
        constant=_log_loss(after, np.array([usual[fold] for _, fold in each])),
    )


def _usual(rows: Rows, held_out: int) -> float:
    """Return the log odds of the label outside a fold, kept finite by half a row of each kind."""
    shares = rows.shares[rows.folds != held_out]
    true = float(shares @ rows.labels[rows.folds != held_out])
    return float(np.log((true + 0.5) / (shares.sum() - true + 0.5)))


def _quality(rows: Rows, odds: Floats) -> PredictionQuality:
    chances = 0.5 * (1 + np.tanh(odds / 2))
    error = calibration_error(chances, rows.labels, np.zeros_like(rows.labels), rows.shares[None, :])
    return PredictionQuality(_log_loss(rows, odds), _auroc(rows, odds), float(error[0]))


def _auroc(rows: Rows, odds: Floats) -> float | None:
    """Return the AUROC within the folds, averaged by their pairs.

    Pairs from two folds would compare two models: the more is true in a fold, the less its model was fitted to expect.
    """
    inside = rows.folds == np.arange(FOLDS)[:, None]
    weights = np.where(inside, rows.shares, 0.0)
    pairs = (weights @ rows.labels) * (weights @ ~rows.labels)
    return float(pairs @ np.nan_to_num(auroc(odds, rows.labels, weights)) / pairs.sum()) if pairs.any() else None


def _log_loss(rows: Rows, odds: Floats, fold: int | None = None) -> float:
    """Return the mean loss of a fold, or of all; 0 for a fold in which nothing was found."""
    shares = np.where(rows.folds == fold, rows.shares, 0.0) if fold is not None else rows.shares
    return float(shares @ (np.logaddexp(0, odds) - rows.labels * odds) / max(shares.sum(), 1e-9))
