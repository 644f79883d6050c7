"""What is printed on a PDF page: runs of characters with their boxes, before anyone knows what belongs together.

Boxes are where the reader sees them (points from the top left corner of the page as it is shown). The other measures of
a `Fragment` are in its own direction of reading, so that text printed sideways is laid out by the same rules.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Boxes: TypeAlias = NDArray[np.float32]
"""One row for each code point: left, top, right, bottom; four zeros for one without a place."""

SLANTED = 4
"""The direction of text that is neither upright nor turned by quarters, such as a watermark."""


@dataclass(frozen=True, slots=True, eq=False)
class Fragment:
    """Characters drawn one after the other on one baseline in one size, without surrounding space."""

    text: str
    boxes: Boxes
    left: float
    right: float
    top: float
    bottom: float
    baseline: float
    size: float
    bold: bool
    fixed: bool
    """Whether all letters of the font are of one width."""
    spaced: bool
    """Whether a space was drawn before it."""
    direction: int
    """Quarter turns against the clock, or `SLANTED`."""
    confidence: float | None
    """How sure a recogniser was, where the text was read from a picture."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A thin horizontal line, as tables and footnotes have them."""

    left: float
    right: float
    y: float


@dataclass(frozen=True, slots=True)
class Upright:
    """A thin vertical line."""

    x: float
    top: float
    bottom: float


@dataclass(frozen=True, slots=True, eq=False)
class PageInk:
    """All that is printed on one page. `number` counts from 1."""

    number: int
    width: float
    height: float
    fragments: tuple[Fragment, ...]
    rules: tuple[Rule, ...]
    uprights: tuple[Upright, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Inked:
    """Text with a box and a confidence for each code point: what is written keeps its place when it is joined."""

    text: str
    boxes: Boxes
    confidences: tuple[tuple[int, float], ...]
    """How many code points each stretch of recognised text has, and its confidence; -1 where nothing was recognised."""


_KNOWN = {
    **{ligature: unicodedata.normalize("NFKC", ligature) for ligature in "ﬀﬁﬂﬃﬄﬅﬆ"},
    # What pdfium and the fonts make of a hyphen at the end of a line.
    **dict.fromkeys("\x02\ufffe\u00ad", "-"),
    # Symbol fonts are mapped to the private use area; these are the marks that word processors set before list items.
    **{"\uf0b7": "•", "\uf0a7": "▪", "\uf0d8": "➢", "\uf0fc": "✓", "\uf0a8": "□", "\uf06f": "□", "\uf0e0": "→"},
    **dict.fromkeys("\t\r\n", " "),
}


def readable(code: int) -> str:
    """Return a drawn character as text: a ligature as its letters, "" for what is no text at all."""
    char = chr(code) if code <= 0x10FFFF else "\0"
    known = _KNOWN.get(char)
    if known is not None:
        return known
    category = unicodedata.category(char)
    if category == "Co":
        return "•" if 0xF020 <= code <= 0xF0FF else ""
    if category[0] == "Z":
        return " "
    return "" if category[0] == "C" else char


def joined(parts: Sequence[Inked], gap: str) -> Inked:
    """Return the parts one behind the other with `gap`, which has no place on the page, between them."""
    empty = np.zeros((len(gap), 4), dtype=np.float32)
    boxes: list[Boxes] = []
    confidences: list[tuple[int, float]] = []
    for part in parts:
        if boxes and gap:
            boxes.append(empty)
            confidences.append((len(gap), -1.0))
        boxes.append(part.boxes)
        confidences += part.confidences
    return Inked(
        gap.join(part.text for part in parts),
        np.concatenate(boxes) if boxes else np.zeros((0, 4), dtype=np.float32),
        tuple(confidences),
    )


def inked(fragment: Fragment) -> Inked:
    confidence = -1.0 if fragment.confidence is None else fragment.confidence
    return Inked(fragment.text, fragment.boxes, ((len(fragment.text), confidence),))
