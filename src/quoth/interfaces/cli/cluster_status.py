"""`quoth cluster status`."""

from __future__ import annotations

from typing import Annotated

import typer

from quoth.interfaces.cli.options import JsonOption
from quoth.interfaces.cli.progress import progress_bars
from quoth.render import json_line


def command(
    index: Annotated[str, typer.Argument(metavar="URI", help="Where the shards are: a folder, or s3://bucket/prefix.")],
    check: Annotated[bool, typer.Option("--check", help="Read every file and compare it with its hash.")] = False,
    as_json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """What an index of shards holds, shard by shard; exit 1 when --check finds a file that is not what was written.

    Example: `quoth cluster status s3://bucket/guides --check`
    """
    from quoth.cluster.status import faults, status

    about = status(index)
    found: list[str] = []
    if check:
        with progress_bars(quiet=quiet) as progress:
            found = list(faults(index, progress=progress))
    if as_json:
        typer.echo(json_line({**about, **({"faults": found} if check else {})}))
    else:
        shards = about.pop("shards")
        about.pop("settings")
        for key, value in about.items():
            typer.echo(f"{key:<11} {value:,}" if key in {"documents", "sentences", "bytes"} else f"{key:<11} {value}")
        for one in shards:
            typer.echo(
                f"shard {one['shard']:<5} {one['documents']:,} documents, {one['sentences']:,} sentences, "
                f"{one['bytes']:,} bytes in {one['folder']}"
            )
    if check and not found and not as_json:
        typer.echo("every file is what was written")
    for fault in found:
        typer.secho(fault, err=True, fg="yellow")
    if found:
        raise typer.Exit(1)
