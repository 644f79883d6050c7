"""Tables of a page: the rows and headers of those that hold data, and which tables only lay out the page."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from quoth.documents.formats.html.element_tree import Element
from quoth.documents.text_blocks import Block, row_text
from quoth.types import RegionKind

WIDEST_SPAN = 100
"""Columns that one cell may span. Browsers allow 1,000; tables that people read do not need them."""

_LONGEST_REPEATED = 120  # characters of a cell that is repeated in every row and column it spans
_MOST_REPEATED = 400_000
"""Characters of all repeated cells of a table, and one more for each repetition. Beyond it, cells span nothing."""
_MOST_BLOCKS = 3  # a cell with more blocks is a column of the page, unless the table has headers
_BOLD = frozenset({"b", "strong"})


@dataclass(frozen=True, slots=True)
class _HtmlRow:
    cells: tuple[Element, ...]
    in_head: bool


def _rows_of(table: Element) -> list[_HtmlRow]:
    """Return the rows in the order a browser shows them: the head first, the foot last."""
    sections: dict[str, list[_HtmlRow]] = {"thead": [], "tbody": [], "tfoot": []}
    for child in _elements(table):
        if child.tag in sections:
            sections[child.tag] += [_row(row, child.tag == "thead") for row in _elements(child) if row.tag == "tr"]
        elif child.tag == "tr":
            sections["tbody"].append(_row(child, False))
    return [row for section in sections.values() for row in section if row.cells]


def _row(row: Element, in_head: bool) -> _HtmlRow:
    return _HtmlRow(tuple(cell for cell in _elements(row) if cell.tag in {"td", "th"}), in_head)


def _elements(element: Element) -> Iterator[Element]:
    return (child for child in element.children if isinstance(child, Element))


def _captions_of(table: Element) -> list[Element]:
    return [child for child in _elements(table) if child.tag == "caption"]


def is_layout(table: Element) -> bool:
    """Return whether a table lays out the page and holds no data."""
    if table.role in {"presentation", "none"} or table.get("datatable") == "0":
        return True
    rows = _rows_of(table)
    if max((len(row.cells) for row in rows), default=0) < 2:
        return True
    inside = table.inside
    if _captions_of(table) or any(row.in_head or any(cell.tag == "th" for cell in row.cells) for row in rows):
        return inside.headings > 0 and inside.tables > 1
    if inside.headings or inside.tables > 1 or len(rows) == 1:
        return True
    return any(cell.inside.blocks > _MOST_BLOCKS for row in rows for cell in row.cells)


def table_blocks(table: Element, cell_text: Callable[[Element], str]) -> list[Block]:
    """Return a data table as its caption, one header row and its rows; a cell is repeated in all rows it spans."""
    rows = _rows_of(table)
    texts = {id(cell): cell_text(cell) for row in rows for cell in row.cells}
    grid = _grid(rows, texts)
    heads = _header_rows(rows, texts)
    lines = [(RegionKind.TABLE_HEADER, row_text(_without_repeats(_combined(grid[:heads]))))] if heads else []
    for row, cells in zip(rows[heads:], grid[heads:], strict=True):
        lines.append((RegionKind.TABLE_ROW, row_text(_without_repeats(cells) if len(row.cells) == 1 else cells)))
    visible = [line for line in lines if line[1]]
    return [
        *(Block(RegionKind.CAPTION, cell_text(caption), 0, opens=False) for caption in _captions_of(table)),
        *(Block(kind, text, 0, opens=index == 0) for index, (kind, text) in enumerate(visible)),
    ]


def _without_repeats(cells: list[str]) -> list[str]:
    """Return a cell as wide as the table once: it is a title among the rows, or a note below them."""
    distinct = {cell for cell in cells if cell}
    return cells if len(distinct) > 1 else list(distinct)


def _grid(rows: list[_HtmlRow], texts: Mapping[int, str]) -> list[list[str]]:
    """Return the rows of the table with a text in every column, spanning cells repeated."""
    grid: list[list[str]] = []
    hanging: dict[int, tuple[int, str]] = {}
    """By column: how many more rows a cell from above spans, and its text."""
    budget = _MOST_REPEATED
    for number, row in enumerate(rows):
        columns: list[str] = []
        for cell in row.cells:
            budget = _fill_hanging(columns, hanging, budget)
            wide = _span(cell.get("colspan"), WIDEST_SPAN if budget > 0 else 1)
            tall = _span(cell.get("rowspan"), len(rows) - number, zero=len(rows) - number)
            text = texts[id(cell)]
            repeated = text if len(text) <= _LONGEST_REPEATED else ""
            for offset in range(wide):
                if tall > 1 and budget > 0:
                    hanging[len(columns)] = (tall - 1, repeated)
                if offset == 0:
                    columns.append(text)
                else:
                    budget -= 1 + len(repeated)
                    columns.append(repeated if budget > 0 else "")
        budget = _fill_hanging(columns, hanging, budget)
        grid.append(columns)
    return grid


def _fill_hanging(columns: list[str], hanging: dict[int, tuple[int, str]], budget: int) -> int:
    """Fill the next columns with the cells that span down from above; return what is left of the budget."""
    while (above := hanging.pop(len(columns), None)) is not None:
        more, text = above
        budget -= 1 + len(text)
        if more > 1 and budget > 0:
            hanging[len(columns)] = (more - 1, text)
        columns.append(text if budget > 0 else "")
    return budget


def _span(text: str, most: int, *, zero: int = 1) -> int:
    text = text.strip()
    if not text.isdecimal() or len(text) > 6:
        return 1
    return max(1, min(int(text) or zero, most))


def _header_rows(rows: list[_HtmlRow], texts: Mapping[int, str]) -> int:
    """Return how many rows at the top are headers."""
    count = 0
    while count < len(rows) - 1 and (rows[count].in_head or all(cell.tag == "th" for cell in rows[count].cells)):
        count += 1
    if count or len(rows) < 2:
        return count
    return int(_all_bold(rows[0], texts) and not _all_bold(rows[1], texts))


def _all_bold(row: _HtmlRow, texts: Mapping[int, str]) -> bool:
    """Return whether the row has several cells with text, and all of their text is bold."""
    filled = [cell for cell in row.cells if texts[id(cell)]]
    return len(filled) > 1 and all(_bold(cell) for cell in filled)


def _bold(cell: Element) -> bool:
    element = cell
    while element.tag not in _BOLD:
        inner = element.visible_children()
        if len(inner) != 1 or isinstance(inner[0], str):
            return False
        element = inner[0]
    return True


def _combined(rows: list[list[str]]) -> list[str]:
    """Join several header rows: each column with its distinct labels from top to bottom."""
    columns: list[dict[str, None]] = [{} for _ in range(max(map(len, rows)))]
    for row in rows:
        for column, label in enumerate(row):
            if label:
                columns[column][label] = None
    return [" ".join(labels) for labels in columns]
