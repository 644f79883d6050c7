"""What each token of a question tells, by how rare its word is in the corpus."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from quoth.protocols import Reader
from quoth.search.hybrid_search import encode_question, token_weights
from quoth.types import QuestionTokens


def reader(sentences: int, **frequencies: int) -> Reader:
    info = SimpleNamespace(sentences=sentences)
    found: Any = SimpleNamespace(
        info=info, frequencies=lambda words: {word: frequencies.get(word, 0) for word in words}
    )
    return cast(Reader, found)


def tokens(*spans: tuple[int, int]) -> QuestionTokens:
    return QuestionTokens(spans, np.zeros((len(spans), 2), dtype=np.float32), np.zeros(len(spans), dtype=np.float32))


def test_a_rare_word_tells_more_and_its_pieces_share_it() -> None:
    weights = token_weights("the canola?", tokens((0, 3), (4, 7), (7, 10), (10, 11)), reader(100, the=99, canola=1))

    assert weights.sum() == pytest.approx(1)
    assert weights[1] == weights[2] > weights[0] > weights[3] == 0
    assert weights[1] + weights[2] == pytest.approx(np.log(1 + 100 / 1.5) * weights[0] / np.log(1 + 100 / 99.5))


def test_without_words_every_token_tells_the_same() -> None:
    assert token_weights("?!", tokens((0, 1), (1, 2)), reader(10)).tolist() == [0.5, 0.5]


def test_without_an_embedder_there_is_only_the_text() -> None:
    found = encode_question("How deep?", embedder=None, reader=reader(1))

    assert (found.text, found.vector, found.tokens, len(found.weights)) == ("How deep?", None, None, 0)
