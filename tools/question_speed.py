"""Time questions under several settings side by side, each question in turn under each of them.

    python tools/question_speed.py INDEX QUESTIONS [--limit 100] [--compare rerank.kind=late,rerank.kind=reader]
    python tools/question_speed.py INDEX QUESTIONS --beside ../before/src    # this source tree and another, by turns

Prints the median and the 95th percentile of a warm question, from its text to the answer, by the clock and in seconds
of a processor, the ratio of the medians to those of the first row, and the memory of each process. On a machine that
has other work to do, only the processor's seconds and the ratios mean something. Each row is a process of its own; a
question is asked of one after the other. Ten questions come first as a warm-up; nothing is cached.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, cast

WARM_UP = 10
STATUS = Path("/proc/self/status")
HERE = Path(__file__).resolve().parent.parent / "src"


@dataclass(frozen=True)
class Asked:
    """A process that answers under one setting, from one source tree, and the seconds that it took."""

    label: str
    process: subprocess.Popen[str]
    clock: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)

    def tell(self, word: str) -> dict[str, Any]:
        ask, answer = cast("IO[str]", self.process.stdin), cast("IO[str]", self.process.stdout)
        ask.write(f"{word}\n")
        ask.flush()
        told: dict[str, Any] = json.loads(answer.readline())
        return told


def main() -> int:
    options = _options()
    if options.answer_under is not None:
        return _answer(options.index, options.questions, options.answer_under)
    trees = [HERE, *([options.beside] if options.beside else [])]
    asked = [_start(options, setting, tree) for setting in options.compare.split(",") for tree in trees]
    try:
        numbers = range(min(options.limit, asked[0].tell("count")["count"]))
        for number in [*numbers[:WARM_UP], *numbers]:
            for one in asked:
                taken = one.tell(str(number))
                one.clock.append(taken["clock"])
                one.processor.append(taken["processor"])
        _print_table(asked, skipped=len(numbers[:WARM_UP]))
    finally:
        for one in asked:
            one.process.terminate()
            one.process.wait()
    return 0


def _start(options: argparse.Namespace, setting: str, tree: Path) -> Asked:
    command = [sys.executable, __file__, str(options.index), str(options.questions), "--answer-under", setting]
    environment = {**os.environ, "PYTHONPATH": str(tree.resolve())}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    return Asked(f"`{setting}`" + (f" of {tree}" if tree != HERE else ""), process)


def _answer(index: Path, questions: Path, setting: str) -> int:
    """Answer the questions whose numbers come on standard input, and print what each took."""
    from quoth.evaluation.labelled_questions import read_labelled  # of the source tree that this process was given
    from quoth.library import Quoth

    quoth = Quoth.open(index, settings={"cache.memory_mb": 0, **dict([setting.split("=", 1)])})
    asked = [item.question for item in read_labelled(questions)]
    for line in sys.stdin:
        match line.strip():
            case "count":
                told: dict[str, float] = {"count": len(asked)}
            case "memory":
                told = {"memory": _memory_mb()}
            case number:
                clock, processor = time.perf_counter(), time.process_time()
                quoth.ask(asked[int(number)])
                told = {"clock": time.perf_counter() - clock, "processor": time.process_time() - processor}
        print(json.dumps(told), flush=True)
    return 0


def _print_table(asked: Sequence[Asked], *, skipped: int) -> None:
    print("| setting | p50, ms | p95, ms | ratio of p50 | processor p50, ms | p95, ms | ratio of p50 | memory, MB |")
    print("|---|---|---|---|---|---|---|---|")
    for one in asked:
        cells = []
        for own, first in ((one.clock, asked[0].clock), (one.processor, asked[0].processor)):
            middle, late = (1000 * _quantile(own[skipped:], part) for part in (0.5, 0.95))
            cells += [f"{middle:.1f}", f"{late:.1f}", f"{middle / 1000 / _quantile(first[skipped:], 0.5):.2f}"]
        print(f"| {one.label} | {' | '.join(cells)} | {one.tell('memory')['memory']:.0f} |")
    print(f"\n{len(asked[0].clock) - skipped} questions")


def _quantile(values: Sequence[float], part: float) -> float:
    """Return a quantile, between two values as far from each as `part` says."""
    ordered = sorted(values)
    at = part * (len(ordered) - 1)
    below = ordered[int(at)]
    return below + (at - int(at)) * (ordered[min(int(at) + 1, len(ordered) - 1)] - below)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", type=Path)
    parser.add_argument("questions", type=Path)
    parser.add_argument("--limit", type=int, default=100, help="only so many questions")
    parser.add_argument(
        "--compare", default="rerank.kind=late,rerank.kind=reader", help="settings, with commas between"
    )
    parser.add_argument("--beside", type=Path, metavar="SRC", help="another source tree, asked by turns with this one")
    parser.add_argument("--answer-under", metavar="SETTING", help=argparse.SUPPRESS)  # for the processes it starts
    return parser.parse_args()


def _memory_mb() -> float:
    """Return the resident memory of this process."""
    lines = STATUS.read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024


if __name__ == "__main__":
    sys.exit(main())
