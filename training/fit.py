"""Fit the few weights of the evidence model on questions about documents that the cross-encoder never saw.

    python training/fit.py --work DIR [--root ../shared/train]

Asks the held-out questions through the engine itself: of their own document, as they were labelled; and, where they
make sense alone, of all held-out documents together, with and without their own (then nothing answers them). Writes
src/quoth/models/shipped/evidence.json: how far a sentence supports an answer, and how far the quotes answer the
question. A weight of the wrong sign is left out.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jsonl import read
from numpy.typing import NDArray
from prepare import DOCUMENT_SETS, Row, copy_documents, read_rows, touches, unit

from quoth.library import Quoth, ingest_paths
from quoth.models.shipped_models import load_evidence_model
from quoth.overrides import Overrides
from quoth.types import AskResult, Filters, Question

Logistic = dict[str, object]
Array = NDArray[np.float64]

MODELS = Path(__file__).resolve().parents[1] / "src/quoth/models/shipped"
STANDALONE = ("covidqa", "medquad", "pubmedqa_pqal", "selqa", "tatqa", "xquad_en")
"""Sets whose questions name what they are about, so that they can be asked of many documents."""

SIGNS = {"support": 1, "gap": 1, "agreement": 1, "coverage": 1, "missing": -1, "late": 1, "lexical": 1}
RIDGE = 3.0
FIRST: dict[str, Logistic] = {
    "sentence": {"intercept": -4.0, "weights": {"late": 3.0, "lexical": 1.5}},
    "answer": {"intercept": 0.0, "weights": {}},
}


@dataclass(frozen=True)
class Item:
    """A question as it is asked, with its set. `gold` is empty when nothing that may be quoted answers it."""

    set: str
    question: Question
    gold: tuple[tuple[str, int, int], ...]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1].parent / "shared" / "train")
    options = parser.parse_args()
    items = list(held_out(options.root, options.work))
    index = options.work / "indexes" / "held_out"
    ingest_paths([options.work / "held_out"], index, profile="general", overrides=Overrides({}, {}, {}))
    write(FIRST)
    fitted = {**FIRST, "sentence": sentence_model(ask(index, items))}
    write(fitted)
    asked = ask(index, items)
    write({**fitted, "answer": answer_model(asked)})
    print(f"{len(items)} questions; {(MODELS / 'evidence.json').read_text()}")
    return 0


def held_out(root: Path, work: Path) -> Iterator[Item]:
    for name in DOCUMENT_SETS:
        splits = {line["id"]: line["split"] for line in read(work / "data" / f"{name}.jsonl")}
        rows = [row for row in read_rows(root / name / "questions.jsonl") if splits.get(row.id) == "held_out"]
        copy_documents(root / name / "docs", work / "held_out" / name, {doc for row in rows for doc in row.scope})
        for row in rows:
            yield item(name, row, scope=row.scope)
    others = sorted(
        path.relative_to(work / "held_out").as_posix() for path in (work / "held_out").rglob("*") if path.is_file()
    )
    for name in STANDALONE:
        splits = {line["id"]: line["split"] for line in read(work / "data" / f"{name}.jsonl")}
        for row in read_rows(root / name / "questions.jsonl"):
            if splits.get(row.id) != "held_out" or not row.answerable:
                continue
            chance = unit("open", row.id)
            if chance < 0.3:
                yield item(name, row, scope=())
            elif chance < 0.5:
                own = {f"{name}/{doc}" for doc, _, _ in row.gold} | {f"{name}/{doc}" for doc in row.scope}
                away = tuple(doc for doc in others if doc not in own)
                filters = Filters(away, {}, (), None, None)
                yield Item(name, Question(f"{row.id}-away", row.question, filters), ())


def item(name: str, row: Row, *, scope: Sequence[str]) -> Item:
    filters = Filters(tuple(f"{name}/{doc}" for doc in scope), {}, (), None, None)
    gold = tuple((f"{name}/{doc}", start, end) for doc, start, end in row.gold)
    return Item(name, Question(f"{row.id}-{'scoped' if scope else 'open'}", row.question, filters), gold)


def ask(index: Path, items: Sequence[Item]) -> list[tuple[Item, AskResult]]:
    load_evidence_model.cache_clear()
    quoth = Quoth.open(index, settings={"decision.abstain": False})
    return [(one, quoth.explain(one.question)) for one in items]


def sentence_model(asked: Sequence[tuple[Item, AskResult]]) -> Logistic:
    """Each question counts the same, whatever the number of its candidates, and each set the same."""
    sizes = count(one.set for one, _ in asked)
    rows: list[dict[str, float]] = []
    labels: list[bool] = []
    shares: list[float] = []
    for one, answer in asked:
        for ranked in answer.trace.ranked:
            if ranked.support is not None:
                rows.append(dict(ranked.support.features))
                labels.append(touches(ranked.sentence, one.gold))
                shares.append(200 / sizes[one.set] / len(answer.trace.ranked))
    return fit(rows, labels, shares)


def answer_model(asked: Sequence[tuple[Item, AskResult]]) -> Logistic:
    sizes = count(one.set for one, _ in asked)
    found = [(one, answer) for one, answer in asked if answer.trace.confidence.features]
    rows = [dict(answer.trace.confidence.features) for _, answer in found]
    labels = [
        any(touches(quote.sentence, one.gold) for quote in answer.trace.selection.evidence) for one, answer in found
    ]
    return fit(rows, labels, [200 / sizes[one.set] for one, _ in found])


def count(names: Iterator[str]) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for name in names:
        sizes[name] = sizes.get(name, 0) + 1
    return sizes


def fit(rows: Sequence[dict[str, float]], labels: Sequence[bool], shares: Sequence[float]) -> Logistic:
    """Ridge-penalised logistic regression on standardised parts, written for the parts as they come."""
    names = list(rows[0])
    values = np.array([[row[name] for name in names] for row in rows])
    centre, spread = values.mean(axis=0), values.std(axis=0) + 1e-9
    kept = list(range(len(names)))
    while True:
        solved = newton((values[:, kept] - centre[kept]) / spread[kept], np.array(labels, float), np.array(shares))
        wrong = [place for place, at in enumerate(kept) if SIGNS[names[at]] * solved[1 + place] <= 0]
        if not wrong:
            break
        kept = [at for place, at in enumerate(kept) if place not in wrong]
    weights = solved[1:] / spread[kept]
    return {
        "intercept": round(float(solved[0] - weights @ centre[kept]), 4),
        "weights": {names[at]: round(float(weight), 4) for at, weight in zip(kept, weights, strict=True)},
    }


def newton(values: Array, labels: Array, shares: Array) -> Array:
    design = np.c_[np.ones(len(values)), values]
    solved = np.zeros(design.shape[1])
    ridge = RIDGE * np.eye(len(solved))
    ridge[0, 0] = 0.0
    for _ in range(100):
        chance = 1 / (1 + np.exp(-design @ solved))
        slope = design.T @ (shares * (labels - chance)) - ridge @ solved
        curve = (design * (shares * chance * (1 - chance))[:, None]).T @ design + ridge
        step = np.linalg.solve(curve, slope)
        solved += step
        if np.abs(step).max() < 1e-9:
            break
    return solved


def write(fitted: dict[str, Logistic]) -> None:
    (MODELS / "evidence.json").write_text(json.dumps(fitted, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
