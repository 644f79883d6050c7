"""Fuse lexical and dense scores into an absolute score, and the results of several searches into one result."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from quoth.types import Analysis, Candidate, Candidates, EncodedQuestion, Filters, Ranked, Usage, Vectors

ROUND = 6
"""Decimals of every score, so that floating-point noise never decides an order."""


@dataclass(frozen=True, slots=True, eq=False)
class SearchResult:
    """The result of a search: every candidate by fused score, and the best candidates by reranked score.

    `filters` are the filters applied, `degraded` names what could not be used, and `notes` are sentences for people.
    `usage` is the token usage of an LLM reranker, None without an LLM.
    """

    encoded: EncodedQuestion
    candidates: Candidates
    fused: tuple[Ranked, ...]
    ranked: tuple[Ranked, ...]
    filters: Filters
    degraded: tuple[str, ...]
    notes: tuple[str, ...]
    usage: Usage | None


def fused_score(candidate: Candidate, *, alpha_lexical: float, alpha_semantic: float) -> float:
    """Return the weighted sum of both scores, at most 1; a negative cosine counts as 0."""
    return round(min(1.0, alpha_lexical * candidate.lexical + alpha_semantic * max(0.0, candidate.dense)), ROUND)


def fuse(candidates: Candidates, analysis: Analysis, *, mode: str) -> tuple[Ranked, ...]:
    """Return every candidate with its fused score, best first; equal scores by document and position."""
    lexical, dense = fusion_weights(analysis, mode=mode)
    scores = [fused_score(item, alpha_lexical=lexical, alpha_semantic=dense) for item in candidates.items]
    return best_first(
        Ranked(candidate, row, fused=score, relevance=score, order=score, support=None)
        for row, (candidate, score) in enumerate(zip(candidates.items, scores, strict=True))
    )


def fusion_weights(analysis: Analysis, *, mode: str) -> tuple[float, float]:
    """Return the weights of the lexical and the dense score in this search mode."""
    return {"lexical": (1.0, 0.0), "dense": (0.0, 1.0)}.get(mode, (analysis.alpha_lexical, analysis.alpha_semantic))


def best_first(ranked: Iterable[Ranked]) -> tuple[Ranked, ...]:
    """Sort by order score; equal scores by document and position."""
    return tuple(sorted(ranked, key=lambda item: (-item.order, item.sentence.doc_id, item.sentence.quote.span)))


def merge(first: SearchResult, others: Sequence[SearchResult]) -> SearchResult:
    """Merge the search for a question with the searches for its sub-questions, each sentence once."""
    if not others:
        return first
    results = (first, *others)
    items: dict[str, tuple[Candidate, Vectors]] = {}
    for result in results:
        for candidate, vector in zip(result.candidates.items, result.candidates.vectors, strict=True):
            items.setdefault(candidate.sentence.id, (candidate, vector))
    ordered = sorted(items.values(), key=lambda item: (item[0].sentence.doc_id, item[0].sentence.quote.span))
    rows = {candidate.sentence.id: row for row, (candidate, _) in enumerate(ordered)}
    candidates = first.candidates
    if ordered:
        found, vectors = zip(*ordered, strict=True)
        candidates = Candidates(found, np.stack(vectors))
    return replace(
        first,
        candidates=candidates,
        fused=_each_once((ranked for result in results for ranked in result.fused), rows),
        ranked=_each_once((ranked for result in results for ranked in result.ranked), rows),
        degraded=tuple(dict.fromkeys(name for result in results for name in result.degraded)),
        notes=tuple(dict.fromkeys(note for result in results for note in result.notes)),
    )


def _each_once(ranked: Iterable[Ranked], rows: dict[str, int]) -> tuple[Ranked, ...]:
    """Return each sentence with its best scores, and with the order score of the first search that ranked it.

    The search for the whole question comes first: its order means more, since a short sub-question matches easily.
    """
    merged: dict[str, Ranked] = {}
    for candidate in ranked:
        sentence_id = candidate.sentence.id
        before = merged.get(sentence_id, candidate)
        merged[sentence_id] = replace(
            before,
            row=rows[sentence_id],
            fused=max(candidate.fused, before.fused),
            relevance=max(candidate.relevance, before.relevance),
        )
    return best_first(merged.values())
