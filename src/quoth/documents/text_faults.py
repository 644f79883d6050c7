"""Signs that a text was not extracted well. They look at letters alone, and know no language.

The thresholds are wide: a page in good order must pass, whatever it is about.
"""

from __future__ import annotations

import re

from quoth.language.spans import visible
from quoth.types import ProblemKind

_PRIVATE = "[\ue000-\uf8ff\U000f0000-\U0010fffd]"
_ODD = re.compile(
    "[\ufffd\x00-\x08\x0e-\x1f\x7f-\x9f]"
    rf"|(?<=\S){_PRIVATE}|{_PRIVATE}(?=\S)"
    r"|\(cid:\d+\)"
    "|\u00c3[\u0080-\u00bf\u0152-\u0178]|\u00c2[\u00a0-\u00bf]|\u00e2\u20ac.",
)
"""Replacement and control characters, private ones inside words (alone they are bullets and boxes), glyphs without a
letter, and UTF-8 that was read as Windows-1252."""
_WORD = re.compile(r"[A-Za-z\u00c0-\u024f\u0370-\u052f\u1e00-\u1fff]+")
"""A run of letters of a script that sets spaces between words."""
_INNER_CAPITAL = re.compile(r"[^\W\d_A-Z]{2}[A-Z][^\W\d_A-Z]")
_MOST_ODD, _FEWEST_ODD = 0.01, 5
_LONGEST_WORD = 25
"""Letters. Compounds of German or names of chemicals are longer at times, but not many on a page."""
_MOST_LONG, _FEWEST_LONG = 0.08, 3
_MOST_CAPITALS, _FEWEST_CAPITALS = 0.08, 12
_MOST_SINGLE, _FEWEST_SINGLE = 0.45, 40


def text_faults(text: str, prose: str) -> tuple[ProblemKind, ...]:
    """Return what is wrong with the `text` of a page; `prose` is what it holds beside tables and code."""
    found = []
    odd = sum(len(match[0]) for match in _ODD.finditer(text))
    if odd >= _FEWEST_ODD and odd >= _MOST_ODD * visible(text):
        found.append(ProblemKind.ODD_CHARACTERS)
    words = _WORD.findall(prose)
    if _glued(words):
        found.append(ProblemKind.GLUED_WORDS)
    single = sum(len(word) == 1 for word in words)
    if single >= _FEWEST_SINGLE and single >= _MOST_SINGLE * len(words):
        found.append(ProblemKind.SPACED_LETTERS)
    return tuple(found)


def _glued(words: list[str]) -> bool:
    """Return whether words of a page run together, as `thesoilshould` or `theSoilShould`."""
    long = [word for word in words if len(word) > _LONGEST_WORD]
    if len(set(long)) >= _FEWEST_LONG and sum(map(len, long)) >= _MOST_LONG * sum(map(len, words)):
        return True
    capitals = sum(_INNER_CAPITAL.search(word) is not None for word in words)
    return capitals >= _FEWEST_CAPITALS and capitals >= _MOST_CAPITALS * len(words)
