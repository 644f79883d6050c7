"""`quoth remove`."""

from __future__ import annotations

from typing import Annotated

import typer

from quoth.interfaces.cli.options import DEFAULT_INDEX, IndexOption, complete_doc_id, open_quoth


def command(
    doc_ids: Annotated[
        list[str], typer.Argument(help="Document ids, as `quoth docs` lists them.", autocompletion=complete_doc_id)
    ],
    index: IndexOption = DEFAULT_INDEX,
) -> None:
    """Remove documents from the index. Their files stay; the next ingest of their folder would read them again.

    Example: `quoth remove letters/2021-03-02.md`
    """
    info = open_quoth(index).remove(*doc_ids)
    typer.echo(
        f"{len(set(doc_ids))} documents removed; the index at {index} holds {info.documents} documents, "
        f"{info.sentences} sentences",
        err=True,
    )
