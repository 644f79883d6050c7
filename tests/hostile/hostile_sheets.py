"""Workbooks and files of separated values that lie, grow, nest or never end."""

from __future__ import annotations

from hostile_docx import HEAD, TYPES, archive, relation, relations
from hostile_parts import SAID, Hostile, World, hostile

X = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
ROW = f'<row r="1"><c r="A1" t="inlineStr"><is><t>{SAID}</t></is></c><c r="B1"><v>3</v></c></row>'


def part(root: str, content: str) -> str:
    return f'{HEAD}<{root} xmlns="{X}" xmlns:r="{TYPES}">{content}</{root}>'


def parts(rows: str, *, after: str = "", head: str = "", strings: str = "", styles: str = "") -> dict[str, str | bytes]:
    """The parts of a workbook with one sheet of these rows."""
    kinds = ("worksheet", "sharedStrings", "styles")
    return {
        "[Content_Types].xml": f'{HEAD}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "_rels/.rels": relations(relation("officeDocument", "xl/workbook.xml")),
        "xl/workbook.xml": part("workbook", '<sheets><sheet name="Fields" sheetId="1" r:id="rworksheet"/></sheets>'),
        "xl/_rels/workbook.xml.rels": relations(*(relation(kind, f"{kind}.xml") for kind in kinds)),
        "xl/worksheet.xml": head + part("worksheet", f"<sheetData>{rows}</sheetData>{after}").removeprefix(HEAD),
        "xl/sharedStrings.xml": part("sst", strings),
        "xl/styles.xml": part("styleSheet", styles),
    }


def workbook(rows: str, *, after: str = "", head: str = "", strings: str = "", styles: str = "") -> bytes:
    return archive(parts(rows, after=after, head=head, strings=strings, styles=styles))


def _laughs() -> str:
    grown = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))
    return f'<!DOCTYPE d [<!ENTITY a0 "ha">{grown}]>'


def _rows(world: World) -> bytes:
    """A million rows, or on a smaller scale still more than a sheet may have."""
    count = max(200_001, world.many(1_000_000))
    return workbook("".join(f"<row><c><v>{number}</v></c></row>" for number in range(count)))


def _shared(_world: World) -> bytes:
    """One text of 30,000 characters, shown in thousands of cells."""
    row = "<row>" + '<c t="s"><v>0</v></c>' * 100 + "</row>"
    return workbook(row * 30, strings=f"<si><t>{SAID * 700}</t></si>")


def _apart(_world: World) -> bytes:
    rows = "".join(
        f'<row r="{n}"><c r="A{n}"><v>1</v></c><c r="XFD{n}"><v>2</v></c></row>' for n in range(1, 1_048_576, 3_000)
    )
    return workbook(ROW + rows.replace('r="1"', 'r="2"'))


def _merged(_world: World) -> bytes:
    return workbook(ROW, after="<mergeCells>" + '<mergeCell ref="A1:XFD1048576"/>' * 20_000 + "</mergeCells>")


def _formats(_world: World) -> bytes:
    codes = ("0" * 255, "[h]" * 80, "#,##0.00" + "," * 200, "y" * 250, '"' * 99, "[$" * 99, "0." + "0" * 250, ";" * 99)
    formats = "".join(
        f'<numFmt numFmtId="{200 + place}" formatCode="{code.replace(chr(34), "&quot;")}"/>'
        for place, code in enumerate(codes)
    )
    styles = "".join(f'<xf numFmtId="{200 + place}"/>' for place in range(len(codes)))
    cells = "".join(
        f'<c s="{place}"><v>{value}</v></c>'
        for place in range(len(codes))
        for value in ("1e308", "-1e-308", "nan", "inf", "2958466", "-1", "0.1")
    )
    return workbook(
        f"{ROW}<row>{cells}</row>", styles=f"<numFmts>{formats}</numFmts><fonts/><cellXfs>{styles}</cellXfs>"
    )


def _relations_in_a_circle(world: World) -> bytes:
    made = parts(ROW)
    made["xl/_rels/workbook.xml.rels"] = relations(
        relation("worksheet", "workbook.xml"),
        relation("sharedStrings", "../../../../etc/passwd"),
        relation("styles", f"{world.url}/styles.xml", external=True),
    )
    return archive(made)


FILES: tuple[Hostile, ...] = (
    hostile("sheets/truncated.xlsx", "refused", lambda _: workbook(ROW)[:-80]),
    hostile("sheets/billion-laughs.xlsx", "refused", lambda _: workbook(ROW, head=_laughs())),
    hostile("sheets/zip-bomb-in-a-sheet.xlsx", "refused", lambda w: workbook(" " * max(20 << 20, w.many(200 << 20)))),
    hostile("sheets/zip-bomb-in-the-texts.xlsx", "refused", lambda _: workbook(ROW, strings=" " * (20 << 20))),
    hostile("sheets/a-million-rows.xlsx", "refused", _rows),
    hostile("sheets/one-text-in-thousands-of-cells.xlsx", "refused", _shared),
    hostile("sheets/cells-at-all-edges.xlsx", "refused", _apart),
    hostile("sheets/everything-merged.xlsx", "taken", _merged),
    hostile("sheets/absurd-number-formats.xlsx", "taken", _formats),
    hostile("sheets/relations-in-a-circle.xlsx", "taken", _relations_in_a_circle),
    hostile("sheets/is-really-text.xlsx", "refused", lambda _: SAID.encode()),
    hostile("sheets/nul.csv", "refused", lambda _: b"crop,depth\nrye\x00,2\n"),
    hostile("sheets/an-open-quote.csv", "taken", lambda _: b'crop,depth\n"rye,2\noats,4\n' + SAID.encode()),
    hostile("sheets/one-endless-cell.csv", "refused", lambda _: b"crop,depth\n" + b"x" * (2 << 20)),
    hostile("sheets/only-commas.csv", "taken", lambda w: b"," * w.many(2_000_000)),
    hostile("sheets/only-quotes.csv", "either", lambda w: b'"' * w.many(2_000_001)),
    hostile("sheets/a-million-rows.csv", "refused", lambda w: b"rye,2\n" * max(200_001, w.many(1_000_000))),
    hostile("sheets/is-really-a-workbook.csv", "taken", lambda _: workbook(ROW)),
)
