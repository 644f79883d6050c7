"""A random BERT of two layers, and the same network computed by numpy alone."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

HIDDEN, INNER, HEADS, LAYERS, POSITIONS = 32, 64, 4, 2, 40
WORDS = (
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    *"sow canola seed at cm deep in moist soil the board may 2 . ##s ##ing".split(),
)
CONFIG = {
    "model_type": "bert",
    "hidden_size": HIDDEN,
    "num_attention_heads": HEADS,
    "num_hidden_layers": LAYERS,
    "max_position_embeddings": POSITIONS,
    "vocab_size": len(WORDS),
    "layer_norm_eps": 1e-5,
    "hidden_act": "gelu",
}


def tiny_tensors() -> dict[str, NDArray[np.float32]]:
    """Random weights: large enough that every part of the network changes the result, and norms near 1, as trained
    ones are, or else the tokens of a text would all come out alike and any pooling would do.
    """
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (len(WORDS), HIDDEN),
        "embeddings.position_embeddings.weight": (POSITIONS, HIDDEN),
        "embeddings.token_type_embeddings.weight": (2, HIDDEN),
        **_norm_shapes("embeddings.LayerNorm"),
    }
    for layer in range(LAYERS):
        base = f"encoder.layer.{layer}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            shapes |= _linear_shapes(f"{base}.attention.{part}", HIDDEN, HIDDEN)
        shapes |= _linear_shapes(f"{base}.intermediate.dense", INNER, HIDDEN)
        shapes |= _linear_shapes(f"{base}.output.dense", HIDDEN, INNER)
        shapes |= _norm_shapes(f"{base}.attention.output.LayerNorm") | _norm_shapes(f"{base}.output.LayerNorm")
    generator = np.random.default_rng(3)
    return {
        name: generator.normal(name.endswith("LayerNorm.weight"), 0.3, shape).astype(np.float32)
        for name, shape in shapes.items()
    }


def _linear_shapes(base: str, outputs: int, inputs: int) -> dict[str, tuple[int, ...]]:
    return {f"{base}.weight": (outputs, inputs), f"{base}.bias": (outputs,)}


def _norm_shapes(base: str) -> dict[str, tuple[int, ...]]:
    return {f"{base}.weight": (HIDDEN,), f"{base}.bias": (HIDDEN,)}


def head_tensors(labels: int) -> dict[str, NDArray[np.float32]]:
    """Random weights of what a cross-encoder has on top of its encoder."""
    shapes = _linear_shapes("bert.pooler.dense", HIDDEN, HIDDEN) | _linear_shapes("classifier", labels, HIDDEN)
    generator = np.random.default_rng(labels)
    return {name: generator.normal(0, 0.3, shape).astype(np.float32) for name, shape in shapes.items()}


def write_tiny_bert(folder: Path, *, prefix: str = "", config: Mapping[str, Any] = CONFIG, labels: int = 0) -> Path:
    """Write the three files of a model into `folder` and return it; with `labels`, those of a cross-encoder."""
    from safetensors.numpy import save_file

    folder.mkdir(parents=True)
    tensors = {("bert." if labels else prefix) + name: value for name, value in tiny_tensors().items()}
    save_file(tensors | (head_tensors(labels) if labels else {}), folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config))
    return write_tiny_tokenizer(folder)


def write_tiny_tokenizer(folder: Path) -> Path:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    vocabulary = {word: index for index, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordPiece(vocab=vocabulary, unk_token=WORDS[1]))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", vocabulary["[CLS]"]), ("[SEP]", vocabulary["[SEP]"])],
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def numpy_logits(ids: Sequence[int], types: Sequence[int], labels: int) -> Array:
    """The logits of one pair, in float64 and without any of the code under test."""
    w: dict[str, Array] = {name: value.astype(np.float64) for name, value in head_tensors(labels).items()}
    first = np.tanh(_linear(w, "bert.pooler.dense", numpy_token_vectors(ids, types)[0]))
    return _linear(w, "classifier", first)


def numpy_token_vectors(ids: Sequence[int], types: Sequence[int] | None = None) -> Array:
    """The last hidden state of one text, in float64 and without any of the code under test."""
    w: dict[str, Array] = {name: value.astype(np.float64) for name, value in tiny_tensors().items()}
    x = w["embeddings.word_embeddings.weight"][list(ids)]
    x = x + w["embeddings.position_embeddings.weight"][: len(ids)]
    x = x + w["embeddings.token_type_embeddings.weight"][list(types or [0] * len(ids))]
    x = _norm(w, "embeddings.LayerNorm", x)
    for layer in range(LAYERS):
        base = f"encoder.layer.{layer}"
        attended = _linear(w, f"{base}.attention.output.dense", _attend(w, f"{base}.attention.self", x))
        x = _norm(w, f"{base}.attention.output.LayerNorm", x + attended)
        inner = np.vectorize(_gelu)(_linear(w, f"{base}.intermediate.dense", x))
        x = _norm(w, f"{base}.output.LayerNorm", x + _linear(w, f"{base}.output.dense", inner))
    return x


def unit(vector: Array) -> Array:
    length: float = math.sqrt(float(np.sum(vector * vector)))
    return vector / length


def _attend(w: Mapping[str, Array], base: str, x: Array) -> Array:
    width = HIDDEN // HEADS
    query, key, value = (_linear(w, f"{base}.{part}", x) for part in ("query", "key", "value"))
    heads = []
    for head in range(HEADS):
        columns = slice(head * width, (head + 1) * width)
        scores = np.exp(query[:, columns] @ key[:, columns].T / math.sqrt(width))
        heads.append(scores / scores.sum(axis=1, keepdims=True) @ value[:, columns])
    return np.concatenate(heads, axis=1)


def _linear(w: Mapping[str, Array], base: str, x: Array) -> Array:
    return x @ w[f"{base}.weight"].T + w[f"{base}.bias"]


def _norm(w: Mapping[str, Array], base: str, x: Array) -> Array:
    centred = x - x.mean(axis=1, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=1, keepdims=True) + CONFIG["layer_norm_eps"])
    scaled: Array = centred / spread
    return scaled * w[f"{base}.weight"] + w[f"{base}.bias"]


def _gelu(x: float) -> float:
    return 0.5 * x * (1 + math.erf(x / math.sqrt(2)))
