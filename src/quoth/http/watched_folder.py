"""A folder that the service watches: a thread that ingests what changes, beside the processes that answer."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from quoth.documents.ingest_report import IngestReport
from quoth.errors import IndexBusy, NoIndex, QuothError
from quoth.http import logs
from quoth.http.service import ServeOptions
from quoth.library import ingest_paths, open_watch
from quoth.types import Refused
from quoth.wiring import open_store


@contextmanager
def watching(folder: Path, plan: ServeOptions) -> Iterator[None]:
    """Watch a folder while the block runs. At its end, wait for the write under way, as long as a stop may take.

    Each answering process notices the new generation by itself. A write that is cut off changes nothing.
    """

    def ingest() -> IngestReport:
        profile = None if _is_there(plan) else plan.profile
        return ingest_paths([folder], plan.index, profile=profile, prune=True, overrides=plan.overrides)

    watched = open_watch(folder, plan.index, ingest=ingest, listener=_Log())
    stop = threading.Event()
    thread = threading.Thread(target=watched.run, args=(stop,), name="watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(plan.settings.grace_seconds)


def _is_there(plan: ServeOptions) -> bool:
    with closing(open_store(plan.index, plan.overrides.without_profile().store)) as store:
        try:
            with store.read():
                return True
        except NoIndex:
            return False


class _Log:
    """Logs how the rounds go. A file that stays refused is named once."""

    def __init__(self) -> None:
        self._refused: frozenset[Refused] = frozenset()

    def ingested(self, report: IngestReport) -> None:
        gone = [*report.removed, *report.renamed]
        if report.written or gone:
            logs.log("ingested", documents=len(report.written), removed=len(gone), generation=report.info.generation)
        for refused in report.refused:
            if refused not in self._refused:
                logs.log("refused", level=logging.WARNING, doc_id=refused.path, message=refused.why, hint=refused.hint)
        self._refused = frozenset(report.refused)

    def waiting(self, busy: IndexBusy) -> None:
        logs.log("waiting", message=str(busy))

    def failed(self, error: Exception) -> None:
        hint = error.hint if isinstance(error, QuothError) else ""
        logs.log("a round of the watch failed", level=logging.ERROR, message=f"{error}", hint=hint)
