"""Titles of numbered clauses, `9.1.7 Parking.`: they name the text behind or below them and are never evidence.

A clause title has the number of a section: several levels (`9.1.7`), a label (`Section 9`), or its place in a series
(`2. Term.` behind `1. Parties.`). Its words are a title, and text that belongs to it follows. It becomes a heading, and
that text gets it as its innermost section.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TypeAlias

from quoth.language.enumerations import ENUMERATOR
from quoth.language.headings import Heading, heading, heading_title
from quoth.language.numbering import follows, holds, plain_number
from quoth.types import Region, RegionKind, Span

SplitRegion: TypeAlias = tuple[Region, tuple[Span, ...]]
"""A region with its sentences."""

_TITLED = frozenset({RegionKind.PARAGRAPH, RegionKind.LIST_ITEM})
_TEXT = _TITLED | {RegionKind.QUOTE}
_ASIDE = frozenset({RegionKind.FURNITURE, RegionKind.MARKUP, RegionKind.FOOTNOTE, RegionKind.CAPTION})
"""Kinds that may stand between a clause title and its text."""
_SERIES = frozenset({"digit", "letter", "roman"})
"""Numbers that lists have too: one alone is no section."""
_COUNTED = frozenset({"digit", "level", "section", "sec", "sect", "clause", "§"})
_WORD = re.compile(r"[^\W\d_]{3}")
_EMPHASIS = "*_ "
_LONGEST = 120
_FEWEST_WORDS = 5
"""Words of a paragraph that can be the text of a clause title above it."""


def with_clause_titles(text: str, split: Sequence[SplitRegion]) -> tuple[SplitRegion, ...]:
    """Return the regions with each clause title as a heading of its own, above the text that it names."""
    cut = [part for region, spans in split for part in _cut(text, region, spans)]
    clauses = _clauses(text, cut)
    return tuple(_placed(text, cut, clauses)) if clauses else tuple(split)


def _cut(text: str, region: Region, spans: tuple[Span, ...]) -> Iterator[SplitRegion]:
    """Yield a region in parts that begin where a sentence may be a clause title: a page can be one paragraph."""
    inner = range(1, len(spans)) if region.kind in _TITLED else ()
    starts = [0, *(at for at in inner if _read(text, spans[at]) is not None)]
    for first, stop in pairwise([*starts, len(spans)]):
        start = spans[first].start if first else region.span.start
        end = spans[stop - 1].end if stop < len(spans) else region.span.end
        yield replace(region, span=Span(start, end)), spans[first:stop]


def _clauses(text: str, split: Sequence[SplitRegion]) -> dict[int, Heading]:
    """Return the clause titles that regions begin with, by the place of the region."""
    read = ((at, _read(text, spans[0])) for at, (region, spans) in enumerate(split) if spans and region.kind in _TITLED)
    found = {at: clause for at, clause in read if clause is not None}
    named = {at: clause for at, clause in found.items() if len(split[at][1]) > 1 or _is_above(text, split, at, found)}
    series = _series(named)
    return {at: clause for at, clause in named.items() if clause.style not in _SERIES or at in series}


def _read(text: str, sentence: Span) -> Heading | None:
    words = _words(text, sentence)
    found = heading(words) if len(words) <= _LONGEST else None
    if found is None or not found.style or _WORD.search(found.words) is None:
        return None
    person = len(found.number) == 1 and found.number.isalpha() and re.search(r"\d", found.words)
    return None if person else found  # `V. Paul Hill, 65.` is no fifth section


def _words(text: str, sentence: Span) -> str:
    return heading_title(text[sentence.start : sentence.end].strip(_EMPHASIS))


def _is_above(text: str, split: Sequence[SplitRegion], at: int, found: dict[int, Heading]) -> bool:
    """Return whether a clause title that stands alone is followed by its text, perhaps below a title inside it."""
    clause, section = found[at], split[at][0].section
    below = next((later for later in range(at + 1, len(split)) if split[later][0].kind not in _ASIDE), len(split))
    if below == len(split):
        return False
    region, spans = split[below]
    if region.kind not in _TEXT or region.section[: len(section)] != section:
        return False
    inner = found.get(below)
    if inner is not None and len(spans) == 1:
        return holds(clause.number, inner.number) and _is_above(text, split, below, found)
    mark = ENUMERATOR.match(text, region.span.start, region.span.end)
    if mark is not None:
        return not follows(mark[mark.lastgroup or 0], clause.number)
    return len(text[region.span.start : region.span.end].split()) >= _FEWEST_WORDS


def _series(found: dict[int, Heading]) -> set[int]:
    """Return the clause titles whose number goes on with that of the title before or behind it in their style."""
    by_style: dict[str, list[int]] = {}
    for at, clause in found.items():
        by_style.setdefault(clause.style, []).append(at)
    return {
        at
        for places in by_style.values()
        for before, after in pairwise(places)
        if follows(_number(found[after]), _number(found[before]))
        for at in (before, after)
    }


def _number(clause: Heading) -> str:
    return plain_number(clause.number) if clause.style == "roman" else clause.number


def _placed(text: str, split: Sequence[SplitRegion], clauses: dict[int, Heading]) -> Iterator[SplitRegion]:
    """Yield the regions under their clause titles. A heading of the document ends every clause title above it."""
    section: tuple[str, ...] = ()
    outer = section
    opened: list[tuple[Heading, str]] = []
    for at, (region, spans) in enumerate(split):
        if region.section != section:
            section = outer = region.section
            opened.clear()
        clause = clauses.get(at)
        if clause is None:
            _leave_before(text, region, opened)
            yield replace(region, section=(*outer, *(title for _, title in opened))), spans
            continue
        while opened and not _holds(opened, clause):
            opened.pop()
        title = _words(text, spans[0]).rstrip(".: ")
        while outer and not _may_hold(outer[-1], clause):
            outer = outer[:-1]
        if not outer or outer[-1].rstrip(".: ") != title:  # plain text is in the section already
            opened.append((clause, title))
        path = (*outer, *(title for _, title in opened))
        yield Region(Span(region.span.start, spans[0].end), RegionKind.HEADING, path, lead=None), spans[:1]
        if len(spans) > 1:
            yield replace(region, span=Span(spans[1].start, region.span.end), section=path), spans[1:]


def _may_hold(title: str, inner: Heading) -> bool:
    """Return whether a section of the document may hold a clause title: `9.1 Use` holds no `9.2 Enforcement`."""
    outer = heading(title)
    if outer is None or outer.style not in _COUNTED or inner.style not in _COUNTED:
        return True
    return outer.number == inner.number or holds(outer.number, inner.number)


def _leave_before(text: str, region: Region, opened: list[tuple[Heading, str]]) -> None:
    """Leave the clause titles that a text with a number of its own does not stand under: `9.2` ends `9.1.7`."""
    mark = ENUMERATOR.match(text, region.span.start, region.span.end) if opened and region.kind in _TEXT else None
    if mark is None or not mark[mark.lastgroup or 0][0].isdigit():
        return
    number = mark[mark.lastgroup or 0]
    for place, (clause, _) in enumerate(opened):
        outside = "." in number and not holds(clause.number, number)
        if clause.style in _COUNTED and (outside or follows(number, clause.number)):
            del opened[place:]
            return


def _holds(opened: Sequence[tuple[Heading, str]], inner: Heading) -> bool:
    """Return whether the innermost of the open clause titles holds another one."""
    outer = opened[-1][0]
    if inner.style in _COUNTED and outer.style in _COUNTED:
        return holds(outer.number, inner.number)
    if inner.style in _COUNTED and any(clause.style in _COUNTED for clause, _ in opened):
        return False
    return all(clause.style != inner.style for clause, _ in opened)
