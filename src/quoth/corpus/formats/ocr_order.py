"""The order in which a person reads the lines that were recognised on a page: rows, and columns of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median
from typing import Protocol, TypeVar


class Boxed(Protocol):
    @property
    def box(self) -> tuple[float, float, float, float]: ...


Line = TypeVar("Line", bound=Boxed)

_ROWS_OF_A_COLUMN = 3
"""Fewer rows side by side are a table or a letterhead, which are read across."""
_COLUMN_WIDTH = 9.0
"""In line heights. Text in columns has lines at least this long; the cells of a table are mostly shorter."""
_LINES_BESIDE = 4
"""A gutter has at least this many lines beside it for each one that crosses it."""
_WORD_GAP = 1.0
"""In line heights. Pieces of a row that stand closer are one line: the detector parts them where it sees a space."""


def in_reading_order(lines: Sequence[Line], *, join: Callable[[Sequence[Line]], Line]) -> tuple[Line, ...]:
    """The lines from top to bottom, a column before the next one to its right; close pieces of a row are joined."""
    ordered: list[Line] = []
    waiting = [list(lines)]
    while waiting:
        group = waiting.pop()
        if (columns := _columns(group)) is not None:
            waiting += [part for part in reversed(columns) if part]
        else:
            ordered += [piece for row in _rows(group) for piece in _joined(row, join)]
    return tuple(ordered)


def _height(line: Boxed) -> float:
    return line.box[3] - line.box[1]


def _rows(lines: Sequence[Line]) -> list[list[Line]]:
    """Lines that stand beside each other, from left to right; the rows from top to bottom."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: (line.box[1] + line.box[3], line.box[0])):
        if rows and _beside(rows[-1], line):
            rows[-1].append(line)
        else:
            rows.append([line])
    for row in rows:
        row.sort(key=lambda line: line.box[0])
    return rows


def _beside(row: Sequence[Boxed], line: Boxed) -> bool:
    # On a page that hangs a little, the piece to compare with is the nearest one of the row.
    near = min(row, key=lambda other: abs(other.box[0] - line.box[0]))
    middle = (line.box[1] + line.box[3]) / 2
    return near.box[1] < middle < near.box[3] and not _above_each_other(near, line)


def _above_each_other(first: Boxed, second: Boxed) -> bool:
    shared = min(first.box[2], second.box[2]) - max(first.box[0], second.box[0])
    return shared > min(_height(first), _height(second))


def _joined(row: Sequence[Line], join: Callable[[Sequence[Line]], Line]) -> list[Line]:
    groups: list[list[Line]] = []
    for line in row:
        if groups and line.box[0] - groups[-1][-1].box[2] < _WORD_GAP * _height(line):
            groups[-1].append(line)
        else:
            groups.append([line])
    return [group[0] if len(group) == 1 else join(group) for group in groups]


def _columns(lines: Sequence[Line]) -> list[list[Line]] | None:
    """The groups that a gutter parts the lines into, in reading order; None where there is no gutter.

    A line across the gutter, such as a title, ends the columns above it and begins new ones below.
    """
    gutter = _gutter(lines)
    if gutter is None:
        return None
    across = sorted((line for line in lines if _crosses(line, gutter)), key=lambda line: line.box[1])
    edges = [line.box[1] for line in across]
    groups: list[list[Line]] = []
    for band in range(len(across) + 1):
        top = edges[band - 1] if band else float("-inf")
        bottom = edges[band] if band < len(edges) else float("inf")
        inside = [line for line in lines if not _crosses(line, gutter) and top <= line.box[1] < bottom]
        if band:
            groups.append([across[band - 1]])
        left, right = ([line for line in inside if (line.box[0] >= gutter) is side] for side in (False, True))
        groups += [left, right] if _is_column(left) and _is_column(right) else [inside]
    return groups


def _crosses(line: Boxed, x: float) -> bool:
    return line.box[0] < x < line.box[2]


def _is_column(lines: Sequence[Boxed]) -> bool:
    return len(lines) >= _ROWS_OF_A_COLUMN and median(_length(line) for line in lines) >= _COLUMN_WIDTH


def _length(line: Boxed) -> float:
    return (line.box[2] - line.box[0]) / max(_height(line), 1e-6)


def _gutter(lines: Sequence[Boxed]) -> float | None:
    """The left end of the second column, where the fewest lines cross; None where too many cross everywhere."""
    best: tuple[int, float] | None = None
    for x in sorted({line.box[0] for line in lines}):
        left = [line for line in lines if line.box[2] <= x]
        right = [line for line in lines if line.box[0] >= x]
        crossing = len(lines) - len(left) - len(right)
        if best is not None and crossing >= best[0]:
            continue
        if crossing * _LINES_BESIDE <= len(lines) and _is_column(left) and _is_column(right):
            best = (crossing, x)
    return None if best is None else best[1]
