"""Progress bars on stderr, where stderr is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from quoth.protocols import Progress


@contextmanager
def progress_bars(*, quiet: bool = False) -> Iterator[Progress | None]:
    """A function to report progress to; every kind of work gets its own bar. None where nobody would see it."""
    if quiet or not (sys.stderr and sys.stderr.isatty()):
        yield None
        return
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description:<12}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, progress.TaskID] = {}

        def report(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total or None)
            bars.update(tasks[what], completed=done, total=total or None)

        yield report
