"""Words as PostgreSQL indexes them: our own analysis and stems, written so that its parser changes nothing.

The default parser splits `6.0-7.0` and `kg/ha` and knows hosts, paths and numbers. A term of ASCII letters and digits
that begins with a letter is one word to it, whatever it stands for; so that is how each stem is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from quoth.stores.query_terms import asked, norm, stems_of, variants

_MAX_VECTOR = 1_000_000  # bytes; PostgreSQL refuses a tsvector of 2 ** 20

_UNSAFE = re.compile(r"[^a-y0-9]")


@dataclass(frozen=True, slots=True)
class SentenceTerms:
    """A sentence for full text: its lexemes in order, separated by spaces, and how many terms it has."""

    terms: str
    length: int
    norm: int


@dataclass(frozen=True, slots=True)
class QueryLexemes:
    """The words of a question, a row per token: its group, its variant (numbered throughout) and its lexeme.

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
    """Write `stem` as one word of letters and digits: `z` and others become `z`, their code and `z`."""
    return "x" + _UNSAFE.sub(lambda found: f"z{ord(found[0]):x}z", stem)


def sentence_terms(search_text: str) -> SentenceTerms:
    """Return the terms of a sentence's search text."""
    found = [lexeme(stem) for stem in stems_of(search_text)]
    return SentenceTerms(" ".join(_fitting(found)), len(found), norm(len(found)))


def query_lexemes(groups: Sequence[Sequence[str]]) -> QueryLexemes | None:
    """Return the words of a question; None if it has no words to search for."""
    rows = QueryLexemes([], [], [])
    variant_number = 0
    for number, group in enumerate(asked(groups)):
        for variant in group:
            rows.groups.extend([number] * len(variant))
            rows.variants.extend([variant_number] * len(variant))
            rows.lexemes.extend(map(lexeme, variant))
            variant_number += 1
    return rows if rows.groups else None


def term_query(term: str) -> str | None:
    """A tsquery for the sentences that hold every word of `term`; None where it has no word."""
    held = ["(" + " & ".join(map(lexeme, variant)) + ")" for variant in variants(term)]
    return " | ".join(held) or None


def _fitting(found: Sequence[str]) -> Iterator[str]:
    """Yield as many lexemes as a tsvector can hold; only an extremely long sentence loses some."""
    size = 0
    seen = set()
    for lexeme in found:
        size += 4  # a position, and what keeps it aligned
        if lexeme not in seen:
            seen.add(lexeme)
            size += len(lexeme) + 8
        if size > _MAX_VECTOR:
            return
        yield lexeme
