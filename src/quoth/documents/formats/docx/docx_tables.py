"""The grid of a DOCX table: the cells of a row, merged cells, and which rows are headers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from quoth.documents.formats.docx.package import Element, attribute, child, name, number, switched, value
from quoth.documents.formats.docx.paragraph_text import inside
from quoth.documents.formats.docx.styles import is_deleted
from quoth.documents.text_blocks import Block

MOST_COLUMNS = 200
"""Word itself stops at 63."""

_LONGEST_HEAD = 80
_NUMBER = re.compile(r"[^\w]*\d[\d.,:/%\s–—-]*\W*\w{0,4}")
_WRAPPERS = frozenset({"w:ins", "w:moveTo", "w:customXml", "w:smartTag", "w:sdt", "mc:AlternateContent"})


@dataclass(frozen=True, slots=True)
class DocxBlock(Block):
    """A block, and how its paragraph is formatted."""

    bold: bool = False
    title: bool = False
    table_head: bool = False


@dataclass(frozen=True, slots=True)
class DocxCell:
    """A cell and its first column."""

    column: int
    merged: str
    """`start` or `more` for a cell merged over rows, else empty."""
    shaded: bool
    element: Element


@dataclass(frozen=True, slots=True)
class DocxRow:
    """A row that was read: the first column and the text of each cell, and the blocks of all cells."""

    columns: tuple[int, ...]
    texts: tuple[str, ...]
    blocks: tuple[DocxBlock, ...]
    notes: tuple[DocxBlock, ...]
    marked: bool
    """Whether the row is declared a header, by itself or by its style."""
    bold: bool
    shaded: bool


def rows(table: Element) -> Iterator[tuple[Element, bool]]:
    """Yield the rows of a table that were not deleted, each with whether it is declared a header.

    Word repeats only the first rows on each page, so a declaration further down counts for nothing.
    """
    first = True
    for row in _wrapped(table, "w:tr"):
        properties = child(row, "w:trPr")
        if not is_deleted(properties):
            first = first and bool(switched(properties, "w:tblHeader"))
            yield row, first


def cells(row: Element) -> Iterator[DocxCell]:
    column = min(number(value(child(row, "w:trPr"), "w:gridBefore")) or 0, MOST_COLUMNS)
    for element in _wrapped(row, "w:tc"):
        properties = child(element, "w:tcPr")
        columns = min(max(number(value(properties, "w:gridSpan")) or 1, 1), MOST_COLUMNS)
        merge = child(properties, "w:vMerge")
        merged = "" if merge is None else "start" if attribute(merge, "val") == "restart" else "more"
        shade = child(properties, "w:shd")
        fill = "auto" if shade is None else (attribute(shade, "fill") or "auto").lower()
        yield DocxCell(column, merged, fill not in {"auto", "ffffff"}, element)
        column = min(column + columns, MOST_COLUMNS)


def is_layout(table: Element) -> bool:
    """Return whether a table only frames text: it has a single column."""
    return all(sum(1 for _ in cells(row)) <= 1 for row, _ in rows(table))


def laid_out(table: Sequence[DocxRow]) -> list[DocxRow]:
    """Return the rows with an empty text for each further column that a wide cell covers.

    A row with the most cells has no wide cell: edges that are a little off make no column of their own.
    """
    most = max((len(row.texts) for row in table), default=0)
    return [row if len(row.texts) == most else replace(row, texts=_by_column(row)) for row in table]


def _by_column(row: DocxRow) -> tuple[str, ...]:
    texts = [""] * (row.columns[-1] + 1 if row.columns else 0)
    for column, text in zip(row.columns, row.texts, strict=True):
        texts[column] = f"{texts[column]} {text}".strip()
    return tuple(texts)


def header_rows(table: Sequence[DocxRow]) -> set[int]:
    """Return the indexes of the header rows: the declared ones, else the first if it looks like a header."""
    declared = {index for index, row in enumerate(table) if row.marked}
    if len(declared) == len(table):
        return set() if len(table) < 2 else {0}  # not all rows can be headers, whatever they declare
    return declared or ({0} if len(table) > 1 and _looks_like_header(table[0], table[1:]) else set())


def _looks_like_header(first: DocxRow, others: Sequence[DocxRow]) -> bool:
    names = [text for text in first.texts if text]
    if len(names) < 2 or any(len(text) > _LONGEST_HEAD or text.endswith(".") or _is_number(text) for text in names):
        return False
    if first.bold and not all(row.bold for row in others):
        return True
    if first.shaded and not all(row.shaded for row in others):
        return True
    # Words above columns of numbers. In a table of names and values the words go down the side.
    above_numbers = any(
        all(column < len(row.texts) and _is_number(row.texts[column]) for row in others)
        for column in range(1, len(first.texts))
    )
    return len(others) > 1 and above_numbers and not any(map(str.isdigit, "".join(names)))


def _is_number(text: str) -> bool:
    return len(text) <= _LONGEST_HEAD and _NUMBER.fullmatch(text) is not None


def _wrapped(element: Element, wanted: str) -> Iterator[Element]:
    """Yield the children of that name, also those inside insertions and content controls."""
    waiting = list(reversed(element))
    while waiting:
        found = waiting.pop()
        if name(found) == wanted:
            yield found
        elif name(found) in _WRAPPERS:
            waiting.extend(reversed(inside(found)))
