"""Excerpts: the slices that a context is made of, and how far each must reach."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from quoth.answer.companions import companions_of
from quoth.answer.source_texts import SourceText, SourceTexts
from quoth.language.resolve_reference import shared_headings
from quoth.language.words import count_tokens
from quoth.types import BlockReason, RegionKind, Sentence, Span, Supersession

_REASONS = tuple(BlockReason)
DEFINITION_OF = "definition of "
_FOUND = frozenset({BlockReason.RELEVANT, BlockReason.SUCCESSOR})


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A slice of a document that is to be read. `rank` is its place by worth, 0 for the best.

    `superseded_by` is what is known beforehand; laying out adds what replaces the sections inside.
    """

    doc_id: str
    span: Span
    section: tuple[str, ...]
    page: int | None
    superseded_by: tuple[Supersession, ...]
    passages: tuple[str, ...]
    reason: BlockReason
    because: str
    rank: int

    @property
    def found(self) -> bool:
        """Whether the search found it; an excerpt that was added only explains another."""
        return self.reason in _FOUND


def joined(excerpts: Iterable[Excerpt], sources: SourceTexts) -> list[Excerpt]:
    """Join excerpts that overlap or touch; order them by the best of each document, then by position."""
    places: dict[str, int] = {}
    by_rank = sorted(excerpts, key=lambda excerpt: excerpt.rank)
    for excerpt in by_rank:
        places.setdefault(excerpt.doc_id, len(places))
    done: list[Excerpt] = []
    for excerpt in sorted(by_rank, key=lambda excerpt: (places[excerpt.doc_id], excerpt.span)):
        if done and done[-1].doc_id == excerpt.doc_id and _belong(done[-1], excerpt, sources.source(excerpt.doc_id)):
            done[-1] = _both(done[-1], excerpt)
        else:
            done.append(excerpt)
    return done


def _belong(first: Excerpt, second: Excerpt, source: SourceText) -> bool:
    """Return whether two excerpts of a document make one; the second begins no earlier than the first."""
    if second.span.start < first.span.end:
        return True
    if first.section != second.section or not ((first.found and second.found) or first.reason is second.reason):
        return False
    if not source.sentences:
        return not any(sign.isalnum() for sign in source.document.text[first.span.end : second.span.start])
    between = source.positions(second.span)[0] - source.positions(first.span)[-1] - 1
    # One entry between two definitions costs less than another header.
    return between <= (1 if first.reason is BlockReason.DEFINITION else 0)


def _both(first: Excerpt, second: Excerpt) -> Excerpt:
    """Join two excerpts; the second begins no earlier than the first."""
    return replace(
        first,
        span=Span(first.span.start, max(first.span.end, second.span.end)),
        section=shared_headings([first.section, second.section]),
        superseded_by=tuple(dict.fromkeys((*first.superseded_by, *second.superseded_by))),
        passages=tuple(dict.fromkeys((*first.passages, *second.passages))),
        reason=min(first.reason, second.reason, key=_REASONS.index),
        because="" if first.found or second.found else _because(first, second),
        rank=min(first.rank, second.rank),
    )


def _because(first: Excerpt, second: Excerpt) -> str:
    if first.reason is second.reason is BlockReason.DEFINITION:
        return f"{first.because}, {second.because.removeprefix(DEFINITION_OF)}"
    return f"{first.because}; {second.because}"


MOST_TOKENS = 200
"""About how much is added on one side. A list whose introduction is further off stays without it."""

_GOES_ON = re.compile(r"(?:[;,]|\b(?:and|or|and/or))\W*$", re.IGNORECASE)
_INTRODUCES = re.compile(r":[-–—\s*_]*$")
_LED = frozenset({RegionKind.LIST_ITEM, RegionKind.TABLE_ROW})
_MOST_STEPS = 4


def beginning(source: SourceText, first: int) -> int:
    """Return the position of the sentence at which the thought of the sentence `first` begins."""
    at = first
    for _ in range(_MOST_STEPS):
        before = _needed_before(source, at)
        if before == at or _tokens(source, before, first - 1) > MOST_TOKENS:
            break
        at = before
    return _with_headings(source, at)


def ending(source: SourceText, last: int, *, lists: bool) -> int:
    """Return the position of the sentence that completes what the sentence at position `last` begins.

    Without `lists`, an item that ends with `; and` is complete: in a list of definitions each item stands alone.
    """
    at = last
    lead: Span | None = None
    while at + 1 < len(source.sentences):
        sentence, behind = source.sentences[at], source.sentences[at + 1]
        if sentence.section != behind.section or behind.kind is RegionKind.HEADING:
            break
        if _INTRODUCES.search(sentence.text):
            lead, reach = lead or sentence.quote.span, at + 1
        elif _same_list(lead, behind) or (lists and _GOES_ON.search(sentence.text)):
            reach = at + 1
        elif taken := companions_of(sentence, source.neighbours)[0]:
            reach = source.position_at(taken[-1].quote.span.start)
        else:
            break
        if _tokens(source, last + 1, reach) > MOST_TOKENS:
            break
        at = reach
    return at


def _tokens(source: SourceText, first: int, last: int) -> int:
    return sum(count_tokens(source.sentences[position].text) for position in range(first, last + 1))


def _needed_before(source: SourceText, at: int) -> int:
    sentence = source.sentences[at]
    if sentence.kind in _LED:
        if sentence.lead is not None:
            lead = source.position_at(sentence.lead.span.start)
            return lead if 0 <= lead < at and source.sentences[lead].section == sentence.section else at
        while sentence.kind is RegionKind.LIST_ITEM and at > 0 and _continues(source.sentences[at - 1], sentence):
            at -= 1
        return at
    return at - len(companions_of(sentence, source.neighbours)[1])


def _continues(before: Sentence, item: Sentence) -> bool:
    return before.kind is RegionKind.LIST_ITEM and before.section == item.section


def _with_headings(source: SourceText, at: int) -> int:
    """Include the headings right above a section that is given from its first sentence."""
    section = source.sentences[at].section
    while at > 0 and (above := source.sentences[at - 1]).kind is RegionKind.HEADING:
        if above.section != section[: len(above.section)]:
            break
        at -= 1
    return at


def _same_list(lead: Span | None, item: Sentence) -> bool:
    """Return whether an item belongs to the list that `lead` introduces, or to a list inside it."""
    return lead is not None and item.lead is not None and item.lead.span.start <= lead.start < item.lead.span.end
