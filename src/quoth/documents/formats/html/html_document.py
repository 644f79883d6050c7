"""Web pages: the document in a page as headings, paragraphs, lists, tables, quotes, code and notes.

What belongs to the page and not to the document (menus, banners, controls, what is hidden) is left out, and so are the
marks that point to notes. Nothing is ever fetched: pictures, frames and scripts are not looked at.
"""

from __future__ import annotations

import re
from dataclasses import replace
from importlib.metadata import version

from quoth.corpus.blocks import Block, assemble
from quoth.corpus.formats.html_content import content
from quoth.corpus.formats.html_measure import BLOCKS, preorder
from quoth.corpus.formats.html_reader import read
from quoth.corpus.formats.html_source import read_source
from quoth.corpus.formats.html_tree import Tree, parse
from quoth.types import Extract, RegionKind

VERSION = f"selectolax {version('selectolax')} / 1"

_HASHES = re.compile(r"(#{1,6})[ \t]+(\S[^\n]*?)[ \t]*#*(?=\n|$)\n?")
_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(?:[-_][A-Za-z0-9]{1,8})*")


def extract(data: bytes) -> Extract:
    """The document in a web page; `UnreadableFile` says why there is none."""
    source = read_source(data)
    tree = parse(source.text)
    plain = _is_plain(tree)
    blocks = read(content(tree), keeps_space=plain)
    assembled = assemble([part for block in blocks for part in _headed(block)] if plain else blocks)
    properties = {}
    if tree.title:
        properties["title"] = tree.title
    if _LANGUAGE.fullmatch(tree.language.strip()):
        properties["language"] = tree.language.strip()
    notes = []
    if source.broken:
        notes.append(f"{source.broken:,} characters could not be decoded and are shown as \ufffd")
    if not assembled.text:
        notes.append("no text was found: a script may put this page together")
    return Extract(assembled.text, assembled.regions, (), (), properties, tuple(notes))


def _is_plain(tree: Tree) -> bool:
    """Whether it is text that someone named a page: nothing in it begins a block, or breaks a line."""
    inner = (element for element in preorder(tree.body) if element.tag != "body")
    return not any(element.tag in BLOCKS or element.tag == "br" for element in inner)


def _headed(paragraph: Block) -> list[Block]:
    """A paragraph of a text and the headings that it begins with, if it marks them with `#`."""
    blocks = []
    text = paragraph.text
    while heading := _HASHES.match(text):
        blocks.append(Block(RegionKind.HEADING, heading[2], len(heading[1]), opens=False))
        text = text[heading.end() :]
    return [*blocks, replace(paragraph, text=text)]
