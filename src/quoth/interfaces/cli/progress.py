"""Progress bars on stderr; plain lines where stderr is no terminal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from quoth.protocols import Progress as Report

ERRORS = Console(stderr=True)


@contextmanager
def progress_bars(*, quiet: bool = False) -> Iterator[Report | None]:
    """A function to report progress to; every kind of work gets its own bar."""
    if quiet or not ERRORS.is_terminal:
        yield None
        return
    columns = (TextColumn("{task.description:<12}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=ERRORS, transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def report(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total or None)
            bars.update(tasks[what], completed=done, total=total or None)

        yield report
