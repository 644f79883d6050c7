"""Reranking: the best by a closer look, with the scores of that look."""

from __future__ import annotations

import numpy as np
import pytest

from quoth.profiles import load_profile
from quoth.protocols import Reranker
from quoth.retrieve.fuse import fuse
from quoth.retrieve.question import analyse
from quoth.select.rerank import CosineReranker, rerank
from quoth.settings import RetrievalSettings
from quoth.types import NO_FILTERS, Candidate, Candidates, Question, Quote, Ranked, RegionKind, Sentence, Span, Vectors

ANALYSIS = analyse(
    Question("1", "How deep?", NO_FILTERS), profile=load_profile("general"), settings=RetrievalSettings()
)
VECTOR = np.array([1, 0, 0, 0], dtype=np.float32)


class ByText:
    """Scores each candidate as told, and remembers what it was asked."""

    name = "by text"

    def __init__(self, **scores: float) -> None:
        self._scores = scores
        self.asked: tuple[str, list[str], list[int]] | None = None

    def score(self, question: str, vector: Vectors | None, candidates: Candidates) -> list[float]:
        rows = [int(row.argmax()) for row in candidates.vectors]
        self.asked = (question, [one.sentence.text for one in candidates.items], rows)
        return [self._scores[one.sentence.text] for one in candidates.items]


def found(**scores: tuple[float, float]) -> tuple[tuple[Ranked, ...], Candidates]:
    """Candidates named by their text, each with its lexical and dense score."""
    items = []
    for place, (text, (lexical, dense)) in enumerate(scores.items()):
        quote = Quote(Span(place * 10, place * 10 + len(text)), text)
        sentence = Sentence("a.md", quote, RegionKind.PARAGRAPH, section=(), lead=None, page=None, tags={})
        items.append(Candidate(sentence, lexical, dense, ("lexical",)))
    candidates = Candidates(tuple(items), np.eye(4, dtype=np.float32)[: len(items)])
    return fuse(candidates, ANALYSIS, mode="lexical"), candidates


def texts(
    ranked: tuple[Ranked, ...], candidates: Candidates, reranker: Reranker | None, *, topk: int = 20
) -> list[str]:
    kept = rerank(ranked, candidates, analysis=ANALYSIS, vector=VECTOR, reranker=reranker, topk=topk)
    return [one.sentence.text for one in kept]


def test_without_a_reranker_the_fused_order_is_kept_and_cut() -> None:
    ranked, candidates = found(low=(0.1, 0.9), high=(0.9, 0.1), mid=(0.5, 0.5))

    assert texts(ranked, candidates, None) == ["high", "mid", "low"]
    assert texts(ranked, candidates, None, topk=2) == ["high", "mid"]


def test_the_reranker_decides_which_are_kept() -> None:
    ranked, candidates = found(low=(0.1, 0), high=(0.9, 0), mid=(0.5, 0))

    assert texts(ranked, candidates, ByText(low=0.9, high=0.1, mid=0.5), topk=2) == ["low", "mid"]


def test_relevance_is_the_rerankers_and_the_fused_score_stays() -> None:
    ranked, candidates = found(one=(0.9, 0))
    (kept,) = rerank(ranked, candidates, analysis=ANALYSIS, vector=VECTOR, reranker=ByText(one=0.25), topk=5)

    assert (kept.fused, kept.relevance, kept.order) == (0.9, 0.25, 0.25)


def test_each_candidate_comes_with_its_own_vector() -> None:
    ranked, candidates = found(low=(0.1, 0), high=(0.9, 0))
    reranker = ByText(low=0, high=0)
    texts(ranked, candidates, reranker)

    assert reranker.asked == ("How deep", ["high", "low"], [1, 0])


def test_equal_scores_are_ordered_by_place() -> None:
    ranked, candidates = found(b=(0.1, 0), a=(0.9, 0))

    assert texts(ranked, candidates, ByText(a=0.5, b=0.5)) == ["b", "a"]


def test_a_reranker_that_gives_too_few_scores_is_an_error() -> None:
    class Short(ByText):
        def score(self, question: str, vector: Vectors | None, candidates: Candidates) -> list[float]:
            return []

    ranked, candidates = found(a=(0.1, 0))

    with pytest.raises(ValueError, match="shorter"):
        texts(ranked, candidates, Short())


def test_nothing_found_is_not_scored() -> None:
    ranked, candidates = found()

    assert texts(ranked, candidates, ByText()) == []


def test_cosine_orders_by_meaning() -> None:
    ranked, candidates = found(low=(0.1, 0.9), high=(0.9, 0.1))

    assert texts(ranked, candidates, CosineReranker()) == ["low", "high"]


def test_cosine_without_a_vector_keeps_to_the_words() -> None:
    _, candidates = found(low=(0.1, 0.0), high=(0.9, 0.0))

    assert CosineReranker().score("How deep", None, candidates) == [0.1, 0.9]
