"""CSV and TSV: each record is a row under its header; the delimiter is found by trying.

The file's own commas and quotes are left out: as in every table, the cells of a row are separated by ` | `.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from io import StringIO
from itertools import chain, islice

from quoth.documents.encodings import decode
from quoth.documents.formats.sheets import Cell, SheetLimits, SheetRow, sheet_blocks
from quoth.documents.text_blocks import assemble
from quoth.errors import UnreadableFile
from quoth.types import Extract

VERSION = "csv / 1"

_DELIMITERS = ",;\t|"
_SAMPLE, _SAMPLE_ROWS = 1 << 18, 200
_END = "\0"
"""A line behind the last one, which no text holds: in an open quote it becomes part of a cell."""
_LONGEST_CELL = 1 << 20
"""Code points. A quote that is never closed would take the rest of the file for one cell."""
_DECLARED = re.compile(r"sep=([^\w\s\"]|\t)\r?\n", re.IGNORECASE)
"""The first line with which some programs tell a spreadsheet the delimiter."""
_NUMBER = re.compile(r"[-+(]*[$€£¥]?\s*[-+]?\d[\d.,'’\s/:T%-]*(?:[eE][-+]?\d+)?\)?\s*[%$€£¥Z]?")
_DAMAGED = "Open it in a spreadsheet program and save it again as CSV UTF-8."


def extract(data: bytes) -> Extract:
    """Return the text and the regions of a file of separated values, in any encoding that is recognised."""
    text, encoding = decode(data, label="")
    text = text.removeprefix("\ufeff")
    notes = [] if encoding in {"utf-8", "utf-16", "utf-32"} else [f"It is not UTF-8; it was read as {encoding}."]
    declared = _DECLARED.match(text)
    delimiter = declared[1] if declared else _delimiter(text)
    # The declaration is a row of the file, so the rows below keep their numbers.
    content = text[declared.end() :] if declared else text
    first = 2 if declared else 1
    try:
        rows = list(_rows(_records(content, delimiter, quoted=True), first))
    except csv.Error:
        notes.append("A quotation mark in it is never closed, so quotation marks were read as they stand.")
        rows = list(_rows(_records(content, delimiter, quoted=False), first))
    assembled = assemble(sheet_blocks(rows, begins_with_header=True))
    return Extract(assembled.text, assembled.regions, (), (), {}, tuple(notes))


def _records(text: str, delimiter: str, *, quoted: bool) -> Iterator[list[str]]:
    """Yield the records. Raise `csv.Error` for a quote that is never closed."""
    csv.field_size_limit(_LONGEST_CELL)
    source = StringIO(text, newline="")
    if not quoted:
        try:
            yield from csv.reader(source, delimiter=delimiter, quoting=csv.QUOTE_NONE)
        except csv.Error as error:
            why = f"one of its cells has more than {_LONGEST_CELL:,} characters"
            raise UnreadableFile("", why, hint=_DAMAGED) from error
        return
    # The strict mode of `csv` would notice the open quote too, but it refuses quotes inside a cell, which many write.
    for record in csv.reader(chain(source, [_END]), delimiter=delimiter):
        if record == [_END]:
            return
        yield record
    raise csv.Error("a quotation mark is never closed")


def _delimiter(text: str) -> str:
    """Return the delimiter under which most of the first records have the same number of cells, and more than one."""
    scores = {delimiter: _score(text, delimiter) for delimiter in _DELIMITERS}
    return max(_DELIMITERS, key=lambda delimiter: scores[delimiter])


def _score(text: str, delimiter: str) -> tuple[float, int]:
    widths: Counter[int] = Counter()
    try:
        for record in islice(_records(text[:_SAMPLE], delimiter, quoted=True), _SAMPLE_ROWS):
            widths[len(record)] += bool(record)
    except csv.Error:
        pass  # the sample ends inside a quoted cell
    width, count = max(widths.items(), key=lambda found: (found[1], found[0]), default=(0, 0))
    return (count / widths.total(), width) if width > 1 else (0.0, 0)


def _rows(records: Iterable[list[str]], first: int) -> Iterator[SheetRow]:
    """Yield the records that say something. A row number counts records, as a spreadsheet does, not lines."""
    limits = SheetLimits()
    before = 0
    for number, record in enumerate(records, first):
        cells = tuple(
            Cell(column, text, number=_NUMBER.fullmatch(text) is not None, bold=False)
            for column, value in enumerate(record)
            if (text := value.strip())
        )
        if cells:
            row = SheetRow(number, cells, opens=number > before + 1, header=False)
            limits.count(row)
            yield row
            before = number
