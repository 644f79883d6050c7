"""Time late interaction beside the embedding of the question itself, in one process on one core.

    python tools/late_speed.py INDEX QUESTIONS [--limit 100]

For each question: embed it, search, and compare its tokens with those of every candidate. Prints the median of each
and its ratio to the first, which says more than the times on a machine that others use. Run it under `taskset -c 0`.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from pathlib import Path

from quoth.evaluation.labelled_questions import read_labelled
from quoth.models.shipped_models import load_evidence_model
from quoth.search.hybrid_search import token_weights
from quoth.search.reranking import LateReranker
from quoth.settings import EmbeddingSettings, StoreSettings
from quoth.types import EncodedQuestion, Query
from quoth.wiring import open_embedder, open_store


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--limit", type=int, default=100)
    options = parser.parse_args()
    embedder = open_embedder(EmbeddingSettings(threads=1))
    reranker = LateReranker(load_evidence_model("late").sentence)
    times: dict[str, list[float]] = {"embed": [], "weights": [], "search": [], "rerank": []}
    counts = []
    with open_store(options.index, StoreSettings()).read() as reader:
        for item in read_labelled(options.questions)[: options.limit]:
            text = item.question.text
            marks = [time.perf_counter()]
            vector, tokens = embedder.embed_question(text)
            marks.append(time.perf_counter())
            weights = token_weights(text, tokens, reader)
            marks.append(time.perf_counter())
            terms = tuple((word,) for word in text.split())
            found = reader.search(Query(vector, terms, 50, item.question.filters))
            marks.append(time.perf_counter())
            reranker.score(EncodedQuestion(text, vector, tokens, weights), found.items)
            marks.append(time.perf_counter())
            counts.append(len(found.items))
            for name, start, end in zip(times, marks, marks[1:], strict=False):
                times[name].append(1000 * (end - start))
        many = statistics.median(counts)
        print(f"{reader.info.sentences} sentences, {many:.0f} candidates (medians of {len(counts)} questions)")
    for name, values in times.items():
        ratio = statistics.median(values) / statistics.median(times["embed"])
        print(f"{name:<8} {statistics.median(values):6.2f} ms  {ratio:.2f} x embed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
