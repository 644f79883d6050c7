"""The rows and cells of a table whose printed lines and columns are known."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import TypeAlias

import numpy as np

from quoth.documents.formats.pdf.printed_lines import (
    BoxedText,
    Fragment,
    HorizontalRule,
    PrintedLine,
    extent,
    joined,
    lines_of,
    runs,
    text_of,
)
from quoth.documents.text_blocks import CELL_GAP

_MOST_HEADERS = 3  # rows
_LONGEST_HEADER = 160  # code points of a header that is told by its words alone
_FEWEST_NUMBERS = 3  # in a column of numbers
_LONGEST_NUMBER = 16  # code points
_WIDE_STEP = 1.15  # times the distance between two lines of a cell
_SPREAD = 0.6  # of a cell: the least share that one column holds of a cell that is no spanning head
_WHITE = 0.5  # of the type size, between two columns; twice as much where few lines show it
_FEW_LINES = 4
_CROSSING = 0.1  # of the lines: how many may cross the white space between two columns
_SPANNING = 0.5  # of the width: a line of one cell this wide tells nothing about columns
_WIDEST = 14_400.0  # points: the largest page that PDF allows; a broken file may claim more
_BROKEN = re.compile(r"[^\W\d_]-$")

Columns: TypeAlias = Sequence[tuple[float, float]]
"""The left and right edge of each column."""
Cells: TypeAlias = Mapping[int, Sequence[Fragment]]
"""The fragments of a line by column."""
Row: TypeAlias = tuple[list[BoxedText], bool]
"""The texts of the cells of a row, and whether all of it is bold."""


@dataclass(frozen=True, slots=True, eq=False)
class PdfTable:
    rows: tuple[BoxedText, ...]
    """The text of each row, with its cells joined."""
    headers: int
    """How many of the first rows are the header."""
    lines: int
    """How many printed lines the table takes."""
    columns: Columns


def table_of(rows: Sequence[Row], columns: Columns, *, lines: int, headers: int = 0, spanned: int = 1) -> PdfTable:
    """Return the table of these rows. Where `headers` is 0, the words and the print of the rows tell the header.

    `spanned` is how many rows the highest cell of the first row takes: a header takes as many.
    """
    for cells, _ in rows:
        while cells and not cells[-1].text:
            cells.pop()
    texts = tuple(joined(cells, CELL_GAP) for cells, _ in rows)
    found = headers or _header_rows(rows, texts[0].text)
    return PdfTable(texts, max(found, min(spanned, _MOST_HEADERS)) if found else 0, lines, columns)


def columns_of(lines: Sequence[PrintedLine]) -> Columns:
    """Return the columns of the lines: between them is white space that hardly any line crosses."""
    if not lines:
        return []
    left, right = extent(lines)
    if right - left > _WIDEST:
        return [(left, right)]
    telling = [line for line in lines if len(line.cells) > 1 or line.right - line.left < _SPANNING * (right - left)]
    size = median(line.size for line in lines)
    white = (2 if len(telling) < _FEW_LINES else 1) * _WHITE * size
    counts = np.zeros(int(right - left) + 2, dtype=np.int64)
    for line in telling:
        covered = np.zeros(len(counts), dtype=np.bool_)
        for item in line.fragments:
            covered[int(item.left - left) : int(item.right - left) + 1] = True
        counts += covered
    often = counts > _CROSSING * len(telling)
    filled = often.copy()
    for start, end in (extent(cell) for line in telling for cell in line.cells):
        place = slice(int(start - left), int(end - left) + 1)
        filled[place] |= not often[place].any()  # a column with few cells, no cell that crosses the space
    found = runs(np.flatnonzero(filled).tolist(), lambda run, at: at - run[-1] - 1 < white)
    return [(left + run[0], left + run[-1] + 1) for run in found] or [(left, right)]


def same_columns(columns: Columns, others: Columns) -> bool:
    """Return whether the columns of two tables stand in the same places, as shares of the width of their table."""
    edges, other_edges = ((np.array(found) - found[0][0]) / (found[-1][1] - found[0][0]) for found in (columns, others))
    return overlap(edges.tolist(), other_edges.tolist())


def overlap(columns: Columns, others: Columns) -> bool:
    """Return whether each column overlaps one of the others, and there are about as many of them."""
    edges, other_edges = np.array(columns), np.array(others)
    meet = (edges[:, None, 0] < other_edges[None, :, 1]) & (edges[:, None, 1] > other_edges[None, :, 0])
    return abs(len(columns) - len(others)) <= 1 and bool(meet.any(axis=0).all() and meet.any(axis=1).all())


def is_spanning(cell: Sequence[Fragment], columns: Columns) -> bool:
    """Return whether a cell reaches into more than one column."""
    return _parted(_middles(columns), *extent(cell))


def cells_of(line: PrintedLine, columns: Columns) -> dict[int, list[Fragment]]:
    """Return the fragments of a line by column."""
    middles = _middles(columns)
    found: dict[int, list[Fragment]] = {}
    for cell in line.cells:
        for part in runs(cell, lambda part, item: not _parted(middles, part[-1].right, item.left)):
            found.setdefault(column_of(part, columns), []).extend(part)
    return found


def _middles(columns: Columns) -> list[float]:
    return [(before[1] + behind[0]) / 2 for before, behind in pairwise(columns)]


def _parted(middles: Sequence[float], left: float, right: float) -> bool:
    return bisect_left(middles, left) < bisect_right(middles, right)


def column_of(cell: Sequence[Fragment], columns: Columns) -> int:
    """Return the column that holds most of a cell; the first of them where it spans several."""
    (left, right), middles = extent(cell), _middles(columns)
    first, last = bisect_right(middles, left), bisect_left(middles, right)
    edges = [left, *middles[first:last], right]
    widest = max(range(len(edges) - 1), key=lambda at: (edges[at + 1] - edges[at], -at))
    return first + widest if edges[widest + 1] - edges[widest] >= _SPREAD * (right - left) else first


def row_of(lines: Sequence[PrintedLine], columns: Columns) -> Row:
    """Return the row that these lines make."""
    cells: list[list[Fragment]] = [[] for _ in columns]
    for line in lines:
        for column, cell in cells_of(line, columns).items():
            cells[column] += cell
    return [cell_text(cell, lines[0].page) for cell in cells], all(line.bold for line in lines)


def cell_text(cell: Sequence[Fragment], page: int) -> BoxedText:
    """Join the lines of a cell; a word broken over two lines keeps its line end."""
    text = joined([], "")
    for line in lines_of(cell, page=page, column_index=0):
        broken = _BROKEN.search(text.text) is not None and line.text[:1].islower()
        text = joined([text, line.boxed], "\n" if broken else " ") if text.text else line.boxed
    return text


def grouped_rows(
    run: Sequence[PrintedLine], columns: Columns, rules: Sequence[HorizontalRule]
) -> list[list[PrintedLine]]:
    """Group the lines into rows: by rules, by wider gaps, else by which cells may go on in the next line."""
    heights = rule_heights(rules, columns)
    cells = {id(line): cells_of(line, columns) for line in run}
    most = sorted(map(len, cells.values()))[len(run) * 4 // 5]
    numbers = _number_columns(list(cells.values()))
    labels = sum(1 for line in run if 0 in cells[id(line)])
    steps = [_step(above, below) for above, below in pairwise(run)]
    tight = sorted(step for step in steps if step > 0.8 * run[0].size)
    wide = _WIDE_STEP * tight[len(tight) // 10] if tight else 0.0

    def ruled(row: list[PrintedLine], line: PrintedLine) -> bool:
        return not is_ruled(heights, row[-1], line)

    def spaced(row: list[PrintedLine], line: PrintedLine) -> bool:
        return _step(row[-1], line) <= wide

    def wrapped(row: list[PrintedLine], line: PrintedLine) -> bool:
        close = _step(row[-1], line) < 1.5 * line.size
        above, below = cells[id(row[-1])], cells[id(line)]
        if numbers and not numbers & below.keys() and below.keys() != {0}:
            return close and below.keys() <= above.keys()
        if not numbers and 3 * labels <= len(run) and 0 not in below:
            return close
        fewer = len(below) < most or all(text_of(cell).text[:1].islower() for cell in below.values())
        return close and fewer and _goes_on(above, below, columns)

    for together, fewest in ((ruled, 2 if 2 * labels <= len(run) else 3), (spaced, 1 + (len(run) + 3) // 5)):
        rows = runs(run, together)
        stacked = sum(1 for row in rows if _is_stacked([cells[id(line)] for line in row], columns))
        if len(rows) >= fewest and 3 * stacked <= len(rows):
            return rows
    return runs(run, wrapped)


def _step(above: PrintedLine, below: PrintedLine) -> float:
    """Return the distance between two lines: italics and marks may stand a little higher or lower than their line."""
    first, second = (max(line.fragments, key=lambda item: len(item.text)) for line in (above, below))
    return second.baseline - first.baseline


def _is_stacked(row: Sequence[Cells], columns: Columns) -> bool:
    """Return whether the lines are several rows: a column has more than one number, or cells end early below names."""
    named = [cells for cells in row if 0 in cells and len(cells) > 1]
    early = [
        any(not _has_no_room(above[column], below[column], columns[column]) for column in above.keys() & below.keys())
        for above, below in pairwise(named)
    ]
    several = 2 * len(named) > len(row) and 2 * sum(early) > len(early)
    return several or any(count > 1 for count in _numbers(row).values())


def _number_columns(lines: Sequence[Cells]) -> set[int]:
    """Return the columns that hold numbers: each row has its number on its first line."""
    filled = Counter(column for cells in lines for column in cells)
    return {
        column
        for column, count in _numbers(lines).items()
        if count >= _FEWEST_NUMBERS and 4 * count >= 3 * filled[column]
    }


def _numbers(lines: Sequence[Cells]) -> Counter[int]:
    """Return how many lines have a number in each column."""
    return Counter(column for cells in lines for column, cell in cells.items() if _is_number(text_of(cell).text))


def _is_number(text: str) -> bool:
    """Return whether a cell is a number or a sign such as `+`. A list of numbers may go on in the next line."""
    return len(text) <= _LONGEST_NUMBER and not any(map(str.isalpha, text)) and "," not in (text[:1], text[-1:])


def _goes_on(above: Cells, below: Cells, columns: Columns) -> bool:
    """Return whether each cell of a line may continue the cell above it, and one of these has several words."""
    if not below.keys() <= above.keys():
        return False
    texts = {column: (text_of(above[column]).text, text_of(cell).text) for column, cell in below.items()}
    if 0 in below:  # the name of a row that wraps, or of a row of its own
        label, more = texts[0]
        if " " not in label or not (more[:1].islower() or label.endswith((",", "-"))):
            return False
    if not any(" " in text for text, _ in texts.values()) or any(_is_number(more) for _, more in texts.values()):
        return False
    return all(_has_no_room(above[column], cell, columns[column]) for column, cell in below.items())


def _has_no_room(above: Sequence[Fragment], below: Sequence[Fragment], column: tuple[float, float]) -> bool:
    """Return whether the first word of a cell does not fit behind the cell above it."""
    text = text_of(below).text
    (left, right), (start, end) = extent(above), extent(below)
    word = (end - start) * (len(text.split(maxsplit=1)[0]) + 1) / len(text)
    return right - left + word >= column[1] - column[0]


def is_ruled(heights: Sequence[float], above: PrintedLine, below: PrintedLine) -> bool:
    return any(above.baseline < y < below.baseline for y in heights)


def rule_heights(rules: Sequence[HorizontalRule], columns: Columns) -> list[float]:
    left, right = columns[0][0], columns[-1][1]
    return [rule.y for rule in rules if rule.left < right and rule.right > left]


def rows_above_rule(rows: Sequence[Sequence[PrintedLine]], columns: Columns, rules: Sequence[HorizontalRule]) -> int:
    """Return how many rows stand above the rule below a header; 0 where no rule tells."""
    heights = rule_heights(rules, columns)
    ruled = [at for at, (above, below) in enumerate(pairwise(rows), 1) if is_ruled(heights, above[-1], below[0])]
    tells = ruled and len(ruled) <= 2 and ruled[-1] <= _MOST_HEADERS and len(rows) - ruled[-1] >= 2
    return ruled[-1] if tells else 0


def _header_rows(rows: Sequence[Row], first_text: str) -> int:
    """Return the number of header rows. A header that leaves columns without a name goes on in the next row."""
    if not _has_header(rows, first_text):
        return 0
    width = max(len(cells) for cells, _ in rows)
    count = 1
    named = {at for at, cell in enumerate(rows[0][0]) if cell.text}
    while count < min(_MOST_HEADERS, len(rows) - 2) and len(named) < width:
        more = {at for at, cell in enumerate(rows[count][0]) if cell.text} - named
        if len(named | more) < width or not rows[count][0][0].text:
            break
        named |= more
        count += 1
    return count


def _has_header(rows: Sequence[Row], first_text: str) -> bool:
    """Return whether the first row is a header: the only bold row, or words above numbers."""
    first_is_bold, *others_are_bold = (bold for _, bold in rows)
    if first_is_bold:
        return not all(others_are_bold)
    first_has_numbers, *others_have_numbers = (any(cell.text[:1].isdigit() for cell in cells) for cells, _ in rows)
    words_first = not first_has_numbers and len(first_text) <= _LONGEST_HEADER
    return words_first and 2 * sum(others_have_numbers) >= len(others_have_numbers)
