"""`quoth cluster`: what runs on several machines."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from quoth.interfaces.cli import cluster_batch, cluster_status
from quoth.interfaces.cli.ingest import tell
from quoth.interfaces.cli.options import ConfigOption, SetOption, overrides
from quoth.interfaces.cli.progress import progress_bars

app = typer.Typer(help="Ingest and answer on a cluster of machines, with Ray.", no_args_is_help=True)
app.command("batch")(cluster_batch.command)
app.command("status")(cluster_status.command)


@app.command("ingest")
def ingest(
    paths: Annotated[
        list[Path], typer.Argument(help="Folders or files, at a path under which every node of the cluster finds them.")
    ],
    output: Annotated[
        str,
        typer.Option(
            "--output",
            metavar="URI",
            help="Where the shards go: a folder that every node sees, or `s3://bucket/prefix`.",
        ),
    ],
    shards: Annotated[
        int | None,
        typer.Option(
            min=1, max=1_000, help="How many shards a new index gets; 4 if absent. One that exists keeps its number."
        ),
    ] = None,
    address: Annotated[
        str | None,
        typer.Option(envvar="RAY_ADDRESS", metavar="HOST:PORT", help="The Ray cluster; one is started here if absent."),
    ] = None,
    profile: Annotated[
        str | None,
        typer.Option(
            envvar="QUOTH_PROFILE", help="A shipped profile (agriculture, general, governance) or a YAML file."
        ),
    ] = None,
    prune: Annotated[
        bool, typer.Option("--prune", help="Remove the documents whose files are gone from these folders.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes that embed; if absent, one for each CPU of the cluster.")
    ] = None,
    gpus_per_worker: Annotated[
        float, typer.Option(min=0, max=64, help="GPUs for each of them, such as 1 or 0.5; 0 embeds on the CPU.")
    ] = 0,
    config: ConfigOption = None,
    assignments: SetOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary.")] = False,
) -> None:
    """Read documents into an index of several shards. Run it again after changes, or after a crash: only what is
    missing is done.

    Every command opens the index with `--index URI`, and each shard alone as well.

    Example: `quoth cluster ingest guides/ --shards 8 --output s3://bucket/guides --address 10.0.0.5:6379`
    """
    from quoth.cluster.ingest import ClusterIngest
    from quoth.cluster.ingest import ingest as ingest_on_cluster

    try:
        with progress_bars(quiet=quiet) as progress:
            report = ingest_on_cluster(
                ClusterIngest(
                    paths=tuple(paths),
                    output=output,
                    shards=shards,
                    profile=profile,
                    prune=prune,
                    overrides=overrides(config, assignments),
                    address=address,
                    workers=workers,
                    gpus_per_worker=gpus_per_worker,
                ),
                progress=progress,
            )
    except KeyboardInterrupt:
        typer.echo(
            "interrupted: the index serves what it held before, and what was embedded is kept; "
            "run the same command to go on",
            err=True,
        )
        raise typer.Exit(130) from None
    tell(report, output, quiet=quiet)
