"""Find the same words in another text, whatever its line breaks.

One normalisation is allowed: a run of white space is one space, a hyphen at a line break that splits a word may
disappear, and soft hyphens inside a word disappear. Letters, digits, signs, quotation marks and Unicode forms must be
equal as they are.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from math import log
from operator import itemgetter
from typing import TypeVar

from quoth.citations.verify_receipt import AROUND
from quoth.language.boundaries import cuts
from quoth.language.graphemes import parts_grapheme
from quoth.language.spans import trim
from quoth.types import Span

_T = TypeVar("_T")

_LETTER = r"[^\W\d_]"
_BREAK = r"[^\S\r\n\f]*[\r\n\f]\s*"
_IN_WORD = rf"(?<={_LETTER})(?:(?P<soft>\xad+(?:{_BREAK})?)|(?P<broken>[-\u2010]{_BREAK})|[-\u2010])(?={_LETTER})"
_FOLDED = re.compile(rf"(?P<space>\s+)|{_IN_WORD}")
_UNEVEN = re.compile(rf"(?P<space>\s{{2,}}|[^\S ])|{_IN_WORD}")
"""What `_FOLDED` finds, without what stays as it is."""
_BROKEN = "\n"
"""Stands for a hyphen at a line break: no other line break is left when white space is folded."""

_HYPHENS = frozenset("-\u2010\xad")
_HYPHEN = re.compile(rf"(?<={_LETTER})[-\u2010{_BROKEN}](?={_LETTER})")
_LINE_END = re.compile(r"\r\n?|\n")

_BEFORE = {
    "letter": re.compile(r"\w[-'’]?\Z"),
    "digit": re.compile(r"(?:\w|[-+−±–~≈$€£¥#]|[<>≤≥]\s?|\d[.,:/])\Z"),
}
_BEHIND = {
    "letter": re.compile(r"[-'’]?\w"),
    "digit": re.compile(r"[.,:/]\d+|[^\S\r\n]?(?:\w+|[%‰°])"),
}

_UNIT_END = re.compile(r"\n\s*\n|\n(?=[^\S\n]*(?:[-*+•|]|\d{1,3}[.)])\s)")
_LONGEST_UNIT = 4_000
_WORD = re.compile(r"\w+")
_COMMON = 0.05
"""A word that stands in a larger share of the units tells little about where a sentence went."""
_UNITS_READ = 8
_WIDEST = 3
"""What is longer or shorter by more than this factor is no edit of a sentence."""
_TICK = 256
_JOINED = 3
"""A sentence may have been split, so up to so many in a row are compared with a quote."""


def folded(text: str) -> str:
    """Return a text for comparison: white space folded and trimmed, soft hyphens dropped.

    A hyphen at a line break becomes a line break.
    """
    return _FOLDED.sub(_strict, text).strip(" ")


def _strict(found: re.Match[str]) -> str:
    return " " if found["space"] else "" if found["soft"] else _BROKEN if found["broken"] else found[0]


def same_words(a: str, b: str) -> bool:
    """Return whether two `folded` texts are equal, where a hyphen at a line break may stay or disappear."""
    return _key(a) == _key(b) and _same_hyphens(_hyphens(a), _hyphens(b))


def _same_hyphens(a: dict[int, str], b: dict[int, str]) -> bool:
    pairs = ((a.get(at, ""), b.get(at, "")) for at in a.keys() | b.keys())
    return all(one == other or _BROKEN in {one, other} for one, other in pairs)


def _key(text: str) -> str:
    return _HYPHEN.sub("", text)


def _hyphens(text: str) -> dict[int, str]:
    """Return the hyphens inside words of a `folded` text by their places in its key."""
    return {found.start() - number: found[0] for number, found in enumerate(_HYPHEN.finditer(text))}


def runs_on(text: str, start: int, end: int) -> tuple[str, str]:
    """Return what continues the first and the last word of `[start, end)` outside it: `-`, ` cm` of `-5 cm`.

    Words that run on differently are other words, or other quantities.
    """
    before, behind = _BEFORE.get(_kind(text[start])), _BEHIND.get(_kind(text[end - 1]))
    left = before.search(text, max(0, start - 2), start) if before else None
    right = behind.match(text, end, end + AROUND) if behind else None
    return (
        left[0] if left else text[start - 1 : start] if parts_grapheme(text, start) else "",
        right[0] if right else text[end : end + 1] if parts_grapheme(text, end) else "",
    )


def _kind(character: str) -> str:
    return "digit" if character.isdigit() else "letter" if character.isalnum() else "other"


def _occurrences(words: str, text: str) -> Iterator[int]:
    at = text.find(words) if words else -1
    while at >= 0:
        yield at
        at = text.find(words, at + 1)


class PreparedText:
    """A text that many quotes are looked for in, with the id of its document. What that needs is computed once."""

    def __init__(self, text: str, *, doc_id: str | None = None, tick: Callable[[], None] | None = None) -> None:
        """Call `tick` now and then during a search; what it raises ends the search."""
        self.text = text
        self.doc_id = doc_id
        self._tick = tick
        self._cuts: dict[int, list[int]] = {}

    def places(self, quote: str) -> Iterator[Span]:
        """Yield every place with the words of `quote`, in order. White space at its ends need not be there."""
        core = quote.strip()
        if core[:1] in _HYPHENS or core[-1:] in _HYPHENS:  # half a word, which is not looked for without its hyphen
            yield from self._verbatim(quote)
            return
        wanted = folded(quote)
        key = _key(wanted)
        hyphens = _hyphens(wanted)
        for at in self._ticking(_occurrences(key, self._folded.key)):
            if _same_hyphens(hyphens, self._folded.hyphens(at, at + len(key))):
                span = Span(self._folded.place(at), self._folded.place(at + len(key) - 1) + 1)
                yield self._widened(span, quote)

    def _widened(self, span: Span, quote: str) -> Span:
        """Return the span with the white space that the quote has at its ends, if the text has the same there."""
        start = span.start - (len(quote) - len(quote.lstrip()))
        there = start >= 0 and self.text.startswith(quote, start)
        return Span(start, start + len(quote)) if there else span

    def _verbatim(self, quote: str) -> Iterator[Span]:
        for at in self._ticking(_occurrences(quote, self.text)):
            yield Span(at, at + len(quote))

    def _ticking(self, found: Iterable[_T]) -> Iterator[_T]:
        """Yield what is found, and tick every few hundred times."""
        for number, one in enumerate(found, 1):
            if self._tick and number % _TICK == 0:
                self._tick()
            yield one

    def near(self, quote: str, *, lines: int) -> Iterator[Span]:
        """Yield runs of sentences that may be `quote` after an edit: those in the units with most of its rare words.

        With `lines`, also runs of lines, of about so many.
        """
        votes: dict[int, float] = defaultdict(float)
        words = {word.lower() for word in _WORD.findall(quote)}
        common = max(_UNITS_READ, _COMMON * len(self._units))
        for word in sorted(words & self._postings.keys(), key=lambda word: (len(self._postings[word]), word)):
            found = self._postings[word]
            if len(found) > common and votes:
                break
            for unit in found:
                votes[unit] += log(1 + len(self._units) / len(found))
        for unit, _ in sorted(votes.items(), key=lambda vote: (-vote[1], vote[0]))[:_UNITS_READ]:
            yield from self._ticking(self._runs(unit, length=len(quote), lines=lines))

    def _runs(self, unit: int, *, length: int, lines: int) -> Iterator[Span]:
        start, end = self._units[unit].start, self._units[unit].end
        if unit not in self._cuts:
            self._cuts[unit] = cuts(self.text, start, end)
        yield from self._joined([start, *self._cuts[unit], end], most=_JOINED, length=length)
        if lines:
            breaks = (found.end() for found in _LINE_END.finditer(self.text, start, end))
            yield from self._joined([start, *breaks, end], most=lines + 1, length=length)

    def _joined(self, edges: Sequence[int], *, most: int, length: int) -> Iterator[Span]:
        """Yield runs of up to `most` neighbours between the edges, where their length is near to `length`."""
        for first, start in enumerate(edges):
            for end in edges[first + 1 : first + 1 + most]:
                if (run := trim(self.text, start, end)) and length <= _WIDEST * len(run) <= _WIDEST**2 * length:
                    yield run

    @cached_property
    def _folded(self) -> _FoldedText:
        return _FoldedText(self.text)

    @cached_property
    def _units(self) -> list[Span]:
        """Paragraphs, list items and rows; what is longer is cut between words."""
        units, start = [], 0
        for end in (*(found.end() for found in _UNIT_END.finditer(self.text)), len(self.text)):
            while end - start > _LONGEST_UNIT:
                gap = self.text.rfind(" ", start, start + _LONGEST_UNIT) + 1 or start + _LONGEST_UNIT
                units.append(Span(start, gap))
                start = gap
            if start < end:
                units.append(Span(start, end))
            start = end
        return units

    @cached_property
    def _postings(self) -> dict[str, list[int]]:
        """The units that hold each word."""
        postings: dict[str, list[int]] = defaultdict(list)
        for number, unit in enumerate(self._units):
            for word in {word.lower() for word in _WORD.findall(self.text, unit.start, unit.end)}:
                postings[word].append(number)
        return postings


class _FoldedText:
    """A text with white space folded and without hyphens inside words, whose every place leads back to the text."""

    def __init__(self, text: str) -> None:
        pieces: list[str] = []
        self._keys, self._places = [0], [0]
        self._hyphens: list[tuple[int, str]] = []
        length = last = 0
        for found in _UNEVEN.finditer(text):
            pieces.append(text[last : found.start()])
            length += found.start() - last
            if found["space"]:
                pieces.append(" ")
                self._mark(length, found.start())
                length += 1
            elif not found["soft"]:
                self._hyphens.append((length, _strict(found)))
            self._mark(length, found.end())
            last = found.end()
        self.key = "".join([*pieces, text[last:]])

    def _mark(self, key: int, place: int) -> None:
        """Note that from `key` on, the characters are those of the text from `place` on."""
        if self._keys[-1] == key:
            self._places[-1] = place
        else:
            self._keys.append(key)
            self._places.append(place)

    def hyphens(self, start: int, end: int) -> dict[int, str]:
        """Return the hyphens inside words of the key from `start` to `end`, by their places from `start`."""
        first = bisect_right(self._hyphens, start, key=itemgetter(0))
        last = bisect_left(self._hyphens, end, key=itemgetter(0))
        return {at - start: hyphen for at, hyphen in self._hyphens[first:last]}

    def place(self, key: int) -> int:
        index = bisect_right(self._keys, key) - 1
        return self._places[index] + key - self._keys[index]
