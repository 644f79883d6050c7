"""Retrievals for people at a terminal."""

from __future__ import annotations

from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from quoth.interfaces.cli.terminal import OUT, one_line, place_line, print_conflicts
from quoth.types import FoundPassage, Retrieval, Retrieved, Status

_EXCERPT = 400
"""Characters of a passage that are shown around its best sentence."""


def print_retrieval(retrieval: Retrieval) -> None:
    """The passages, best first, each with its place, what it is worth and its scores."""
    if retrieval.message:
        OUT.print(f"[bold]Nothing found.[/bold] {escape(one_line(retrieval.message))}")
    if retrieval.warning:
        OUT.print(f"[yellow]{escape(one_line(retrieval.warning))}[/yellow]\n")
    for number, one in enumerate(retrieval.passages, 1):
        _print_passage(number, one)
    print_conflicts(retrieval.conflicts)
    OUT.print(f"[dim]{escape(_summary(retrieval))}[/dim]")


def _print_passage(number: int, one: FoundPassage) -> None:
    line = place_line(
        one.document.metadata.title or one.document.id, one.passage.section, one.passage.page, one.authority
    )
    OUT.print(f"[cyan]\\[{number}][/cyan] [bold]{escape(one_line(line))}[/bold]")
    for replaced in one.superseded_by:
        what = f"{replaced.section} " if replaced.section else ""
        OUT.print(Padding(f"[red]{escape(one_line(f'{what}superseded by {replaced.by}'))}[/red]", (0, 0, 0, 4)))
    if one.successor_of:
        OUT.print(Padding(f"[green]{escape(one_line(f'replaces {one.successor_of}'))}[/green]", (0, 0, 0, 4)))
    OUT.print(Padding(escape(one_line(_excerpt(one))), (0, 0, 0, 4)))
    span = one.passage.span
    about = [f"{one.passage.doc_id}[{span.start}:{span.end}]"]
    about += [one.document.metadata.document_type] if one.document.metadata.document_type else []
    about += [f"in effect {one.document.metadata.effective_date}"] if one.document.metadata.effective_date else []
    about.append(
        f"relevance {one.relevance:.2f} (vector {one.dense:.2f}, full text {one.lexical:.2f}, combined {one.fused:.2f},"
        f" found by {one.source.replace('_', ' ')})"
    )
    OUT.print(Padding(f"[dim]{escape(one_line(' · '.join(about)))}[/dim]\n", (0, 0, 0, 4)))


def _excerpt(one: FoundPassage) -> str:
    """A stretch of the passage that begins with its best sentence."""
    start = one.sentences[0].sentence.quote.span.start - one.passage.span.start
    text = one.content[start : start + _EXCERPT]
    return ("… " if start else "") + text + (" …" if start + _EXCERPT < len(one.content) else "")


def _summary(retrieval: Retrieval) -> str:
    lexical, dense = retrieval.weights
    said = [f"{retrieval.status}", f"{retrieval.kind} question (dense {dense:.2f}, lexical {lexical:.2f})"]
    if retrieval.filters.document_types:
        said.append(f"document type {', '.join(retrieval.filters.document_types)}")
    if retrieval.filters.as_of:
        said.append(f"as of {retrieval.filters.as_of}")
    if retrieval.degraded:
        said.append(f"degraded: {', '.join(retrieval.degraded)}")
    if retrieval.status is not Status.NO_RESULTS:
        blocks = len(retrieval.context.blocks)
        said.append(f"context of {retrieval.context.tokens:,} tokens in {blocks} block{'' if blocks == 1 else 's'}")
    return " · ".join(said)


def print_retrieval_trace(retrieved: Retrieved) -> None:
    """Every passage that was judged, with its scores."""
    trace = retrieved.trace
    chosen = {one.passage.id for one in retrieved.retrieval.passages}
    OUT.print("\n[bold]How it came about[/bold]")
    OUT.print(f"searched  {escape(one_line(trace.analysis.search_text))}")
    OUT.print(f"terms     {escape(one_line(', '.join(' = '.join(group) for group in trace.analysis.terms)))}")
    OUT.print(f"found     {trace.candidates} sentences in {len(trace.passages)} passages, ordered by {trace.reranker}")
    if trace.usage:
        cost = "" if trace.usage.cost is None else f", ${trace.usage.cost:.4f}"
        OUT.print(
            f"model     {escape(one_line(trace.usage.model))}: {trace.usage.prompt_tokens} +"
            f" {trace.usage.completion_tokens} tokens in {trace.usage.attempts} attempts{cost}"
        )
    table = Table("", "vector", "text", "comb.", "relev.", "order", "found by", "passage", box=None, pad_edge=False)
    for one in trace.passages:
        scores = (one.dense, one.lexical, one.fused, one.relevance, one.order)
        mark = "*" if one.passage.id in chosen else ""
        table.add_row(
            mark, *(f"{score:.3f}" for score in scores), one.source.replace("_", " "), escape(one_line(one.passage.id))
        )
    OUT.print(table)
