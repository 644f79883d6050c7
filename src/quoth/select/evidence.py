"""The evidence reranker: late interaction and full text together say how far a sentence supports an answer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from quoth.select.late import matches
from quoth.types import Candidate, Probe, Support


@dataclass(frozen=True, slots=True)
class Logistic:
    """A probability from a few named numbers, each with its weight."""

    intercept: float
    weights: Mapping[str, float]

    def terms(self, parts: Mapping[str, float]) -> dict[str, float]:
        """What each part adds to the log odds."""
        return {name: weight * parts[name] for name, weight in self.weights.items()}

    def log_odds(self, parts: Mapping[str, float]) -> float:
        return self.intercept + sum(self.terms(parts).values())

    def mean(self, parts: Mapping[str, float]) -> float:
        """The parts averaged by their weights: from 0 to 1 as they are, in the order of the probability.

        Probabilities crowd near 0, where no share and no difference of two of them says much.
        """
        return sum(self.terms(parts).values()) / sum(self.weights.values())


@dataclass(frozen=True, slots=True)
class EvidenceModel:
    """The weights that were fitted on labelled questions: does a sentence support, and do the quotes answer?"""

    sentence: Logistic
    answer: Logistic
    revision: str


class EvidenceReranker:
    """Implements `Reranker`; it needs the tokens of the question."""

    name = "evidence"
    needs_tokens = True

    def __init__(self, model: Logistic) -> None:
        self._model = model

    def score(self, probe: Probe, candidates: Sequence[Candidate]) -> list[Support]:
        if probe.tokens is None:
            raise ValueError("late interaction needs the tokens of the question")
        table = matches(probe.tokens, [candidate.tokens for candidate in candidates])
        found = []
        weighed = np.einsum("ij,j->i", table, probe.weights, dtype=np.float64)
        for candidate, late, row in zip(candidates, weighed, table, strict=True):
            parts = {"late": round(float(late), 6), "lexical": candidate.lexical}
            found.append(
                Support(self._model.mean(parts), self._model.log_odds(parts), parts, tuple(np.round(row, 3).tolist()))
            )
        return found


def logistic(log_odds: float) -> float:
    return 1 / (1 + math.exp(-max(-40.0, min(40.0, log_odds))))
