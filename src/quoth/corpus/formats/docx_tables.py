"""The grid of a DOCX table: which cells a row has, what is merged, which rows are the header."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from quoth.corpus.blocks import Block
from quoth.corpus.formats.docx_package import Element, attribute, child, name, number, switched, value
from quoth.corpus.formats.docx_runs import chosen, control_content
from quoth.corpus.formats.docx_styles import is_deleted

MOST_COLUMNS = 200
"""Word itself stops at 63."""
LONGEST_ROW = 1_000
"""Code points; a longer row is text laid out in columns, and each of its cells is read by itself."""
LONGEST_REPEATED = 200
"""Code points of a cell merged over rows that is said again in each: a row is quoted alone and needs it."""

_LONGEST_HEAD = 80
_NUMBER = re.compile(r"[^\w]*\d[\d.,:/%\s–—-]*\W*\w{0,4}")
_WRAPPERS = frozenset({"w:ins", "w:moveTo", "w:customXml", "w:smartTag"})


@dataclass(frozen=True, slots=True)
class Cell:
    """The place of a cell and what stands in it."""

    column: int
    columns: int
    merged: str
    """`start` or `more` for a cell merged over rows, else empty."""
    shaded: bool
    element: Element


@dataclass(frozen=True, slots=True)
class Said:
    """A row once its cells are read: where each begins and what it says, and the blocks of each."""

    columns: tuple[int, ...]
    texts: tuple[str, ...]
    blocks: tuple[tuple[Block, ...], ...]
    notes: tuple[Block, ...]
    marked: bool
    """Whether the row is declared to be a header, by itself or by its style."""
    bold: bool
    shaded: bool


def rows(table: Element) -> Iterator[tuple[Element, bool]]:
    """The rows of a table in order, each with whether it is declared a header; deleted ones are left out.

    Word repeats the first rows alone on each page, so a declaration further down says nothing.
    """
    first = True
    for row in _wrapped(table, "w:tr"):
        how = child(row, "w:trPr")
        if not is_deleted(how):
            first = first and bool(switched(how, "w:tblHeader"))
            yield row, first


def cells(row: Element) -> Iterator[Cell]:
    """The cells of a row, each with its column."""
    column = min(number(value(child(row, "w:trPr"), "w:gridBefore")) or 0, MOST_COLUMNS)
    for element in _wrapped(row, "w:tc"):
        how = child(element, "w:tcPr")
        columns = min(max(number(value(how, "w:gridSpan")) or 1, 1), MOST_COLUMNS)
        merge = child(how, "w:vMerge")
        merged = "" if merge is None else "start" if attribute(merge, "val") == "restart" else "more"
        shade = child(how, "w:shd")
        fill = "auto" if shade is None else (attribute(shade, "fill") or "auto").lower()
        yield Cell(column, columns, merged, fill not in {"auto", "ffffff"}, element)
        column = min(column + columns, MOST_COLUMNS)


def is_layout(table: Element) -> bool:
    """Whether a table only frames text: it has a single column."""
    return all(sum(1 for _ in cells(row)) <= 1 for row, _ in rows(table))


def laid_out(said: Sequence[Said]) -> list[Said]:
    """The rows with an empty cell for each column that a wide one covers.

    A row of as many cells as any other has none: that its edges are a little off makes no column of its own.
    """
    most = max((len(row.texts) for row in said), default=0)
    return [row if len(row.texts) == most else replace(row, texts=_by_column(row)) for row in said]


def _by_column(row: Said) -> tuple[str, ...]:
    texts = [""] * (row.columns[-1] + 1 if row.columns else 0)
    for column, text in zip(row.columns, row.texts, strict=True):
        texts[column] = f"{texts[column]} {text}".strip()
    return tuple(texts)


def header_rows(said: Sequence[Said]) -> set[int]:
    """Which rows are headers: those declared so, else the first when it looks like one."""
    declared = {place for place, row in enumerate(said) if row.marked}
    if len(declared) == len(said):
        return set() if len(said) < 2 else {0}  # a table without a body states something, whatever it declares
    return declared or ({0} if len(said) > 1 and _looks_like_header(said[0], said[1:]) else set())


def _looks_like_header(first: Said, others: Sequence[Said]) -> bool:
    names = [text for text in first.texts if text]
    if len(names) < 2 or any(len(text) > _LONGEST_HEAD or text.endswith(".") or _counts(text) for text in names):
        return False
    if first.bold and not all(row.bold for row in others):
        return True
    if first.shaded and not all(row.shaded for row in others):
        return True
    # Words above columns that hold numbers alone; in a table of names and values the words go down the side.
    full = [row.texts for row in others]
    measured = [
        column
        for column in range(1, len(first.texts))
        if all(column < len(texts) and _counts(texts[column]) for texts in full)
    ]
    return len(others) > 1 and bool(measured) and not any(map(str.isdigit, "".join(names)))


def _counts(text: str) -> bool:
    return len(text) <= _LONGEST_HEAD and _NUMBER.fullmatch(text) is not None


def _wrapped(element: Element, wanted: str) -> Iterator[Element]:
    """Children of that name, those inside insertions and content controls included."""
    tasks = list(reversed(element))
    while tasks:
        found = tasks.pop()
        tag = name(found)
        if tag == wanted:
            yield found
        elif tag == "w:sdt":
            tasks.extend(reversed(control_content(found)))
        elif tag == "mc:AlternateContent":
            tasks.extend(reversed(chosen(found)))
        elif tag in _WRAPPERS:
            tasks.extend(reversed(found))
