"""The evidence reranker: how far a sentence supports an answer, by its matches and its words."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from quoth.search.logistic import Logistic
from quoth.search.reranking import LateReranker
from quoth.types import Candidate, EncodedQuestion, QuestionTokens, Quote, RegionKind, Sentence, Span

MODEL = Logistic(-2.0, {"late": 4.0, "lexical": 1.0})
PROBE = EncodedQuestion(
    "How deep?",
    None,
    QuestionTokens(((0, 3), (4, 8)), np.array([[0.1, 0], [0, 0.1]], dtype=np.float32), np.zeros(2, dtype=np.float32)),
    np.array([0.25, 0.75], dtype=np.float32),
)


def candidate(text: str, *codes: tuple[int, int], lexical: float = 0.0) -> Candidate:
    sentence = Sentence("a.md", Quote(Span(0, 1), text), RegionKind.PARAGRAPH, ("Soil",), None, None, None, {})
    return Candidate(sentence, lexical, 0.0, ("lexical",), bytes(first | second << 4 for first, second in codes))


def test_a_sentence_is_scored_by_its_matches_and_its_words() -> None:
    (found,) = LateReranker(MODEL).score(PROBE, [candidate("a", (8, 0), (0, 4), lexical=0.25)])

    assert found.matches == pytest.approx((0.8, 0.4))
    assert found.features == {"late": 0.5, "lexical": 0.25}
    assert found.score == pytest.approx((4 * 0.5 + 0.25) / 5)
    assert found.log_odds == pytest.approx(0.25)


def test_what_tells_more_counts_more() -> None:
    common, rare = LateReranker(MODEL).score(PROBE, [candidate("a", (9, 0)), candidate("b", (0, 9))])

    assert rare.score > common.score


def test_without_tokens_of_the_question_it_cannot_be_asked() -> None:
    with pytest.raises(ValueError, match="tokens"):
        LateReranker(MODEL).score(replace(PROBE, tokens=None), [candidate("a", (1, 1))])


def test_without_candidates_there_is_nothing_to_score() -> None:
    assert LateReranker(MODEL).score(PROBE, []) == []


def test_each_term_of_the_log_odds_can_be_told() -> None:
    parts = {"late": 0.5, "lexical": 0.25}

    assert MODEL.terms(parts) == {"late": 2.0, "lexical": 0.25}
    assert MODEL.log_odds(parts) == 0.25
    assert MODEL.mean_and_log_odds(parts)[0] == pytest.approx(0.45)
