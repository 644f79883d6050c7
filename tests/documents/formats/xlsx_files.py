"""XLSX files written by hand: a few parts of XML in an archive, nothing that a test does not name."""

from __future__ import annotations

from collections.abc import Mapping
from xml.sax.saxutils import escape

from quoth.documents.formats.sheets import column_name
from quoth.documents.formats.xlsx import xlsx_document as xlsx
from quoth.types import RegionKind

from .docx_files import archive, regions, relations

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELATION = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
STYLES = """
<numFmts count="1"><numFmt numFmtId="164" formatCode="0.0&quot; kg&quot;"/></numFmts>
<fonts><font/><font><b/></font></fonts>
<cellXfs><xf numFmtId="0" fontId="0"/><xf numFmtId="0" fontId="1"/><xf numFmtId="14" fontId="0"/>
<xf numFmtId="9" fontId="0"/><xf numFmtId="164" fontId="0"/></cellXfs>
"""
BOLD, DATE, PERCENT, KILOGRAMS = 1, 2, 3, 4
"""The places of the styles above."""


def part(root: str, content: str) -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?><{root} xmlns="{MAIN}" xmlns:r="{RELATION}">{content}</{root}>'


def c(value: str | float, style: int = 0) -> str:
    """A cell without its address; the row gives it one."""
    if isinstance(value, str):
        return f' s="{style}" t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'
    return f' s="{style}"><v>{value!r}</v></c>'


def row(number: int, *cells: str | float, more: str = "", first: int = 0) -> str:
    """A row; a text or a number becomes a cell, an empty text none."""
    made = "".join(
        f'<c r="{column_name(first + place)}{number}"'
        + (cell if isinstance(cell, str) and cell.endswith("</c>") else c(cell))
        for place, cell in enumerate(cells)
        if cell != ""
    )
    return f'<row r="{number}" {more}>{made}</row>'


def workbook(*sheets: tuple[str, str], more: Mapping[str, str | bytes] | None = None, properties: str = "") -> bytes:
    """A workbook of sheets: a name (`Secret" state="hidden` hides it), and rows with what else the sheet holds."""
    listed = "".join(f'<sheet name="{name}" r:id="r{place}"/>' for place, (name, _) in enumerate(sheets))
    targets = {f"worksheets/sheet{place}.xml": "worksheet" for place in range(len(sheets))}
    parts: dict[str, str | bytes] = {
        "_rels/.rels": relations({"xl/workbook.xml": "officeDocument"}),
        "xl/workbook.xml": part("workbook", f"{properties}<sheets>{listed}</sheets>"),
        "xl/_rels/workbook.xml.rels": relations({**targets, "styles.xml": "styles", "strings.xml": "sharedStrings"}),
        "xl/styles.xml": part("styleSheet", STYLES),
    }
    for place, (_, content) in enumerate(sheets):
        holds_data = "<sheetData>" in content
        inside = content if holds_data else f"<sheetData>{content}</sheetData>"
        parts[f"xl/worksheets/sheet{place}.xml"] = part("worksheet", inside)
    return archive(parts | dict(more or {}))


def said(data: bytes) -> list[tuple[RegionKind, str]]:
    """The kind and the text of every region, without the addresses of the rows."""
    return [pair for pair in regions(xlsx.extract(data)) if pair[0] is not RegionKind.MARKUP]


def texts(data: bytes) -> list[str]:
    return [text for _, text in said(data)]
