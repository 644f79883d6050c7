"""What a text states in numbers, spelled ones and counts included: `six (6) feet`, `two weeks`, `12 characters`.

`levelled` gives a text in which only the letters and spaces of the original are changed, never its length: every offset
in it is one of the original.
"""

from __future__ import annotations

import re

from quoth.text.fold import singular
from quoth.text.quantities import quantities
from quoth.text.words import FUNCTION_WORDS
from quoth.types import Quantity, Span

COUNT = "count:"
"""Dimensions of counts begin with it; what is counted follows."""

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
)
_VALUES = {word: value for value, word in enumerate(_SMALL.split())}
_VALUES |= {
    word: 10 * value for value, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)
}
_SCALES = {"hundred": 100, "thousand": 1_000, "million": 1_000_000}
_WORD = rf"(?:{'|'.join(sorted((*_VALUES, *_SCALES), key=len, reverse=True))})"
_SPELLED = re.compile(rf"\b(?P<words>{_WORD}(?:(?:[\s-]|\sand\s){_WORD})*)\b(?:\s?\((?P<digits>\d[\d,]*)\))?")
_PRONOUN = re.compile(r"\s+(?:of|or|another|who|that|which|time)\b|\s*[.,;]")  # `one of them`, `at any one time`
_CAPITAL_UNIT = re.compile(r"(?P<sign>[°º]|\bdegrees? )(?P<letter>[cf])\b|\bph\b")
_COUNTED = re.compile(
    r"(?<![\w.,/$€£§#-])(?P<low>\d+(?:,\d{3})*)(?:\s?(?:-|–|to)\s?(?P<high>\d+(?:,\d{3})*))?(?=\s)"
    r"(?P<nouns>(?:\s(?!and\b|or\b)[a-z][a-z-]+){1,3})"
)


def levelled(text: str) -> str:
    """`text` in small letters and one line, without emphasis, its spelled numbers in figures; of the same length."""
    lowered = text.lower()
    if len(lowered) != len(text):  # `İ` has two small letters
        lowered = "".join(one.lower() if len(one.lower()) == 1 else one for one in text)
    plain = re.sub(r"[\s*_>“”\"]", " ", lowered).replace("’", "'")
    plain = _CAPITAL_UNIT.sub(lambda unit: unit["sign"] + unit["letter"].upper() if unit["letter"] else "pH", plain)
    return _SPELLED.sub(_in_figures, plain.replace(" set back ", " setback  "))


def stated(level: str) -> tuple[Quantity, ...]:
    """The quantities and the counts in a levelled text, in order; a count has what is counted for its dimension."""
    measured = quantities(level)
    counted = [
        one
        for match in _COUNTED.finditer(level)
        if (one := _count(match)) is not None and not any(_overlap(one.span, other.span) for other in measured)
    ]
    return tuple(sorted((*measured, *counted), key=lambda one: one.span))


def _overlap(one: Span, other: Span) -> bool:
    return one.start < other.end and other.start < one.end


def _count(match: re.Match[str]) -> Quantity | None:
    nouns = [word for word in match["nouns"].split() if word not in FUNCTION_WORDS]
    if not nouns or match["nouns"].split()[0] != nouns[0]:
        return None
    # `household pets`, `square feet`: the word in the plural is what is counted.
    place = next((at for at, word in enumerate(nouns) if re.search(r"[^s]s$|^feet$", word)), 0)
    low = int(match["low"].replace(",", ""))
    high = int((match["high"] or match["low"]).replace(",", ""))
    name = " ".join((*nouns[:place], singular(nouns[place]))) if nouns[0] == "square" else singular(nouns[place])
    end = match.start("nouns") + match["nouns"].index(nouns[place]) + len(nouns[place])
    return Quantity(Span(match.start(), end), min(low, high), max(low, high), COUNT + name)


def _in_figures(match: re.Match[str]) -> str:
    """The number in figures, filled up with zeros in front so that nothing moves."""
    if match["digits"]:
        figures = match["digits"].replace(",", "")
    else:
        if match["words"] == "one" and _PRONOUN.match(match.string, match.end()):
            return match[0]
        figures = str(_value(re.findall(_WORD, match["words"])))
    return figures.rjust(len(match[0]), "0") if len(figures) <= len(match[0]) else match[0]


def _value(words: list[str]) -> int:
    total = current = 0
    for word in words:
        if word in _VALUES:
            current += _VALUES[word]
        elif word == "hundred":
            current = max(current, 1) * 100
        else:
            total, current = total + max(current, 1) * _SCALES[word], 0
    return total + current
