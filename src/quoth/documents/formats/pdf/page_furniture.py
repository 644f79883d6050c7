"""Sets page furniture apart from the text: running headers and footers, page numbers, line numbers."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from quoth.documents.formats.pdf.printed_lines import SLANTED, Fragment, PrintedLine, PrintedPage, lines_of
from quoth.language.numbering import from_roman

_EDGE = 0.14  # of the height of a page, at the top and at the bottom
_DEEPEST = 4  # lines of furniture at either edge
_FEW_PAGES = 4  # of a document so short that a line may repeat by chance
_LONGEST = 200  # code points
_FEWEST_LINE_NUMBERS = 5
_SAME_PLACE = 4.0  # points that a header may move between pages
_NUMBER = re.compile(
    r"(?:(?:page|pg\.?|p\.|seite|página|pagina)\s*)?[-–—(\[|\s]*(?P<number>\d{1,5}|[ivxlc]{1,7})"
    r"(?:\s*(?:of|/|von|de|sur|di)\s*\d{1,5})?[-–—)\]|\s]*",
    re.IGNORECASE,
)
_NUMBER_AT_END = re.compile(r"(?:^|\s)(\d{1,5})$|^(\d{1,5})(?=\s)")
_WORDY_NUMBER = re.compile(r"(?:page|pg|p\.|seite|página|pagina)\W*\d|^\W*\d+\s*(?:of|/)\s*\d+\W*$", re.IGNORECASE)
_PAGE_OF = re.compile(r"\b(?:page|seite|página|pagina)\s+\d{1,5}\s*(?:of|/|von|de|sur|di)\s*\d{1,5}$", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True, eq=False)
class SortedPage:
    """The text of a page apart from its furniture. `stamps` are printed aslant over the page."""

    page: PrintedPage
    header: tuple[PrintedLine, ...]
    body: tuple[Fragment, ...]
    footer: tuple[PrintedLine, ...]
    line_numbers: tuple[PrintedLine, ...]
    stamps: tuple[Fragment, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _PageEdge:
    """The outermost lines of one edge of a page, outermost first; the first `near` of them may be furniture."""

    page: int
    top: bool
    lines: tuple[PrintedLine, ...]
    near: int

    def gap(self, depth: int) -> float:
        """Return the distance from a line to the next, in points; infinity behind the last line."""
        if depth + 1 >= len(self.lines):
            return float("inf")
        return abs(self.lines[depth + 1].baseline - self.lines[depth].baseline)


def sort_pages(pages: Sequence[PrintedPage]) -> list[SortedPage]:
    """Set the furniture of every page apart: what repeats in the same place on other pages."""
    deepest = _DEEPEST if len(pages) > _FEW_PAGES else _DEEPEST // 2
    edges = [_edges(page, deepest) for page in pages]
    for_all = [edge for both in edges for edge in both]
    found = _repeated(for_all, len(pages)), _numbered(for_all)
    result = []
    for page, (top, bottom) in zip(pages, edges, strict=True):
        header, footer = _furniture_lines(top, *found), _furniture_lines(bottom, *found)
        gone = {id(item) for line in (*header, *footer) for item in line.fragments}
        numbers = _line_numbers([item for item in page.fragments if id(item) not in gone])
        gone |= {id(item) for item in numbers}
        upright = [item for item in page.fragments if item.direction != SLANTED]
        result.append(
            SortedPage(
                page,
                header=tuple(header),
                body=tuple(item for item in upright if id(item) not in gone),
                footer=tuple(reversed(footer)),
                line_numbers=tuple(lines_of(numbers, page=page.number, column_index=0)),
                stamps=tuple(item for item in page.fragments if item.direction == SLANTED),
            )
        )
    return result


def _edges(page: PrintedPage, deepest: int) -> tuple[_PageEdge, _PageEdge]:
    upright = [item for item in page.fragments if item.direction == 0]
    top = [item for item in upright if item.bottom < 2 * _EDGE * page.height]
    bottom = [item for item in upright if item.top > (1 - 2 * _EDGE) * page.height]
    first = lines_of(top, page=page.number, column_index=0)[: deepest + 1]
    last = lines_of(bottom, page=page.number, column_index=0)[::-1][: deepest + 1]
    near_top = sum(1 for line in first[:deepest] if line.bottom < _EDGE * page.height)
    near_bottom = sum(1 for line in last[:deepest] if line.top > (1 - _EDGE) * page.height)
    return _PageEdge(page.number, True, tuple(first), near_top), _PageEdge(page.number, False, tuple(last), near_bottom)


def _masked(text: str) -> str:
    return _SPACES.sub(" ", _DIGITS.sub("0", text)).casefold()


def _repeated(edges: Iterable[_PageEdge], pages: int) -> set[int]:
    """Return the lines, by their `id()`, whose words repeat at the same height on enough pages."""
    alike: dict[tuple[bool, str], list[PrintedLine]] = defaultdict(list)
    for edge in edges:
        for line in edge.lines[: edge.near]:
            if len(line.text) <= _LONGEST:
                alike[edge.top, _masked(line.text)].append(line)
    least = 2 if pages <= _FEW_PAGES else 3
    found: set[int] = set()
    for lines in alike.values():
        lines.sort(key=lambda line: (line.baseline, line.page))
        heights = [line.baseline for line in lines]
        for line, height in zip(lines, heights, strict=True):
            first, last = bisect_left(heights, height - _SAME_PLACE), bisect_right(heights, height + _SAME_PLACE)
            # A page has few lines at its edges, so a limited number of lines is enough to see enough pages.
            near = {other.page for other in lines[first : min(last, first + least * 2 * _DEEPEST)]}
            if len(near | {line.page}) >= least:
                found.add(id(line))
    return found


def _numbered(edges: Iterable[_PageEdge]) -> set[int]:
    """Return the lines, by their `id()`, with a number that counts up with the pages, at the same height."""
    runs: dict[tuple[bool, int, int], list[PrintedLine]] = defaultdict(list)
    for edge in edges:
        for line in edge.lines[: edge.near]:
            for number in _numbers(line.text):
                runs[edge.top, round(line.baseline / _SAME_PLACE), number - edge.page].append(line)
    return {id(line) for lines in runs.values() if len({line.page for line in lines}) >= 2 for line in lines}


def _numbers(text: str) -> list[int]:
    whole = _NUMBER.fullmatch(text)
    if whole:
        return [int(whole["number"]) if whole["number"].isdigit() else from_roman(whole["number"].lower())]
    return [int(found[1] or found[2]) for found in _NUMBER_AT_END.finditer(text)] if len(text) <= _LONGEST else []


def _furniture_lines(edge: _PageEdge, repeated: set[int], numbered: set[int]) -> list[PrintedLine]:
    """Return the furniture at an edge: from the outermost line inwards, up to the first line of text."""
    furniture: list[PrintedLine] = []
    for depth, line in enumerate(edge.lines[: edge.near]):
        # A line with a number, like a running title, keeps its distance from the text.
        apart = _NUMBER.fullmatch(line.text) is not None or edge.gap(depth) > 1.6 * line.size
        if not (id(line) in repeated or (id(line) in numbered and apart) or _lone_number(line, edge, depth)):
            break
        furniture.append(line)
    while furniture and _as_in_text(edge, len(furniture) - 1):
        furniture.pop()
    return furniture


def _as_in_text(edge: _PageEdge, depth: int) -> bool:
    """Return whether a line is as close to the next as in a paragraph; `Page 7` is never part of one."""
    line = edge.lines[depth]
    if edge.gap(depth) > 1.35 * line.size or (_NUMBER.fullmatch(line.text) and _WORDY_NUMBER.search(line.text)):
        return False
    return line.size == edge.lines[depth + 1].size


def _line_numbers(fragments: Sequence[Fragment]) -> list[Fragment]:
    """Return the line numbers in the margin of a page, as in court papers and manuscripts."""
    numbers = [item for item in fragments if item.direction == 0 and item.text.isdecimal() and len(item.text) <= 4]
    if len(numbers) < _FEWEST_LINE_NUMBERS:
        return []
    others = {id(item) for item in numbers}
    text_left = min((item.left for item in fragments if item.direction == 0 and id(item) not in others), default=0.0)
    margin = sorted((item for item in numbers if item.right < text_left), key=lambda item: item.baseline)
    counts = [int(item.text) for item in margin]
    steps = {after - before for before, after in pairwise(counts)}
    counted = len(counts) >= _FEWEST_LINE_NUMBERS and len(steps) == 1 and steps <= {1, 2, 5, 10}
    return margin if counted else []


def _lone_number(line: PrintedLine, edge: _PageEdge, depth: int) -> bool:
    """Recognise a page number that no other page confirms: by its words, or by its distance from all text."""
    if len(line.text) <= 100 and _PAGE_OF.search(line.text):
        return True
    if not _NUMBER.fullmatch(line.text):
        return False
    if _WORDY_NUMBER.search(line.text):
        return True
    number = line.text.strip("-–— ")
    if depth > 0 or not (number.islower() or (number.isdigit() and not edge.top)):
        return False
    return edge.gap(depth) > 2.5 * line.size
