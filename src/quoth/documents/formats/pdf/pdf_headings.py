"""Headings: lines named by bookmarks, printed larger or bolder than the text, or worded as headings."""

from __future__ import annotations

import ctypes
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any

import pypdfium2 as pypdfium
import pypdfium2.raw as pdfium

from quoth.documents.formats.pdf.paragraphs import has_bullet
from quoth.documents.formats.pdf.pdf_blocks import PdfBlock
from quoth.documents.formats.pdf.printed_lines import PrintedLine
from quoth.language.headings import heading_rank
from quoth.types import RegionKind

MAX_BOOKMARKS = 20_000
MAX_DEPTH = 12
_LONGEST_TITLE = 1_000  # code points
_LARGER = 1.1  # times the size of the text
_LONGEST = 220  # code points
_MOST_LINES = 8  # in a narrow column
_NO_HEADING_ENDS = (".", ",", ";", ":", "-")


class Titles:
    """The titles of the bookmarks by the page that they lead to; bookmarks too deep or too many are left out."""

    def __init__(self, document: pypdfium.PdfDocument) -> None:
        self.deepest = 0
        self._levels: Mapping[int, dict[str, int]] = defaultdict(dict)
        for bookmark in islice(document.get_toc(max_depth=MAX_DEPTH), MAX_BOOKMARKS):
            title = text_from(partial(pdfium.FPDFBookmark_GetTitle, bookmark.raw))
            target = bookmark.get_dest()
            page = None if target is None else target.get_index()
            if title and page is not None:
                self.deepest = max(self.deepest, bookmark.level + 1)
                if key := _key(title):
                    self._levels[page + 1].setdefault(key, bookmark.level + 1)

    def level(self, text: str, page: int) -> int | None:
        """Return the level of the bookmark with this text, else None. A bookmark may omit or add a number."""
        titles = self._levels.get(page)
        if not titles or len(text) > _LONGEST or text[:1].islower() or text.endswith(_NO_HEADING_ENDS):
            return None  # the end of a sentence may have the words of a title
        key = _key(text)
        if key in titles:
            return titles[key]
        for title, level in titles.items():
            longer, shorter = (key, title) if len(key) > len(title) else (title, key)
            if len(shorter) > 3 and longer.endswith(shorter) and _is_number(longer[: -len(shorter)]):
                return level
        return None

    def names(self, line: PrintedLine) -> bool:
        return self.level(line.text, line.page) is not None


def text_from(read: Callable[[Any, int], int]) -> str:
    """Ask pdfium for the size of a UTF-16 text, then for the text; return "" where it is too long."""
    size = read(None, 0)
    if not 2 < size <= 2 * _LONGEST_TITLE:
        return ""
    buffer = ctypes.create_string_buffer(size)
    read(buffer, size)
    text = buffer.raw.decode("utf-16-le", errors="ignore").split("\0", 1)[0]
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _key(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def _is_number(key: str) -> bool:
    for word in ("chapter", "section", "article", "part", "appendix"):
        key = key.removeprefix(word)
    return key.isdigit() or (len(key) <= 5 and set(key) <= set("ivxlc0123456789")) or len(key) == 1


def with_headings(blocks: Sequence[PdfBlock], titles: Titles, body: float) -> list[PdfBlock]:
    """Return the blocks with headings marked as such, each with its level. `body` is the type size of the text."""
    firsts = [(block.first, len(block.text)) for block in blocks if block.first is not None]
    bold_text = sum(letters if first.bold else -letters for first, letters in firsts if first.size == body) > 0
    named: dict[int, int] = {}
    styles: dict[int, tuple[float, bool, int]] = {}
    for index, block in enumerate(blocks):
        first = block.first
        if first is None or block.kind not in {RegionKind.PARAGRAPH, RegionKind.LIST_ITEM}:
            continue
        level = titles.level(" ".join(block.text.split()), first.page) if len(block.lines) <= _MOST_LINES else None
        rank = heading_rank(" ".join(block.text.split())) if len(block.text) <= _LONGEST else None
        if level is not None:
            named[index] = level
        elif not _looks_like_heading(block, first, body, bold_text=bold_text) and not (
            rank is not None and len(block.lines) <= _MOST_LINES and first.size >= body * 0.95
        ):
            continue
        styles[index] = (-max(first.size, body), not first.bold, rank or 1)
    levels = _levels(styles, named, titles.deepest)
    return [
        replace(block, kind=RegionKind.HEADING, level=levels[index]) if index in levels else block
        for index, block in enumerate(blocks)
    ]


def _levels(styles: Mapping[int, tuple[float, bool, int]], named: Mapping[int, int], deepest: int) -> dict[int, int]:
    """Return the level of each heading, one for each style. Styles that no bookmark has rank below those with one."""
    if not named:
        order = {style: index + 1 for index, style in enumerate(sorted(set(styles.values())))}
        return {index: order[style] for index, style in styles.items()}
    bookmarked: dict[tuple[float, bool, int], int] = {}
    for index, level in named.items():
        style = styles[index]
        bookmarked[style] = max(bookmarked.get(style, 0), level)
    largest = min(bookmarked)
    others = {style: index for index, style in enumerate(sorted({*styles.values()} - {*bookmarked}))}
    return {
        index: named.get(index, bookmarked.get(style, 1 if style < largest else deepest + 1 + others.get(style, 0)))
        for index, style in styles.items()
    }


def _looks_like_heading(block: PdfBlock, first: PrintedLine, body: float, *, bold_text: bool) -> bool:
    text = block.text
    if block.kind is not RegionKind.PARAGRAPH or len(block.lines) > _MOST_LINES or len(text) > _LONGEST:
        return False
    if not any(char.isalpha() for char in text) or has_bullet(text):
        return False
    larger = first.size >= _LARGER * body
    if larger:
        return not text.endswith((",", ";")) and (len(block.lines) <= 2 or not text.endswith("."))
    bolder = first.bold and not bold_text and first.size >= 0.95 * body
    return bolder and not text.endswith(_NO_HEADING_ENDS)
