"""Find where a span of a document is printed, from the boxes of its characters."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from quoth.types import Box, Page, Span


def printed(pages: Iterable[Page], span: Span) -> tuple[tuple[int, Box], ...]:
    """Return page numbers with one rectangle for each line of `span`, in points from the top left corner."""
    return tuple((page.number, _rounded(line)) for page in pages for line in _lines(_boxes(page, span)))


def _boxes(page: Page, span: Span) -> NDArray[np.float32]:
    """Return the boxes of the visible characters of a span on a page, in reading order."""
    offsets = np.concatenate([np.arange(run.start, run.end) for run in page.spans] or [np.empty(0, dtype=int)])
    boxes = page.boxes[(span.start <= offsets) & (offsets < span.end)]
    return boxes[(boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])]


def _lines(boxes: NDArray[np.float32]) -> list[NDArray[np.float32]]:
    """Return a box for each line: boxes that overlap in height make a line, a jump back to the left begins the next."""
    lines: list[NDArray[np.float32]] = []
    for box in boxes:
        if lines and _same_line(line := lines[-1], box):
            line[:2], line[2:] = np.minimum(line[:2], box[:2]), np.maximum(line[2:], box[2:])
        else:
            lines.append(box.copy())
    return lines


def _same_line(line: NDArray[np.float32], box: NDArray[np.float32]) -> bool:
    middle = (box[1] + box[3]) / 2
    return bool(line[1] <= middle <= line[3] and box[0] >= line[0] and box[2] > line[2] - (line[3] - line[1]))


def _rounded(line: NDArray[np.float32]) -> Box:
    left, top, right, bottom = (round(float(side), 1) for side in line)
    return left, top, right, bottom
