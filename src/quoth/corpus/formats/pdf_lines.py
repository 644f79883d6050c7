"""Lines of text: the fragments of a part of the page that stand on one baseline."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from unicodedata import bidirectional

from quoth.corpus.formats.pdf_ink import Fragment, Inked, inked, joined

_SPACE = 0.14  # of the type size: a gap between two fragments that is a space between words
_CELL_GAP = 1.0  # of the type size: a gap that may part two cells of a table
_AROUND = 12  # lines before and after a line that show how wide its column is
_OVERLAP = 0.5  # of the lower of two heights, for fragments to share a line


@dataclass(frozen=True, eq=False)
class Line:
    """`left` to `bottom` are its own edges; `column` are those of the lines of its size around it."""

    page: int
    part: int
    """Which part of the page, in reading order."""
    fragments: tuple[Fragment, ...]
    left: float
    right: float
    top: float
    bottom: float
    baseline: float
    size: float
    bold: bool
    fixed: bool
    column: tuple[float, float]

    @cached_property
    def ink(self) -> Inked:
        return written(self.fragments)

    @property
    def text(self) -> str:
        return self.ink.text

    @cached_property
    def cells(self) -> tuple[tuple[Fragment, ...], ...]:
        """The fragments between wide gaps."""
        cells: list[list[Fragment]] = []
        for item in self.fragments:
            if cells and item.left - cells[-1][-1].right < _CELL_GAP * self.size:
                cells[-1].append(item)
            else:
                cells.append([item])
        return tuple(tuple(cell) for cell in cells)


def lines_of(fragments: Sequence[Fragment], *, page: int, part: int) -> list[Line]:
    """Return the lines of a part of a page from top to bottom."""
    if not fragments:
        return []
    rows: list[list[Fragment]] = []
    main: Fragment | None = None  # the largest of the last row
    for item in sorted(fragments, key=lambda item: (item.baseline, item.left)):
        if main is not None and _shares_line(rows[-1], main, item):
            rows[-1].append(item)
            main = max(main, item, key=lambda one: one.size)
        else:
            rows.append([item])
            main = item
    return _in_columns([_line(row, page=page, part=part) for row in _with_raised(rows)])


def _in_columns(lines: Sequence[Line]) -> list[Line]:
    """Give each line the edges that the lines around it keep to: a title may run wider than the text below it."""
    placed = []
    for index, line in enumerate(lines):
        near = [
            other
            for other in lines[max(0, index - _AROUND) : index + _AROUND + 1]
            if abs(other.size - line.size) <= 0.08 * line.size
        ]
        column = min(other.left for other in near), max(other.right for other in near)
        placed.append(replace(line, column=column))
    return placed


def _shares_line(row: Sequence[Fragment], main: Fragment, item: Fragment) -> bool:
    if abs(item.baseline - main.baseline) > 0.5 * max(main.size, item.size):
        return False
    overlap = min(main.bottom, item.bottom) - max(main.top, item.top)
    if overlap < _OVERLAP * min(main.bottom - main.top, item.bottom - item.top):
        return False
    # Two full-size lines that stand very close are two lines: one would be printed over the other.
    same_place = any(min(one.right, item.right) - max(one.left, item.left) > 0.5 * item.size for one in row[-_AROUND:])
    return not (same_place and abs(item.baseline - main.baseline) > 0.2 * main.size)


def _with_raised(rows: Sequence[list[Fragment]]) -> list[list[Fragment]]:
    """A raised or lowered mark makes a row of its own when it comes before its line; bring the two together."""
    merged: list[list[Fragment]] = []
    for row in rows:
        before = merged[-1] if merged else None
        if before is not None and max(item.size for item in before) < 0.85 * max(item.size for item in row):
            mark, main = before, max(row, key=lambda one: one.size)
            close = all(main.top - 0.3 * main.size < (item.top + item.bottom) / 2 < main.bottom for item in mark)
            inside = all(row[0].left - 2 * main.size < item.left for item in mark)
            letters = sum(len(item.text) for item in mark)
            if close and inside and letters <= 12 and main.baseline - mark[0].baseline < 0.6 * main.size:
                merged[-1] = [*before, *row]
                continue
        merged.append(row)
    return merged


def _line(row: Sequence[Fragment], *, page: int, part: int) -> Line:
    sizes: Counter[float] = Counter()
    bold = letters = 0
    for item in row:
        sizes[item.size] += len(item.text)
        bold += len(item.text) if item.bold else 0
        letters += len(item.text)
    size = max(sizes, key=lambda one: (sizes[one], one))
    main = [item for item in row if item.size == size]
    ordered = sorted(row, key=lambda item: (item.left, item.top))
    return Line(
        page=page,
        part=part,
        fragments=tuple(reversed(ordered)) if _reads_leftwards(ordered) else tuple(ordered),
        left=min(item.left for item in row),
        right=max(item.right for item in row),
        top=min(item.top for item in main),
        bottom=max(item.bottom for item in main),
        baseline=main[0].baseline,
        size=size,
        bold=bold >= 0.8 * letters,
        fixed=all(item.fixed for item in row),
        column=(min(item.left for item in row), max(item.right for item in row)),
    )


def _reads_leftwards(row: Sequence[Fragment]) -> bool:
    text = "".join(item.text for item in row)
    return sum(bidirectional(char) in {"R", "AL"} for char in text) > len(text) / 2


def written(fragments: Sequence[Fragment]) -> Inked:
    words: list[list[Inked]] = []
    before: Fragment | None = None
    for item in fragments:
        gap = 0.0 if before is None else max(item.left - before.right, before.left - item.right)
        least = (_SPACE / 2 if item.spaced else _SPACE) * min(item.size, before.size) if before else 0.0
        if before is None or gap > least:
            words.append([inked(item)])
        else:
            words[-1].append(inked(item))
        before = item
    return joined([joined(word, "") for word in words], " ")
