"""Embed texts with a model behind an API, and check every vector that it returns."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from quoth.errors import ProviderFault
from quoth.models.openai_api import ApiService, OpenAiApi, RequestLimits
from quoth.protocols import Progress
from quoth.settings import EmbeddingSettings
from quoth.types import ModelIdentity, Vectors

REVISION = "openai-api"
"""The same for every host: an index may be written through one gateway and searched through another."""

MAX_TEXT_CHARACTERS = 8_000
"""A longer text is cut. The usual models take 8,192 tokens, and a token can be a single character."""

MAX_REQUEST_CHARACTERS = 200_000
"""For all texts of a request: services take at most 300,000 tokens at once."""

MAX_REQUEST_TEXTS = 2_048

_BYTES_FOR_A_NUMBER = 32
_BYTES_FOR_A_TEXT = 1_024
_TOLERANCE = 1e-6
_SHORTEST = 1e-12
"""A vector no longer than this has no direction."""

_RESUME = " What was stored before is kept: run the same command again to go on."

REST_SECONDS = 10.0
"""For so long after a failure, questions skip the service: each would wait for it, and go on without it anyway."""


class HttpEmbedder:
    """Implements `Embedder`. `embedding.seconds` bounds each request for documents, `embedding.question_seconds` all
    that is done for a question."""

    has_tokens = False

    def __init__(
        self,
        settings: EmbeddingSettings,
        *,
        model: str,
        dimension: int,
        key: str | None,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._resting: tuple[float, ProviderFault] | None = None
        service = ApiService(
            what="the embedding model",
            base_url=settings.base_url,
            section="embedding",
            model_setting="embedding.model_name",
            key_variable=settings.key_variable,
        )
        self._api = OpenAiApi(service, key=key, sleep=sleep)
        self._settings = settings
        self.identity = ModelIdentity(name=model, revision=REVISION, precision="float32", dimension=dimension)

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """Return one unit row for each text, in the same order."""
        vectors = np.zeros((len(texts), self.identity.dimension), dtype=np.float32)
        vectors[:, 0] = 1.0  # for blank texts, which services refuse
        sent = [row for row, text in enumerate(texts) if text.strip()]
        done = len(texts) - len(sent)
        for batch in _batches(texts, sent, most=min(self._settings.batch_size, MAX_REQUEST_TEXTS)):
            sent_texts = [texts[row] for row in batch]
            try:
                vectors[batch] = self._request(sent_texts, retries=self._settings.retries, whole=None)
            except ProviderFault as fault:
                raise ProviderFault(str(fault), hint=fault.hint + _RESUME) from fault
            done += len(batch)
            if progress is not None:
                progress("embedding", done, len(texts))
        return vectors

    def embed_tokens(self, texts: Sequence[str], *, progress: Progress | None = None) -> tuple[Vectors, list[bytes]]:
        """Return the rows of `embed`; an API gives no tokens."""
        return self.embed(texts, progress=progress), [b""] * len(texts)

    def embed_question(self, text: str) -> tuple[Vectors, None]:
        """Return the question's row. A user is waiting: try twice at most, and not at all soon after a fault."""
        if not text.strip():
            return self.embed([text])[0], None
        if self._resting is not None and self._clock() < self._resting[0]:
            raise ProviderFault(str(self._resting[1]), hint=self._resting[1].hint)
        try:
            rows = self._request([text], retries=min(self._settings.retries, 1), whole=self._settings.question_seconds)
        except ProviderFault as fault:
            self._resting = (self._clock() + REST_SECONDS, fault)
            raise
        self._resting = None
        return rows[0], None

    def _request(self, texts: Sequence[str], *, retries: int, whole: float | None) -> Vectors:
        body: dict[str, Any] = {
            "model": self.identity.name,
            "input": [text.strip()[:MAX_TEXT_CHARACTERS] for text in texts],
            "encoding_format": "float",
        }
        if self._settings.dimension is not None:  # models with a fixed dimension refuse this field
            body["dimensions"] = self.identity.dimension
        # Room for twice the dimension, so that a wrong dimension is reported as such.
        row = 2 * _BYTES_FOR_A_NUMBER * self.identity.dimension + _BYTES_FOR_A_TEXT
        seconds = self._settings.seconds if whole is None else min(whole, self._settings.seconds)
        limits = RequestLimits(seconds, whole, retries, reply_bytes=len(texts) * row + 1_000_000)
        reply, _ = self._api.post("/embeddings", body, limits=limits)
        return self._rows(reply, count=len(texts))

    def _rows(self, reply: Mapping[str, Any], *, count: int) -> Vectors:
        data = reply.get("data")
        entries = data if isinstance(data, list) else []
        rows = {
            entry["index"]: entry.get("embedding")
            for entry in entries
            if isinstance(entry, dict) and type(entry.get("index")) is int
        }
        if len(entries) != count or set(rows) != set(range(count)):
            raise _fault(f"gave {len(entries)} vectors for {count} texts, or not one for each")
        return np.stack([self._unit(rows[index]) for index in range(count)])

    def _unit(self, embedding: object) -> Vectors:
        try:
            numbers = np.asarray(embedding if isinstance(embedding, list) else None)
        except ValueError:
            numbers = np.asarray(None)
        if numbers.dtype.kind not in "if" or numbers.ndim != 1:
            raise _fault("gave a vector that is not a list of numbers")
        if len(numbers) != self.identity.dimension:
            raise ProviderFault(
                f"the embedding model '{self.identity.name}' gave a vector of {len(numbers)} numbers, not of "
                f"{self.identity.dimension}",
                hint=f"Set embedding.dimension to {len(numbers)} and ingest into a new index, or check "
                "embedding.model_name.",
            )
        with np.errstate(over="ignore"):  # an infinite length is reported below
            length = float(np.linalg.norm(numbers.astype(np.float64)))
        if not np.isfinite(length) or length <= _SHORTEST:
            raise _fault("gave a vector without a direction: zero, or not finite")
        return (numbers if abs(length - 1.0) <= _TOLERANCE else numbers / length).astype(np.float32)


def _batches(texts: Sequence[str], rows: Sequence[int], *, most: int) -> Iterator[list[int]]:
    """Yield row numbers in batches of at most `most` texts and `MAX_REQUEST_CHARACTERS` characters."""
    batch: list[int] = []
    characters = 0
    for row in rows:
        size = min(len(texts[row]), MAX_TEXT_CHARACTERS)
        if batch and (len(batch) == most or characters + size > MAX_REQUEST_CHARACTERS):
            yield batch
            batch, characters = [], 0
        batch.append(row)
        characters += size
    if batch:
        yield batch


def _fault(what: str) -> ProviderFault:
    return ProviderFault(f"the embedding model {what}", hint="Check embedding.base_url and embedding.model_name.")
