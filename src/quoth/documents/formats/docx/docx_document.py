"""DOCX: the text as a reader sees it, in order, with its headings, lists, tables and notes.

Numbers of lists and headings are counted as Word counts them and stand before their text. The mark of a footnote is
left out of the line (`10.5` with note 3 must not read `10.53`); the note follows its paragraph and begins with `[3]`.
Headers and footers come once, at the end, as page furniture. A DOCX has no pages of its own, so `pages` is empty.
"""

from __future__ import annotations

import re
from itertools import groupby

from lxml import etree

from quoth.corpus.blocks import Block, assemble
from quoth.corpus.formats.docx_flow import Flow, Piece
from quoth.corpus.formats.docx_notes import Notes
from quoth.corpus.formats.docx_numbering import Numbering
from quoth.corpus.formats.docx_package import Element, Package, child, name
from quoth.corpus.formats.docx_styles import Styles
from quoth.errors import UnreadableFile
from quoth.text.headings import heading_rank
from quoth.types import Extract, RegionKind

VERSION = f"lxml {'.'.join(map(str, etree.LXML_VERSION[:3]))} / 1"

_MAIN_PART = "word/document.xml"
_NOT_WORD = "Only word-processing files can be read here: .docx or .docm."
_MERGED = frozenset({RegionKind.CODE, RegionKind.CONTENTS})
"""Their lines are paragraphs of their own in Word."""
_PROGRAM_TITLE = re.compile(r"(?:microsoft word\s*-.*|document\d*|untitled|powerpoint presentation)", re.IGNORECASE)
_BOLD_RANK, _LONGEST_BOLD, _MOST_BOLD_WORDS = 20, 80, 10
"""A line that is only printed as a heading ranks below all that read as one."""
_BOLD_LINE_END = re.compile(r"[.,;:!?][\"'”’)\]]*$")
_BODY = frozenset({RegionKind.PARAGRAPH, RegionKind.LIST_ITEM})


def extract(data: bytes) -> Extract:
    """The text and the regions of a DOCX (or DOCM); `UnreadableFile` says why it cannot be taken."""
    package = Package(data)
    main, root = _main(package)
    related = package.related(main)

    def part(kind: str) -> Element | None:
        return next((package.xml(place) for place in related.get(kind, ()) if package.holds(place)), None)

    styles = Styles(part("styles"))
    numbering = Numbering(part("numbering"), styles)
    notes = Notes(package, related, part("settings"))
    flow = Flow(root, styles=styles, numbering=numbering, notes=notes)
    body = child(root, "w:body")
    pieces = _with_headings(flow.pieces(root if body is None else body))
    furniture = _furniture(package, related, styles)
    assembled = assemble([*_merged(pieces), *furniture])
    notes_for_user = []
    if not assembled.text and flow.pictures:
        notes_for_user.append("It holds pictures and no text; text inside pictures of a .docx is not read.")
    if related.get("aFChunk"):
        notes_for_user.append("It embeds other documents, which are not read.")
    return Extract(
        text=assembled.text,
        regions=assembled.regions,
        pages=(),
        recognised=(),
        properties=_properties(package, styles, pieces),
        notes=tuple(notes_for_user),
    )


def _main(package: Package) -> tuple[str, Element]:
    """The part that holds the text, wherever the package says it is, and its root."""
    candidates = [*package.related("").get("officeDocument", ()), _MAIN_PART]
    main = next((part for part in candidates if package.holds(part)), None)
    if main is None:
        raise UnreadableFile("", "it is an archive without a Word document in it", hint=_NOT_WORD)
    root = package.xml(main)
    if root is None or name(root) != "w:document":
        raise UnreadableFile("", f"its main part {main} is not a Word document", hint=_NOT_WORD)
    return main, root


def _with_headings(pieces: list[Piece]) -> list[Piece]:
    """Where no heading has a heading's style, lines that read or are printed as one are taken for headings."""
    if any(piece.block.kind is RegionKind.HEADING and not piece.look.title for piece in pieces):
        return pieces
    return [
        piece if rank is None else Piece(Block(RegionKind.HEADING, piece.block.text, rank, opens=False), piece.look)
        for piece, rank in zip(pieces, map(_unstyled_rank, pieces, [*pieces[1:], None]), strict=True)
    ]


def _unstyled_rank(piece: Piece, following: Piece | None) -> int | None:
    block = piece.block
    if block.kind not in _BODY or "\n" in block.text or (block.kind is RegionKind.LIST_ITEM and not piece.look.bold):
        return None
    rank = heading_rank(block.text)
    if (
        rank is not None
        or not piece.look.bold
        or following is None
        or following.look.bold
        or following.block.kind not in _BODY
    ):
        return rank
    short = len(block.text) <= _LONGEST_BOLD and len(block.text.split()) <= _MOST_BOLD_WORDS
    names = short and any(map(str.isalpha, block.text)) and _BOLD_LINE_END.search(block.text) is None
    return _BOLD_RANK if names else None


def _merged(pieces: list[Piece]) -> list[Block]:
    blocks: list[Block] = []
    for kind, run in groupby((piece.block for piece in pieces), key=lambda block: block.kind):
        if kind in _MERGED:
            blocks.append(Block(kind, "\n".join(block.text for block in run), level=0, opens=False))
        else:
            blocks += run
    return blocks


def _furniture(package: Package, related: dict[str, list[str]], styles: Styles) -> list[Block]:
    """Headers and footers, each text once: the first page and the others often have the same."""
    texts: dict[str, None] = {}
    for part in [*related.get("header", ()), *related.get("footer", ())]:
        root = package.xml(part)
        if root is not None:
            flow = Flow(root, styles=styles, numbering=Numbering(None, styles), notes=None)
            texts.setdefault("\n".join(piece.block.text for piece in flow.pieces(root)))
    return [Block(RegionKind.FURNITURE, text, level=0, opens=False) for text in texts if text.strip()]


def _properties(package: Package, styles: Styles, pieces: list[Piece]) -> dict[str, str]:
    core = next((package.xml(part) for part in package.related("").get("core-properties", ())), None)
    named = {name(found): " ".join((found.text or "").split()) for found in (() if core is None else core)}
    title = named.get("dc:title", "")
    if not title or _PROGRAM_TITLE.fullmatch(title):
        title = next((" ".join(piece.block.text.split()) for piece in pieces if piece.look.title), "")
    found = {"title": title, "language": named.get("dc:language", "") or styles.language or ""}
    return {key: text for key, text in found.items() if text}
