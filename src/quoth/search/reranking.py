"""Rerank candidates by cosine, or by late interaction between their tokens and those of the question."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from quoth.protocols import Reranker
from quoth.search.fusion import ROUND, best_first
from quoth.search.logistic import Logistic
from quoth.types import Candidate, EncodedQuestion, QuestionTokens, Ranked, Support, Vectors

_BEST = 3
"""How many sentences count towards the word matches of a question."""
_IN_ONE_THREAD = 250_000
"""Multiplications up to which OpenBLAS uses the calling thread alone."""


def rerank(
    ranked: tuple[Ranked, ...], *, encoded: EncodedQuestion, reranker: Reranker | None, topk: int
) -> tuple[Ranked, ...]:
    """Return the `topk` candidates that the reranker scores best; without a reranker, the best by fused score."""
    if reranker is None or not ranked:
        return ranked[:topk]
    supports = reranker.score(encoded, [item.candidate for item in ranked])
    rescored = [
        Ranked(item.candidate, item.row, item.fused, score := round(support.score, ROUND), score, support)
        for item, support in zip(ranked, supports, strict=True)
    ]
    return best_first(rescored)[:topk]


class CosineReranker:
    """Score by the cosine between question and candidate; by the lexical score when the question has no vector."""

    name = "cosine"
    needs_tokens = False

    def score(self, encoded: EncodedQuestion, candidates: Sequence[Candidate]) -> list[Support]:
        scores = [item.lexical if encoded.vector is None else item.dense for item in candidates]
        return [Support(score, None, {"cosine": score}, ()) for score in scores]


class LateReranker:
    """Score how far a sentence supports an answer, from late interaction and the lexical score."""

    name = "late"
    needs_tokens = True

    def __init__(self, model: Logistic) -> None:
        self._model = model

    def score(self, encoded: EncodedQuestion, candidates: Sequence[Candidate]) -> list[Support]:
        if encoded.tokens is None:
            raise ValueError("late interaction needs the tokens of the question")
        model, supports = self._model, []
        with_cosine = "cosine" in model.weights
        table = matches(encoded.tokens, [candidate.tokens for candidate in candidates])
        weighted = np.einsum("ij,j->i", table, encoded.weights, dtype=np.float64)
        rounded = np.round(table, 3).tolist()
        for candidate, late, token_matches in zip(candidates, weighted.tolist(), rounded, strict=True):
            features = {"late": round(late, 6), "lexical": candidate.lexical}
            if with_cosine:
                features["cosine"] = max(0.0, candidate.dense)
            mean, log_odds = model.mean_and_log_odds(features)
            supports.append(Support(mean, log_odds, features, tuple(token_matches)))
        return supports


def matches(question: QuestionTokens, sentences: Sequence[bytes]) -> Vectors:
    """Return how alike each question token (column) is to its best match in each sentence (row); 0 without tokens."""
    table = np.zeros((len(sentences), len(question.spans)), dtype=np.float32)
    stored = [row for row, tokens in enumerate(sentences) if tokens]
    if not stored or not question.spans:
        return table
    half = question.slopes.shape[1] // 2
    packed = np.frombuffer(b"".join(sentences[row] for row in stored), dtype=np.uint8).reshape(-1, half)
    # Compute in double precision, then round: single-precision results depend on the position of a row and on the
    # number of threads, but equal sentences must get equal scores.
    codes = np.empty((len(packed), 2 * half), dtype=np.float64)
    np.bitwise_and(packed, 15, out=codes[:, :half], casting="unsafe")
    np.right_shift(packed, 4, out=codes[:, half:], casting="unsafe")
    similarity = _product(codes, question.slopes.T.astype(np.float64))
    starts = np.cumsum([0, *(len(sentences[row]) // half for row in stored[:-1])])
    table[stored] = np.round(np.maximum.reduceat(similarity, starts, axis=0) + question.offsets, 6)
    return table


def _product(codes: NDArray[np.float64], slopes: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return `codes @ slopes`, in blocks so small that the linear algebra library does not share them among threads.

    For so few numbers the threads cost more than they save, and much more on a machine that has other work to do.
    """
    product = np.empty((len(codes), slopes.shape[1]))
    rows = max(1, _IN_ONE_THREAD // slopes.size)
    for first in range(0, len(codes), rows):
        np.matmul(codes[first : first + rows], slopes, out=product[first : first + rows])
    return product


def word_matches(encoded: EncodedQuestion, ranked: Sequence[Ranked]) -> list[tuple[str, float]]:
    """Return each word of the question with its best similarity in the best few sentences; empty without tokens."""
    best = sorted(ranked, key=lambda item: -item.relevance)[:_BEST]
    rows = [item.support.matches for item in best if item.support and len(item.support.matches) == len(encoded.weights)]
    if encoded.tokens is None or not rows:
        return []
    similarity = np.max(np.array(rows), axis=0)
    words = []
    for word in re.finditer(r"\w+", encoded.text):
        tokens = [index for index, (begin, _) in enumerate(encoded.tokens.spans) if word.start() <= begin < word.end()]
        if tokens:
            words.append((word.group(), round(float(np.mean(similarity[tokens])), 3)))
    return words
