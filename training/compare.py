"""Does the cross-encoder rank and doubt better than late interaction alone? On sets whose domains it never saw.

    python training/compare.py --model DIR/others --indexes DIR [SET ...] [--root ../shared/eval] [--limit 150]

For each question the ten best candidates by the evidence reranker are read by the cross-encoder. Prints for late
interaction, the cross-encoder and their sum (in log odds, with several weights): hit@1, AUROC of the score of the best
candidate (right against wrong), and coverage at 20% risk.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from network import CrossEncoder
from numpy.typing import NDArray
from pairs import encode_pair
from prepare import touches
from safetensors.torch import load_file
from tokenizers import Tokenizer

from quoth.calibration import log_odds
from quoth.evaluation.questions import Labelled, read_labelled
from quoth.interfaces.python import Quoth
from quoth.providers.weights import find_weights

WEIGHTS = (0.1, 0.2, 0.3, 0.5, 1.0)
BEST = 10

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Read:
    """The candidates of one question: their scores by both ways, and which of them touch gold."""

    late: Array
    cross: Array
    right: NDArray[np.bool_]
    answerable: bool


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=["agriculture", "irrigation", "contracts", "nda", "encyclopedia"])
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--indexes", type=Path, required=True, help="one index for each set, by its name")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1].parent / "shared" / "eval")
    parser.add_argument("--limit", type=int, default=150, help="questions of each set, chosen by a seed")
    options = parser.parse_args()
    torch.set_num_threads(1)
    weights = find_weights("all-MiniLM-L6-v2", path=None, allow_download=False)
    model = CrossEncoder.from_weights(weights.directory)
    model.load_state_dict(load_file(options.model / "model.safetensors"))
    model.eval()
    tokenizer = Tokenizer.from_file(str(weights.tokenizer))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    for name in options.sets:
        items = list(read_labelled(options.root / name / "questions.jsonl"))
        random.Random(1).shuffle(items)
        quoth = Quoth.open(options.indexes / name, settings={"decision.abstain": False})
        read = [one for item in items[: options.limit] if (one := read_closely(item, quoth, model, tokenizer))]
        print_set(name, read)
    return 0


def read_closely(item: Labelled, quoth: Quoth, model: CrossEncoder, tokenizer: Tokenizer) -> Read | None:
    trace = quoth.explain(item.question).trace
    best = sorted(trace.ranked, key=lambda one: -one.relevance)[:BEST]
    if not best:
        return None
    gold = tuple((one.doc_id, span.start, span.end) for one in item.gold for span in (one.span, *one.alternatives))
    scores = []
    with torch.no_grad():
        for one in best:
            ids, types = encode_pair(tokenizer, trace.analysis.search_text, one.sentence.search_text, context="")
            scores.append(model(torch.tensor([ids]), torch.tensor([types]), torch.ones(1, len(ids))).item())
    return Read(
        np.array([log_odds(one.relevance) for one in best]),
        np.array(scores),
        np.array([touches(one.sentence, gold) for one in best]),
        item.answerable,
    )


def print_set(name: str, read: Sequence[Read]) -> None:
    print(f"{name}: {len(read)} questions")
    ways = {"late": (1.0, 0.0), "cross": (0.0, 1.0), **{f"late + {w} cross": (1.0, w) for w in WEIGHTS}}
    for label, (late, cross) in ways.items():
        chosen = [(late * one.late + cross * one.cross) for one in read]
        best = [int(np.argmax(scores)) for scores in chosen]
        right = np.array([one.right[at] for one, at in zip(read, best, strict=True)])
        sure = np.array([scores[at] for scores, at in zip(chosen, best, strict=True)])
        hits = right[[one.answerable for one in read]].mean()
        print(
            f"  {label:<16} hit@1 {hits:.3f}  AUROC {auroc(sure, right):.3f}  coverage@20% {coverage(sure, right):.3f}"
        )


def auroc(sure: Array, right: NDArray[np.bool_]) -> float:
    above = (sure[right][:, None] > sure[~right][None, :]).mean()
    return float(above + 0.5 * (sure[right][:, None] == sure[~right][None, :]).mean())


def coverage(sure: Array, right: NDArray[np.bool_], risk: float = 0.2) -> float:
    wrong = ~right[np.argsort(-sure, kind="stable")]
    fine = np.flatnonzero(np.cumsum(wrong) <= risk * np.arange(1, len(wrong) + 1))
    return float((fine[-1] + 1) / len(wrong)) if len(fine) else 0.0


if __name__ == "__main__":
    sys.exit(main())
