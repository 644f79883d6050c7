"""Reranking: the best candidates by fused score, scored again by a closer look."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from quoth.protocols import Reranker
from quoth.retrieve.fuse import ROUND, best_first
from quoth.types import Candidate, Probe, Ranked, Support


class CosineReranker:
    """The cosine between the question and each candidate; what full text says where there is no vector."""

    name = "cosine"
    needs_tokens = False

    def score(self, probe: Probe, candidates: Sequence[Candidate]) -> list[Support]:
        scores = [one.lexical if probe.vector is None else one.dense for one in candidates]
        return [Support(score, None, {"cosine": score}, ()) for score in scores]


def rerank(ranked: tuple[Ranked, ...], *, probe: Probe, reranker: Reranker | None, topk: int) -> tuple[Ranked, ...]:
    """The `topk` candidates that the reranker finds best; by fused score when there is no reranker."""
    if reranker is None or not ranked:
        return ranked[:topk]
    supports = reranker.score(probe, [one.candidate for one in ranked])
    rescored = [
        replace(one, relevance=(score := round(support.score, ROUND)), order=score, support=support)
        for one, support in zip(ranked, supports, strict=True)
    ]
    return best_first(rescored)[:topk]
