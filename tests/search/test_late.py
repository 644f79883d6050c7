"""Late interaction: each token of the question with its best match, from packed codes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.search.reranking import matches, word_matches
from quoth.types import Candidate, EncodedQuestion, QuestionTokens, Quote, Ranked, RegionKind, Sentence, Span, Support

# Two tokens over four dimensions. A code of 1 in dimension d means `slopes[:, d]`.
TOKENS = QuestionTokens(
    ((0, 3), (4, 8)), np.array([[1, 0, 0, 0], [0, 1, 0, 2]], dtype=np.float32), np.array([0.5, 0], dtype=np.float32)
)


def packed(*rows: tuple[int, int, int, int]) -> bytes:
    """Dimensions 0 and 1 in the low bits, 2 and 3 in the high bits."""
    return bytes(byte for a, b, c, d in rows for byte in (a | c << 4, b | d << 4))


def test_each_token_takes_its_best_match() -> None:
    found = matches(TOKENS, [packed((3, 1, 0, 0), (2, 0, 9, 4)), packed((0, 15, 0, 0))])

    assert found.tolist() == [[3.5, 8.0], [0.5, 15.0]]


def test_a_sentence_without_tokens_matches_nothing_and_moves_no_other() -> None:
    found = matches(TOKENS, [b"", packed((1, 0, 0, 0)), b""])

    assert found.tolist() == [[0.0, 0.0], [1.5, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("sentences", [[], [b""]])
def test_nothing_to_compare_is_no_error(sentences: list[bytes]) -> None:
    assert matches(TOKENS, sentences).shape == (len(sentences), 2)


@given(st.lists(st.lists(st.tuples(*[st.integers(0, 15)] * 4), max_size=5), min_size=1, max_size=6))
def test_a_sentence_is_matched_alike_whatever_it_is_compared_with(
    sentences: list[list[tuple[int, int, int, int]]],
) -> None:
    codes = [packed(*rows) for rows in sentences]

    assert matches(TOKENS, codes).tolist() == [matches(TOKENS, [one]).tolist()[0] for one in codes]


def ranked(place: int, relevance: float, *likeness: float) -> Ranked:
    quote = Quote(Span(place, place + 1), "x")
    sentence = Sentence("a.md", quote, RegionKind.PARAGRAPH, section=(), lead=None, page=None, ocr=None, tags={})
    support = Support(relevance, None, {}, likeness)
    return Ranked(Candidate(sentence, 0, 0, (), b""), 0, 0, relevance, relevance, support)


def test_equal_sentences_are_matched_alike_wherever_they_stand() -> None:
    draw = np.random.default_rng(7)
    for tokens in (5, 13, 21) * 4:  # single precision fails most of these
        slopes = draw.normal(size=(tokens, 64)).astype(np.float32)
        question = QuestionTokens(tuple((place, place + 1) for place in range(tokens)), slopes, slopes[:, 0])
        lengths = draw.integers(3, 60, 45)
        sentences = [draw.integers(0, 256, 32 * length, dtype=np.uint8).tobytes() for length in lengths]

        found = matches(question, [*sentences, *reversed(sentences)])

        assert found[:45].tolist() == found[45:][::-1].tolist()


def test_words_are_matched_by_the_best_sentences_together() -> None:
    spans = ((0, 3), (4, 7), (7, 10), (10, 11))
    tokens = QuestionTokens(spans, np.eye(4, dtype=np.float32), np.zeros(4, dtype=np.float32))
    encoded = EncodedQuestion("How canola?", None, tokens, np.full(4, 0.25, dtype=np.float32))
    found = word_matches(encoded, [ranked(0, 0.9, 0.2, 0.5, 0.7, 1.0), ranked(9, 0.8, 0.4, 0.1, 0.1, 0.1)])

    assert found == [("How", 0.4), ("canola", 0.6)]


def test_without_tokens_there_is_nothing_to_tell() -> None:
    assert word_matches(EncodedQuestion("How?", None, None, np.empty(0, dtype=np.float32)), [ranked(0, 0.9)]) == []
