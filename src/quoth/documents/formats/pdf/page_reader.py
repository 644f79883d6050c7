"""Read what is printed on a PDF page with pdfium: characters, joined into fragments, ruled lines and pictures."""

from __future__ import annotations

import ctypes
import math
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
import pypdfium2 as pypdfium
import pypdfium2.raw as pdfium
from numpy.typing import NDArray

from quoth.documents.formats.pdf.printed_lines import SLANTED, Fragment, HorizontalRule, PrintedPage, VerticalRule

MAX_PAGE_CHARACTERS = 200_000
"""The most characters to read from a page. A newspaper page has some 30,000."""
_MAX_OBJECTS, _MAX_STROKES, _MAX_SEGMENTS = 20_000, 20_000, 2_000
_THIN, _SHORTEST_RULE, _SHORTEST_UPRIGHT = 2.0, 12.0, 6.0  # points
_SPACE, _WORD_SPACE = 0.25, 0.8  # the least gaps that make a space and that end a fragment, as shares of the type size
_BACKWARDS = -0.4
_BASELINE = 0.2

_FIXED_PITCH, _FORCE_BOLD = 1 << 0, 1 << 18  # flags of a font descriptor
_HEAVY = (b"bold", b"black", b"heavy")
_TYPEWRITER = (b"courier", b"mono", b"consolas", b"typewriter", b"cmtt")

_LEFTWARDS = ((0x590, 0x900), (0xFB1D, 0xFE00), (0xFE70, 0xFEFF))

_Numbers: TypeAlias = NDArray[np.float64]
_Points: TypeAlias = tuple[_Numbers, _Numbers]
_Edges: TypeAlias = tuple[float, float, float, float]

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


@dataclass(frozen=True, slots=True)
class _PageView:
    """The visible box of a page in user space, and how many quarters the page is turned clockwise."""

    left: float
    bottom: float
    right: float
    top: float
    turns: int

    @property
    def width(self) -> float:
        return self.top - self.bottom if self.turns % 2 else self.right - self.left

    @property
    def height(self) -> float:
        return self.right - self.left if self.turns % 2 else self.top - self.bottom

    def shown(self, x: _Numbers, y: _Numbers) -> _Points:
        """Convert user space to points from the top left corner of the page as it is shown."""
        turned = (
            (x - self.left, self.top - y),
            (y - self.bottom, x - self.left),
            (self.right - x, y - self.bottom),
            (self.top - y, self.right - x),
        )
        return turned[self.turns]

    def boxes(self, edges: _Numbers) -> _Numbers:
        """Convert boxes in user space to left, top, right and bottom on the page as it is shown."""
        return _between(self.shown(edges[:, 0], edges[:, 1]), self.shown(edges[:, 2], edges[:, 3]))

    def along(self, x: _Numbers, y: _Numbers, direction: int) -> _Points:
        """Turn shown coordinates to the reading `direction`: along the line, and down the page."""
        turned = ((x, y), (self.height - y, x), (self.width - x, self.height - y), (y, self.width - x), (x, y))
        return turned[direction]


def _between(corners: _Points, opposite: _Points) -> _Numbers:
    return np.stack([*np.minimum(corners, opposite), *np.maximum(corners, opposite)], axis=1)


def _view(page: Any) -> _PageView:  # noqa: ANN401 - a handle of pdfium
    box = pdfium.FS_RECTF()
    if not pdfium.FPDF_GetPageBoundingBox(page, box) or box.right <= box.left or box.top <= box.bottom:
        return _PageView(0.0, 0.0, 612.0, 792.0, turns=0)
    return _PageView(box.left, box.bottom, box.right, box.top, turns=pdfium.FPDFPage_GetRotation(page) % 4)


def read_page(page: Any, number: int) -> PrintedPage:  # noqa: ANN401 - a handle of pdfium
    """Return the fragments and rules of a page, without text outside its visible box."""
    view = _view(page)
    fragments: tuple[Fragment, ...] = ()
    text_page = pdfium.FPDFText_LoadPage(page)
    if text_page:
        try:
            fragments = _CharacterReader(text_page, view).fragments()
        finally:
            pdfium.FPDFText_ClosePage(text_page)
    return PrintedPage(number, view.width, view.height, fragments, *_rules(page, view))


def picture_share(page: Any) -> float:  # noqa: ANN401
    """Return the share of a page that its pictures cover, from 0 to 1."""
    view = _view(page)
    area = 0.0
    for _, (left, bottom, right, top) in _objects(page, pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_FORM):
        wide = min(right, view.right) - max(left, view.left)
        high = min(top, view.top) - max(bottom, view.bottom)
        area += max(0.0, wide) * max(0.0, high)
    return min(1.0, area / (view.width * view.height))


def _objects(page: Any, *types: int) -> Iterator[tuple[Any, _Edges]]:  # noqa: ANN401
    """Yield the objects of these types on a page, with the left, bottom, right and top of each in user space."""
    edges = [ctypes.c_float() for _ in range(4)]
    for index in range(min(pdfium.FPDFPage_CountObjects(page), _MAX_OBJECTS)):
        drawn = pdfium.FPDFPage_GetObject(page, index)
        if pdfium.FPDFPageObj_GetType(drawn) in types and pdfium.FPDFPageObj_GetBounds(drawn, *edges):
            left, bottom, right, top = (edge.value for edge in edges)
            yield drawn, (left, bottom, right, top)


def _rules(page: Any, view: _PageView) -> tuple[tuple[HorizontalRule, ...], tuple[VerticalRule, ...]]:  # noqa: ANN401
    """Return the thin lines of a page, horizontal and vertical, whether drawn as lines or as flat boxes."""
    strokes: list[_Edges] = []
    for path, bounds in _objects(page, pdfium.FPDF_PAGEOBJ_PATH):
        left, bottom, right, top = bounds
        strokes += [bounds] if min(right - left, top - bottom) <= _THIN else _segments(path)
        if len(strokes) > _MAX_STROKES:
            break
    horizontal: set[HorizontalRule] = set()
    vertical: set[VerticalRule] = set()
    shown = view.boxes(np.array(strokes, dtype=np.float64).reshape(-1, 4))
    for left, top, right, bottom in np.round(shown, 1).tolist():
        if bottom - top <= _THIN and right - left >= _SHORTEST_RULE:
            horizontal.add(HorizontalRule(round((top + bottom) / 2, 1), left, right))
        elif right - left <= _THIN and bottom - top >= _SHORTEST_UPRIGHT:
            vertical.add(VerticalRule(round((left + right) / 2, 1), top, bottom))
    return tuple(sorted(horizontal)), tuple(sorted(vertical))


def _segments(path: Any) -> list[_Edges]:  # noqa: ANN401
    """Return the straight strokes of a path that is drawn, not filled: a box, or several lines."""
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    count = pdfium.FPDFPath_CountSegments(path)
    if not pdfium.FPDFPath_GetDrawMode(path, fill, stroke) or not stroke.value or not 1 < count <= _MAX_SEGMENTS:
        return []
    matrix = pdfium.FS_MATRIX()
    pdfium.FPDFPageObj_GetMatrix(path, matrix)
    shown = pypdfium.PdfMatrix.from_raw(matrix)
    found: list[_Edges] = []
    x, y = ctypes.c_float(), ctypes.c_float()
    start = before = (0.0, 0.0)
    for index in range(count):
        segment = pdfium.FPDFPath_GetPathSegment(path, index)
        if not pdfium.FPDFPathSegment_GetPoint(segment, x, y):
            continue
        point = shown.on_point(x.value, y.value)
        kind = pdfium.FPDFPathSegment_GetType(segment)
        if kind == pdfium.FPDF_SEGMENT_MOVETO:
            start = point
        elif kind == pdfium.FPDF_SEGMENT_LINETO:
            found.append((*before, *point))
        if pdfium.FPDFPathSegment_GetClose(segment):
            found.append((*point, *start))
        before = point
    return found


@dataclass(frozen=True, slots=True)
class _TextStyle:
    """The style of the characters of a text object. `origin` is a point on its baseline."""

    size: float
    bold: bool
    fixed: bool
    direction: int
    origin: tuple[float, float] = field(compare=False)


class _CharacterReader:
    """Reads the characters of a page in the order in which they are drawn."""

    def __init__(self, text_page: Any, view: _PageView) -> None:  # noqa: ANN401
        self._text_page = text_page
        self._view = view
        self._style_indexes: dict[int, int] = {}
        self._text_styles: list[_TextStyle] = []
        self._fonts: dict[bytes, tuple[bool, bool]] = {}

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

    def _characters(self) -> list[tuple[str, _Edges, int, bool]]:
        """Return each letter with its edges in user space, the index of its style, and whether a space is before it."""
        text_page = self._text_page
        handle = ctypes.cast(text_page, ctypes.c_void_p)
        unicode_of, box_of = pdfium.FPDFText_GetUnicode, pdfium.FPDFText_GetLooseCharBox
        box = pdfium.FS_RECTF()
        by_code: dict[int, str] = {}
        characters: list[tuple[str, _Edges, int, bool]] = []
        space = False
        for index in range(min(pdfium.FPDFText_CountChars(text_page), MAX_PAGE_CHARACTERS)):
            code = unicode_of(text_page, index)
            letters = by_code.get(code)
            if letters is None:
                letters = by_code[code] = readable(code)
            if letters == " ":
                space = True
                continue
            if not letters or not box_of(text_page, index, box):
                continue
            style = self._style(_text_object(handle, index) or 0, index)
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
            bold, fixed = self._font(index)
            self._text_styles.append(_TextStyle(round(size, 1) or 1.0, bold, fixed, direction, (x.value, y.value)))
        return style

    def _font(self, index: int) -> tuple[bool, bool]:
        """Return whether the font of a character is bold, and whether it is a typewriter font."""
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

    def _cut(
        self, text: list[str], shown: _Numbers, styles: NDArray[np.int64], spaced: NDArray[np.bool_]
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
            lines[here] = _between(corners, self._view.along(shown[here, 2], shown[here, 3], direction))
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
            found.append(
                Fragment(
                    *(letters, boxes, left, right, top, bottom),
                    baseline=float(baselines[start]),
                    size=style.size,
                    bold=style.bold,
                    fixed=style.fixed,
                    spaced=bool(spaced[start]),
                    direction=style.direction,
                )
            )
        return tuple(found)


def _share_ligatures(lines: _Numbers, shown: _Numbers, directions: NDArray[np.int64]) -> None:
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


def _spelled(letters: list[str], shown: _Numbers, spaces: NDArray[np.bool_]) -> tuple[str, NDArray[np.float32]]:
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
    if category == "Co":
        return "•" if 0xF020 <= code <= 0xF0FF else ""
    if category[0] == "Z":
        return " "
    return "" if category[0] == "C" else char
