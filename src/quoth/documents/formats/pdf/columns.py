"""Find the reading order of a page: columns from left to right, between the text above and below that spans them.

A gutter is a vertical strip that no text crosses. The page is cut at its best gutter, from the last text that crosses
it above to the first that crosses it below, and each region is cut again. A table has gutters too, but only columns of
prose consist of long lines.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from quoth.documents.formats.pdf.printed_lines import Fragment, HorizontalRule, runs
from quoth.language.enumerations import ENUMERATOR

_STEP = 2.0  # points between the positions to try for a gutter
_MOST_POSITIONS = 7_200  # enough for the largest page that PDF allows; a broken file may claim more
_NARROWEST_GUTTER = 0.6  # of the type size
_FEWEST_LINES = 4
_CLOSE = 1.9  # times the height of a line: the largest distance between lines of prose
_LONG_LINE = 14  # least average number of characters of the lines of a column
_FILLED = 0.3  # least share of the width that the lines of a side fill; a side may itself be two columns
_TITLE = 1.15  # times the usual size of type
_SURE = 120  # least score, in points of text, of a gutter that other pages may rely on
_MOST_STRIPS = 12
_MOST_FRAGMENTS = 6_000  # a page with more is not cut; a newspaper page has half as many
_REFERENCE = re.compile(r"\[\d{1,4}\]")
_MOST_REGIONS = 120  # a page with more regions is no prose


Strip: TypeAlias = tuple[float, float]
"""The white space between two columns: the x of the end of the left and of the start of the right column."""


@dataclass(frozen=True, slots=True)
class _Gutter:
    x: float
    top: float
    bottom: float
    strip: Strip
    score: float


def column_regions(
    fragments: Sequence[Fragment], rules: Sequence[HorizontalRule], strips: list[Strip]
) -> list[list[Fragment]]:
    """Return the regions of a page in reading order; each is read from top to bottom.

    `strips` are the gutters of earlier pages; this function adds those that it finds. A known gutter shows that a few
    lines beside a text are a column that has just begun.
    """
    ordered: list[list[Fragment]] = []
    waiting = [sorted(fragments, key=lambda item: (item.top, item.left))]
    while waiting:
        region = waiting.pop()
        gutter = None
        if len(ordered) + len(waiting) < _MOST_REGIONS:
            gutter = _best_gutter(region, rules) or _known_gutter(region, strips)
        if gutter is not None and gutter.score > _SURE and gutter.strip not in strips and len(strips) < _MOST_STRIPS:
            strips.append(gutter.strip)
        if gutter is None:
            if region:
                ordered.append(region)
            continue
        top = _below_titles(region, gutter)
        parts: dict[str, list[Fragment]] = {"below": [], "right": [], "left": [], "above": []}
        for item in region:
            side = "left" if item.right <= gutter.x else "right"
            parts["above" if item.middle <= top else "below" if item.middle >= gutter.bottom else side].append(item)
        waiting += parts.values()  # a stack: `above` comes next
    return ordered


def _below_titles(region: Sequence[Fragment], gutter: _Gutter) -> float:
    """Return the top of the columns, below titles that are too short to cross the gutter."""
    top = gutter.top
    size = median(item.size for item in region)
    inside = [item for item in region if gutter.top < item.middle < gutter.bottom]
    while inside:
        first = min(inside, key=lambda item: (item.top, item.left))
        row = [item for item in inside if item.top < first.bottom]
        sides = {item.right <= gutter.x for item in row}
        if len(sides) > 1 or any(item.size < _TITLE * size for item in row):
            break
        top = max(item.middle for item in row)
        inside = [item for item in inside if item.top >= first.bottom]
    return top


def _best_gutter(region: Sequence[Fragment], rules: Sequence[HorizontalRule]) -> _Gutter | None:
    if not 2 * _FEWEST_LINES <= len(region) <= _MOST_FRAGMENTS:
        return None
    edges = _with_marks(region)
    size = median(item.size for item in region)
    first, last = edges[:, 0].min(), edges[:, 1].max()
    step = max(_STEP, (last - first) / _MOST_POSITIONS)
    positions = np.arange(first + step, last, step)
    across = (edges[:, :1] < positions) & (edges[:, 1:2] > positions)
    lines = [rule for rule in rules if edges[:, 2].min() < rule.y < edges[:, 3].max()]
    best: _Gutter | None = None
    seen: set[bytes] = set()
    # Try positions that little text crosses first: after a long gutter, shorter gutters can be skipped.
    for column in np.argsort(across.sum(axis=0), kind="stable").tolist():
        x = float(positions[column])
        key = (edges[:, 1] <= x).tobytes() + across[:, column].tobytes()
        if key in seen:
            continue
        seen.add(key)
        crossed = [rule.y for rule in lines if rule.left < x - size and rule.right > x + size]
        least = best.score if best else 0.0
        for gutter in _gutters(edges, across[:, column], x, crossed=crossed, size=size, region=region, least=least):
            if best is None or gutter.score > best.score + 1e-6:
                best = gutter
    return best


def _with_marks(region: Sequence[Fragment]) -> NDArray[np.float64]:
    """Return the edges of the fragments. A list mark includes its text, so that no gutter separates the two."""
    edges = _edges(region)
    by_line: dict[int, list[Fragment]] = defaultdict(list)
    for item in region:
        by_line[round(item.baseline)].append(item)
    for index, item in enumerate(region):
        if not is_mark(item.text):
            continue
        line = by_line[round(item.baseline)]
        behind = [other for other in line if item.right < other.left < item.right + 4 * item.size]
        before = [other for other in line if other is not item and other.left < item.left]
        inside = any(item.left - other.right < 1.2 * item.size for other in before)
        if behind and not inside:
            edges[index, 1] = min(behind, key=lambda other: other.left).right
    return edges


def _edges(region: Sequence[Fragment]) -> NDArray[np.float64]:
    return np.array([(item.left, item.right, item.top, item.bottom) for item in region], dtype=np.float64)


def is_mark(text: str) -> bool:
    """Return whether a text is a list mark and nothing else: a bullet, `(a)`, `4.2`, or `[25]` before a reference."""
    mark = ENUMERATOR.match(f"{text.strip()} x")
    return _REFERENCE.fullmatch(text.strip()) is not None or (mark is not None and mark.end() == len(text.strip()))


def _known_gutter(region: Sequence[Fragment], strips: Sequence[Strip]) -> _Gutter | None:
    """Return a gutter of an earlier page that has text on both sides here and that nothing crosses."""
    for strip in strips:
        x = (strip[0] + strip[1]) / 2
        left = [item for item in region if item.right <= x]
        right = [item for item in region if item.left >= x]
        if not right or len(left) < _FEWEST_LINES or len(left) + len(right) < len(region):
            continue
        size = median(item.size for item in region)
        first = min(right, key=lambda item: (item.baseline, item.left))
        letters: Counter[int] = Counter()  # of each line on the right
        for item in right:
            letters[round(item.baseline)] += len(item.text)
        begins_column = abs(first.left - strip[1]) < 2 * size and max(letters.values()) >= _LONG_LINE
        if begins_column and _prose_height(_edges(left), left, spread=True) > 0:
            return _Gutter(x, -np.inf, np.inf, strip, score=0.0)
    return None


def _gutters(
    edges: NDArray[np.float64],
    across: NDArray[np.bool_],
    x: float,
    *,
    crossed: Sequence[float],
    size: float,
    region: Sequence[Fragment],
    least: float,
) -> list[_Gutter]:
    """Return the gutters at x = `x` that separate two columns and may score more than `least`."""
    middles = (edges[:, 2] + edges[:, 3]) / 2
    barriers = np.sort(np.concatenate([[-np.inf], middles[across], crossed, [np.inf]]))
    room = np.diff(np.clip(barriers, middles.min() - size, middles.max() + size))
    found = []
    long_enough = (room > 0.8 * _FEWEST_LINES * size) & (1.6 * (room + size) > least)
    for stretch in np.flatnonzero(long_enough).tolist():
        top, bottom = barriers[stretch], barriers[stretch + 1]
        inside = (middles > top) & (middles < bottom)
        left, right = inside & (edges[:, 1] <= x), inside & (edges[:, 0] >= x)
        if left.sum() < _FEWEST_LINES or right.sum() < _FEWEST_LINES:
            continue
        if edges[right, 0].min() - edges[left, 1].max() < _NARROWEST_GUTTER * size:
            continue
        heights = [
            _prose_height(edges[side], [region[i] for i in np.flatnonzero(side).tolist()], spread=False)
            for side in (left, right)
        ]
        if min(heights) > 0:
            # A longer gutter is better: near the edge of a column, its widest lines cut the strip short.
            strip = float(edges[left, 1].max()), float(edges[right, 0].min())
            found.append(_Gutter(x, float(top), float(bottom), strip, min(heights) + 0.1 * sum(heights)))
    return found


def _prose_height(edges: NDArray[np.float64], region: Sequence[Fragment], *, spread: bool) -> float:
    """Return the total height of the lines of a column; 0 if they do not look like prose.

    `spread` allows lines that stand far apart, as in a column of addresses.
    """
    middles = (edges[:, 2] + edges[:, 3]) / 2
    by_top = np.argsort(edges[:, 2], kind="stable").tolist()
    lines = runs(by_top, lambda line, index: middles[index] < edges[line[0], 3])
    if len(lines) < _FEWEST_LINES:
        return 0.0
    tops = np.array([edges[line, 2].min() for line in lines])
    heights = np.array([edges[line, 3].max() for line in lines]) - tops
    if not spread and (np.diff(tops) <= _CLOSE * np.median(heights)).mean() < 0.6:
        return 0.0  # the rows of a table are not this close together
    width = edges[:, 1].max() - edges[:, 0].min()
    extents = [edges[line, 1].max() - edges[line, 0].min() for line in lines]
    letters = sum(len(item.text) for item in region) / len(lines)
    per_line = len(region) / len(lines)
    if letters < _LONG_LINE or median(extents) < _FILLED * width or letters / per_line < _LONG_LINE / 2:
        return 0.0
    return float(sum(heights.tolist()))
