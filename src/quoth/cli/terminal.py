"""Answers for people at a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from quoth.corpus.authority import supersessions
from quoth.render import main_tags
from quoth.select.late import word_matches
from quoth.types import Abstention, Answer, Asked, Citation, Confidence, Conflict, Outcome


class OutputConsole(Console):
    """A console on stdout that leaves a broken pipe to whoever runs the command, as every other output does."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


# Emoji codes stay as they are: `:x:` in a quote must not become a picture.
OUT = OutputConsole(highlight=False, emoji=False)


def print_outcome(outcome: Outcome) -> None:
    """The quotes with their sources, or the reason for abstaining and what came nearest."""
    for warning in outcome.notes.warnings:
        OUT.print(f"[yellow]{escape(one_line(warning))}[/yellow]\n")
    calibrated = "" if outcome.notes.calibrated else ", not calibrated"
    match outcome:
        case Answer():
            if outcome.unsupported_parts:
                OUT.print(
                    "[bold]Only a part of the question is answered.[/bold] "
                    f"No evidence for: {escape(one_line('; '.join(outcome.unsupported_parts)))}.\n"
                )
            for number, citation in enumerate(in_reading_order(outcome.citations), 1):
                _print_citation(number, citation)
            print_conflicts(outcome.conflicts)
            OUT.print(f"[dim]confidence {outcome.confidence:.2f}{calibrated}[/dim]")
        case Abstention():
            OUT.print(f"[bold]No answer.[/bold] {escape(one_line(outcome.objection.detail))}")
            if outcome.missing:
                OUT.print(f"No evidence for: {escape(one_line('; '.join(outcome.missing)))}.")
            OUT.print(f"[dim]reason {outcome.objection.reason}, confidence {outcome.confidence:.2f}{calibrated}[/dim]")
            if outcome.nearest:
                OUT.print("\nThe nearest that was found, which does not answer the question:")
            for number, citation in enumerate(outcome.nearest, 1):
                _print_citation(number, citation)


def in_reading_order(citations: tuple[Citation, ...]) -> list[Citation]:
    """Best first, but a sentence and its companions as they follow each other in the document."""
    places = {citation.sentence.id: place for place, citation in enumerate(citations)}
    return sorted(
        citations,
        key=lambda one: (
            places.get(one.companion_of or one.sentence.id, places[one.sentence.id]),
            one.sentence.quote.span,
        ),
    )


def _print_citation(number: int, citation: Citation) -> None:
    sentence = citation.sentence
    lead = f"[dim]{escape(one_line(sentence.lead.text))}[/dim]\n" if sentence.lead else ""
    OUT.print(Padding(f"{lead}[bold]{escape(one_line(sentence.text))}[/bold]", (0, 0, 0, 4)))
    span = sentence.quote.span
    place = f"{sentence.doc_id}[{span.start}:{span.end}]"
    if citation.authority:
        title = citation.metadata.title or sentence.doc_id
        about = [place, place_line(title, sentence.section, sentence.page, citation.authority)]
    else:
        about = [place]
        about += [f"page {sentence.page}"] if sentence.page else []
        about += [" > ".join(sentence.section)] if sentence.section else []
    if sentence.ocr is not None:
        about.append(f"read from a picture, {sentence.ocr:.0%} sure")
    about += [f"{facet} {value}" for facet, value in main_tags(sentence.tags).items() if value != "other"]
    about += [f"superseded by {one.by}" for one in supersessions(citation.metadata, sentence.section)]
    OUT.print(Padding(f"[cyan]\\[{number}][/cyan] [dim]{escape(one_line(' · '.join(about)))}[/dim]", (0, 0, 0, 4)))
    OUT.print(Padding(f"{escape(one_line(citation.why))}\n" if citation.why else "", (0, 0, 0, 4)))


def place_line(title: str, section: tuple[str, ...], page: int | None, authority: str | None) -> str:
    """Where something stands and what it is worth: `Design Guidelines, Chapter 4 > 4.2 Fencing, p. 42 [guidance]`."""
    where = [title, *([" > ".join(section)] if section else []), *([f"p. {page}"] if page else [])]
    return ", ".join(where) + (f" [{authority}]" if authority else "")


def print_conflicts(conflicts: Sequence[Conflict]) -> None:
    for conflict in conflicts:
        OUT.print(f"[bold red]Conflict[/bold red] about {escape(one_line(conflict.subject))}: ", end="")
        OUT.print(f"{escape(one_line(conflict.detail))}\n")


def one_line(text: str) -> str:
    """Soft-wrapped lines joined, and nothing that could drive the terminal; for the eye only, never for a citation."""
    joined = " ".join(text.split())
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in joined)


def print_trace(asked: Asked) -> None:
    """Every stage with its scores."""
    trace, analysis = asked.trace, asked.trace.analysis
    OUT.print("\n[bold]How it came about[/bold]")
    OUT.print(f"kind      {analysis.kind} (lexical {analysis.alpha_lexical:.2f}, dense {analysis.alpha_semantic:.2f})")
    OUT.print(f"terms     {escape(one_line(', '.join(' = '.join(group) for group in analysis.terms)))}")
    OUT.print(
        f"tags      {', '.join(f'{facet} {value}' for facet, found in analysis.tags.items() for value in found) or '-'}"
    )
    presumed = one_line(", ".join(f"{one.kind} {one.text}" for one, *_ in analysis.entities))
    OUT.print(f"presumes  {escape(presumed) or '-'}")
    for cover in trace.parts:
        said = cover.objection.detail if cover.objection else f"{len(cover.evidence)} sentences"
        OUT.print(f"part      {escape(one_line(f'{cover.part.text}: {said}'))}")
    OUT.print(f"found     {asked.outcome.notes.k_initial} candidates, {len(trace.ranked)} kept")
    table = Table("", "lexical", "dense", "fused", "rerank", "order", "sentence", box=None, pad_edge=False)
    chosen = {one.sentence.id for one in trace.selection.evidence}
    for one in trace.ranked:
        scores = (one.candidate.lexical, one.candidate.dense, one.fused, one.relevance, one.order)
        mark = "*" if one.sentence.id in chosen else ""
        table.add_row(mark, *(f"{score:.3f}" for score in scores), escape(one_line(one.sentence.text)[:90]))
    OUT.print(table)
    _print_matches(asked)
    OUT.print(f"redundancy {trace.selection.redundancy_before:.2f} -> {trace.selection.redundancy_after:.2f}")
    _print_confidence(trace.confidence)
    for name, objection in trace.objections:
        OUT.print(f"check     {name}: {escape(objection.detail) if objection else 'passed'}")


def _print_matches(asked: Asked) -> None:
    """Each word of the question with its best match in the best sentences: the least matched are what is missing."""
    matched = word_matches(asked.trace.probe, asked.trace.ranked)
    if matched:
        OUT.print("matched   " + escape(one_line(", ".join(f"{word} {likeness:.2f}" for word, likeness in matched))))


def _print_confidence(confidence: Confidence) -> None:
    """The parts of the confidence, and what each adds to the log odds."""
    made = ", ".join(f"{name} {value:.2f}" for name, value in confidence.parts.items())
    OUT.print(f"confidence {confidence.value:.3f} from {made or 'nothing'}")
    if confidence.terms:
        terms = " ".join(f"{value:+.2f} {name}" for name, value in confidence.terms.items())
        OUT.print(f"log odds  {sum(confidence.terms.values()):+.2f} = {terms}")
