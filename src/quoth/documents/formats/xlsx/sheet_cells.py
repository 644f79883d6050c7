"""The cells of a worksheet: reads rows one by one, so that a large sheet need not fit into memory as XML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from quoth.documents.formats.docx.package import Element, Package, children, name, number
from quoth.documents.formats.sheets import MOST_CELLS, Cell, SheetLimits, SheetRow
from quoth.documents.formats.xlsx.number_formats import BUILT_IN, shown
from quoth.errors import UnreadableFile

_ADDRESS = re.compile(r"\$?([A-Za-z]{1,3})\$?([0-9]{1,7})")
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
_MOST_COLUMNS = 16_384
_WORDS = {"1": "TRUE", "0": "FALSE"}
_OFF = frozenset({"0", "false"})
_LEFT_OUT = frozenset({"x:rPh", "x:phoneticPr"})
"""How a Japanese or Chinese text is pronounced; it stands above the text, not in it."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """The visible rows of a worksheet. A merged area is its column, first and last row.

    `header_rows` are the rows that a filter or a table declares to hold the names of its columns. `hidden`: some rows
    or columns with text are left out.
    """

    rows: Sequence[SheetRow]
    merged: Sequence[tuple[int, int, int]]
    header_rows: frozenset[int]
    hidden: bool


def shared_texts(package: Package, parts: Iterable[str]) -> list[str]:
    """Return the texts that cells refer to by their place in a list."""
    return [text_of(element) for part in parts for element in package.elements(part, "x:si")]


def text_of(element: Element) -> str:
    """Return the text of a cell, of all its runs together."""
    texts: list[str] = []
    waiting = list(reversed(element))
    while waiting:
        found = waiting.pop()
        if name(found) == "x:t":
            texts.append(found.text or "")
        elif name(found) not in _LEFT_OUT:
            waiting.extend(reversed(found))
    return _ESCAPED.sub(_unescaped, "".join(texts))


def _unescaped(found: re.Match[str]) -> str:
    """Return the character that `_x000D_` stands for; a space for one that cannot be printed."""
    character = chr(int(found[1], 16))
    return character if character.isprintable() else " "


class CellReader:
    """Reads single cells: `texts` are the shared ones, `styles` says how numbers are shown."""

    def __init__(self, *, texts: Sequence[str], styles: Element | None, from_1904: bool) -> None:
        self._texts = texts
        self._from_1904 = from_1904
        self._styles = _styles(styles)
        self.without_value = 0
        """Formulas that the program which wrote the file did not calculate."""

    def read(self, element: Element, column: int) -> Cell | None:
        """Return a cell; None where it shows nothing."""
        code, bold = self._styles.get(element.get("s") or "0", ("General", False))
        kind = element.get("t") or "n"
        parts = {name(part): part for part in element}
        written = (parts["x:v"].text or "") if "x:v" in parts else ""
        if not written and kind != "inlineStr" and "x:f" in parts:
            self.without_value += 1
        text = self._text(element, kind, written, code).strip()
        return Cell(column, text, number=kind in {"n", "d"}, bold=bold) if text else None

    def _text(self, element: Element, kind: str, written: str, code: str) -> str:
        match kind:
            case "s":
                place = number(written)
                return self._texts[place] if place is not None and 0 <= place < len(self._texts) else ""
            case "inlineStr":
                return "".join(map(text_of, children(element, "x:is")))
            case "b":
                return _WORDS.get(written, written)
            case "n" if written:
                try:
                    value = float(written)
                except ValueError:
                    return written
                return shown(value, code, from_1904=self._from_1904)
            case _:
                return _ESCAPED.sub(_unescaped, written)


def _styles(root: Element | None) -> dict[str, tuple[str, bool]]:
    """Return the number format and whether it is bold of each cell style, by its place."""
    codes = dict(BUILT_IN)
    for formats in children(root, "x:numFmts"):
        for element in children(formats, "x:numFmt"):
            if (key := number(element.get("numFmtId"))) is not None:
                codes[key] = element.get("formatCode") or "General"
    bold = [
        any(mark.get("val") not in _OFF for mark in children(font, "x:b"))
        for fonts in children(root, "x:fonts")
        for font in children(fonts, "x:font")
    ]
    found: dict[str, tuple[str, bool]] = {}
    for styles in children(root, "x:cellXfs"):
        for place, element in enumerate(children(styles, "x:xf")):
            font = number(element.get("fontId")) or 0
            code = codes.get(number(element.get("numFmtId")) or 0, "General")
            found[str(place)] = (code, 0 <= font < len(bold) and bold[font])
    return found


def read_sheet(package: Package, part: str, *, cells: CellReader, limits: SheetLimits) -> Sheet:
    """Return the rows of a worksheet. Raise `UnreadableFile` where it holds more than can be read."""
    reader = _SheetReader(cells, limits)
    # A table declares its header in a part of its own.
    tables = [package.xml(path) for path in package.related(part).get("table", ())]
    for element in package.elements(part, "x:col", "x:row", "x:mergeCell", "x:autoFilter"):
        reader.take(element)
    declared = {first for table in tables if table is not None for first in _table_header(table)}
    return Sheet(reader.rows, reader.merged, frozenset(reader.headers | declared), reader.hidden)


def _table_header(table: Element) -> Iterable[int]:
    area = _area(table.get("ref"))
    return [area[1]] if area and table.get("headerRowCount") not in _OFF else []


class _SheetReader:
    def __init__(self, cells: CellReader, limits: SheetLimits) -> None:
        self.rows: list[SheetRow] = []
        self.merged: list[tuple[int, int, int]] = []
        self.headers: set[int] = set()
        self.hidden = False
        self._cells = cells
        self._limits = limits
        self._hidden_columns: set[int] = set()
        self._row = 0
        self._said = 0
        """The last row that holds something, shown or hidden: behind it a blank row is missed."""
        self._seen = 0

    def take(self, element: Element) -> None:
        match name(element):
            case "x:col" if element.get("hidden") in {"1", "true"} or element.get("width") == "0":
                first, last = number(element.get("min")) or 1, number(element.get("max")) or 0
                self._hidden_columns.update(range(max(first, 1) - 1, min(last, _MOST_COLUMNS)))
            case "x:row":
                self._take_row(element)
            case "x:mergeCell":
                area = _area(element.get("ref"))
                if area and area[3] > area[1]:
                    self.merged.append((area[0], area[1], area[3]))
            case "x:autoFilter":
                if area := _area(element.get("ref")):
                    self.headers.add(area[1])

    def _take_row(self, element: Element) -> None:
        self._row = number(element.get("r")) or self._row + 1
        found = []
        column = -1
        for cell in children(element, "x:c"):
            self._seen += 1
            if self._seen > MOST_CELLS:
                hint = "Split it, or leave out what nobody asks about."
                raise UnreadableFile("", f"it has more than {MOST_CELLS:,} cells", hint=hint)
            address = _ADDRESS.fullmatch(cell.get("r") or "")
            column = column_index(address[1]) if address else column + 1
            read = self._cells.read(cell, column)
            if read and column < _MOST_COLUMNS:
                found.append(read)
        if not found:
            return
        blank_before = self._row > self._said + 1
        self._said = self._row
        if element.get("hidden") in {"1", "true"}:
            self.hidden = True
            return
        # A file that lies may name a column twice or out of order.
        by_column = {cell.column: cell for cell in found if cell.column not in self._hidden_columns}
        self.hidden = self.hidden or len(by_column) < len(found)
        if by_column and (not self.rows or self.rows[-1].number < self._row):
            ordered = tuple(by_column[column] for column in sorted(by_column))
            row = SheetRow(self._row, ordered, opens=blank_before or not self.rows, header=False)
            self._limits.count(row)
            self.rows.append(row)


@lru_cache(maxsize=1_024)
def column_index(letters: str) -> int:
    """Return the place of a column, from 0: `A` is 0, `AA` is 26."""
    index = 0
    for letter in letters.upper():
        index = index * 26 + ord(letter) - ord("A") + 1
    return index - 1


def _area(reference: str | None) -> tuple[int, int, int, int] | None:
    """Return the first column and row and the last column and row of `A1:D5`; None for anything else."""
    first, _, last = (reference or "").partition(":")
    begin, end = _ADDRESS.fullmatch(first), _ADDRESS.fullmatch(last or first)
    if begin is None or end is None:
        return None
    return column_index(begin[1]), int(begin[2]), column_index(end[1]), int(end[2])
