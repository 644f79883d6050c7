"""The blocks of a PDF in reading order, with paragraphs joined that columns, pages and tables split."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TypeAlias

from quoth.documents.formats.pdf.aligned_tables import table_at
from quoth.documents.formats.pdf.columns import Strip, column_regions
from quoth.documents.formats.pdf.page_furniture import SortedPage, sort_pages
from quoth.documents.formats.pdf.page_tables import page_tables, turned_rules
from quoth.documents.formats.pdf.paragraphs import Leading, has_bullet, paragraphs, runs_on, usual_leading
from quoth.documents.formats.pdf.printed_lines import (
    BoxedText,
    Fragment,
    HorizontalRule,
    PrintedLine,
    PrintedPage,
    joined_words,
    lines_of,
    main_size,
    runs,
)
from quoth.documents.formats.pdf.table_rows import Columns, PdfTable, same_columns
from quoth.documents.formats.text.contents_pages import is_contents_entry, is_contents_title
from quoth.documents.named_parts import is_bibliography_title
from quoth.types import RegionKind

_CAPTION = re.compile(
    r"(?:continued\s+)?(?:figure|fig\.?|table|chart|box|map|plate|photo|illustration|scheme)\s+(?:[A-Z]{0,2}[-.]?\d{1,3}(?:[.-]\d{1,3})?[a-z]?"
    r"|[IVXLC]{1,6})(?:\s*[.:–—|](?!\d)|$)",
    re.IGNORECASE,
)
_TABLE_TITLE = re.compile(r"table\s+(?:[A-Z]{0,2}\d|[IVXLC]+\b)", re.IGNORECASE)
_CONTINUED = re.compile(r"\bcont(?:\.|inue)", re.IGNORECASE)
_NOTE_MARK = re.compile(r"(?:\d{1,3}(?!\d)|[*†‡§¶]+|\[\d{1,3}\]|\([a-z\d]\)|[a-z](?=\s))[.)]?\s*\S")
_FEWEST_ENTRIES = 3
_SMALL = 0.93  # of the size of the text: what a note is set in, at most
_NOTES_BELOW = 0.35  # of the height of the page, from its top: where notes may begin
_LONGEST_REPEATED = 150  # code points
_FEWEST_PAGES = 4
_DIGITS = re.compile(r"\d+")
_MOST_LINES = 1_000  # of one paragraph
_MOST_BETWEEN = 24  # blocks beside the text, such as table rows, between the two halves of a paragraph
_RUNNING = frozenset({RegionKind.PARAGRAPH, RegionKind.LIST_ITEM, RegionKind.FOOTNOTE})
_BESIDE = frozenset(
    {RegionKind.FURNITURE, RegionKind.FOOTNOTE, RegionKind.CAPTION, RegionKind.TABLE_HEADER, RegionKind.TABLE_ROW}
)
_CLAUSE = re.compile(r"\((?:[a-z]{1,4}|[A-Z]|\d{1,2})\)\s")

_IsTitle: TypeAlias = Callable[[PrintedLine], bool]


@dataclass(frozen=True, slots=True, eq=False)
class PdfBlock:
    """A block with the page of each of its lines. `first` and `last` are None where no paragraph can be continued."""

    kind: RegionKind
    level: int
    opens: bool
    lines: tuple[tuple[int, BoxedText], ...]
    first: PrintedLine | None
    last: PrintedLine | None
    columns: Columns
    """The columns of the table that the block is a row of, else none."""

    @property
    def text(self) -> str:
        """The printed lines. A space joins a line that begins with `(a)`: a line end there would look like a list."""
        lines = [boxed.text for _, boxed in self.lines]
        return "".join([lines[0], *(f" {line}" if _CLAUSE.match(line) else f"\n{line}" for line in lines[1:])])


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    lines: list[PrintedLine]
    rules: Sequence[HorizontalRule]
    height: float
    """The height of the page."""
    tables: Mapping[int, PdfTable]
    """The tables that were found before the columns, by the `id()` of their stand-ins."""

    def tables_in(self, line: PrintedLine) -> list[PdfTable]:
        return [self.tables[id(item)] for item in line.fragments if id(item) in self.tables]


def blocks_of(pages: Sequence[PrintedPage], is_title: _IsTitle) -> tuple[list[PdfBlock], float]:
    """Return the blocks of a document, and the type size of most of its text.

    `is_title` tells which lines are named by a bookmark; each of them begins a block.
    """
    sorted_pages = sort_pages(pages)
    strips: list[Strip] = []
    columns = _without_fixed([_columns(page, strips) for page in sorted_pages])
    columns_of_lines = [column.lines for page in columns for column in page]
    body = main_size(chain.from_iterable(columns_of_lines))
    leading = usual_leading(columns_of_lines)
    blocks: list[PdfBlock] = []
    for page, page_columns in zip(sorted_pages, columns, strict=True):
        blocks += [_block(RegionKind.FURNITURE, [line]) for line in page.header]
        for column in page_columns:
            blocks += _column_blocks(column, body, leading, is_title)
        blocks += [_block(RegionKind.FURNITURE, [line]) for line in page.footer]
        blocks += [_block(RegionKind.FURNITURE, page.line_numbers)] if page.line_numbers else []
        if page.stamps:  # text printed aslant has no lines: it is read in drawing order
            stamp = joined_words(runs(page.stamps, lambda _, item: not item.spaced))
            lines = ((page.page.number, stamp),)
            blocks.append(PdfBlock(RegionKind.FURNITURE, 0, False, lines, first=None, last=None, columns=()))
    blocks = _with_continued_tables(_without_repeated(blocks, len(pages)))
    return _with_lists(_with_joined_paragraphs(blocks)), body


def _without_repeated(blocks: Sequence[PdfBlock], pages: int) -> list[PdfBlock]:
    """Name short blocks printed sideways that stand on most pages: some journals print their name along the margin."""
    places: dict[str, set[int]] = defaultdict(set)
    for block in blocks:
        sideways = block.first is not None and block.first.fragments[0].direction != 0
        if sideways and len(block.text) <= _LONGEST_REPEATED:
            places[_DIGITS.sub("#", block.text)].add(block.lines[0][0])
    often = max(_FEWEST_PAGES, pages / 2)
    repeated = {text for text, on in places.items() if len(on) >= often}
    return [
        replace(block, kind=RegionKind.FURNITURE) if _DIGITS.sub("#", block.text) in repeated else block
        for block in blocks
    ]


def _without_fixed(columns: Sequence[Sequence[_Column]]) -> list[list[_Column]]:
    """Ignore typewriter print where most of the text has it: then it does not tell code apart."""
    lines = [line for page in columns for column in page for line in column.lines]
    if 2 * sum(len(line.text) for line in lines if line.fixed) <= sum(len(line.text) for line in lines):
        return [list(page) for page in columns]
    return [
        [replace(column, lines=[replace(line, fixed=False) for line in column.lines]) for column in page]
        for page in columns
    ]


def _columns(sorted_page: SortedPage, strips: list[Strip]) -> list[_Column]:
    page = sorted_page.page
    by_direction: dict[int, list[Fragment]] = {}
    text, tables = page_tables(page, sorted_page.body, strips)
    for item in text:
        by_direction.setdefault(item.direction, []).append(item)
    letters = {turn: sum(len(item.text) for item in items) for turn, items in by_direction.items()}
    columns: list[_Column] = []
    for turn in sorted(by_direction, key=lambda turn: (-letters[turn], turn)):
        rules = turned_rules(page, turn)
        for fragments in column_regions(by_direction[turn], rules, strips if turn == 0 else []):
            lines = lines_of(fragments, page=page.number, column_index=len(columns))
            columns.append(_Column(lines, rules, page.width if turn % 2 else page.height, tables))
    return columns


def _column_blocks(column: _Column, body: float, leading: Leading, is_title: _IsTitle) -> list[PdfBlock]:
    notes = _notes_from(column, body)
    blocks: list[PdfBlock] = []
    plain: list[PrintedLine] = []
    index = 0
    while index < notes:
        taken, apart = _set_apart(column, index, notes)
        if taken:
            blocks += [*_paragraph_blocks(plain, leading, is_title), *apart]
            plain = []
        else:
            plain.append(column.lines[index])
        index += taken or 1
    blocks += _paragraph_blocks(plain, leading, is_title)
    return blocks + [_block(RegionKind.FOOTNOTE, note) for note in _notes(column.lines[notes:], leading)]


def _set_apart(column: _Column, index: int, end: int) -> tuple[int, list[PdfBlock]]:
    """Return the table, or the table of contents, that begins with a line, and how many lines it takes; else 0."""
    lines = column.lines
    line = lines[index]
    if tables := column.tables_in(line):
        rows = [row for table in tables for row in _rows(table, line.page)]
        beside = [item for item in line.fragments if id(item) not in column.tables]
        rest = lines_of(beside, page=line.page, column_index=line.column_index)
        return 1, [*rows, _block(RegionKind.PARAGRAPH, rest)] if rest else rows
    if entries := _contents(lines, index, end):
        return entries, [_block(RegionKind.CONTENTS, lines[index : index + entries])]
    if table := table_at(lines[:end], index, column.rules):
        return table.lines, _rows(table, line.page)
    return 0, []


def _paragraph_blocks(lines: Sequence[PrintedLine], leading: Leading, is_title: _IsTitle) -> list[PdfBlock]:
    return [_classified(group) for group in paragraphs(lines, leading, is_title)]


def _contents(lines: Sequence[PrintedLine], start: int, end: int) -> int:
    """Return how many lines the table of contents takes that begins at `start`, with its title; 0 if there is none."""
    first = start + 1 if is_contents_title(lines[start].text) else start
    entries = missed = 0
    index = first
    while index < end and missed <= 1:
        if is_contents_entry(lines[index].text):
            entries, missed = entries + 1, 0
        else:
            missed += 1  # an entry may take two lines
        index += 1
    titled = first > start
    return index - missed - start if entries >= (1 if titled else _FEWEST_ENTRIES) else 0


def _rows(table: PdfTable, page: int) -> list[PdfBlock]:
    header, row = RegionKind.TABLE_HEADER, RegionKind.TABLE_ROW
    return [
        PdfBlock(
            *(header if index < table.headers else row, 0, index == 0, ((page, text),)),
            first=None,
            last=None,
            columns=table.columns,
        )
        for index, text in enumerate(table.rows)
    ]


def _with_continued_tables(blocks: Sequence[PdfBlock]) -> list[PdfBlock]:
    """Let a table without a header go on with the table before it, if their columns are the same."""
    result: list[PdfBlock] = []
    before: PdfBlock | None = None
    for block in blocks:
        opens = block.opens
        if block.columns:
            if opens and before is not None and block.kind is RegionKind.TABLE_ROW:
                near = block.lines[0][0] - before.lines[0][0] <= 1  # pages
                opens = not (near and same_columns(before.columns, block.columns))
            before = block
        elif _TABLE_TITLE.match(block.text) and not _CONTINUED.search(block.text):
            before = None
        result.append(replace(block, opens=opens))
    return result


def _notes_from(column: _Column, body: float) -> int:
    """Return the index of the first note at the foot of a column: it has a mark, and all lines from it on are small."""
    start = len(column.lines)
    while start > 0 and column.lines[start - 1].size <= _SMALL * body and not column.tables_in(column.lines[start - 1]):
        start -= 1
    for index, line in enumerate(column.lines[start:], start):
        if line.baseline > _NOTES_BELOW * column.height and _NOTE_MARK.match(line.text) and index > 0:
            return index
    return len(column.lines)


def _notes(lines: Sequence[PrintedLine], leading: Leading) -> list[list[PrintedLine]]:
    groups = paragraphs(lines, leading, _begins_note)
    return [list(chain.from_iterable(run)) for run in runs(groups, lambda _, group: not _begins_note(group[0]))]


def _begins_note(line: PrintedLine) -> bool:
    first = line.fragments[0]
    return _NOTE_MARK.match(line.text) is not None and (
        first.size < 0.9 * line.size or not line.text[:1].isalnum() or line.text[:1].isdigit()
    )


def _classified(group: Sequence[PrintedLine]) -> PdfBlock:
    text = group[0].text
    if group[0].fixed:
        return _block(RegionKind.CODE, group)
    if _CAPTION.match(text) and len(group) <= 12:
        return _block(RegionKind.CAPTION, group)
    if has_bullet(text):
        return replace(_block(RegionKind.LIST_ITEM, group), level=1)
    return _block(RegionKind.PARAGRAPH, group)


def _block(kind: RegionKind, lines: Sequence[PrintedLine]) -> PdfBlock:
    printed = tuple((line.page, line.boxed) for line in lines)
    return PdfBlock(kind, 0, False, printed, first=lines[0], last=lines[-1], columns=())


def _with_joined_paragraphs(blocks: Sequence[PdfBlock]) -> list[PdfBlock]:
    """Join the halves of a paragraph, or of a note, that a column, a page or a table splits."""
    result: list[PdfBlock] = []
    text_at: int | None = None
    note_at: int | None = None
    for block in blocks:
        for at in (text_at, note_at):
            if at is not None and len(result) - at <= _MOST_BETWEEN and _continues(result, at, block):
                result[at] = replace(result[at], lines=result[at].lines + block.lines, last=block.last)
                break
        else:
            result.append(block)
            if block.kind is RegionKind.FOOTNOTE:
                note_at = len(result) - 1
            elif block.kind not in _BESIDE:
                text_at = len(result) - 1
    return result


def _continues(result: Sequence[PdfBlock], at: int, block: PdfBlock) -> bool:
    """Return whether `block` continues the block at index `at`; only blocks beside the text stand between them."""
    before = result[at]
    if len(before.lines) > _MOST_LINES:
        return False
    if block.kind is not RegionKind.PARAGRAPH or before.kind not in _RUNNING:
        return False
    if before.last is None or block.first is None or not runs_on(before.last, block.first):
        return False
    if is_bibliography_title(before.last.text):
        return False
    same_column = before.last.shares_column(block.first)
    return not same_column or (at < len(result) - 1 and block.first.text[:1].islower())


def _with_lists(blocks: Sequence[PdfBlock]) -> list[PdfBlock]:
    """Mark where lists open; a paragraph indented below an item belongs to the list."""
    result: list[PdfBlock] = []
    item: PdfBlock | None = None
    for block in blocks:
        if block.kind is RegionKind.LIST_ITEM:
            result.append(replace(block, opens=item is None))
            item = block
        elif item is not None and _below_item(item, block):
            result.append(replace(block, kind=RegionKind.LIST_ITEM, level=1))
        else:
            result.append(block)
            if block.kind not in _BESIDE:
                item = None
    return result


def _below_item(item: PdfBlock, block: PdfBlock) -> bool:
    first, other = item.first, block.first
    if first is None or other is None or block.kind is not RegionKind.PARAGRAPH:
        return False
    return first.shares_column(other) and other.size == first.size and other.left > first.left + 0.7 * first.size
