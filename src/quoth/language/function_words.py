"""Function words by language, and the words that a question in a language other than English asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from importlib.resources import files

import msgspec

from quoth.language.conventions import conventions
from quoth.language.stems import QUESTION_WORD, UNSPACED, apart_from_elided, grams, plain_form
from quoth.language.words import FUNCTION_WORDS, fold


@lru_cache(maxsize=1)
def _lists() -> dict[str, str]:
    content = files("quoth.language").joinpath("function_words.yaml").read_bytes()
    return msgspec.yaml.decode(content, type=dict[str, str])


@lru_cache(maxsize=64)
def function_words(language: str) -> frozenset[str]:
    """Return the function words of a language other than English, folded but not stemmed."""
    return frozenset(plain_form(word, language) for word in _lists().get(language, "").split())


def is_function_word(word: str, language: str) -> bool:
    """Return whether a word is a function word, or several with hyphens between them: `est-ce`."""
    if not language:
        return fold(word) in FUNCTION_WORDS
    return function_words(language).issuperset(filter(None, plain_form(word, language).split("-")))


def asked_words(text: str, language: str) -> list[str]:
    """Return the words of a question in a language other than English, without function words; all where no other is.

    Of letters without spaces between words they are the n-grams of what stands between function words.
    """
    pieces = [match[0] for match in QUESTION_WORD.finditer(apart_from_elided(text, language))]
    content = [piece for piece in pieces if not is_function_word(piece, language)]
    words = [word for piece in content for word in _split(piece, language)]
    return list(dict.fromkeys(words or pieces))


def _split(piece: str, language: str) -> Iterator[str]:
    """Yield a run of letters without spaces as n-grams, and what stands beside it as it is."""
    last = 0
    for run in UNSPACED.finditer(piece):
        yield from _bare(piece[last : run.start()])
        last = run.end()
        for part in filter(None, _cuts(language).split(run[0])):
            yield from grams(part)
    yield from _bare(piece[last:]) if last else [piece]


def _bare(beside: str) -> Iterator[str]:
    if bare := beside.strip("-./'&+_"):
        yield bare


@lru_cache(maxsize=16)
def _cuts(language: str) -> re.Pattern[str]:
    """Return a pattern for the function words to cut out of a run; it never matches where spaces part words."""
    shortest = 1 if conventions(language).solid else _SHORTEST_ENDING
    words = [word for word in _lists().get(language, "").split() if UNSPACED.match(word) and len(word) >= shortest]
    return re.compile("|".join(map(re.escape, sorted(words, key=len, reverse=True))) or r"(?!)")


_SHORTEST_ENDING = 3
"""Letters of an ending of a Korean verb; shorter function words are parts of other words too often."""
