"""`quoth ask`."""

from __future__ import annotations

import sys
import time
from typing import Annotated

import typer

from quoth.interfaces.cli.options import (
    DEFAULT_INDEX,
    AsOfOption,
    ConfigOption,
    DocOption,
    IndexOption,
    JsonOption,
    SetOption,
    TagOption,
    TypeOption,
    open_quoth,
    tag_filters,
)
from quoth.render import json_line, outcome_json, trace_json


def command(
    question: Annotated[str, typer.Argument(help="The question, or - to read it from standard input.")],
    index: IndexOption = DEFAULT_INDEX,
    as_json: JsonOption = False,
    doc: DocOption = None,
    tag: TagOption = None,
    document_type: TypeOption = None,
    as_of: AsOfOption = None,
    why: Annotated[bool, typer.Option("--why", help="Show every stage with its scores.")] = False,
    timings: Annotated[bool, typer.Option("--timings", help="Say on stderr how long it took.")] = False,
    config: ConfigOption = None,
    assignments: SetOption = None,
) -> None:
    """Answer a question with verbatim, cited sentences, or say why not.

    Example: `quoth ask "What soil pH is best for canola?" --why`
    """
    started = time.perf_counter()
    quoth = open_quoth(index, config=config, assignments=assignments)
    text = sys.stdin.read().strip() if question == "-" else question
    opened = time.perf_counter()
    asked = quoth.explain(
        text, doc_ids=doc or (), tags=tag_filters(tag), document_types=document_type or (), as_of=as_of
    )
    answered = time.perf_counter()
    if as_json:
        trace = {"trace": trace_json(asked)} if why else {}
        typer.echo(json_line(outcome_json(asked.outcome) | trace))
    else:
        from quoth.interfaces.cli.terminal import print_outcome, print_trace

        print_outcome(asked.outcome)
        if why:
            print_trace(asked)
    if timings:
        typer.echo(f"opened in {opened - started:.3f} s, answered in {answered - opened:.3f} s", err=True)
