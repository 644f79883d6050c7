"""Reranking: the best by a closer look, with the scores of that look."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from quoth.domain.profile import load_profile
from quoth.protocols import Reranker
from quoth.search.fusion import fuse
from quoth.search.question_analysis import analyse
from quoth.search.reranking import CosineReranker, rerank
from quoth.settings import RetrievalSettings
from quoth.types import (
    NO_FILTERS,
    Candidate,
    Candidates,
    EncodedQuestion,
    Question,
    Quote,
    Ranked,
    RegionKind,
    Sentence,
    Span,
    Support,
)

ANALYSIS = analyse(
    Question("1", "How deep?", NO_FILTERS), profile=load_profile("general"), settings=RetrievalSettings()
)
ENCODED = EncodedQuestion("How deep", np.array([1, 0, 0, 0], dtype=np.float32), None, np.empty(0, dtype=np.float32))


class ByText:
    """Scores each candidate as told, and remembers what it was asked."""

    name = "by text"
    needs_tokens = False

    def __init__(self, **scores: float) -> None:
        self._scores = scores
        self.asked: str | None = None

    def score(self, encoded: EncodedQuestion, candidates: Sequence[Candidate]) -> list[Support]:
        self.asked = encoded.text
        return [Support(self._scores[one.sentence.text], None, {}, ()) for one in candidates]


def found(**scores: tuple[float, float]) -> tuple[Ranked, ...]:
    """Candidates named by their text, each with its lexical and dense score."""
    items = []
    for place, (text, (lexical, dense)) in enumerate(scores.items()):
        quote = Quote(Span(place * 10, place * 10 + len(text)), text)
        sentence = Sentence("a.md", quote, RegionKind.PARAGRAPH, section=(), lead=None, page=None, ocr=None, tags={})
        items.append(Candidate(sentence, lexical, dense, ("lexical",), b""))
    candidates = Candidates(tuple(items), np.eye(4, dtype=np.float32)[: len(items)])
    return fuse(candidates, ANALYSIS, mode="lexical")


def kept(ranked: tuple[Ranked, ...], reranker: Reranker | None, *, topk: int = 20) -> tuple[Ranked, ...]:
    return rerank(ranked, encoded=ENCODED, reranker=reranker, topk=topk)


def texts(ranked: tuple[Ranked, ...], reranker: Reranker | None, *, topk: int = 20) -> list[str]:
    return [one.sentence.text for one in kept(ranked, reranker, topk=topk)]


def test_without_a_reranker_the_fused_order_is_kept_and_cut() -> None:
    ranked = found(low=(0.1, 0.9), high=(0.9, 0.1), mid=(0.5, 0.5))

    assert texts(ranked, None) == ["high", "mid", "low"]
    assert texts(ranked, None, topk=2) == ["high", "mid"]


def test_the_reranker_decides_which_are_kept() -> None:
    ranked = found(low=(0.1, 0), high=(0.9, 0), mid=(0.5, 0))

    assert texts(ranked, ByText(low=0.9, high=0.1, mid=0.5), topk=2) == ["low", "mid"]


def test_relevance_is_the_rerankers_and_the_fused_score_stays() -> None:
    ranked = found(one=(0.9, 0))
    (one,) = kept(ranked, ByText(one=0.25))

    assert (one.fused, one.relevance, one.order) == (0.9, 0.25, 0.25)
    assert one.support == Support(0.25, None, {}, ())


def test_a_reranker_is_told_the_question() -> None:
    ranked = found(low=(0.1, 0), high=(0.9, 0))
    reranker = ByText(low=0, high=0)
    texts(ranked, reranker)

    assert reranker.asked == "How deep"


def test_equal_scores_are_ordered_by_place() -> None:
    ranked = found(b=(0.1, 0), a=(0.9, 0))

    assert texts(ranked, ByText(a=0.5, b=0.5)) == ["b", "a"]


def test_a_reranker_that_gives_too_few_scores_is_an_error() -> None:
    class Short(ByText):
        def score(self, encoded: EncodedQuestion, candidates: Sequence[Candidate]) -> list[Support]:
            return []

    ranked = found(a=(0.1, 0))

    with pytest.raises(ValueError, match="shorter"):
        texts(ranked, Short())


def test_nothing_found_is_not_scored() -> None:
    ranked = found()

    assert texts(ranked, ByText()) == []


def test_cosine_orders_by_meaning() -> None:
    ranked = found(low=(0.1, 0.9), high=(0.9, 0.1))

    assert texts(ranked, CosineReranker()) == ["low", "high"]


def test_cosine_without_a_vector_keeps_to_the_words() -> None:
    candidates = [one.candidate for one in found(low=(0.1, 0.0), high=(0.9, 0.0))]
    scored = CosineReranker().score(replace(ENCODED, vector=None), candidates)

    assert [one.score for one in scored] == [0.9, 0.1]
