"""Pages that are pictures: rendered, and read by the recogniser."""

from __future__ import annotations

from statistics import median
from typing import Any

import numpy as np

from quoth.corpus.formats.ocr import recognise
from quoth.corpus.formats.pdf_ink import Fragment, PageInk
from quoth.corpus.formats.pdf_view import picture_share

FEWEST_CHARACTERS = 12
"""A page with less text than this and a picture over most of it was scanned; a stamp or a number may be on it."""
_COVERED = 0.5
_DPI = 200
_MOST_PIXELS = 12_000_000


def is_picture(page: Any, ink: PageInk) -> bool:  # noqa: ANN401 - a page of pypdfium2
    """Whether a page shows its text only as a picture."""
    letters = sum(len(item.text) for item in ink.fragments)
    return letters < FEWEST_CHARACTERS and picture_share(page.raw) >= _COVERED


def read_picture(page: Any, ink: PageInk) -> PageInk:  # noqa: ANN401
    """Return the page with the lines that the recogniser found on it."""
    scale = min(_DPI / 72, (_MOST_PIXELS / max(1.0, ink.width * ink.height)) ** 0.5)
    bitmap = page.render(scale=scale, rev_byteorder=True, may_draw_forms=False)
    try:
        pixels = np.array(bitmap.to_numpy()[..., :3], dtype=np.uint8)
    finally:
        bitmap.close()
    lines = recognise(pixels, 1 / scale)
    usual = median(line.box[3] - line.box[1] for line in lines) if lines else 0.0
    fragments = []
    for line in lines:
        text = " ".join("".join(char if char.isprintable() else " " for char in line.text).split())
        if text:
            fragments.append(_fragment(text, line.box, line.confidence, usual))
    return PageInk(ink.number, ink.width, ink.height, tuple(fragments), ink.rules, ink.uprights)


def _fragment(text: str, box: tuple[float, float, float, float], confidence: float, usual: float) -> Fragment:
    """A recognised line; its letters are taken to be of one width, and its height of the `usual` one if it is near."""
    left, top, right, bottom = box
    edges = np.linspace(left, right, len(text) + 1, dtype=np.float32)
    boxes = np.empty((len(text), 4), dtype=np.float32)
    boxes[:, 0], boxes[:, 1], boxes[:, 2], boxes[:, 3] = edges[:-1], top, edges[1:], bottom
    height = bottom - top
    return Fragment(
        text=text,
        boxes=boxes,
        left=left,
        right=right,
        top=top,
        bottom=bottom,
        baseline=bottom - 0.2 * height,
        size=round(0.8 * (usual if abs(height - usual) < 0.3 * usual else height)) or 1.0,
        bold=False,
        fixed=False,
        spaced=True,
        direction=0,
        confidence=confidence,
    )
