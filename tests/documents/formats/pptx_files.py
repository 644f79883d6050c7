"""PPTX files written by hand: a few parts of XML in an archive, nothing that a test does not name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from quoth.documents.formats.pptx import pptx_document as pptx
from quoth.types import RegionKind

from .docx_files import archive, regions, relations

SPACES = (
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
    'xmlns:dgm="http://schemas.openxmlformats.org/drawingml/2006/diagram" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
)
MASTER = '<p:txStyles><p:bodyStyle><a:lvl1pPr><a:buChar char="•"/></a:lvl1pPr><a:lvl2pPr><a:buChar char="–"/></a:lvl2pPr></p:bodyStyle></p:txStyles>'  # noqa: E501
NUMBERED = '<a:buAutoNum type="arabicPeriod"/>'


def part(root: str, content: str, attributes: str = "") -> str:
    return f'<?xml version="1.0" encoding="UTF-8"?><p:{root} {SPACES} {attributes}>{content}</p:{root}>'


def a(text: str, level: int = 0, mark: str = "") -> str:
    """A paragraph."""
    return f'<a:p><a:pPr lvl="{level}">{mark}</a:pPr><a:r><a:t>{text}</a:t></a:r></a:p>'


def shape(*paragraphs: str, kind: str | None = None, styles: str = "") -> str:
    """A shape of paragraphs; plain text becomes one. `kind` is that of a placeholder."""
    holder = "" if kind is None else f'<p:ph type="{kind}" idx="1"/>'
    texts = "".join(text if text.startswith("<") else a(text) for text in paragraphs)
    return (
        f"<p:sp><p:nvSpPr><p:cNvPr/><p:cNvSpPr/><p:nvPr>{holder}</p:nvPr></p:nvSpPr><p:spPr/>"
        f"<p:txBody><a:bodyPr/><a:lstStyle>{styles}</a:lstStyle>{texts}</p:txBody></p:sp>"
    )


def title(text: str) -> str:
    return shape(text, kind="title")


def body(*paragraphs: str) -> str:
    return shape(*paragraphs, kind="body")


def tree(*shapes: str) -> str:
    return f"<p:cSld><p:spTree>{''.join(shapes)}</p:spTree></p:cSld>"


def table(*rows: Sequence[str], header: bool = True) -> str:
    """A table; a cell that begins with `@` gives its attributes up to the next `@`."""

    def cell(text: str) -> str:
        attributes, words = text[1:].split("@") if text.startswith("@") else ("", text)
        return f"<a:tc {attributes}><a:txBody><a:p><a:r><a:t>{words}</a:t></a:r></a:p></a:txBody></a:tc>"

    lines = "".join(f"<a:tr>{''.join(map(cell, row))}</a:tr>" for row in rows)
    return (
        f'<p:graphicFrame><a:graphic><a:graphicData><a:tbl><a:tblPr firstRow="{int(header)}"/>{lines}'
        "</a:tbl></a:graphicData></a:graphic></p:graphicFrame>"
    )


def deck(
    *slides: str,
    notes: Mapping[int, str] | None = None,
    hidden: Sequence[int] = (),
    layout: str = "",
    more: Mapping[str, str | bytes] | None = None,
) -> bytes:
    """A presentation of slides, each the shapes on it; `notes` are the shapes of notes by slide, from 0."""
    listed = "".join(f'<p:sldId id="{256 + place}" r:id="r{place}"/>' for place in range(len(slides)))
    parts: dict[str, str | bytes] = {
        "_rels/.rels": relations({"ppt/presentation.xml": "officeDocument"}),
        "ppt/presentation.xml": part(
            "presentation", f'<p:sldIdLst>{listed}</p:sldIdLst><p:sldSz cx="9144000" cy="6858000"/>'
        ),
        "ppt/_rels/presentation.xml.rels": relations({f"s{place}.xml": "slide" for place in range(len(slides))}),
        "ppt/layout.xml": part("sldLayout", tree(layout)),
        "ppt/_rels/layout.xml.rels": relations({"master.xml": "slideMaster"}),
        "ppt/master.xml": part("sldMaster", MASTER),
    }
    for place, shapes in enumerate(slides):
        parts[f"ppt/s{place}.xml"] = part("sld", tree(shapes), 'show="0"' if place in hidden else "")
        targets = {"layout.xml": "slideLayout"}
        if place in (notes or {}):
            targets[f"n{place}.xml"] = "notesSlide"
            parts[f"ppt/n{place}.xml"] = part("notes", tree((notes or {})[place]))
        parts[f"ppt/_rels/s{place}.xml.rels"] = relations(targets)
    return archive(parts | dict(more or {}))


def said(data: bytes) -> list[tuple[RegionKind, str]]:
    return regions(pptx.extract(data))


def texts(data: bytes) -> list[str]:
    return [text for _, text in said(data)]
