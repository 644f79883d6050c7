"""What a word of a question is worth, by one rule for every index that scores as tantivy does."""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Collection, Sequence
from functools import cache, lru_cache
from itertools import accumulate
from typing import TypeAlias

import tantivy

from quoth.language.stems import STEMS_VERSION, index_stems, stemmed_words, word_language
from quoth.language.terms import ANALYSIS_VERSION, index_terms, words

Variant: TypeAlias = tuple[str, ...]
"""Tokens that a sentence must all hold."""

# A question has a few dozen words. These bounds only keep a pasted book from taking minutes.
_MAX_GROUPS = 256
_MAX_ALTERNATIVES = 64
_MAX_TOKENS = 32
_MAX_CHARACTERS = 4096
_USUAL_CHARACTERS = 64
"""Longer terms are not kept, so that those that are take little memory."""


@cache
def stemmer() -> tantivy.TextAnalyzer:
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).filter(tantivy.Filter.stemmer("english")).build()


def analysis_version(languages: Collection[str]) -> int:
    """Return the version of what makes the words of documents in these languages."""
    return WITH_OTHERS if any(map(word_language, languages)) else ANALYSIS_VERSION


PER_VERSION = 1_000
WITH_OTHERS = PER_VERSION * STEMS_VERSION + ANALYSIS_VERSION
"""The version of an index that holds documents in languages other than English."""


def stems_of(search_text: str, language: str) -> Sequence[str]:
    """Return the stems that full text indexes of a sentence in a language of `word_languages`, in any order."""
    if language:
        return index_stems(search_text, language)
    found: Sequence[str] = stemmer().analyze(index_terms(search_text))
    return found


def asked(groups: Sequence[Sequence[str]], languages: Sequence[str]) -> tuple[tuple[Variant, ...], ...]:
    """Return the variants of each group, which is a word and its synonyms: each group once, and none without words."""
    found = dict.fromkeys(_group_variants(group, languages) for group in groups[:_MAX_GROUPS])
    return tuple(filter(None, found))


def _group_variants(group: Sequence[str], languages: Sequence[str]) -> tuple[Variant, ...]:
    return tuple(dict.fromkeys(variant for term in group[:_MAX_ALTERNATIVES] for variant in variants(term, languages)))


def variants(term: str, languages: Sequence[str]) -> tuple[Variant, ...]:
    """Return the ways a sentence can hold `term`: as written, or in parts (`kg/ha`; `kg` and `ha`), by language."""
    made = _kept_variants if len(term) <= _USUAL_CHARACTERS else _variants
    found = (variant for language in languages for variant in made(term[:_MAX_CHARACTERS], language))
    return tuple(dict.fromkeys(filter(None, found)))


def _variants(term: str, language: str) -> tuple[Variant, Variant]:
    asked = stemmed_words(term, language) if language else words(term)
    whole = [word.whole for word in asked][:_MAX_TOKENS]
    parts = [part for word in asked for part in word.parts or (word.whole,)][:_MAX_TOKENS]
    return (_distinct(whole), _distinct(parts)) if language else (_stems(whole), _stems(parts))


_kept_variants = lru_cache(maxsize=16_384)(_variants)
"""A question looks its words up several times, and questions share most of their words."""


def _stems(forms: Sequence[str]) -> Variant:
    return _distinct(stemmer().analyze(" ".join(forms)))


def _distinct(tokens: Sequence[str]) -> Variant:
    return tuple(dict.fromkeys(tokens))


def idf(evidence: int, held: int) -> float:
    """Return the inverse document frequency of what `held` of all `evidence` sentences hold."""
    return math.log(1 + (evidence - held + 0.5) / (held + 0.5))


def weigh(
    variants: Sequence[Variant], evidence: int, *, held: Callable[[Variant], int]
) -> tuple[dict[Variant, float], float]:
    """Return the boost of each variant of a group that occurs, and the most that the group is worth.

    That is the idf of the word as asked, where it occurs. A synonym is never worth more than the word it stands for,
    or a rare one would outweigh the question.
    """
    occurring = {variant: found for variant in variants if (found := held(variant)) > 0}
    if not occurring:
        return {}, idf(evidence, 0)
    worth = idf(evidence, occurring.get(variants[0]) or max(occurring.values()))
    boosts = {}
    for variant, found in occurring.items():
        natural = sum(idf(evidence, held((token,))) for token in variant)
        boosts[variant] = min(worth, idf(evidence, found)) / natural
    return boosts, worth


_NORMS: tuple[int, ...] = tuple(accumulate([0] + [1] * 40 + [2**octave for octave in range(1, 28) for _ in range(8)]))


def norm(length: int) -> int:
    """Return `length` as tantivy keeps it in one byte: exact up to 40, then in ever larger steps."""
    return _NORMS[bisect.bisect_right(_NORMS, length) - 1]
