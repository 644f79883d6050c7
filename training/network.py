"""The cross-encoder in torch: MiniLM's six layers over a pair, and one linear unit on the first token."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn


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
        self.dropout = nn.Dropout(0.1)

    def forward(self, value: Tensor, mask: Tensor) -> Tensor:
        batch, tokens, hidden = value.shape
        split = self.query_key_value(value).view(batch, tokens, 3, self.heads, hidden // self.heads)
        query, key, content = split.permute(2, 0, 3, 1, 4)
        attended = nn.functional.scaled_dot_product_attention(query, key, content, attn_mask=mask)
        merged = attended.transpose(1, 2).reshape(batch, tokens, hidden)
        value = self.attention_norm(value + self.dropout(self.attention_out(merged)))
        return self.norm(value + self.dropout(self.outer(nn.functional.gelu(self.inner(value)))))


class CrossEncoder(nn.Module):
    """One score for each pair. The word vectors stay as they are: few words of a new corpus are seen in training."""

    def __init__(self, *, vocabulary: int, hidden: int, heads: int, inner: int, layers: int, positions: int) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, hidden)
        self.positions = nn.Embedding(positions, hidden)
        self.types = nn.Embedding(2, hidden)
        self.norm = nn.LayerNorm(hidden, eps=1e-12)
        self.layers = nn.ModuleList(Layer(hidden, heads, inner) for _ in range(layers))
        self.score = nn.Linear(hidden, 1)
        self.dropout = nn.Dropout(0.1)
        self.words.weight.requires_grad = False

    def forward(self, ids: Tensor, types: Tensor, mask: Tensor) -> Tensor:
        places = torch.arange(ids.shape[1])
        value = self.dropout(self.norm(self.words(ids) + self.positions(places) + self.types(types)))
        seen = mask[:, None, None, :].bool()
        for layer in self.layers:
            value = layer(value, seen)
        first: Tensor = self.score(self.dropout(value[:, 0])).squeeze(-1)
        return first

    @classmethod
    def from_weights(cls, folder: Path) -> CrossEncoder:
        """Begin with the weights of a BERT-type sentence encoder."""
        config = json.loads((folder / "config.json").read_bytes())
        model = cls(
            vocabulary=config["vocab_size"],
            hidden=config["hidden_size"],
            heads=config["num_attention_heads"],
            inner=config["intermediate_size"],
            layers=config["num_hidden_layers"],
            positions=config["max_position_embeddings"],
        )
        found = load_file(folder / "model.safetensors")
        prefix = "bert." if any(key.startswith("bert.") for key in found) else ""
        model.load_state_dict({**model.state_dict(), **_renamed(found, prefix, layers=config["num_hidden_layers"])})
        nn.init.normal_(model.score.weight, std=0.02)
        nn.init.zeros_(model.score.bias)
        return model


def _renamed(found: dict[str, Tensor], prefix: str, *, layers: int) -> dict[str, Tensor]:
    def take(name: str) -> Tensor:
        return found[prefix + name]

    renamed = {
        "words.weight": take("embeddings.word_embeddings.weight"),
        "positions.weight": take("embeddings.position_embeddings.weight"),
        "types.weight": take("embeddings.token_type_embeddings.weight"),
    }
    pairs = [("norm", "embeddings.LayerNorm")]
    for number in range(layers):
        base, ours = f"encoder.layer.{number}", f"layers.{number}"
        parts = [f"{base}.attention.self.{part}" for part in ("query", "key", "value")]
        for kind in ("weight", "bias"):
            renamed[f"{ours}.query_key_value.{kind}"] = torch.cat([take(f"{part}.{kind}") for part in parts])
        pairs += [
            (f"{ours}.attention_out", f"{base}.attention.output.dense"),
            (f"{ours}.attention_norm", f"{base}.attention.output.LayerNorm"),
            (f"{ours}.inner", f"{base}.intermediate.dense"),
            (f"{ours}.outer", f"{base}.output.dense"),
            (f"{ours}.norm", f"{base}.output.LayerNorm"),
        ]
    for ours, theirs in pairs:
        for kind in ("weight", "bias"):
            renamed[f"{ours}.{kind}"] = take(f"{theirs}.{kind}")
    return renamed
