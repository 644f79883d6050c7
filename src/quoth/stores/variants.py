"""The words of a question as every store looks them up: in stems, as written and in their parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import tantivy

from quoth.text.terms import words

Variant: TypeAlias = tuple[str, ...]
"""Tokens that a sentence must all hold."""

# A question has a few dozen words. These bounds only keep a pasted book from taking minutes.
MAX_GROUPS = 256
_MAX_ALTERNATIVES = 64
_MAX_TOKENS = 32
_MAX_CHARACTERS = 4096


def stemmer() -> tantivy.TextAnalyzer:
    return tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.whitespace()).filter(tantivy.Filter.stemmer("english")).build()


def alternatives(group: Sequence[str], analyzer: tantivy.TextAnalyzer) -> tuple[Variant, ...]:
    """The variants of a word and of its synonyms, each once."""
    return tuple(dict.fromkeys(variant for term in group[:_MAX_ALTERNATIVES] for variant in variants(term, analyzer)))


def variants(term: str, analyzer: tantivy.TextAnalyzer) -> tuple[Variant, ...]:
    """The ways in which a sentence can hold `term`: as written, or in its parts (`kg/ha`; `kg` and `ha`)."""
    asked = words(term[:_MAX_CHARACTERS])
    whole = _stems([word.whole for word in asked], analyzer)
    parts = _stems([part for word in asked for part in word.parts or (word.whole,)], analyzer)
    return tuple(dict.fromkeys(variant for variant in (whole, parts) if variant))


def _stems(forms: Sequence[str], analyzer: tantivy.TextAnalyzer) -> Variant:
    return tuple(dict.fromkeys(analyzer.analyze(" ".join(forms[:_MAX_TOKENS]))))
