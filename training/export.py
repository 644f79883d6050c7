"""Write the trained cross-encoder as a quantised ONNX graph, with its sha256.

    python training/export.py --model DIR/others --target DIR

The matrices become 8-bit integers of 7 bits' range (`reduce_range`), because processors without VNNI add pairs of
products in 16 bits, which would overflow with more; activations are quantised as they come.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from safetensors.numpy import load_file

OPSET = 20
NAME = "cross_encoder.onnx"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--target", type=Path, required=True)
    options = parser.parse_args()
    graph = Graph(load_file(options.model / "model.safetensors")).model()
    target = options.target / NAME
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "plain.onnx"
        onnx.save(graph, plain)
        quantize_dynamic(
            plain,
            target,
            weight_type=QuantType.QInt8,
            per_channel=True,
            reduce_range=True,
            op_types_to_quantize=["MatMul", "Gather"],
        )
    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    (options.target / "cross_encoder.json").write_text(json.dumps({"file": NAME, "sha256": digest}, indent=1) + "\n")
    print(f"{target}: {target.stat().st_size / 1e6:.1f} MB, sha256 {digest}")
    return 0


class Graph:
    """The network of `network.py`, operator by operator. One score for each row of token ids."""

    heads = 12

    def __init__(self, weights: dict[str, NDArray[np.float32]]) -> None:
        self.weights = weights
        self.nodes: list[onnx.NodeProto] = []
        self.constants: dict[str, onnx.TensorProto] = {}
        self.hidden = weights["words.weight"].shape[1]

    def model(self) -> onnx.ModelProto:
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["pairs", "tokens"])
            for name in ("input_ids", "token_types", "attention_mask")
        ]
        score = helper.make_tensor_value_info("score", TensorProto.FLOAT, ["pairs"])
        value = self.embedded()
        unseen = self.unseen()
        for number in range(sum(key.endswith(".outer.bias") for key in self.weights)):
            value = self.layer(value, unseen, f"layers.{number}")
        first = self.add("Gather", [value, self.constant("zero", np.array(0))], axis=1)
        scored = self.linear(first, "score")
        self.add("Squeeze", [scored, self.constant("last", np.array([-1]))], output="score")
        graph = helper.make_graph(self.nodes, "cross_encoder", inputs, [score], list(self.constants.values()))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
        onnx.checker.check_model(model)
        return model

    def embedded(self) -> str:
        shape = self.add("Shape", ["input_ids"], start=1, end=2)
        length = self.add("Squeeze", [shape])
        places = self.add("Range", [self.constant("zero", np.array(0)), length, self.constant("one", np.array(1))])
        words = self.add("Gather", [self.weight("words.weight"), "input_ids"])
        positions = self.add("Gather", [self.weight("positions.weight"), places])
        types = self.add("Gather", [self.weight("types.weight"), "token_types"])
        return self.norm(self.add("Add", [self.add("Add", [words, positions]), types]), "norm")

    def unseen(self) -> str:
        """0 for a token, a large negative number for padding, ready to be added to the attention's scores."""
        mask = self.add("Cast", ["attention_mask"], to=TensorProto.FLOAT)
        mask = self.add("Unsqueeze", [mask, self.constant("middle", np.array([1, 2]))])
        missing = self.add("Sub", [self.constant("one_float", np.float32(1)), mask])
        return self.add("Mul", [missing, self.constant("never", np.float32(-1e9))])

    def layer(self, value: str, unseen: str, base: str) -> str:
        each = self.hidden // self.heads
        joined = self.linear(value, f"{base}.query_key_value")
        sizes = self.constant("by_three", np.array([0, 0, 3, self.heads, each]))
        split = self.add("Transpose", [self.add("Reshape", [joined, sizes])], perm=[2, 0, 3, 1, 4])
        query, key, content = (
            self.add("Gather", [split, self.constant(f"part_{part}", np.array(part))], axis=0) for part in range(3)
        )
        turned = self.add("Transpose", [key], perm=[0, 1, 3, 2])
        scores = self.add("MatMul", [query, turned])
        scores = self.add("Mul", [scores, self.constant("scale", np.float32(each**-0.5))])
        shares = self.add("Softmax", [self.add("Add", [scores, unseen])], axis=-1)
        mixed = self.add("Transpose", [self.add("MatMul", [shares, content])], perm=[0, 2, 1, 3])
        merged = self.add("Reshape", [mixed, self.constant("merged", np.array([0, 0, self.hidden]))])
        attended = self.add("Add", [value, self.linear(merged, f"{base}.attention_out")])
        value = self.norm(attended, f"{base}.attention_norm")
        inner = self.add("Gelu", [self.linear(value, f"{base}.inner")])
        return self.norm(self.add("Add", [value, self.linear(inner, f"{base}.outer")]), f"{base}.norm")

    def linear(self, value: str, base: str) -> str:
        turned = self.constant(f"{base}.turned", np.ascontiguousarray(self.weights[f"{base}.weight"].T))
        return self.add("Add", [self.add("MatMul", [value, turned]), self.weight(f"{base}.bias")])

    def norm(self, value: str, base: str) -> str:
        inputs = [value, self.weight(f"{base}.weight"), self.weight(f"{base}.bias")]
        return self.add("LayerNormalization", inputs, axis=-1, epsilon=1e-12)

    def weight(self, name: str) -> str:
        return self.constant(name, self.weights[name])

    def constant(self, name: str, value: object) -> str:
        self.constants.setdefault(name, numpy_helper.from_array(np.asarray(value), name))
        return name

    def add(self, kind: str, inputs: list[str], *, output: str | None = None, **attributes: object) -> str:
        name = output or f"{kind}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, inputs, [name], name=name, **attributes))
        return name


if __name__ == "__main__":
    sys.exit(main())
