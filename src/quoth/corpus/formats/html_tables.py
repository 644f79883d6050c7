"""Tables of a page: rows with their header where the table holds data, plain flow where it only arranges the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from quoth.corpus.blocks import Block, row_text
from quoth.corpus.formats.html_measure import Measure
from quoth.corpus.formats.html_tree import Element
from quoth.types import RegionKind

WIDEST_SPAN = 100
"""Columns that one cell may span; browsers allow 1,000, tables that are read do not need them."""

_LONGEST_REPEATED = 120
_MOST_REPEATED = 400_000
"""Characters of a cell that is repeated where it spans others, and of all repeated ones of a table together; each
place counts as one more. Beyond it cells no longer span others."""

_BLOCKS_OF_FLOW = 3
"""A cell with this many blocks in it is a column of the page, unless the table has headers."""

_BOLD = frozenset({"b", "strong"})


@dataclass(frozen=True, slots=True)
class _Row:
    cells: tuple[Element, ...]
    in_head: bool


def rows_of(table: Element) -> list[_Row]:
    """Rows as they are shown: the head first, the foot last."""
    parts: dict[str, list[_Row]] = {"thead": [], "tbody": [], "tfoot": []}
    for child in _elements(table):
        if child.tag in parts:
            parts[child.tag] += [_row(row, child.tag == "thead") for row in _elements(child) if row.tag == "tr"]
        elif child.tag == "tr":
            parts["tbody"].append(_row(child, False))
    return [row for part in ("thead", "tbody", "tfoot") for row in parts[part] if row.cells]


def _row(row: Element, in_head: bool) -> _Row:
    return _Row(tuple(cell for cell in _elements(row) if cell.tag in {"td", "th"}), in_head)


def _elements(element: Element) -> Iterator[Element]:
    return (child for child in element.children if isinstance(child, Element))


def captions_of(table: Element) -> list[Element]:
    return [child for child in _elements(table) if child.tag == "caption"]


def is_layout(table: Element, measures: Mapping[int, Measure]) -> bool:
    """Whether a table arranges a page and holds no data."""
    if table.role in {"presentation", "none"} or table.get("datatable") == "0":
        return True
    rows = rows_of(table)
    if max((len(row.cells) for row in rows), default=0) < 2:
        return True
    inside = measures[id(table)]
    if captions_of(table) or any(row.in_head or any(cell.tag == "th" for cell in row.cells) for row in rows):
        return inside.headings > 0 and inside.tables > 1
    if inside.headings or inside.tables > 1 or len(rows) == 1:
        return True
    return any(measures[id(cell)].blocks > _BLOCKS_OF_FLOW for row in rows for cell in row.cells)


def table_blocks(table: Element, cell_text: Callable[[Element], str]) -> list[Block]:
    """A data table as its caption, one header row and its rows; a cell that spans several stands in each of them."""
    rows = rows_of(table)
    texts = {id(cell): cell_text(cell) for row in rows for cell in row.cells}
    grid = _grid(rows, texts)
    heads = _header_rows(rows, texts)
    blocks = [Block(RegionKind.CAPTION, cell_text(caption), 0, opens=False) for caption in captions_of(table)]
    header = row_text(_said_once(_combined(grid[:heads]))) if heads else ""
    opens = True
    if header:
        blocks.append(Block(RegionKind.TABLE_HEADER, header, 0, opens=True))
        opens = False
    for row, cells in zip(rows[heads:], grid[heads:], strict=True):
        text = row_text(_said_once(cells) if len(row.cells) == 1 else cells)
        if text:
            blocks.append(Block(RegionKind.TABLE_ROW, text, 0, opens))
            opens = False
    return blocks


def _said_once(cells: list[str]) -> list[str]:
    """A cell as wide as the table needs no repetition: it is a title among the rows, or a note below them."""
    said = {cell for cell in cells if cell}
    return cells if len(said) > 1 else list(said)


def _grid(rows: list[_Row], texts: Mapping[int, str]) -> list[list[str]]:
    """The text of every place in the table."""
    grid: list[list[str]] = []
    hanging: dict[int, tuple[int, str]] = {}
    """By column: how many more rows a cell from above reaches down, and its text."""
    budget = _MOST_REPEATED
    for number, row in enumerate(rows):
        places: list[str] = []
        for cell in row.cells:
            budget = _fill_hanging(places, hanging, budget)
            wide = _span(cell.get("colspan"), WIDEST_SPAN if budget > 0 else 1)
            tall = _span(cell.get("rowspan"), len(rows) - number, zero=len(rows) - number)
            text = texts[id(cell)]
            repeated = text if len(text) <= _LONGEST_REPEATED else ""
            for offset in range(wide):
                if tall > 1 and budget > 0:
                    hanging[len(places)] = (tall - 1, repeated)
                said = text if offset == 0 else repeated
                budget -= 1 + len(said) if offset else 0
                places.append(said if offset == 0 or budget > 0 else "")
        budget = _fill_hanging(places, hanging, budget)
        grid.append(places)
    return grid


def _fill_hanging(places: list[str], hanging: dict[int, tuple[int, str]], budget: int) -> int:
    """Set what reaches down from above into the next places; return what is left of the budget."""
    while (above := hanging.pop(len(places), None)) is not None:
        more, text = above
        budget -= 1 + len(text)
        if more > 1 and budget > 0:
            hanging[len(places)] = (more - 1, text)
        places.append(text if budget > 0 else "")
    return budget


def _span(text: str, most: int, *, zero: int = 1) -> int:
    text = text.strip()
    if not text.isdecimal() or len(text) > 6:
        return 1
    return max(1, min(int(text) or zero, most))


def _header_rows(rows: list[_Row], texts: Mapping[int, str]) -> int:
    """How many rows at the top are headers; none where nothing says so."""
    count = 0
    while count < len(rows) - 1 and (rows[count].in_head or all(cell.tag == "th" for cell in rows[count].cells)):
        count += 1
    if count or len(rows) < 2:
        return count
    return int(_all_bold(rows[0], texts) and not _all_bold(rows[1], texts))


def _all_bold(row: _Row, texts: Mapping[int, str]) -> bool:
    """Whether every cell with text in it is set in bold from end to end."""
    said = [cell for cell in row.cells if texts[id(cell)]]
    return len(said) > 1 and all(_bold(cell) for cell in said)


def _bold(cell: Element) -> bool:
    """Follow single children down to a bold one."""
    element = cell
    while element.tag not in _BOLD:
        inner = [child for child in element.children if isinstance(child, Element) or child.strip()]
        if len(inner) != 1 or isinstance(inner[0], str):
            return False
        element = inner[0]
    return True


def _combined(rows: list[list[str]]) -> list[str]:
    """Several header rows as one: each column with its labels from top to bottom, none of them twice."""
    columns: list[dict[str, None]] = [{} for _ in range(max(map(len, rows)))]
    for row in rows:
        for column, label in enumerate(row):
            if label:
                columns[column][label] = None
    return [" ".join(labels) for labels in columns]
