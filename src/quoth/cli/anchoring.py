"""`quoth anchor`, and the note of an ingest about saved receipts."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quoth.citations.anchored_documents import (
    AnchoredQuote,
    IndexDocuments,
    anchor_quotes,
    anchored_json,
)
from quoth.citations.anchoring import AnchorOutcome
from quoth.citations.saved_receipts import RefusedReceipt, read_receipts, stale_receipts
from quoth.cli import options
from quoth.documents.files import SourceFile, find_files, read_bytes
from quoth.documents.worker.pool import Extraction
from quoth.errors import QuothError, UnreadableFile
from quoth.language.display import one_line
from quoth.output.render import json_line
from quoth.overrides import Overrides
from quoth.protocols import Progress
from quoth.settings import IngestSettings
from quoth.wiring import open_store, watched_receipts

if TYPE_CHECKING:
    from quoth.documents.ingest_report import IngestReport

_PATIENCE = 2.0  # seconds without a progress bar
_NAMED = 5
_COLOURS = {
    AnchorOutcome.EXACT: "green",
    AnchorOutcome.MOVED: "cyan",
    AnchorOutcome.CHANGED: "yellow",
    AnchorOutcome.GONE: "red",
    AnchorOutcome.AMBIGUOUS: "magenta",
    AnchorOutcome.UNREADABLE: "red",
}


def anchor(
    receipts: Annotated[list[Path], typer.Argument(help="Files of receipts, or folders with such files.")],
    index: options.Index = options.DEFAULT_INDEX,
    root: Annotated[
        Path | None,
        typer.Option(exists=True, file_okay=False, help="Look in the source files under this folder."),
    ] = None,
    as_json: options.AsJson = False,
    quiet: options.Quiet = False,
    config: options.Config = None,
    assignments: options.Assignments = None,
) -> None:
    """Find the quotes of receipts again in documents that changed: where each stands now, or what became of it.

    Whatever became of the quotes, the exit code is 0; it is 1 when a receipt or a document cannot be read.

    Examples: `quoth anchor receipts/ --root guides/` and `quoth anchor answer.json --index .quoth --json`
    """
    found = [receipt for path in receipts for receipt in read_receipts(path)]
    refused = [receipt for receipt in found if isinstance(receipt, RefusedReceipt)]
    quotes = [quote for receipt in found if not isinstance(receipt, RefusedReceipt) for quote in receipt.quotes]
    if not found:
        raise QuothError("there are no receipts", hint="A file of receipts ends in .json or .jsonl.")
    with options.progress_bars(quiet=quiet) as bars:
        progress = _patient(bars)
        if root is not None:
            limits = options.overrides(config, assignments).without_profile().ingest
            with Extraction(limits) as extraction:
                files = _FileDocuments(root, limits, extraction)
                anchored, unreadable = anchor_quotes(quotes, files, progress=progress), files.unreadable
        else:
            quoth = options.open_quoth(index, config=config, assignments=assignments)
            anchored = quoth.read(lambda reader: anchor_quotes(quotes, IndexDocuments(reader), progress=progress))
            unreadable = {}
    if as_json:
        for one in anchored:
            typer.echo(json_line(anchored_json(one)))
    else:
        _print(anchored)
    problems = [f"refused {receipt.name}: {receipt.why}" for receipt in refused]
    options.exit_after(map(one_line, [*problems, *unreadable.values()]))


class _FileDocuments:
    """The documents under a folder, read as an ingest would. `unreadable` says why, for each that cannot be read."""

    def __init__(self, root: Path, limits: IngestSettings, extraction: Extraction) -> None:
        found = find_files([root], limits)
        self._files = {file.doc_id: file for file in found.files}
        self._limits, self._extraction = limits, extraction
        self.unreadable = {place.error.path: str(place.error) for place in found.closed}

    def ids(self) -> Sequence[str]:
        return tuple(self._files)

    def source_sha256(self, doc_id: str) -> str | None:
        try:
            return hashlib.sha256(self._bytes(self._files[doc_id])).hexdigest()
        except UnreadableFile as error:
            self.unreadable[doc_id] = str(error)
            return None

    def text(self, doc_id: str) -> str:
        file = self._files[doc_id]
        try:
            return self._extraction.read(self._bytes(file), form=file.format, label=doc_id)[0].text
        except UnreadableFile as error:
            self.unreadable[doc_id] = str(error)
            raise

    def _bytes(self, file: SourceFile) -> bytes:
        most = self._limits.max_file_mb
        return read_bytes(file.path, label=file.doc_id, most_mb=most, workers=self._extraction)


def _patient(progress: Progress | None) -> Progress | None:
    """Return progress that is shown only when the work takes a while."""
    begun = time.monotonic()

    def report(what: str, done: int, total: int) -> None:
        if progress and time.monotonic() - begun > _PATIENCE:
            progress(what, done, total)

    return report if progress else None


def _print(anchored: Sequence[AnchoredQuote]) -> None:
    from rich.padding import Padding

    from quoth.cli.terminal import OUT, plain
    from quoth.cli.version_changes import edits_line

    for one in anchored:
        outcome, quote = one.anchor.outcome, one.quote
        was = f"{quote.doc_id}[{quote.place.span.start}:{quote.place.span.end}]"
        title = f"[{_COLOURS[outcome]}]{outcome.value:<9}[/{_COLOURS[outcome]}] {plain(was)}"
        OUT.print(f"{title} [dim]{plain(f'{quote.receipt}, quote {quote.number}')}[/dim]", soft_wrap=True)
        for line in _lines(one):
            OUT.print(Padding(plain(line), (0, 0, 0, 10)))
        if one.anchor.edits:
            OUT.print(Padding(edits_line(one.anchor.edits), (0, 0, 0, 10)))
    counts = Counter(one.anchor.outcome for one in anchored)
    superseded = sum(bool(one.superseded_by) for one in anchored)
    told = [f"{counts[outcome]} {outcome.value}" for outcome in AnchorOutcome if counts[outcome]]
    OUT.print(f"{len(anchored)} quotes: {', '.join([*told, *([f'{superseded} superseded'] if superseded else [])])}")


def _lines(one: AnchoredQuote) -> Iterator[str]:
    """Yield where a quote stands now, and what else is known."""
    if one.anchor.outcome is not AnchorOutcome.EXACT:
        for place in one.anchor.places:
            span, broken = place.span, ", with other line breaks" if place.normalised and not one.anchor.edits else ""
            yield f"now {place.doc_id}[{span.start}:{span.end}]{broken}"
        if not one.anchor.edits:
            yield one.quote.place.text
    if one.anchor.why:
        yield one.anchor.why
    if one.superseded_by:
        yield f"superseded by {', '.join(one.superseded_by)}"


def stale_lines(index: str, given: Overrides, report: IngestReport) -> Iterator[str]:
    """Yield which watched receipts quote documents that this ingest changed or removed; nothing if none are watched."""
    settings = given.without_profile()
    touched = {*report.written, *report.removed, *report.renamed}
    if settings.receipts.watch is None or not touched:
        return
    with closing(open_store(index, settings.store)) as store, store.read() as reader:
        texts = {info.id: info.sha256 for info in reader.documents()}
    try:
        watched = watched_receipts(settings.receipts.watch, index, settings.store)
    except QuothError as error:
        yield f"the receipts that are watched cannot be read: {error}"
        return
    found = stale_receipts(watched, texts, touched=touched)
    for refused in found.refused:
        yield f"a receipt that is watched cannot be read: {refused.name}: {refused.why}"
    if found.stale:
        names = ", ".join(islice(found.stale, _NAMED))
        where = watched if isinstance(watched, Path) else "RECEIPTS"
        more = ", ..." if len(found.stale) > _NAMED else ""
        yield (
            f"{len(found.stale)} of {found.total} saved receipts quote documents that changed ({names}{more}); "
            f"quoth anchor {where} --index {options.location_of(index, given)} tells where they stand"
        )
