"""What is printed on a PDF page: fragments of text with their boxes, the lines they form, and ruled lines.

Boxes are in points from the top left corner of the page as it is shown. The other measures of a `Fragment` are in its
own direction of reading, so that text printed sideways is laid out by the same rules.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple, TypeAlias, TypeVar
from unicodedata import bidirectional

import numpy as np
from numpy.typing import NDArray

Boxes: TypeAlias = NDArray[np.float32]
"""One row for each code point: left, top, right, bottom; four zeros for a code point that is not on the page."""
NO_BOXES: Boxes = np.zeros((0, 4), dtype=np.float32)

SLANTED = 4
"""The direction of text that is not turned by quarters, such as a watermark."""

T = TypeVar("T")

_SPACE = 0.14  # of the type size: a gap between two fragments that is a space between words
_CELL_GAP = 1.0  # of the type size: a gap that may part two cells of a table
_AROUND = 12  # lines before and after a line that show how wide its column is
_OVERLAP = 0.5  # of the lower of two heights, for fragments to share a line


_RAISED, _SMALLER = 0.15, 0.85  # of the type size: how far a superscript is raised, and how small it is
_EXPONENT = re.compile(r"[+\-−–]?\d{1,3}(?:\s?[,–-]\s?\d{1,3})*")
_BEFORE_MARKS = frozenset(".,;:)]”’\"'")
_SUPERSCRIPT = str.maketrans("0123456789+-−–", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻")


@dataclass(frozen=True, slots=True, eq=False)
class Fragment:
    """Characters drawn one after the other on one baseline in one size, without surrounding space.

    The defaults are those of upright text in ordinary print.
    """

    text: str
    boxes: Boxes
    left: float
    right: float
    top: float
    bottom: float
    baseline: float
    size: float
    bold: bool = False
    italic: bool = False
    font: str = ""
    """The name of the font in lower case, as the file has it."""
    fixed: bool = False
    """Whether all letters of the font have the same width."""
    spaced: bool = True
    """Whether a space was drawn before it."""
    direction: int = 0
    """Quarter turns against the clock, or `SLANTED`."""
    confidence: float | None = None
    """The confidence of text recognition from 0 to 1; None for text that the PDF holds."""

    @property
    def middle(self) -> float:
        return (self.top + self.bottom) / 2


class HorizontalRule(NamedTuple):
    """A thin horizontal line, as in tables and above footnotes."""

    y: float
    left: float
    right: float


class VerticalRule(NamedTuple):
    """A thin vertical line."""

    x: float
    top: float
    bottom: float


@dataclass(frozen=True, slots=True, eq=False)
class PrintedPage:
    """The text and the ruled lines of one page. `number` counts from 1."""

    number: int
    width: float
    height: float
    fragments: tuple[Fragment, ...]
    rules: tuple[HorizontalRule, ...]
    vertical_rules: tuple[VerticalRule, ...]


@dataclass(frozen=True, slots=True, eq=False)
class BoxedText:
    """Text with a box for each code point. `joined` keeps the boxes and the confidences with the text."""

    text: str
    boxes: Boxes
    confidences: tuple[tuple[int, float], ...]
    """Lengths in code points, each with its confidence; -1 for text that was not recognised."""


def joined(texts: Iterable[BoxedText], gap: str) -> BoxedText:
    """Join texts with `gap`, which has no box, between them."""
    between = BoxedText(gap, np.zeros((len(gap), 4), dtype=np.float32), ((len(gap), -1.0),))
    parts = [part for text in texts for part in (between, text)][1:]
    return BoxedText(
        "".join(part.text for part in parts),
        np.concatenate([NO_BOXES, *(part.boxes for part in parts)]),
        tuple(run for part in parts for run in part.confidences),
    )


def _boxed(fragment: Fragment) -> BoxedText:
    confidence = -1.0 if fragment.confidence is None else fragment.confidence
    return BoxedText(fragment.text, fragment.boxes, ((len(fragment.text), confidence),))


@dataclass(frozen=True, eq=False)
class PrintedLine:
    """A line. `column_edges` are the left and right edges of the lines of the same size around it."""

    page: int
    column_index: int
    """The column of the page, counted in reading order."""
    fragments: tuple[Fragment, ...]
    left: float
    right: float
    top: float
    bottom: float
    baseline: float
    size: float
    bold: bool
    italic: bool
    font: str
    """The font of most letters."""
    fixed: bool
    column_edges: tuple[float, float]

    def shares_column(self, other: PrintedLine) -> bool:
        return self.page == other.page and self.column_index == other.column_index

    @cached_property
    def boxed(self) -> BoxedText:
        return text_of(self.fragments)

    @property
    def text(self) -> str:
        return self.boxed.text

    @cached_property
    def cells(self) -> list[list[Fragment]]:
        """The fragments between wide gaps."""
        return runs(self.fragments, lambda cell, item: item.left - cell[-1].right < _CELL_GAP * self.size)


def runs(items: Iterable[T], together: Callable[[list[T], T], bool]) -> list[list[T]]:
    """Split items into runs: an item that is `together` with the run before it joins that run."""
    found: list[list[T]] = []
    for item in items:
        if found and together(found[-1], item):
            found[-1].append(item)
        else:
            found.append([item])
    return found


def extent(items: Iterable[Fragment | PrintedLine]) -> tuple[float, float]:
    """Return the left edge of the leftmost item, and the right edge of the rightmost."""
    edges = [(item.left, item.right) for item in items]
    return min(left for left, _ in edges), max(right for _, right in edges)


def lines_of(fragments: Sequence[Fragment], *, page: int, column_index: int) -> list[PrintedLine]:
    """Return the lines of one column of a page from top to bottom."""
    rows: list[list[Fragment]] = []
    main: Fragment | None = None  # the largest fragment of the last row
    for item in sorted(fragments, key=lambda item: (item.baseline, item.left)):
        if main is not None and _shares_line(rows[-1], main, item):
            rows[-1].append(item)
            main = max(main, item, key=lambda fragment: fragment.size)
        else:
            rows.append([item])
            main = item
    return _in_columns([_line(row, page=page, column_index=column_index) for row in _with_raised(rows)])


def _in_columns(lines: Sequence[PrintedLine]) -> list[PrintedLine]:
    """Give each line the edges of the lines around it: a title may run wider than the text below it."""
    placed = []
    for index, line in enumerate(lines):
        near = lines[max(0, index - _AROUND) : index + _AROUND + 1]
        alike = (other for other in near if abs(other.size - line.size) <= 0.08 * line.size)
        placed.append(replace(line, column_edges=extent(alike)))
    return placed


def _shares_line(row: Sequence[Fragment], main: Fragment, item: Fragment) -> bool:
    if abs(item.baseline - main.baseline) > 0.5 * max(main.size, item.size):
        return False
    overlap = min(main.bottom, item.bottom) - max(main.top, item.top)
    if overlap < _OVERLAP * min(main.bottom - main.top, item.bottom - item.top):
        return False
    # Fragments in the same place on two close baselines are two lines: one would be printed over the other.
    same_place = any(
        min(other.right, item.right) - max(other.left, item.left) > 0.5 * item.size for other in row[-_AROUND:]
    )
    return not (same_place and abs(item.baseline - main.baseline) > 0.2 * main.size)


def _with_raised(rows: Sequence[list[Fragment]]) -> list[list[Fragment]]:
    """Join a raised or lowered mark with its line: before the line it makes a row of its own."""
    merged: list[list[Fragment]] = []
    for row in rows:
        before = merged[-1] if merged else None
        if before is not None and max(item.size for item in before) < 0.85 * max(item.size for item in row):
            mark, main = before, max(row, key=lambda fragment: fragment.size)
            close = all(main.top - 0.3 * main.size < item.middle < main.bottom for item in mark)
            inside = all(row[0].left - 2 * main.size < item.left for item in mark)
            letters = sum(len(item.text) for item in mark)
            if close and inside and letters <= 12 and main.baseline - mark[0].baseline < 0.6 * main.size:
                merged[-1] = [*before, *row]
                continue
        merged.append(row)
    return merged


def main_size(items: Iterable[Fragment | PrintedLine]) -> float:
    """Return the type size of most letters, the larger of two with as many; 0 where there are no letters."""
    sizes: Counter[float] = Counter()
    for item in items:
        sizes[item.size] += len(item.text)
    return max(sizes, key=lambda size: (sizes[size], size), default=0.0)


def main_font(items: Iterable[Fragment | PrintedLine]) -> str:
    """Return the font of most letters."""
    fonts: Counter[str] = Counter()
    for item in items:
        fonts[item.font] += len(item.text)
    return max(fonts, key=lambda font: (fonts[font], font), default="")


def _is_bold(item: Fragment) -> bool:
    return item.bold


def _is_italic(item: Fragment) -> bool:
    return item.italic


def _line(row: Sequence[Fragment], *, page: int, column_index: int) -> PrintedLine:
    bold, italic = (sum(len(item.text) for item in row if styled(item)) for styled in (_is_bold, _is_italic))
    left, right = extent(row)
    size = main_size(row)
    main = [item for item in row if item.size == size]
    ordered = sorted(row, key=lambda item: (item.left, item.top))
    text = "".join(item.text for item in ordered)
    leftwards = sum(bidirectional(char) in {"R", "AL"} for char in text) > len(text) / 2
    return PrintedLine(
        page=page,
        column_index=column_index,
        fragments=tuple(reversed(ordered) if leftwards else ordered),
        left=left,
        right=right,
        top=min(item.top for item in main),
        bottom=max(item.bottom for item in main),
        baseline=main[0].baseline,
        size=size,
        bold=bold >= 0.8 * len(text),
        italic=italic >= 0.8 * len(text),
        font=main_font(row),
        fixed=all(item.fixed for item in row),
        column_edges=(left, right),
    )


def text_of(fragments: Sequence[Fragment]) -> BoxedText:
    """Join the fragments of a line, with spaces where the gaps are wide enough; raised numbers stay raised: `10⁸`."""
    return joined_words(runs(_with_superscripts(fragments), _in_word))


def _with_superscripts(fragments: Sequence[Fragment]) -> list[Fragment]:
    """Write raised numbers behind a word or a number with raised digits, so that `10⁸` is not read as 108."""
    result = list(fragments[:1])
    for before, item in pairwise(fragments):
        base = before if before.size > item.size else result[-1]
        raised = base.baseline - item.baseline > _RAISED * base.size and item.size < _SMALLER * base.size
        behind = before.text[-1:].isalnum() or before.text[-1:] in _BEFORE_MARKS
        raised = raised and behind and _EXPONENT.fullmatch(item.text) is not None
        result.append(replace(item, text=item.text.translate(_SUPERSCRIPT)) if raised else item)
    return result


def joined_words(words: Iterable[Sequence[Fragment]]) -> BoxedText:
    return joined((joined(map(_boxed, word), "") for word in words), " ")


def _in_word(word: Sequence[Fragment], item: Fragment) -> bool:
    before = word[-1]
    gap = max(item.left - before.right, before.left - item.right)
    # A sloped letter leans into the space beside it, and a drawn space may be narrow: one that is both is hardly seen.
    share = (_SPACE, _SPACE / 2, _SPACE / 4)[item.spaced + (item.italic != before.italic)]
    return gap <= share * min(item.size, before.size)
