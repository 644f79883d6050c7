"""Opposites: words of a question where the evidence has just the opposite word."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from functools import lru_cache
from importlib.resources import files

from quoth.language.words import POLAR_OPENERS, fold, regular_bases

_WORD = re.compile(r"[^\W\d_]+")
_EITHER_WAY = re.compile(r"\b(?:than|differ\w*|compar\w*)\b")
"""A comparison is answered by a sentence with either word."""
_MEASURE = re.compile(r"\bhow [^\W\d_]+")
"""`How deep is it?` is asked of shallow waters as well."""
_ORDER = re.compile(
    r"\b(?:before|after) (?:(?:the|an?|its|their|your|my|our|his|her|this|that|each|every|any|all"
    r"|i|you|he|she|we|they|it|is|are|was|were|\d+) )*([^\W\d_]+)"
)
"""`Rest before racing` and `race after resting` say the same: the two oppose only in front of the same word."""


def opposed_words(question: str, evidence: str) -> tuple[tuple[str, str], ...]:
    """Return words of the question that the evidence lacks, each with an opposite that it has instead.

    Empty where the opposite decides the matter as well: `Is it allowed?` is answered by `It is denied`, a statement by
    what refutes it, a question for the one or the other by either. Forms of a word are the same word.
    """
    asked = fold(question)
    if asked.rstrip().endswith(".") or asked.partition(" ")[0] in POLAR_OPENERS or _EITHER_WAY.search(asked):
        return ()
    stated = fold(evidence)
    wanted, present = _by_base(_MEASURE.sub("", asked)), _by_base(stated)
    asked_of, stated_of = _followers(asked), _followers(stated)
    if asked_of and stated_of and asked_of.isdisjoint(stated_of):
        wanted = {base: word for base, word in wanted.items() if base not in {"before", "after"}}
    found: dict[str, str] = {}
    for base, word in wanted.items():
        instead = [other for other in _lexicon()[0][base] if other in present and other not in wanted]
        if instead and not any(same in present for same in _bases(word)):
            found.setdefault(word, present[instead[0]])
    return tuple(found.items())


def are_opposites(first: str, second: str) -> bool:
    """Return whether two folded words are opposites, in any form: `maximum` and `minimum`."""
    return any(other in _lexicon()[0][base] for base in _bases(first) for other in _bases(second))


def _followers(folded: str) -> set[str]:
    """Return what stands behind `before` and `after`, with what it may be a form of."""
    return {base for word in _ORDER.findall(folded) for base in (word, *regular_bases(word))}


def _by_base(folded: str) -> dict[str, str]:
    """Return the words that have an opposite by each of their bases; where two share one, the first."""
    return {base: word for word in reversed(_WORD.findall(folded)) for base in _bases(word)}


@lru_cache(maxsize=65_536)
def _bases(word: str) -> tuple[str, ...]:
    """Return the words with an opposite that `word` may be a form of: `raised` and `raise`."""
    opposites, irregular = _lexicon()
    possible = (word, *([irregular[word]] if word in irregular else []), *regular_bases(word))
    return tuple(base for base in possible if base in opposites)


@lru_cache(maxsize=1)
def _lexicon() -> tuple[Mapping[str, tuple[str, ...]], Mapping[str, str]]:
    """Return the opposites of each word, and the bases of irregular forms."""
    opposites: dict[str, list[str]] = defaultdict(list)
    irregular: dict[str, str] = {}
    lines = files("quoth.language").joinpath("opposites.txt").read_text(encoding="utf-8").splitlines()
    for line in lines:
        match line.split():
            case ["#", *_] | []:
                continue
            case [form, "<", base]:
                irregular[form] = base
            case [first, second]:
                opposites[first].append(second)
                opposites[second].append(first)
    return {word: tuple(found) for word, found in opposites.items()}, irregular
