"""Finds tables by the grid of ruled lines around their cells: it tells which cell each word stands in."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from quoth.documents.formats.pdf.printed_lines import Fragment, HorizontalRule, PrintedPage
from quoth.documents.formats.pdf.table_rows import PdfTable, cell_text, table_of

_TOUCH = 3.0  # points between the ends of two ruled lines that meet
_MOST_RULES = 1_500  # on a page; a drawing has more
_MOST_CELLS, _MOST_GRIDS = 4_000, 60
_LONGEST_CELL = 1_200  # code points: a longer text is framed, not tabulated


class _Grid(NamedTuple):
    xs: tuple[float, ...]
    ys: tuple[float, ...]
    rules: tuple[HorizontalRule, ...]

    def holds(self, item: Fragment) -> bool:
        centre = (item.left + item.right) / 2
        return self.xs[0] < centre < self.xs[-1] and self.ys[0] < item.middle < self.ys[-1]

    def first_row(self, row: int, column: int) -> int:
        """Return the row in which a cell begins: no rule parts a cell that spans several rows."""
        middle = (self.xs[column] + self.xs[min(column + 1, len(self.xs) - 1)]) / 2
        while row > 0 and not any(
            abs(rule.y - self.ys[row]) <= _TOUCH and rule.left < middle < rule.right for rule in self.rules
        ):
            row -= 1
        return row


def grid_tables(page: PrintedPage, body: Sequence[Fragment]) -> list[tuple[list[Fragment], PdfTable]]:
    """Return the tables in grids, each with the text that it takes."""
    found: list[tuple[list[Fragment], PdfTable]] = []
    rest = [item for item in body if item.direction == 0]
    for grid in _grids(page):
        inside = [item for item in rest if grid.holds(item)]
        table = _grid_table(grid, inside, page.number)
        if table is not None:
            found.append((inside, table))
            rest = [item for item in rest if not grid.holds(item)]
    return found


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
            grids.append(_Grid(xs, ys, tuple(rules[index] for index in sorted(horizontal))))
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
        cells.setdefault((grid.first_row(row, column), column), []).append(item)
    rows = sorted({row for row, _ in cells})
    columns = sorted({column for _, column in cells})
    if len(rows) < 2 or len(columns) < 2:
        return None
    if any(sum(len(item.text) for item in cell) > _LONGEST_CELL for cell in cells.values()):
        return None
    grid_rows = [[cells.get((row, column), []) for column in columns] for row in rows]
    texts = [[cell_text(cell, page) for cell in row] for row in grid_rows]
    bold = [all(item.bold for cell in row for item in cell) for row in grid_rows]
    edges = [(grid.xs[column], grid.xs[min(column + 1, len(grid.xs) - 1)]) for column in columns]
    spanned = sum(1 for row in rows if any(grid.first_row(row, column) <= rows[0] for column in columns))
    return table_of(list(zip(texts, bold, strict=True)), edges, lines=1, spanned=spanned)
