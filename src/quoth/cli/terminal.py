"""Answers and retrievals for people at a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Column, Table
from rich.text import Text

from quoth.answer.near_misses import is_unlikely, says_more
from quoth.cli.user_language import counted, said, tr
from quoth.domain.authority import supersessions
from quoth.language.display import display_parts, one_line
from quoth.output.citation_label import section_label, source_labels
from quoth.output.render import main_tags
from quoth.search.reranking import word_matches
from quoth.types import (
    Abstention,
    Answer,
    AskResult,
    Citation,
    Confidence,
    Conflict,
    Metadata,
    Outcome,
    Outlook,
    QuoteRole,
    Remark,
    Sentence,
    Span,
    term,
)


class OutputConsole(Console):
    """A console on stdout that raises `BrokenPipeError`, which the command line handles for all output."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


# Emoji codes stay as they are: `:x:` in a quote must not become a picture.
OUT = OutputConsole(highlight=False, emoji=False)


def plain(text: str) -> str:
    """Return a text as one line of markup that shows it as it is."""
    return escape(one_line(text))


def print_table(
    headings: Iterable[str], rows: Iterable[Iterable[str]], *, fold: bool = False, console: Console = OUT
) -> None:
    """Print rows of markup in columns without lines; with `fold`, a cell that is too wide goes on below."""
    columns = (Column(heading, overflow="fold" if fold else "ellipsis") for heading in headings)
    table = Table(*columns, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*row)
    console.print(table)


def print_indented(markup: str) -> None:
    """Print markup four columns to the right; no line ends with spaces, which a copy of the text would hold."""
    for line in OUT.render_str(markup).wrap(OUT, OUT.width - 4):
        line.rstrip()
        OUT.print(Text("    ").append_text(line), soft_wrap=True)


def print_outcome(outcome: Outcome, *, offsets: bool = False, see_also: bool = False) -> None:
    """Print the quotes with their sources, or the reason for abstaining and the evidence that may be relevant.

    With `offsets`, each source is followed by its file, the exact place in it and the tags of the sentence. With
    `see_also`, what else is near the question follows.
    """
    for warning in outcome.notes.warnings:
        OUT.print(f"[yellow]{plain(said(warning))}[/yellow]\n")
    match outcome:
        case Answer():
            if outcome.unsupported_parts:
                partly, parts = tr("Only a part of the question is answered."), "; ".join(outcome.unsupported_parts)
                OUT.print(f"[bold]{partly}[/bold] {plain(tr('No evidence for: {parts}.', parts=parts))}\n")
            _print_citations(in_reading_order(outcome.citations), offsets=offsets)
            print_conflicts(outcome.conflicts)
            if see_also and outcome.see_also:
                print_see_also(outcome, offsets=offsets)
            OUT.print(f"[dim]{_confidence(outcome)}[/dim]")
        case Abstention():
            relevant = outcome.outlook is Outlook.MAY_BE_RELEVANT
            detail = outcome.objection.detail
            OUT.print(f"[bold]{tr('May be relevant.') if relevant else tr('No answer.')}[/bold]", end="")
            OUT.print(f" {plain(said(detail))}", end="")
            if unnamed := [text for text in outcome.missing if text not in detail]:
                OUT.print(f" {plain(tr('No evidence for: {parts}.', parts='; '.join(unnamed)))}", end="")
            shown = numbered_quotes(outcome) if see_also else shown_near_misses(outcome)
            OUT.print("\n" if relevant or not shown else f" {tr('The nearest, not given as an answer:')}\n")
            _print_citations(shown, offsets=offsets, beside=detail)
            OUT.print(f"[dim]{outcome.objection.reason}, {_confidence(outcome)}[/dim]")


def _confidence(outcome: Outcome) -> str:
    if outcome.notes.calibrated:
        return tr("confidence {confidence:.2f}", confidence=outcome.confidence)
    return tr("confidence {confidence:.2f}, not calibrated", confidence=outcome.confidence)


def print_see_also(outcome: Outcome, *, offsets: bool = False) -> None:
    """Print what else is near the question, with the numbers after those of the quotes."""
    shown = len(outcome.citations) if isinstance(outcome, Answer) else len(shown_near_misses(outcome))
    OUT.print(tr("See also, no part of the answer:"))
    _print_citations(numbered_quotes(outcome)[shown:], offsets=offsets, after=shown)


def shown_near_misses(abstention: Abstention) -> tuple[Citation, ...]:
    """Return the near misses that people read: the best one, and others that are not far less likely to answer.

    The line that introduces the list of another one stands above it already.
    """
    best = abstention.nearest[:1]
    if abstention.outlook is Outlook.NOTHING:
        return best
    leads = {(near.sentence.doc_id, near.sentence.lead) for near in abstention.nearest}
    others = (near for near in abstention.nearest[1:] if not (is_unlikely(near) and 2 * near.score < best[0].score))
    return *best, *(near for near in others if (near.sentence.doc_id, near.sentence.quote) not in leads)


def numbered_quotes(outcome: Outcome) -> list[Citation]:
    """Return the quotes and what else is near, in the order of their numbers on the terminal."""
    if isinstance(outcome, Answer):
        return [*in_reading_order(outcome.citations), *outcome.see_also]
    shown = shown_near_misses(outcome)
    return [*shown, *(near for near in outcome.nearest if near not in shown)]


def in_reading_order(citations: tuple[Citation, ...]) -> list[Citation]:
    """Sort best first, but a sentence and its companions in document order; those from other sections come last."""
    places = {citation.sentence.id: place for place, citation in enumerate(citations)}

    def order(citation: Citation) -> tuple[int, bool, Span]:
        sentence = citation.sentence
        place = places.get(citation.companion_of or sentence.id, places[sentence.id])
        head = citations[place].sentence
        elsewhere = (sentence.doc_id, sentence.section) != (head.doc_id, head.section)
        return place, elsewhere, sentence.quote.span

    return sorted(citations, key=order)


def _print_citations(citations: Sequence[Citation], *, offsets: bool, after: int = 0, beside: str = "") -> None:
    """Print quotes with their sources, numbered `after` others; `beside` is what was said of all of them."""
    before: Sentence | None = None
    for number, (citation, label) in enumerate(zip(citations, source_labels(citations), strict=True), after + 1):
        sentence = citation.sentence
        # The lead that a quote shares with the one before stands there already.
        shared = before is not None and (before.doc_id, before.lead) == (sentence.doc_id, sentence.lead)
        lead = f"[dim]{plain(citation.lead_display)}[/dim]\n" if citation.lead_display and not shared else ""
        print_indented(lead + _marked(display_parts(sentence, citation.display, citation.highlights)))
        about = [label, *filter(None, [authority_label(citation.authority, citation.metadata)])]
        about += [] if sentence.ocr is None else [tr("read from a picture, {sure:.0%} sure", sure=sentence.ocr)]
        about += [tr("superseded by {by}", by=by) for by in _successors(citation)]
        if citation.also:
            about.append(tr("also in {places}", places=tuple(_place_name(other, sentence) for other in citation.also)))
        about += [tr("context")] if citation.role is QuoteRole.CONTEXT and not (citation.why or after) else []
        if offsets:
            about.append(f"{sentence.doc_id}[{sentence.quote.span.start}:{sentence.quote.span.end}]")
            about += [f"{facet} {value}" for facet, value in main_tags(sentence.tags).items() if value != "other"]
        print_indented(f"[cyan]\\[{number}][/cyan] [dim]{plain(' · '.join(about))}[/dim]")
        if citation.why and says_more(citation.why, beside + " ".join(about)):
            print_indented(plain(said(citation.why)))
        OUT.print()
        before = sentence


def _marked(parts: Sequence[str]) -> str:
    """Return a quote as markup, from its parts: every second one, from the second on, answers."""
    # A part may begin or end with a space, which belongs to the line.
    lines = (escape(one_line(f"|{part}|")[1:-1]) for part in parts)
    return "".join(f"[bold]{line}[/bold]" if number % 2 else line for number, line in enumerate(lines))


def _successors(citation: Citation) -> list[str]:
    return [successor.by for successor in supersessions(citation.metadata, citation.sentence.section)]


def _place_name(place: Sentence, quoted: Sentence) -> str:
    """Return the number or the heading of another place of a quote: `§9.2.3`; with its document if that is another."""
    span = place.quote.span
    name = section_label(place.section[-1]) if place.section else f"[{span.start}:{span.end}]"
    return name if place.doc_id == quoted.doc_id else f"{place.doc_id} {name}"


def authority_label(authority: str | None, metadata: Metadata) -> str | None:
    """Return the authority of a document; `binding, guessed` where it was read from its title."""
    if authority is None or not metadata.type_guessed:
        return authority and said(term(authority))
    return tr("{authority}, guessed", authority=term(authority))


def print_conflicts(conflicts: Sequence[Conflict]) -> None:
    for conflict in conflicts:
        about = tr("about {subject}:", subject=conflict.subject)
        OUT.print(f"[bold red]{tr('Conflict')}[/bold red] {plain(about)} {plain(said(conflict.detail))}\n")


def print_trace(asked: AskResult) -> None:
    """Print every stage with its scores."""
    trace, analysis = asked.trace, asked.trace.analysis
    OUT.print(f"\n[bold]{tr('How it came about')}[/bold]")
    weights = f"(lexical {analysis.alpha_lexical:.2f}, dense {analysis.alpha_semantic:.2f})"
    _print_stage(tr("kind"), f"{analysis.kind} {weights}")
    _print_stage(tr("terms"), plain(", ".join(" = ".join(group) for group in analysis.terms)))
    tags = ", ".join(f"{facet} {value}" for facet, found in analysis.tags.items() for value in found)
    _print_stage(tr("tags"), tags or "-")
    presumed = one_line(", ".join(f"{entity.kind} {entity.text}" for entity, *_ in analysis.entities))
    _print_stage(tr("presumes"), escape(presumed) or "-")
    for cover in trace.sub_answers:
        evidence = counted(len(cover.evidence), "{count} sentences", "{count} sentences")
        result = said(cover.objection.detail) if cover.objection else evidence
        _print_stage(tr("part"), plain(f"{cover.sub_question.text}: {result}"))
    found = tr("{found:d} candidates, {kept:d} kept", found=asked.outcome.notes.k_initial, kept=len(trace.ranked))
    _print_stage(tr("found"), found)
    chosen = {evidence.sentence.id for evidence in trace.selection.evidence}
    rows = []
    for ranked in trace.ranked:
        scores = (ranked.candidate.lexical, ranked.candidate.dense, ranked.fused, ranked.relevance, ranked.order)
        read = ranked.support.features.get("reader") if ranked.support else None
        mark = "*" if ranked.sentence.id in chosen else ""
        figures = (*(f"{score:.3f}" for score in scores), "" if read is None else f"{read:+.1f}")
        rows.append((mark, *figures, escape(one_line(ranked.sentence.text)[:90])))
    print_table(("", "lexical", "dense", "fused", "rerank", "order", "reader", "sentence"), rows)
    _print_matches(asked)
    selection = trace.selection
    _print_stage(tr("redundancy"), f"{selection.redundancy_before:.2f} -> {selection.redundancy_after:.2f}")
    _print_confidence(trace.confidence)
    for name, objection in trace.objections:
        _print_stage(tr("check"), f"{name}: {escape(said(objection.detail)) if objection else tr('passed')}")


def _print_stage(label: str, markup: str) -> None:
    OUT.print(f"{label:<9} {markup}")


def _print_matches(asked: AskResult) -> None:
    """Print each word of the question with its best match in the best sentences: a poorly matched word is missing."""
    matched = word_matches(asked.trace.encoded, asked.trace.ranked)
    if matched:
        _print_stage(tr("matched"), plain(", ".join(f"{word} {likeness:.2f}" for word, likeness in matched)))


_IN_WORDS = {
    "intercept": Remark("what an answer starts with"),
    "support": Remark("how likely the best sentence answers by itself"),
    "gap": Remark("how far it leads the second best"),
    "agreement": Remark("how likely the next best sentences answer"),
    "coverage": Remark("how much of the question the best sentences match"),
    "missing": Remark("names, dates and amounts that the best sentences do not mention"),
    "unknown": Remark("names and dates that the sources never mention"),
    "unused": Remark("how rare a word is that the corpus never uses"),
    "unstated": Remark("amounts that no source states"),
    "unspoken": Remark("units that are asked for and no evidence uses"),
    "opposed": Remark("words whose opposite the evidence has instead"),
}
"""What each feature of the confidence stands for; docs/evidence.md says more."""


def _print_confidence(confidence: Confidence) -> None:
    """Print what speaks for the answer and what against it: the terms of the log odds, in words."""
    _print_stage(tr("confidence"), f"{confidence.value:.3f}")
    for name, odds in confidence.terms.items():
        value = f" ({confidence.features[name]:.2f})" if name in confidence.features else ""
        OUT.print(f"  {odds:+.2f}   {said(_IN_WORDS.get(name, name))}{value}")
