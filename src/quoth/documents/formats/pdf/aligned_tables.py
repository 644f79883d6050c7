"""Finds tables by the alignment of their cells: they stand below one another with white space between the columns."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from quoth.documents.formats.pdf.columns import Strip, is_mark
from quoth.documents.formats.pdf.printed_lines import Fragment, HorizontalRule, PrintedLine, extent, lines_of, text_of
from quoth.documents.formats.pdf.table_rows import (
    Columns,
    PdfTable,
    Row,
    cells_of,
    column_of,
    columns_of,
    grouped_rows,
    row_of,
    rows_above_rule,
    table_of,
)

_FEWEST_ROWS = 3
_FEWEST_COLUMNS, _MOST_COLUMNS = 4, 24
_MOST_LINES = 150  # on one page
_GAP_BETWEEN_ROWS = 3.0  # of the type size; a wider gap ends a table
_LONG_LINE = 30  # code points
_FILLED = 0.5  # of the cells of a table
_NEAR = 0.4  # of the type size: edges this close line up
_WHITE = 0.5  # of the type size, between two columns


def table_at(lines: Sequence[PrintedLine], start: int, rules: Sequence[HorizontalRule]) -> PdfTable | None:
    """Return the aligned table that begins with line `start`; None where none does."""
    if len(lines[start].cells) < 2:
        return None
    end, columns = aligned_extent(lines, start)
    run = lines[start:end]
    if sum(1 for line in run if len(line.cells) > 1) < _FEWEST_ROWS or _is_list(run, columns):
        return None
    if not _aligned(run, columns) or _long_columns(run, columns) == len(columns):
        return None
    rows = grouped_rows(run, columns, rules)
    if len(rows) < 2:
        return None
    texts = [row_of(row, columns) for row in rows]
    headers = rows_above_rule(rows, columns, rules)
    return table_of(texts, columns, lines=len(run), headers=headers) if _is_filled(texts) else None


def wide_tables(items: Sequence[Fragment], strips: Sequence[Strip], page: int) -> list[tuple[list[Fragment], PdfTable]]:
    """Return the tables across the columns of the text, each with the text that it takes.

    Their cells stand in the white space between the columns, whose places are known from the pages before.
    """
    lines = lines_of(items, page=page, column_index=0)
    found: list[tuple[list[Fragment], PdfTable]] = []
    start = 0
    while strips and start < len(lines):
        end, columns = start + 1, columns_of(())
        if len(lines[start].cells) >= _FEWEST_COLUMNS:
            end, columns = aligned_extent(lines, start)
        run = lines[start:end]
        across = any(left < strip[0] and right > strip[1] for left, right in columns for strip in strips)
        table = _wide_table(run) if across and 2 * _long_columns(run, columns) < len(columns) else None
        if table is not None:
            found.append(([item for line in run for item in line.fragments], table))
        start = start + 1 if table is None else end
    return found


def _wide_table(run: Sequence[PrintedLine]) -> PdfTable | None:
    columns = columns_of(run)
    rows = [row_of(row, columns) for row in grouped_rows(run, columns, ())]
    enough = len(rows) >= _FEWEST_ROWS and len(columns) >= _FEWEST_COLUMNS
    return table_of(rows, columns, lines=1) if enough and _is_filled(rows) else None


def _is_filled(rows: Sequence[Row]) -> bool:
    """Return whether enough cells have text: the labels of a figure line up too."""
    cells = [cell for row, _ in rows for cell in row]
    return sum(bool(cell.text) for cell in cells) >= _FILLED * len(cells)


def aligned_extent(lines: Sequence[PrintedLine], start: int) -> tuple[int, Columns]:
    """Return the end of the table that begins with line `start`, and its columns."""
    first = lines[start]
    columns: Columns = [extent(cell) for cell in first.cells]
    end = start + 1
    last_full = end
    while end < min(len(lines), start + _MOST_LINES):
        line, before = lines[end], lines[end - 1]
        if not line.shares_column(first):
            break
        if not 0 < line.baseline - before.baseline <= _GAP_BETWEEN_ROWS * max(line.size, before.size):
            break
        merged = _merged(columns, [extent(cell) for cell in line.cells], _WHITE * first.size)
        if len(merged) < 2 or len(merged) < min(len(columns), len(line.cells)) or len(merged) > _MOST_COLUMNS:
            break
        if len(merged) < len(columns) and len(line.cells) < 2:
            break  # a line of text across the columns ends the table
        columns = merged
        end += 1
        if len(line.cells) > 1:
            last_full = end
    return _with_wrapped(lines, last_full, end, columns), columns


def _with_wrapped(lines: Sequence[PrintedLine], last_full: int, end: int, columns: Columns) -> int:
    """Return the end of a table with the lines on which a later cell of its last row continues."""
    while last_full < end:
        line = lines[last_full]
        tight = line.baseline - lines[last_full - 1].baseline < 1.5 * line.size
        if not tight or 0 in cells_of(line, columns):
            break
        last_full += 1
    return last_full


def _merged(columns: Columns, cells: Columns, white: float) -> Columns:
    merged: list[tuple[float, float]] = []
    for left, right in sorted([*columns, *cells]):
        if merged and left < merged[-1][1] + white:
            merged[-1] = merged[-1][0], max(merged[-1][1], right)
        else:
            merged.append((left, right))
    return merged


def _is_list(run: Sequence[PrintedLine], columns: Columns) -> bool:
    """Return whether the first column holds only bullets or numbers: a list looks like two columns."""
    return all(is_mark(text_of(line.cells[0]).text) for line in run if 0 in cells_of(line, columns))


def _aligned(run: Sequence[PrintedLine], columns: Columns) -> bool:
    """Return whether the cells of every column but the first line up: wide spaces in justified text do not."""
    near = _NEAR * run[0].size
    by_column: list[list[Sequence[Fragment]]] = [[] for _ in columns]
    for line in run:
        for cell in line.cells:
            by_column[column_of(cell, columns)].append(cell)
    for column in by_column[1:]:
        spans = [extent(cell) for cell in column]
        numbers = sum(any(char.isdigit() for char in text_of(cell).text) for cell in column) * 2 >= len(column)
        lefts = [left for left, _ in spans]
        middles = [(left + right) / 2 for left, right in spans]
        rights = [right for _, right in spans] if numbers else []
        if len(column) > 1 and not any(_agree(edges, near) for edges in (lefts, middles, rights)):
            return False
    return True


def _long_columns(run: Sequence[PrintedLine], columns: Columns) -> int:
    """Return how many columns have long lines, like prose."""
    cells = [cells_of(line, columns) for line in run]
    by_column = ([text_of(cell[index]).text for cell in cells if index in cell] for index in range(len(columns)))
    return sum(1 for texts in by_column if texts and median(map(len, texts)) >= _LONG_LINE)


def _agree(edges: Sequence[float], near: float) -> bool:
    """Return whether most of the edges are close together."""
    return any(sum(abs(edge - other) <= near for other in edges) >= 0.6 * len(edges) for edge in edges)
