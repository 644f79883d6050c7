"""Join the blocks that an extractor found into one text, with the section and the lead-in of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from quoth.documents.named_parts import Piece, named_parts
from quoth.language.boundaries import last_sentence
from quoth.language.enumerations import ENUMERATOR, Enumeration, introduction
from quoth.language.headings import LABELLED, SectionPath
from quoth.language.spans import trim
from quoth.types import Region, RegionKind, Span

CELL_GAP = " | "
"""Between the cells of a table row."""

_GAP = "\n\n"
_INTRODUCTORY = frozenset({RegionKind.PARAGRAPH, RegionKind.QUOTE})
_LINES = frozenset({RegionKind.HEADING, RegionKind.LIST_ITEM})
"""Kinds that introduce a list of their own only when they end in a colon or a dash."""
_ASIDE = frozenset({RegionKind.FURNITURE, RegionKind.MARKUP, RegionKind.CAPTION, RegionKind.FOOTNOTE})
"""Kinds that stand beside the text: a list or a table goes on after them."""
_TABLE = frozenset({RegionKind.TABLE_HEADER, RegionKind.TABLE_ROW})
_OPEN_ENDS = frozenset(":—–")
_LETTER = re.compile(r"[^\W\d_]")
_LONGEST_HEADER = 600
"""Code points that the header rows of a table may take together."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a document as an extractor sees it, before it has offsets in the text.

    `level` is the rank of a heading (1 is the highest) or the depth of a list item (1 is the outermost), else 0.
    `opens` marks the first item of a list and the first row of a table. Line ends inside `text` are kept.
    """

    kind: RegionKind
    text: str
    level: int
    opens: bool


@dataclass(frozen=True, slots=True)
class Assembled:
    """The canonical text, its regions, and the offset of each block, None for a block without visible text."""

    text: str
    regions: tuple[Region, ...]
    starts: tuple[int | None, ...]


def assemble(blocks: Sequence[Block]) -> Assembled:
    """Join blocks into one text, and find the section, the lead-in or the table header of each."""
    blocks = _with_named_parts(blocks)
    starts: list[int | None] = []
    texts: list[str] = []
    length = 0
    for block in blocks:
        visible = bool(block.text.strip())
        starts.append(length if visible else None)
        if visible:
            texts += [block.text, _GAP]
            length += len(block.text) + len(_GAP)
    text = "".join(texts[:-1])
    builder = RegionBuilder(text)
    regions = []
    for block, start in zip(blocks, starts, strict=True):
        span = None if start is None else trim(text, start, start + len(block.text))
        if span is not None:
            regions.append(builder.region(block, span))
    return Assembled(text, tuple(regions), tuple(starts))


def _with_named_parts(blocks: Sequence[Block]) -> list[Block]:
    kinds = named_parts([Piece(block.kind, " ".join(block.text.split())) for block in blocks])
    return [
        block if kind is block.kind else replace(block, kind=kind, level=1 if kind is RegionKind.HEADING else 0)
        for block, kind in zip(blocks, kinds, strict=True)
    ]


def row_text(cells: Sequence[str]) -> str:
    """Return a table row as one line. An empty cell keeps its separator unless it is at the end."""
    texts = [" ".join(cell.split()) for cell in cells]
    while texts and not texts[-1]:
        texts.pop()
    return CELL_GAP.join(texts)


class RegionBuilder:
    """Follows the blocks in reading order and makes a region of each."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._outline = SectionPath()
        self._enumeration = Enumeration()
        self._before: Region | None = None
        self._list_leads: list[Span | None] = []
        self._items: list[Region] = []
        """The item that each open list is at, outermost first."""
        self._table_header: Span | None = None
        self._label = ("", 0)
        """The heading before, where it is a label alone, and its rank."""

    def region(self, block: Block, span: Span) -> Region:
        if block.kind in _ASIDE or block.kind.skipped or block.kind.aside:
            return Region(span, block.kind, self._outline.section, lead=None)
        if block.kind is RegionKind.HEADING:
            self._list_leads.clear()
            self._items.clear()
        if block.kind is RegionKind.HEADING or (block.kind in _TABLE and block.opens):
            self._table_header = None
        region = self._in_order(block, span)
        if block.kind is not RegionKind.PARAGRAPH:  # a paragraph is followed where it is looked at
            self._enumeration.follow(self._text, span, None, lead=region.lead)
        self._before = region
        return region

    def _in_order(self, block: Block, span: Span) -> Region:
        lead: Span | None = None
        kind = block.kind
        match kind:
            case RegionKind.HEADING:
                self._enumeration = Enumeration()
                self._outline.enter(block.level, self._title(block))
            case RegionKind.LIST_ITEM:
                lead = self._lead_of_item(block, span)
            case RegionKind.TABLE_HEADER:
                self._table_header = self._header_with(span)
            case RegionKind.TABLE_ROW:
                lead = self._table_header
            case RegionKind.PARAGRAPH:
                kind, lead = self._enumerated(span)
        region = Region(span, kind, self._outline.section, lead)
        if block.kind is RegionKind.LIST_ITEM:
            self._items.append(region)
        return region

    def _title(self, block: Block) -> str:
        """Return the title of a heading. `ARTICLE VII` and `PARKING` in the next heading of its rank make one title."""
        title = " ".join(block.text.split())
        label, rank = self._label
        above = self._before is not None and self._before.kind is RegionKind.HEADING and rank == block.level
        self._label = (title if LABELLED.fullmatch(title) else "", block.level)
        return f"{label} {title}" if label and above and LABELLED.match(title) is None else title

    def _header_with(self, span: Span) -> Span:
        """Return the header, joined with a header row above it: `Yield` means little without its years."""
        above = self._table_header
        if above is None or self._before is None or self._before.kind is not RegionKind.TABLE_HEADER:
            return span
        both = Span(above.start, span.end)
        return both if len(both) <= _LONGEST_HEADER else span

    def _enumerated(self, span: Span) -> tuple[RegionKind, Span | None]:
        """Treat a paragraph that begins with `(a)` or `4.2` as an item of a list that the format does not mark."""
        mark = ENUMERATOR.match(self._text, span.start, span.end)
        lead = self._enumeration.follow(self._text, span, mark)
        return (RegionKind.LIST_ITEM if mark else RegionKind.PARAGRAPH), lead

    def _lead_of_item(self, block: Block, span: Span) -> Span | None:
        """Return the lead-in of the list. It holds until the list ends, even past paragraphs between items."""
        depth = max(1, block.level)
        open_lists = depth - 1 if block.opens else depth
        del self._list_leads[open_lists:], self._items[depth - 1 :]
        while len(self._list_leads) < depth:
            outer = self._list_leads[-1] if self._list_leads else None
            self._list_leads.append(self._lead_of_list(span, outer))
        return self._list_leads[depth - 1]

    def _lead_of_list(self, item: Span, outer: Span | None) -> Span | None:
        """Return the last sentence before a list. Below an item, that is the item itself, with its own lead-in."""
        above = self._before
        if self._items and (above is None or above.kind not in _INTRODUCTORY):
            above = self._items[-1]
        elif above is None or not (above.kind in _INTRODUCTORY or (above.kind in _LINES and self._ends_open(above))):
            return outer
        if outer is None or not self._items:
            outer = above.lead
        if self._introduces(above, item):
            return introduction(self._text, above.span, outer)
        return outer

    def _introduces(self, above: Region, item: Span) -> bool:
        """Return whether the block above introduces an item; the end of a long clause does not."""
        mark = ENUMERATOR.match(self._text, item.start, item.end)
        if mark is None or mark.lastgroup == "bullet" or self._ends_open(above):
            return True
        return last_sentence(self._text, above.span).start == above.span.start

    def _ends_open(self, region: Region) -> bool:
        return self._text[region.span.end - 1] in _OPEN_ENDS


def covered(text: str, blocks: Iterable[Region]) -> tuple[Region, ...]:
    """Name what lies between the blocks, so that nothing visible is lost.

    Marks (`>`, `-`, `|`, a byte order mark) are markup. Words that no block claimed are kept as a paragraph: better an
    odd quote than a lost one.
    """
    regions: list[Region] = []
    at = 0
    for block in blocks:
        regions += [*_gap(text, at, block.span.start, block.section), block]
        at = block.span.end
    regions += _gap(text, at, len(text), regions[-1].section if regions else ())
    return tuple(regions)


def _gap(text: str, start: int, end: int, section: tuple[str, ...]) -> list[Region]:
    span = trim(text, start, end)
    if span is None:
        return []
    kind = RegionKind.PARAGRAPH if _LETTER.search(text, span.start, span.end) else RegionKind.MARKUP
    return [Region(span, kind, section, lead=None)]
