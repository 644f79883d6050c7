"""`quoth access`: who may see which documents."""

from __future__ import annotations

from typing import Annotated

import typer

from quoth.cli import options
from quoth.output.render import json_line
from quoth.types import labels_of

app = typer.Typer(help="List and set the labels of documents, which decide who sees them.", no_args_is_help=True)


@app.command("list")
def list_labels(index: options.Index = options.DEFAULT_INDEX, as_json: options.AsJson = False) -> None:
    """List every document with its labels.

    Example: `quoth access list --json`
    """
    documents = options.open_quoth(index).documents()
    if as_json:
        for info in documents:
            typer.echo(json_line({"doc_id": info.id, "access": list(info.access)}))
        return
    from quoth.cli.terminal import OUT, OutputConsole, plain, print_table

    wide = OutputConsole(highlight=False, emoji=False, width=options.AS_WIDE_AS_NEEDED)
    cells = ((plain(info.id), plain(", ".join(info.access))) for info in documents)
    print_table(("document", "labels"), cells, fold=True, console=OUT if OUT.is_terminal else wide)


@app.command("set")
def set_labels(
    doc_ids: Annotated[
        list[str],
        typer.Argument(metavar="DOC_ID...", help="The documents.", autocompletion=options.complete_doc_id),
    ],
    labels: Annotated[
        list[str] | None,
        typer.Option("--label", metavar="LABEL", help="Who holds this label sees them; repeatable."),
    ] = None,
    clear: Annotated[bool, typer.Option("--clear", help="Take all labels off.")] = False,
    index: options.Index = options.DEFAULT_INDEX,
) -> None:
    """Replace the labels of documents, without reading their files again. The next question heeds them.

    They stay when the documents are ingested again, until their files state other labels than before.

    Examples: `quoth access set minutes.md --label board --label legal` and `quoth access set minutes.md --clear`
    """
    wanted = labels_of(label for text in labels or () for label in text.split(","))
    if clear == bool(wanted):
        raise typer.BadParameter("give --label, or --clear to take all labels off")
    options.open_quoth(index).relabel(dict.fromkeys(doc_ids, wanted))
    seen_by = f"who holds {' or '.join(wanted)}" if wanted else "everybody, unless access.default is closed"
    typer.echo(f"{', '.join(doc_ids)}: seen by {seen_by}", err=True)
