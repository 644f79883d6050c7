"""`quoth maintain` and `quoth migrate`: the upkeep of an index in a database."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from quoth.interfaces.cli.options import DEFAULT_INDEX, ConfigOption, IndexOption, JsonOption, SetOption, overrides
from quoth.interfaces.cli.progress import progress_bars
from quoth.render import json_line
from quoth.wiring import maintain_store, migrate_store


def maintain(
    index: IndexOption = DEFAULT_INDEX,
    reindex: Annotated[
        bool, typer.Option("--reindex", help="Rebuild the indexes of vectors, words and tags; questions go on.")
    ] = False,
    sample: Annotated[
        int, typer.Option("--sample", min=0, max=10_000, help="Measure the recall with so many vectors; 0 for none.")
    ] = 50,
    as_json: JsonOption = False,
    config: ConfigOption = None,
    assignments: SetOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """Look after an index in a database: vacuum, rebuild, and measure how much of the nearest its search finds.

    Run it as the owner of the tables. Questions and ingests go on meanwhile.

    Example: `quoth maintain --store postgresql://quoth_owner@localhost/corpus --reindex`
    """
    settings = overrides(config, assignments).over({}, profile="none").store
    try:
        with progress_bars(quiet=quiet) as progress:
            found = maintain_store(index, settings, reindex=reindex, sample=sample, progress=progress)
    except KeyboardInterrupt:
        typer.echo("interrupted: the index serves as before; the next run with --reindex tidies up", err=True)
        raise typer.Exit(130) from None
    if as_json:
        typer.echo(json_line(found))
    else:
        _print(found)


def migrate(
    index: IndexOption = DEFAULT_INDEX,
    as_json: JsonOption = False,
    config: ConfigOption = None,
    assignments: SetOption = None,
) -> None:
    """Make the tables of an index in a database, or bring them to the version of this program.

    Run it as the owner of the schema. Where nothing is to be done, nothing is.

    Example: `quoth migrate --store postgresql://quoth_owner@localhost/corpus`
    """
    settings = overrides(config, assignments).over({}, profile="none").store
    place, before, after = migrate_store(index, settings)
    if as_json:
        typer.echo(json_line({"place": place, "before": before, "after": after}))
    elif before == after:
        typer.echo(f"{place} has version {after} already")
    elif before is None:
        typer.echo(f"{place}: made, at version {after}")
    else:
        typer.echo(f"{place}: from version {before} to {after}")


def _print(found: dict[str, Any]) -> None:
    from rich.markup import escape
    from rich.table import Table

    from quoth.interfaces.cli.terminal import OUT, one_line

    tables = Table("table", "rows", "dead before", "dead now", "size", "last vacuum before", box=None, pad_edge=False)
    for one in found["tables"]:
        last = max((time for time in (one["last_vacuum"], one["last_autovacuum"]) if time), default="never")
        dead = f"{one['dead_rows']} ({one['dead_share']:.0%})"
        tables.add_row(one["name"], str(one["rows"]), dead, str(one["dead_rows_left"]), _size(one["bytes"]), last[:19])
    indexes = Table("index", "kind", "size", "rebuilt from", "of a fresh one", "", box=None, pad_edge=False)
    for one in found["indexes"]:
        before = "" if one["bytes_before"] is None else _size(one["bytes_before"])
        bloat = "" if one["bloat"] is None else f"{one['bloat']:.2f} times"
        state = "" if one["valid"] else "[red]not usable[/red]"
        indexes.add_row(escape(one["name"]), one["kind"], _size(one["bytes"]), before, bloat, state)
    OUT.print(one_line(f"{found['place']}, generation {found['generation']}"), markup=False, highlight=False)
    OUT.print(tables)
    OUT.print(indexes)
    for one in found["recall"]:
        under = "" if one["filter"] is None else f" with {one['filter']} ({one['passing']:.0%} of the sentences)"
        measured = f"{one['mean']:.3f} on {one['questions']} stored vectors (worst {one['worst']:.2f})"
        line = f"recall@{one['k']}{under}: {measured}"
        OUT.print(one_line(line), markup=False, highlight=False)
    if found["exact"]:
        OUT.print("The vectors are so few that they are compared one by one; no index of them is needed yet.")
    for name in found["removed"]:
        OUT.print(one_line(f"removed {name}, left by an interrupted run"), markup=False, highlight=False)
    for line in found["advice"]:
        OUT.print(one_line(line), style="yellow", markup=False, highlight=False)
    if found["verdict"] == "good":
        OUT.print("[green]All is well.[/green]")


def _size(size: int) -> str:
    """Bytes for people: `12.3 MB`."""
    amount, unit = float(size), "B"
    for larger in ("kB", "MB", "GB", "TB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
