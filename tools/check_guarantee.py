"""Check by experiment what `quoth calibrate` promises, on question sets with gold and on made-up questions.

    python tools/check_guarantee.py --indexes DIR [--root ../shared/eval] [--work DIR] [--splits 1000] [--fresh]

Every question is asked once, with no threshold in force; what came of it is kept in `--work` and used again unless
`--fresh` is given. Then, for each set and each promise (risk, confidence):

splits    A random half of the groups is calibrated with, the other half is the future. Shown: how often a threshold
          was certified, and the share of the other half that it answers; then how often more than the risk is wrong
          of what it answers
            in the whole set (`broken`: taking the set for all questions there are, this is the promise itself),
            in the other half (`above`: a noisy estimate, which is often above a true share that is not), and
            in the other half by so much that a true share at the risk shows it in one case of twenty (`clearly
            above`: to be expected in at most 1 - confidence + 5%).
known     The set stands for all questions there are, so that the true share at a threshold is known. As many questions
          as half of it are drawn with replacement, one by one or by groups, and calibrated with. Shown: how often
          something is certified, and how often the true share is above the risk.
made up   The same with confidences and risks from a formula.
map       The expected calibration error on the other half, before and after the map, and what a map without any fault
          would show on so few questions.

Where `told` is no, the calibration takes the questions for drawn one by one; where they come in groups, the promise may
then be broken. Where it is yes, it knows the groups, as with `--group-by`, and the promise must hold.

Groups are the documents that a question is about, or its words. `agriculture` and `irrigation` share questions and
count as one set, grouped by both at once.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import product
from pathlib import Path

import numpy as np

from quoth.answer.calibration import calibrated
from quoth.evaluation.calibrate import fit_map, trials_of, without_threshold
from quoth.evaluation.certification import CalibrationTrial, ThresholdTest, binomial_tail, certify
from quoth.evaluation.judgements import judge_each
from quoth.evaluation.labelled_questions import linked_groups, read_labelled
from quoth.evaluation.measures import calibration_error
from quoth.library import Quoth
from quoth.overrides import Overrides
from quoth.settings import CalibrationSettings
from quoth.wiring import open_store

SETS = {
    "agriculture + irrigation": ("agriculture", "irrigation"),
    "contracts": ("contracts",),
    "nda": ("nda",),
    "encyclopedia": ("encyclopedia",),
}
PROMISES = ((0.05, 0.95), (0.10, 0.90), (0.20, 0.95), (0.30, 0.90))
CLEARLY = 0.05
SEED = 7
MADE_UP = 4_000
"""Repetitions with made-up questions: they cost little, and their truth is known exactly."""
MAP_SPLITS = 200


@dataclass(frozen=True)
class Asked:
    """A question with what came of it; `documents` are those it is about, as far as that is known."""

    text: str
    documents: tuple[str, ...]
    trial: CalibrationTrial


def main() -> int:
    options = _options()
    options.work.mkdir(parents=True, exist_ok=True)
    sets = {name: [one for part in parts for one in asked(part, options)] for name, parts in SETS.items()}
    print_sets(sets)
    print_splits(sets, options.splits)
    print_known(sets, options.splits)
    print_made_up()
    print_map(sets)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    default = Path(__file__).resolve().parents[1].parent / "shared" / "eval"
    parser.add_argument("--root", type=Path, default=default, help="holds a folder with questions.jsonl for each set")
    parser.add_argument("--indexes", type=Path, required=True, help="holds an index for each set")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "quoth-guarantee")
    parser.add_argument("--splits", type=int, default=1_000)
    parser.add_argument("--fresh", action="store_true", help="ask the questions again")
    return parser.parse_args()


def asked(name: str, options: argparse.Namespace) -> list[Asked]:
    """Every question of a set with what came of it, from the work folder when it is there."""
    kept = options.work / f"{name}.json"
    if options.fresh or not kept.is_file():
        kept.write_text(json.dumps([asdict(one) for one in ask(name, options)]), encoding="utf-8")
    rows = json.loads(kept.read_text(encoding="utf-8"))
    return [Asked(row["text"], tuple(row["documents"]), CalibrationTrial(**row["trial"])) for row in rows]


def ask(name: str, options: argparse.Namespace) -> Iterator[Asked]:
    print(f"asking the questions of {name}", file=sys.stderr)
    given = Overrides({}, {}, {"embedding.threads": "1"})
    store = open_store(options.indexes / name, given.without_profile().store)
    quoth = Quoth(store, without_threshold(given, Quoth(store, given).circumstances()))
    items = read_labelled(options.root / name / "questions.jsonl")
    trials = trials_of(judge_each(quoth, items, progress=None))
    for item, trial in zip(items, trials, strict=True):
        about = item.question.filters.doc_ids or tuple(sorted({gold.doc_id for gold in item.gold}))
        yield Asked(" ".join(item.question.text.casefold().split()), tuple(f"{name}/{one}" for one in about), trial)


def groupings(name: str, rows: Sequence[Asked]) -> dict[str, list[list[CalibrationTrial]]]:
    """The trials of a set in groups that are never torn apart, by each way of grouping that suits it."""
    texts = [(f"text {row.text}",) for row in rows]
    documents = [tuple(f"document {one}" for one in row.documents) or (f"alone {row.text}",) for row in rows]
    if name == "agriculture + irrigation":
        both = [(*text, *about) for text, about in zip(texts, documents, strict=True)]
        return {"text and document": grouped(rows, both)}
    return {"document": grouped(rows, documents), "text": grouped(rows, texts)}


def grouped(rows: Sequence[Asked], keys: Sequence[Sequence[str]]) -> list[list[CalibrationTrial]]:
    """Rows that share a key, directly or through others, in one group."""
    groups: dict[str, list[CalibrationTrial]] = {}
    for row, group in zip(rows, linked_groups(keys), strict=True):
        groups.setdefault(group, []).append(row.trial)
    return list(groups.values())


def print_sets(sets: Mapping[str, Sequence[Asked]]) -> None:
    print("| set | questions | answered without a threshold | wrong among them | groups |")
    print("|---|---|---|---|---|")
    for name, rows in sets.items():
        answered = [row.trial for row in rows if row.trial.answered]
        wrong = sum(one.wrong for one in answered) / len(answered)
        counts = ", ".join(f"{len(groups)} by {way}" for way, groups in groupings(name, rows).items())
        print(f"| {name} | {len(rows)} | {len(answered)} | {wrong:.1%} | {counts} |")


def print_splits(sets: Mapping[str, Sequence[Asked]], splits: int) -> None:
    print(f"\nsplits ({splits} for each line)\n")
    print("| set | groups | told | risk | promised at most | certified | answered | broken | above | clearly above |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, rows in sets.items():
        for way, groups in groupings(name, rows).items():
            for risk, confidence in PROMISES:
                for aware in (False, True):
                    figures = split_figures(groups, risk, confidence, splits=splits, aware=aware)
                    shares = " | ".join(f"{one:.1%}" for one in figures)
                    known = "yes" if aware else "no"
                    print(f"| {name} | {way} | {known} | {risk:g} | {1 - confidence:.0%} | {shares} |", flush=True)


def split_figures(
    groups: Sequence[Sequence[CalibrationTrial]], risk: float, confidence: float, *, splits: int, aware: bool
) -> tuple[float, float, float, float, float]:
    """Shares of all splits: certified, answered of the other half, broken, above the risk, clearly above it."""
    generator = _dice()
    certified = broken = above = clearly = 0
    coverage = 0.0
    whole = _joined(groups, range(len(groups)))
    for _ in range(splits):
        order = generator.sample(range(len(groups)), len(groups))
        half = len(groups) // 2
        trials, names = _joined(groups, order[:half]), _names(groups, order[:half])
        best = certify(trials, risk=risk, confidence=confidence, groups=names if aware else None).best
        if best is None:
            continue
        future = _joined(groups, order[half:])
        answered, wrong = counts_at(best.threshold, future)
        certified += 1
        coverage += answered / len(future)
        above += wrong > risk * answered
        broken += true_share(best, whole) > risk
        # As many wrong answers or more, at a true share that is just at the risk.
        clearly += answered > 0 and binomial_tail(answered - wrong, answered, 1 - risk) <= CLEARLY
    return certified / splits, coverage / splits, broken / splits, above / splits, clearly / splits


def _dice() -> random.Random:
    return random.Random(SEED)


def _joined(groups: Sequence[Sequence[CalibrationTrial]], chosen: Sequence[int]) -> list[CalibrationTrial]:
    return [trial for place in chosen for trial in groups[place]]


def _names(groups: Sequence[Sequence[CalibrationTrial]], chosen: Sequence[int]) -> list[str]:
    """The group of each of the joined trials; a group that is drawn twice counts as two."""
    return [f"{place}" for place, group in enumerate(chosen) for _ in groups[group]]


def counts_at(threshold: float, trials: Sequence[CalibrationTrial]) -> tuple[int, int]:
    """How many are answered at a threshold, and how many of those wrongly."""
    answered = [one for one in trials if one.answered and one.confidence >= threshold]
    return len(answered), sum(one.wrong for one in answered)


def true_share(step: ThresholdTest, whole: Sequence[CalibrationTrial]) -> float:
    """The share of wrong answers at a threshold if these were all questions there are."""
    answered, wrong = counts_at(step.threshold, whole)
    return wrong / answered


def print_known(sets: Mapping[str, Sequence[Asked]], draws: int) -> None:
    print(f"\nknown truth ({draws} draws for each figure)\n")
    print("| set | drawn by | told | risk | promised at most | certified | broken |")
    print("|---|---|---|---|---|---|---|")
    for name, rows in sets.items():
        ways = {"question": [[row.trial] for row in rows], **groupings(name, rows)}
        for (way, groups), (risk, confidence) in product(ways.items(), PROMISES):
            for aware in (False, True) if way != "question" else (False,):
                certified, broken = known_figures(groups, risk, confidence, draws=draws, aware=aware)
                known = "yes" if aware else "no"
                shares = f"{1 - confidence:.0%} | {certified:.1%} | {broken:.1%}"
                print(f"| {name} | {way} | {known} | {risk:g} | {shares} |", flush=True)


def known_figures(
    groups: Sequence[Sequence[CalibrationTrial]], risk: float, confidence: float, *, draws: int, aware: bool
) -> tuple[float, float]:
    """How often something is certified, and how often its true share of wrong answers is above the risk."""
    generator = _dice()
    whole = _joined(groups, range(len(groups)))

    def draw() -> ThresholdTest | None:
        drawn = generator.choices(range(len(groups)), k=len(groups) // 2)
        names = _names(groups, drawn) if aware else None
        return certify(_joined(groups, drawn), risk=risk, confidence=confidence, groups=names).best

    return drawn_figures(draw, lambda step: true_share(step, whole) > risk, draws=draws)


def drawn_figures(
    draw: Callable[[], ThresholdTest | None], broken: Callable[[ThresholdTest], bool], *, draws: int
) -> tuple[float, float]:
    """How often a draw certifies something, and how often that breaks the promise."""
    certified = [step for _ in range(draws) if (step := draw()) is not None]
    return len(certified) / draws, sum(map(broken, certified)) / draws


def print_made_up() -> None:
    """Confidences spread evenly over 0 to 1; how often an answer is wrong is a function of its confidence."""
    print(f"\nmade up ({MADE_UP} draws for each line; the true share is known exactly)\n")
    print("| wrong answers | questions | risk | promised at most | certified | above |")
    print("|---|---|---|---|---|---|")
    shapes: dict[str, Callable[[float, float], float]] = {
        "just above the risk at every confidence": lambda _, risk: risk + 1e-6,
        "fewer the higher the confidence": lambda confidence, _: (1 - confidence) ** 2,
        "more the higher the confidence": lambda confidence, _: 0.8 * confidence**2,
        "many at the very top": lambda confidence, _: 0.6 if confidence > 0.9 else 0.04,
    }
    for words, shape in shapes.items():
        for risk, confidence in ((0.05, 0.95), (0.1, 0.9)):
            for questions in (200, 1_000):
                certified, above = made_up_figures(shape, risk, confidence, questions=questions)
                promised = f"{risk:g} | {1 - confidence:.0%}"
                print(f"| {words} | {questions} | {promised} | {certified:.1%} | {above:.1%} |", flush=True)


def made_up_figures(
    shape: Callable[[float, float], float], risk: float, confidence: float, *, questions: int
) -> tuple[float, float]:
    generator = _dice()

    def draw() -> ThresholdTest | None:
        scores = [generator.random() for _ in range(questions)]
        trials = [
            CalibrationTrial(score, answered=True, wrong=generator.random() < shape(score, risk)) for score in scores
        ]
        return certify(trials, risk=risk, confidence=confidence).best

    @cache
    def mean_share(threshold: float) -> float:
        return float(np.mean([shape(float(place), risk) for place in np.linspace(threshold, 1, 20_001)]))

    return drawn_figures(draw, lambda step: mean_share(step.threshold) > risk, draws=MADE_UP)


def print_map(sets: Mapping[str, Sequence[Asked]]) -> None:
    print(f"\nmap ({MAP_SPLITS} splits for each line): expected calibration error on the other half\n")
    print("| set | groups | before | after | without any fault |")
    print("|---|---|---|---|---|")
    for name, rows in sets.items():
        for way, groups in groupings(name, rows).items():
            print(f"| {name} | {way} | " + " | ".join(f"{one:.3f}" for one in map_figures(groups)) + " |", flush=True)


def map_figures(groups: Sequence[Sequence[CalibrationTrial]]) -> tuple[float, float, float]:
    """The mean error of the raw confidences, of the mapped ones, and of mapped ones whose outcomes obey them."""
    generator = _dice()
    errors = []
    for _ in range(MAP_SPLITS):
        order = generator.sample(range(len(groups)), len(groups))
        half = len(groups) // 2
        slope, intercept = fit_map(_joined(groups, order[:half]))
        settings = CalibrationSettings(threshold=0.0, slope=slope, intercept=intercept)
        future = _joined(groups, order[half:])
        right = np.array([not one.wrong for one in future])
        raw = [one.confidence for one in future]
        mapped = [calibrated(one, settings) for one in raw]
        obeying = np.array([generator.random() < one for one in mapped])
        errors.append([_error(raw, right), _error(mapped, right), _error(mapped, obeying)])
    before, after, least = np.mean(errors, axis=0)
    return float(before), float(after), float(least)


def _error(confidences: Sequence[float], right: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> float:
    count = len(confidences)
    faults = np.zeros(count, dtype=np.bool_)
    return float(calibration_error(np.array(confidences), right, faults, weights=np.ones((1, count)))[0])


if __name__ == "__main__":
    raise SystemExit(main())
