"""Finds tables between rules of the same length: above and below the header, and below the last row.

The rules part the text into bands. The first band of a table is its header. The columns are the white space that the
lines below it leave.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from statistics import median

import numpy as np

from quoth.documents.formats.pdf.aligned_tables import aligned_extent, table_at
from quoth.documents.formats.pdf.printed_lines import (
    Fragment,
    HorizontalRule,
    PrintedLine,
    extent,
    lines_of,
    runs,
    text_of,
)
from quoth.documents.formats.pdf.table_rows import (
    Columns,
    PdfTable,
    Row,
    cells_of,
    columns_of,
    grouped_rows,
    is_spanning,
    overlap,
    row_of,
    table_of,
)

_TOUCH = 3.0  # points: ends of rules this close are the same
_SHORTEST = 60.0  # points
_MOST_RULES = 400  # on a page; a drawing has more
_MOST_COLUMNS = 24
_MOST_HEADER_LINES = 8
_MOST_LINES = 200
_WIDE = 0.7  # of the width: a line of one cell this wide is no row
_FILLED = 0.4  # of the cells of a table without a rule below its header
_FULL, _LONG_LINE, _PROSE_LINES = 0.8, 20, 5  # prose: how full most lines are, their code points, the least lines
_GAP_BETWEEN_ROWS = 3.0  # of the type size; a wider gap ends a table
_TITLE = re.compile(r"(?:continued\s+)?(?:table|figure|fig\.?|scheme|box)\s+[A-Z]{0,2}\d", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Band:
    """The lines between two rules."""

    lines: list[PrintedLine]
    top: float
    bottom: float
    columns: Columns

    @property
    def is_head(self) -> bool:
        few = len(self.lines) <= _MOST_HEADER_LINES
        return few and any(any(map(str.isalpha, line.text)) for line in self.lines)

    @property
    def has_cells(self) -> bool:
        return any(len(line.cells) > 1 for line in self.lines)


def framed_tables(
    items: Sequence[Fragment], rules: Sequence[HorizontalRule], page: int
) -> list[tuple[list[Fragment], PdfTable]]:
    """Return the tables between rules, each with the text that it takes. All text must be printed in one direction."""
    found: list[tuple[list[Fragment], PdfTable]] = []
    joined = _joined(rules)
    rest = list(items)
    for frame in _frames(joined):
        for bands in _tables(frame, rest, page):
            table = _table(bands, joined)
            if table is not None:
                inside = [item for band in bands for line in band.lines for item in line.fragments]
                found.append((inside, table))
                taken = {id(item) for item in inside}
                rest = [item for item in rest if id(item) not in taken]
    return found


def _joined(rules: Sequence[HorizontalRule]) -> list[HorizontalRule]:
    """Join rules that are drawn in pieces."""
    found: list[HorizontalRule] = []
    for rule in sorted(rules[:_MOST_RULES], key=lambda rule: (round(rule.y), rule.left)):
        before = found[-1] if found else None
        if before is not None and abs(before.y - rule.y) <= 1.0 and rule.left <= before.right + _TOUCH:
            found[-1] = HorizontalRule(before.y, before.left, max(before.right, rule.right))
        else:
            found.append(rule)
    return sorted(found)


def _frames(rules: Sequence[HorizontalRule]) -> list[list[HorizontalRule]]:
    """Return the rules of the same length below one another, from top to bottom."""
    frames: list[list[HorizontalRule]] = []
    for rule in rules:
        if rule.right - rule.left < _SHORTEST:
            continue
        for frame in frames:
            if abs(frame[0].left - rule.left) <= _TOUCH and abs(frame[0].right - rule.right) <= _TOUCH:
                frame.append(rule)
                break
        else:
            frames.append([rule])
    return [frame for frame in frames if len(frame) > 1]


def _tables(frame: Sequence[HorizontalRule], items: Sequence[Fragment], page: int) -> Iterator[list[_Band]]:
    """Yield the bands of each table between the rules of a frame."""
    left, right = frame[0].left, frame[0].right
    near = [item for item in items if item.left < right + _TOUCH and item.right > left - _TOUCH]
    heights = [rule.y for rule in frame]
    table: list[_Band] = []
    for top, bottom in pairwise([*heights, np.inf]):
        lines = lines_of([item for item in near if top < item.middle < bottom], page=page, column_index=0)
        if not lines:
            continue
        if bottom < np.inf and _is_tabular(lines, left, right, headed=bool(table)):
            table.append(_Band(lines, top, bottom, columns_of(lines)))
            continue
        fitting = list(takewhile(lambda line: _fits(line, left, right), lines))
        if table and fitting and (rows := _open_rows(fitting, table)):
            table.append(_Band(rows, top, rows[-1].bottom, columns_of(rows)))
        yield from _trimmed(table)
        table = []
    yield from _trimmed(table)


def _trimmed(bands: Sequence[_Band]) -> Iterator[list[_Band]]:
    """Yield the bands of a table without single lines above its header and below its last row."""
    first, last = 0, len(bands)
    while last - first > 1 and not bands[last - 1].has_cells:
        last -= 1
    while last - first > 2 and not bands[first].has_cells and bands[first + 1].is_head:
        first += 1
    if last > first:
        yield list(bands[first:last])


def _fits(line: PrintedLine, left: float, right: float) -> bool:
    return line.left > left - line.size and line.right < right + line.size


def _is_tabular(lines: Sequence[PrintedLine], left: float, right: float, *, headed: bool) -> bool:
    """Return whether the lines between two rules may belong to a table: no title, no prose.

    Below a header, three columns or more are no columns of the text, however long their lines are.
    """
    if len(lines) > _MOST_LINES or any(_TITLE.match(line.text) or not _fits(line, left, right) for line in lines):
        return False
    columns = columns_of(lines)
    wide = sum(1 for line in lines if len(line.cells) == 1 and line.right - line.left > _WIDE * (right - left))
    if len(columns) == 1 or 3 * wide > len(lines):
        return len(lines) <= 2
    return (headed and len(columns) > 2) or not _is_prose(lines, columns)


def _is_prose(lines: Sequence[PrintedLine], columns: Columns) -> bool:
    """Return whether the lines of every column are long, full and many."""
    cells = [cells_of(line, columns) for line in lines]
    for index, (left, right) in enumerate(columns):
        column = [cell[index] for cell in cells if index in cell]
        if len(column) < _PROSE_LINES:
            return False
        widths = [extent(cell)[1] - extent(cell)[0] for cell in column]
        letters = median(sum(len(item.text) for item in cell) for cell in column)
        if median(widths) < _FULL * (right - left) or letters < _LONG_LINE:
            return False
    return True


def _open_rows(lines: Sequence[PrintedLine], table: Sequence[_Band]) -> list[PrintedLine]:
    """Return the lines of a table without a rule below them: as many as are aligned, or fit the columns above."""
    if len(table) == 1:
        end, _ = aligned_extent(lines, 0)
        headed = end > 1 and len(table[0].columns) > 2 and overlap(table[0].columns, columns_of(lines[:end]))
        return list(lines[:end]) if headed or table_at(lines, 0, ()) else []
    columns = columns_of([line for band in table[1:] for line in band.lines])
    if len(lines[0].cells) < max(3, len(columns) - 1):
        return []  # a note below the table, or the text
    fitting = takewhile(lambda line: not any(is_spanning(cell, columns) for cell in line.cells), lines)
    close = runs(fitting, lambda rows, line: line.baseline - rows[-1].baseline < _GAP_BETWEEN_ROWS * line.size)
    return close[0] if close else []


def _table(bands: Sequence[_Band], rules: Sequence[HorizontalRule]) -> PdfTable | None:
    """Return the table of these bands; None where they are no table."""
    head, body = (bands[0], bands[1:]) if len(bands) > 1 else _parted(bands[0], rules)
    lines = [line for band in body for line in band.lines]
    columns = columns_of(lines)
    if not 2 <= len(columns) <= _MOST_COLUMNS or (head is not None and not head.is_head):
        return None
    filled = [len(cells_of(line, columns)) for line in lines]
    if max(filled) < 2:
        return None
    if len(bands) == 1 and (min(len(lines), len(columns)) < 3 or sum(filled) < _FILLED * len(columns) * len(lines)):
        return None
    headers = _header(head, columns, rules) if head is not None else []
    frame = [HorizontalRule(band.bottom, columns[0][0], columns[-1][1]) for band in bands]
    rows = [row_of(row, columns) for row in grouped_rows(lines, columns, frame)]
    return table_of([*headers, *rows], columns, lines=1, headers=len(headers))


def _parted(band: _Band, rules: Sequence[HorizontalRule]) -> tuple[_Band | None, list[_Band]]:
    """Part the header from the rows of a table without a rule as long as the table between them.

    A shorter rule below the first lines stands above more heads; the first line with numbers begins the rows.
    """
    left, right = extent(band.lines)
    short = [rule.y for rule in rules if rule.right > left and rule.left < right and band.top + 1 < rule.y]
    above = sum(1 for line in band.lines if any(line.baseline < y for y in short[:1]))
    if not 0 < above <= _MOST_HEADER_LINES:
        return None, [band]
    columns = columns_of(band.lines[above:])
    first = above
    while first < len(band.lines) and not _has_numbers(band.lines[first], columns):
        first += 1
    if not first <= _MOST_HEADER_LINES < len(band.lines):
        return None, [band]
    edge = (band.lines[first - 1].bottom + band.lines[first].top) / 2
    head = _Band(band.lines[:first], band.top, edge, columns)
    return head, [_Band(band.lines[first:], edge, band.bottom, columns)]


def _has_numbers(line: PrintedLine, columns: Columns) -> bool:
    cells = [text_of(cell).text for cell in cells_of(line, columns).values()]
    return 2 * sum(not any(map(str.isalpha, cell)) for cell in cells) >= len(cells)


def _header(band: _Band, columns: Columns, rules: Sequence[HorizontalRule]) -> list[Row]:
    """Return the header rows: one for each level of heads, which short rules part."""
    levels: dict[int, list[Fragment]] = {}
    inner = [rule for rule in rules if band.top + 1 < rule.y < band.bottom - 1]
    for item in (item for line in band.lines for item in line.fragments):
        middle = (item.left + item.right) / 2
        above = sum(1 for rule in inner if rule.y < item.middle and rule.left <= middle <= rule.right)
        levels.setdefault(above, []).append(item)
    page = band.lines[0].page
    return [row_of(lines_of(levels[level], page=page, column_index=0), columns) for level in sorted(levels)]
