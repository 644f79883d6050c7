"""Headings: lines named by bookmarks, printed larger or bolder than the text, or worded as headings."""

from __future__ import annotations

import ctypes
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice, pairwise, takewhile
from typing import Any, NamedTuple

import pypdfium2 as pypdfium
import pypdfium2.raw as pdfium

from quoth.documents.formats.pdf.paragraphs import has_bullet
from quoth.documents.formats.pdf.pdf_blocks import PdfBlock
from quoth.documents.formats.pdf.printed_lines import Fragment, PrintedLine, main_size, text_of
from quoth.documents.titles import title_key
from quoth.language.enumerations import ENUMERATOR
from quoth.language.headings import SECTION_RANK, TITLE_RANK, heading_rank
from quoth.types import RegionKind

MAX_BOOKMARKS = 20_000
MAX_DEPTH = 12
_LONGEST_TITLE = 1_000  # code points
_LARGER = 1.1  # times the size of the text
_LONGEST = 220  # code points
_MOST_LINES = 8  # in a narrow column
_SMALLEST = 0.7  # of the size of the text
_FULL_LINE = 40  # code points: a shorter text below may be another label of a figure
_LONGEST_RUN_IN = 100  # code points
_ALIKE = 2
_MAY_BE_HEADINGS = frozenset({RegionKind.PARAGRAPH, RegionKind.LIST_ITEM, RegionKind.HEADING})
_NUMBER = re.compile(r"(\d{1,2}(?:\.\d{1,2})*)\.?\s+[^\W\d_]")
_NO_HEADING_ENDS = (".", ",", ";", ":", "-")


class _Style(NamedTuple):
    """How a heading is printed, and its rank among those in the same print; styles of higher headings come first."""

    size: float
    plain: bool
    italic: bool
    small_size: float
    """Tells apart headings in type smaller than the text."""
    rank: int


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
                if key := title_key(title):
                    self._levels[page + 1].setdefault(key, bookmark.level + 1)

    def level(self, text: str, page: int) -> int | None:
        """Return the level of the bookmark with this text, else None. A bookmark may omit or add a number."""
        titles = self._levels.get(page)
        if not titles or len(text) > _LONGEST or text[:1].islower() or text.endswith(_NO_HEADING_ENDS):
            return None  # the end of a sentence may have the words of a title
        key = title_key(text)
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


def _is_number(key: str) -> bool:
    for word in ("chapter", "section", "article", "part", "appendix"):
        key = key.removeprefix(word)
    return key.isdigit() or (len(key) <= 5 and set(key) <= set("ivxlc0123456789")) or len(key) == 1


def with_headings(blocks: Sequence[PdfBlock], titles: Titles, body: float) -> list[PdfBlock]:
    """Return the blocks with headings marked as such, each with its level. `body` is the type size of the text."""
    blocks = _with_run_in_headings(blocks)
    firsts = [(block.first, len(block.text)) for block in blocks if block.first is not None]
    bold_text = sum(letters if first.bold else -letters for first, letters in firsts if first.size == body) > 0
    set_apart = _set_apart(blocks, body, bold_text=bold_text)
    named: dict[int, int] = {}
    styles: dict[int, _Style] = {}
    for index, block in enumerate(blocks):
        first = block.first
        if first is None or block.kind not in _MAY_BE_HEADINGS:
            continue
        level = titles.level(" ".join(block.text.split()), first.page) if len(block.lines) <= _MOST_LINES else None
        rank = heading_rank(" ".join(block.text.split())) if len(block.text) <= _LONGEST else None
        if level is not None:
            named[index] = level
        elif (
            block.kind is not RegionKind.HEADING
            and index not in set_apart
            and not _looks_like_heading(block, first, body, bold_text=bold_text)
            and not (rank is not None and len(block.lines) <= _MOST_LINES and first.size >= body * 0.95)
        ):
            continue
        styles[index] = _Style(
            *(-max(first.size, body), not first.bold, first.italic, -round(first.size)), _rank(block.text, rank)
        )
    levels = _levels(styles, named, titles.deepest)
    return [
        replace(block, kind=RegionKind.HEADING, level=levels[index]) if index in levels else block
        for index, block in enumerate(blocks)
    ]


def _rank(text: str, worded: int | None) -> int:
    """Return the rank of a heading among those in the same print: by its number, else by its words.

    A title without a number, such as `References`, stands beside `4. Results`, not above or below it.
    """
    if number := _NUMBER.match(text):
        return SECTION_RANK + number[1].count(".")
    return SECTION_RANK if worded is None or worded == TITLE_RANK else worded


def _with_run_in_headings(blocks: Sequence[PdfBlock]) -> list[PdfBlock]:
    """Part headings from the paragraphs that they begin: `Gene expression. Total RNA was …`, at least twice alike."""
    found = {index: run_in for index, block in enumerate(blocks) if (run_in := _run_in(block))}
    styles = Counter((one.bold, one.italic, one.size) for one in (run_in[0] for run_in in found.values()))
    result: list[PdfBlock] = []
    for index, block in enumerate(blocks):
        run_in = found.get(index, ())
        if not run_in or styles[run_in[0].bold, run_in[0].italic, run_in[0].size] < _ALIKE or block.first is None:
            result.append(block)
            continue
        line = block.first
        title, rest = (
            replace(
                line, fragments=part, size=main_size(part), bold=part[0].bold, italic=part[0].italic, left=part[0].left
            )
            for part in (run_in, line.fragments[len(run_in) :])
        )
        above = PdfBlock(RegionKind.HEADING, 0, False, ((line.page, title.boxed),), first=title, last=None, columns=())
        below = replace(block, lines=((line.page, rest.boxed), *block.lines[1:]), first=rest)
        result += [above, below if below.last is not line else replace(below, last=rest)]
    return result


def _run_in(block: PdfBlock) -> tuple[Fragment, ...]:
    """Return the fragments of the heading that a paragraph begins with; none if it begins with none."""
    line = block.first
    if line is None or block.kind not in {RegionKind.PARAGRAPH, RegionKind.LIST_ITEM} or len(block.text) < _FULL_LINE:
        return ()
    head = line.fragments[0]
    if not (head.bold or head.italic):
        return ()
    alike = takewhile(
        lambda item: (item.bold, item.italic, item.size) == (head.bold, head.italic, head.size), line.fragments
    )
    run_in = tuple(alike)
    rest = line.fragments[len(run_in) :]
    title = text_of(run_in).text
    if not rest or not 4 <= len(title) <= _LONGEST_RUN_IN or not title.endswith((".", ":")) or title[:1].islower():
        return ()
    follows = rest[0].text[:1]
    return run_in if follows.isupper() or follows.isdigit() else ()


def _set_apart(blocks: Sequence[PdfBlock], body: float, *, bold_text: bool) -> set[int]:
    """Return the short blocks in a print of their own that stand right above the text, at least twice alike.

    Their size tells nothing: two fonts of the same size may look as if one were larger.
    """
    fonts: Counter[str] = Counter()
    for block in blocks:
        if block.first is not None and block.kind is RegionKind.PARAGRAPH and block.first.size == body:
            fonts[block.first.font] += len(block.text)
    main = max(fonts, key=lambda font: (fonts[font], font), default="")
    found: dict[tuple[float, str, bool, bool], list[int]] = defaultdict(list)
    for index, (block, below) in enumerate(pairwise(blocks)):
        line, under = block.first, below.first
        if line is None or under is None or not _may_be_heading(block) or line.size < _SMALLEST * body:
            continue
        other_print = line.font != main and (line.italic or (line.bold and not bold_text) or line.size != body)
        above_text = below.kind is RegionKind.PARAGRAPH and under.font == main and len(below.text) >= _FULL_LINE
        if other_print and above_text and line.shares_column(under) and abs(line.left - under.left) < 3 * body:
            found[line.size, line.font, line.bold, line.italic].append(index)
    return {index for alike in found.values() if len(alike) >= _ALIKE for index in alike}


def _may_be_heading(block: PdfBlock) -> bool:
    text = block.text
    if block.kind is not RegionKind.PARAGRAPH or len(block.lines) > 3 or not 3 <= len(text) <= 150:
        return False
    begins = text[:1].isalnum() and (not text[:1].islower() or ENUMERATOR.match(text) is not None)
    return begins and not text.endswith((".", ",", ";", "-"))


def _levels(styles: Mapping[int, _Style], named: Mapping[int, int], deepest: int) -> dict[int, int]:
    """Return the level of each heading, one for each style. Styles that no bookmark has rank below those with one."""
    if not named:
        order = {style: index + 1 for index, style in enumerate(sorted(set(styles.values())))}
        return {index: order[style] for index, style in styles.items()}
    bookmarked: dict[_Style, int] = {}
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
    if sum(char.isalpha() for char in text) < 2 or has_bullet(text):
        return False
    if text[:1].islower() and text.endswith((".", ")")):
        return False
    larger = first.size >= _LARGER * body
    if larger:
        return not text.endswith((",", ";")) and (len(block.lines) <= 2 or not text.endswith("."))
    bolder = first.bold and not bold_text and first.size >= 0.95 * body
    return bolder and not text.endswith(_NO_HEADING_ENDS)
