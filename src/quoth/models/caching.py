"""The cache of question vectors and of retrieval results, in the memory of this process.

A lost entry costs time, but a wrong one would cost the truth. So a key names all that its value depends on, the content
of the index included: no ingest can leave a stale result behind.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from quoth.protocols import Embedder
from quoth.types import QuestionTokens, Vectors


class MemoryCache:
    """Values by key, for a limited time. Keys and values together take at most `max_bytes`; the least recently used
    goes first. Each `get` returns a copy of its own.
    """

    def __init__(self, max_bytes: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._max_bytes = max_bytes
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, tuple[bytes, float]] = OrderedDict()  # the least recently used first
        self.size = 0
        """The bytes in use."""
        self._counts: Counter[tuple[str, bool]] = Counter()

    @property
    def counts(self) -> Mapping[tuple[str, bool], int]:
        """How many gets there were, by the kind of key (`vector` or `found`) and whether it was a hit."""
        with self._lock:
            return dict(self._counts)

    @staticmethod
    def key(kind: str, values: object) -> str:
        """Return a key for JSON values, which it does not reveal. JSON escapes lone surrogates, too."""
        canonical = json.dumps(values, sort_keys=True)
        return f"{kind}:{hashlib.sha256(canonical.encode()).hexdigest()}"

    def get(self, key: str) -> Any | None:  # noqa: ANN401 - whatever was put there
        with self._lock:
            content, end = self._entries.get(key, (None, 0.0))
            if content is not None and end <= self._clock():
                self._drop(key)
                content = None
            if content is not None:
                self._entries.move_to_end(key)
            self._counts[key.partition(":")[0], content is not None] += 1
        return None if content is None else pickle.loads(content)  # noqa: S301 - never left this process

    def put(self, key: str, value: object, *, seconds: float) -> None:
        """Store `value`. If it is larger than the cache, only remove the previous value."""
        content = pickle.dumps(value)
        with self._lock:
            self._drop(key)
            if _size(key, content) > self._max_bytes:
                return
            self._entries[key] = (content, self._clock() + seconds)
            self.size += _size(key, content)
            while self.size > self._max_bytes:
                self._drop(next(iter(self._entries)))

    def _drop(self, key: str) -> None:
        if key in self._entries:
            self.size -= _size(key, self._entries.pop(key)[0])


def _size(key: str, content: bytes) -> int:
    return len(key) + len(content)


class CachedEmbedder:
    """Implements `Embedder` with another one, and keeps its question vectors for `seconds`."""

    def __init__(self, embedder: Embedder, cache: MemoryCache, *, seconds: float) -> None:
        self.identity, self.has_tokens = embedder.identity, embedder.has_tokens
        self.embed_tokens = embedder.embed_tokens
        self._embedder = embedder
        self._cache = cache
        self._seconds = seconds

    def embed_question(self, text: str) -> tuple[Vectors, QuestionTokens | None]:
        """Return what the embedder gives for the question, to the last bit, from the cache if it is there."""
        key = self._cache.key("vector", [asdict(self.identity), self.has_tokens, text])
        embedded: tuple[Vectors, QuestionTokens | None] | None = self._cache.get(key)
        if embedded is None:
            embedded = self._embedder.embed_question(text)
            self._cache.put(key, embedded, seconds=self._seconds)
        return embedded
