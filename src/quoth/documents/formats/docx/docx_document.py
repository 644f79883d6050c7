"""DOCX: the text as a reader sees it, in order, with its headings, lists, tables and notes.

The numbers of lists and headings are counted as Word counts them and stand before their text. The mark of a footnote is
left out of the line (`10.5` with note 3 must not read `10.53`); the note follows its paragraph and begins with `[3]`.
Headers and footers come once, at the end, as page furniture. A DOCX file stores no pages, so `pages` is empty.
"""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import groupby

from lxml import etree

from quoth.documents.formats.docx.docx_blocks import DocxReader
from quoth.documents.formats.docx.docx_tables import DocxBlock
from quoth.documents.formats.docx.list_numbers import Notes, Numbering
from quoth.documents.formats.docx.package import Element, Package, child
from quoth.documents.formats.docx.styles import Styles
from quoth.documents.text_blocks import Block, assemble
from quoth.documents.titles import believed_title, names_a_part
from quoth.language.headings import heading_rank
from quoth.types import Extract, RegionKind

VERSION = f"lxml {'.'.join(map(str, etree.LXML_VERSION[:3]))} / 3"

_MAIN_PART = "word/document.xml"
_NOT_WORD = "Only word-processing files can be read here: .docx or .docm."
_MERGED = frozenset({RegionKind.CODE, RegionKind.CONTENTS})  # each of their lines is a paragraph in Word
_BOLD_RANK, _LONGEST_BOLD, _MOST_BOLD_WORDS = 20, 80, 10
"""A heading recognised by bold print alone ranks below all others."""
_BOLD_LINE_END = re.compile(r"[.,;:!?][\"'”’)\]]*$")
_BODY = frozenset({RegionKind.PARAGRAPH, RegionKind.LIST_ITEM})


def extract(data: bytes) -> Extract:
    """Return the text and the regions of a DOCX or DOCM; raise `UnreadableFile` with the reason where that fails."""
    package = Package(data)
    main, root = package.main(_MAIN_PART, "w:document", "Word document", hint=_NOT_WORD)
    related = package.related(main)

    def part(kind: str) -> Element | None:
        return next((package.xml(path) for path in related.get(kind, ()) if package.holds(path)), None)

    styles = Styles(part("styles"))
    numbering = Numbering(part("numbering"), styles)
    notes = Notes({"footnote": part("footnotes"), "endnote": part("endnotes")}, part("settings"))
    reader = DocxReader(root, styles=styles, numbering=numbering, notes=notes)
    body = child(root, "w:body")
    blocks = _with_headings(reader.blocks(root if body is None else body))
    furniture = _furniture(package, related, styles)
    assembled = assemble([*_merged(blocks), *furniture])
    notes_for_user = []
    if not assembled.text and reader.pictures:
        notes_for_user.append("It holds pictures and no text; text inside pictures of a .docx is not read.")
    if related.get("aFChunk"):
        notes_for_user.append("It embeds other documents, which are not read.")
    return Extract(
        text=assembled.text,
        regions=assembled.regions,
        pages=(),
        recognised=(),
        properties=_properties(package, styles, blocks),
        notes=tuple(notes_for_user),
    )


def _with_headings(blocks: list[DocxBlock]) -> list[DocxBlock]:
    """Where no paragraph has a heading style, take lines that read or are printed like headings for headings."""
    if any(block.kind is RegionKind.HEADING and not block.title for block in blocks):
        return blocks
    return [
        block if rank is None else replace(block, kind=RegionKind.HEADING, level=rank, opens=False)
        for block, rank in zip(blocks, map(_unstyled_rank, blocks, [*blocks[1:], None]), strict=True)
    ]


def _unstyled_rank(block: DocxBlock, following: DocxBlock | None) -> int | None:
    if block.kind not in _BODY or "\n" in block.text or (block.kind is RegionKind.LIST_ITEM and not block.bold):
        return None
    rank = heading_rank(block.text)
    above_text = following is not None and not following.bold and following.kind in _BODY
    if rank is not None or not block.bold or not above_text:
        return rank
    short = len(block.text) <= _LONGEST_BOLD and len(block.text.split()) <= _MOST_BOLD_WORDS
    names = short and any(map(str.isalpha, block.text)) and _BOLD_LINE_END.search(block.text) is None
    return _BOLD_RANK if names else None


def _merged(blocks: list[DocxBlock]) -> list[Block]:
    merged: list[Block] = []
    for kind, run in groupby(blocks, key=lambda block: block.kind):
        if kind in _MERGED:
            merged.append(Block(kind, "\n".join(block.text for block in run), level=0, opens=False))
        else:
            merged += run
    return merged


def _furniture(package: Package, related: dict[str, list[str]], styles: Styles) -> list[Block]:
    """Return headers and footers, each text once: the first page and the others often share it."""
    texts: dict[str, None] = {}
    for part in [*related.get("header", ()), *related.get("footer", ())]:
        root = package.xml(part)
        if root is not None:
            reader = DocxReader(root, styles=styles, numbering=Numbering(None, styles), notes=Notes({}, None))
            texts.setdefault("\n".join(block.text for block in reader.blocks(root)))
    return [Block(RegionKind.FURNITURE, text, level=0, opens=False) for text in texts if text.strip()]


def _properties(package: Package, styles: Styles, blocks: list[DocxBlock]) -> dict[str, str]:
    stated = package.properties()
    text = "\n".join(block.text for block in blocks)
    title = stated.get("title")
    found = {
        "title": believed_title(title, _printed_title(blocks, or_heading=title is not None), text),
        "language": stated.get("language") or styles.language,
    }
    return {key: value for key, value in found.items() if value}


def _printed_title(blocks: list[DocxBlock], *, or_heading: bool) -> str | None:
    """Return the paragraph in the style of a title; `or_heading`, else a heading that the document begins with.

    Old files have no such style. Their heading is enough to doubt a title that it is not.
    """
    named = next((block for block in blocks if block.title), None)
    opening = next((block for block in blocks if block.text.strip()), None)
    if named is None and or_heading and opening is not None and opening.kind is RegionKind.HEADING:
        named = None if names_a_part(opening.text) else opening
    return " ".join(named.text.split()) if named else None
