"""Trim spans, and find the runs that no cut may split: parentheses, quotations, code spans and links."""

from __future__ import annotations

import re
from bisect import bisect_right
from functools import cache

from quoth.types import Span

_LONGEST = {"(": 1000, "[": 300, "{": 300, "“": 400, "«": 400, "「": 400, "『": 400, "（": 400}
"""How far apart, in code points, a pair may be; a lone opener must not glue the rest of the text together."""
_CLOSES = {")": "(", "]": "[", "}": "{", "”": "“", "»": "«", "」": "「", "』": "『", "）": "（"}
_LONGEST_STRAIGHT = _LONGEST_QUOTATION = 400

_BRACKET = re.compile(r"[()\[\]{}“”«»「」『』（）]")
_STRAIGHT = re.compile(
    rf'(?:^|(?<=[\s(\[{{*_>—–-]))"(?=[^\s"])([^"]{{1,{_LONGEST_STRAIGHT}}})"(?=$|[\s)\]}}.,;:!?*_<—–-])'
)
_CODE = re.compile(r"(?<!`)(`{1,3})(?!`)[^`]{1,500}(?:`{1,2}[^`]{1,500})*?(?<!`)\1(?!`)")
_LINK = re.compile(r"\[[^\[\]]{1,400}\]\([^()\s]*(?:\s+\"[^\"]{0,200}\")?\)")


def visible(text: str) -> int:
    """Return the number of code points that are no white space."""
    return sum(map(len, text.split()))


class Runs:
    """The parentheses, quotations, code spans and links in `[start, end)` of a text, merged where they overlap."""

    def __init__(self, text: str, start: int, end: int, *, quotes: tuple[str, ...] | None = None) -> None:
        """`quotes` are the pairs of quotation marks, other than straight ones; None: those of English."""
        pairs = _brackets(text, start, end, quotes)
        for mark, pattern in (('"', _STRAIGHT), ("`", _CODE), ("](", _LINK)):
            if text.find(mark, start, end) >= 0:
                pairs += [match.span() for match in pattern.finditer(text, start, end)]
        self._starts, self._ends = _merged(sorted(pairs))

    def around(self, at: int) -> bool:
        """Return whether `at` lies strictly inside a run."""
        index = bisect_right(self._starts, at - 1) - 1
        return index >= 0 and at < self._ends[index]


def _brackets(text: str, start: int, end: int, quotes: tuple[str, ...] | None) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    waiting: list[tuple[str, int]] = []
    marks, closes = _BRACKET, _CLOSES
    if quotes is not None:
        marks, closes = _quotations(quotes, text.find("«", start, end), text.find("»", start, end))
    openers = frozenset(closes.values())
    for match in marks.finditer(text, start, end):
        mark, at = match.group(), match.start()
        opener = closes.get(mark)
        if opener is not None and any(other == opener for other, _ in waiting[-8:]):
            while waiting[-1][0] != opener:
                waiting.pop()
            opened = waiting.pop()[1]
            if at - opened <= _LONGEST.get(opener, _LONGEST_QUOTATION):
                pairs.append((opened, at + 1))
        elif mark in openers:
            waiting.append((mark, at))
    return pairs


def _quotations(quotes: tuple[str, ...], left: int, right: int) -> tuple[re.Pattern[str], dict[str, str]]:
    """Return a pattern for all brackets and quotation marks, and the opener of each closer.

    `left` and `right` are where `«` and `»` first stand: of `«so»` and `»so«` only one is meant.
    """
    unmeant = "»«" if 0 <= left < right or right < 0 else "«»"
    paired = {pair[1]: pair[0] for pair in quotes if pair[0] != pair[1] and (pair != unmeant or "»«" not in quotes)}
    closes = {")": "(", "]": "[", "}": "{"} | paired
    return _marks("".join(sorted({*closes, *closes.values()}))), closes


@cache
def _marks(marks: str) -> re.Pattern[str]:
    return re.compile(f"[{re.escape(marks)}]")


def _merged(pairs: list[tuple[int, int]]) -> tuple[list[int], list[int]]:
    starts: list[int] = []
    ends: list[int] = []
    for start, end in pairs:
        if ends and start < ends[-1]:
            ends[-1] = max(ends[-1], end)
        else:
            starts.append(start)
            ends.append(end)
    return starts, ends


def trim(text: str, start: int, end: int) -> Span | None:
    """Return `[start, end)` without surrounding whitespace; None when nothing is left."""
    part = text[start:end]
    visible = part.strip()
    if not visible:
        return None
    begin = start + len(part) - len(part.lstrip())
    return Span(begin, begin + len(visible))
