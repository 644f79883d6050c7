"""Tables by their alignment: lines whose cells stand below one another, with white between the columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from quoth.corpus.blocks import CELL_GAP
from quoth.corpus.formats.pdf_ink import Fragment, Inked, Rule, joined
from quoth.corpus.formats.pdf_lines import Line, written
from quoth.text.enumerations import ENUMERATOR

_FEWEST_ROWS = 3
_MOST_COLUMNS = 24
_MOST_LINES = 150  # on one page
_GAP_BETWEEN_ROWS = 3.0  # of the type size; a table does not go on over a wider gap
_LONGEST_HEADER = 160  # code points, where nothing but its words tells a header
_NEAR = 0.4  # of the type size: edges this close line up
_WIDE_STEP = 1.15  # times the distance between two lines of a cell
_WHITE = 0.5  # of the type size, between two columns


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """A row of a table, its cells joined."""

    ink: Inked
    page: int
    bold: bool
    letters: bool
    """Whether no cell is a number, as in a header."""


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    rows: tuple[Row, ...]
    has_header: bool
    lines: int
    """How many lines it took."""


def table_at(lines: Sequence[Line], start: int, rules: Sequence[Rule]) -> Table | None:
    """Return the table that begins with line `start`, None where none does."""
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
    rows = tuple(_row(group, columns) for group in grouped)
    return Table(rows, has_header(rows), len(run))


def _extent(lines: Sequence[Line], start: int) -> tuple[int, list[tuple[float, float]]]:
    """How far a table goes, and the columns that its cells keep to."""
    first = lines[start]
    columns = [_span(cell) for cell in first.cells]
    end = start + 1
    last_full = end
    while end < min(len(lines), start + _MOST_LINES):
        line, before = lines[end], lines[end - 1]
        if line.page != first.page or line.part != first.part:
            break
        if not 0 < line.baseline - before.baseline <= _GAP_BETWEEN_ROWS * max(line.size, before.size):
            break
        merged = _merged(columns, [_span(cell) for cell in line.cells], _WHITE * first.size)
        if len(merged) < 2 or len(merged) < min(len(columns), len(line.cells)) or len(merged) > _MOST_COLUMNS:
            break
        if len(merged) < len(columns) and len(line.cells) < 2:
            break  # a line of text that runs across the columns ends the table
        columns = merged
        end += 1
        if len(line.cells) > 1:
            last_full = end
    return _with_wrapped(lines, last_full, end, columns), columns


def _with_wrapped(lines: Sequence[Line], last_full: int, end: int, columns: Sequence[tuple[float, float]]) -> int:
    """Behind the last row with several cells, keep the lines on which one of its later cells goes on."""
    while last_full < end:
        line = lines[last_full]
        tight = line.baseline - lines[last_full - 1].baseline < 1.5 * line.size
        if not tight or _column(line.cells[0], columns) == 0:
            break
        last_full += 1
    return last_full


def _span(cell: Sequence[Fragment]) -> tuple[float, float]:
    return min(item.left for item in cell), max(item.right for item in cell)


def _merged(
    columns: Sequence[tuple[float, float]], cells: Sequence[tuple[float, float]], white: float
) -> list[tuple[float, float]]:
    merged: list[tuple[float, float]] = []
    for left, right in sorted([*columns, *cells]):
        if merged and left < merged[-1][1] + white:
            merged[-1] = merged[-1][0], max(merged[-1][1], right)
        else:
            merged.append((left, right))
    return merged


def _column(cell: Sequence[Fragment], columns: Sequence[tuple[float, float]]) -> int:
    left, _ = _span(cell)
    return max((index for index, column in enumerate(columns) if column[0] <= left + 0.1), default=0)


def _is_list(run: Sequence[Line], columns: Sequence[tuple[float, float]]) -> bool:
    """Bullets or numbers with text set in behind them look like two columns."""
    first = [line for line in run if _column(line.cells[0], columns) == 0]
    return all(_mark(line) for line in first)


def _aligned(run: Sequence[Line], columns: Sequence[tuple[float, float]]) -> bool:
    """Whether the cells of every column behind the first line up: wide spaces in justified text do not."""
    cells: list[list[Sequence[Fragment]]] = [[] for _ in columns]
    for line in run:
        for cell in line.cells:
            cells[_column(cell, columns)].append(cell)
    near = _NEAR * run[0].size
    for column in cells[1:]:
        spans = [_span(cell) for cell in column]
        numbers = sum(any(char.isdigit() for char in written(cell).text) for cell in column) * 2 >= len(column)
        lefts = [left for left, _ in spans]
        middles = [(left + right) / 2 for left, right in spans]
        rights = [right for _, right in spans] if numbers else []
        if len(column) > 1 and not any(_agree(edges, near) for edges in (lefts, middles, rights)):
            return False
    return True


def _agree(edges: Sequence[float], near: float) -> bool:
    """Whether most of the edges are at one place."""
    return any(sum(abs(edge - other) <= near for other in edges) >= 0.6 * len(edges) for edge in edges)


def _mark(line: Line) -> bool:
    found = ENUMERATOR.match(f"{written(line.cells[0]).text} x")
    return found is not None and found.end() == len(written(line.cells[0]).text)


def _rows(run: Sequence[Line], columns: Sequence[tuple[float, float]], rules: Sequence[Rule]) -> list[list[Line]]:
    """Gather the lines of each row: rules tell, or wider gaps; else a line without a first cell goes on."""
    left, right = columns[0][0], columns[-1][1]
    heights = [rule.y for rule in rules if rule.left < right and rule.right > left]
    grouped = [[run[0]]]
    ruled = sum(1 for a, b in pairwise(run) if _ruled(heights, a, b))
    steps = [line.baseline - before.baseline for before, line in pairwise(run)]
    wide = _WIDE_STEP * min(steps)
    spaced = 5 * sum(step > wide for step in steps) >= len(steps)
    for (before, line), step in zip(pairwise(run), steps, strict=True):
        if ruled >= 2:
            goes_on = not _ruled(heights, before, line)
        elif spaced:
            goes_on = step <= wide
        else:
            tight = line.baseline - before.baseline < 1.5 * line.size
            goes_on = tight and _column(line.cells[0], columns) > 0
        if goes_on:
            grouped[-1].append(line)
        else:
            grouped.append([line])
    return grouped


def _ruled(heights: Sequence[float], above: Line, below: Line) -> bool:
    return any(above.baseline < y < below.baseline for y in heights)


def _row(lines: Sequence[Line], columns: Sequence[tuple[float, float]]) -> Row:
    cells: list[list[Inked]] = [[] for _ in columns]
    for line in lines:
        for cell in line.cells:
            cells[_column(cell, columns)].append(written(cell))
    while cells and not cells[-1]:
        cells.pop()
    inks = [joined(cell, " ") for cell in cells]
    letters = not any(ink.text[:1].isdigit() for ink in inks)
    return Row(joined(inks, CELL_GAP), lines[0].page, all(line.bold for line in lines), letters)


def has_header(rows: Sequence[Row]) -> bool:
    """The first row is a header if it is set in bold alone, or is words above numbers."""
    first, rest = rows[0], rows[1:]
    if first.bold:
        return not all(row.bold for row in rest)
    numbers = sum(1 for row in rest if not row.letters)
    return first.letters and len(first.ink.text) <= _LONGEST_HEADER and 2 * numbers >= len(rest)
