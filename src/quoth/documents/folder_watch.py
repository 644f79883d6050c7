"""Watch a folder, and ingest it again whenever something in it changes."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from quoth.documents.ingest_report import IngestReport
from quoth.errors import CorpusError, IndexBusy, MissingExtra


@dataclass(frozen=True, slots=True)
class WatchTimes:
    """Times in seconds."""

    quiet: float = 1.0
    """Without a change, before a round begins: a file that is being copied changes again and again."""
    longest: float = 10.0
    """After which a round begins although changes go on."""
    look: float = 1.0
    """How often to look whether another writer has finished, or a folder that was gone is back."""
    retry: float = 30.0
    """After which a round that failed is tried again, if nothing changes before."""


DEFAULT_TIMES = WatchTimes()


class WatchListener(Protocol):
    """Is told how the rounds of a watch go. What it raises ends the watch."""

    def ingested(self, report: IngestReport) -> None: ...

    def waiting(self, busy: IndexBusy) -> None:
        """Another process is writing; the round goes on when it has finished."""

    def failed(self, error: Exception) -> None:
        """The round failed in a way in which the one before did not. The watch goes on."""


class FolderWatch:
    """Runs `ingest` for each round of changes below `folder`. Changes below `leave_out`, the index, do not count."""

    def __init__(
        self,
        folder: Path,
        *,
        ingest: Callable[[], IngestReport],
        listener: WatchListener,
        leave_out: Path | None,
        times: WatchTimes = DEFAULT_TIMES,
    ) -> None:
        if find_spec("watchfiles") is None:
            raise MissingExtra("watching a folder", "watch")
        self._given = folder
        self._ingest = ingest
        self._listener = listener
        self._leave_out = None if leave_out is None else Path(os.path.realpath(leave_out))
        self._times = times
        self._last_fault = ""

    def run(self, stop: threading.Event) -> None:
        """Ingest the folder now and after changes, until `stop` is set. A write that has begun is finished first."""
        while not stop.is_set():
            watched = _identity(self._given)
            if watched is None:
                self._fail(CorpusError(f"{self._given} is not there", hint="The watch goes on when it is back."))
                stop.wait(self._times.look)
                continue
            due = -math.inf  # all may have changed while nobody watched
            try:
                with closing(self._changes(stop)) as batches:
                    for changed in batches:
                        if changed or time.monotonic() >= due:
                            due = self._round(stop)
                        if _identity(self._given) != watched:
                            break  # another folder has taken its place, of which we would hear nothing
            except OSError as error:  # the folder went away just now, or the system watches too many folders already
                self._fail(error)
                stop.wait(self._times.look)

    def _changes(self, stop: threading.Event) -> Generator[bool]:
        """Yield whether something changed: after each group of changes, and every `look` seconds without any.

        Changes during a round are kept for the next one.
        """
        from watchfiles import watch

        root = Path(os.path.realpath(self._given))
        for changes in watch(
            root,
            watch_filter=lambda _, path: self._counts(Path(path), root),
            debounce=int(self._times.longest * 1000),
            step=int(self._times.quiet * 1000),
            rust_timeout=int(self._times.look * 1000),
            yield_on_timeout=True,
            stop_event=stop,
            ignore_permission_denied=True,
        ):
            yield bool(changes)

    def _counts(self, path: Path, root: Path) -> bool:
        """Return whether a change can concern a document: hidden files and the index do not."""
        if self._leave_out is not None and path.is_relative_to(self._leave_out):
            return False
        return path.is_relative_to(root) and not any(part.startswith(".") for part in path.relative_to(root).parts)

    def _round(self, stop: threading.Event) -> float:
        """Ingest once; return when to try again without a change, as `time.monotonic` counts: infinity if all is well.

        While another process writes, wait.
        """
        told = False
        while not stop.is_set():
            try:
                report = self._ingest()
            except IndexBusy as busy:
                if not told:
                    self._listener.waiting(busy)
                    told = True
                stop.wait(self._times.look)
            except Exception as error:  # whatever it is, the next round may succeed
                self._fail(error)
                return time.monotonic() + self._times.retry
            else:
                self._last_fault = ""
                self._listener.ingested(report)
                break
        return math.inf

    def _fail(self, error: Exception) -> None:
        """Tell of a fault, but not again and again of the same."""
        fault = f"{type(error).__name__}: {error}"
        if fault != self._last_fault:
            self._last_fault = fault
            self._listener.failed(error)


def _identity(folder: Path) -> tuple[int, int] | None:
    try:
        found = folder.stat()
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if folder.is_dir() else None
