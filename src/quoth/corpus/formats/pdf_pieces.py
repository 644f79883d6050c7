"""The pieces of a PDF in reading order: paragraphs, items, tables, notes, contents and page furniture."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from quoth.corpus.formats.pdf_columns import Strip, regions
from quoth.corpus.formats.pdf_flow import Piece, flowing
from quoth.corpus.formats.pdf_furniture import Sorted, sort_pages
from quoth.corpus.formats.pdf_grid import ruled_tables
from quoth.corpus.formats.pdf_ink import Fragment, Inked, PageInk, Rule, inked, joined
from quoth.corpus.formats.pdf_lines import Line, lines_of
from quoth.corpus.formats.pdf_paragraphs import Leading, has_bullet, paragraphs, usual_leading
from quoth.corpus.formats.pdf_tables import Table, table_at
from quoth.text.contents import is_contents_entry, is_contents_title
from quoth.types import RegionKind

_CAPTION = re.compile(
    r"(?:figure|fig\.?|table|chart|box|map|plate|photo|illustration|scheme)\s+(?:[A-Z]{0,2}[-.]?\d{1,3}(?:[.-]\d{1,3})?[a-z]?"
    r"|[IVXLC]{1,6})(?:\s*[.:–—|](?!\d)|$)",
    re.IGNORECASE,
)
_NOTE_MARK = re.compile(r"(?:\d{1,3}(?!\d)|[*†‡§¶]+|\[\d{1,3}\]|\([a-z\d]\)|[a-z](?=\s))[.)]?\s*\S")
_FEWEST_ENTRIES = 3
_SMALL = 0.93  # of the size of the text: what a note is set in, at most
_NOTES_BELOW = 0.35  # of the page: where notes may begin


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    lines: list[Line]
    rules: tuple[Rule, ...]
    height: float
    """Of the page."""
    tables: Mapping[int, Table]
    """The ruled ones, by the identity of the fragment that stands for each."""


def pieces_of(pages: Sequence[PageInk], is_title: Callable[[Line], bool]) -> tuple[list[Piece], float]:
    """Return the pieces of a document, and the size that most of its text is set in.

    `is_title` says which lines a bookmark names; they stand alone.
    """
    sorted_pages = sort_pages(pages)
    strips: list[Strip] = []
    columns = _without_fixed([_columns(page, parts, strips) for page, parts in zip(pages, sorted_pages, strict=True)])
    body = _body_size(column.lines for page in columns for column in page)
    leading = usual_leading(column.lines for page in columns for column in page)
    pieces: list[Piece] = []
    for page, parts, its_columns in zip(pages, sorted_pages, columns, strict=True):
        pieces += [_piece(RegionKind.FURNITURE, [line]) for line in parts.header]
        for column in its_columns:
            pieces += _column_pieces(column, body, leading, is_title)
        pieces += [_piece(RegionKind.FURNITURE, [line]) for line in parts.footer]
        pieces += [_piece(RegionKind.FURNITURE, parts.line_numbers)] if parts.line_numbers else []
        pieces += _stamp(parts.stamps, page.number)
    return flowing(pieces), body


def _without_fixed(columns: Sequence[Sequence[_Column]]) -> list[list[_Column]]:
    """Where most of the text is written by typewriter, its letters say nothing about code."""
    fixed = all_letters = 0
    for column in (column for page in columns for column in page):
        for line in column.lines:
            all_letters += len(line.text)
            fixed += len(line.text) if line.fixed else 0
    if 2 * fixed <= all_letters:
        return [list(page) for page in columns]
    return [
        [replace(column, lines=[replace(line, fixed=False) for line in column.lines]) for column in page]
        for page in columns
    ]


def _stamp(fragments: Sequence[Fragment], page: int) -> list[Piece]:
    """What is printed askew over a page, in the order it was drawn in: it has no lines."""
    words: list[list[Inked]] = []
    for item in fragments:
        if item.spaced or not words:
            words.append([])
        words[-1].append(inked(item))
    if not words:
        return []
    ink = joined([joined(word, "") for word in words], " ")
    return [Piece(RegionKind.FURNITURE, 0, False, ((page, ink),), first=None, last=None)]


def _columns(page: PageInk, parts: Sorted, strips: list[Strip]) -> list[_Column]:
    by_direction: dict[int, list[Fragment]] = {}
    text, ruled = ruled_tables(page, parts.body)
    for item in text:
        by_direction.setdefault(item.direction, []).append(item)
    letters = {turn: sum(len(item.text) for item in items) for turn, items in by_direction.items()}
    columns: list[_Column] = []
    for turn in sorted(by_direction, key=lambda one: (-letters[one], one)):
        rules = page.rules if turn == 0 else ()
        for fragments in regions(by_direction[turn], rules, strips if turn == 0 else []):
            lines = lines_of(fragments, page=page.number, part=len(columns))
            tables = {id(one.stand_in): one.table for one in ruled}
            columns.append(_Column(lines, rules, page.width if turn % 2 else page.height, tables))
    return columns


def _body_size(columns: Iterable[Sequence[Line]]) -> float:
    sizes: Counter[float] = Counter()
    for lines in columns:
        for line in lines:
            sizes[line.size] += len(line.text)
    return max(sizes, key=lambda size: (sizes[size], size), default=0.0)


def _column_pieces(column: _Column, body: float, leading: Leading, is_title: Callable[[Line], bool]) -> list[Piece]:
    pieces: list[Piece] = []
    plain: list[Line] = []
    notes = _notes_from(column, body)
    index = 0

    def flush() -> None:
        pieces.extend(_classified(group) for group in paragraphs(plain, leading, is_title))
        plain.clear()

    while index < notes:
        ruled = [column.tables[id(item)] for item in column.lines[index].fragments if id(item) in column.tables]
        entries = 0 if ruled else _contents(column.lines, index, notes)
        table = None if ruled or entries else table_at(column.lines[:notes], index, column.rules)
        if ruled:
            flush()
            pieces += [row for one in ruled for row in _rows(one)]
            pieces += _beside(column, index)
            index += 1
        elif entries:
            flush()
            pieces.append(_piece(RegionKind.CONTENTS, column.lines[index : index + entries]))
            index += entries
        elif table:
            flush()
            pieces += _rows(table)
            index += table.lines
        else:
            plain.append(column.lines[index])
            index += 1
    flush()
    for group in _notes(column.lines[notes:], leading):
        pieces.append(_piece(RegionKind.FOOTNOTE, group))
    return pieces


def _beside(column: _Column, index: int) -> list[Piece]:
    """What stands on the same line as a ruled table."""
    line = column.lines[index]
    rest = [item for item in line.fragments if id(item) not in column.tables]
    return [_piece(RegionKind.PARAGRAPH, lines_of(rest, page=line.page, part=line.part))] if rest else []


def _contents(lines: Sequence[Line], start: int, end: int) -> int:
    """How many lines of a table of contents begin here, its title included; 0 if none does."""
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


def _rows(table: Table) -> list[Piece]:
    pieces = []
    for place, row in enumerate(table.rows):
        kind = RegionKind.TABLE_HEADER if place == 0 and table.has_header else RegionKind.TABLE_ROW
        pieces.append(Piece(kind, 0, place == 0, ((row.page, row.ink),), first=None, last=None))
    return pieces


def _notes_from(column: _Column, body: float) -> int:
    """The line at which the notes at the foot of a column begin: all below it is small, and it carries a mark."""
    start = len(column.lines)
    while start > 0 and column.lines[start - 1].size <= _SMALL * body:
        start -= 1
    while start < len(column.lines):
        line = column.lines[start]
        if line.baseline > _NOTES_BELOW * column.height and _NOTE_MARK.match(line.text) and start > 0:
            return start
        start += 1
    return start


def _notes(lines: Sequence[Line], leading: Leading) -> list[list[Line]]:
    groups: list[list[Line]] = []
    for group in paragraphs(lines, leading, lambda line: bool(_NOTE_MARK.match(line.text) and _begins_note(line))):
        if groups and not _begins_note(group[0]):
            groups[-1] += group
        else:
            groups.append(list(group))
    return groups


def _begins_note(line: Line) -> bool:
    first = line.fragments[0]
    return _NOTE_MARK.match(line.text) is not None and (
        first.size < 0.9 * line.size or not line.text[:1].isalnum() or line.text[:1].isdigit()
    )


def _classified(group: Sequence[Line]) -> Piece:
    text = group[0].text
    if group[0].fixed:
        return _piece(RegionKind.CODE, group)
    if _CAPTION.match(text) and len(group) <= 12:
        return _piece(RegionKind.CAPTION, group)
    if has_bullet(text):
        return replace(_piece(RegionKind.LIST_ITEM, group), level=1)
    return _piece(RegionKind.PARAGRAPH, group)


def _piece(kind: RegionKind, lines: Sequence[Line]) -> Piece:
    parts = tuple((line.page, line.ink) for line in lines)
    return Piece(kind, 0, False, parts, first=lines[0], last=lines[-1])
