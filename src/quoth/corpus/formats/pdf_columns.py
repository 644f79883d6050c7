"""The reading order of a page: columns from left to right, and what runs across them above and below.

A gutter is a vertical strip that no text crosses. The page is cut at its best gutter, for as far up and down as nothing
crosses it, and each part is cut again. A table has strips too; what tells them apart is that columns of prose are
filled with long lines.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from quoth.corpus.formats.pdf_ink import Fragment, Rule
from quoth.text.enumerations import ENUMERATOR

_STEP = 2.0  # points between the places at which a gutter is looked for
_MOST_PLACES = 7_200  # of them: the largest page that PDF knows; text may say that it is wider
_NARROWEST_GUTTER = 0.6  # of the type size
_FEWEST_LINES = 4
_CLOSE = 1.9  # times the height of a line, from one line of prose to the next
_LONG_LINE = 14  # characters that a line of a column has on average, at least
_FILLED = 0.3  # of the width of a side that its lines take up, at least; a side may be two columns itself
_TITLE = 1.15  # times the usual size of type
_SURE = 120  # points of text on either side of a gutter, for other pages to rely on it
_MOST_STRIPS = 12
_MOST_FRAGMENTS = 6_000  # of a page that is worth a look; a newspaper has half as many
_MOST_PARTS = 120  # a page that falls into more is no prose


Strip: TypeAlias = tuple[float, float]
"""The white between two columns: where the left one ends and the right one begins."""


@dataclass(frozen=True, slots=True)
class _Gutter:
    x: float
    top: float
    bottom: float
    strip: Strip
    score: float


def regions(fragments: Sequence[Fragment], rules: Sequence[Rule], strips: list[Strip]) -> list[list[Fragment]]:
    """Return the fragments of a page in parts that are read from top to bottom, one part after the other.

    `strips` are those of the pages before, and new ones are added: where the last column of a text has but a line or
    two, they tell that it is one.
    """
    ordered: list[list[Fragment]] = []
    waiting = [sorted(fragments, key=lambda item: (item.top, item.left))]
    while waiting:
        part = waiting.pop()
        gutter = None
        if len(ordered) + len(waiting) < _MOST_PARTS:
            gutter = _best_gutter(part, rules) or _known_gutter(part, strips)
        if gutter is not None and gutter.score > _SURE and gutter.strip not in strips and len(strips) < _MOST_STRIPS:
            strips.append(gutter.strip)
        if gutter is None:
            if part:
                ordered.append(part)
            continue
        top = _below_titles(part, gutter)
        above: list[Fragment] = []
        left: list[Fragment] = []
        right: list[Fragment] = []
        below: list[Fragment] = []
        for item in part:
            middle = (item.top + item.bottom) / 2
            if middle <= top:
                above.append(item)
            elif middle >= gutter.bottom:
                below.append(item)
            else:
                (left if item.right <= gutter.x else right).append(item)
        waiting += [below, right, left, above]  # the last is taken up first
    return ordered


def _below_titles(part: Sequence[Fragment], gutter: _Gutter) -> float:
    """Where the columns begin: a title above them may be too short to cross a gutter."""
    top = gutter.top
    size = median(item.size for item in part)
    inside = [item for item in part if gutter.top < (item.top + item.bottom) / 2 < gutter.bottom]
    while inside:
        first = min(inside, key=lambda item: (item.top, item.left))
        row = [item for item in inside if item.top < first.bottom]
        sides = {item.right <= gutter.x for item in row}
        if len(sides) > 1 or any(item.size < _TITLE * size for item in row):
            break
        top = max((item.top + item.bottom) / 2 for item in row)
        inside = [item for item in inside if item.top >= first.bottom]
    return top


def _best_gutter(part: Sequence[Fragment], rules: Sequence[Rule]) -> _Gutter | None:
    if not 2 * _FEWEST_LINES <= len(part) <= _MOST_FRAGMENTS:
        return None
    edges = _with_marks(part)
    size = median(item.size for item in part)
    first, last = edges[:, 0].min(), edges[:, 1].max()
    step = max(_STEP, (last - first) / _MOST_PLACES)
    places = np.arange(first + step, last, step)
    across = (edges[:, :1] < places) & (edges[:, 1:2] > places)
    lines = [rule for rule in rules if edges[:, 2].min() < rule.y < edges[:, 3].max()]
    best: _Gutter | None = None
    seen: set[bytes] = set()
    # The places that the least text crosses come first: once a long gutter is found, shorter ones need no closer look.
    for column in np.argsort(across.sum(axis=0), kind="stable").tolist():
        place = float(places[column])
        key = (edges[:, 1] <= place).tobytes() + across[:, column].tobytes()
        if key in seen:
            continue
        seen.add(key)
        crossed = [rule.y for rule in lines if rule.left < place - size and rule.right > place + size]
        least = best.score if best else 0.0
        for gutter in _gutters(edges, across[:, column], place, crossed=crossed, size=size, part=part, least=least):
            if best is None or gutter.score > best.score + 1e-6:
                best = gutter
    return best


def _with_marks(part: Sequence[Fragment]) -> NDArray[np.float64]:
    """The edges of the fragments: the mark of a list item reaches over to its text, as no gutter parts the two."""
    edges = np.array([(item.left, item.right, item.top, item.bottom) for item in part], dtype=np.float64)
    by_line: dict[int, list[Fragment]] = defaultdict(list)
    for item in part:
        by_line[round(item.baseline)].append(item)
    for index, item in enumerate(part):
        if not _is_mark(item.text):
            continue
        line = by_line[round(item.baseline)]
        behind = [other for other in line if item.right < other.left < item.right + 4 * item.size]
        before = [other for other in line if other is not item and other.left < item.left]
        inside = any(item.left - other.right < 1.2 * item.size for other in before)
        if behind and not inside:
            edges[index, 1] = min(behind, key=lambda other: other.left).right
    return edges


def _is_mark(text: str) -> bool:
    mark = ENUMERATOR.match(f"{text.strip()} x")
    return mark is not None and mark.end() == len(text.strip())


def _known_gutter(part: Sequence[Fragment], strips: Sequence[Strip]) -> _Gutter | None:
    """A gutter of the pages before, if a few lines stand behind it here as well and nothing crosses it."""
    for strip in strips:
        place = (strip[0] + strip[1]) / 2
        left = [item for item in part if item.right <= place]
        right = [item for item in part if item.left >= place]
        if not right or len(left) < _FEWEST_LINES or len(left) + len(right) < len(part):
            continue
        edges = np.array([(item.left, item.right, item.top, item.bottom) for item in left], dtype=np.float64)
        size = median(item.size for item in part)
        first = min(right, key=lambda item: (item.baseline, item.left))
        if abs(first.left - strip[1]) < 2 * size and _prose_height(edges, left, spread=True) > 0 and _prose_line(right):
            return _Gutter(place, -np.inf, np.inf, strip, score=0.0)
    return None


def _prose_line(right: Sequence[Fragment]) -> bool:
    """Whether any line of a column is as long as a line of prose."""
    letters: Counter[int] = Counter()
    for item in right:
        letters[round(item.baseline)] += len(item.text)
    return max(letters.values()) >= _LONG_LINE


def _gutters(
    edges: NDArray[np.float64],
    across: NDArray[np.bool_],
    place: float,
    *,
    crossed: Sequence[float],
    size: float,
    part: Sequence[Fragment],
    least: float,
) -> list[_Gutter]:
    """The stretches of the vertical at `place` that part two columns and may score more than `least`."""
    middles = (edges[:, 2] + edges[:, 3]) / 2
    barriers = np.sort(np.concatenate([[-np.inf], middles[across], crossed, [np.inf]]))
    room = np.diff(np.clip(barriers, middles.min() - size, middles.max() + size))
    found = []
    long_enough = (room > 0.8 * _FEWEST_LINES * size) & (1.6 * (room + size) > least)
    for stretch in np.flatnonzero(long_enough).tolist():
        top, bottom = barriers[stretch], barriers[stretch + 1]
        inside = (middles > top) & (middles < bottom)
        left, right = inside & (edges[:, 1] <= place), inside & (edges[:, 0] >= place)
        if left.sum() < _FEWEST_LINES or right.sum() < _FEWEST_LINES:
            continue
        if edges[right, 0].min() - edges[left, 1].max() < _NARROWEST_GUTTER * size:
            continue
        heights = [
            _prose_height(edges[side], [part[i] for i in np.flatnonzero(side).tolist()], spread=False)
            for side in (left, right)
        ]
        if min(heights) > 0:
            # A longer stretch is the better one: a strip at the very edge of a column is crossed by its widest lines.
            strip = float(edges[left, 1].max()), float(edges[right, 0].min())
            found.append(_Gutter(place, float(top), float(bottom), strip, min(heights) + 0.1 * sum(heights)))
    return found


def _dense(edges: NDArray[np.float64], lines: Sequence[Sequence[int]]) -> bool:
    """Whether most lines follow one another closely; the rows of a table keep their distance."""
    tops = np.array([edges[line, 2].min() for line in lines])
    heights = np.array([edges[line, 3].max() - edges[line, 2].min() for line in lines])
    return bool((np.diff(tops) <= _CLOSE * float(np.median(heights))).mean() >= 0.6)


def _prose_height(edges: NDArray[np.float64], part: Sequence[Fragment], *, spread: bool) -> float:
    """How high the lines of a column stand together; 0 if they do not look like lines of prose.

    `spread` allows for lines that stand far apart, as in a column of addresses.
    """
    lines: list[list[int]] = []
    bottom = -np.inf
    for index in np.argsort(edges[:, 2], kind="stable").tolist():
        if lines and (edges[index, 2] + edges[index, 3]) / 2 < bottom:
            lines[-1].append(index)
        else:
            lines.append([index])
            bottom = edges[index, 3]
    if len(lines) < _FEWEST_LINES or not (spread or _dense(edges, lines)):
        return 0.0
    width = edges[:, 1].max() - edges[:, 0].min()
    extents = [edges[line, 1].max() - edges[line, 0].min() for line in lines]
    letters = sum(len(item.text) for item in part) / len(lines)
    pieces = len(part) / len(lines)
    if letters < _LONG_LINE or median(extents) < _FILLED * width or letters / pieces < _LONG_LINE / 2:
        return 0.0
    return float(sum(edges[line, 3].max() - edges[line, 2].min() for line in lines))
