"""Networks on ONNX Runtime, with their tokenizers. Needs no torch."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from quoth.errors import ModelError
from quoth.models.onnx_graph import Graph, cached_graph
from quoth.models.weights import Weights
from quoth.types import Vectors

_PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}
_INTEGERS = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_SMALL = 150_000_000
"""Bytes of weights. For one text of a smaller network, waking a second core takes as long as it saves."""
_CHARACTERS = 20
"""For each token of the window: of two long texts, the tokenizer would keep every combination of what it cuts off."""
_LONE_SURROGATES = re.compile("[\ud800-\udfff]")


class OnnxModel:
    """A network and its tokenizer. Any number of threads may call it at once.

    It is built from the weights of a BERT, or is a graph that the model brings; then `graph.config` is None.
    """

    def __init__(
        self, weights: Weights, *, window: int, cache_dir: Path, threads: int, device: str = "cpu", logits: bool = False
    ) -> None:
        """Text beyond `window` tokens is not read; `logits` means a cross-encoder.

        A small network uses one core in each call of `run`; `callers` is how many calls at once use all `threads`.
        """
        # First: a device that is not there must not look like a broken graph, which is built again.
        providers = _providers(device)
        graph = cached_graph(weights, cache_dir=cache_dir, logits=logits)
        small = device == "cpu" and sum(path.stat().st_size for path in weights.files) <= _SMALL
        self.callers = threads if small else 1
        each = 1 if small else threads
        self.graph, self._session = _open(weights, graph, cache_dir=cache_dir, threads=each, providers=providers)
        check_device(device, in_use=self._session.get_providers())
        self._inputs = {node.name: _INTEGERS.get(node.type) for node in self._session.get_inputs()}
        self.outputs = [node.name for node in self._session.get_outputs()]
        known = {"input_ids", "attention_mask", "token_type_ids"}
        if not {"input_ids"} <= self._inputs.keys() <= known or None in self._inputs.values():
            found = ", ".join(f"{node.name} ({node.type})" for node in self._session.get_inputs())
            raise ModelError(
                f"{self.graph.path} wants the inputs {found}; Quoth can give {', '.join(sorted(known))} as integers",
                hint="Export the model to ONNX again, or use another model.",
            )
        self._window = window
        self._tokenizer, tokenizer_sha256 = _open_tokenizer(weights, window=window)
        self._use = [self.graph.config and asdict(self.graph.config), tokenizer_sha256, window]

    def revision(self, *more: object) -> str:
        """Name everything that a result depends on: the weights, then how they are used; `more` is part of that."""
        use = json.dumps([*self._use, *more], sort_keys=True)
        return f"{self.graph.weights_sha256[:12]}-{hashlib.sha256(use.encode()).hexdigest()[:12]}"

    def encode(self, texts: Sequence[str]) -> list[Any]:
        clean = [readable(text) for text in texts]
        if len(clean) == 1:
            # A question must not wait for the start of the thread pool for batches.
            return [self._tokenizer.encode(clean[0])]
        encodings: list[Any] = self._tokenizer.encode_batch_fast(clean)
        return encodings

    def encode_pair(self, first: str, second: str) -> Any:  # noqa: ANN401 - tokenizers has no types
        """Encode two texts as the model was trained to read them; the longer one is cut to fit the window."""
        most = self._window * _CHARACTERS
        return self._tokenizer.encode(readable(first[:most]), readable(second[:most]))

    def run(
        self, tokens: Sequence[Sequence[int]], *outputs: str, types: Sequence[Sequence[int]] | None = None
    ) -> list[Vectors]:
        """Return the outputs for texts of equal length. The graph is given the inputs that it has, and no others."""
        ids = np.array(tokens)
        given = {
            "input_ids": ids,
            "attention_mask": np.ones_like(ids),
            "token_type_ids": np.zeros_like(ids) if types is None else np.array(types),
        }
        inputs = {name: given[name].astype(integer) for name, integer in self._inputs.items()}
        try:
            results: list[Vectors] = self._session.run(list(outputs), inputs)
        except Exception as error:  # onnxruntime's errors share no other base
            hint = "Check that tokenizer.json and config.json belong to the model."
            raise ModelError(f"{self.graph.path} fails: {error}", hint=hint) from error
        return results


def readable(text: str) -> str:
    """Return a text that a tokenizer takes, of the same length: without lone surrogates."""
    return _LONE_SURROGATES.sub("\ufffd", text)


def _open(
    weights: Weights, graph: Graph, *, cache_dir: Path, threads: int, providers: Sequence[str]
) -> tuple[Graph, Any]:
    """Return a session of the graph, and the graph, which is built again when it cannot be loaded."""
    if graph.config is None:
        return graph, open_session(graph.path, threads=threads, providers=providers, fused=False)
    try:
        return graph, open_session(graph.path, threads=threads, providers=providers)
    except ModelError:
        logits = graph.config.pooling == "logits"
        graph = cached_graph(weights, cache_dir=cache_dir, rebuild=True, logits=logits)
        return graph, open_session(graph.path, threads=threads, providers=providers)


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


def open_session(path: Path, *, threads: int, providers: Sequence[str], fused: bool = True) -> Any:  # noqa: ANN401 - onnxruntime has no types
    """Return a session of ONNX Runtime. Raise `ModelError` when the graph cannot be loaded."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    if fused:
        # A search for more would cost the start and find nothing.
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.enable_cpu_mem_arena = False
    options.log_severity_level = 3
    try:
        # By itself it would go on with the CPU when the GPU fails, at a tenth of the speed and with no word of it.
        return onnxruntime.InferenceSession(str(path), options, providers=list(providers), enable_fallback=0)
    except Exception as error:  # onnxruntime's errors share no other base
        hint = f"Delete {path.parent}." if fused else "Get the model's files again."
        raise ModelError(f"{path} cannot be loaded: {error}", hint=hint) from error


def _open_tokenizer(weights: Weights, *, window: int) -> tuple[Any, str]:
    """Return the tokenizer, and the SHA-256 of the very bytes it was made from."""
    from tokenizers import Tokenizer

    try:
        content = weights.tokenizer.read_bytes()
        tokenizer = Tokenizer.from_buffer(content)
    except Exception as error:  # tokenizers raises Exception itself
        raise ModelError(f"{weights.tokenizer} cannot be read: {error}", hint=weights.hint) from error
    vocabulary = weights.described("config.json").get("vocab_size")
    if isinstance(vocabulary, int) and tokenizer.get_vocab_size() > vocabulary:
        raise ModelError(f"{weights.tokenizer} belongs to another model than {weights.model}", hint=weights.hint)
    tokenizer.no_padding()
    tokenizer.enable_truncation(window)
    return tokenizer, hashlib.sha256(content).hexdigest()
