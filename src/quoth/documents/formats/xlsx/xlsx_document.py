"""XLSX: the cells as a reader sees them, sheet by sheet, each row under its header.

Formulas give the value that was stored with them, numbers and dates are written by their number formats. What is hidden
(sheets, rows, columns) is left out, and the notes say so. A cell merged over rows is said in each of them, one merged
over columns once, in the first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lxml import etree

from quoth.documents.formats.docx.package import Element, Package, children, relation
from quoth.documents.formats.sheets import SheetLimits, merged_down, sheet_blocks
from quoth.documents.formats.xlsx.sheet_cells import CellReader, Sheet, read_sheet, shared_texts
from quoth.documents.text_blocks import Block, assemble
from quoth.types import Extract, RegionKind

VERSION = f"lxml {'.'.join(map(str, etree.LXML_VERSION[:3]))} / xlsx 1"

_MAIN_PART = "xl/workbook.xml"
_NOT_A_WORKBOOK = "Only workbooks can be read here: .xlsx or .xlsm."
_MOST_SHEETS = 1_000
_MOST_NAMED = 5


def extract(data: bytes) -> Extract:
    """Return the text and the regions of an XLSX or XLSM; raise `UnreadableFile` with the reason where that fails."""
    package = Package(data, ".xlsx")
    main, root = package.main(_MAIN_PART, "x:workbook", "workbook", hint=_NOT_A_WORKBOOK)
    related = package.related(main)
    targets = package.related_by_id(main)
    cells = CellReader(
        texts=shared_texts(package, related.get("sharedStrings", ())),
        styles=next((package.xml(path) for path in related.get("styles", ())), None),
        from_1904=_from_1904(root),
    )
    limits = SheetLimits()
    blocks: list[Block] = []
    hidden: list[str] = []
    partly: list[str] = []
    for named, state, key in _sheets(root)[:_MOST_SHEETS]:
        part = targets.get(key)
        if state != "visible":
            hidden.append(named)
            continue
        if part is None or not package.holds(part):
            continue
        sheet = read_sheet(package, part, cells=cells, limits=limits)
        blocks += _sheet_blocks(named, sheet)
        if sheet.hidden:
            partly.append(named)
    assembled = assemble(blocks)
    notes = [
        *([f"Hidden sheets are not read: {_listed(hidden)}."] if hidden else []),
        *([f"Hidden rows and columns are not read, in: {_listed(partly)}."] if partly else []),
        *([f"{cells.without_value} formulas have no stored value: {_SAVE}"] if cells.without_value else []),
    ]
    return Extract(assembled.text, assembled.regions, (), (), package.properties(), tuple(notes))


_SAVE = "open the file in a spreadsheet program and save it, and they will have one."


def _from_1904(root: Element) -> bool:
    return any(element.get("date1904") in {"1", "true"} for element in children(root, "x:workbookPr"))


def _sheets(root: Element) -> list[tuple[str, str, str]]:
    """Return the name, the state and the relation of each sheet, in order."""
    return [
        (" ".join((sheet.get("name") or "").split()), sheet.get("state") or "visible", relation(sheet) or "")
        for sheets in children(root, "x:sheets")
        for sheet in children(sheets, "x:sheet")
    ]


def _sheet_blocks(named: str, sheet: Sheet) -> list[Block]:
    rows = merged_down(sheet.rows, sheet.merged)
    declared = sheet.header_rows
    rows = [replace(row, header=True) if row.number in declared else row for row in rows]
    blocks = sheet_blocks(rows, begins_with_header=False)
    return [Block(RegionKind.HEADING, named, level=1, opens=False), *blocks] if blocks else []


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
