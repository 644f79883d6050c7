"""Logistic models: probabilities from a few named features, and scores of different rerankers on one scale."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

CLEAR = 0.5
"""From this relevance on a passage is clearly about the question, whichever reranker scored it."""


@dataclass(frozen=True, slots=True)
class Logistic:
    """A probability from a few named features, each with its weight."""

    intercept: float
    weights: Mapping[str, float]

    def terms(self, features: Mapping[str, float]) -> dict[str, float]:
        """Return what each feature adds to the log odds."""
        return {name: weight * features[name] for name, weight in self.weights.items()}

    def log_odds(self, features: Mapping[str, float]) -> float:
        return self.intercept + sum(self.terms(features).values())

    def mean(self, features: Mapping[str, float]) -> float:
        """Return the features averaged by their weights: from 0 to 1 as they are, in the order of the probability.

        Probabilities crowd near 0, where shares and differences of two of them say little.
        """
        return sum(self.terms(features).values()) / sum(self.weights.values())


@dataclass(frozen=True, slots=True)
class EvidenceModel:
    """Weights fitted on labelled questions: does a sentence support an answer, and do the quotes answer?"""

    sentence: Logistic
    answer: Logistic
    revision: str


@dataclass(frozen=True, slots=True)
class Scale:
    """Map a raw score to a relevance: logistic(`slope` * score + `intercept`), so that one floor suits all rerankers.

    Fitted so that of the passages that hold the answer 90% reach 0.5 and 98% reach 0.3; see docs/retrieval.md.
    """

    slope: float
    intercept: float

    def relevance(self, score: float) -> float:
        return round(logistic(self.slope * score + self.intercept), 6)


def logistic(log_odds: float) -> float:
    return 1 / (1 + math.exp(-max(-40.0, min(40.0, log_odds))))
