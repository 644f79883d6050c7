"""How a PDF page is shown, and what is drawn on it besides text: rules and pictures."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np
import pypdfium2.raw as pdfium
from numpy.typing import NDArray

from quoth.corpus.formats.pdf_ink import Rule, Upright

_MAX_OBJECTS = 20_000
_MAX_STROKES, _MAX_SEGMENTS = 20_000, 2_000
_THIN, _SHORTEST_RULE, _SHORTEST_UPRIGHT = 2.0, 12.0, 6.0  # points


@dataclass(frozen=True, slots=True)
class View:
    """How a page is shown: its visible box in user space, and how many quarters it is turned clockwise."""

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

    def shown(self, x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Where points of user space are seen, in points from the top left corner."""
        match self.turns:
            case 0:
                return x - self.left, self.top - y
            case 1:
                return y - self.bottom, x - self.left
            case 2:
                return self.right - x, y - self.bottom
            case _:
                return self.top - y, self.right - x

    def along(
        self, x: NDArray[np.float64], y: NDArray[np.float64], direction: int
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Shown points as someone sees them who reads in `direction`: along the line, and down the page."""
        match direction:
            case 1:
                return self.height - y, x
            case 2:
                return self.width - x, self.height - y
            case 3:
                return y, self.width - x
            case _:
                return x, y


def view_of(page: Any) -> View:  # noqa: ANN401 - a handle of pdfium
    box = pdfium.FS_RECTF()
    if not pdfium.FPDF_GetPageBoundingBox(page, box) or box.right <= box.left or box.top <= box.bottom:
        return View(0.0, 0.0, 612.0, 792.0, turns=0)
    return View(box.left, box.bottom, box.right, box.top, turns=pdfium.FPDFPage_GetRotation(page) % 4)


def rules_of(page: Any, view: View) -> tuple[tuple[Rule, ...], tuple[Upright, ...]]:  # noqa: ANN401
    """The thin lines of a page, level and upright, whether drawn as lines or as flat boxes."""
    strokes: list[tuple[float, float, float, float]] = []
    edges = [ctypes.c_float() for _ in range(4)]
    for index in range(min(pdfium.FPDFPage_CountObjects(page), _MAX_OBJECTS)):
        item = pdfium.FPDFPage_GetObject(page, index)
        if pdfium.FPDFPageObj_GetType(item) != pdfium.FPDF_PAGEOBJ_PATH or len(strokes) > _MAX_STROKES:
            continue
        if not pdfium.FPDFPageObj_GetBounds(item, *edges):
            continue
        left, bottom, right, top = (edge.value for edge in edges)
        if min(right - left, top - bottom) <= _THIN:
            strokes.append((left, bottom, right, top))
        else:
            strokes += _segments(item)
    if not strokes:
        return (), ()
    ends = np.array(strokes, dtype=np.float64)
    (x0, y0), (x1, y1) = view.shown(ends[:, 0], ends[:, 1]), view.shown(ends[:, 2], ends[:, 3])
    levels: set[Rule] = set()
    uprights: set[Upright] = set()
    shown = np.round(np.stack([np.minimum(x0, x1), np.minimum(y0, y1), np.maximum(x0, x1), np.maximum(y0, y1)], 1), 1)
    for left, top, right, bottom in shown.tolist():
        if bottom - top <= _THIN and right - left >= _SHORTEST_RULE:
            levels.add(Rule(left, right, round((top + bottom) / 2, 1)))
        elif right - left <= _THIN and bottom - top >= _SHORTEST_UPRIGHT:
            uprights.add(Upright(round((left + right) / 2, 1), top, bottom))
    return (
        tuple(sorted(levels, key=lambda rule: (rule.y, rule.left, rule.right))),
        tuple(sorted(uprights, key=lambda line: (line.x, line.top, line.bottom))),
    )


def _segments(item: Any) -> list[tuple[float, float, float, float]]:  # noqa: ANN401
    """The straight strokes of a path that is drawn, not filled: a box, or several lines in one."""
    fill, stroke = ctypes.c_int(), ctypes.c_int()
    count = pdfium.FPDFPath_CountSegments(item)
    if not pdfium.FPDFPath_GetDrawMode(item, fill, stroke) or not stroke.value or not 1 < count <= _MAX_SEGMENTS:
        return []
    matrix = pdfium.FS_MATRIX()
    pdfium.FPDFPageObj_GetMatrix(item, matrix)
    found: list[tuple[float, float, float, float]] = []
    x, y = ctypes.c_float(), ctypes.c_float()
    start = before = (0.0, 0.0)
    for index in range(count):
        segment = pdfium.FPDFPath_GetPathSegment(item, index)
        if not pdfium.FPDFPathSegment_GetPoint(segment, x, y):
            continue
        point = (
            matrix.a * x.value + matrix.c * y.value + matrix.e,
            matrix.b * x.value + matrix.d * y.value + matrix.f,
        )
        kind = pdfium.FPDFPathSegment_GetType(segment)
        if kind == pdfium.FPDF_SEGMENT_MOVETO:
            start = point
        elif kind == pdfium.FPDF_SEGMENT_LINETO:
            found.append((*before, *point))
        if pdfium.FPDFPathSegment_GetClose(segment):
            found.append((*point, *start))
        before = point
    return found


def picture_share(page: Any) -> float:  # noqa: ANN401
    """How much of a page its pictures cover, from 0 to 1."""
    view = view_of(page)
    area = 0.0
    edges = [ctypes.c_float() for _ in range(4)]
    for index in range(min(pdfium.FPDFPage_CountObjects(page), _MAX_OBJECTS)):
        item = pdfium.FPDFPage_GetObject(page, index)
        kind = pdfium.FPDFPageObj_GetType(item)
        drawn = kind in {pdfium.FPDF_PAGEOBJ_IMAGE, pdfium.FPDF_PAGEOBJ_FORM}
        if drawn and pdfium.FPDFPageObj_GetBounds(item, *edges):
            left, bottom, right, top = (edge.value for edge in edges)
            wide = min(right, view.right) - max(left, view.left)
            high = min(top, view.top) - max(bottom, view.bottom)
            area += max(0.0, wide) * max(0.0, high)
    return min(1.0, area / (view.width * view.height))
