"""The ways in which a text may spell a word: case, ligatures, accents, typographic signs, hyphens at line ends.

A spelling is described by a regular expression, so that it is found at its own offsets: nothing is folded first.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache
from itertools import chain

from quoth.language.graphemes import parts_grapheme

_SOFT_HYPHEN = "\u00ad"
LINE_BREAKS = f"{_SOFT_HYPHEN}\u2010"
"""The signs besides the hyphen that a word may be broken with at the end of a line."""
_LINE_END = r"(?:[^\S\n]*\n\s*)?"
_BREAK = rf"(?:{_SOFT_HYPHEN}\s*|[-\u2010][^\S\n]*\n\s*)?"
_SHORTEST_HALF = 2
"""Letters on each side of a line end, at least: no typesetter leaves one alone."""
_SIGNS = {"-": "-\u2010\u2011\u2012\u2013\u2212", "'": "'\u2018\u2019\u02bc", '"': '"\u201c\u201d\u201e'}
"""The signs that a sign on the keyboard stands for."""
_DOTTED = {"i": "\u0130\u0131"}
"""Letters that one language tells apart by case and another does not: a Turkish I has a dot, or none, in both cases."""
_ALIKE = {
    **{"\u0219": "\u015f", "\u015f": "\u0219", "\u021b": "\u0163", "\u0163": "\u021b"},
    **{"\u0627": "\u0623\u0625\u0622\u0671", **dict.fromkeys("\u0623\u0625\u0622\u0671", "\u0627")},
    **{
        "\u064a": "\u0649\u06cc",
        "\u0649": "\u064a\u06cc",
        "\u06cc": "\u064a\u0649",
        "\u0643": "\u06a9",
        "\u06a9": "\u0643",
    },
}
"""Letters that are often written for each other: Romanian ones with a comma or a cedilla, and forms of Arabic ones."""
_VOWELS = (
    (re.compile("[\u0620-\u064a\u066e-\u06d3]"), "[\u0640\u064b-\u065f\u0670]*"),
    (re.compile("[\u05d0-\u05ea]"), "[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7]*"),
)
"""Vowels that few texts write behind the letters of Arabic and Hebrew, and the sign that stretches Arabic words."""
_COMPATIBLE = re.compile("[\uf900-\ufaff\U0002f800-\U0002fa1f]")
"""Chinese signs that normal forms put another sign in the place of; a text may have either."""
_VOWEL = re.compile("[\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u065f\u0670]")
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff]"
)
"""Letters of scripts that put no spaces between words (Thai, Lao, Burmese, Khmer, Japanese, Chinese), and of Korean,
which writes its particles onto the words."""


def spelling(word: str, *, case: bool, marks: bool = True) -> str:
    """Return a regular expression for every spelling of `word`.

    With `case`, upper and lower case are different. Without `marks`, no accent is a mark of its own.
    """
    composed = "".join(
        part if _COMPATIBLE.fullmatch(part) else unicodedata.normalize("NFC", part)
        for part in re.split(f"({_COMPATIBLE.pattern})", word)
    )
    if not case:  # vowels of its own would be looked for in every text
        composed = (_VOWEL.sub("", composed) or composed).replace("\u0130", "i")
    folded = composed if case else composed.casefold()
    parts: list[str] = []
    at = 0
    while at < len(folded):
        joined = _joined_letters(folded, at, case=case)
        parts += ([_break(folded, at)] if at else []) + [_tiled(folded, at, at + joined, case=case, marks=marks)]
        at += joined
    source = "".join(parts)
    # A letter that has another one as its composed form is itself too.
    return source if composed == word else f"(?:{source}|{re.escape(word)})"


def marks_of(word: str) -> set[str]:
    """Return the marks that accents of `word` become where a text writes them on their own."""
    split = (unicodedata.normalize("NFD", letter) for letter in unicodedata.normalize("NFC", word))
    return {mark for letter in split for mark in letter[1:]}


def _break(word: str, at: int) -> str:
    """Return what a line end may put before the character at `at`: a hyphen between letters, none behind a hyphen."""
    if word[at - 1] == "-":
        return _LINE_END
    halves = word[max(0, at - _SHORTEST_HALF) : at] + word[at : at + _SHORTEST_HALF]
    return _BREAK if len(halves) == 2 * _SHORTEST_HALF and halves.isalpha() else ""


def _tiled(word: str, start: int, end: int, *, case: bool, marks: bool) -> str:
    """Return the letters from `start` to `end`, one by one or joined in one character."""
    ways = ["".join(way) for way in _tilings(word, start, end, case=case, marks=marks)]
    return ways[0] if len(ways) == 1 else f"(?:{'|'.join(ways)})"


def _tilings(word: str, start: int, end: int, *, case: bool, marks: bool) -> Iterator[list[str]]:
    if start == end:
        yield []
        return
    for stop in range(start + 1, end + 1):
        one = stop == start + 1
        here = _letter(word[start], case=case, marks=marks) if one else _any_of(_joining(word[start:stop], case=case))
        if here:
            behind = _break(word, stop) if stop < end else ""
            yield from ([here, behind, *rest] for rest in _tilings(word, stop, end, case=case, marks=marks))


def _letter(letter: str, *, case: bool, marks: bool) -> str:
    """Return the forms of one character, composed or, with `marks`, with its accents as marks."""
    if letter in _SIGNS:
        return _any_of(_SIGNS[letter])
    if not case and (behind := next((vowels for letters, vowels in _VOWELS if letters.match(letter)), "")):
        return _any_of(letter + _ALIKE.get(letter, "")) + behind
    marked = unicodedata.normalize("NFD", letter)
    composed = _any_of(letter if case else _cases(letter))
    if len(marked) == 1 or not marks:
        return composed
    return f"(?:{composed}|{''.join(_any_of(one if case else _cases(one)) for one in marked)})"


def _any_of(characters: str) -> str:
    escaped = "".join(re.escape(character) for character in characters)
    return escaped if len(characters) < 2 else f"[{escaped}]"


def _cases(letter: str) -> str:
    """Return every character that is `letter` without case, itself first."""
    forms = dict.fromkeys([letter, letter.upper(), letter.title(), *_folds().get(letter, ())])
    if _COMPATIBLE.match(letter):
        forms[unicodedata.normalize("NFC", letter)] = None
    forms |= dict.fromkeys(_DOTTED.get(letter, "") + _ALIKE.get(letter, ""))
    forms |= dict.fromkeys(other.upper() for other in _ALIKE.get(letter, ""))
    return "".join(form for form in forms if len(form) == 1)


def _joining(letters: str, *, case: bool) -> str:
    """Return the characters that stand for several letters: `ß` for `ss`; with `case`, only ligatures."""
    found = _folds().get(letters, ())
    return "".join(one for one in found if not case or unicodedata.normalize("NFKC", one) == letters)


def _joined_letters(word: str, at: int, *, case: bool) -> int:
    """Return how many letters from `at` on one character may stand for, at most; 1 if each stands alone."""
    longest = min(3, len(word) - at)
    return next((length for length in range(longest, 1, -1) if _joining(word[at : at + length], case=case)), 1)


@cache
def _folds() -> dict[str, tuple[str, ...]]:
    """Return the characters that become each text without case, as far as upper case does not lead to them.

    All such characters are in these two blocks; looking at every code point would take longer than a search.
    """
    folds: dict[str, tuple[str, ...]] = {}
    for character in map(chr, chain(range(0x80, 0x2130), range(0xFB00, 0xFB18))):
        folded = character.casefold()
        if folded != character:
            folds[folded] = (*folds.get(folded, ()), character)
    return folds


def ends_word(text: str, at: int) -> bool:
    """Return whether a word, number or character may begin or end at `at`: nothing on both sides belongs together."""
    if not 0 < at < len(text):
        return True
    before, behind = text[at - 1], text[at]
    if not (before.isascii() and behind.isascii()):  # most are, and need no more than the lines below
        if _SOFT_HYPHEN in (before, behind) or parts_grapheme(text, at):
            return False
        if _UNSPACED.match(before) or _UNSPACED.match(behind):
            return True
    if before.isalnum():
        return not behind.isalnum() and (behind not in ".," or not _in_number(text, at))
    return before not in ".," or not _in_number(text, at)


_DECIMALS = re.compile(r"\.\d|,\d{3}(?!\d)")


def _in_number(text: str, at: int) -> bool:
    """Return whether `at` is beside the point of a decimal, or beside the comma of thousands: `2|.5`, `1,|000`."""
    point = at if text[at] in ".," else at - 1
    return point > 0 and text[point - 1].isdigit() and _DECIMALS.match(text, point) is not None
