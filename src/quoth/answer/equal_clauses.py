"""Equal clauses: sentences in other places that say the same in the same words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from quoth.language.terms import index_terms
from quoth.language.words import FUNCTION_WORDS, NEGATIONS, fold
from quoth.types import Analysis, Sentence

_WITHOUT_MEANING = FUNCTION_WORDS - NEGATIONS
_SHARE = 0.97
"""The least share of words that nearly equal sentences have in common."""
_WORD = re.compile(r"\w+(?:[.,'’-]\w+)*")
_NUMBERED = re.compile(r"\W*(?:\(\w{1,4}\)|\d+(?:\.\d+)+|\w{1,3}[.)])\s+")
"""The number of a clause, which tells its place and not what it says."""


def clause_words(sentence: Sentence) -> tuple[str, ...]:
    """Return the words of a sentence with its lead, folded, without the number that it opens with."""
    lead = _words(sentence.lead.text) if sentence.lead else ()
    return lead + _words(sentence.text)


@lru_cache(maxsize=4_096)  # every sentence that is chosen is compared with all that were found
def _words(text: str) -> tuple[str, ...]:
    return tuple(_WORD.findall(fold(_NUMBERED.sub("", text, count=1))))


def are_equal(first: Sequence[str], second: Sequence[str]) -> bool:
    """Return whether two clauses say the same: in equal words, or but for a few words that carry no meaning."""
    if first == second:
        return bool(first)
    if not set(first) ^ set(second) <= _WITHOUT_MEANING:
        return False  # most end here, before their words are counted
    one, other = Counter(first), Counter(second)
    differing = {*(one - other), *(other - one)}
    shared = 2 * (one & other).total() / max(1, len(first) + len(second))
    return shared >= _SHARE and differing <= _WITHOUT_MEANING


def _may_hold(sentence: Sentence, word: str) -> bool:
    """Return False if a folded word is surely not among the words of a sentence; without folding it, most times."""
    text = _with_lead(sentence)
    return not text.isascii() or "\n" in text or word in text.lower()


def _with_lead(sentence: Sentence) -> str:
    return f"{sentence.lead.text} {sentence.text}" if sentence.lead else sentence.text


def equal_clauses(
    chosen: Sentence, found: Iterable[Sentence], *, analysis: Analysis, in_force: Callable[[Sentence], bool]
) -> tuple[Sentence, ...]:
    """Return the sentences of `found` (best first) that equal `chosen`: the one to quote, then the others by place.

    The question may name a place: then the clause is quoted whose headings hold most of its words. A place that is no
    longer in force does not stand beside one that is, nor in its stead.
    """
    words, length = clause_words(chosen), len(chosen.text)
    whole = fold(_with_lead(chosen))  # where a number was left out between two words, these became one
    longest = max((word for word in words if word not in _WITHOUT_MEANING and word in whole), key=len, default="")
    alike = (other for other in found if abs(len(other.text) - length) <= length // 5 and _may_hold(other, longest))
    equal = {other.id: other for other in (chosen, *alike) if are_equal(words, clause_words(other))}
    if len(equal) < 2:
        return (chosen,)
    asked = {term for group in analysis.terms for form in group for term in index_terms(form).split()}

    def named(sentence: Sentence) -> int:
        return len(asked & set(index_terms("\n".join(sentence.section)).split()))

    valid = list(filter(in_force, equal.values())) or list(equal.values())
    first = max(valid, key=named)
    others = (other for other in valid if other is not first)
    by_place = sorted(others, key=lambda other: (other.doc_id != first.doc_id, other.doc_id, other.quote.span))
    return first, *by_place
