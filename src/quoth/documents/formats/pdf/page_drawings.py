"""What a PDF page shows besides its text, read with pdfium: its visible box, ruled lines, pictures, and clips."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pypdfium2 as pypdfium
import pypdfium2.raw as pdfium
from numpy.typing import NDArray

from quoth.documents.formats.pdf.printed_lines import HorizontalRule, VerticalRule

THIN = 2.0  # points
_MAX_OBJECTS, _MAX_STROKES, _MAX_SEGMENTS, _MAX_CLIPS = 20_000, 20_000, 2_000, 12
_SHORTEST_RULE, _SHORTEST_UPRIGHT = 12.0, 6.0  # points

Numbers: TypeAlias = NDArray[np.float64]
Points: TypeAlias = tuple[Numbers, Numbers]
Edges: TypeAlias = tuple[float, float, float, float]
"""Left, bottom, right and top in user space."""

_page_object: Any = ctypes.cast(
    pdfium.FPDFPage_GetObject, ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)
)
"""The pdfium function, made to return an address."""


@dataclass(frozen=True, slots=True)
class PageView:
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

    def shown(self, x: Numbers, y: Numbers) -> Points:
        """Convert user space to points from the top left corner of the page as it is shown."""
        turned = (
            (x - self.left, self.top - y),
            (y - self.bottom, x - self.left),
            (self.right - x, y - self.bottom),
            (self.top - y, self.right - x),
        )
        return turned[self.turns]

    def in_user_space(self, x: float, y: float) -> tuple[float, float]:
        """Convert a point as `shown` gives it back to user space."""
        turned = (
            (self.left + x, self.top - y),
            (self.left + y, self.bottom + x),
            (self.right - x, self.bottom + y),
            (self.right - y, self.top - x),
        )
        return turned[self.turns]

    def boxes(self, edges: Numbers) -> Numbers:
        """Convert boxes in user space to left, top, right and bottom on the page as it is shown."""
        return between(self.shown(edges[:, 0], edges[:, 1]), self.shown(edges[:, 2], edges[:, 3]))

    def along(self, x: Numbers, y: Numbers, direction: int) -> Points:
        """Turn shown coordinates to the reading `direction`: along the line, and down the page."""
        turned = ((x, y), (self.height - y, x), (self.width - x, self.height - y), (y, self.width - x), (x, y))
        return turned[direction]


def between(corners: Points, opposite: Points) -> Numbers:
    return np.stack([*np.minimum(corners, opposite), *np.maximum(corners, opposite)], axis=1)


def view_of(page: Any) -> PageView:  # noqa: ANN401 - a handle of pdfium
    box = pdfium.FS_RECTF()
    if not pdfium.FPDF_GetPageBoundingBox(page, box) or box.right <= box.left or box.top <= box.bottom:
        return PageView(0.0, 0.0, 612.0, 792.0, turns=0)
    return PageView(box.left, box.bottom, box.right, box.top, turns=pdfium.FPDFPage_GetRotation(page) % 4)


def picture_share(page: Any) -> float:  # noqa: ANN401
    """Return the share of a page that its pictures cover, from 0 to 1."""
    view = view_of(page)
    area = 0.0
    for _, (left, bottom, right, top) in _objects(page, pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_FORM):
        wide = min(right, view.right) - max(left, view.left)
        high = min(top, view.top) - max(bottom, view.bottom)
        area += max(0.0, wide) * max(0.0, high)
    return min(1.0, area / (view.width * view.height))


def _objects(page: Any, *types: int) -> Iterator[tuple[Any, Edges]]:  # noqa: ANN401
    """Yield the objects of these types on a page, with the left, bottom, right and top of each in user space."""
    edges = [ctypes.c_float() for _ in range(4)]
    for index in range(min(pdfium.FPDFPage_CountObjects(page), _MAX_OBJECTS)):
        drawn = pdfium.FPDFPage_GetObject(page, index)
        if pdfium.FPDFPageObj_GetType(drawn) in types and pdfium.FPDFPageObj_GetBounds(drawn, *edges):
            left, bottom, right, top = (edge.value for edge in edges)
            yield drawn, (left, bottom, right, top)


def rules_of(page: Any, view: PageView) -> tuple[tuple[HorizontalRule, ...], tuple[VerticalRule, ...]]:  # noqa: ANN401
    """Return the thin lines of a page, horizontal and vertical, whether drawn as lines or as flat boxes."""
    strokes: list[Edges] = []
    for path, bounds in _objects(page, pdfium.FPDF_PAGEOBJ_PATH):
        left, bottom, right, top = bounds
        strokes += [bounds] if min(right - left, top - bottom) <= THIN else _segments(path)
        if len(strokes) > _MAX_STROKES:
            break
    horizontal: set[HorizontalRule] = set()
    vertical: set[VerticalRule] = set()
    shown = view.boxes(np.array(strokes, dtype=np.float64).reshape(-1, 4))
    for left, top, right, bottom in np.round(shown, 1).tolist():
        if bottom - top <= THIN and right - left >= _SHORTEST_RULE:
            horizontal.add(HorizontalRule(round((top + bottom) / 2, 1), left, right))
        elif right - left <= THIN and bottom - top >= _SHORTEST_UPRIGHT:
            vertical.add(VerticalRule(round((left + right) / 2, 1), top, bottom))
    return tuple(sorted(horizontal)), tuple(sorted(vertical))


def _segments(path: Any) -> list[Edges]:  # noqa: ANN401
    """Return the straight strokes of a path that is drawn, not filled: a box, or several lines."""
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    count = pdfium.FPDFPath_CountSegments(path)
    if not pdfium.FPDFPath_GetDrawMode(path, fill, stroke) or not stroke.value or not 1 < count <= _MAX_SEGMENTS:
        return []
    matrix = pdfium.FS_MATRIX()
    pdfium.FPDFPageObj_GetMatrix(path, matrix)
    shown = pypdfium.PdfMatrix.from_raw(matrix)
    found: list[Edges] = []
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


def clip_of(address: int) -> Edges | None:
    """Return the box that an object is clipped to, in user space; None where it is not clipped."""
    clip = pdfium.FPDFPageObj_GetClipPath(ctypes.cast(address, pdfium.FPDF_PAGEOBJECT))
    left, bottom, right, top = -math.inf, -math.inf, math.inf, math.inf
    x, y = ctypes.c_float(), ctypes.c_float()
    for path in range(min(pdfium.FPDFClipPath_CountPaths(clip), _MAX_CLIPS)):
        points = [
            (x.value, y.value)
            for index in range(min(pdfium.FPDFClipPath_CountPathSegments(clip, path), _MAX_SEGMENTS))
            if pdfium.FPDFPathSegment_GetPoint(pdfium.FPDFClipPath_GetPathSegment(clip, path, index), x, y)
        ]
        if len(points) > 2:
            across, up = zip(*points, strict=True)
            left, right = max(left, min(across)), min(right, max(across))
            bottom, top = max(bottom, min(up)), min(top, max(up))
    return None if left == -math.inf else (left, bottom, right, top)


def addresses(page: Any) -> set[int | None]:  # noqa: ANN401
    """Return the addresses of the objects of a page, without those inside forms."""
    count = min(pdfium.FPDFPage_CountObjects(page), _MAX_OBJECTS)
    return {_page_object(ctypes.cast(page, ctypes.c_void_p), index) for index in range(count)}
