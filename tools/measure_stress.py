"""Ask the sample corpora what they do not answer: their questions, changed in one thing.

    python tools/measure_stress.py [--indexes DIR] [--list] [--let-through]

Prints for each kind of change how many questions were refused, with the default settings of the corpus's profile. Below
stand how many of the unchanged questions were refused, and of what their evidence states, asked back as it stands: both
should be few. `--list` prints the changed questions instead, for reading; `--let-through` also prints those on which
the decision was wrong.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from pathlib import Path

from quoth.evaluation.labelled_questions import read_labelled
from quoth.library import Quoth
from quoth.types import Abstention, Answer
from stress.stress_set import Stressed, is_refused, read_plan, stress_set, true_premises
from stress.swap import SwapKind

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
CORPORA = ("agriculture", "governance")


def main() -> int:
    options = _options()
    refused: Counter[tuple[str, str]] = Counter()
    totals: Counter[tuple[str, str]] = Counter()
    for corpus in CORPORA:
        made = stressed(corpus)
        if options.list:
            print("\n".join(f"{one.labelled.question.id}\t{one.labelled.question.text}" for one in made))
            continue
        quoth = Quoth.build(EXAMPLES / corpus, index=options.indexes / corpus, profile=corpus)
        for one in made:
            outcome = quoth.ask(one.labelled.question)
            totals[corpus, one.kind] += 1
            refused[corpus, one.kind] += is_refused(one, outcome)
            if options.let_through and not is_refused(one, outcome):
                print(f"{one.labelled.question.id}\t{outcome.confidence:.2f}\t{one.labelled.question.text}")
        items = read_labelled(EXAMPLES / corpus / "questions.jsonl")
        for kind, asked in (("unchanged", items), ("premises", true_premises(items))):
            for item in asked:
                if item.answerable:
                    outcome = quoth.ask(item.question)
                    totals[corpus, kind] += 1
                    refused[corpus, kind] += not isinstance(outcome, Answer)
                    if options.let_through and isinstance(outcome, Abstention):
                        print(f"{item.question.id}\t{outcome.objection.reason}\t{item.question.text}")
    if not options.list:
        _print_table(refused, totals)
    return 0


def stressed(corpus: str) -> tuple[Stressed, ...]:
    """The changed questions of a sample corpus."""
    items = read_labelled(EXAMPLES / corpus / "questions.jsonl")
    texts = [path.read_bytes().decode() for path in sorted((EXAMPLES / corpus).rglob("*.md"))]
    return stress_set(items, texts=texts, plan=read_plan(EXAMPLES / "stress" / f"{corpus}.yaml"))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--indexes", type=Path, default=Path(tempfile.gettempdir()) / "quoth-stress")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--let-through", action="store_true")
    return parser.parse_args()


def _print_table(refused: Counter[tuple[str, str]], totals: Counter[tuple[str, str]]) -> None:
    print(f"{'refused':<12}" + "".join(f"{corpus:>20}" for corpus in (*CORPORA, "both")))
    for kind in (*SwapKind, "all", "unchanged", "premises"):
        kinds = tuple(SwapKind) if kind == "all" else (kind,)
        cells = []
        for corpora in (*((corpus,) for corpus in CORPORA), CORPORA):
            total = sum(totals[corpus, one] for corpus in corpora for one in kinds)
            count = sum(refused[corpus, one] for corpus in corpora for one in kinds)
            cells.append(f"{count:>6} of {total:>3} {count / max(1, total):>7.1%}")
        print(f"{kind:<12}" + "".join(f"{cell:>20}" for cell in cells))


if __name__ == "__main__":
    raise SystemExit(main())
