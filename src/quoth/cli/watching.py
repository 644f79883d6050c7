"""`quoth watch`: keeps an index up to date with a folder."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from quoth.cli import options
from quoth.cli.indexing import print_stale, refused_lines, summary_lines
from quoth.errors import CorpusError, IndexBusy, QuothError
from quoth.library import ingest_paths, open_watch

if TYPE_CHECKING:
    from quoth.documents.ingest_report import IngestReport

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


def watch(
    folder: Annotated[Path, typer.Argument(help="The folder with the documents.")],
    index: options.Index = options.DEFAULT_INDEX,
    profile: options.ProfileName = None,
    keep: Annotated[bool, typer.Option("--keep", help="Keep the documents whose files are gone.")] = False,
    language: options.Language = None,
    config: options.Config = None,
    assignments: options.Assignments = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Say only what went wrong.")] = False,
) -> None:
    """Keep the index up to date with a folder: ingest changes as they happen, until Ctrl-C.

    The folder is ingested at once, and again after each change; documents whose files are gone are removed, as
    `quoth ingest --prune` does. While another process writes the index, the watch waits. Ctrl-C ends it after the write
    under way; a second one ends it at once, and the index serves what it held before.

    Example: `quoth watch guides/ --index .quoth`
    """
    if not folder.is_dir():
        raise CorpusError(f"{folder} is no folder", hint="Give a folder with documents.")
    given = options.overrides(config, options.with_language(assignments, language))
    location = options.location_of(index, given)
    ingest = partial(ingest_paths, [folder], index, profile=profile, prune=not keep, overrides=given)
    watched = open_watch(
        folder, location, ingest=ingest, listener=_Talk(location, partial(print_stale, index, given), quiet=quiet)
    )
    stop = threading.Event()
    with options.interruptible("the index serves what it held before"), _set_by_signals(stop):
        if not quiet:
            typer.echo(f"watching {folder} for {location} (stop with Ctrl-C)", err=True)
        watched.run(stop)
    if not quiet:
        typer.echo("stopped watching", err=True)


@contextmanager
def _set_by_signals(stop: threading.Event) -> Iterator[None]:
    """Set `stop` at the first signal, and leave the second one to what handled signals before."""
    before = {number: signal.getsignal(number) for number in _SIGNALS}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def ask_to_stop(number: int, frame: FrameType | None) -> None:
        restore()
        stop.set()

    for number in _SIGNALS:
        signal.signal(number, ask_to_stop)
    try:
        yield
    finally:
        restore()


class _Talk:
    """Says on standard error how the rounds go; of one that changed nothing, only the first."""

    def __init__(self, location: str, print_stale: Callable[[IngestReport], None], *, quiet: bool) -> None:
        self._location = location
        self._print_stale = print_stale
        self._quiet = quiet
        self._first = True
        self._refused: frozenset[str] = frozenset()

    def ingested(self, report: IngestReport) -> None:
        from quoth.language.display import one_line  # a file's name may hold control characters

        changed = report.written or report.removed or report.renamed or self._first
        if changed and not self._quiet:
            for line in summary_lines(report, self._location):
                typer.echo(one_line(line), err=True)
            self._print_stale(report)
        refused = frozenset(refused_lines(report))
        for line in sorted(refused - self._refused):  # the others were named before
            typer.secho(line, err=True, fg="yellow")
        self._first, self._refused = False, refused

    def waiting(self, busy: IndexBusy) -> None:
        typer.secho(f"waiting: {busy}", err=True, fg="yellow")

    def failed(self, error: Exception) -> None:
        from quoth.language.display import one_line

        hint = f" ({error.hint})" if isinstance(error, QuothError) and error.hint else ""
        what = str(error) if isinstance(error, QuothError) else f"{type(error).__name__}: {error}"
        typer.secho(one_line(f"error: {what}{hint}; the watch goes on"), err=True, fg="red")
