"""Retrievals for people at a terminal."""

from __future__ import annotations

from collections.abc import Callable

from rich.markup import escape

from quoth.cli.terminal import OUT, authority_label, plain, print_conflicts, print_indented, print_table
from quoth.types import FoundPassage, Retrieval, RetrieveResult, Status

_EXCERPT = 400
"""Characters of a passage that are printed, from its best sentence on."""


def print_retrieval(retrieval: Retrieval, shown: Callable[[str, str], str]) -> None:
    """Print the passages, best first, each with its location, authority and scores.

    `shown` returns a slice of the document with an id as people read it.
    """
    if retrieval.message:
        OUT.print(f"[bold]Nothing found.[/bold] {plain(retrieval.message)}")
    if retrieval.warning:
        OUT.print(f"[yellow]{plain(retrieval.warning)}[/yellow]\n")
    for number, found in enumerate(retrieval.passages, 1):
        _print_passage(number, found, shown)
    print_conflicts(retrieval.conflicts)
    OUT.print(f"[dim]{escape(_summary(retrieval))}[/dim]")


def _print_passage(number: int, found: FoundPassage, shown: Callable[[str, str], str]) -> None:
    metadata = found.document.metadata
    title = metadata.title or found.document.id
    title += f" ({metadata.byline})" if metadata.byline else ""
    line = place_line(title, found.passage.section, found.passage.page, authority_label(found.authority, metadata))
    OUT.print(f"[cyan]\\[{number}][/cyan] [bold]{plain(line)}[/bold]")
    for replaced in found.superseded_by:
        what = f"{replaced.section} " if replaced.section else ""
        print_indented(f"[red]{plain(f'{what}superseded by {replaced.by}')}[/red]")
    if found.successor_of:
        print_indented(f"[green]{plain(f'replaces {found.successor_of}')}[/green]")
    print_indented(plain(shown(found.passage.doc_id, _excerpt(found))))
    span = found.passage.span
    about = [f"{found.passage.doc_id}[{span.start}:{span.end}]"]
    about += [found.document.metadata.document_type] if found.document.metadata.document_type else []
    about += [f"in effect {found.document.metadata.effective_date}"] if found.document.metadata.effective_date else []
    about.append(
        f"relevance {found.relevance:.2f} (vector {found.dense:.2f}, full text {found.lexical:.2f}, "
        f"combined {found.fused:.2f}, found by {found.source.replace('_', ' ')})"
    )
    print_indented(f"[dim]{plain(' · '.join(about))}[/dim]\n")


def _excerpt(found: FoundPassage) -> str:
    """Return the part of the passage that begins with its best sentence."""
    start = found.sentences[0].sentence.quote.span.start - found.passage.span.start
    text = found.content[start : start + _EXCERPT]
    return ("… " if start else "") + text + (" …" if start + _EXCERPT < len(found.content) else "")


def _summary(retrieval: Retrieval) -> str:
    lexical, dense = retrieval.weights
    summary = [f"{retrieval.status}", f"{retrieval.kind} question (dense {dense:.2f}, lexical {lexical:.2f})"]
    if retrieval.filters.document_types:
        summary.append(f"document type {', '.join(retrieval.filters.document_types)}")
    if retrieval.filters.as_of:
        summary.append(f"as of {retrieval.filters.as_of}")
    if retrieval.degraded:
        summary.append(f"degraded: {', '.join(retrieval.degraded)}")
    if retrieval.status is not Status.NO_RESULTS:
        blocks = len(retrieval.context.blocks)
        summary.append(f"context of {retrieval.context.tokens:,} tokens in {blocks} block{'' if blocks == 1 else 's'}")
    return " · ".join(summary)


def print_retrieval_trace(retrieved: RetrieveResult) -> None:
    """Print every scored passage."""
    trace = retrieved.trace
    chosen = {found.passage.id for found in retrieved.retrieval.passages}
    OUT.print("\n[bold]How it came about[/bold]")
    OUT.print(f"searched  {plain(trace.analysis.search_text)}")
    OUT.print(f"terms     {plain(', '.join(' = '.join(group) for group in trace.analysis.terms))}")
    OUT.print(f"found     {trace.candidates} sentences in {len(trace.passages)} passages, ordered by {trace.reranker}")
    if trace.usage:
        cost = "" if trace.usage.cost is None else f", ${trace.usage.cost:.4f}"
        OUT.print(
            f"model     {plain(trace.usage.model)}: {trace.usage.prompt_tokens} +"
            f" {trace.usage.completion_tokens} tokens in {trace.usage.attempts} attempts{cost}"
        )
    rows = []
    for found in trace.passages:
        scores = (found.dense, found.lexical, found.fused, found.relevance, found.order)
        place = (found.source.replace("_", " "), plain(found.passage.id))
        rows.append(("*" if found.passage.id in chosen else "", *(f"{score:.3f}" for score in scores), *place))
    print_table(("", "vector", "text", "comb.", "relev.", "order", "found by", "passage"), rows)


def place_line(title: str, section: tuple[str, ...], page: int | None, authority: str | None) -> str:
    """Return a location and its authority: `Design Guidelines, Chapter 4 > 4.2 Fencing, p. 42 [guidance]`."""
    where = [title, *([" > ".join(section)] if section else []), *([f"p. {page}"] if page else [])]
    return ", ".join(where) + (f" [{authority}]" if authority else "")
