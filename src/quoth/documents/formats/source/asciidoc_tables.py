"""Tables of AsciiDoc: cells behind `|`, several on a line or each on its own, or lines of separated values."""

from __future__ import annotations

import re

from quoth.documents.formats.source.source_text import BLANK, SourceText
from quoth.types import RegionKind

_CELL = re.compile(
    r"(?:^|(?<=\s))(?:(?P<times>\d{1,3})\*|(?P<span>\d{1,3})?(?:\.\d{1,3})?\+)?[<^>]?(?:\.[<^>])?[adehlmsv]?\|"
)
_COLUMNS = re.compile(r"cols\s*=\s*(?:\"(?P<quoted>[^\"]*)\"|(?P<bare>[^\],\s]+))")
_REPEATED = re.compile(r"(\d{1,3})\*")
_HEADER = re.compile(r"options\s*=\s*\"?[^\]\"]*header|%[\w%]*header|opts\s*=\s*\"?[^\]\"]*header")
_MOST_COLUMNS = 500


def mark_table(source: SourceText, first: int, stop: int, *, separator: str, options: str) -> None:
    """Mark the rows between two lines. A blank line below the first row makes it the header, as `options` may."""
    if separator != "|":
        _mark_values(source, first, stop, header=_HEADER.search(options) is not None)
        return
    cells = _cells(source, first, stop)
    if not cells:
        return
    columns = _columns(options) or sum(span for line, _, _, span in cells if line == cells[0][0])
    header = _HEADER.search(options) is not None or _set_apart(source, first, stop, cells[0][0])
    ends = [start for _, start, _, _ in cells[1:]] + [source.end(_last_line(source, first, stop))]
    row = 0
    while cells[row:]:
        width, at = 0, row
        while at < len(cells) and (width < columns or at == row):
            width += cells[at][3]
            at += 1
        kind = RegionKind.TABLE_HEADER if header and row == 0 else RegionKind.TABLE_ROW
        source.mark(kind, cells[row][2], ends[at - 1], opens=row == 0)
        row = at


def _cells(source: SourceText, first: int, stop: int) -> list[tuple[int, int, int, int]]:
    """Return the line of each cell, the offsets of its mark and of its text, and how many columns it takes."""
    cells = []
    for line in range(first, stop):
        for mark in _CELL.finditer(source.lines[line]):
            start = source.starts[line]
            wide = int(mark["times"] or mark["span"] or 1)
            cells.append((line, start + mark.start(), start + mark.end(), min(wide, _MOST_COLUMNS)))
    return cells


def _columns(options: str) -> int:
    """Return how many columns the table declares, 0 when it does not."""
    found = _COLUMNS.search(options)
    if found is None:
        return 0
    columns = 0
    for part in re.split(r"[,;]", found["quoted"] or found["bare"] or ""):
        times = _REPEATED.match(part.strip())
        columns += int(times[1]) if times else 1
    return min(columns, _MOST_COLUMNS)


def _set_apart(source: SourceText, first: int, stop: int, row: int) -> bool:
    """Return whether the first row stands on the first line, and a blank line follows it."""
    below = row + 1
    return row == first and below < stop and source.indents[below] == BLANK and source.past_blank(below, stop) < stop


def _last_line(source: SourceText, first: int, stop: int) -> int:
    last = stop - 1
    while last > first and source.indents[last] == BLANK:
        last -= 1
    return last


def _mark_values(source: SourceText, first: int, stop: int, *, header: bool) -> None:
    lines = [line for line in range(first, stop) if source.indents[line] != BLANK]
    for number, line in enumerate(lines):
        kind = RegionKind.TABLE_HEADER if header and number == 0 else RegionKind.TABLE_ROW
        source.mark(kind, source.starts[line], source.end(line), opens=number == 0)
