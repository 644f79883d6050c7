"""`quoth ingest`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quoth.interfaces.cli.options import DEFAULT_INDEX, ConfigOption, IndexOption, SetOption, overrides, place_name
from quoth.interfaces.cli.progress import progress_bars
from quoth.interfaces.python import ingest_paths

if TYPE_CHECKING:
    from quoth.ingest import IngestReport


def command(
    paths: Annotated[list[Path], typer.Argument(help="Folders or files: PDF, Word, HTML, Markdown, plain text.")],
    index: IndexOption = DEFAULT_INDEX,
    profile: Annotated[
        str | None,
        typer.Option(
            envvar="QUOTH_PROFILE", help="A shipped profile (agriculture, general, governance) or a YAML file."
        ),
    ] = None,
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove the documents whose files are gone from these folders.")
    ] = False,
    config: ConfigOption = None,
    assignments: SetOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary.")] = False,
) -> None:
    """Read documents into the index. Run it again after changes: only what changed is done again.

    Example: `quoth ingest guides/ --profile agriculture`
    """
    try:
        with progress_bars(quiet=quiet) as progress:
            report = ingest_paths(
                paths,
                index,
                profile=profile,
                prune=prune,
                overrides=overrides(config, assignments),
                progress=progress,
            )
    except KeyboardInterrupt:
        typer.echo("interrupted: the index serves what it held before; run the same command to go on", err=True)
        raise typer.Exit(130) from None
    tell(report, place_name(index, overrides(config, assignments)), quiet=quiet)


def tell(report: IngestReport, index: str, *, quiet: bool) -> None:
    """Say what became of the files; a file that was refused is an exit code of 1."""
    if not quiet:
        for line in _summary(report, index):
            typer.echo(_shown(line), err=True)
    for refused in report.refused:
        kept = "; the index keeps what it held of it before" if refused.kept else ""
        typer.secho(_shown(f"refused {refused.path}: {refused.why} ({refused.hint}){kept}"), err=True, fg="yellow")
    if report.refused:
        raise typer.Exit(1)


def _shown(line: str) -> str:
    """One line: a file's name, and what a library says of it, may hold anything, and must not drive the terminal."""
    from quoth.interfaces.cli.terminal import one_line

    return one_line(line)


def _summary(report: IngestReport, index: str) -> Iterator[str]:
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
    info = report.info
    yield (
        f"{len(report.written)} documents read, {report.unchanged} unchanged; the index at {index} holds "
        f"{info.documents} documents, {info.sentences} sentences (profile {info.profile_name})"
    )
