"""Fit the projection and the quantiser of the token vectors on sentences of the training sets.

    python training/projection.py --work DIR

Writes src/quoth/models/shipped/token_projection.npz: the 64 directions that keep most of the token vectors' products
(uncentred, since it is products that are compared), and for each the range that 4 bits cover.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

import numpy as np
from jsonl import read

from quoth.models.onnx_graph import verified_sha256
from quoth.models.shipped_models import LEVELS
from quoth.models.weights import find_weights
from quoth.settings import EmbeddingSettings
from quoth.wiring import open_embedder

SETS = (
    "covidqa",
    "doqa",
    "fairytaleqa",
    "iirc_pairs",
    "pubmedqa_pqal",
    "qamr",
    "qasper_paragraphs",
    "scitail",
    "selqa",
    "tatqa",
)
SENTENCES = 8_000
DIMENSIONS = 64
CUT = 0.005
"""The share of values beyond each end of the range."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    options = parser.parse_args()
    texts = sentences(options.work)
    embedder = open_embedder(EmbeddingSettings())
    vectors = np.concatenate([embedder.token_vectors(text) for text in texts])  # type: ignore[attr-defined]
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    values, directions = np.linalg.eigh((vectors.T @ vectors).astype(np.float64))
    projection = directions[:, ::-1][:, :DIMENSIONS].astype(np.float32)
    reduced = vectors @ projection
    reduced /= np.linalg.norm(reduced, axis=1, keepdims=True)
    low, high = np.quantile(reduced, [CUT, 1 - CUT], axis=0).astype(np.float32)
    weights = find_weights("all-MiniLM-L6-v2", path=None, allow_download=False)
    target = Path(__file__).resolve().parents[1] / "src/quoth/models/shipped/token_projection.npz"
    target.parent.mkdir(exist_ok=True)
    np.savez(
        target,
        projection=projection,
        low=low,
        step=(high - low) / (LEVELS - 1),
        made_for=np.array(verified_sha256(weights)),
    )
    kept = values[::-1][:DIMENSIONS].sum() / values.sum()
    print(f"{len(texts)} sentences, {len(vectors)} tokens; {DIMENSIONS} dimensions keep {kept:.1%}")
    return 0


def sentences(work: Path) -> list[str]:
    """The same number of training sentences from every set."""
    chance = random.Random(1)
    chosen: list[str] = []
    for name in SETS:
        found = {one["text"] for line in read(work / "data" / f"{name}.jsonl") for one in line["candidates"]}
        chosen += chance.sample(sorted(found), min(len(found), SENTENCES // len(SETS)))
    return chosen


if __name__ == "__main__":
    sys.exit(main())
