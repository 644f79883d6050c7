"""Patterns to find in texts: a phrase, words near each other, a regular expression.

A text comes as UTF-8, as stores keep it. Most texts hold no match, and bytes tell so several times faster than
characters do: only a text that may hold one is decoded, and what counts is what the exact expression matches there.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cached_property
from heapq import merge
from itertools import chain, islice, takewhile
from typing import Any, Protocol

from quoth.errors import QuestionError
from quoth.language.spellings import LINE_BREAKS, ends_word, marks_of, spelling

LONGEST_PATTERN = 1_000
"""Code points of a pattern."""
_WORD = re.compile(r"\w+")
_HYPHEN = "\N{HYPHEN}"
_BREAKS = (b"-", _HYPHEN.encode("utf-8"))
"""The signs in UTF-8 that a word may be broken with before white space; a soft hyphen may stand anywhere."""
_ASCII = bytes(range(128))
_REACH = 2_000
"""Bytes that a match may begin before a line end or an odd character in it: more white space is in no phrase."""
_LEAST_SECONDS = 5.0
_SECONDS_PER_CHARACTER = 1e-6
"""How long a regular expression may take for one text: a healthy one reads tens of millions of characters a second."""


class EncodedText:
    """One text as UTF-8 bytes, with what a search makes of it; each form is made once, when it is needed."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    @cached_property
    def lowered(self) -> bytes:
        """The bytes with the letters A to Z in lower case."""
        return self.data.lower()

    @cached_property
    def text(self) -> str:
        return self.data.decode("utf-8")

    @cached_property
    def beyond_ascii(self) -> bytes:
        """The bytes of all characters that are not ASCII, in order."""
        return b"" if self.data.isascii() else self.data.translate(None, _ASCII)

    def characters(self, places: Iterator[int]) -> Iterator[int]:
        """Yield the code point at each of these byte offsets, which ascend."""
        last = found = 0
        for place in places:
            found += len(self.data[last:place].decode("utf-8")) if self.beyond_ascii else place - last
            last = place
            yield found


class Pattern(Protocol):
    def spans(self, text: EncodedText) -> Iterator[tuple[int, int]]:
        """Yield start and end of each match in code points, in order; none is empty, and none overlaps another."""


def compile_pattern(given: str, *, regex: bool = False, near: int | None = None, case: bool = False) -> Pattern:
    """Return the pattern for a text that a user gives; raise `QuestionError` when there is nothing to look for.

    By default it is a phrase of whole words. With `near`, the words may come in any order, the last of them at most so
    many words after the first. With `case`, upper and lower case are different.
    """
    if len(given) > LONGEST_PATTERN:
        raise QuestionError(
            f"the pattern has {len(given):,} characters; at most {LONGEST_PATTERN:,} are taken",
            hint="Look for fewer words.",
        )
    if any("\ud800" <= character <= "\udfff" for character in given):
        raise QuestionError("the pattern is not valid Unicode", hint="Write it as UTF-8.")
    if regex:
        if near is not None:
            raise QuestionError("only words are near each other, no regular expression", hint="Leave one of them out.")
        return RegexPattern(given, case=case)
    words = given.replace("\N{SOFT HYPHEN}", "").split()
    if not words:
        raise QuestionError("the pattern is empty", hint='Give a word or a phrase, such as "soil pH".')
    if near is None:
        return PhrasePattern(words, case=case)
    if near < 1:
        raise QuestionError(f"{near} words is no distance", hint="Give 1 for neighbours, or more.")
    if len(words := list(dict.fromkeys(words))) < 2:
        raise QuestionError("a single word is not near another", hint="Give two words or more.")
    return NearPattern(words, near, case=case)


class PhrasePattern:
    """Whole words in this order, with any white space between them, in every spelling."""

    def __init__(self, words: Sequence[str], *, case: bool) -> None:
        source = _phrase(spelling(word, case=case) for word in words)
        self._case = case
        self._exact = re.compile(source)
        # Without accents as marks, of which most texts have none, an expression is several times faster.
        self._marks = _any_of(set().union(*map(marks_of, words)))
        self._composed = re.compile(_phrase(spelling(word, case=case, marks=False) for word in words))
        # Where a text has none of these characters, and breaks no word of the phrase at a line end, it can spell an
        # ASCII phrase in one way only.
        odd = {character for character in source if not character.isascii()} | set(LINE_BREAKS)
        # Where no sign of the phrase is a hyphen, one can only break a word, as `-` does.
        self._odd = _any_of(odd if any("-" in word for word in words) else odd - {_HYPHEN})
        plain = [(word if case else word.lower()).encode("utf-8") for word in words]
        self._longest = max(plain, key=len)
        self._plain = re.compile(rb"[\s>\x80-\xff]+".join(map(re.escape, plain)))
        self._reach = _REACH + 4 * sum(map(len, plain))
        self._is_ascii = all(word.isascii() for word in words)
        self._halves = [(word[:at].removesuffix(b"-"), word[at:]) for word in plain for at in range(1, len(word))]
        behind = b"|".join(sorted({re.escape(half[:4]) for _, half in self._halves}))
        self._broken = [re.compile(sign + rb"[\s\x80-\xff]+(?=" + behind + rb")") for sign in _BREAKS if behind]

    def spans(self, text: EncodedText) -> Iterator[tuple[int, int]]:
        last = 0
        for start in self._starts(text):
            if start < last or not ends_word(text.text, start):
                continue
            found = self._exact.match(text.text, start)
            if found and ends_word(text.text, found.end()):
                last = found.end()
                yield start, last

    def _starts(self, text: EncodedText) -> Iterator[int]:
        """Yield in order where a match may begin; a place may come twice."""
        data = text.data if self._case else text.lowered
        exact = self._exact if self._marks.search(text.beyond_ascii) else self._composed
        if not self._is_ascii:
            return _starts(exact, text.text)
        odd = sorted(self._odd_places(text, data))
        plain = text.characters(_starts(self._plain, data)) if self._longest in data else iter(())
        if not odd:
            return plain
        edges = text.characters(chain.from_iterable(_windows(odd, self._reach, data)))
        near = (start for low, high in zip(edges, edges, strict=True) for start in self._within(exact, text, low, high))
        return merge(plain, near)

    def _within(self, exact: re.Pattern[str], text: EncodedText, low: int, high: int) -> Iterator[int]:
        """Yield where the exact expression matches from `low` on, before `high`."""
        return takewhile(lambda start: start < high, _starts(exact, text.text, low, high + self._reach))

    def _odd_places(self, text: EncodedText, data: bytes) -> Iterator[int]:
        """Yield the byte offsets where the text may spell the phrase in another way than the plain one."""
        if self._odd.search(text.beyond_ascii):
            yield from (found.start() for found in self._odd.finditer(text.data))
        signs = self._broken if _BREAKS[-1] in text.beyond_ascii else self._broken[:1]
        for broken in chain.from_iterable(sign.finditer(data) for sign in signs):
            before, behind = broken.span()
            if any(data.endswith(half, 0, before) and data.startswith(rest, behind) for half, rest in self._halves):
                yield before


def _windows(places: Iterable[int], reach: int, data: bytes) -> Iterator[tuple[int, int]]:
    """Yield the ranges of bytes, in order and apart, in which a match may begin that holds one of these places."""
    low = high = 0
    for place in places:
        first = max(0, place - reach)
        while first and data[first] & 0xC0 == 0x80:  # inside a character
            first -= 1
        if first > high:
            if high:
                yield low, high
            low = first
        high = place + 1
        while high < len(data) and data[high] & 0xC0 == 0x80:
            high += 1
    if high:
        yield low, high


def _phrase(words: Iterable[str]) -> str:
    return r"(?:[^\S\n]*\n[^\S\n]*>[>\s]*|\s+)".join(words)  # in Markdown, `>` begins each line of a quotation


def _any_of(characters: Collection[str]) -> re.Pattern[bytes]:
    """Return what finds any of these characters, which are not ASCII, in UTF-8; without any, it finds nothing."""
    return re.compile("|".join(sorted(characters)).encode("utf-8") or rb"(?!)")


def _starts(
    pattern: re.Pattern[Any],
    text: Any,  # noqa: ANN401 - characters or bytes, as the pattern
    low: int = 0,
    high: int = sys.maxsize,
) -> Iterator[int]:
    """Yield every place where `pattern` matches, overlapping or not: the first of two may prove wrong."""
    found = pattern.search(text, low, high)
    while found:
        yield found.start()
        found = pattern.search(text, found.start() + 1, high)


class NearPattern:
    """All these words in any order, the last at most `distance` words after the first."""

    def __init__(self, words: Sequence[str], distance: int, *, case: bool) -> None:
        self._words = [PhrasePattern([word], case=case) for word in sorted(words, key=len, reverse=True)]
        self._distance = distance

    def spans(self, text: EncodedText) -> Iterator[tuple[int, int]]:
        found: list[tuple[int, int, int]] = []
        for number, word in enumerate(self._words):
            places = [(start, end, number) for start, end in word.spans(text)]
            if not places:
                return
            found += places
        latest: dict[int, tuple[int, int]] = {}
        for start, end, number in sorted(found):
            latest[number] = start, end
            first = min(start for start, _ in latest.values())
            if len(latest) == len(self._words) and self._is_near(text.text, first, start):
                yield first, max(end for _, end in latest.values())
                latest.clear()

    def _is_near(self, text: str, first: int, last: int) -> bool:
        words = islice(_WORD.finditer(text, first, last), self._distance + 1)
        return sum(1 for _ in words) <= self._distance


class RegexPattern:
    """A regular expression in Python's syntax. `^` and `$` match at each line."""

    def __init__(self, source: str, *, case: bool) -> None:
        import regex  # unlike `re`, it can be stopped, and lets other threads run meanwhile

        hint = "Escape signs that stand for themselves with a backslash, or leave out --regex to look for words."
        if not source:
            raise QuestionError("the pattern is empty", hint='Give an expression, such as "[0-9]+ kg".')
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of syntax that may mean something else in the future
                self._exact = regex.compile(source, regex.MULTILINE | (0 if case else regex.IGNORECASE))
        except (regex.error, RecursionError, OverflowError, ValueError) as error:
            raise QuestionError(f"the regular expression cannot be read: {error}", hint=hint) from error

    def spans(self, text: EncodedText) -> Iterator[tuple[int, int]]:
        seconds = _LEAST_SECONDS + _SECONDS_PER_CHARACTER * len(text.text)
        try:
            for found in self._exact.finditer(text.text, timeout=seconds, concurrent=True):
                if found.end() > found.start():
                    yield found.span()
        except TimeoutError as error:
            raise QuestionError(
                f"the regular expression took more than {seconds:.0f} seconds for one document",
                hint="A repetition inside a repetition, such as (a+)+, tries every way to divide a text; avoid it.",
            ) from error
