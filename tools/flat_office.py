"""Documents for measuring extraction: the regions of a text as a flat OpenDocument file that LibreOffice converts.

Headings, lists and tables become real ones; the page has a running header, a footer with its number, and one or two
columns, so that what comes out of a PDF must be put in order again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from xml.sax.saxutils import escape

from quoth.types import Region, RegionKind

_NAMESPACES = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for prefix, name in {
        "office": "office",
        "style": "style",
        "text": "text",
        "table": "table",
        "fo": "xsl-fo-compatible",
    }.items()
)
A4, B5 = (21.0, 29.7), (17.6, 25.0)
_TABLE = {RegionKind.TABLE_HEADER, RegionKind.TABLE_ROW}


def flat_document(
    text: str, regions: Iterable[Region], *, title: str, columns: int, paper: tuple[float, float] = A4
) -> str:
    """The regions as one file. `title` runs in the header of every page; `paper` is its width and height in cm."""
    body = "".join(_blocks(text, [region for region in regions if not region.kind.skipped]))
    section = f'<text:section text:style-name="Columns" text:name="all">{body}</text:section>' if columns > 1 else body
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<office:document {_NAMESPACES} office:version="1.3" office:mimetype="application/vnd.oasis.opendocument.text">
<office:styles>
<style:style style:name="Standard" style:family="paragraph">
<style:paragraph-properties fo:margin-bottom="0.25cm" fo:text-align="justify"/>
<style:text-properties fo:font-size="10pt" fo:font-family="Liberation Serif"/></style:style>
{"".join(_heading_style(level) for level in range(1, 7))}
<text:list-style style:name="Bullets">{"".join(_bullet(level) for level in range(1, 4))}</text:list-style>
</office:styles>
<office:automatic-styles>
<style:style style:name="Columns" style:family="section"><style:section-properties>
<style:columns fo:column-count="{columns}" fo:column-gap="0.8cm"/></style:section-properties></style:style>
<style:style style:name="Cell" style:family="table-cell">
<style:table-cell-properties fo:border="0.5pt solid #000000" fo:padding="0.1cm"/></style:style>
<style:page-layout style:name="Sheet">
<style:page-layout-properties fo:page-width="{paper[0]}cm" fo:page-height="{paper[1]}cm"
 fo:margin-top="2cm" fo:margin-bottom="2cm" fo:margin-left="2cm" fo:margin-right="2cm"/>
<style:header-style><style:header-footer-properties fo:min-height="1cm"/></style:header-style>
<style:footer-style><style:header-footer-properties fo:min-height="1cm"/></style:footer-style></style:page-layout>
</office:automatic-styles>
<office:master-styles><style:master-page style:name="Standard" style:page-layout-name="Sheet">
<style:header><text:p>{escape(title)}</text:p></style:header>
<style:footer><text:p>Page <text:page-number text:select-page="current">1</text:page-number></text:p></style:footer>
</style:master-page></office:master-styles>
<office:body><office:text>{section}</office:text></office:body></office:document>"""


def _heading_style(level: int) -> str:
    return (
        f'<style:style style:name="Heading_{level}" style:display-name="Heading {level}" style:family="paragraph"'
        f' style:parent-style-name="Standard" style:default-outline-level="{level}">'
        '<style:paragraph-properties fo:margin-top="0.4cm" fo:keep-with-next="always" fo:text-align="start"/>'
        f'<style:text-properties fo:font-size="{max(11, 19 - 2 * level)}pt" fo:font-weight="bold"/></style:style>'
    )


def _bullet(level: int) -> str:
    return (
        f'<text:list-level-style-bullet text:level="{level}" text:bullet-char="•"><style:list-level-properties '
        'text:list-level-position-and-space-mode="label-alignment"><style:list-level-label-alignment '
        f'text:label-followed-by="listtab" fo:margin-left="{0.6 * level}cm" fo:text-indent="-0.6cm"/>'
        "</style:list-level-properties></text:list-level-style-bullet>"
    )


def _blocks(text: str, regions: list[Region]) -> Iterator[str]:
    for kind, group in groupby(regions, key=lambda region: _TABLE if region.kind in _TABLE else region.kind):
        held = list(group)
        if kind is _TABLE:
            yield _table(
                [text[one.span.start : one.span.end] for one in held], header=held[0].kind is not RegionKind.TABLE_ROW
            )
        elif kind is RegionKind.LIST_ITEM:
            items = (f"<text:list-item><text:p>{_words(text, one)}</text:p></text:list-item>" for one in held)
            yield f'<text:list text:style-name="Bullets">{"".join(items)}</text:list>'
        elif kind is RegionKind.HEADING:
            for one in held:
                level = min(6, max(1, len(one.section)))
                style = f'text:style-name="Heading_{level}" text:outline-level="{level}"'
                yield f"<text:h {style}>{_words(text, one)}</text:h>"
        else:
            yield from (f'<text:p text:style-name="Standard">{_words(text, one)}</text:p>' for one in held)


def _table(rows: list[str], *, header: bool) -> str:
    cells = [[cell.strip() for cell in row.split("|")] for row in rows]
    width = max(map(len, cells))
    drawn = [
        "<table:table-row>"
        + "".join(
            f'<table:table-cell table:style-name="Cell"><text:p>{_clean(cell)}</text:p></table:table-cell>'
            for cell in [*row, *[""] * (width - len(row))]
        )
        + "</table:table-row>"
        for row in cells
    ]
    if header:
        drawn[0] = f"<table:table-header-rows>{drawn[0]}</table:table-header-rows>"
    return f'<table:table><table:table-column table:number-columns-repeated="{width}"/>{"".join(drawn)}</table:table>'


def _words(text: str, region: Region) -> str:
    return _clean(text[region.span.start : region.span.end])


def _clean(text: str) -> str:
    """Single spaces, and nothing that XML cannot hold."""
    joined = " ".join(text.split())
    return escape("".join(one for one in joined if one.isprintable()))
