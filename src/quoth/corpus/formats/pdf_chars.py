"""Reads the characters of a PDF page with pdfium and gathers them into fragments."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pypdfium2.raw as pdfium
from numpy.typing import NDArray

from quoth.corpus.formats.pdf_ink import SLANTED, Fragment, PageInk, readable
from quoth.corpus.formats.pdf_view import View, rules_of, view_of

MAX_PAGE_CHARACTERS = 200_000
"""A page of a newspaper has some 30,000; what is beyond is not read."""
_SPACE, _WORD_SPACE = 0.25, 0.8
"""Gaps, as shares of the type size: from the first on there is a space, from the second on two fragments."""
_BACKWARDS = -0.4
_BASELINE = 0.2

_FIXED_PITCH, _FORCE_BOLD = 1 << 0, 1 << 18  # flags of a font descriptor
_HEAVY = (b"bold", b"black", b"heavy")
_TYPEWRITER = (b"courier", b"mono", b"consolas", b"typewriter", b"cmtt")

_Numbers = NDArray[np.float64]

_text_object: Any = ctypes.cast(
    pdfium.FPDFText_GetTextObject, ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
)
"""The same function, but it gives an address: a pointer object for every character would be slow."""


@dataclass(frozen=True, slots=True)
class _Style:
    """What the characters of one text object have in common; `origin` is a point of its baseline."""

    size: float
    bold: bool
    fixed: bool
    direction: int
    origin: tuple[float, float]


def read_page(page: Any, number: int) -> PageInk:  # noqa: ANN401 - a handle of pdfium
    """Return what is printed on a page; text outside the visible part of the page is left out."""
    view = view_of(page)
    fragments: tuple[Fragment, ...] = ()
    text_page = pdfium.FPDFText_LoadPage(page)
    if text_page:
        try:
            fragments = _Reader(text_page, view).fragments()
        finally:
            pdfium.FPDFText_ClosePage(text_page)
    rules, uprights = rules_of(page, view)
    return PageInk(number, view.width, view.height, fragments, rules, uprights)


class _Reader:
    """Collects the characters of one page in the order they are drawn in."""

    def __init__(self, text_page: Any, view: View) -> None:  # noqa: ANN401
        self._text_page = text_page
        self._view = view
        self._styles: dict[int, int] = {}
        self._known: list[_Style] = []
        self._fonts: dict[bytes, tuple[bool, bool]] = {}

    def fragments(self) -> tuple[Fragment, ...]:
        text, boxes, styles, spaced = self._characters()
        if not text:
            return ()
        corners = np.array(boxes, dtype=np.float64)
        x0, y0 = self._view.shown(corners[:, 0], corners[:, 1])
        x1, y1 = self._view.shown(corners[:, 2], corners[:, 3])
        shown = np.stack([np.minimum(x0, x1), np.minimum(y0, y1), np.maximum(x0, x1), np.maximum(y0, y1)], axis=1)
        page = (shown[:, 2] > 0) & (shown[:, 3] > 0) & (shown[:, 0] < self._view.width)
        seen = np.flatnonzero(page & (shown[:, 1] < self._view.height))
        letters = [text[place] for place in seen.tolist()]
        return self._gathered(letters, shown[seen], np.array(styles)[seen], np.array(spaced)[seen]) if letters else ()

    def _characters(self) -> tuple[list[str], list[tuple[float, float, float, float]], list[int], list[bool]]:
        text_page = self._text_page
        handle = ctypes.cast(text_page, ctypes.c_void_p)
        unicode_of, box_of = pdfium.FPDFText_GetUnicode, pdfium.FPDFText_GetLooseCharBox
        box = pdfium.FS_RECTF()
        known: dict[int, str] = {}
        text: list[str] = []
        boxes: list[tuple[float, float, float, float]] = []
        styles: list[int] = []
        spaced: list[bool] = []
        space = False
        for index in range(min(pdfium.FPDFText_CountChars(text_page), MAX_PAGE_CHARACTERS)):
            code = unicode_of(text_page, index)
            letters = known.get(code)
            if letters is None:
                letters = known[code] = readable(code)
            if letters == " ":
                space = True
                continue
            if not letters or not box_of(text_page, index, box):
                continue
            style = self._style(_text_object(handle, index) or 0, index)
            left, width = box.left, (box.right - box.left) / len(letters)
            for place, letter in enumerate(letters):  # more than one in a ligature
                text.append(letter)
                boxes.append((left + place * width, box.top, left + (place + 1) * width, box.bottom))
                styles.append(style)
                spaced.append(space)
                space = False
        return text, boxes, styles, spaced

    def _style(self, address: int, index: int) -> int:
        style = self._styles.get(address)
        if style is None:
            matrix, x, y = pdfium.FS_MATRIX(), ctypes.c_double(), ctypes.c_double()
            pdfium.FPDFText_GetMatrix(self._text_page, index, matrix)
            pdfium.FPDFText_GetCharOrigin(self._text_page, index, x, y)
            size = abs(pdfium.FPDFText_GetFontSize(self._text_page, index)) * (math.hypot(matrix.c, matrix.d) or 1.0)
            angle = math.degrees(math.atan2(matrix.b, matrix.a)) / 90 - self._view.turns
            quarters = round(angle)
            direction = quarters % 4 if abs(angle - quarters) < 0.12 else SLANTED
            style = self._styles[address] = len(self._known)
            bold, fixed = self._font(index)
            self._known.append(_Style(round(size, 1) or 1.0, bold, fixed, direction, (x.value, y.value)))
        return style

    def _font(self, index: int) -> tuple[bool, bool]:
        """Whether the font of a character is bold, and whether it is a typewriter's."""
        flags = ctypes.c_int()
        buffer = ctypes.create_string_buffer(128)
        pdfium.FPDFText_GetFontInfo(self._text_page, index, buffer, len(buffer), flags)
        name = buffer.value.lower()
        if name not in self._fonts:
            heavy = any(word in name for word in _HEAVY) and b"semibold" not in name
            weight = pdfium.FPDFText_GetFontWeight(self._text_page, index)
            bold = heavy or weight >= 600 or bool(flags.value & _FORCE_BOLD)
            self._fonts[name] = bold, bool(flags.value & _FIXED_PITCH) or any(word in name for word in _TYPEWRITER)
        return self._fonts[name]

    def _gathered(
        self, text: list[str], shown: _Numbers, styles: NDArray[np.int64], spaced: NDArray[np.bool_]
    ) -> tuple[Fragment, ...]:
        """Cut the characters where one does not go on where the one before it ended."""
        known = self._known
        origins = np.array([style.origin for style in known], dtype=np.float64)
        x, y = self._view.shown(origins[:, 0], origins[:, 1])
        baselines = np.array(
            [self._view.along(x[i : i + 1], y[i : i + 1], style.direction)[1][0] for i, style in enumerate(known)]
        )[styles]
        numbers: dict[tuple[float, bool, bool, int], int] = {}
        kinds = np.array(
            [
                numbers.setdefault((style.size, style.bold, style.fixed, style.direction), len(numbers))
                for style in known
            ]
        )[styles]
        sizes = np.array([style.size for style in known])[styles]
        directions = np.array([style.direction for style in known])[styles]
        lines = np.empty_like(shown)  # left, top, right, bottom in the direction of reading
        for direction in np.unique(directions).tolist():
            here = directions == direction
            a = self._view.along(shown[here, 0], shown[here, 1], direction)
            b = self._view.along(shown[here, 2], shown[here, 3], direction)
            lines[here] = np.stack([*np.minimum(a, b), *np.maximum(a, b)], axis=1)
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
            style, edges = known[int(styles[start])], lines[start:end]
            letters, boxes = _spelled(text[start:end], shown[start:end], spaces[start:end])
            found.append(
                Fragment(
                    text=letters,
                    boxes=boxes,
                    left=float(edges[:, 0].min()),
                    right=float(edges[:, 2].max()),
                    top=float(edges[:, 1].min()),
                    bottom=float(edges[:, 3].max()),
                    baseline=float(baselines[start]),
                    size=style.size,
                    bold=style.bold,
                    fixed=style.fixed,
                    spaced=bool(spaced[start]),
                    direction=style.direction,
                    confidence=None,
                )
            )
        return tuple(found)


def _share_ligatures(lines: _Numbers, shown: _Numbers, directions: NDArray[np.int64]) -> None:
    """Give each letter of a ligature its part of the box, in place: pdfium gives the whole box to all of them."""
    same = np.flatnonzero((lines[1:] == lines[:-1]).all(axis=1) & (lines[1:, 2] > lines[1:, 0])) + 1
    runs = np.split(same, np.flatnonzero(np.diff(same) > 1) + 1) if len(same) else []
    for run in runs:
        first, last = int(run[0]) - 1, int(run[-1]) + 1
        edges = np.linspace(lines[first, 0], lines[first, 2], last - first + 1)
        lines[first:last, 0], lines[first:last, 2] = edges[:-1], edges[1:]
        if directions[first] == 0:
            shown[first:last, 0], shown[first:last, 2] = edges[:-1], edges[1:]


def _leftwards(text: list[str]) -> NDArray[np.bool_]:
    """Which characters belong to Hebrew, Arabic and their kin, which are written from right to left."""
    codes = np.array([ord(letter) for letter in text])
    return (
        ((codes >= 0x590) & (codes < 0x900))
        | ((codes >= 0xFB1D) & (codes < 0xFE00))
        | ((codes >= 0xFE70) & (codes < 0xFEFF))
    )


def _spelled(letters: list[str], shown: _Numbers, spaces: NDArray[np.bool_]) -> tuple[str, NDArray[np.float32]]:
    """The text of a fragment with its spaces, and a box for each of its code points."""
    before = spaces.copy()
    before[0] = False
    places = np.arange(len(letters)) + np.cumsum(before)
    boxes = np.zeros((int(places[-1]) + 1, 4), dtype=np.float32)
    boxes[places] = shown
    if not before.any():
        return "".join(letters), boxes
    return "".join(f" {letter}" if gap else letter for letter, gap in zip(letters, before.tolist(), strict=True)), boxes
