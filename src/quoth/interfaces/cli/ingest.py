"""`quoth ingest`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quoth.interfaces.cli.options import DEFAULT_INDEX, ConfigOption, IndexOption, SetOption, overrides
from quoth.interfaces.cli.progress import progress_bars
from quoth.interfaces.python import ingest_paths

if TYPE_CHECKING:
    from quoth.ingest import IngestReport


def command(
    paths: Annotated[list[Path], typer.Argument(help="Folders or files with .md and .txt documents.")],
    index: IndexOption = DEFAULT_INDEX,
    profile: Annotated[
        str | None,
        typer.Option(
            envvar="QUOTH_PROFILE", help="A shipped profile (agriculture, general, governance) or a YAML file."
        ),
    ] = None,
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
                paths, index, profile=profile, overrides=overrides(config, assignments), progress=progress
            )
    except KeyboardInterrupt:
        typer.echo("interrupted: the index serves what it held before; run the same command to go on", err=True)
        raise typer.Exit(130) from None
    if not quiet:
        _summary(report, index)
    for refused in report.refused:
        typer.secho(f"refused {refused.path}: {refused.why} ({refused.hint})", err=True, fg="yellow")
    if report.refused:
        raise typer.Exit(1)


def _summary(report: IngestReport, index: Path) -> None:
    for doc_id, encoding in report.converted.items():
        typer.echo(f"converted {doc_id} from {encoding}", err=True)
    if report.ignored:
        others = ", ".join(f"{count} {ending}" for ending, count in sorted(report.ignored.items()))
        typer.echo(f"left out files of other formats: {others}", err=True)
    info = report.info
    typer.echo(
        f"{len(report.written)} documents read, {report.unchanged} unchanged; the index at {index} holds "
        f"{info.documents} documents, {info.sentences} sentences (profile {info.profile_name})",
        err=True,
    )
