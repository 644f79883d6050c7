"""Measure full text alone on question sets in several languages: how often its best sentences hold a gold span.

    python tools/full_text_recall.py [SET ...] [--root ../shared/eval/languages] [--indexes DIR] [--limit N]

Each set is a folder with `docs/` and `questions.jsonl`. Recall counts the answerable questions of which one of the
first 1, 10 and 20 sentences by full text overlaps a gold span. The time is the median of whole questions, without a
reader or vectors. Indexes are kept in --indexes, and made again only where documents changed.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from quoth.evaluation.labelled_questions import LabelledQuestion, read_labelled
from quoth.library import Quoth, ingest_paths
from quoth.overrides import NO_OVERRIDES
from quoth.types import Sentence

ROOT = Path(__file__).resolve().parents[2] / "shared" / "eval" / "languages"
SETTINGS = {
    "retrieval.mode": "lexical",
    "retrieval.candidates": 20,
    "rerank.kind": "none",
    "cache.memory_mb": 0,
}
AT = (1, 10, 20)


def main() -> int:
    options = _options()
    sets = options.sets or sorted(folder.name for folder in options.root.glob("*/") if (folder / "docs").is_dir())
    if not sets:
        print(f"{options.root} holds no sets: pass the folder that does with --root", file=sys.stderr)
        return 1
    for name in sets:
        print(_measured(options.root / name, options.indexes / name, options.limit), flush=True)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--root", type=Path, default=ROOT)
    parser.add_argument("--indexes", type=Path, default=Path(tempfile.gettempdir()) / "quoth-full-text")
    parser.add_argument("--limit", type=int, help="only so many questions of each set")
    return parser.parse_args()


def _measured(folder: Path, index: Path, limit: int | None) -> str:
    started = time.perf_counter()
    ingest_paths([folder / "docs"], index, profile="general", overrides=NO_OVERRIDES)
    ingest = time.perf_counter() - started
    items = [item for item in read_labelled(folder / "questions.jsonl") if item.answerable][:limit]
    quoth = Quoth.open(index, settings=SETTINGS)
    ranks, times = [], []
    for item in items:
        started = time.perf_counter()
        fused = quoth.explain(item.question).trace.fused
        times.append(time.perf_counter() - started)
        ranks.append(next(_gold_ranks([ranked.sentence for ranked in fused], item), None))
    shares = (f"@{at} {sum(rank is not None and rank <= at for rank in ranks) / len(items):.3f}" for at in AT)
    middle = statistics.median(times) * 1_000
    return f"{folder.name:<12} {'  '.join(shares)}  {len(items)} questions, {middle:.1f} ms each; ingest {ingest:.1f} s"


def _gold_ranks(found: list[Sentence], item: LabelledQuestion) -> Iterator[int]:
    golds = [(gold.doc_id, span) for gold in item.gold for span in gold.spans]
    for rank, sentence in enumerate(found, 1):
        own = sentence.quote.span
        if any(doc_id == sentence.doc_id and at.start < own.end and own.start < at.end for doc_id, at in golds):
            yield rank


if __name__ == "__main__":
    raise SystemExit(main())
