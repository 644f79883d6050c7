"""The regions of a plain text: paragraphs between blank lines, and inside them the lines that stand alone.

A line break is either a soft wrap, where the sentence goes on, or a hard break. What decides is the text itself: the
width it is wrapped at, if it is, and how one line ends and the next begins.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile
from typing import NamedTuple

from quoth.documents.formats.text.contents_pages import contents_runs
from quoth.documents.formats.text.plain_sections import PlainBlock, SectionFinder
from quoth.language.enumerations import ENUMERATOR, Enumeration
from quoth.types import Region, RegionKind, Span

_LINE = re.compile(r"[^\r\n\f\v\x1c-\x1e\x85\u2028\u2029]+")
_LINE_END = re.compile(r"\r\n?|[\n\f\v\x1c-\x1e\x85\u2028\u2029]")
_RULE = re.compile(r"[!-/:-@\[-`{-~·•–—─-╿\s\ufeff]+")
"""A line of these marks alone draws a rule or a blank to fill in; it says nothing."""
_GOES_ON = re.compile(
    r"(?:,|-|\b(?:of|the|and|or|to|by|in|on|with|for|a|an|as|at|from|that|between|this|its|their|any|such|shall|is|are))$"
)
_STOPS = re.compile(r"[.!?:;][\"'”’)\]]*$|;\s*(?:and|or)$")
_BREAKS_LIST = re.compile(r"[.!?:;,][\"'”’)\]]*$|[;,]\s*(?:and|or|and/or)$")
_NUMBER_ONLY = re.compile(
    r"(?:page\s+|p\.\s*)?[-–—(\[\s]*(?:\d{1,4}|[ivxl]{1,6})(?:\s+of\s+\d{1,4})?[-–—)\]\s]*", re.IGNORECASE
)
_DIGITS = re.compile(r"\d+")
_OPEN_END = frozenset("abcdefghijklmnopqrstuvwxyz,")

_NARROWEST, _WIDEST = 40, 160  # columns between which a text counts as wrapped
_MOST_FURNITURE = 4  # lines of page furniture inside one sentence
_LONGEST_FURNITURE = 120  # code points
_LEAST_CENTRED, _OFF_CENTRE = 8, 4  # columns
_FULL_SHARE = 0.5  # of the lines inside blocks must reach near the width


class _TextLine(NamedTuple):
    text: str
    """Without surrounding white space."""
    start: int
    """The offset of its first visible character."""
    end: int
    column: int
    """Where the line ends, its indent included."""
    opens_block: bool
    """Whether a blank line, or the start of the text, comes before it."""

    @property
    def indent(self) -> int:
        return self.column - (self.end - self.start)


def plain_blocks(text: str) -> Iterator[Region]:
    """Yield the regions of a plain text in reading order; rules and byte order marks are left out."""
    blocks = [block for block in _blocks(_lines(text)) if not _RULE.fullmatch(text, block.span.start, block.span.end)]
    finder = SectionFinder(text, blocks)
    enumeration = Enumeration()
    for at, block in enumerate(blocks):
        kind, section = finder.place(at)
        lead: Span | None = None
        if kind is not RegionKind.CONTENTS:
            mark = ENUMERATOR.match(text, block.span.start, block.span.end)
            lead = enumeration.follow(text, block.span, mark)
            if mark is not None and kind is RegionKind.PARAGRAPH:
                kind = RegionKind.LIST_ITEM
        yield Region(block.span, kind, section, lead=None if kind is RegionKind.HEADING else lead)


def _blocks(lines: Sequence[_TextLine]) -> Iterator[PlainBlock]:
    """Yield tables of contents whole, and the rest as runs of lines joined by soft wraps."""
    width, repeated = _wrap_width(lines), _repeated(lines)
    at = 0
    for run in contents_runs([line.text for line in lines]):
        yield from _joined(lines[at : run.start], width, repeated)
        span = Span(lines[run.start].start, lines[run.stop - 1].end)
        yield PlainBlock(span, contents=True, centred=False)
        at = run.stop
    yield from _joined(lines[at:], width, repeated)


def _lines(text: str) -> list[_TextLine]:
    lines: list[_TextLine] = []
    last_end = 0
    for found in _LINE.finditer(text, text.startswith("\ufeff")):
        line = found.group()
        visible = line.strip()
        if visible:
            start = found.start() + len(line) - len(line.lstrip())
            end = start + len(visible)
            line_ends = _LINE_END.findall(text, last_end, start)
            opens_block = not lines or len(line_ends) > 1
            lines.append(_TextLine(visible, start, end, end - found.start(), opens_block))
            last_end = end
    return lines


def _wrap_width(lines: Sequence[_TextLine]) -> int | None:
    """Return the column at which the text is wrapped, None when its lines are whole paragraphs."""
    inner = sorted(line.column for line, following in pairwise(lines) if not following.opens_block)
    if not inner:
        return None
    width = inner[int(0.95 * (len(inner) - 1))]
    if not _NARROWEST <= width <= _WIDEST:
        return None
    full = sum(1 for column in inner if column >= 0.75 * width)
    return width if full >= _FULL_SHARE * len(inner) else None


def _joined(lines: Sequence[_TextLine], width: int | None, repeated: frozenset[str]) -> Iterator[PlainBlock]:
    """Yield runs of lines joined by soft wraps."""
    index = 0
    while index < len(lines):
        first = lines[index]
        while (following := _continuation(lines, index, first=first, width=width, repeated=repeated)) is not None:
            index = following
        alone = (
            lines[index] is first and first.opens_block and (index + 1 == len(lines) or lines[index + 1].opens_block)
        )
        span = Span(first.start, lines[index].end)
        yield PlainBlock(span, contents=False, centred=alone and _centred(first, width))
        index += 1


def _centred(line: _TextLine, width: int | None) -> bool:
    """Return whether a line stands in the middle of the page."""
    if width is None or line.indent < _LEAST_CENTRED:
        return False
    return abs(line.indent - (width - line.column)) <= _OFF_CENTRE


def _continuation(
    lines: Sequence[_TextLine], index: int, *, first: _TextLine, width: int | None, repeated: frozenset[str]
) -> int | None:
    """Return the line on which the text that began on the `first` line goes on, None when it may end here."""
    line, following = lines[index], index + 1
    below = lines[following] if following < len(lines) and not lines[following].opens_block else None
    if below is not None and (_hangs(first, below) or _soft(line, below, width)):
        return following
    if line.text[-1] not in _OPEN_END:
        return None
    behind = lines[following : following + _MOST_FURNITURE]
    following += sum(1 for _ in takewhile(lambda other: _furniture(other, repeated), behind))
    return following if following < len(lines) and _runs_on(line, lines[following]) else None


def _repeated(lines: Sequence[_TextLine]) -> frozenset[str]:
    """Return the lines, digits masked, that come again on every page."""
    short = (line for line in lines if line.opens_block and len(line.text) <= _LONGEST_FURNITURE)
    counts = Counter(_DIGITS.sub("0", line.text) for line in short)
    return frozenset(masked for masked, count in counts.items() if count >= 3)


def _furniture(line: _TextLine, repeated: frozenset[str]) -> bool:
    """Return whether a line belongs to the page (its number, a running title) and not to the text."""
    return _NUMBER_ONLY.fullmatch(line.text) is not None or _DIGITS.sub("0", line.text) in repeated


def _runs_on(line: _TextLine, following: _TextLine) -> bool:
    """Return whether a sentence continues over a page break or a blank line: `In no` / `event will the Agent be
    liable`.

    Half of such a sentence can say its opposite, so it is quoted whole, with what lies in between.
    """
    this = line.text[-40:]
    return (
        line.column >= _NARROWEST
        and not this.isupper()
        and (following.text[0].islower() or _GOES_ON.search(this) is not None)
        and ENUMERATOR.match(following.text) is None
    )


def _hangs(first: _TextLine, line: _TextLine) -> bool:
    """Return whether a line is indented below the enumerator of its item."""
    below = line.indent > first.indent and ENUMERATOR.match(first.text) is not None
    return below and ENUMERATOR.match(line.text) is None


def _soft(line: _TextLine, following: _TextLine, width: int | None) -> bool:
    """Return whether the sentence may continue from one line to the next."""
    this, after = line.text, following.text
    if any(_NUMBER_ONLY.fullmatch(part) or _RULE.fullmatch(part) for part in (this, after)):
        return False
    full = width is not None and line.column + 1 + len(after.split(maxsplit=1)[0]) > width
    mark = ENUMERATOR.match(after)
    if mark is not None:
        return _number_goes_on(this, after[mark.end() :].lstrip(), mark, full=full)
    if after[0].islower():
        return full or not _STOPS.search(this)
    if this.isupper() and not after.isupper():
        return False  # a title in capitals, then text
    if full:
        return True
    return width is None and line.column >= _NARROWEST and _GOES_ON.search(this) is not None


def _number_goes_on(this: str, content: str, mark: re.Match[str], *, full: bool) -> bool:
    """Return whether a line that begins with a number goes on with the sentence: `Section` / `4.2 of the`."""
    goes_on = content[:1].islower()
    amount = mark["level"] is not None and goes_on and full
    if mark["bullet"] is not None or (_BREAKS_LIST.search(this) and not amount):
        return False
    return goes_on or full
