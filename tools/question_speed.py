"""Time questions under several settings side by side, each question in turn under each of them.

    python tools/question_speed.py INDEX QUESTIONS [--limit 100] [--compare rerank.kind=late,rerank.kind=reader]

Prints the median and the 95th percentile of a warm question, from its text to the answer, the ratio of the medians to
that of the first setting, and the memory of the process. Ten questions come first as a warm-up; nothing is cached.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

from quoth.evaluation.labelled_questions import read_labelled
from quoth.library import Quoth

WARM_UP = 10
STATUS = Path("/proc/self/status")


def main() -> int:
    options = _options()
    settings = [dict([pair.split("=", 1)]) for pair in options.compare.split(",")]
    opened = [Quoth.open(options.index, settings={"cache.memory_mb": 0, **one}) for one in settings]
    questions = [item.question for item in read_labelled(options.questions)[: options.limit]]
    seconds: list[list[float]] = [[] for _ in opened]
    warm_up = questions[:WARM_UP]
    for number, question in enumerate([*warm_up, *questions]):
        for quoth, times in zip(opened, seconds, strict=True):
            begin = time.perf_counter()
            quoth.ask(question)
            if number >= len(warm_up):
                times.append(time.perf_counter() - begin)
    first = float(np.median(seconds[0]))
    print("| setting | p50, ms | p95, ms | ratio of p50 |\n|---|---|---|---|")
    for one, times in zip(settings, seconds, strict=True):
        middle, late = (1000 * float(np.quantile(times, part)) for part in (0.5, 0.95))
        label = ", ".join(f"`{key}={value}`" for key, value in one.items())
        print(f"| {label} | {middle:.1f} | {late:.1f} | {middle / 1000 / first:.2f} |")
    print(f"\n{len(questions)} questions; memory of the process: {_memory_mb():.0f} MB")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--limit", type=int, default=100, help="only so many questions")
    parser.add_argument(
        "--compare", default="rerank.kind=late,rerank.kind=reader", help="settings, with commas between"
    )
    return parser.parse_args()


def _memory_mb() -> float:
    """Return the resident memory of this process, which holds what all of the settings need."""
    lines = STATUS.read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


if __name__ == "__main__":
    sys.exit(main())
