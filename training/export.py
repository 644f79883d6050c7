"""Write the trained reader as an ONNX graph of 8-bit weights, with its tokenizer and sha256.

    python training/export.py --work DIR [--model FILE] [--target DIR]

Matrices become 8-bit integers with a scale for each column; what flows through them is rounded at run time with one
scale for all that is read at once. So pairs have to be read one by one for a score that depends on the pair alone. Word
vectors are 8-bit integers with a scale for each word.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load_file

OPSET = 20
MOST = 63
"""The largest code of a matrix: with 7 bits, processors without VNNI cannot overflow when they add pairs in 16 bits."""
HEADS = 12
EPSILON = 1e-12

Array = NDArray[Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--model", type=Path, help="default: DIR/run/reader.safetensors")
    parser.add_argument("--target", type=Path, help="default: DIR/export")
    options = parser.parse_args()
    target: Path = options.target or options.work / "export"
    target.mkdir(parents=True, exist_ok=True)
    file = target / "reader.onnx"
    graph = Graph(load_file(options.model or options.work / "run" / "reader.safetensors")).model()
    file.write_bytes(graph.SerializeToString())
    shutil.copyfile(options.work / "base" / "tokenizer.json", target / "tokenizer.json")
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    (target / "reader.json").write_text(json.dumps({"sha256": digest}, indent=1) + "\n", encoding="utf-8")
    print(f"{file}: {file.stat().st_size / 1e6:.1f} MB, sha256 {digest}")
    return 0


class Graph:
    """The network of `network.py`, operator by operator, for pairs of the same length: there is no padding."""

    def __init__(self, weights: dict[str, Array]) -> None:
        self.weights = weights
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def model(self) -> onnx.ModelProto:
        value = self._embedded()
        layers = len({name.split(".")[1] for name in self.weights if name.startswith("layers.")})
        for number in range(layers):
            value = self._layer(value, f"layers.{number}")
        first = self._node("Gather", [value, self._constant("first", np.array(0, np.int64))], "first_token", axis=1)
        pooled = self._node("Tanh", [self._matrix(first, "pooler", bias=True)], "pooled")
        self._column(pooled, "score", "scores")
        self._column(value, "mark", "marks")
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT32, ["batch", "tokens"])
            for name in ("input_ids", "token_type_ids")
        ]
        outputs = [
            helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["batch"]),
            helper.make_tensor_value_info("marks", TensorProto.FLOAT, ["batch", "tokens"]),
        ]
        graph = helper.make_graph(self.nodes, "reader", inputs, outputs, initializer=self.constants)
        opsets = [helper.make_opsetid("", OPSET), helper.make_opsetid("com.microsoft", 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=10, producer_name="quoth")

    def _embedded(self) -> str:
        words = self.weights["words.weight"]
        scale = np.maximum(np.abs(words).max(axis=1, keepdims=True), 1e-9) / 127
        codes = np.rint(words / scale).astype(np.int8)
        rows = self._node("Gather", [self._constant("words", codes), "input_ids"], "word_codes")
        scales = self._node("Gather", [self._constant("scales", scale.astype(np.float32)), "input_ids"], "word_scales")
        value = self._node("Mul", [self._node("Cast", [rows], "word_numbers", to=TensorProto.FLOAT), scales], "word")
        shape = self._node("Shape", ["input_ids"], "tokens", start=1, end=2)
        start, axis = self._constant("zero", np.array([0], np.int64)), self._constant("rows", np.array([0], np.int64))
        positions = self._node("Slice", [self._as_is("positions.weight"), start, shape, axis], "position")
        value = self._node("Add", [value, positions], "placed")
        types = self._node("Gather", [self._as_is("types.weight"), "token_type_ids"], "type")
        value = self._node("Add", [value, types], "typed")
        norm = [self._as_is("norm.weight"), self._as_is("norm.bias")]
        return self._node("LayerNormalization", [value, *norm], "embedded", epsilon=EPSILON)

    def _layer(self, value: str, base: str) -> str:
        packed = self._matrix(value, f"{base}.query_key_value")
        parts = [f"{base}.{part}" for part in ("query", "key", "value")]
        self._node("Split", [packed], *parts, axis=2, num_outputs=3)
        bias = self._as_is(f"{base}.query_key_value.bias")
        attended = self._node("MultiHeadAttention", [*parts, bias], f"{base}.attended", fused=True, num_heads=HEADS)
        value = self._normed(attended, value, f"{base}.attention_out", f"{base}.attention_norm")
        inner = self._matrix(value, f"{base}.inner")
        inner = self._node("BiasGelu", [inner, self._as_is(f"{base}.inner.bias")], f"{base}.activated", fused=True)
        return self._normed(inner, value, f"{base}.outer", f"{base}.norm")

    def _normed(self, value: str, residual: str, linear: str, norm: str) -> str:
        """Add what a layer makes of a value to what went into it, and normalise the sum.

        `SkipLayerNormalization` does the same in one operator, but it takes a quarter of the whole reader's time.
        """
        total = self._node("Add", [self._matrix(value, linear, bias=True), residual], f"{norm}.in")
        weights = [self._as_is(f"{norm}.weight"), self._as_is(f"{norm}.bias")]
        return self._node("LayerNormalization", [total, *weights], f"{norm}.out", epsilon=EPSILON)

    def _matrix(self, value: str, base: str, *, bias: bool = False) -> str:
        """Multiply by a matrix of 8-bit integers; without `bias`, that is left to the operator that follows."""
        weight = self.weights[f"{base}.weight"].T
        scale = np.maximum(np.abs(weight).max(axis=0), 1e-9) / MOST
        codes = np.rint(weight / scale).astype(np.int8)
        inputs = [
            value,
            self._constant(f"{base}.codes", np.ascontiguousarray(codes)),
            self._constant(f"{base}.scales", scale.astype(np.float32)),
            *(["", self._as_is(f"{base}.bias")] if bias else []),
        ]
        return self._node("DynamicQuantizeMatMul", inputs, f"{base}.product", fused=True)

    def _column(self, value: str, base: str, output: str) -> None:
        weight = self._constant(f"{base}.weight", np.ascontiguousarray(self.weights[f"{base}.weight"].T))
        product = self._node("MatMul", [value, weight], f"{base}.product")
        total = self._node("Add", [product, self._as_is(f"{base}.bias")], f"{base}.sum")
        self._node("Squeeze", [total, self._constant(f"{base}.axis", np.array([-1], np.int64))], output)

    def _as_is(self, name: str) -> str:
        return self._constant(name, self.weights[name].astype(np.float32))

    def _constant(self, name: str, value: Array) -> str:
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def _node(self, kind: str, inputs: list[str], *outputs: str, fused: bool = False, **attributes: float) -> str:
        node = helper.make_node(kind, inputs, outputs, name=outputs[0], domain="com.microsoft" if fused else "")
        node.attribute.extend(helper.make_attribute(key, value) for key, value in attributes.items())
        self.nodes.append(node)
        return outputs[0]


if __name__ == "__main__":
    sys.exit(main())
