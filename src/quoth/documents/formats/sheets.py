"""Rows of cells as blocks: the sheets of a workbook and files of separated values are laid out by the same rules.

The cells of a row (`A5:D5`) stand on a line of their own before it, as markup, which is never quoted. So a citation can
name them, and the text that offsets count in shows where each row comes from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from quoth.documents.text_blocks import Block, row_text
from quoth.errors import UnreadableFile
from quoth.types import RegionKind

MOST_ROWS = 200_000
"""Rows with text, of all sheets of a file together."""
MOST_CELLS = 4_000_000
"""Cells, the empty ones between two others in a row included."""
MOST_CHARACTERS = 64_000_000
"""Code points of all cells. A shared text counts wherever it is shown."""

_LONGEST_NAME = 80
_LONGEST_ROW = 1_000
_LONGEST_IN_ROW = 200
"""Code points of a cell that stays in its row when the row is too long; a longer cell becomes a paragraph."""
_LONGEST_REPEATED = 200
_COMPARED_ROWS = 50
_YEAR = re.compile(r"(?:1[89]|2[01])\d\d")
_SENTENCE = re.compile(r"[.!?][\"'”’)\]]*$")
_SPLIT = "Split it, or leave out rows and columns that nobody asks about."


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell with visible text. `column` counts from 0. `number`: it holds a number or a date rather than words."""

    column: int
    text: str
    number: bool
    bold: bool


@dataclass(frozen=True, slots=True)
class SheetRow:
    """The cells of a row, from left to right; `number` counts from 1.

    `opens`: it is the first row, or a blank row stands before it. `header`: the file declares it to be a header.
    """

    number: int
    cells: tuple[Cell, ...]
    opens: bool
    header: bool


class SheetLimits:
    """Counts what a file holds. Raise `UnreadableFile` when it holds more than can be read."""

    def __init__(self) -> None:
        self._rows = self._cells = self._characters = 0

    def count(self, row: SheetRow) -> None:
        self._rows += 1
        self._cells += row.cells[-1].column - row.cells[0].column + 1
        self._characters += sum(len(cell.text) for cell in row.cells)
        if self._rows > MOST_ROWS:
            raise UnreadableFile("", f"it has more than {MOST_ROWS:,} rows", hint=_SPLIT)
        if self._cells > MOST_CELLS:
            raise UnreadableFile("", f"it has more than {MOST_CELLS:,} cells", hint=_SPLIT)
        if self._characters > MOST_CHARACTERS:
            raise UnreadableFile("", f"its cells hold more than {MOST_CHARACTERS:,} characters", hint=_SPLIT)


def column_name(column: int) -> str:
    """Return the letters of a column: 0 is `A`, 26 is `AA`."""
    letters = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def merged_down(rows: Sequence[SheetRow], areas: Iterable[tuple[int, int, int]]) -> list[SheetRow]:
    """Return the rows with the text of a merged area repeated in each further row that says something by itself.

    An area is its column, first row and last row.
    """
    by_number = {row.number: row for row in rows}
    numbers = sorted(by_number)
    changes = 0
    for column, first, last in areas:
        top = by_number.get(first)
        cell = next((cell for cell in top.cells if cell.column == column), None) if top else None
        if cell is None or len(cell.text) > _LONGEST_REPEATED:
            continue
        for number in numbers if last - first > len(numbers) else range(first + 1, last + 1):
            row = by_number.get(number) if first < number <= last else None
            if row is None or any(other.column == column for other in row.cells):
                continue
            changes += 1
            if changes > MOST_ROWS:
                break
            cells = sorted((*row.cells, replace(cell, bold=False)), key=lambda each: each.column)
            by_number[number] = replace(row, cells=tuple(cells))
    return [by_number[number] for number in numbers]


def sheet_blocks(rows: Sequence[SheetRow], *, begins_with_header: bool) -> list[Block]:
    """Return the blocks of a sheet. `begins_with_header`: by convention the first row names the columns."""
    tables = _Tables(begins_with_header=begins_with_header)
    return [block for run in _runs(rows) for part in _side_by_side(run) for block in tables.blocks(part)]


def _runs(rows: Iterable[SheetRow]) -> Iterator[list[SheetRow]]:
    """Yield the rows between two blank ones."""
    run: list[SheetRow] = []
    for row in rows:
        if row.opens and run:
            yield run
            run = []
        run.append(row)
    if run:
        yield run


def _side_by_side(run: list[SheetRow]) -> list[list[SheetRow]]:
    """Return tables that stand beside each other, with a blank column between them, one after the other.

    Each must have two columns or more and a header of its own, and they must begin at different rows or be of different
    length: a blank column may also be there for its looks.
    """
    columns = sorted({cell.column for row in run for cell in row.cells})
    edges = [right for left, right in pairwise(columns) if right > left + 1]
    starts = [columns[0], *edges] if columns else []
    parts = [_between(run, start, end) for start, end in zip(starts, [*edges, columns[-1] + 1], strict=True)]
    lengths = [len(part) for part in parts]
    apart = len({part[0].number for part in parts}) > 1 or 2 * min(lengths, default=0) < max(lengths, default=0)
    return parts if len(parts) > 1 and apart and all(map(_is_table, parts)) else [run]


def _between(run: Sequence[SheetRow], start: int, end: int) -> list[SheetRow]:
    cut = (replace(row, cells=tuple(cell for cell in row.cells if start <= cell.column < end)) for row in run)
    return [row for row in cut if row.cells]


def _is_table(part: Sequence[SheetRow]) -> bool:
    return len(part) > 1 and _names_columns(part[0], part[1 : 1 + _COMPARED_ROWS], by_convention=False)


class _Tables:
    """Lays out one run of rows after another; a table without a header of its own goes on with the one above."""

    def __init__(self, *, begins_with_header: bool) -> None:
        self._begins_with_header = begins_with_header
        self._columns: tuple[int, ...] = ()
        """The columns of the table above, if it has a header."""

    def blocks(self, run: Sequence[SheetRow]) -> Iterator[Block]:
        above = next((at for at, row in enumerate(run) if len(row.cells) > 1 or row.header), len(run))
        for at, row in enumerate(run[:above]):
            yield from _line(row, title=at == 0 and above < len(run))
        body = run[above:]
        if not body:
            return
        header = self._has_header(body)
        columns = tuple(sorted({cell.column for row in body for cell in row.cells}))
        goes_on = not header and not above and set(columns) <= set(self._columns)
        self._begins_with_header = False
        if not goes_on:
            self._columns = columns if header else ()
        for at, row in enumerate(body):
            is_header = (at == 0 and header) or row.header
            kind = RegionKind.TABLE_HEADER if is_header else RegionKind.TABLE_ROW
            opens = is_header or (at == 0 and not goes_on)
            yield from _row(row, kind, columns=self._columns or columns, opens=opens)

    def _has_header(self, body: Sequence[SheetRow]) -> bool:
        if len(body) < 2:
            return False
        declared = next((at for at, row in enumerate(body) if row.header), None)
        if declared is not None:
            return declared == 0
        return _names_columns(body[0], body[1 : 1 + _COMPARED_ROWS], by_convention=self._begins_with_header)


def _names_columns(first: SheetRow, others: Sequence[SheetRow], *, by_convention: bool) -> bool:
    """Return whether the first row of a table reads like names of columns rather than like one more row."""
    cells = first.cells
    widest = max(len(row.cells) for row in others)
    if len(cells) < max(2, widest / 2) or any(not _is_name(cell.text) for cell in cells):
        return False
    if any(cell.number and not _YEAR.fullmatch(cell.text) for cell in cells) or all(cell.number for cell in cells):
        return False
    if all(cell.bold for cell in cells) and not all(cell.bold for row in others for cell in row.cells):
        return True
    columns = {cell.column: cell.text for cell in cells}
    below = [cell for row in others if row.cells != cells for cell in row.cells if cell.column in columns]
    if len(set(columns.values())) < len(columns) or any(columns[cell.column] == cell.text for cell in below):
        return False
    above_numbers = any(_mostly_numbers(cell for cell in below if cell.column == column) for column in columns)
    return by_convention or above_numbers or len(cells) > 2


def _is_name(text: str) -> bool:
    return len(text) <= _LONGEST_NAME and (len(text) <= 12 or _SENTENCE.search(text) is None)


def _mostly_numbers(cells: Iterable[Cell]) -> bool:
    kinds = [cell.number for cell in cells]
    return len(kinds) > 1 and sum(kinds) > 0.8 * len(kinds)


def _line(row: SheetRow, *, title: bool) -> Iterator[Block]:
    """Yield the only cell of a row: the title of the table below it, or a paragraph."""
    cell = row.cells[0]
    yield _address(row.number, row.cells)
    text = " ".join(cell.text.split())
    if title and not cell.number and _is_name(text):
        yield Block(RegionKind.HEADING, text, level=2, opens=False)
    else:
        yield Block(RegionKind.PARAGRAPH, text, level=0, opens=False)


def _row(row: SheetRow, kind: RegionKind, *, columns: Sequence[int], opens: bool) -> Iterator[Block]:
    short = row.cells
    long: tuple[Cell, ...] = ()
    if sum(len(cell.text) for cell in row.cells) > _LONGEST_ROW:
        short = tuple(cell for cell in row.cells if len(cell.text) <= _LONGEST_IN_ROW)
        long = tuple(cell for cell in row.cells if len(cell.text) > _LONGEST_IN_ROW)
    if short:
        texts = {cell.column: cell.text for cell in short}
        yield _address(row.number, short)
        yield Block(kind, row_text([texts.get(column, "") for column in columns]), level=0, opens=opens)
    for cell in long:
        yield _address(row.number, (cell,))
        yield Block(RegionKind.PARAGRAPH, " ".join(cell.text.split()), level=0, opens=False)


def _address(number: int, cells: Sequence[Cell]) -> Block:
    ends = dict.fromkeys(column_name(cell.column) for cell in (cells[0], cells[-1]))
    return Block(RegionKind.MARKUP, ":".join(f"{name}{number}" for name in ends), level=0, opens=False)
