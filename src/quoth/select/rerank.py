"""Reranking: the best candidates by fused score, scored again by a closer look."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from quoth.protocols import Reranker
from quoth.retrieve.fuse import ROUND, best_first
from quoth.types import Analysis, Candidate, Candidates, Ranked, Vectors


class CosineReranker:
    """The cosine between the question and each candidate."""

    name = "cosine"

    def score(self, question: str, vector: Vectors | None, candidates: Candidates) -> list[float]:
        if vector is None:
            return [candidate.lexical for candidate in candidates.items]
        return [candidate.dense for candidate in candidates.items]


def rerank(
    ranked: tuple[Ranked, ...],
    candidates: Candidates,
    *,
    analysis: Analysis,
    vector: Vectors | None,
    reranker: Reranker | None,
    topk: int,
) -> tuple[Ranked, ...]:
    """The `topk` candidates that the reranker finds best; by fused score when there is no reranker."""
    if reranker is None or not ranked:
        return ranked[:topk]
    rows = [one.row for one in ranked]
    taken: tuple[Candidate, ...] = tuple(one.candidate for one in ranked)
    scores = reranker.score(analysis.search_text, vector, Candidates(taken, candidates.vectors[np.asarray(rows)]))
    rescored = [
        replace(one, relevance=round(score, ROUND), order=round(score, ROUND))
        for one, score in zip(ranked, scores, strict=True)
    ]
    return best_first(rescored)[:topk]
