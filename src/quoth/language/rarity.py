"""Rarity: how rarely general English uses a word, whatever a corpus is about."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise

import msgspec

from quoth.language.conventions import conventions
from quoth.language.stems import UNSPACED
from quoth.language.words import FUNCTION_WORDS, fold, regular_bases, singular

_PLAIN = 1_000
"""So many of the most common words say nothing about what a text must hold to answer a question."""
_SHORTEST_BASE = 4
"""Letters: `seed` is no form of `see`."""
_WORD = re.compile(r"[a-z]{2,}")
_PARTS = re.compile(r"[^\W_]+")


TELLING = 0.5
"""From this rarity on, a word is worth naming when it is missing."""
STRANGE = 1.0
"""The rarity of a word that English hardly knows: mostly the name of something."""


class _Pieces(msgspec.Struct):
    vocab: dict[str, int]


class _Tokenizer(msgspec.Struct):
    model: _Pieces


_decode = msgspec.json.Decoder(_Tokenizer).decode
"""Made on import: two threads that are the first to decode a type crash the process."""

_NAME = 0.9
_SHORT = 0.25
_SHORTEST_WORD, _LONG_WORD = 3, 5


def rarity(word: str, language: str = "en") -> float:
    """Return 0 for a plain word (`feet`, `behind`) up to 1 for one that English hardly knows (`caspofungin`).

    Case and form do not matter. Of a compound the rarest part counts. A word with a digit in it is no word: 0.
    In another language nothing is known of how often it uses a word. There a capital letter says more than length, and
    only a word with a capital inside (`iPhone`) is strange.
    """
    if language != "en":
        return _looks_rare(word, language)
    parts = _PARTS.findall(fold(word).removesuffix("'s"))
    return 0.0 if any(map(str.isdigit, fold(word))) else max(map(_rarity, parts), default=0.0)


def is_english(text: str) -> bool:
    """Return whether a text is likely English: two fifths of its words are known English words.

    Of the questions in seven English sets it takes 99.4 to 100% for English, of German ones 7%, of others fewer.
    """
    return known_english(text) >= 0.4


def known_english(text: str) -> float:
    """Return the share of the words that are function words, or longer words of English; 1 for a text without words."""
    words = [word for word in _PARTS.findall(fold(text)) if word.isalpha()]
    known = [word in FUNCTION_WORDS or (len(word) >= _SHORTEST_BASE and _rarity(word) < 1) for word in words]
    return sum(known) / len(known) if known else 1.0


def _looks_rare(word: str, language: str) -> float:
    letters = sum(map(str.isalpha, word))
    if any(map(str.isdigit, word)) or (letters < _SHORTEST_WORD and not UNSPACED.match(word)):
        return 0.0
    if any(before.islower() and after.isupper() for before, after in pairwise(word)):
        return STRANGE
    if word[:1].isupper() and not conventions(language).capital_nouns:
        return _NAME
    return TELLING if letters >= _LONG_WORD or UNSPACED.match(word) else _SHORT


@lru_cache(maxsize=4_096)
def _rarity(word: str) -> float:
    ranks = _ranks()
    bases = (base for base in regular_bases(word) if len(base) >= _SHORTEST_BASE)
    rank = min(ranks.get(form, len(ranks)) for form in (word, singular(word), *bases))
    return max(0.0, math.log(rank / _PLAIN) / math.log(len(ranks) / _PLAIN))


@lru_cache(maxsize=1)
def _ranks() -> Mapping[str, int]:
    """Return the whole words that the reader's tokenizer knows, numbered from the most common one on.

    A tokenizer of word pieces lists them by their frequency in what it was made from, which for this one was books and
    an encyclopedia in English. A list of our own would say the same again.
    """
    content = files("quoth.models").joinpath("shipped", "tokenizer.json").read_bytes()
    pieces = _decode(content).model.vocab
    words = (piece for piece in sorted(pieces, key=pieces.__getitem__) if _WORD.fullmatch(piece))
    return {word: rank for rank, word in enumerate(words, 1)}
