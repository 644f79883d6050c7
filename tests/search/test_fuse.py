"""Fusion: the absolute weighted sum of both scores, best first."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.domain.profile import load_profile
from quoth.search.fusion import fuse, fused_score
from quoth.search.question_analysis import analyse
from quoth.settings import RetrievalSettings
from quoth.types import NO_FILTERS, Candidate, Candidates, Question, Quote, RegionKind, Sentence, Span

ANALYSIS = analyse(
    Question("1", "How deep?", NO_FILTERS),
    profile=load_profile("general"),
    settings=RetrievalSettings(alpha_lexical=0.4),
)


def candidate(lexical: float, dense: float, *, doc_id: str = "a.md", start: int = 0) -> Candidate:
    quote = Quote(Span(start, start + 4), "Sow.")
    sentence = Sentence(doc_id, quote, RegionKind.PARAGRAPH, section=(), lead=None, page=None, ocr=None, tags={})
    return Candidate(sentence, lexical, dense, ("lexical", "dense"), b"")


def candidates(*items: Candidate) -> Candidates:
    return Candidates(items, np.eye(max(1, len(items)), dtype=np.float32)[: len(items)])


def test_the_score_is_the_weighted_sum() -> None:
    assert fused_score(candidate(0.5, 0.8), alpha_lexical=0.4, alpha_semantic=0.6) == 0.68


def test_an_opposite_meaning_counts_as_unrelated() -> None:
    assert fused_score(candidate(0.5, -0.8), alpha_lexical=0.4, alpha_semantic=0.6) == 0.2


def test_the_score_is_absolute_whatever_else_was_found() -> None:
    weak = candidate(0.1, 0.1)

    (alone,) = fuse(candidates(weak), ANALYSIS, mode="hybrid")
    beside = fuse(candidates(weak, candidate(1, 1, start=9)), ANALYSIS, mode="hybrid")

    assert alone.fused == 0.1
    assert [one.fused for one in beside] == [1.0, 0.1]


@pytest.mark.parametrize(("mode", "fused"), [("lexical", 0.5), ("dense", 0.8), ("hybrid", 0.68)])
def test_the_mode_chooses_the_ways_that_count(mode: str, fused: float) -> None:
    (one,) = fuse(candidates(candidate(0.5, 0.8)), ANALYSIS, mode=mode)

    assert (one.fused, one.relevance, one.order) == (fused, fused, fused)


def test_equal_scores_are_ordered_by_document_and_place() -> None:
    items = (
        candidate(0.5, 0.5, doc_id="b.md"),
        candidate(0.5, 0.5, start=1000),
        candidate(0.5, 0.5, start=9),
    )
    ranked = fuse(candidates(*items), ANALYSIS, mode="hybrid")

    assert [one.sentence.id for one in ranked] == ["a.md:9-13", "a.md:1000-1004", "b.md:0-4"]


def test_each_keeps_its_row_among_the_vectors() -> None:
    ranked = fuse(candidates(candidate(0.1, 0.1), candidate(0.9, 0.9, start=9)), ANALYSIS, mode="hybrid")

    assert [(one.fused, one.row) for one in ranked] == [(0.9, 1), (0.1, 0)]


def test_the_noise_of_floating_point_decides_no_order() -> None:
    items = (candidate(0.3, 0.0, start=9), candidate(0.1 + 0.2, 0.0))
    ranked = fuse(candidates(*items), ANALYSIS, mode="lexical")

    assert [one.sentence.quote.span.start for one in ranked] == [0, 9]


def test_nothing_found_gives_nothing() -> None:
    assert fuse(candidates(), ANALYSIS, mode="hybrid") == ()


SCORES = st.floats(0, 1)


@given(lexical=SCORES, dense=st.floats(-1, 1), alpha=SCORES)
def test_a_score_lies_between_0_and_1(lexical: float, dense: float, alpha: float) -> None:
    assert 0 <= fused_score(candidate(lexical, dense), alpha_lexical=alpha, alpha_semantic=1 - alpha) <= 1
