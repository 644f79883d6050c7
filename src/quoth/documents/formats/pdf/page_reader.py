"""Read the text of a PDF page with pdfium: characters, joined into fragments."""

from __future__ import annotations

import ctypes
import math
import unicodedata
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pypdfium2.raw as pdfium
from numpy.typing import NDArray

from quoth.documents.formats.pdf.page_drawings import (
    THIN,
    Edges,
    Numbers,
    PageView,
    addresses,
    between,
    clip_of,
    rules_of,
    view_of,
)
from quoth.documents.formats.pdf.printed_lines import SLANTED, Fragment, PrintedPage

MAX_PAGE_CHARACTERS = 200_000
"""The most characters to read from a page. A newspaper page has some 30,000."""
_SPACE, _WORD_SPACE = 0.25, 0.8  # the least gaps that make a space and that end a fragment, as shares of the type size
_BACKWARDS = -0.4
_BASELINE = 0.2
_TALL = 2.5  # of the type size: letters are not so high

_FIXED_PITCH, _ITALIC, _FORCE_BOLD = 1 << 0, 1 << 6, 1 << 18  # flags of a font descriptor
_HEAVY = (b"bold", b"black", b"heavy")
_SLOPED = (b"italic", b"oblique", b"slanted")
_TYPEWRITER = (b"courier", b"mono", b"consolas", b"typewriter", b"cmtt")

_LEFTWARDS = ((0x590, 0x900), (0xFB1D, 0xFE00), (0xFE70, 0xFEFF))

_READABLE = {
    **{ligature: unicodedata.normalize("NFKC", ligature) for ligature in "ﬀﬁﬂﬃﬄﬅﬆ"},
    # The codes of a hyphen at a line end, from pdfium and from fonts.
    **dict.fromkeys("\x02\ufffe\u00ad", "-"),
    # Symbol fonts use the private use area; these codes are the list marks of word processors.
    **{"\uf0b7": "•", "\uf0a7": "▪", "\uf0d8": "➢", "\uf0fc": "✓", "\uf0a8": "□", "\uf06f": "□", "\uf0e0": "→"},
    **dict.fromkeys("\t\r\n", " "),
}

_text_object: Any = ctypes.cast(
    pdfium.FPDFText_GetTextObject, ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
)
"""The pdfium function, made to return an address, because a pointer object for each character is slow."""


def read_page(page: Any, number: int) -> PrintedPage:  # noqa: ANN401 - a handle of pdfium
    """Return the fragments and rules of a page, without text outside its visible box."""
    view = view_of(page)
    fragments: tuple[Fragment, ...] = ()
    text_page = pdfium.FPDFText_LoadPage(page)
    if text_page:
        try:
            fragments = _CharacterReader(page, text_page, view).fragments()
        finally:
            pdfium.FPDFText_ClosePage(text_page)
    return PrintedPage(number, view.width, view.height, fragments, *rules_of(page, view))


@dataclass(frozen=True, slots=True)
class _Font:
    """How a font looks. Two fonts that look alike do not part a word, whatever their names."""

    bold: bool
    italic: bool
    fixed: bool
    name: str = field(compare=False)


@dataclass(frozen=True, slots=True)
class _TextStyle:
    """The style of the characters of a text object. `origin` is a point on its baseline."""

    size: float
    font: _Font
    direction: int
    origin: tuple[float, float] = field(compare=False)
    clip: Edges | None = field(compare=False)
    """The box in user space that all of it is clipped to; None where nothing is clipped."""

    def shows(self, x: float, y: float) -> bool:
        """Return whether a point is inside the clip. Text outside is in the file, but nobody can see it."""
        if self.clip is None:
            return True
        left, bottom, right, top = self.clip
        return left - THIN <= x <= right + THIN and bottom - THIN <= y <= top + THIN


class _CharacterReader:
    """Reads the characters of a page in the order in which they are drawn."""

    def __init__(self, page: Any, text_page: Any, view: PageView) -> None:  # noqa: ANN401
        self._text_page = text_page
        self._view = view
        self._on_page = addresses(page)
        self._style_indexes: dict[int, int] = {}
        self._text_styles: list[_TextStyle] = []
        self._fonts: dict[bytes, _Font] = {}

    def fragments(self) -> tuple[Fragment, ...]:
        characters = self._characters()
        if not characters:
            return ()
        text, boxes, styles, spaced = zip(*characters, strict=True)
        shown = self._view.boxes(np.array(boxes, dtype=np.float64))
        page = (shown[:, 2] > 0) & (shown[:, 3] > 0) & (shown[:, 0] < self._view.width)
        seen = np.flatnonzero(page & (shown[:, 1] < self._view.height))
        letters = [text[index] for index in seen.tolist()]
        return self._cut(letters, shown[seen], np.array(styles)[seen], np.array(spaced)[seen]) if letters else ()

    def _characters(self) -> list[tuple[str, Edges, int, bool]]:
        """Return each letter with its edges in user space, the index of its style, and whether a space is before it."""
        text_page = self._text_page
        handle = ctypes.cast(text_page, ctypes.c_void_p)
        unicode_of, box_of = pdfium.FPDFText_GetUnicode, pdfium.FPDFText_GetLooseCharBox
        box = pdfium.FS_RECTF()
        by_code: dict[int, str] = {}
        characters: list[tuple[str, Edges, int, bool]] = []
        space = False
        high = 0  # the first half of a code beyond 16 bits
        for index in range(min(pdfium.FPDFText_CountChars(text_page), MAX_PAGE_CHARACTERS)):
            code = unicode_of(text_page, index)
            if 0xD800 <= code < 0xDC00:
                high = code
                continue
            if high and 0xDC00 <= code < 0xE000:
                code = 0x10000 + ((high - 0xD800) << 10) + code - 0xDC00
            high = 0
            letters = by_code.get(code)
            if letters is None:
                letters = by_code[code] = readable(code)
            if letters == " ":
                space = True
                continue
            if not letters or not box_of(text_page, index, box):
                continue
            style = self._style(_text_object(handle, index) or 0, index)
            if not self._text_styles[style].shows((box.left + box.right) / 2, (box.bottom + box.top) / 2):
                continue
            left, width = box.left, (box.right - box.left) / len(letters)
            for nth, letter in enumerate(letters):  # a ligature has several letters
                edges = (left + nth * width, box.top, left + (nth + 1) * width, box.bottom)
                characters.append((letter, edges, style, space))
                space = False
        return characters

    def _style(self, address: int, index: int) -> int:
        style = self._style_indexes.get(address)
        if style is None:
            matrix, x, y = pdfium.FS_MATRIX(), ctypes.c_double(), ctypes.c_double()
            pdfium.FPDFText_GetMatrix(self._text_page, index, matrix)
            pdfium.FPDFText_GetCharOrigin(self._text_page, index, x, y)
            size = abs(pdfium.FPDFText_GetFontSize(self._text_page, index)) * (math.hypot(matrix.c, matrix.d) or 1.0)
            angle = math.degrees(math.atan2(matrix.b, matrix.a)) / 90 - self._view.turns
            quarters = round(angle)
            direction = quarters % 4 if abs(angle - quarters) < 0.12 else SLANTED
            style = self._style_indexes[address] = len(self._text_styles)
            font = self._font(index)
            clip = clip_of(address) if address in self._on_page else None
            self._text_styles.append(_TextStyle(round(size, 1) or 1.0, font, direction, (x.value, y.value), clip))
        return style

    def _font(self, index: int) -> _Font:
        flags = ctypes.c_int()
        buffer = ctypes.create_string_buffer(128)
        pdfium.FPDFText_GetFontInfo(self._text_page, index, buffer, len(buffer), flags)
        name = buffer.value.lower()
        if name not in self._fonts:
            heavy = (any(word in name for word in _HEAVY) and b"semibold" not in name) or name.endswith((b".b", b".bi"))
            weight = pdfium.FPDFText_GetFontWeight(self._text_page, index)
            bold = heavy or weight >= 600 or bool(flags.value & _FORCE_BOLD)
            italic = (
                bool(flags.value & _ITALIC) or any(word in name for word in _SLOPED) or name.endswith((b".i", b".bi"))
            )
            fixed = bool(flags.value & _FIXED_PITCH) or any(word in name for word in _TYPEWRITER)
            self._fonts[name] = _Font(bold, italic, fixed, name.decode("utf-8", errors="replace"))
        return self._fonts[name]

    def _cut(
        self, text: list[str], shown: Numbers, styles: NDArray[np.int64], spaced: NDArray[np.bool_]
    ) -> tuple[Fragment, ...]:
        """Cut the characters into fragments, wherever a character does not continue the run before it."""
        text_styles = self._text_styles
        origins = np.array([style.origin for style in text_styles], dtype=np.float64)
        x, y = self._view.shown(origins[:, 0], origins[:, 1])
        baselines = np.array(
            [self._view.along(x[i : i + 1], y[i : i + 1], style.direction)[1][0] for i, style in enumerate(text_styles)]
        )[styles]
        numbers: dict[_TextStyle, int] = {}
        kinds = np.array([numbers.setdefault(style, len(numbers)) for style in text_styles])[styles]
        sizes = np.array([style.size for style in text_styles])[styles]
        directions = np.array([style.direction for style in text_styles])[styles]
        lines = np.empty_like(shown)  # left, top, right, bottom in the direction of reading
        for direction in np.unique(directions).tolist():
            here = directions == direction
            corners = self._view.along(shown[here, 0], shown[here, 1], direction)
            lines[here] = between(corners, self._view.along(shown[here, 2], shown[here, 3], direction))
        _share_ligatures(lines, shown, directions)
        leftwards = _leftwards(text)
        gaps = np.where(leftwards[1:], lines[:-1, 0] - lines[1:, 2], lines[1:, 0] - lines[:-1, 2]) / sizes[1:]
        broken = (kinds[1:] != kinds[:-1]) | (leftwards[1:] != leftwards[:-1])
        broken |= np.abs(np.diff(baselines)) > _BASELINE * sizes[1:]
        broken |= (gaps <= _BACKWARDS) | (gaps >= _WORD_SPACE)
        spaces = np.concatenate([[False], spaced[1:] | (gaps > _SPACE)])
        cuts = [0, *(np.flatnonzero(broken) + 1).tolist(), len(text)]
        found = []
        for start, end in pairwise(cuts):
            style, edges = text_styles[int(styles[start])], lines[start:end]
            letters, boxes = _spelled(text[start:end], shown[start:end], spaces[start:end])
            left, top = edges[:, :2].min(axis=0).tolist()
            right, bottom = edges[:, 2:].max(axis=0).tolist()
            baseline = float(baselines[start])
            if bottom - top > _TALL * style.size and top < baseline < bottom:  # a font with a line height like no other
                top, bottom = max(top, baseline - style.size), min(bottom, baseline + 0.25 * style.size)
            found.append(
                Fragment(
                    *(letters, boxes, left, right, top, bottom),
                    baseline=baseline,
                    size=style.size,
                    bold=style.font.bold,
                    italic=style.font.italic,
                    font=style.font.name,
                    fixed=style.font.fixed,
                    spaced=bool(spaced[start]),
                    direction=style.direction,
                )
            )
        return tuple(found)


def _share_ligatures(lines: Numbers, shown: Numbers, directions: NDArray[np.int64]) -> None:
    """Divide the box of each ligature among its letters, in place: pdfium gives each letter the whole box."""
    same = np.flatnonzero((lines[1:] == lines[:-1]).all(axis=1) & (lines[1:, 2] > lines[1:, 0])) + 1
    runs = np.split(same, np.flatnonzero(np.diff(same) > 1) + 1) if len(same) else []
    for run in runs:
        first, last = int(run[0]) - 1, int(run[-1]) + 1
        edges = np.linspace(lines[first, 0], lines[first, 2], last - first + 1)
        lines[first:last, 0], lines[first:last, 2] = edges[:-1], edges[1:]
        if directions[first] == 0:
            shown[first:last, 0], shown[first:last, 2] = edges[:-1], edges[1:]


def _leftwards(text: list[str]) -> NDArray[np.bool_]:
    """Return a mask of the characters that are written from right to left, such as Hebrew and Arabic."""
    codes = np.array([ord(letter) for letter in text])
    leftwards = np.zeros(len(text), dtype=np.bool_)
    for first, end in _LEFTWARDS:
        leftwards |= (codes >= first) & (codes < end)
    return leftwards


def _spelled(letters: list[str], shown: Numbers, spaces: NDArray[np.bool_]) -> tuple[str, NDArray[np.float32]]:
    """Return the text of a fragment with its spaces, and a box for each of its code points."""
    before = spaces.copy()
    before[0] = False
    positions = np.arange(len(letters)) + np.cumsum(before)
    boxes = np.zeros((int(positions[-1]) + 1, 4), dtype=np.float32)
    boxes[positions] = shown
    return "".join(f" {letter}" if gap else letter for letter, gap in zip(letters, before.tolist(), strict=True)), boxes


def readable(code: int) -> str:
    """Return the text of a character code: the letters of a ligature, "" for a code that is no text."""
    char = chr(code) if code <= 0x10FFFF else "\0"
    if char in _READABLE:
        return _READABLE[char]
    category = unicodedata.category(char)
    if 0x1D400 <= code < 0x1D800:  # letters of formulas, such as an italic mu
        return unicodedata.normalize("NFKC", char)
    if category == "Co":
        return "•" if 0xF020 <= code <= 0xF0FF else ""
    if category[0] == "Z":
        return " "
    return "" if category[0] == "C" else char
