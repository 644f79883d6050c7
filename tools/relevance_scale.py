"""Fit the scales that bring each scorer's scores of passages to one relevance, from questions with gold spans.

    python tools/relevance_scale.py [SET ...] [--root ../shared/train] [--work DIR] [--documents 150] [--write]

A scale is logistic(slope * score + intercept), laid through two points of the scores of passages that hold the answer:
90% of them shall reach 0.5, and 98% shall reach 0.3. Each set counts the same, whatever its size. The sets are those
that models are fitted on; none of the sets that quality is measured on is among them. `--write` replaces the file that
ships.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quoth.evaluation.labelled_questions import LabelledQuestion, read_labelled, touches
from quoth.library import ingest_paths
from quoth.overrides import NO_OVERRIDES, Overrides
from quoth.passages.passage_builder import gather
from quoth.protocols import Reader
from quoth.search.engine import Engine
from quoth.search.hybrid_search import hybrid_search
from quoth.search.question_analysis import analyse
from quoth.settings import Settings
from quoth.wiring import engine_for, open_store

SETS = ("cuad_other", "covidqa", "doqa", "fairytaleqa", "medquad", "selqa", "squad2_rhine", "tatqa", "xquad_en")
SCORERS: Mapping[str, Mapping[str, str]] = {
    "late": {"rerank.kind": "late"},
    "cosine": {"rerank.kind": "cosine"},
    "none": {"rerank.kind": "none"},
    "lexical": {"rerank.kind": "none", "retrieval.mode": "lexical"},
}
"""Who has the last word on the scores, and the settings that make it so; `lexical` when no vector can be had."""
POINTS = ((0.10, 0.5), (0.02, 0.3))
"""Share of the right passages that score lower, and the relevance that such a score shall have."""
TARGET = Path(__file__).resolve().parents[1] / "src/quoth/models/shipped/relevance.json"


def main() -> int:
    options = _options()
    scores: dict[str, list[NDArray[np.float64]]] = {name: [] for name in SCORERS}
    for name in options.sets:
        folder = options.root / name
        if not (folder / "questions.jsonl").is_file():
            print(f"{folder} has no questions.jsonl: pass the folder that holds the sets with --root", file=sys.stderr)
            return 1
        for scorer, found in measure(folder, options).items():
            scores[scorer].append(found)
            low, high = np.quantile(found, [0.02, 0.10])
            print(f"{name:<14} {scorer:<9} {len(found):>4} right passages, 2% below {low:.3f}, 10% below {high:.3f}")
    fitted = {name: fit(found) for name, found in scores.items()}
    print(json.dumps(fitted, indent=1))
    if options.write:
        TARGET.write_text(json.dumps({"embedded": fitted}, indent=1) + "\n", encoding="utf-8")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1].parent / "shared" / "train")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "quoth-relevance")
    parser.add_argument("--documents", type=int, default=150, help="the first so many of each set, by name")
    parser.add_argument("--characters", type=int, default=1_000_000, help="and at most so many characters of them")
    parser.add_argument("--questions", type=int, default=200, help="of each set")
    parser.add_argument("--write", action="store_true")
    return parser.parse_args()


def measure(folder: Path, options: argparse.Namespace) -> dict[str, NDArray[np.float64]]:
    """For each scorer, the scores of the best passage that holds the answer, one for each question that found one."""
    paths = _documents(folder / "docs", options)
    index = options.work / folder.name
    ingest_paths(paths, index, profile="general", overrides=NO_OVERRIDES)
    with open_store(index, Settings().store).read() as reader:
        known = {info.id for info in reader.documents()}
        items = [
            one
            for one in read_labelled(folder / "questions.jsonl")
            if one.answerable and all(gold.doc_id in known for gold in one.gold)
        ]
        chosen = items[:: max(1, len(items) // options.questions)][: options.questions]
        found = {}
        for name, values in SCORERS.items():
            engine = engine_for(reader.info, Overrides({}, {}, values), store="embedded")
            right = [_right(one, reader, engine) for one in chosen]
            found[name] = np.array([score for score in right if score is not None])
    return found


def _documents(folder: Path, options: argparse.Namespace) -> list[Path]:
    chosen, characters = [], 0
    for path in sorted(one for one in folder.rglob("*") if one.is_file())[: options.documents]:
        characters += path.stat().st_size
        if characters <= options.characters:
            chosen.append(path)
    return chosen


def _right(item: LabelledQuestion, reader: Reader, engine: Engine) -> float | None:
    """The score of the best passage that touches the gold, among those that a retrieval would look at."""
    analysis = analyse(item.question, profile=engine.profile, settings=engine.settings.retrieval)
    found = hybrid_search(analysis, reader=reader, engine=engine, topk=2 * engine.settings.retrieval.candidates)
    for one in gather(found.ranked, reader)[: engine.settings.rerank.topk]:
        place = (one.passage.doc_id, one.passage.span)
        if any(touches(place, gold) for gold in item.gold):
            return one.sentences[0].relevance
    return None


def fit(scores: list[NDArray[np.float64]]) -> dict[str, float]:
    """A scale through both points of the sets' scores, each set weighed the same."""
    everything = np.concatenate(scores)
    weights = np.concatenate([np.full(len(one), 1 / len(one)) for one in scores])
    order = np.argsort(everything)
    shares = np.cumsum(weights[order]) / weights.sum()
    (share, relevance), (other_share, other_relevance) = POINTS
    high = float(everything[order][np.searchsorted(shares, share)])
    low = float(everything[order][np.searchsorted(shares, other_share)])
    slope = (_logit(relevance) - _logit(other_relevance)) / (high - low)
    return {"slope": round(slope, 4), "intercept": round(_logit(relevance) - slope * high, 4)}


def _logit(probability: float) -> float:
    return math.log(probability / (1 - probability))


if __name__ == "__main__":
    sys.exit(main())
