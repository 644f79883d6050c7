"""Measure what a log odds of the reader should count for beside one of late interaction, and how many to read.

    python tools/reader_share.py [SET ...] [--root ../shared/eval] [--indexes DIR] [--limit 120] [--reads 16]

Every question is asked once, with `--reads` candidates read. The sums are then made again for each share and number of
candidates: hit@1 of the best, and the AUROC of its sum, right from wrong, over sets that count the same. Late
interaction alone is the share 0. `READER_SHARE` in training/fit.py and `rerank.reads` rest on such a table.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from quoth.evaluation.labelled_questions import LabelledQuestion, first_ranks, read_labelled
from quoth.evaluation.measures import auroc
from quoth.library import Quoth, ingest_paths
from quoth.models.shipped_models import load_evidence_model
from quoth.overrides import Overrides
from quoth.types import Ranked

ROOT = Path(__file__).resolve().parents[1]
PROFILES = {"agriculture": "agriculture", "irrigation": "agriculture"}
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 3.0)


@dataclass(frozen=True, slots=True)
class Read:
    """A candidate as late interaction and the reader judge it."""

    late: float
    reader: float
    right: bool


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=["agriculture", "irrigation", "contracts", "nda", "encyclopedia"])
    parser.add_argument("--root", type=Path, default=ROOT.parent / "shared" / "eval")
    parser.add_argument("--indexes", type=Path, default=Path(tempfile.gettempdir()) / "quoth-measure")
    parser.add_argument("--limit", type=int, default=120, help="so many questions of each set, spread over it")
    parser.add_argument("--reads", type=int, default=16, help="how many candidates are read at most")
    options = parser.parse_args()
    asked: dict[str, list[list[Read]]] = {}
    for name in options.sets:
        items = read_labelled(options.root / name / "questions.jsonl")
        spread = items[:: max(1, len(items) // options.limit)]
        index = options.indexes / name
        documents = [options.root / name / "docs"]
        ingest_paths(documents, index, profile=PROFILES.get(name, "general"), overrides=Overrides({}, {}, {}))
        asked[name] = read_all(index, spread, reads=options.reads)
        print(f"{name}: {len(spread)} questions", file=sys.stderr, flush=True)
    print_table(asked, most=options.reads)
    return 0


def read_all(index: Path, items: Sequence[LabelledQuestion], *, reads: int) -> list[list[Read]]:
    """Return for each question its candidates as they are read, the best of late interaction first."""
    quoth = Quoth.open(index, settings={"decision.abstain": False, "rerank.reads": reads})
    model = load_evidence_model("late").sentence
    asked = []
    for item in items:
        found = [ranked for ranked in quoth.explain(item.question).trace.ranked if ranked.support is not None]
        read = [read_of(ranked, item, late=model.log_odds(features_of(ranked))) for ranked in found]
        asked.append(sorted(read, key=lambda one: -one.late))
    return asked


def features_of(ranked: Ranked) -> dict[str, float]:
    return dict(ranked.support.features) if ranked.support else {}


def read_of(ranked: Ranked, item: LabelledQuestion, *, late: float) -> Read:
    place = ranked.sentence.doc_id, ranked.sentence.quote.span
    return Read(late, features_of(ranked)["reader"], any(first_ranks([place], item.gold)))


def print_table(asked: dict[str, list[list[Read]]], *, most: int) -> None:
    print("| read | share | hit@1 | AUROC | " + " | ".join(f"{name}: hit@1, AUROC" for name in asked) + " |")
    print("|---|---|---|---|" + "---|" * len(asked))
    for reads in sorted({4, 8, 12, most}):
        for share in SHARES:
            figures = [figures_of(of_set, reads=reads, share=share) for of_set in asked.values()]
            hit, area = (float(np.mean([figure[place] for figure in figures])) for place in (0, 1))
            sets = " | ".join(f"{one:.3f}, {other:.3f}" for one, other in figures)
            print(f"| {reads} | {share} | {hit:.3f} | {area:.3f} | {sets} |")


def figures_of(asked: Sequence[Sequence[Read]], *, reads: int, share: float) -> tuple[float, float]:
    """Return hit@1 of the questions whose answer was found at all, and the AUROC of the best sum."""
    best = [
        max(((one.late + share * one.reader, one.right) for one in found[:reads]), default=(-20.0, False))
        for found in asked
    ]
    sums, right = np.array([total for total, _ in best]), np.array([is_best_right for _, is_best_right in best])
    found = [any(one.right for one in candidates) for candidates in asked]
    return float(right[found].mean()), float(auroc(sums, right, np.ones((1, len(right))))[0])


if __name__ == "__main__":
    sys.exit(main())
