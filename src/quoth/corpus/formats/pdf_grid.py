"""Tables that are ruled: a grid of lines says which cell each word stands in, however the cells wrap."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from quoth.corpus.blocks import CELL_GAP
from quoth.corpus.formats.pdf_ink import Fragment, Inked, PageInk, joined
from quoth.corpus.formats.pdf_lines import Line, lines_of
from quoth.corpus.formats.pdf_tables import Row, Table, has_header

_TOUCH = 3.0  # points between the ends of two lines that meet
_MOST_LINES = 1_500  # of rules on a page; a drawing has more
_MOST_CELLS, _MOST_GRIDS = 4_000, 60
_LONGEST_CELL = 1_200  # code points: what is longer is text in a frame
_BROKEN = re.compile(r"[^\W\d_]-$")


@dataclass(frozen=True, slots=True, eq=False)
class Ruled:
    """A table and the fragment that stands for it among the text of the page."""

    table: Table
    stand_in: Fragment


@dataclass(frozen=True, slots=True)
class _Grid:
    xs: tuple[float, ...]
    ys: tuple[float, ...]

    def holds(self, item: Fragment) -> bool:
        middle, height = (item.left + item.right) / 2, (item.top + item.bottom) / 2
        return self.xs[0] < middle < self.xs[-1] and self.ys[0] < height < self.ys[-1]


def ruled_tables(page: PageInk, body: Sequence[Fragment]) -> tuple[list[Fragment], list[Ruled]]:
    """Return the text of a page with a stand-in for each ruled table on it, and those tables."""
    left = list(body)
    found: list[Ruled] = []
    for grid in _grids(page):
        inside = [item for item in left if item.direction == 0 and grid.holds(item)]
        table = _table(grid, inside, page.number)
        if table is None:
            continue
        stand_in = _stand_in(inside)
        found.append(Ruled(table, stand_in))
        taken = {id(item) for item in inside}
        left = [item for item in left if id(item) not in taken] + [stand_in]
    return left, found


def _grids(page: PageInk) -> list[_Grid]:
    """The groups of lines that meet, with at least two rows and two columns between them."""
    rules, uprights = page.rules, page.uprights
    if len(rules) < 3 or len(uprights) < 3 or len(rules) + len(uprights) > _MOST_LINES:
        return []
    flat = np.array([(rule.left, rule.right, rule.y) for rule in rules])
    tall = np.array([(line.x, line.top, line.bottom) for line in uprights])
    meets = (
        (tall[None, :, 0] >= flat[:, None, 0] - _TOUCH)
        & (tall[None, :, 0] <= flat[:, None, 1] + _TOUCH)
        & (flat[:, None, 2] >= tall[None, :, 1] - _TOUCH)
        & (flat[:, None, 2] <= tall[None, :, 2] + _TOUCH)
    )
    grids: list[_Grid] = []
    seen: set[int] = set()
    for first in range(len(rules)):
        if first in seen:
            continue
        level, upright = _together(meets, first)
        seen |= level
        xs = _places(uprights[index].x for index in upright)
        ys = _places(rules[index].y for index in level)
        if len(grids) < _MOST_GRIDS and len(xs) >= 3 and len(ys) >= 3 and len(xs) * len(ys) <= _MOST_CELLS:
            grids.append(_Grid(xs, ys))
    return grids


def _together(meets: np.ndarray[tuple[int, int], np.dtype[np.bool_]], first: int) -> tuple[set[int], set[int]]:
    level, upright = {first}, set[int]()
    waiting = [first]
    while waiting:
        for across in np.flatnonzero(meets[waiting.pop()]).tolist():
            if across not in upright:
                upright.add(across)
                new = set(np.flatnonzero(meets[:, across]).tolist()) - level
                level |= new
                waiting += sorted(new)
    return level, upright


def _places(values: Iterable[float]) -> tuple[float, ...]:
    """The distinct places; a border drawn twice is one."""
    places: list[float] = []
    for value in sorted(values):
        if not places or value - places[-1] > _TOUCH:
            places.append(value)
    return tuple(places)


def _table(grid: _Grid, inside: Sequence[Fragment], page: int) -> Table | None:
    cells: dict[tuple[int, int], list[Fragment]] = {}
    for item in inside:
        row = bisect_right(grid.ys, (item.top + item.bottom) / 2) - 1
        column = max(0, bisect_right(grid.xs, item.left + _TOUCH) - 1)
        cells.setdefault((row, column), []).append(item)
    rows = sorted({row for row, _ in cells})
    columns = sorted({column for _, column in cells})
    if len(rows) < 2 or len(columns) < 2:
        return None
    if any(sum(len(item.text) for item in cell) > _LONGEST_CELL for cell in cells.values()):
        return None
    made = tuple(_row([cells.get((row, column), []) for column in columns], page) for row in rows)
    return Table(made, has_header(made), lines=1)


def _row(cells: Sequence[Sequence[Fragment]], page: int) -> Row:
    inks = [_cell(lines_of(cell, page=page, part=0)) for cell in cells]
    while inks and not inks[-1].text:
        inks.pop()
    bold = all(item.bold for cell in cells for item in cell)
    return Row(joined(inks, CELL_GAP), page, bold, not any(ink.text[:1].isdigit() for ink in inks))


def _cell(lines: Sequence[Line]) -> Inked:
    """The lines of a cell in one; a word that is broken over two of them keeps its line end."""
    ink = joined([], "")
    for line in lines:
        if not ink.text:
            ink = line.ink
        else:
            broken = _BROKEN.search(ink.text) is not None and line.text[:1].islower()
            ink = joined([ink, line.ink], "\n" if broken else " ")
    return ink


def _stand_in(inside: Sequence[Fragment]) -> Fragment:
    top, bottom = min(item.top for item in inside), max(item.bottom for item in inside)
    return Fragment(
        text="\ufffc",
        boxes=np.zeros((1, 4), dtype=np.float32),
        left=min(item.left for item in inside),
        right=max(item.right for item in inside),
        top=top,
        bottom=bottom,
        baseline=(top + bottom) / 2,
        size=1.0,
        bold=False,
        fixed=False,
        spaced=True,
        direction=0,
        confidence=None,
    )
