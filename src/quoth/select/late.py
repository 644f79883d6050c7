"""Late interaction: for each token of a question the best-matching token of a sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from quoth.types import Probe, QuestionTokens, Ranked, Vectors

_BEST = 3


def matches(question: QuestionTokens, sentences: Sequence[bytes]) -> Vectors:
    """The likeness of each question token to its best match: one row a sentence, one column a token.

    A sentence without stored tokens matches nothing: its row is 0.
    """
    found = np.zeros((len(sentences), len(question.spans)), dtype=np.float32)
    held = [place for place, tokens in enumerate(sentences) if tokens]
    if not held or not question.spans:
        return found
    half = question.slopes.shape[1] // 2
    packed = np.frombuffer(b"".join(sentences[place] for place in held), dtype=np.uint8).reshape(-1, half)
    # In double precision and then rounded: what single precision gives depends on where a row stands and on the number
    # of threads, and two equal sentences must not be told apart by that.
    codes = np.empty((len(packed), 2 * half), dtype=np.float64)
    np.bitwise_and(packed, 15, out=codes[:, :half], casting="unsafe")
    np.right_shift(packed, 4, out=codes[:, half:], casting="unsafe")
    likeness = codes @ question.slopes.T.astype(np.float64)
    starts = np.cumsum([0, *(len(sentences[place]) // half for place in held[:-1])])
    found[held] = np.round(np.maximum.reduceat(likeness, starts, axis=0) + question.offsets, 6)
    return found


def word_matches(probe: Probe, ranked: Sequence[Ranked]) -> list[tuple[str, float]]:
    """Each word of the question with its best match in the best few sentences, in the order asked.

    Empty where no tokens were compared. The pieces of a word count together; punctuation is left out.
    """
    best = sorted(ranked, key=lambda one: -one.relevance)[:_BEST]
    rows = [one.support.matches for one in best if one.support and len(one.support.matches) == len(probe.weights)]
    if probe.tokens is None or not rows:
        return []
    likeness = np.max(np.array(rows), axis=0)
    words = ((found.span(), found.group()) for found in re.finditer(r"\w+", probe.text))
    found = []
    for (start, end), word in words:
        pieces = [place for place, (begin, _) in enumerate(probe.tokens.spans) if start <= begin < end]
        if pieces:
            found.append((word, round(float(np.mean(likeness[pieces])), 3)))
    return found
