"""Relevance: scores of different rerankers on one scale, so that one floor means the same for all of them."""

from __future__ import annotations

from dataclasses import dataclass

from quoth.select.evidence import logistic

CLEAR = 0.5
"""From this relevance on a passage is clearly about the question, whoever scored it."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Maps a raw score to a relevance: logistic(`slope` * score + `intercept`).

    Fitted so that of the passages that hold the answer 90% reach 0.5 and 98% reach 0.3; see docs/retrieval.md.
    """

    slope: float
    intercept: float

    def relevance(self, score: float) -> float:
        return round(logistic(self.slope * score + self.intercept), 6)
