"""A deterministic stand-in for a model, for tests and trials: texts that share words get similar vectors."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from quoth.protocols import Progress
from quoth.types import ModelIdentity, Vectors

_WORD = re.compile(r"\w+")


class HashEmbedder:
    """Implements `Embedder` by hashing words and pairs of words into `dimension` buckets."""

    has_tokens = False

    def __init__(self, *, dimension: int = 256) -> None:
        self.identity = ModelIdentity(name="hash", revision="1", precision="float32", dimension=dimension)

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """Return one unit row for each text, in the same order."""
        vectors = np.zeros((len(texts), self.identity.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            self._fill(vectors[row], text)
            if progress is not None:
                progress("embedding", row + 1, len(texts))
        return vectors

    def embed_tokens(self, texts: Sequence[str], *, progress: Progress | None = None) -> tuple[Vectors, list[bytes]]:
        return self.embed(texts, progress=progress), [b""] * len(texts)

    def embed_question(self, text: str) -> tuple[Vectors, None]:
        return self.embed([text])[0], None

    def _fill(self, vector: Vectors, text: str) -> None:
        words = _WORD.findall(text.lower())
        for gram in (*words, *map(" ".join, pairwise(words))):
            # crc32 and not hash(): the latter differs from one process to the next.
            code = zlib.crc32(gram.encode("utf-8", "surrogatepass"))
            vector[(code >> 1) % len(vector)] += 1.0 if code & 1 else -1.0
        length = float(np.linalg.norm(vector))
        if length == 0.0:  # no words, or words that cancel out
            vector[0] = length = 1.0
        vector /= length
