"""`quoth check`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from quoth.interfaces.cli.options import (
    DEFAULT_INDEX,
    ConfigOption,
    IndexOption,
    JsonOption,
    SetOption,
    open_quoth,
)
from quoth.interfaces.cli.progress import progress_bars
from quoth.interfaces.python import Quoth
from quoth.render import json_line


def command(
    questions: Annotated[Path, typer.Argument(help="At least 10 questions with gold, as JSONL.")],
    index: IndexOption = DEFAULT_INDEX,
    as_json: JsonOption = False,
    config: ConfigOption = None,
    assignments: SetOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")] = False,
) -> None:
    """The go-live checklist of retrieval: each part measured on this corpus and these questions, passed or failed.

    Exits with 1 when a point fails. A line of QUESTIONS is as for `quoth eval`.

    Example: `quoth check questions.jsonl --index .quoth`
    """
    from quoth.evaluation.checklist import check
    from quoth.evaluation.questions import read_labelled

    items = read_labelled(questions)

    def open_variant(values: Mapping[str, object]) -> Quoth:
        given = [*(assignments or ()), *(f"{key}={value}" for key, value in values.items())]
        return open_quoth(index, config=config, assignments=given)

    with progress_bars(quiet=quiet) as progress:
        points = check(open_variant, items, progress=progress)
    if as_json:
        typer.echo(json_line({"passed": all(one.passed for one in points), "points": [asdict(one) for one in points]}))
    else:
        from rich.table import Table

        from quoth.interfaces.cli.terminal import OUT

        table = Table("", "check", "wanted", "measured", box=None, pad_edge=False)
        for one in points:
            mark = "[green]pass[/green]" if one.passed else "[red]FAIL[/red]"
            table.add_row(mark, one.name, one.wanted, one.measured)
        OUT.print(table)
    if not all(one.passed for one in points):
        raise typer.Exit(1)
