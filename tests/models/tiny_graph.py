"""Models of a single layer that bring an ONNX graph, as other programs export them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .tiny_bert import WORDS, write_tiny_tokenizer

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
WIDTH = 6


def table(columns: int) -> NDArray[np.float32]:
    """A row for each word."""
    return np.random.default_rng(7).normal(0, 1, (len(WORDS), columns)).astype(np.float32)


def token_rows(ids: Sequence[int], types: Sequence[int], columns: int) -> NDArray[np.float32]:
    """What the graph computes for each token: the row of its word, plus its type."""
    rows: NDArray[np.float32] = table(columns)[list(ids)] + np.array(types, np.float32)[:, None]
    return rows


def write_tiny_graph(
    folder: Path,
    *,
    columns: int,
    pooled: str | None = None,
    tokens: str | None = None,
    inputs: Sequence[str] = INPUTS,
    integer: str = "INT64",
    eight_bits: bool = False,
    name: str = "onnx/model.onnx",
) -> Path:
    """Write a graph with the outputs `pooled` and `tokens`, and a tokenizer; `columns` is the width of the outputs."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["words"])]
    if "token_type_ids" in inputs:
        nodes.append(helper.make_node("Cast", ["token_type_ids"], ["types"], to=TensorProto.FLOAT))
        nodes.append(helper.make_node("Unsqueeze", ["types", "last"], ["type_rows"]))
        nodes.append(helper.make_node("Add", ["words", "type_rows"], ["rows"]))
    else:
        nodes.append(helper.make_node("Identity", ["words"], ["rows"]))
    if eight_bits:  # one scale for everything that runs at once
        nodes.append(helper.make_node("DynamicQuantizeLinear", ["rows"], ["codes", "scale", "zero"]))
        nodes.append(helper.make_node("DequantizeLinear", ["codes", "scale", "zero"], ["rounded"]))
    rows = "rounded" if eight_bits else "rows"
    outputs = []
    if pooled:
        nodes.append(helper.make_node("ReduceMean", [rows], [pooled], axes=[1], keepdims=0))
        outputs.append(helper.make_tensor_value_info(pooled, TensorProto.FLOAT, ["batch", columns]))
    if tokens:
        nodes.append(helper.make_node("Identity", [rows], [tokens]))
        outputs.append(helper.make_tensor_value_info(tokens, TensorProto.FLOAT, ["batch", "tokens", columns]))
    kind = getattr(TensorProto, integer)
    graph = helper.make_graph(
        nodes,
        "tiny",
        [helper.make_tensor_value_info(wanted, kind, ["batch", "tokens"]) for wanted in inputs],
        outputs,
        initializer=[
            numpy_helper.from_array(table(columns), "table"),
            numpy_helper.from_array(np.array([2], np.int64), "last"),
        ],
    )
    path = folder / name
    path.parent.mkdir(parents=True)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, str(path))
    return write_tiny_tokenizer(folder)


def write_json(folder: Path, name: str, content: object) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(json.dumps(content))
