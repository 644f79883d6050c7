"""E-books: the chapters of an EPUB in reading order, each read as a web page.

A chapter without a heading of its own takes its title from the table of contents, which itself is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from itertools import groupby

from quoth.documents.formats.epub.book_package import BookPackage, TocEntry, open_book
from quoth.documents.formats.html.html_document import VERSION as PAGE_VERSION
from quoth.documents.formats.html.html_document import broken_note, read_page
from quoth.documents.formats.text.contents_pages import is_contents_title
from quoth.documents.text_blocks import Block, assemble
from quoth.errors import UnreadableFile
from quoth.types import Extract, RegionKind

VERSION = f"lxml {version('lxml')} / {PAGE_VERSION} / 1"

_NEAR_TOP = 3
"""A heading among so many first blocks of a chapter is its title."""
_FEWEST_ENTRIES = 5
"""Titles in a row that make a table of contents."""
_ENTRIES = frozenset({RegionKind.HEADING, RegionKind.LIST_ITEM, RegionKind.PARAGRAPH, RegionKind.TABLE_ROW})


def extract(data: bytes) -> Extract:
    """Return the text of a book; raise `UnreadableFile` with the reason where that fails."""
    book = open_book(data)
    blocks: list[Block] = []
    notes: list[str] = []
    broken = 0
    for chapter in book.chapters:
        try:
            page = read_page(book.parts.read(chapter))
        except UnreadableFile as error:
            notes.append(f"the chapter {chapter} was left out: {str(error).removeprefix(': ')}")
            continue
        blocks += _titled(page.blocks, _entry(book, chapter))
        broken += page.broken
    assembled = assemble(_without_contents(blocks, {_folded(entry.label) for entry in book.toc}))
    if not assembled.text:
        why = notes[0] if notes else "its chapters hold no text"
        raise UnreadableFile("", why, hint="A book of pictures has no text; read it with a recogniser first.")
    if broken:
        notes.append(broken_note(broken))
    properties = {name: value for name, value in (("title", book.title), ("language", book.language)) if value}
    return Extract(assembled.text, assembled.regions, (), (), properties, tuple(notes))


def _entry(book: BookPackage, chapter: str) -> TocEntry | None:
    """Return the line of the table of contents for a whole chapter, None when there is none."""
    found = [entry for entry in book.toc if entry.path == chapter]
    return next((entry for entry in found if not entry.anchored), found[0] if len(found) == 1 else None)


def _without_contents(blocks: Sequence[Block], labels: set[str]) -> list[Block]:
    """Mark each run of blocks that only repeat titles of the book as the table of contents that it is.

    A run of headings alone is one too, but the headings before a text, however many, are no part of it.
    """
    labels = labels | {_folded(block.text) for block in blocks if block.kind is RegionKind.HEADING}
    found: list[Block] = []
    for titles, group in groupby(blocks, key=lambda block: _repeats(block, labels)):
        run = list(group)
        entries = sum(1 for block in run if block.kind is not RegionKind.HEADING)
        alone = entries == 0 and len(run) >= _FEWEST_ENTRIES
        if titles and (entries >= _FEWEST_ENTRIES or alone):
            first = int(not alone and run[0].kind is RegionKind.HEADING)
            last = max(first, len(run) - _last_headings(run))
            listed = [Block(RegionKind.CONTENTS, block.text, 0, opens=False) for block in run[first:last]]
            run[first:last] = listed
        found += run
    return found


def _repeats(block: Block, labels: set[str]) -> bool:
    """Return whether a block is nothing but a title that the book has, or the title of its contents."""
    return block.kind in _ENTRIES and (_folded(block.text) in labels or is_contents_title(block.text))


def _last_headings(run: Sequence[Block]) -> int:
    """Return how many headings at the end of a run go down in rank, as those over a text do."""
    kept = 0
    for block in reversed(run):
        if block.kind is not RegionKind.HEADING or (kept and block.level >= run[len(run) - kept].level):
            break
        kept += 1
    return kept


def _titled(blocks: Sequence[Block], entry: TocEntry | None) -> list[Block]:
    if entry is None or any(block.kind is RegionKind.HEADING for block in blocks[:_NEAR_TOP]):
        return list(blocks)
    # Books without marked headings print the title as a paragraph: that paragraph is the heading then.
    same = next(
        (at for at, block in enumerate(blocks[:_NEAR_TOP]) if _folded(block.text) == _folded(entry.label)), None
    )
    heading = Block(RegionKind.HEADING, entry.label, entry.depth, opens=False)
    if same is None:
        return [heading, *blocks] if blocks else []
    return [*blocks[:same], Block(RegionKind.HEADING, blocks[same].text, entry.depth, opens=False), *blocks[same + 1 :]]


def _folded(text: str) -> str:
    return " ".join(text.casefold().removeprefix("•").split())
