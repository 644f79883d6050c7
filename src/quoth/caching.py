"""Work that need not be done again: the vectors of questions, and what was found for them.

Losing an entry costs time. A wrong one would cost the truth: each value is bound to its key by a checksum and is read
back strictly, and the key names the content of the index, so that no ingest can leave a result behind.
"""

from __future__ import annotations

import hashlib
import io
import json
import logging
import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quoth.plain import from_plain, to_plain
from quoth.protocols import Cache, Embedder, Progress
from quoth.types import Filters, ModelIdentity, QuestionTokens, Retrieved, Vectors

FORMAT = 1
"""Of what is stored. A process of another version, sharing the same cache, does not see it."""

_CHECKSUM = 32
_log = logging.getLogger(__name__)


class _Sealed:
    """A cache that gives back only what was put under the very same key, to the last bit. 0 seconds keep nothing."""

    def __init__(self, cache: Cache, seconds: float) -> None:
        self._cache = cache
        self._seconds = seconds

    def get(self, key: str) -> bytes | None:
        if not self._seconds > 0:
            return None
        try:
            value = self._cache.get(key)
        except Exception:  # it should not, and a question must not fail for want of a short cut
            _log.exception("a cache raised an error")
            return None
        if value is None or value[:_CHECKSUM] != _checksum(key, value[_CHECKSUM:]):
            return None
        return value[_CHECKSUM:]

    def put(self, key: str, content: bytes) -> None:
        if not self._seconds > 0:
            return
        try:
            self._cache.put(key, _checksum(key, content) + content, seconds=self._seconds)
        except Exception:  # as above
            _log.exception("a cache raised an error")


class CountedCache:
    """Implements `Cache` by another one, and counts what it was asked for, by kind: hits and misses."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._lock = threading.Lock()
        self._counts: Counter[tuple[str, bool]] = Counter()

    @property
    def counts(self) -> Mapping[tuple[str, bool], int]:
        """By the kind of a key (`vector` or `found`) and whether it was there."""
        with self._lock:
            return dict(self._counts)

    def get(self, key: str) -> bytes | None:
        value = self._cache.get(key)
        with self._lock:
            self._counts[key.partition(":")[0], value is not None] += 1
        return value

    def put(self, key: str, value: bytes, *, seconds: float) -> None:
        self._cache.put(key, value, seconds=seconds)


def _checksum(key: str, content: bytes) -> bytes:
    return hashlib.sha256(key.encode() + b"\0" + content).digest()


def _key(kind: str, values: object) -> str:
    """The same for the same values in any process. JSON escapes whatever is not ASCII, lone surrogates too."""
    canonical = json.dumps([FORMAT, values], sort_keys=True, separators=(",", ":"))
    return f"{kind}:{hashlib.sha256(canonical.encode()).hexdigest()}"


class CachedEmbedder:
    """Implements `Embedder` by another one, whose questions it remembers for `seconds`; 0 remembers none."""

    def __init__(self, embedder: Embedder, cache: Cache, *, seconds: float) -> None:
        self._embedder = embedder
        self._cache = _Sealed(cache, seconds)

    @property
    def identity(self) -> ModelIdentity:
        return self._embedder.identity

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        return self._embedder.embed(texts, progress=progress)

    @property
    def has_tokens(self) -> bool:
        return self._embedder.has_tokens

    def embed_tokens(self, texts: Sequence[str], *, progress: Progress | None = None) -> tuple[Vectors, list[bytes]]:
        return self._embedder.embed_tokens(texts, progress=progress)

    def embed_question(self, text: str) -> tuple[Vectors, QuestionTokens | None]:
        """What the embedder gives for the question, to the last bit, whether it was asked again or not."""
        identity = self._embedder.identity
        key = _key("vector", [asdict(identity), self._embedder.has_tokens, text])
        kept = self._cache.get(key)
        found = _read_question(kept, identity.dimension) if kept is not None else None
        if found is not None:
            return found
        vector, tokens = self._embedder.embed_question(text)
        self._cache.put(key, _written_question(vector, tokens))
        return vector, tokens


def _written_question(vector: Vectors, tokens: QuestionTokens | None) -> bytes:
    arrays: dict[str, Any] = {"vector": vector}
    if tokens is not None:
        spans = np.array(tokens.spans, dtype=np.int64).reshape(-1, 2)
        arrays |= {"spans": spans, "slopes": tokens.slopes, "offsets": tokens.offsets}
    content = io.BytesIO()
    np.savez(content, **arrays)
    return content.getvalue()


def _read_question(content: bytes, dimension: int) -> tuple[Vectors, QuestionTokens | None] | None:
    """None for anything but what `_written_question` makes of a vector of `dimension`."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except Exception:  # numpy and zipfile raise a dozen kinds for bytes that are none of theirs
        return None
    vector = arrays.pop("vector", None)
    if vector is None or vector.dtype != np.float32 or vector.shape != (dimension,):
        return None
    if not arrays:
        return vector, None
    tokens = _read_tokens(arrays)
    return (vector, tokens) if tokens is not None else None


def _read_tokens(arrays: Mapping[str, NDArray[Any]]) -> QuestionTokens | None:
    if set(arrays) != {"spans", "slopes", "offsets"}:
        return None
    spans, slopes, offsets = arrays["spans"], arrays["slopes"], arrays["offsets"]
    if spans.dtype != np.int64 or slopes.dtype != np.float32 or offsets.dtype != np.float32:
        return None
    if offsets.ndim != 1 or slopes.ndim != 2 or len(slopes) != len(offsets) or spans.shape != (len(offsets), 2):
        return None
    return QuestionTokens(tuple((start, end) for start, end in spans.tolist()), slopes, offsets)


class ResultCache:
    """What was found for a question, for `seconds`; 0 keeps nothing."""

    def __init__(self, cache: Cache, seconds: float) -> None:
        self._cache = _Sealed(cache, seconds)

    @staticmethod
    def key(*, index: str, settings: str, profile: str, question: str, filters: Filters) -> str:
        """A name for all that a result depends on; the values of a filter have no order, and count once."""
        return _key(
            "found",
            {
                "index": index,
                "settings": settings,
                "profile": profile,
                "question": question,
                "doc_ids": sorted(set(filters.doc_ids)),
                "tags": {facet: sorted(set(values)) for facet, values in filters.tags.items()},
                "document_types": sorted(set(filters.document_types)),
                "is_binding": filters.is_binding,
                "as_of": filters.as_of,
            },
        )

    def get(self, key: str) -> Retrieved | None:
        content = self._cache.get(key)
        try:
            return None if content is None else from_plain(Retrieved, json.loads(content))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None

    def put(self, key: str, retrieved: Retrieved) -> None:
        """Keep what is whole and will be the same again: nothing that lacked a part, and no word of a judging model."""
        if retrieved.retrieval.degraded or retrieved.trace.usage is not None:
            return
        self._cache.put(key, json.dumps(to_plain(retrieved)).encode())
