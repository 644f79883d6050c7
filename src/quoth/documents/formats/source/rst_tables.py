"""Tables of reStructuredText: drawn as a grid, drawn with rules alone, or given as rows of values or lists."""

from __future__ import annotations

import re

from quoth.documents.formats.source.source_text import BLANK, SourceText
from quoth.types import RegionKind

GRID = re.compile(r"\+(?:[-=]+\+)+$")
SIMPLE = re.compile(r"=+(?: +=+)+$")

_GRID_LINE = re.compile(r"[+|]")
_SPANNED = re.compile(r"-+(?: +-+)*$")
_OUTER = "| \t"
_HEADER = re.compile(r":header:\s+")
_ROW_MARK = re.compile(r"[-*+]\s+(?=[-*+](?:\s|$))")


def mark_grid(source: SourceText, at: int, stop: int) -> int:
    """Mark the rows of a grid that begins on a line, and return the line behind it."""
    end = at
    while end < stop and _GRID_LINE.match(source.lines[end]):
        end += 1
    rules = [line for line in range(at, end) if GRID.match(source.lines[line])]
    heads = [line for line in rules if "=" in source.lines[line]]
    opens = True
    for above, below in zip(rules, [*rules[1:], end], strict=False):
        source.mark_lines(RegionKind.MARKUP, above, above + 1)
        if below > above + 1:
            kind = RegionKind.TABLE_HEADER if heads and above < heads[0] else RegionKind.TABLE_ROW
            _mark_row(source, above + 1, below, kind, opens=opens)
            opens = False
    return end


def _mark_row(source: SourceText, first: int, stop: int, kind: RegionKind, *, opens: bool) -> None:
    """Mark the lines of a row without the lines of the table around them."""
    start = source.starts[first] + len(source.lines[first]) - len(source.lines[first].lstrip(_OUTER))
    last = stop - 1
    end = source.end(last) - (len(source.lines[last]) - len(source.lines[last].rstrip(_OUTER)))
    source.mark(kind, start, end, opens=opens)


def mark_simple(source: SourceText, at: int, stop: int) -> int:
    """Mark the rows between the rules of a table; return the line behind it, 0 when the rules do not close it."""
    indent = source.indents[at]
    end = source.past_blank(at, stop)
    rules: list[int] = []
    for line in range(at, stop):
        if SIMPLE.match(source.lines[line]) and source.indents[line] == indent:
            rules.append(line)
            closed = line + 1 >= stop or source.indents[line + 1] == BLANK
            if len(rules) > 1 and closed:
                break
        elif source.indents[line] != BLANK and source.indents[line] < indent:
            break
    if len(rules) < 2:
        return 0
    end = rules[-1] + 1
    head = rules[1] if len(rules) > 2 else at
    first_gap = source.lines[at].index(" ")
    opens = True
    row: list[int] = []
    for line in range(at, end):
        drawn = line in rules or (bool(source.lines[line]) and _SPANNED.match(source.lines[line]) is not None)
        begins = source.indents[line] - indent < first_gap
        if row and (drawn or source.indents[line] == BLANK or begins):
            kind = RegionKind.TABLE_HEADER if row[0] < head else RegionKind.TABLE_ROW
            source.mark(kind, source.starts[row[0]], source.end(row[-1]), opens=opens)
            row, opens = [], False
        if drawn:
            source.mark_lines(RegionKind.MARKUP, line, line + 1)
        elif source.indents[line] != BLANK:
            row.append(line)
    return end


def mark_csv(source: SourceText, options: int, first: int, stop: int, *, header: int) -> None:
    """Mark each line of values as a row; a value may go on over lines while its quotation marks are open.

    The header is an option of its own, or the first rows.
    """
    begun: int | None = None
    rows = quotes = 0
    headed = False
    for line in range(options, first):
        name = _HEADER.match(source.lines[line])
        source.mark(RegionKind.MARKUP, source.starts[line], source.starts[line] + (name.end() if name else 0))
        kind = RegionKind.TABLE_HEADER if name else RegionKind.MARKUP
        source.mark(kind, source.starts[line], source.end(line), opens=True)
        headed = headed or name is not None
    for line in range(first, stop):
        if source.indents[line] == BLANK and not quotes % 2:
            continue
        begun = line if begun is None else begun
        quotes += source.lines[line].count('"')
        if quotes % 2 == 0 or line == stop - 1:
            kind = RegionKind.TABLE_HEADER if rows < header else RegionKind.TABLE_ROW
            source.mark(kind, source.starts[begun], source.end(line), opens=rows == 0 and not headed)
            begun, rows, quotes = None, rows + 1, 0


def mark_list_table(source: SourceText, first: int, stop: int, *, header: int) -> None:
    """Mark each item of the outer list as a row."""
    indent = source.least_indent(first, stop)
    begins = [line for line in range(first, stop) if source.indents[line] == indent]
    for number, (this, behind) in enumerate(zip(begins, [*begins[1:], stop], strict=False)):
        last = behind - 1
        while last > this and source.indents[last] == BLANK:
            last -= 1
        mark = _ROW_MARK.match(source.lines[this])
        skipped = mark.end() + 1 if mark else 1
        kind = RegionKind.TABLE_HEADER if number < header else RegionKind.TABLE_ROW
        source.mark(kind, source.starts[this] + skipped, source.end(last), opens=number == 0)
