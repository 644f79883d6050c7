"""A question made ready to be compared: its vector, its tokens, and how much each of them tells."""

from __future__ import annotations

import math
import re
from itertools import takewhile

import numpy as np

from quoth.protocols import Embedder, Reader
from quoth.types import Probe, QuestionTokens, Vectors

_WORD = re.compile(r"\w+")


def probe(text: str, *, embedder: Embedder | None, reader: Reader) -> Probe:
    """The question as every comparison takes it; without an embedder there is only its text."""
    if embedder is None:
        return Probe(text, None, None, np.empty(0, dtype=np.float32))
    vector, tokens = embedder.embed_question(text)
    return Probe(text, vector, tokens, token_weights(text, tokens, reader))


def token_weights(text: str, tokens: QuestionTokens | None, reader: Reader) -> Vectors:
    """One weight for each token, 1 in sum: the rarer a word is in the corpus, the more it tells.

    The pieces of a word share its weight, and punctuation has none.
    """
    if tokens is None:
        return np.empty(0, dtype=np.float32)
    window = max((end for _, end in tokens.spans), default=0)  # the model reads no further
    read = takewhile(lambda found: found.start() < window, _WORD.finditer(text))
    words = [(found.start(), found.end(), found.group()) for found in read]
    frequencies = reader.frequencies([word for _, _, word in words])
    weights = np.zeros(len(tokens.spans), dtype=np.float32)
    for start, end, word in words:
        pieces = [place for place, (begin, _) in enumerate(tokens.spans) if start <= begin < end]
        rarity = math.log(1 + reader.info.sentences / (frequencies[word] + 0.5))
        weights[pieces] = rarity / max(1, len(pieces))
    total = float(weights.sum())
    return weights / total if total else np.full(len(weights), 1 / max(1, len(weights)), dtype=np.float32)
