"""DOCX files written by hand: a few parts of XML in an archive, nothing that a test does not name."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping

from quoth.documents.formats.docx import docx_document as docx
from quoth.types import Extract, RegionKind

W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
STRICT_W = "http://purl.oclc.org/ooxml/wordprocessingml/main"
RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
TYPES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
SPACES = (
    f'xmlns:w="{W}" xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" '
    'xmlns:v="urn:schemas-microsoft-com:vml"'
)
STYLES = """
<w:style w:type="paragraph" w:default="1" w:styleId="Standard"><w:name w:val="Normal"/></w:style>
<w:style w:type="paragraph" w:styleId="berschrift1"><w:name w:val="heading 1"/><w:basedOn w:val="Standard"/>
  <w:pPr><w:outlineLvl w:val="0"/></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="berschrift2"><w:name w:val="heading 2"/><w:basedOn w:val="Standard"/></w:style>
<w:style w:type="paragraph" w:styleId="Klausel"><w:name w:val="My clause"/><w:basedOn w:val="berschrift2"/></w:style>
<w:style w:type="paragraph" w:styleId="Titel"><w:name w:val="Title"/></w:style>
<w:style w:type="paragraph" w:styleId="Verzeichnis1"><w:name w:val="toc 1"/></w:style>
<w:style w:type="paragraph" w:styleId="Beschriftung"><w:name w:val="caption"/></w:style>
<w:style w:type="paragraph" w:styleId="Zitat"><w:name w:val="Quote"/></w:style>
<w:style w:type="paragraph" w:styleId="Code"><w:name w:val="HTML Preformatted"/></w:style>
<w:style w:type="paragraph" w:styleId="Geheim"><w:name w:val="Secret"/><w:rPr><w:vanish/></w:rPr></w:style>
<w:style w:type="character" w:styleId="Still"><w:name w:val="Quiet"/><w:rPr><w:vanish/></w:rPr></w:style>
"""


def part(root: str, content: str) -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?><w:{root} {SPACES}>{content}</w:{root}>'


def archive(parts: Mapping[str, str | bytes]) -> bytes:
    """A ZIP archive, the same bytes for the same parts."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in parts.items():
            file.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return made.getvalue()


def relations(targets: Mapping[str, str]) -> str:
    """A part of relations: the type's last word by its target."""
    found = "".join(
        f'<Relationship Id="r{place}" Type="{TYPES}/{kind}" Target="{target}"/>'
        for place, (target, kind) in enumerate(targets.items())
    )
    return f'<Relationships xmlns="{RELATIONS}">{found}</Relationships>'


def word(body: str, **others: str) -> bytes:
    """A DOCX with that body; `others` are the contents of `styles`, `numbering`, `footnotes`, `header`, …"""
    others = {"styles": STYLES, **others}
    roots = {"header": "hdr", "footer": "ftr"}
    parts: dict[str, str | bytes] = {
        "_rels/.rels": relations({"word/document.xml": "officeDocument"}),
        "word/document.xml": part("document", f"<w:body>{body}</w:body>"),
        "word/_rels/document.xml.rels": relations({f"{kind}.xml": kind for kind in others}),
    }
    parts |= {f"word/{kind}.xml": part(roots.get(kind, kind), content) for kind, content in others.items()}
    return archive(parts)


def run(text: str, properties: str = "") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><w:t xml:space="preserve">{text}</w:t></w:r>'


def p(*content: str, style: str = "", properties: str = "") -> str:
    """A paragraph of runs; plain text becomes one."""
    named = f'<w:pStyle w:val="{style}"/>' if style else ""
    runs = "".join(piece if piece.startswith("<") else run(piece) for piece in content)
    return f"<w:p><w:pPr>{named}{properties}</w:pPr>{runs}</w:p>"


def numbered(text: str, level: int = 0, *, number: int = 1, style: str = "") -> str:
    properties = f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{number}"/></w:numPr>'
    return p(text, style=style, properties=properties)


def level(place: int, form: str, text: str, more: str = "") -> str:
    return (
        f'<w:lvl w:ilvl="{place}"><w:start w:val="1"/><w:numFmt w:val="{form}"/>{more}<w:lvlText w:val="{text}"/>'
        f'<w:pPr><w:ind w:left="{720 * (place + 1)}" w:hanging="360"/></w:pPr></w:lvl>'
    )


def numbering(*levels: str, lists: str = '<w:num w:numId="1"><w:abstractNumId w:val="7"/></w:num>') -> str:
    return f'<w:abstractNum w:abstractNumId="7">{"".join(levels)}</w:abstractNum>{lists}'


def field(instruction: str, result: str) -> str:
    """A field over several runs."""

    def sign(kind: str) -> str:
        return f'<w:r><w:fldChar w:fldCharType="{kind}"/></w:r>'

    told = f'<w:r><w:instrText xml:space="preserve">{instruction}</w:instrText></w:r>'
    return f"{sign('begin')}{told}{sign('separate')}{run(result)}{sign('end')}"


def table(*rows: str) -> str:
    return f"<w:tbl><w:tblPr/>{''.join(rows)}</w:tbl>"


def tr(*cells: str, properties: str = "") -> str:
    """A row; plain text becomes a cell."""
    made = "".join(cell if cell.startswith("<w:tc>") else tc(cell) for cell in cells)
    return f"<w:tr><w:trPr>{properties}</w:trPr>{made}</w:tr>"


def tc(content: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{content if content.startswith('<') else p(content)}</w:tc>"


def said(data: bytes) -> list[tuple[RegionKind, str]]:
    """The kind and the text of every region."""
    return regions(docx.extract(data))


def regions(extract: Extract) -> list[tuple[RegionKind, str]]:
    return [(region.kind, extract.text[region.span.start : region.span.end]) for region in extract.regions or ()]


def texts(data: bytes) -> list[str]:
    return [text for _, text in said(data)]
