"""`quoth retrieve`."""

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
from quoth.render import json_line
from quoth.render_retrieval import retrieval_json, retrieval_trace_json


def command(
    question: Annotated[str, typer.Argument(help="The question, or - to read it from standard input.")],
    index: IndexOption = DEFAULT_INDEX,
    as_json: JsonOption = False,
    context: Annotated[bool, typer.Option("--context", help="Print only the context, as an agent reads it.")] = False,
    doc: DocOption = None,
    tag: TagOption = None,
    document_type: TypeOption = None,
    all_types: Annotated[
        bool, typer.Option("--all-types", help="Search every document type, whatever the question names.")
    ] = False,
    as_of: AsOfOption = None,
    most: Annotated[int | None, typer.Option("--max", min=1, max=100, help="At most so many passages.")] = None,
    why: Annotated[bool, typer.Option("--why", help="Show every passage that was judged, with its scores.")] = False,
    timings: Annotated[bool, typer.Option("--timings", help="Say on stderr how long each stage took.")] = False,
    config: ConfigOption = None,
    assignments: SetOption = None,
) -> None:
    """Find the passages that an agent, or a person, should read, with what they are worth and where they stand.

    Example: `quoth retrieve "How high may a fence be?" --as-of 2021-06-01 --context`
    """
    if as_json and context:
        raise typer.BadParameter("choose one of --json and --context; the JSON holds the context")
    given = [*(assignments or ()), *(["retrieval.detect_types=false"] if all_types else [])]
    started = time.perf_counter()
    quoth = open_quoth(index, config=config, assignments=given)
    text = sys.stdin.read().strip() if question == "-" else question
    marks = [("open", time.perf_counter())]
    retrieved = quoth.explain_retrieval(
        text,
        doc_ids=doc or (),
        tags=tag_filters(tag),
        document_types=document_type or (),
        as_of=as_of,
        most=most,
        done=lambda stage: marks.append((stage, time.perf_counter())),
    )
    if as_json:
        trace = {"trace": retrieval_trace_json(retrieved)} if why else {}
        typer.echo(json_line(retrieval_json(retrieved.retrieval) | trace))
    elif context:
        typer.echo(retrieved.retrieval.context.text, nl=False)
        _warn(retrieved.retrieval.message, retrieved.retrieval.warning)
    else:
        from quoth.interfaces.cli.retrieved import print_retrieval, print_retrieval_trace

        print_retrieval(retrieved.retrieval)
        if why:
            print_retrieval_trace(retrieved)
    if timings:
        times = [started, *(at for _, at in marks)]
        took = (f"{stage} {1000 * (end - start):.1f} ms" for (stage, end), start in zip(marks, times, strict=False))
        typer.echo(", ".join(took), err=True)


def _warn(*said: str | None) -> None:
    for one in said:
        if one:
            typer.echo(f"note: {one}", err=True)
