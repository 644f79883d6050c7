"""Words as PostgreSQL indexes them: our own analysis and stems, written so that its parser changes nothing.

The default parser splits `6.0-7.0` and `kg/ha` and knows hosts, paths and numbers. A term of ASCII letters and digits
that begins with a letter is one word to it, whatever it stands for; so that is how each stem is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache

import tantivy

from quoth.stores.variants import MAX_GROUPS, alternatives, stemmer, variants
from quoth.stores.weights import norm
from quoth.text.terms import index_terms

_MAX_VECTOR = 1_000_000  # bytes; PostgreSQL refuses a tsvector of 2 ** 20

_UNSAFE = re.compile(r"[^a-y0-9]")
_WRITTEN = re.compile(r"z([0-9a-f]+)z")


@dataclass(frozen=True, slots=True)
class Indexed:
    """A sentence for full text: its lexemes in order, separated by spaces, and how many terms it has."""

    terms: str
    length: int
    norm: int


@dataclass(frozen=True, slots=True)
class Asked:
    """The words of a question, one row for each token: the group, the variant (numbered through) and the lexeme.

    A sentence holds a group when it holds every token of one of its variants. The first variant is the word as asked.
    """

    groups: list[int]
    variants: list[int]
    lexemes: list[str]

    @property
    def plain(self) -> bool:
        """Whether each group is one token."""
        return len(set(self.groups)) == len(self.groups)


def lexeme(stem: str) -> str:
    """`stem` as one word of letters and digits: `z` and any other character become `z`, their code and `z`."""
    return "x" + _UNSAFE.sub(lambda found: f"z{ord(found[0]):x}z", stem)


def stem_of(lexeme: str) -> str:
    """What `lexeme` was given."""
    return _WRITTEN.sub(lambda found: chr(int(found[1], 16)), lexeme[1:])


def indexed(search_text: str) -> Indexed:
    """The terms of a sentence's search text."""
    found = [lexeme(stem) for stem in _analyzer().analyze(index_terms(search_text))]
    return Indexed(" ".join(_fitting(found)), len(found), norm(len(found)))


def asked(groups: Sequence[Sequence[str]]) -> Asked | None:
    """The words of a question; None when nothing in it can be searched for."""
    distinct = dict.fromkeys(alternatives(group, _analyzer()) for group in groups[:MAX_GROUPS])
    rows = Asked([], [], [])
    number = 0
    for place, group in enumerate(filter(None, distinct)):
        for variant in group:
            rows.groups.extend([place] * len(variant))
            rows.variants.extend([number] * len(variant))
            rows.lexemes.extend(map(lexeme, variant))
            number += 1
    return rows if rows.groups else None


def query_of(term: str) -> str | None:
    """A tsquery for the sentences that hold every word of `term`; None where it has no word."""
    held = ["(" + " & ".join(map(lexeme, variant)) + ")" for variant in variants(term, _analyzer())]
    return " | ".join(held) or None


def _fitting(found: Sequence[str]) -> Iterator[str]:
    """As many of the lexemes as one tsvector can hold: all but those of an endless line."""
    size = 0
    seen = set()
    for one in found:
        size += 4  # a place, and what keeps it aligned
        if one not in seen:
            seen.add(one)
            size += len(one) + 8
        if size > _MAX_VECTOR:
            return
        yield one


@cache
def _analyzer() -> tantivy.TextAnalyzer:
    return stemmer()
