"""`quoth docs`, `quoth show` and `quoth status`."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from quoth.errors import QuothError
from quoth.interfaces.cli.options import DEFAULT_INDEX, IndexOption, JsonOption, complete_doc_id, open_quoth
from quoth.render import document_json, json_line, main_tags, sentence_json
from quoth.types import Document, DocumentInfo, Sentence


def docs(index: IndexOption = DEFAULT_INDEX, as_json: JsonOption = False) -> None:
    """List the documents of the index.

    Example: `quoth docs --json`
    """
    documents = open_quoth(index).documents()
    if as_json:
        for info in documents:
            typer.echo(json_line(document_json(info)))
        return
    from rich.markup import escape
    from rich.table import Table

    from quoth.interfaces.cli.terminal import OUT, one_line

    table = Table("document", "sentences", "type", "binding", "effective", "title", box=None, pad_edge=False)
    for info in documents:
        about = info.metadata
        binding = {True: "yes", False: "no", None: ""}[about.is_binding]
        cells = (info.id, str(info.sentences), about.document_type, binding, about.effective_date, about.title)
        table.add_row(*(escape(one_line(cell or "")) for cell in cells))
    OUT.print(table)


def show(
    doc_id: Annotated[
        str, typer.Argument(help="The document's id, as `quoth docs` lists it.", autocompletion=complete_doc_id)
    ],
    index: IndexOption = DEFAULT_INDEX,
    text: Annotated[bool, typer.Option("--text", help="Print the canonical text, exactly.")] = False,
    sentences: Annotated[bool, typer.Option("--sentences", help="List every sentence with its place.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show a document: what is known about it, its text, or how it was split.

    Example: `quoth show canola/guide.md --sentences --json`
    """
    quoth = open_quoth(index)
    document = quoth.document(doc_id)
    if document is None:
        raise QuothError(f"the index holds no document '{doc_id}'", hint="quoth docs lists the ids.")
    if text:
        sys.stdout.buffer.write(document.text.encode("utf-8"))
    elif sentences:
        _show_sentences(quoth.sentences(doc_id), as_json=as_json)
    else:
        info = next(one for one in quoth.documents() if one.id == doc_id)
        _show_about(document, info, as_json=as_json)


def _show_sentences(sentences: tuple[Sentence, ...], *, as_json: bool) -> None:
    for sentence in sentences:
        if as_json:
            typer.echo(json_line(sentence_json(sentence)))
            continue
        span = sentence.quote.span
        about = [sentence.kind.value, " > ".join(sentence.section), *main_tags(sentence.tags).values()]
        typer.echo(f"{span.start}-{span.end}\t{' · '.join(one for one in about if one)}\t{sentence.text!r}")


def _show_about(document: Document, info: DocumentInfo, *, as_json: bool) -> None:
    about = document_json(info)
    if as_json:
        typer.echo(json_line(about))
        return
    for key, value in about.items():
        if value not in (None, [], {}):
            typer.echo(f"{key:<15} {value}")
    typer.echo(f"{'first line':<15} {next((line for line in document.text.splitlines() if line.strip()), '')!r}")


def status(index: IndexOption = DEFAULT_INDEX, as_json: JsonOption = False) -> None:
    """What the index holds, which model and profile made it, and how much room it takes.

    Example: `quoth status --json`
    """
    info = open_quoth(index).info
    about: dict[str, Any] = {
        "index": str(index),
        "documents": info.documents,
        "sentences": info.sentences,
        "profile": info.profile_name,
        "model": info.model.name,
        "revision": info.model.revision,
        "precision": info.model.precision,
        "dimension": info.model.dimension,
        "generation": info.generation,
        "format": info.format,
        "digest": info.digest,
        "bytes": _size(index),
    }
    if as_json:
        typer.echo(json_line(about))
    else:
        for key, value in about.items():
            typer.echo(f"{key:<11} {value:,}" if key in {"documents", "sentences", "bytes"} else f"{key:<11} {value}")


def _size(folder: Path) -> int:
    """Bytes of the files below a folder; a file that a writer removes meanwhile counts for nothing."""
    total = 0
    for inside, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += Path(inside, name).stat().st_size
    return total
