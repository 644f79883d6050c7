"""A calibration for people at a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rich.markup import escape
from rich.table import Table

from quoth.evaluation.calibrate import Step
from quoth.evaluation.calibration import Calibration
from quoth.interfaces.cli.terminal import OUT

_EVERY = 5
"""Of the thresholds, every so many are shown, and the certified one."""


def print_calibration(calibration: Calibration, *, written: Path | None) -> None:
    """The thresholds with what was answered at them, and what came of it."""
    table = Table("threshold", "answered", "wrong", "at most wrong", "", box=None, pad_edge=False)
    for step in _shown(calibration):
        share = f"{bound:.1%}" if (bound := step.bound) < 1 else "-"
        table.add_row(f"{step.threshold:.2f}", str(step.answered), str(step.wrong), share, _mark(step))
    OUT.print(table)
    promise, best = calibration.certification, calibration.certification.best
    if best is None:
        return
    OUT.print(
        f"\nFrom {best.threshold:.2f} on, {best.answered} of {calibration.questions} questions are answered, "
        f"{best.wrong} of them wrongly."
    )
    OUT.print(
        f"With confidence {promise.confidence:g}, at most {promise.risk:.1%} of the answers to questions like these "
        "are wrong."
    )
    OUT.print(f"Written to {escape(str(written))}." if written else "Nothing was written.")


def _shown(calibration: Calibration) -> Iterator[Step]:
    """Every fifth threshold from the first with an answer on, and the certified one."""
    best = calibration.certification.best
    steps = calibration.certification.steps
    for place, step in enumerate(steps, 1):
        if step == best or (step.answered and place % _EVERY == 0):
            yield step


def _mark(step: Step) -> str:
    if step.certified:
        return "certified"
    return "not certified" if step.tested else "not tested"
