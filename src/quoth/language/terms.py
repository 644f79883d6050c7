"""Words as full text compares them: case and accents folded; numbers, ranges, units and codes findable.

A written form such as `6.0-7.0`, `kg/ha` or `4.2(b)(i)` is kept whole and given in its parts as well, so that asking
for either finds it. Stemming is left to the full-text engine. The same analysis serves the index and the question.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from quoth.language.words import fold

ANALYSIS_VERSION = 1
"""Changes when the same text would be indexed otherwise (here, in `fold`, or as a sentence's search text), so that an
index knows to make its full text again."""

MAX_FORM = 256  # characters; engines refuse endless terms, and nobody asks for one


@dataclass(frozen=True, slots=True)
class Word:
    """One written form: `whole`, and its `parts` where it has more than one."""

    whole: str
    parts: tuple[str, ...]

    @property
    def forms(self) -> tuple[str, ...]:
        return (self.whole, *self.parts)


def words(text: str) -> list[Word]:
    """Return the words of `text` in order, folded."""
    return [_word(written) for written in _WRITTEN.findall(_plain(text))]


def index_terms(text: str) -> str:
    """Return every form of every word of `text`, separated by spaces."""
    terms: list[str] = []
    for run in _plain(text).split():
        bare = run.strip(_AROUND)
        if bare.isalpha() and bare.isascii() and len(bare) <= MAX_FORM:
            terms.append(bare)  # most runs are one plain word, and need no closer look
        else:
            for written in _WRITTEN.findall(run):
                terms.extend(_word(written).forms)
    return " ".join(terms)


def _plain(text: str) -> str:
    if text.isascii():
        return fold(text)
    return fold(apart_from_raised(text)).translate(_TWINS)


def apart_from_raised(text: str) -> str:
    """Return `text` with a space before raised digits and fractions, unless they are the exponent of a unit."""
    return _RAISED.sub(_apart, text)


def _apart(raised: re.Match[str]) -> str:
    """Keep the exponent of a short unit (`m²` is `m2`); part a note from its word and a power from its number."""
    before = raised.string[max(0, raised.start() - 3) : raised.start()]
    exponent = raised[0] in _EXPONENTS and before[-1:].isalpha() and not (len(before) == 3 and before.isalpha())
    return raised[0] if exponent else " " + raised[0]


_AROUND = ".,;:()[]\"'!?"

_EXPONENTS = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_RAISED = re.compile(f"[{_EXPONENTS}¼-¾⅐-⅞]")  # `2½` must not become `21/2`

# What folding leaves apart: more dashes, quotes and letters, and the invisible characters of typesetting.
_TWINS = str.maketrans(
    {
        **dict.fromkeys("‒–−", "-"),
        **dict.fromkeys("ʼ′", "'"),
        **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", None),
        **{"ð": "d", "þ": "th", "⁄": "/"},
    }
)

# Chinese and Japanese write no spaces between words: each sign counts as a word.
_SIGN = r"\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_RUN = rf"[^\W_{_SIGN}]+"
_WRITTEN = re.compile(
    rf"[{_SIGN}]"
    rf"|(?:(?<![^\W_])\.(?=\d))?{_RUN}"  # `.5` is a number
    rf"(?:[-./'&@_]{_RUN}"
    rf"|(?<=\d)[,:]\d+{_RUN[:-1]}*"  # `1,000`, `2,4-D`, `10:30`
    rf"|(?<=[\d)])\([^\W_]{{1,4}}\)"  # `4.2(b)(i)`
    r")*"
)

_THOUSANDS = re.compile(r"(?<![\d,.])\d{1,3}(?:,\d{3})+(?![\d,])")
_PART = re.compile(r"\d+(?:\.\d+)*|[^\W_]+")

# `e-mail` is `email`, `U.S.` is `us` and `COVID-19` is `covid19`, but `6.0-7.0` stays as it is.
_JOINT = re.compile(r"(?<=[^\W\d_])[-.]|[-.](?=[^\W\d_])")


@lru_cache(maxsize=16_384)
def _word(written: str) -> Word:
    plain = written.removesuffix("'s").replace("'", "")
    if plain.startswith("."):
        plain = "0" + plain
    plain = _THOUSANDS.sub(lambda number: number[0].replace(",", ""), plain)
    whole = _JOINT.sub("", plain)[:MAX_FORM]
    parts = tuple(part[:MAX_FORM] for part in _PART.findall(plain))
    return Word(whole, () if parts == (whole,) else parts)
