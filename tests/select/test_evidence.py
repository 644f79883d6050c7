"""The evidence reranker: late interaction first, then a closer reading of the best."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from quoth.select.evidence import EvidenceModel, EvidenceReranker, Logistic
from quoth.types import Candidate, Probe, QuestionTokens, Quote, RegionKind, Sentence, Span

LATE = Logistic(-2.0, {"late": 4.0, "lexical": 1.0})
CROSS = Logistic(-2.0, {"late": 1.0, "lexical": 1.0, "cross": 2.0})
ANSWER = Logistic(0.0, {"support": 1.0})
MODEL = EvidenceModel(late=(LATE, ANSWER), cross=(CROSS, ANSWER), revision="test")
PROBE = Probe(
    "How deep?",
    None,
    QuestionTokens(((0, 3),), np.array([[0.1, 0]], dtype=np.float32), np.zeros(1, dtype=np.float32)),
    np.ones(1, dtype=np.float32),
)


class Reader:
    """A cross-encoder that scores as told and remembers what it read."""

    revision = "told"

    def __init__(self, **scores: float) -> None:
        self._scores = scores
        self.read: list[tuple[str, str]] = []

    def score(self, question: str, sentences: Sequence[tuple[str, str]]) -> list[float]:
        assert question == PROBE.text
        self.read += sentences
        return [self._scores[text] for text, _ in sentences]


def candidate(text: str, code: int, *, lexical: float = 0.0) -> Candidate:
    sentence = Sentence("a.md", Quote(Span(0, 1), text), RegionKind.PARAGRAPH, ("Soil",), None, None, {})
    return Candidate(sentence, lexical, 0.0, ("lexical",), bytes([code]))


def test_a_sentence_is_scored_by_its_matches_and_its_words() -> None:
    (found,) = EvidenceReranker(MODEL, None, closer=0).score(PROBE, [candidate("a", 5, lexical=0.25)], lambda _: "")

    assert found.parts == {"late": 0.5, "lexical": 0.25}
    assert found.score == pytest.approx(1 / (1 + np.exp(-0.25)))
    assert found.matches == (0.5,)


def test_only_the_best_are_read_closely_with_what_stands_around_them() -> None:
    cross = Reader(b=1.0, c=-1.0)
    candidates = [candidate("a", 1), candidate("b", 9), candidate("c", 5)]
    EvidenceReranker(MODEL, cross, closer=2).score(PROBE, candidates, lambda one: f"around {one.text}")

    assert cross.read == [("b", "around b"), ("c", "around c")]


def test_a_closer_reading_can_change_the_order() -> None:
    reranker = EvidenceReranker(MODEL, Reader(b=-2.0, c=2.0), closer=2)
    by_late, b, c = reranker.score(PROBE, [candidate("a", 1), candidate("b", 9), candidate("c", 5)], lambda _: "")

    assert c.score > b.score
    assert c.parts == {"late": 0.5, "lexical": 0.0, "cross": 2.0}
    assert by_late.parts == {"late": 0.1, "lexical": 0.0}


def test_what_was_not_read_does_not_pass_what_was() -> None:
    reranker = EvidenceReranker(MODEL, Reader(b=-9.0), closer=1)
    unread, read = reranker.score(PROBE, [candidate("a", 8), candidate("b", 9)], lambda _: "")

    assert unread.score == read.score


def test_without_candidates_nothing_is_read() -> None:
    assert EvidenceReranker(MODEL, Reader(), closer=5).score(PROBE, [], lambda _: "") == []


def test_each_term_of_a_probability_can_be_told() -> None:
    parts = {"late": 0.5, "lexical": 0.25}

    assert LATE.terms(parts) == {"late": 2.0, "lexical": 0.25}
    assert LATE.probability(parts) == pytest.approx(1 / (1 + np.exp(-0.25)))
