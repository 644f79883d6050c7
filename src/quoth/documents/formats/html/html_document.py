"""Web pages: the document inside a page as headings, paragraphs, lists, tables, quotes, code and notes.

Menus, banners, controls and hidden elements belong to the page, not to the document, and are left out. So are the marks
that point to notes. Nothing is ever fetched: pictures, frames and scripts are ignored.
"""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.metadata import version

from quoth.documents.formats.html.element_tree import BLOCKS, Tree, parse, preorder
from quoth.documents.formats.html.html_blocks import read_blocks
from quoth.documents.formats.html.main_content import choose_content
from quoth.documents.formats.html.page_source import decode_page
from quoth.documents.text_blocks import Block, assemble
from quoth.types import Extract, RegionKind

VERSION = f"selectolax {version('selectolax')} / 1"

_HASHES = re.compile(r"(#{1,6})[ \t]+(\S[^\n]*?)[ \t]*#*(?=\n|$)\n?")
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8})*")


def extract(data: bytes) -> Extract:
    """Return the document inside a web page; raise `UnreadableFile` with the reason where that fails."""
    text, broken = decode_page(data)
    tree = parse(text)
    plain = _is_plain(tree)
    blocks = read_blocks(choose_content(tree), keeps_space=plain)
    if plain:
        blocks = [block for paragraph in blocks for block in _split_headings(paragraph)]
    assembled = assemble(blocks)
    properties = {}
    if tree.title:
        properties["title"] = tree.title
    if _LANGUAGE.fullmatch(tree.language.strip()):
        properties["language"] = tree.language.strip()
    notes = []
    if broken:
        notes.append(f"{broken:,} characters could not be decoded and are shown as \ufffd")
    if not assembled.text:
        notes.append("no text was found: a script may put this page together")
    return Extract(assembled.text, assembled.regions, (), (), properties, tuple(notes))


def _is_plain(tree: Tree) -> bool:
    """Return whether the page is plain text under the name of a page: no element begins a block or breaks a line."""
    inner = (element for element in preorder(tree.body) if element.tag != "body")
    return not any(element.tag in BLOCKS or element.tag == "br" for element in inner)


def _split_headings(paragraph: Block) -> list[Block]:
    """Return the headings marked with `#` at the top of a paragraph of plain text, then the rest of it."""
    blocks = []
    text = paragraph.text
    while heading := _HASHES.match(text):
        blocks.append(Block(RegionKind.HEADING, heading[2], len(heading[1]), opens=False))
        text = text[heading.end() :]
    return [*blocks, replace(paragraph, text=text)]
