"""Logistic models: probabilities from a few named features, and scores of different rerankers on one scale."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass

from quoth.errors import SettingsError
from quoth.settings import EvidenceSettings

CLEAR = 0.5
"""From this relevance on a passage is clearly about the question, whichever reranker scored it."""

SENTENCE_SIGNS = {"late": 1, "lexical": 1, "cosine": 1, "reader": 1}
ANSWER_SIGNS = {
    **{"support": 1, "gap": 1, "agreement": 1, "coverage": 1},
    **{"missing": -1, "unknown": -1, "unused": -1, "unstated": -1, "unspoken": -1, "opposed": -1},
    **{"absent": -1, "apart": -1},
}
"""Every feature of a model, and whether more of it speaks for an answer or against one."""
INTERCEPT = "intercept"


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

    def mean_and_log_odds(self, features: Mapping[str, float]) -> tuple[float, float]:
        """Return the features averaged by their weights, and the log odds.

        The mean is from 0 to 1, as the features are, and in the order of the probability. Probabilities crowd near 0,
        where shares and differences of two of them say little.
        """
        total = sum(self.terms(features).values())
        return total / sum(self.weights.values()), self.intercept + total


@dataclass(frozen=True, slots=True)
class EvidenceModel:
    """Weights fitted on labelled questions: does a sentence support an answer, and do the quotes answer?"""

    sentence: Logistic
    answer: Logistic
    revision: str


def fitted_model(evidence: EvidenceSettings) -> EvidenceModel:
    """Return the model that `quoth fit` wrote into the settings; its revision is a digest of its weights.

    Raise `SettingsError` when a part of it is missing or unknown.
    """
    content = json.dumps([evidence.sentence, evidence.answer], sort_keys=True)
    return EvidenceModel(
        sentence=_checked("sentence", evidence.sentence, SENTENCE_SIGNS),
        answer=_checked("answer", evidence.answer, ANSWER_SIGNS),
        revision=f"fitted {hashlib.sha256(content.encode()).hexdigest()[:12]}",
    )


def _checked(name: str, weights: Mapping[str, float], known: Mapping[str, int]) -> Logistic:
    features = {feature: weight for feature, weight in weights.items() if feature != INTERCEPT}
    if INTERCEPT not in weights or not features or not features.keys() <= known.keys():
        raise SettingsError(
            f"evidence.{name} must hold an {INTERCEPT} and weights of {', '.join(known)}, not {dict(weights)}",
            hint="Fit again (quoth fit QUESTIONS), or remove the section 'evidence' from the settings file.",
        )
    return Logistic(weights[INTERCEPT], features)


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
