"""Whole thoughts: how far a run of sentences must reach so that it neither begins nor ends in the middle of one."""

from __future__ import annotations

import re
from bisect import bisect_right

from quoth.context.sources import Source
from quoth.select.companions import companions_of
from quoth.text.tokens import count_tokens
from quoth.types import RegionKind, Sentence, Span

MOST_TOKENS = 200
"""About how much is added on one side. A list whose introduction is further off stays without it."""

_GOES_ON = re.compile(r"(?:[;,]|\b(?:and|or|and/or))\W*$", re.IGNORECASE)
_INTRODUCES = re.compile(r":[-–—\s*_]*$")
_LED = frozenset({RegionKind.LIST_ITEM, RegionKind.TABLE_ROW})
_MOST_STEPS = 4


def beginning(source: Source, first: int) -> int:
    """The ordinal from which the thought is whole that the sentence `first` belongs to."""
    at = first
    for _ in range(_MOST_STEPS):
        before = _needed_before(source, at)
        if before == at or _tokens(source, before, first - 1) > MOST_TOKENS:
            break
        at = before
    return _with_headings(source, at)


def ending(source: Source, last: int, *, lists: bool) -> int:
    """The ordinal up to which the thought is whole that the sentence `last` belongs to.

    Without `lists` an item that ends with `; and` is whole: in a list of definitions each stands alone.
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
            reach = bisect_right(source.starts, taken[-1].quote.span.start) - 1
        else:
            break
        if _tokens(source, last + 1, reach) > MOST_TOKENS:
            break
        at = reach
    return at


def _tokens(source: Source, first: int, last: int) -> int:
    return sum(count_tokens(source.sentences[place].text) for place in range(first, last + 1))


def _needed_before(source: Source, at: int) -> int:
    sentence = source.sentences[at]
    if sentence.kind in _LED:
        if sentence.lead is not None:
            lead = bisect_right(source.starts, sentence.lead.span.start) - 1
            return lead if 0 <= lead < at and _is_near(source.sentences[lead], sentence) else at
        while sentence.kind is RegionKind.LIST_ITEM and at > 0 and _continues(source.sentences[at - 1], sentence):
            at -= 1
        return at
    return at - len(companions_of(sentence, source.neighbours)[1])


def _is_near(lead: Sentence, sentence: Sentence) -> bool:
    return lead.section == sentence.section


def _continues(before: Sentence, item: Sentence) -> bool:
    return before.kind is RegionKind.LIST_ITEM and before.section == item.section


def _with_headings(source: Source, at: int) -> int:
    """A section that is given from its first sentence is given with the headings right above it."""
    section = source.sentences[at].section
    while at > 0 and (above := source.sentences[at - 1]).kind is RegionKind.HEADING:
        if above.section != section[: len(above.section)]:
            break
        at -= 1
    return at


def _same_list(lead: Span | None, item: Sentence) -> bool:
    """Whether an item belongs to the list that `lead` introduces, or to one inside it."""
    return lead is not None and item.lead is not None and item.lead.span.start <= lead.start < item.lead.span.end
