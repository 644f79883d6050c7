"""Questions changed in a name, year, number, unit, polarity or place, so that their sentence no longer answers them.

    python training/swapped.py --work DIR

For each group with an answer in DIR/data/<set>.jsonl it writes changed questions with the same candidates, none of them
an answer any more, to DIR/data/<set>.swapped.jsonl. Only changes that the answering sentence itself shows are kept.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from pathlib import Path

from jsonl import read
from statements import ABOUT_ANOTHER

from stress.swap import SwapKind, pool_of, swaps

PER_QUESTION = 2
EVERY = 2
"""One group in so many is changed: the changed ones must not outnumber what people wrote. Polarity is rare anyway."""
STATEMENT_SETS = ("foolmetwice", "scitail")
"""A sentence that refutes a statement decides it: only a change of what it is about makes their candidates wrong."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    data: Path = parser.parse_args().work / "data"
    for path in sorted(data.glob("*.jsonl")):
        if path.name.count(".") == 1:
            print(f"{path.stem}: {dict(swap_all(path))}", flush=True)
    return 0


def swap_all(path: Path) -> Counter[str]:
    rows = read(path)
    pool = pool_of([row["question"] for row in rows])
    counts: Counter[str] = Counter()
    with path.with_name(f"{path.stem}.swapped.jsonl").open("w", encoding="utf-8") as file:
        for number, row in enumerate(rows):
            if not row["answerable"]:
                continue
            gold = [one["text"] for one in row["candidates"] if one["label"]]
            every = [one["text"] for one in row["candidates"]]
            made = swaps(row["question"], evidence=every, pool=pool, per_kind=1, seed=1)
            wanted = ABOUT_ANOTHER if path.stem in STATEMENT_SETS else frozenset(SwapKind)
            if number % EVERY:
                wanted &= {SwapKind.POLARITY}
            shown = [
                swap
                for swap in made
                if swap.kind in wanted and swap.stated and swap.before.casefold() in " ".join(gold).casefold()
            ]
            for swap in shown[:PER_QUESTION]:
                changed = [
                    {**one, "label": 0, "answer": None}
                    for one in sorted(row["candidates"], key=lambda one: -one["label"])
                ]
                line = {**row, "question": swap.question, "answerable": False, "made": True, "candidates": changed[:6]}
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
                counts[swap.kind] += 1
    return counts


if __name__ == "__main__":
    sys.exit(main())
