"""Sentence vectors from a BERT-type encoder on ONNX Runtime. Needs no torch."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from quoth.errors import ModelError
from quoth.machine import available_cores
from quoth.models.onnx_graph import EncoderConfig, Graph, cached_graph
from quoth.models.shipped_models import TokenCodec, shipped_codec
from quoth.models.weights import INSTALL_HINT, Weights
from quoth.protocols import Progress
from quoth.types import ModelIdentity, QuestionTokens, Vectors

_CHUNK_TEXTS = 4096
_CHUNK_CHARACTERS = 2_000_000
_BATCH_TOKENS = 1024
"""In one run: attention grows with the square of the length, and 32 full texts would take 100 MB more."""

_PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}
_LONE_SURROGATES = re.compile("[\ud800-\udfff]")


class OnnxEmbedder:
    """Implements `Embedder`. Any number of threads may call `embed` at once."""

    def __init__(
        self,
        weights: Weights,
        *,
        cache_dir: Path,
        threads: int,
        batch_size: int = 32,
        max_tokens: int = 256,
        device: str = "cpu",
    ) -> None:
        """`threads` 0 means every core this process may use; text beyond `max_tokens` is not read.

        The device is no part of the model's identity: the same weights give the same vectors but for rounding.
        """
        threads = threads or available_cores()
        graph, self._session = _open(weights, cache_dir=cache_dir, threads=threads, device=device)
        window = min(max_tokens, graph.config.positions)
        self._tokenizer, tokenizer_sha256 = _open_tokenizer(weights, graph.config, window=window)
        self._batch_size = batch_size
        codec = shipped_codec()  # token vectors of other weights have other axes
        self._codec = codec if codec and codec.made_for == graph.weights_sha256 else None
        self.has_tokens = self._codec is not None
        self.identity = ModelIdentity(
            name=weights.name,
            revision=_revision(graph, self._codec, tokenizer_sha256=tokenizer_sha256, window=window),
            precision="float32",
            dimension=graph.config.hidden,
        )

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        """Return a row of unit length for each text, in the same order."""
        vectors = np.empty((len(texts), self.identity.dimension), dtype=np.float32)
        for rows, tokens in self._batches(texts, progress):
            [vectors[rows]] = self._run(tokens, "sentence_embedding")
        return vectors

    def embed_tokens(self, texts: Sequence[str], *, progress: Progress | None = None) -> tuple[Vectors, list[bytes]]:
        """Return the rows of `embed`, and the codes of each text's tokens, which cost nothing extra."""
        if self._codec is None:
            return self.embed(texts, progress=progress), [b""] * len(texts)
        vectors = np.empty((len(texts), self.identity.dimension), dtype=np.float32)
        codes = [b""] * len(texts)
        for rows, tokens in self._batches(texts, progress):
            vectors[rows], embedded = self._run(tokens, "sentence_embedding", "token_embeddings")
            inner = embedded[:, 1:-1]  # without the special tokens at both ends
            packed = self._codec.encode(inner.reshape(-1, inner.shape[2])).reshape(len(rows), -1)
            for row, packed_row in zip(rows, packed, strict=True):
                codes[row] = packed_row.tobytes()
        return vectors, codes

    def embed_question(self, text: str) -> tuple[Vectors, QuestionTokens | None]:
        """Return the question's row of `embed`, and its tokens for late interaction; None if the model has no codec."""
        [encoding] = self._encode([text])
        vectors, embedded = self._run([encoding.ids], "sentence_embedding", "token_embeddings")
        if self._codec is None:
            return vectors[0], None
        inner = slice(1, -1)  # without the special tokens at both ends
        slopes, offsets = self._codec.question(embedded[0, inner])
        spans = tuple((start, end) for start, end in encoding.offsets[inner])
        return vectors[0], QuestionTokens(spans, slopes, offsets)

    def token_vectors(self, text: str) -> Vectors:
        """Return the vectors of a text's tokens as the model gives them."""
        [encoding] = self._encode([text])
        [embedded] = self._run([encoding.ids], "token_embeddings")
        inner: Vectors = embedded[0, 1:-1]
        return inner

    def _batches(
        self, texts: Sequence[str], progress: Progress | None
    ) -> Iterator[tuple[list[int], list[Sequence[int]]]]:
        """Yield row numbers of texts of the same length, with their token ids; report progress after each batch."""
        done = 0
        for start, end in _chunks(texts):
            tokens = [encoding.ids for encoding in self._encode(texts[start:end])]
            for batch in batches([len(ids) for ids in tokens], most_texts=self._batch_size):
                yield [start + index for index in batch], [tokens[index] for index in batch]
                done += len(batch)
                if progress is not None:
                    progress("embedding", done, len(texts))

    def _encode(self, texts: Sequence[str]) -> list[Any]:
        clean = [_LONE_SURROGATES.sub("\ufffd", text) for text in texts]
        if len(clean) == 1:
            # A question must not wait for the start of the thread pool for batches.
            return [self._tokenizer.encode(clean[0])]
        encodings: list[Any] = self._tokenizer.encode_batch_fast(clean)
        return encodings

    def _run(self, tokens: Sequence[Sequence[int]], *outputs: str) -> list[Vectors]:
        ids = np.array(tokens, dtype=np.int32)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        results: list[Vectors] = self._session.run(list(outputs), inputs)
        return results


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


def _open(weights: Weights, *, cache_dir: Path, threads: int, device: str) -> tuple[Graph, Any]:
    # First: a device that is not there must not look like a broken graph, which is built again.
    providers = _providers(device)
    graph = cached_graph(weights, cache_dir=cache_dir)
    try:
        session = _session(graph, threads=threads, providers=providers)
    except ModelError:
        graph = cached_graph(weights, cache_dir=cache_dir, rebuild=True)
        session = _session(graph, threads=threads, providers=providers)
    check_device(device, in_use=session.get_providers())
    return graph, session


def _providers(device: str) -> list[str]:
    """Return ONNX Runtime's name of the device. Raise `ModelError` when this installation cannot run there."""
    import onnxruntime

    wanted = _PROVIDERS[device]
    if wanted not in onnxruntime.get_available_providers():
        raise ModelError(
            f"the setting embedding.device={device} needs ONNX Runtime's {wanted}, which is not in the package "
            f"that is installed",
            hint="Install onnxruntime-gpu in place of onnxruntime, or set embedding.device=cpu.",
        )
    return [wanted]


def check_device(device: str, *, in_use: Sequence[str]) -> None:
    """Raise `ModelError` when a session runs elsewhere: without a GPU, ONNX Runtime would go to the CPU."""
    if _PROVIDERS[device] not in in_use:
        raise ModelError(
            f"ONNX Runtime cannot use the device of embedding.device={device}: it would run on "
            f"{', '.join(in_use) or 'none'}",
            hint="Check the GPU's driver, CUDA and cuDNN, or set embedding.device=cpu.",
        )


def _session(graph: Graph, *, threads: int, providers: list[str]) -> Any:  # noqa: ANN401 - onnxruntime has no types
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # The graph is built fused: a search for more would cost the start and find nothing.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.enable_cpu_mem_arena = False
    options.log_severity_level = 3
    try:
        # By itself it would go on with the CPU when the GPU fails, at a tenth of the speed and with no word of it.
        return onnxruntime.InferenceSession(str(graph.path), options, providers=providers, enable_fallback=0)
    except Exception as error:  # onnxruntime's errors share no other base
        raise ModelError(f"{graph.path} cannot be loaded: {error}", hint=f"Delete {graph.path.parent}.") from error


def _open_tokenizer(weights: Weights, config: EncoderConfig, *, window: int) -> tuple[Any, str]:
    """Return the tokenizer, and the SHA-256 of the very bytes it was made from."""
    from tokenizers import Tokenizer

    try:
        content = weights.tokenizer.read_bytes()
        tokenizer = Tokenizer.from_buffer(content)
    except Exception as error:  # tokenizers raises Exception itself
        raise ModelError(f"{weights.tokenizer} cannot be read: {error}", hint=INSTALL_HINT) from error
    if tokenizer.get_vocab_size() > config.vocabulary:
        raise ModelError(f"{weights.tokenizer} belongs to another model than {weights.model}", hint=INSTALL_HINT)
    tokenizer.no_padding()
    tokenizer.enable_truncation(window)
    return tokenizer, hashlib.sha256(content).hexdigest()


def _revision(graph: Graph, codec: TokenCodec | None, *, tokenizer_sha256: str, window: int) -> str:
    """Name everything a vector depends on: the weights, then how they are used."""
    use = json.dumps([asdict(graph.config), tokenizer_sha256, window, codec and codec.revision], sort_keys=True)
    return f"{graph.weights_sha256[:12]}-{hashlib.sha256(use.encode()).hexdigest()[:12]}"
