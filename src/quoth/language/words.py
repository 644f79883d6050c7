"""Words: how they are folded for comparison, how many tokens they make, and which carry no content.

A folded string has other offsets than its source and is never quoted.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.resources import files

import msgspec

from quoth.types import unbroken

# With the vowel signs of Hebrew and Arabic, which are written or left out, and what only stretches a word.
_MARKS = re.compile(
    r"[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c7\u0640\u064b-\u065f\u0670\u1ab0-\u1aff\u1dc0-\u1dff"
    r"\u20d0-\u20ff\ufe20-\ufe2f]+"
)
# Letters that are variants of a plain one but do not decompose to it.
_PLAIN = str.maketrans(
    {"ı": "i", "ø": "o", "đ": "d", "ł": "l", "æ": "ae", "œ": "oe", "’": "'", "‘": "'", "‐": "-", "‑": "-"}
    | {"ى": "ي", "ی": "ي", "ک": "ك"}
)


def fold(text: str) -> str:
    """Return `text` without case, accents and typographic variants: `Eskişehir` becomes `eskisehir`."""
    text = unbroken(text)
    if text.isascii():
        return text.casefold()
    return _MARKS.sub("", unicodedata.normalize("NFKD", text).casefold().translate(_PLAIN))


Compounds = tuple[tuple[str, str], ...]
"""Pairs of words with the one word that means the same and is shorter: `("set back", "setback")`."""


def joined_compounds(text: str, compounds: Compounds) -> str:
    """Return `text` with each compound as one word, filled up with spaces so that no offset changes."""
    for words, joined in compounds:
        text = text.replace(f" {words} ", f" {joined} ".ljust(len(words) + 2))
    return text


@lru_cache(maxsize=65_536)
def singular(word: str) -> str:
    """Return a folded word without its plural or possessive ending; crude, but equal on both sides of a comparison."""
    word = word.removesuffix("'s").removesuffix("'")
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ses", "xes", "zes", "ches", "shes", "oes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


_ENDINGS = (
    ("iest", ("y",)),
    ("ier", ("y",)),
    ("est", ("", "e")),
    ("er", ("", "e")),
    ("ies", ("y",)),
    ("es", ("e", "")),
    ("s", ("",)),
    ("ied", ("y",)),
    ("ed", ("e", "")),
    ("ing", ("", "e")),
    ("n", ("",)),
)
"""Endings of regular forms, and what the base may have in their place."""


def regular_bases(word: str) -> Iterator[str]:
    """Yield what a folded word may be a form of: `raise` for `raised`, `sow` for `sown`; not all of it are words."""
    for ending, replacements in _ENDINGS:
        stem = word.removesuffix(ending)
        if stem != word:
            yield from (stem + replacement for replacement in replacements)
            if stem[-1:] == stem[-2:-1]:  # biggest
                yield stem[:-1]


_NOUNS = ("al", "ment", "ation", "able")
"""Endings that make another word of a short one: rental, shipment, plantation, readable. Stemming only knows those of
long ones (approve, approval)."""
_SHORTEST_BASE = 4
"""Letters: a rotation is not about rot."""


def relatives(word: str) -> Iterator[str]:
    """Yield words with the base of a folded word: `rental` for `rent` and the other way; not all of it are words."""
    bases = {word, *([word[:-1]] if word.endswith("e") else [])}
    yield from (base + ending for base in sorted(bases) if len(base) >= _SHORTEST_BASE for ending in _NOUNS)
    stems = (word.removesuffix(ending) for ending in _NOUNS if word.endswith(ending))
    yield from (stem + last for stem in stems if len(stem) >= _SHORTEST_BASE for last in ("", "e"))


def listed(texts: Sequence[str], joint: str) -> str:
    """Return `texts` as a list for people; with the joint `and`: `a, b and c`."""
    return f" {joint} ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


_LISTS = msgspec.yaml.decode(files("quoth.language").joinpath("word_lists.yaml").read_bytes(), type=dict[str, str])


def word_list(name: str) -> frozenset[str]:
    """Return a list of `word_lists.yaml`. A comment there says what the list is for."""
    return frozenset(_LISTS[name].split())


NEVER_LAST = word_list("never_last")
BEFORE_A_NUMBER = word_list("before_a_number")
MAY_BE_LAST = word_list("may_be_last")
COMPANY_FORMS = word_list("company_forms")
MONTHS = word_list("months")
TIME_NAMES = word_list("time_names")
SENTENCE_STARTERS = word_list("sentence_starters")
NEGATIONS = word_list("negations")
SPEECH_VERBS = word_list("speech_verbs")
FUNCTION_WORDS = word_list("function_words")
GERMAN_WORDS = word_list("german_words")
POLAR_OPENERS = word_list("polar_openers")
CONDITIONALS = word_list("conditionals")
FIXED_PAIRS = word_list("fixed_pairs")

CONTRACTIONS = {
    "can't": "cannot",
    "won't": "will not",
    **{f"{word}'s": f"{word} is" for word in ("what", "who", "where", "when", "how", "that", "there", "it")},
    **{"n't": " not", "'re": " are", "'ve": " have", "'ll": " will", "i'm": "i am", "'d": " would"},
}

_TOKEN = re.compile(r"[^\W\d_]+|\d{1,3}|[^\w\s]|_")
_WHOLE_WORD = 8
"""A word counts as one token for every so many letters that it has, or has begun."""


def count_tokens(text: str) -> int:
    """Return the estimated number of tokens of `text`, the same for every model.

    On English prose it is within a tenth of what MiniLM's own tokenizer counts. Passages must not depend on a model.
    """
    return sum(1 + (len(token) - 1) // _WHOLE_WORD for token in _TOKEN.findall(text))
