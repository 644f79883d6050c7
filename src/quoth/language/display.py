"""Quotes as people read them: one line, without the hyphens that only a line break caused.

What is made here is shown beside a quote and has other offsets. It is never a citation and never compared.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

from quoth.types import RegionKind, Sentence, Span

_LETTERS = r"[^\W\d_]+"
_LINE_END = r"[^\S\r\n]*(?:\r\n?|\n)\s*"
_BROKEN = re.compile(rf"(?<=[\w)\]])(?P<sign>[-\u2010-\u2014/]){_LINE_END}(?=[\w(\[])")
"""A hyphen, a dash or a slash that ends a line, with text directly before it and at the start of the next line."""
_QUOTED = re.compile(r"(?P<end>\r\n?|\n)(?:[^\S\r\n]*>)+")
"""What begins each further line of a quotation in Markdown."""
_LAST_WORD = re.compile(rf"{_LETTERS}\Z")
_FIRST_WORD = re.compile(_LETTERS)
_SOFT = re.compile(r"\u00ad+\s*")
_ADDRESS = re.compile(r"://|www\.|@|\b10\.\d{4,}/")
_OPEN_BEFORE = re.compile(r"-\s+\Z")
_OPEN_BEHIND = re.compile(r"-\s")
_WIDEST_BREAK = 8
"""Code points of a hyphen with the white space behind it, at the most."""
_LONGEST_WORD = 60
_ENDING = 3
"""Letters that an ending may add or take away: `logging` tells of `logged`."""

# A first half that goes on with one of these waits for its second half: `pre- and postharvest`.
_LINKS = frozenset("and or nor to und oder bzw bis et ou y o e i en of och eller ja".split())


def one_line(text: str) -> str:
    """Join lines and replace control characters; for display only, never for a citation."""
    joined = " ".join(text.split())
    if joined.isprintable():
        return joined
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in joined)


class Vocabulary:
    """The words of one document. A word is looked up where it is needed; no list of all words is made."""

    def __init__(self, text: str) -> None:
        self._given = text

    @cached_property
    def _text(self) -> str:
        return self._given.lower().replace("\u00ad", "").replace("\u2010", "-").replace("\u2011", "-")

    def count(self, word: str, *, most: int = 100) -> int:
        """Return how often `word` stands in the document as a whole word, on one line; at most `most`."""
        word, found, at = word.lower(), 0, -1
        while found < most and (at := self._text.find(word, at + 1)) >= 0:
            found += self._is_whole(at, at + len(word))
        return found

    def has(self, word: str) -> bool:
        return self.count(word, most=1) > 0

    def begins(self, stem: str) -> bool:
        """Return whether a word of the document begins with `stem`."""
        stem, at = stem.lower(), -1
        while (at := self._text.find(stem, at + 1)) >= 0:
            if not self._text[max(0, at - 1) : at].isalpha():
                return True
        return False

    def ends_compound(self, word: str) -> bool:
        """Return whether `word` stands behind the hyphen of a compound, on one line: `based` in `plant-based`."""
        word, at = f"-{word.lower()}", -1
        while (at := self._text.find(word, at + 1)) >= 0:
            end = at + len(word)
            if self._text[max(0, at - 1) : at].isalpha() and not self._text[end : end + 1].isalpha():
                return True
        return False

    def _is_whole(self, start: int, end: int) -> bool:
        """Return whether this is a word; the half of a word that a line or a cell breaks is none."""
        text = self._text
        if text[max(0, start - 1) : start].isalpha() or text[end : end + 1].isalpha():
            return False
        return not _OPEN_BEHIND.match(text, end) and not _OPEN_BEFORE.search(text, max(0, start - _WIDEST_BREAK), start)


def displayed_sentence(sentence: Sentence, vocabulary: Vocabulary) -> str:
    """Return a sentence for people; code stays as it is, since its line ends and spaces have a meaning."""
    if sentence.kind is RegionKind.CODE:
        return sentence.text
    marked = sentence.kind is RegionKind.QUOTE
    return displayed(_QUOTED.sub(r"\g<end>", sentence.text) if marked else sentence.text, vocabulary)


def displayed_lead(sentence: Sentence, vocabulary: Vocabulary) -> str | None:
    """Return the lead of a sentence for people; None where it has none."""
    return displayed(sentence.lead.text, vocabulary) if sentence.lead else None


def display_parts(sentence: Sentence, shown: str, spans: Sequence[Span]) -> tuple[str, ...]:
    """Return a sentence as `shown` to people in parts: every second part, from the second on, shows one of `spans`.

    What is shown only lacks hyphens and white space of the text, or has another sign in place of one.
    """
    places: list[int] = []  # for each character of the text, where it is shown
    at = 0
    for character in sentence.text:
        places.append(at)
        same = shown[at : at + 1] == character or (character.isspace() and shown[at : at + 1] == " ")
        at += same or (character == "\u00ad" and shown[at : at + 1] == "-")
    places.append(len(shown))
    first = sentence.quote.span.start
    cuts = [0, *(places[cut - first] for span in spans for cut in (span.start, span.end)), len(shown)]
    return tuple(shown[start:end] for start, end in pairwise(cuts))


def displayed(text: str, vocabulary: Vocabulary) -> str:
    """Return a quote on one line, for people, with the words joined that only a line break hyphenates.

    `vocabulary` is that of the quote's document, and decides: `infor-` / `mation` is joined where the document writes
    `information`, or knows neither half as a word; `well-` / `known` keeps its hyphen where it writes `well-known`.
    """
    if "\u00ad" in text:
        text = _SOFT.sub(lambda soft: _at_soft_hyphen(text, soft), text)
    if "\n" in text or "\r" in text:
        text = _BROKEN.sub(lambda broken: _at_line_end(text, broken, vocabulary), text)
    return " ".join(text.split())


def _at_soft_hyphen(text: str, soft: re.Match[str]) -> str:
    before, behind = text[soft.start() - 1 : soft.start()], text[soft.end() : soft.end() + 1]
    if before.isdigit() and behind.isdigit():  # a range, written with the wrong sign
        return "-"
    return "" if before.isalpha() and behind.isalpha() else soft[0].lstrip("\u00ad")


def _at_line_end(text: str, broken: re.Match[str], vocabulary: Vocabulary) -> str:
    """Return what stands between the two halves when they are shown."""
    sign = broken["sign"]
    first = _LAST_WORD.search(text, max(0, broken.start() - _LONGEST_WORD), broken.start())
    second = _FIRST_WORD.match(text, broken.end())
    if sign not in "-\u2010" or first is None or second is None:
        return sign
    before = text[: first.start()].rpartition(" ")[2]
    if _ADDRESS.search(before) or before[-1:].isdigit():
        return sign
    halves = first[0], second[0]
    if halves[1] in _LINKS and not vocabulary.has("-".join(halves)) and not vocabulary.has("".join(halves)):
        return f"{sign} "
    return "" if _is_one_word(*halves, vocabulary) else sign


def _is_one_word(first: str, second: str, vocabulary: Vocabulary) -> bool:
    """Return whether two halves are one word that was hyphenated at a line end."""
    joined, hyphenated = vocabulary.count(first + second), vocabulary.count(f"{first}-{second}")
    # `X-ray`, `DNA-binding`, `Spider-Man`, `omega-b`
    likely_sign = 1 in (len(first), len(second)) or first.isupper() or not second.islower()
    if joined or hyphenated:
        return joined > hyphenated and not (likely_sign and hyphenated)
    if likely_sign:
        return False
    stem = second[: max(_ENDING, len(second) - _ENDING)]
    if vocabulary.begins(first + stem):
        return True
    if vocabulary.begins(f"{first}-{stem}") or vocabulary.ends_compound(second):
        return False
    return not (vocabulary.has(first) and vocabulary.has(second))
