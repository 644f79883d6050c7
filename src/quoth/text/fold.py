"""Folded text, for comparing only: a folded string has other offsets and is never quoted."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from quoth.types import unbroken

_MARKS = re.compile(r"[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+")
# Letters that are variants of a plain one but do not decompose to it.
_PLAIN = str.maketrans(
    {"ı": "i", "ø": "o", "đ": "d", "ł": "l", "æ": "ae", "œ": "oe", "’": "'", "‘": "'", "‐": "-", "‑": "-"}
)


def fold(text: str) -> str:
    """`text` without case, accents and typographic variants: `Eskişehir` becomes `eskisehir`."""
    text = unbroken(text)
    if text.isascii():
        return text.casefold()
    return _MARKS.sub("", unicodedata.normalize("NFKD", text).casefold().translate(_PLAIN))


@lru_cache(maxsize=65_536)
def singular(word: str) -> str:
    """A folded word without its plural or possessive ending; crude, and the same on both sides of a comparison."""
    word = word.removesuffix("'s").removesuffix("'")
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ses", "xes", "zes", "ches", "shes", "oes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word
