"""Sentence vectors from an encoder on ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from quoth.errors import ModelError
from quoth.machine import available_cores
from quoth.models.onnx_graph import read_pooling
from quoth.models.onnx_model import OnnxModel
from quoth.models.shipped_models import codec_for
from quoth.models.weights import Weights
from quoth.protocols import Progress
from quoth.types import ModelIdentity, QuestionTokens, Vectors

_CHUNK_TEXTS = 4096
_CHUNK_CHARACTERS = 2_000_000
_BATCH_TOKENS = 1024
"""In one run: attention grows with the square of the length, and 32 full texts would take 100 MB more."""

_USUAL_WINDOW = 256
"""Tokens that a model reads whose files do not say it."""
_OUTPUTS = ("sentence_embedding", "token_embeddings", "last_hidden_state")
"""The best first: a vector for the text, else one for each token."""

_Embedded = tuple[Vectors, list[bytes]]
"""A row for each text of a batch, and the codes of its tokens; no codes if they are not asked for."""


class OnnxEmbedder:
    """Implements `Embedder`. Any number of threads may call `embed` at once."""

    def __init__(
        self,
        weights: Weights,
        *,
        cache_dir: Path,
        threads: int,
        batch_size: int = 32,
        max_tokens: int = 512,
        device: str = "cpu",
        query_prefix: str | None = None,
        passage_prefix: str | None = None,
    ) -> None:
        """`threads` 0 means every core this process may use; text beyond `max_tokens` is not read.

        The prefixes are those of the model's files unless given. The device is no part of the model's identity: the
        same weights give the same vectors but for rounding.
        """
        window = min(max_tokens, weights.window(unsaid=_USUAL_WINDOW))
        threads = threads or available_cores()
        self._model = OnnxModel(weights, window=window, cache_dir=cache_dir, threads=threads, device=device)
        graph = self._model.graph
        # A graph that the model brings may have 8-bit weights: then activations are rounded with one scale for all
        # that runs at once, and in a batch a vector would depend on its neighbours.
        self._batch_size = batch_size if graph.config else 1
        query, passage = weights.prefixes()
        self._query_prefix = query if query_prefix is None else query_prefix
        self._passage_prefix = passage if passage_prefix is None else passage_prefix
        self._output = _best_output(self._model)
        self._pooling = "" if self._output == "sentence_embedding" else read_pooling(weights)
        # Only what is there: the revision of a model that has none of it stays what it was.
        added = {"query": self._query_prefix, "passage": self._passage_prefix, "pooling": self._pooling}
        more = {name: value for name, value in added.items() if value}
        # Token vectors of other weights have other axes, and a prefix is no part of the text.
        self._codec = None if more else codec_for(graph.weights_sha256)
        self.has_tokens = self._codec is not None
        sample = self._vectors([self._model.encode(["a"])[0].ids])
        self.identity = ModelIdentity(
            name=weights.name,
            revision=self._model.revision(self._codec and self._codec.revision, *([more] if more else [])),
            precision="float32",
            dimension=sample.shape[1],
        )

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """Return a row of unit length for each text, in the same order."""
        return self._embed(texts, lambda tokens: (self._vectors(tokens), []), progress)[0]

    def embed_tokens(self, texts: Sequence[str], *, progress: Progress | None = None) -> tuple[Vectors, list[bytes]]:
        """Return the rows of `embed`, and the codes of each text's tokens, which cost next to nothing."""
        codec = self._codec
        if codec is None:
            return self.embed(texts, progress=progress), [b""] * len(texts)

        def vectors_and_codes(tokens: Sequence[Sequence[int]]) -> _Embedded:
            vectors, embedded = self._model.run(tokens, "sentence_embedding", "token_embeddings")
            inner = embedded[:, 1:-1]  # without the special tokens at both ends
            packed = codec.encode(inner.reshape(-1, inner.shape[2])).reshape(len(tokens), -1)
            return vectors, [row.tobytes() for row in packed]

        return self._embed(texts, vectors_and_codes, progress)

    def embed_question(self, text: str) -> tuple[Vectors, QuestionTokens | None]:
        """Return the question's row of `embed`, and its tokens for late interaction; None if the model has no codec."""
        [encoding] = self._model.encode([self._query_prefix + text])
        if self._codec is None:
            return self._vectors([encoding.ids])[0], None
        vectors, embedded = self._model.run([encoding.ids], "sentence_embedding", "token_embeddings")
        inner = slice(1, -1)  # without the special tokens at both ends
        slopes, offsets = self._codec.question(embedded[0, inner])
        spans = tuple((start, end) for start, end in encoding.offsets[inner])
        lengths = np.linalg.norm(embedded[0, inner], axis=1) if self._codec.by_length else None
        return vectors[0], QuestionTokens(spans, slopes, offsets, lengths)

    def token_vectors(self, text: str) -> Vectors:
        """Return the vectors of a text's tokens as the model gives them."""
        [encoding] = self._model.encode([text])
        [embedded] = self._model.run([encoding.ids], "token_embeddings")
        inner: Vectors = embedded[0, 1:-1]
        return inner

    def _vectors(self, tokens: Sequence[Sequence[int]]) -> Vectors:
        """Return a row of unit length for each text; the texts have the same number of tokens."""
        [found] = self._model.run(tokens, self._output)
        if self._model.graph.config is not None:
            return found  # a built graph ends in unit length
        found = found.astype(np.float32)
        if self._pooling:
            found = found[:, 0] if self._pooling == "cls" else found.mean(axis=1)
        unit: Vectors = found / np.maximum(np.linalg.norm(found, axis=1, keepdims=True), np.float32(1e-12))
        return unit

    def _embed(
        self,
        texts: Sequence[str],
        run: Callable[[Sequence[Sequence[int]]], _Embedded],
        progress: Progress | None,
    ) -> tuple[Vectors, list[bytes]]:
        """Run all texts in batches, as many at once as the model has callers; report progress after each batch."""
        vectors = np.empty((len(texts), self.identity.dimension), dtype=np.float32)
        codes = [b""] * len(texts)
        done = 0
        pool = ThreadPoolExecutor(self._model.callers, thread_name_prefix="embedder")
        try:
            for start, end in _chunks(texts):
                prefixed = [self._passage_prefix + text for text in texts[start:end]]
                tokens = [encoding.ids for encoding in self._model.encode(prefixed)]
                grouped = list(batches([len(ids) for ids in tokens], most_texts=self._batch_size))
                results = pool.map(run, [[tokens[index] for index in batch] for batch in grouped])
                for batch, (rows, packed) in zip(grouped, results, strict=True):
                    vectors[[start + index for index in batch]] = rows
                    for index, code in zip(batch, packed, strict=False):
                        codes[start + index] = code
                    done += len(batch)
                    if progress is not None:
                        progress("embedding", done, len(texts))
        finally:
            pool.shutdown(cancel_futures=True)  # after an error or Ctrl-C, the other batches are not run
        return vectors, codes


def _best_output(model: OnnxModel) -> str:
    for name in _OUTPUTS:
        if name in model.outputs:
            return name
    raise ModelError(
        f"{model.graph.path} has the outputs {', '.join(model.outputs)}, and none of {', '.join(_OUTPUTS)}",
        hint="Use the ONNX graph of an embedding model.",
    )


def batches(lengths: Sequence[int], *, most_texts: int) -> Iterator[list[int]]:
    """Group the indices of texts that have the very same length.

    Without padding a row comes out the same to the last bit whatever it runs with, so that an index does not depend
    on the order in which its documents came; and padding is work for nothing.
    """
    by_length: dict[int, list[int]] = {}
    for index, length in enumerate(lengths):
        by_length.setdefault(length, []).append(index)
    for length, group in sorted(by_length.items()):
        size = max(1, min(most_texts, _BATCH_TOKENS // length))
        for start in range(0, len(group), size):
            yield group[start : start + size]


def _chunks(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Cut `texts` into runs whose tokens fit in memory, whether they are many or long."""
    start = characters = 0
    for index, text in enumerate(texts):
        if index > start and (index - start == _CHUNK_TEXTS or characters + len(text) > _CHUNK_CHARACTERS):
            yield start, index
            start, characters = index, 0
        characters += len(text)
    if start < len(texts):
        yield start, len(texts)
