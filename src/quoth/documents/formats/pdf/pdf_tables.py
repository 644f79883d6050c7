"""Finds tables: by the alignment of their cells, or by a grid of ruled lines around them.

Aligned cells stand below one another with white space between the columns. A grid tells which cell each word stands in,
however the cells wrap.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeAlias

import numpy as np

from quoth.documents.formats.pdf.columns import is_mark
from quoth.documents.formats.pdf.printed_lines import (
    BoxedText,
    Fragment,
    HorizontalRule,
    PrintedLine,
    PrintedPage,
    extent,
    joined,
    lines_of,
    runs,
    text_of,
)
from quoth.documents.text_blocks import CELL_GAP

_FEWEST_ROWS = 3
_MOST_COLUMNS = 24
_MOST_LINES = 150  # on one page
_GAP_BETWEEN_ROWS = 3.0  # of the type size; a wider gap ends a table
_LONGEST_HEADER = 160  # code points of a header that is told by its words alone
_NEAR = 0.4  # of the type size: edges this close line up
_WIDE_STEP = 1.15  # times the distance between two lines of a cell
_WHITE = 0.5  # of the type size, between two columns

_TOUCH = 3.0  # points between the ends of two ruled lines that meet
_MOST_RULES = 1_500  # on a page; a drawing has more
_MOST_CELLS, _MOST_GRIDS = 4_000, 60
_LONGEST_CELL = 1_200  # code points: a longer text is framed, not tabulated
_BROKEN = re.compile(r"[^\W\d_]-$")

_Columns: TypeAlias = Sequence[tuple[float, float]]  # the left and right edge of each column
_Row: TypeAlias = tuple[list[BoxedText], bool]  # the texts of the cells of a row, and whether all of it is bold


@dataclass(frozen=True, slots=True, eq=False)
class PdfTable:
    rows: tuple[BoxedText, ...]
    """The text of each row, with its cells joined."""
    has_header: bool
    lines: int
    """How many printed lines the table takes."""


def table_at(lines: Sequence[PrintedLine], start: int, rules: Sequence[HorizontalRule]) -> PdfTable | None:
    """Return the aligned table that begins with line `start`; None where none does."""
    if len(lines[start].cells) < 2:
        return None
    end, columns = _extent(lines, start)
    run = lines[start:end]
    if sum(1 for line in run if len(line.cells) > 1) < _FEWEST_ROWS or _is_list(run, columns):
        return None
    if not _aligned(run, columns):
        return None
    grouped = _rows(run, columns, rules)
    if len(grouped) < 2:
        return None
    rows = [
        ([joined(map(text_of, cells), " ") for cells in _by_column(group, columns)], all(line.bold for line in group))
        for group in grouped
    ]
    return _table(rows, lines=len(run))


def _extent(lines: Sequence[PrintedLine], start: int) -> tuple[int, _Columns]:
    """Return the end of a table, and its columns."""
    first = lines[start]
    columns: _Columns = [extent(cell) for cell in first.cells]
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


def _with_wrapped(lines: Sequence[PrintedLine], last_full: int, end: int, columns: _Columns) -> int:
    """Return the end of a table with the lines on which a later cell of its last row continues."""
    while last_full < end:
        line = lines[last_full]
        tight = line.baseline - lines[last_full - 1].baseline < 1.5 * line.size
        if not tight or _column(line.cells[0], columns) == 0:
            break
        last_full += 1
    return last_full


def _merged(columns: _Columns, cells: _Columns, white: float) -> _Columns:
    merged: list[tuple[float, float]] = []
    for left, right in sorted([*columns, *cells]):
        if merged and left < merged[-1][1] + white:
            merged[-1] = merged[-1][0], max(merged[-1][1], right)
        else:
            merged.append((left, right))
    return merged


def _column(cell: Sequence[Fragment], columns: _Columns) -> int:
    left, _ = extent(cell)
    return max((index for index, column in enumerate(columns) if column[0] <= left + 0.1), default=0)


def _is_list(run: Sequence[PrintedLine], columns: _Columns) -> bool:
    """Return whether the first column holds only bullets or numbers: a list looks like two columns."""
    return all(is_mark(text_of(line.cells[0]).text) for line in run if _column(line.cells[0], columns) == 0)


def _by_column(lines: Sequence[PrintedLine], columns: _Columns) -> list[list[Sequence[Fragment]]]:
    """Return the cells of the lines, column by column."""
    cells: list[list[Sequence[Fragment]]] = [[] for _ in columns]
    for line in lines:
        for cell in line.cells:
            cells[_column(cell, columns)].append(cell)
    return cells


def _aligned(run: Sequence[PrintedLine], columns: _Columns) -> bool:
    """Return whether the cells of every column but the first line up: wide spaces in justified text do not."""
    near = _NEAR * run[0].size
    for column in _by_column(run, columns)[1:]:
        spans = [extent(cell) for cell in column]
        numbers = sum(any(char.isdigit() for char in text_of(cell).text) for cell in column) * 2 >= len(column)
        lefts = [left for left, _ in spans]
        middles = [(left + right) / 2 for left, right in spans]
        rights = [right for _, right in spans] if numbers else []
        if len(column) > 1 and not any(_agree(edges, near) for edges in (lefts, middles, rights)):
            return False
    return True


def _agree(edges: Sequence[float], near: float) -> bool:
    """Return whether most of the edges are close together."""
    return any(sum(abs(edge - other) <= near for other in edges) >= 0.6 * len(edges) for edge in edges)


def _rows(run: Sequence[PrintedLine], columns: _Columns, rules: Sequence[HorizontalRule]) -> list[list[PrintedLine]]:
    """Group the lines into rows: by rules, by wider gaps, else by which lines have a first cell."""
    left, right = columns[0][0], columns[-1][1]
    heights = [rule.y for rule in rules if rule.left < right and rule.right > left]
    ruled = sum(1 for above, below in pairwise(run) if _ruled(heights, above, below)) >= 2
    steps = [below.baseline - above.baseline for above, below in pairwise(run)]
    wide = _WIDE_STEP * min(steps)
    spaced = 5 * sum(step > wide for step in steps) >= len(steps)

    def goes_on(row: list[PrintedLine], line: PrintedLine) -> bool:
        step = line.baseline - row[-1].baseline
        if ruled:
            return not _ruled(heights, row[-1], line)
        return step <= wide if spaced else step < 1.5 * line.size and _column(line.cells[0], columns) > 0

    return runs(run, goes_on)


def _ruled(heights: Sequence[float], above: PrintedLine, below: PrintedLine) -> bool:
    return any(above.baseline < y < below.baseline for y in heights)


def _table(rows: Sequence[_Row], *, lines: int) -> PdfTable:
    for cells, _ in rows:
        while cells and not cells[-1].text:
            cells.pop()
    texts = tuple(joined(cells, CELL_GAP) for cells, _ in rows)
    return PdfTable(texts, _has_header(rows, texts[0].text), lines)


def _has_header(rows: Sequence[_Row], first_text: str) -> bool:
    """Return whether the first row is a header: the only bold row, or words above numbers."""
    first_is_bold, *others_are_bold = (bold for _, bold in rows)
    if first_is_bold:
        return not all(others_are_bold)
    first_has_numbers, *others_have_numbers = (any(cell.text[:1].isdigit() for cell in cells) for cells, _ in rows)
    words_first = not first_has_numbers and len(first_text) <= _LONGEST_HEADER
    return words_first and 2 * sum(others_have_numbers) >= len(others_have_numbers)


class _Grid(NamedTuple):
    xs: tuple[float, ...]
    ys: tuple[float, ...]

    def holds(self, item: Fragment) -> bool:
        centre = (item.left + item.right) / 2
        return self.xs[0] < centre < self.xs[-1] and self.ys[0] < item.middle < self.ys[-1]


def ruled_tables(page: PrintedPage, body: Sequence[Fragment]) -> tuple[list[Fragment], dict[int, PdfTable]]:
    """Return the text of a page with a stand-in for each ruled table, and each table by the `id()` of its stand-in."""
    rest = list(body)
    tables: dict[int, PdfTable] = {}
    for grid in _grids(page):
        inside = [item for item in rest if item.direction == 0 and grid.holds(item)]
        table = _grid_table(grid, inside, page.number)
        if table is not None:
            left, right = extent(inside)
            top, bottom = min(item.top for item in inside), max(item.bottom for item in inside)
            no_box = np.zeros((1, 4), dtype=np.float32)
            stand_in = Fragment("\ufffc", no_box, left, right, top, bottom, baseline=(top + bottom) / 2, size=1.0)
            tables[id(stand_in)] = table
            taken = {id(item) for item in inside}
            rest = [item for item in rest if id(item) not in taken] + [stand_in]
    return rest, tables


def _grids(page: PrintedPage) -> list[_Grid]:
    """Return the groups of ruled lines that meet, if they frame at least two rows and two columns."""
    rules, vertical_rules = page.rules, page.vertical_rules
    if len(rules) < 3 or len(vertical_rules) < 3 or len(rules) + len(vertical_rules) > _MOST_RULES:
        return []
    y, left, right = np.array(rules).T[:, :, None]
    x, top, bottom = np.array(vertical_rules).T[:, None, :]
    meets = (x >= left - _TOUCH) & (x <= right + _TOUCH) & (y >= top - _TOUCH) & (y <= bottom + _TOUCH)
    grids: list[_Grid] = []
    seen: set[int] = set()
    for first in range(len(rules)):
        if first in seen:
            continue
        horizontal, vertical = _connected(meets, first)
        seen |= horizontal
        xs = _distinct(vertical_rules[index].x for index in vertical)
        ys = _distinct(rules[index].y for index in horizontal)
        if len(grids) < _MOST_GRIDS and len(xs) >= 3 and len(ys) >= 3 and len(xs) * len(ys) <= _MOST_CELLS:
            grids.append(_Grid(xs, ys))
    return grids


def _connected(meets: np.ndarray[tuple[int, int], np.dtype[np.bool_]], first: int) -> tuple[set[int], set[int]]:
    """Return the horizontal and the vertical rules that are connected with the horizontal rule `first`."""
    horizontal, vertical = {first}, set[int]()
    waiting = [first]
    while waiting:
        for across in np.flatnonzero(meets[waiting.pop()]).tolist():
            if across not in vertical:
                vertical.add(across)
                new = set(np.flatnonzero(meets[:, across]).tolist()) - horizontal
                horizontal |= new
                waiting += sorted(new)
    return horizontal, vertical


def _distinct(values: Iterable[float]) -> tuple[float, ...]:
    """Return the distinct positions in order; a border drawn twice is one."""
    positions: list[float] = []
    for value in sorted(values):
        if not positions or value - positions[-1] > _TOUCH:
            positions.append(value)
    return tuple(positions)


def _grid_table(grid: _Grid, inside: Sequence[Fragment], page: int) -> PdfTable | None:
    cells: dict[tuple[int, int], list[Fragment]] = {}
    for item in inside:
        row = bisect_right(grid.ys, item.middle) - 1
        column = max(0, bisect_right(grid.xs, item.left + _TOUCH) - 1)
        cells.setdefault((row, column), []).append(item)
    rows = sorted({row for row, _ in cells})
    columns = sorted({column for _, column in cells})
    if len(rows) < 2 or len(columns) < 2:
        return None
    if any(sum(len(item.text) for item in cell) > _LONGEST_CELL for cell in cells.values()):
        return None
    grid_rows = [[cells.get((row, column), []) for column in columns] for row in rows]
    texts = [[_cell_text(lines_of(cell, page=page, column_index=0)) for cell in row] for row in grid_rows]
    bold = [all(item.bold for cell in row for item in cell) for row in grid_rows]
    return _table(list(zip(texts, bold, strict=True)), lines=1)


def _cell_text(lines: Sequence[PrintedLine]) -> BoxedText:
    """Join the lines of a cell; a word broken over two lines keeps its line end."""
    cell = joined([], "")
    for line in lines:
        broken = _BROKEN.search(cell.text) is not None and line.text[:1].islower()
        cell = joined([cell, line.boxed], "\n" if broken else " ") if cell.text else line.boxed
    return cell
