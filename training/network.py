"""The reader in torch: a BERT encoder over question and sentence, a score for the pair and one for each token."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from safetensors.torch import load_file
from torch import Tensor, nn

FROZEN_LAYERS = 5
"""The lower layers stay as they are: they know words already, and training skips their backward pass."""


class Layer(nn.Module):
    def __init__(self, hidden: int, heads: int, inner: int) -> None:
        super().__init__()
        self.heads = heads
        self.query_key_value = nn.Linear(hidden, 3 * hidden)
        self.attention_out = nn.Linear(hidden, hidden)
        self.attention_norm = nn.LayerNorm(hidden, eps=1e-12)
        self.inner = nn.Linear(hidden, inner)
        self.outer = nn.Linear(inner, hidden)
        self.norm = nn.LayerNorm(hidden, eps=1e-12)

    def forward(self, value: Tensor, mask: Tensor) -> Tensor:
        batch, tokens, hidden = value.shape
        split = self.query_key_value(value).view(batch, tokens, 3, self.heads, hidden // self.heads)
        query, key, content = split.permute(2, 0, 3, 1, 4)
        attended = nn.functional.scaled_dot_product_attention(query, key, content, attn_mask=mask)
        merged = attended.transpose(1, 2).reshape(batch, tokens, hidden)
        value = self.attention_norm(value + self.attention_out(merged))
        return self.norm(value + self.outer(nn.functional.gelu(self.inner(value))))


class ReaderNetwork(nn.Module):
    """Embeddings and the first layers are frozen: few words of a new corpus are seen in training."""

    def __init__(self, *, vocabulary: int, hidden: int, heads: int, inner: int, layers: int, positions: int) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, hidden)
        self.positions = nn.Embedding(positions, hidden)
        self.types = nn.Embedding(2, hidden)
        self.norm = nn.LayerNorm(hidden, eps=1e-12)
        self.layers = nn.ModuleList(Layer(hidden, heads, inner) for _ in range(layers))
        self.pooler = nn.Linear(hidden, hidden)
        self.score = nn.Linear(hidden, 1)
        self.mark = nn.Linear(hidden, 1)
        nn.init.zeros_(self.mark.weight)
        nn.init.constant_(self.mark.bias, -2.0)
        for part in (self.words, self.positions, self.types, self.norm, *self.layers[:FROZEN_LAYERS]):
            part.requires_grad_(requires_grad=False)

    def forward(self, ids: Tensor, types: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        """Return a score for each pair, and for each of its tokens: whether it belongs to the answering words."""
        seen = mask[:, None, None, :].bool()
        with torch.no_grad():
            places = torch.arange(ids.shape[1])
            value = self.norm(self.words(ids) + self.positions(places) + self.types(types))
            for layer in self.layers[:FROZEN_LAYERS]:
                value = layer(value, seen)
        for layer in self.layers[FROZEN_LAYERS:]:
            value = layer(value, seen)
        pair: Tensor = self.score(torch.tanh(self.pooler(value[:, 0]))).squeeze(-1)
        tokens: Tensor = self.mark(value).squeeze(-1)
        return pair.float(), tokens.float()

    @classmethod
    def from_base(cls, folder: Path, start: Path | None = None) -> ReaderNetwork:
        """Begin with the weights of a BERT cross-encoder; those in the file `start`, if given, go before them.

        `start` holds tensors under the names of BERT, or it is a reader that `export.py` wrote.
        """
        config = json.loads((folder / "config.json").read_bytes())
        network = cls(
            vocabulary=config["vocab_size"],
            hidden=config["hidden_size"],
            heads=config["num_attention_heads"],
            inner=config["intermediate_size"],
            layers=config["num_hidden_layers"],
            positions=config["max_position_embeddings"],
        )
        found = load_file(folder / "model.safetensors")
        if start is not None and start.suffix != ".onnx":
            found |= {name: value.float() for name, value in load_file(start).items()}
        renamed = our_names(found, layers=config["num_hidden_layers"])
        if start is not None and start.suffix == ".onnx":
            renamed |= exported_weights(start)
        network.load_state_dict({**network.state_dict(), **renamed})
        return network


def exported_weights(path: Path) -> dict[str, Tensor]:
    """Return the matrices, norms and heads of an exported reader as floats; its embeddings stay the base model's."""
    values = {one.name: numpy_helper.to_array(one) for one in onnx.load(path).graph.initializer}
    weights = {
        name.replace(".codes", ".weight"): (value * values[name.replace(".codes", ".scales")]).T
        for name, value in values.items()
        if name.endswith(".codes")
    }
    weights |= {f"{name}.weight": values[f"{name}.weight"].T for name in ("score", "mark")}
    as_is = (name for name in values if name.endswith(".bias") or ".norm." in name or ".attention_norm." in name)
    weights |= {name: values[name] for name in as_is}
    return {name: torch.from_numpy(np.array(value, np.float32)) for name, value in weights.items()}


def our_names(found: dict[str, Tensor], *, layers: int) -> dict[str, Tensor]:
    """Return BERT's tensors under the names of `ReaderNetwork`; query, key and value become one matrix."""
    pairs = [
        ("norm", "bert.embeddings.LayerNorm"),
        ("pooler", "bert.pooler.dense"),
        ("score", "classifier"),
    ]
    renamed = {
        f"{ours}.weight": found[f"bert.embeddings.{theirs}_embeddings.weight"]
        for ours, theirs in (("words", "word"), ("positions", "position"), ("types", "token_type"))
    }
    for number in range(layers):
        base, ours = f"bert.encoder.layer.{number}", f"layers.{number}"
        parts = [f"{base}.attention.self.{part}" for part in ("query", "key", "value")]
        for kind in ("weight", "bias"):
            renamed[f"{ours}.query_key_value.{kind}"] = torch.cat([found[f"{part}.{kind}"] for part in parts])
        pairs += [
            (f"{ours}.attention_out", f"{base}.attention.output.dense"),
            (f"{ours}.attention_norm", f"{base}.attention.output.LayerNorm"),
            (f"{ours}.inner", f"{base}.intermediate.dense"),
            (f"{ours}.outer", f"{base}.output.dense"),
            (f"{ours}.norm", f"{base}.output.LayerNorm"),
        ]
    for ours, theirs in pairs:
        for kind in ("weight", "bias"):
            renamed[f"{ours}.{kind}"] = found[f"{theirs}.{kind}"]
    return renamed
