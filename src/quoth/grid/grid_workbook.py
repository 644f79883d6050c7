"""A grid as an Excel workbook: the table, and a second sheet with a row for each cell, to sort and filter by.

Every text is written as a text, so no program takes it for a formula.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from quoth.grid.grid_cells import CellKind, Grid, GridCell

LONGEST_TEXT = 32_767
"""UTF-16 units that Excel takes in a cell."""
_CUT = "… [cut: the cell holds no more]"
_ESCAPED = re.compile(r"[^\t\n\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|_(?=x[0-9A-Fa-f]{4}_)")
"""What XML cannot hold, or a reader would change, and what looks like the escape of it."""
_DAY_ZERO = (1980, 1, 1, 0, 0, 0)
_HEAD, _TEXT, _SURE, _LIKELY, _UNSURE, _ABSENT = 1, 2, 3, 4, 5, 6
"""Styles, by their place in `cellXfs`."""
_QUOTE_HEADS = (
    *("document", "title", "question id", "question", "cell", "quote or nearest miss", "under", "page", "start", "end"),
    *("section", "confidence", "why"),
)
_Value = str | float | None

_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_SHEET_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_TYPES = (
    f'{_XML}<Types xmlns="{_PACKAGE}/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_SHEET_TYPE}.sheet.main+xml"/>'
    f'<Override PartName="/xl/styles.xml" ContentType="{_SHEET_TYPE}.styles+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_SHEET_TYPE}.worksheet+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet2.xml" ContentType="{_SHEET_TYPE}.worksheet+xml"/></Types>'
)
_ROOT = (
    f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>'
)
_WORKBOOK = (
    f'{_XML}<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets><sheet name="Grid" sheetId="1" r:id="rId1"/>'
    '<sheet name="Quotes" sheetId="2" r:id="rId2"/></sheets></workbook>'
)
_PARTS = (
    f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships">'
    f'<Relationship Id="rId1" Type="{_OFFICE}/worksheet" Target="worksheets/sheet1.xml"/>'
    f'<Relationship Id="rId2" Type="{_OFFICE}/worksheet" Target="worksheets/sheet2.xml"/>'
    f'<Relationship Id="rId3" Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>'
)
_FILLS = ("FFE8ECF1", "FFCDE7D3", "FFE6F3E4", "FFFFF3D1")
"""Of the heads, and of cells by how sure they are."""


def _styles() -> str:
    fills = "".join(
        f'<fill><patternFill patternType="solid"><fgColor rgb="{colour}"/></patternFill></fill>' for colour in _FILLS
    )
    # (font, fill); fills 0 and 1 are fixed by the format.
    looks = ((0, 0), (1, 2), (0, 0), (0, 3), (0, 4), (0, 5), (2, 0))
    formats = "".join(
        f'<xf numFmtId="0" fontId="{font}" fillId="{fill}" borderId="0" xfId="0" applyFont="1" applyFill="1" '
        'applyAlignment="1"><alignment vertical="top" wrapText="1"/></xf>'
        for font, fill in looks
    )
    face = '<sz val="11"/><name val="Calibri"/>'
    return (
        f'{_XML}<styleSheet xmlns="{_MAIN}"><fonts count="3"><font>{face}</font><font><b/>{face}</font>'
        f'<font><i/><sz val="11"/><color rgb="FF6B7280"/><name val="Calibri"/></font></fonts>'
        f'<fills count="{len(_FILLS) + 2}"><fill><patternFill patternType="none"/></fill>'
        f'<fill><patternFill patternType="gray125"/></fill>{fills}</fills>'
        '<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
        '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
        f'<cellXfs count="{len(looks)}">{formats}</cellXfs></styleSheet>'
    )


def grid_workbook(grid: Grid) -> bytes:
    """Return the file; the same grid gives the same bytes."""
    heads = ["document", "title", *(question.text for question in grid.plan.questions)]
    table = [[(head, _HEAD) for head in heads]]
    for document, cells in grid.rows():
        known = [(document.id, _TEXT), (document.metadata.title or "", _TEXT)]
        table.append(known + [(cell.text, _style(cell)) if cell else ("", _TEXT) for cell in cells])
    content = io.BytesIO()
    with ZipFile(content, "w", ZIP_DEFLATED) as archive:
        for name, part in (
            ("[Content_Types].xml", _TYPES),
            ("_rels/.rels", _ROOT),
            ("xl/workbook.xml", _WORKBOOK),
            ("xl/_rels/workbook.xml.rels", _PARTS),
            ("xl/styles.xml", _styles()),
            ("xl/worksheets/sheet1.xml", _sheet(table, widths=[28, 28, *[48] * (len(heads) - 2)], frozen=2)),
            ("xl/worksheets/sheet2.xml", _sheet(_quote_rows(grid), widths=_quote_widths(), frozen=1)),
        ):
            entry = ZipInfo(name, _DAY_ZERO)
            entry.compress_type = ZIP_DEFLATED
            archive.writestr(entry, part.encode())
    return content.getvalue()


def _style(cell: GridCell) -> int:
    if cell.kind is not CellKind.STATED:
        return _ABSENT
    return _SURE if cell.confidence >= 0.9 else _LIKELY if cell.confidence >= 0.7 else _UNSURE


def _quote_widths() -> list[int]:
    return [{"question": 40, "quote or nearest miss": 80, "why": 40}.get(head, 16) for head in _QUOTE_HEADS]


def _quote_rows(grid: Grid) -> Iterator[list[tuple[_Value, int]]]:
    yield [(head, _HEAD) for head in _QUOTE_HEADS]
    for document, cells in grid.rows():
        for question, cell in zip(grid.plan.questions, cells, strict=True):
            if cell is None:
                continue
            quote = cell.quote
            place: tuple[_Value, ...] = (
                (quote.text, quote.lead, quote.page, quote.start, quote.end, " > ".join(quote.section))
                if quote
                else ("", "", None, None, None, "")
            )
            known = (document.id, document.metadata.title or "", question.id, question.text, cell.kind.value)
            yield [(value, _TEXT) for value in (*known, *place, cell.confidence, cell.why)]


def _sheet(rows: Iterable[Sequence[tuple[_Value, int]]], *, widths: Sequence[int], frozen: int) -> str:
    """Return a sheet whose head row and first `frozen` columns stay in view, with a filter in each head."""
    columns = "".join(
        f'<col min="{at}" max="{at}" width="{width}" customWidth="1"/>' for at, width in enumerate(widths, 1)
    )
    written = [
        f'<row r="{number}">'
        + "".join(_cell(f"{column_name(at)}{number}", value, style) for at, (value, style) in enumerate(row, 1))
        + "</row>"
        for number, row in enumerate(rows, 1)
    ]
    return (
        f'{_XML}<worksheet xmlns="{_MAIN}"><sheetViews><sheetView workbookViewId="0">'
        f'<pane xSplit="{frozen}" ySplit="1" topLeftCell="{column_name(frozen + 1)}2" activePane="bottomRight" '
        f'state="frozen"/></sheetView></sheetViews><cols>{columns}</cols><sheetData>{"".join(written)}</sheetData>'
        f'<autoFilter ref="A1:{column_name(len(widths))}{len(written)}"/></worksheet>'
    )


def _cell(place: str, value: _Value, style: int) -> str:
    if value is None or value == "":
        return f'<c r="{place}" s="{style}"/>'
    if isinstance(value, str):
        return f'<c r="{place}" s="{style}" t="inlineStr"><is><t xml:space="preserve">{cell_xml(value)}</t></is></c>'
    return f'<c r="{place}" s="{style}"><v>{value!r}</v></c>'


def column_name(number: int) -> str:
    """Return the letters of a column; 1 is A, 27 is AA."""
    letters = ""
    while number:
        number, rest = divmod(number - 1, 26)
        letters = chr(ord("A") + rest) + letters
    return letters


def cell_xml(text: str) -> str:
    """Return a text as it stands in the XML of a cell, cut to what Excel takes.

    A character that XML cannot hold is written `_x001F_`, which spreadsheets read as that character.
    """
    if len(text.encode("utf-16-le", "surrogatepass")) > 2 * LONGEST_TEXT:
        kept = text.encode("utf-16-le", "surrogatepass")[: 2 * (LONGEST_TEXT - len(_CUT))]
        text = kept.decode("utf-16-le", "ignore") + _CUT
    escaped = _ESCAPED.sub(lambda match: f"_x{ord(match[0]):04X}_", text)
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
