"""Headings: the lines that bookmarks name, that are set larger or bolder than the text, or that read as headings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from quoth.corpus.formats.pdf_flow import Piece
from quoth.corpus.formats.pdf_lines import Line
from quoth.corpus.formats.pdf_outline import Bookmark
from quoth.corpus.formats.pdf_paragraphs import has_bullet
from quoth.text.headings import heading_rank
from quoth.types import RegionKind

_LARGER = 1.1  # times the size of the text
_LONGEST = 220  # code points
_MOST_LINES = 8  # in a narrow column
_NO_HEADING_ENDS = (".", ",", ";", ":", "-")


class Titles:
    """The titles of the bookmarks, by the page that they lead to."""

    def __init__(self, bookmarks: Sequence[Bookmark]) -> None:
        self.deepest = max((bookmark.level for bookmark in bookmarks), default=0)
        self._levels: Mapping[int, dict[str, int]] = defaultdict(dict)
        for bookmark in bookmarks:
            key = _key(bookmark.title)
            if key:
                self._levels[bookmark.page].setdefault(key, bookmark.level)

    def level(self, text: str, page: int) -> int | None:
        """The level of the bookmark that says `text`; a bookmark may leave out the number of a heading, or add it."""
        titles = self._levels.get(page)
        if not titles or len(text) > _LONGEST or text[:1].islower() or text.endswith(_NO_HEADING_ENDS):
            return None  # the last words of a sentence may be those of a title
        key = _key(text)
        if key in titles:
            return titles[key]
        for title, level in titles.items():
            longer, shorter = (key, title) if len(key) > len(title) else (title, key)
            if len(shorter) > 3 and longer.endswith(shorter) and _is_number(longer[: -len(shorter)]):
                return level
        return None

    def names(self, line: Line) -> bool:
        return self.level(line.text, line.page) is not None


def _key(text: str) -> str:
    return "".join(char for char in text.casefold() if char.isalnum())


def _is_number(key: str) -> bool:
    for word in ("chapter", "section", "article", "part", "appendix"):
        key = key.removeprefix(word)
    return key.isdigit() or (len(key) <= 5 and set(key) <= set("ivxlc0123456789")) or len(key) == 1


def with_headings(pieces: Sequence[Piece], titles: Titles, body: float) -> list[Piece]:
    """Return the pieces, those that are headings marked as such, each with its level."""
    bold_text = _text_is_bold(pieces, body)
    named: dict[int, int] = {}
    styles: dict[int, tuple[float, bool, int]] = {}
    for index, piece in enumerate(pieces):
        first = piece.first
        if first is None or piece.kind not in {RegionKind.PARAGRAPH, RegionKind.LIST_ITEM}:
            continue
        level = titles.level(" ".join(piece.text.split()), first.page) if len(piece.parts) <= _MOST_LINES else None
        rank = heading_rank(" ".join(piece.text.split())) if len(piece.text) <= _LONGEST else None
        if level is not None:
            named[index] = level
        elif not _looks_like_heading(piece, first, body, bold_text=bold_text) and not (
            rank is not None and len(piece.parts) <= _MOST_LINES and first.size >= body * 0.95
        ):
            continue
        styles[index] = (-max(first.size, body), not first.bold, rank or 1)
    levels = _levels(styles, named, titles.deepest)
    return [
        replace(piece, kind=RegionKind.HEADING, level=levels[index]) if index in levels else piece
        for index, piece in enumerate(pieces)
    ]


def _levels(styles: Mapping[int, tuple[float, bool, int]], named: Mapping[int, int], deepest: int) -> dict[int, int]:
    """One level for each style. With bookmarks they decide, and a style that none has stands below them all."""
    if not named:
        order = {style: place + 1 for place, style in enumerate(sorted(set(styles.values())))}
        return {index: order[style] for index, style in styles.items()}
    known: dict[tuple[float, bool, int], int] = {}
    for index, level in named.items():
        style = styles[index]
        known[style] = max(known.get(style, 0), level)
    largest = min(known)
    others = {style: place for place, style in enumerate(sorted({*styles.values()} - {*known}))}
    return {
        index: named.get(index, known.get(style, 1 if style < largest else deepest + 1 + others.get(style, 0)))
        for index, style in styles.items()
    }


def _text_is_bold(pieces: Sequence[Piece], body: float) -> bool:
    weights = {True: 0, False: 0}
    for piece in pieces:
        if piece.first is not None and piece.first.size == body:
            weights[piece.first.bold] += len(piece.text)
    return weights[True] > weights[False]


def _looks_like_heading(piece: Piece, first: Line, body: float, *, bold_text: bool) -> bool:
    text = piece.text
    if piece.kind is not RegionKind.PARAGRAPH or len(piece.parts) > _MOST_LINES or len(text) > _LONGEST:
        return False
    if not any(char.isalpha() for char in text) or has_bullet(text):
        return False
    larger = first.size >= _LARGER * body
    if larger:
        return not text.endswith((",", ";")) and (len(piece.parts) <= 2 or not text.endswith("."))
    bolder = first.bold and not bold_text and first.size >= 0.95 * body
    return bolder and not text.endswith(_NO_HEADING_ENDS)
