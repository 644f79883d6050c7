"""`quoth ingest`, `remove`, `export`, `migrate` and `maintain`: everything that writes an index, or copies it out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from quoth.cli import options
from quoth.errors import NothingReadable, QuothError
from quoth.language.display import Vocabulary
from quoth.library import Quoth, ingest_paths
from quoth.output.render import document_json, json_line, sentence_json
from quoth.overrides import Overrides
from quoth.protocols import Progress, Reader
from quoth.types import Inspection, Refused
from quoth.wiring import maintain_store, migrate_store, open_store

if TYPE_CHECKING:
    from quoth.documents.ingest_report import IngestReport


ReportPage = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE", help="Write a page (HTML) about all documents, problems first."),
]


def ingest(
    paths: Annotated[list[Path], typer.Argument(help="Folders or files: PDF, Word, HTML, Markdown, plain text.")],
    index: options.Index = options.DEFAULT_INDEX,
    profile: options.ProfileName = None,
    prune: options.Prune = False,
    page: ReportPage = None,
    language: options.Language = None,
    config: options.Config = None,
    assignments: options.Assignments = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary.")] = False,
) -> None:
    """Read documents into the index. Run it again after changes: only what changed is done again.

    Example: `quoth ingest guides/ --profile agriculture --report guides.html`
    """
    given = options.overrides(config, options.with_language(assignments, language))
    check_page(page)
    with (
        options.interruptible("the index serves what it held before; run the same command to go on"),
        options.progress_bars(quiet=quiet) as progress,
    ):
        with refusals_on(page):
            report = ingest_paths(paths, index, profile=profile, prune=prune, overrides=given, progress=progress)
        write_report(page, report, index, given, progress=progress)
    if not quiet:
        print_stale(index, given, report)
    print_report(report, options.location_of(index, given), quiet=quiet)


def print_stale(index: str, given: Overrides, report: IngestReport) -> None:
    """Print which watched receipts quote documents that an ingest changed; see `receipts.watch`."""
    if given.without_profile().receipts.watch is not None:
        from quoth.cli.anchoring import stale_lines  # most ingests watch none

        for line in stale_lines(index, given, report):
            typer.secho(line, err=True, fg="yellow")


def check_page(page: Path | None) -> None:
    """Raise `QuothError` if a report cannot be written there, before the work that it reports on."""
    if page is not None and (page.is_dir() or not page.parent.is_dir()):
        raise QuothError(f"{page} cannot be written", hint="Name a file in a folder that exists, such as report.html.")


@contextmanager
def refusals_on(page: Path | None) -> Iterator[None]:
    """Write the page also where no file could be read: it tells why."""
    try:
        yield
    except NothingReadable as error:
        if page:
            refused = tuple(Refused(*file, kept=False) for file in error.files)
            _write_page(page, Inspection(None, (), refused, ()), [])
        raise


def write_report(
    page: Path | None, report: IngestReport, index: str, given: Overrides, *, progress: Progress | None
) -> None:
    """Write the page, if one is asked for, about all documents of the index and what this run did."""
    if page:
        quoth = Quoth(open_store(index, given.without_profile().store), given)
        summary = summary_lines(report, options.location_of(index, given))
        inspection = quoth.inspect(progress=progress)
        known = {refused.path for refused in inspection.refused}
        # An index of several shards does not remember what was refused.
        here = [refused for refused in report.refused if refused.path not in known]
        _write_page(page, replace(inspection, refused=(*inspection.refused, *here)), summary)


def _write_page(path: Path, inspection: Inspection, run: Iterable[str]) -> None:
    from quoth.output.inspection_report import inspection_html

    html = inspection_html(inspection, title="Ingest report", run=list(run))
    try:
        path.write_text(html, encoding="utf-8", newline="\n")
    except OSError as error:
        raise QuothError(f"cannot write {path}: {error.strerror}", hint="Name another file.") from error


def print_report(report: IngestReport, index: str, *, quiet: bool) -> None:
    """Print the counts and the refused files; exit with 1 when a file was refused."""
    from quoth.language.display import one_line  # a file's name or a library's message may hold control characters

    if not quiet:
        for line in summary_lines(report, index):
            typer.echo(one_line(line), err=True)
    options.exit_after(refused_lines(report))


def refused_lines(report: IngestReport) -> Iterator[str]:
    """Yield a line for each refused file."""
    from quoth.language.display import one_line

    kept = "; the index keeps what it held of it before"
    for refused in report.refused:
        yield one_line(f"refused {refused.path}: {refused.why} ({refused.hint}){kept if refused.kept else ''}")


def summary_lines(report: IngestReport, index: str) -> Iterator[str]:
    """Yield what an ingest did, a line each, refused files apart."""
    for doc_id, encoding in report.converted.items():
        yield f"converted {doc_id} from {encoding}"
    for doc_id, notes in report.notes.items():
        yield from (f"note on {doc_id}: {note}" for note in notes)
    for before, now in report.renamed.items():
        yield f"renamed {before} to {now}"
    for doc_id in report.removed:
        yield f"removed {doc_id}: its file is gone"
    if report.gone:
        named = ", ".join(report.gone[:3]) + (", ..." if len(report.gone) > 3 else "")
        yield f"{len(report.gone)} documents have no file any more ({named}); --prune removes them"
    if report.ignored:
        others = ", ".join(f"{count} {ending}" for ending, count in sorted(report.ignored.items()))
        yield f"left out files of other formats: {others}"
    if report.relabelled:
        yield f"documents with other labels than before, of unchanged text: {len(report.relabelled)}"
    yield from report.advice
    info = report.info
    yield (
        f"{len(report.written)} documents read, {report.unchanged} unchanged; the index at {index} holds "
        f"{info.documents} documents, {info.sentences} sentences (profile {info.profile_name})"
    )


def remove(
    doc_ids: Annotated[
        list[str],
        typer.Argument(help="Document ids, as `quoth docs` lists them.", autocompletion=options.complete_doc_id),
    ],
    index: options.Index = options.DEFAULT_INDEX,
) -> None:
    """Remove documents from the index. Their files stay; the next ingest of their folder would read them again.

    Example: `quoth remove letters/2021-03-02.md`
    """
    info = options.open_quoth(index).remove(*doc_ids)
    typer.echo(
        f"{len(set(doc_ids))} documents removed; the index at {index} holds {info.documents} documents, "
        f"{info.sentences} sentences",
        err=True,
    )


def export(
    folder: Annotated[Path, typer.Argument(help="A new or empty folder.")],
    index: options.Index = options.DEFAULT_INDEX,
    config: options.Config = None,
    assignments: options.Assignments = None,
) -> None:
    """Write the whole index as plain files: documents, sentences.jsonl and embeddings.npy.

    Row `embedding` of embeddings.npy belongs to the sentence that names it; headings have none.

    Example: `quoth export out/`
    """
    store = open_store(index, options.store_settings(config, assignments))
    with closing(store), store.read() as reader, options.progress_bars() as progress:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if any(folder.iterdir()):
                raise QuothError(f"{folder} is not empty", hint="Name a new folder.")
            sentences = _write(reader, folder, progress)
        except OSError as error:
            raise QuothError(f"cannot write {folder}: {error.strerror}", hint="Name another folder.") from error
    typer.echo(f"{sentences} sentences written to {folder}", err=True)


def _write(reader: Reader, folder: Path, progress: Progress | None) -> int:
    documents = reader.documents()
    vectors = [np.zeros((0, reader.info.model.dimension), dtype=np.float32)]
    count = rows = 0
    with (
        (folder / "documents.jsonl").open("w", encoding="utf-8", newline="\n") as listing,
        (folder / "sentences.jsonl").open("w", encoding="utf-8", newline="\n") as lines,
    ):
        for number, info in enumerate(documents, 1):
            listing.write(json_line(document_json(info)) + "\n")
            document = reader.document(info.id)
            if document is not None:
                _write_text(folder / "documents", info.id, document.text)
            vocabulary = Vocabulary(document.text if document else "")
            for sentence in reader.sentences(info.id):
                row = rows if sentence.kind.evidence else None
                rows += sentence.kind.evidence
                count += 1
                lines.write(json_line({**sentence_json(sentence, vocabulary), "embedding": row}) + "\n")
            vectors.append(reader.vectors(info.id))
            if progress:
                progress("exporting", number, len(documents))
    np.save(folder / "embeddings.npy", np.concatenate(vectors))
    return count


def _write_text(root: Path, doc_id: str, text: str) -> None:
    parts = PurePosixPath(doc_id).parts
    if not parts or ".." in parts or PurePosixPath(doc_id).is_absolute():
        raise QuothError(
            f"the id '{doc_id}' is no path inside a folder", hint="Ingest the document under another name."
        )
    path = root.joinpath(*parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8"))


def maintain(
    index: options.Index = options.DEFAULT_INDEX,
    reindex: Annotated[
        bool, typer.Option("--reindex", help="Rebuild the indexes of vectors, words and tags; questions go on.")
    ] = False,
    sample: Annotated[
        int, typer.Option("--sample", min=0, max=10_000, help="Measure the recall with so many vectors; 0 for none.")
    ] = 50,
    as_json: options.AsJson = False,
    config: options.Config = None,
    assignments: options.Assignments = None,
    quiet: options.Quiet = False,
) -> None:
    """Look after an index in a database: vacuum, rebuild, and measure how much of the nearest its search finds.

    Run it as the owner of the tables. Questions and ingests go on meanwhile.

    Example: `quoth maintain --store postgresql://quoth_owner@localhost/corpus --reindex`
    """
    settings = options.store_settings(config, assignments)
    with (
        options.interruptible("the index serves as before; the next run with --reindex tidies up"),
        options.progress_bars(quiet=quiet) as progress,
    ):
        report = maintain_store(index, settings, reindex=reindex, sample=sample, progress=progress)
    if as_json:
        typer.echo(json_line(report))
    else:
        _print_maintenance(report)


def migrate(
    index: options.Index = options.DEFAULT_INDEX,
    as_json: options.AsJson = False,
    config: options.Config = None,
    assignments: options.Assignments = None,
) -> None:
    """Make the tables of an index in a database, or bring them to the version of this program.

    Run it as the owner of the schema. Where nothing is to be done, nothing is.

    Example: `quoth migrate --store postgresql://quoth_owner@localhost/corpus`
    """
    location, before, after = migrate_store(index, options.store_settings(config, assignments))
    if as_json:
        typer.echo(json_line({"place": location, "before": before, "after": after}))
    elif before == after:
        typer.echo(f"{location} has version {after} already")
    elif before is None:
        typer.echo(f"{location}: made, at version {after}")
    else:
        typer.echo(f"{location}: from version {before} to {after}")


def _print_maintenance(report: dict[str, Any]) -> None:
    from quoth.cli.terminal import OUT, print_table
    from quoth.language.display import one_line

    def print_line(line: str, style: str | None = None) -> None:
        OUT.print(one_line(line), style=style, markup=False, highlight=False)

    print_line(f"{report['place']}, generation {report['generation']}")
    print_table(
        ("table", "rows", "dead before", "dead now", "size", "last vacuum before"), map(_table_row, report["tables"])
    )
    print_table(("index", "kind", "size", "rebuilt from", "of a fresh one", ""), map(_index_row, report["indexes"]))
    for recall in report["recall"]:
        under = (
            "" if recall["filter"] is None else f" with {recall['filter']} ({recall['passing']:.0%} of the sentences)"
        )
        measured = f"{recall['mean']:.3f} on {recall['questions']} stored vectors (worst {recall['worst']:.2f})"
        print_line(f"recall@{recall['k']}{under}: {measured}")
    if report["exact"]:
        OUT.print("The vectors are so few that they are compared one by one; no index of them is needed yet.")
    for name in report["removed"]:
        print_line(f"removed {name}, left by an interrupted run")
    for line in report["advice"]:
        print_line(line, style="yellow")
    if report["verdict"] == "good":
        OUT.print("[green]All is well.[/green]")


def _table_row(table: dict[str, Any]) -> tuple[str, ...]:
    last = max((time for time in (table["last_vacuum"], table["last_autovacuum"]) if time), default="never")
    dead = f"{table['dead_rows']} ({table['dead_share']:.0%})"
    return table["name"], str(table["rows"]), dead, str(table["dead_rows_left"]), _size(table["bytes"]), last[:19]


def _index_row(index: dict[str, Any]) -> tuple[str, ...]:
    from quoth.cli.terminal import plain

    before = "" if index["bytes_before"] is None else _size(index["bytes_before"])
    bloat = "" if index["bloat"] is None else f"{index['bloat']:.2f} times"
    state = "" if index["valid"] else "[red]not usable[/red]"
    return plain(index["name"]), index["kind"], _size(index["bytes"]), before, bloat, state


def _size(size: int) -> str:
    """Format bytes: `12.3 MB`."""
    power = min(4, max(0, len(str(size)) - 1) // 3)
    return f"{size} B" if power == 0 else f"{size / 1000**power:.1f} {('kB', 'MB', 'GB', 'TB')[power - 1]}"
