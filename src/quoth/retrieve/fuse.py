"""Fusion: one absolute score from the two ways of searching."""

from __future__ import annotations

from quoth.types import Analysis, Candidate, Candidates, Probe, Ranked

ROUND = 6
"""Decimals kept of every score, so that the noise of floating point never decides an order."""


def fused_score(candidate: Candidate, *, alpha_lexical: float, alpha_semantic: float) -> float:
    """The weighted sum of both scores, at most 1; an opposite meaning (a negative cosine) counts as unrelated."""
    return round(min(1.0, alpha_lexical * candidate.lexical + alpha_semantic * max(0.0, candidate.dense)), ROUND)


def fuse(candidates: Candidates, analysis: Analysis, *, mode: str) -> tuple[Ranked, ...]:
    """Every candidate with its fused score, best first; equal scores are ordered by sentence id."""
    weights = _weights(analysis, mode)
    ranked = [
        Ranked(
            candidate,
            row,
            fused := fused_score(candidate, alpha_lexical=weights[0], alpha_semantic=weights[1]),
            fused,
            fused,
            None,
        )
        for row, candidate in enumerate(candidates.items)
    ]
    return best_first(ranked)


def weights_of(asked: Probe, analysis: Analysis, *, mode: str) -> tuple[float, float]:
    """The lexical and the dense weight in force; without a vector full text is all there is."""
    return _weights(analysis, "lexical" if asked.vector is None else mode)


def _weights(analysis: Analysis, mode: str) -> tuple[float, float]:
    return {"lexical": (1.0, 0.0), "dense": (0.0, 1.0)}.get(mode, (analysis.alpha_lexical, analysis.alpha_semantic))


def best_first(ranked: list[Ranked]) -> tuple[Ranked, ...]:
    """By order score; equal scores by document and place."""
    return tuple(sorted(ranked, key=lambda one: (-one.order, one.sentence.doc_id, one.sentence.quote.span)))
