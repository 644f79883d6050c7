"""Quantities in a text: numbers, spelled numbers and ranges with their units, comparable across units; and counts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from quoth.language.conventions import conventions
from quoth.language.figures import english_figures
from quoth.language.numbering import NUMBER_WORDS, SCALES
from quoth.language.words import FUNCTION_WORDS, singular
from quoth.types import Quantity, Span


class Unit(NamedTuple):
    """`value * factor + offset` is the value in the dimension's base unit."""

    dimension: str
    factor: float
    offset: float = 0.0


_FACTORS = """
length: 0.001 mm millimeter millimetre; 0.01 cm centimeter centimetre; 1 m meter metre; 1000 km kilometer kilometre
length: 0.0254 in inch inches "; 0.3048 ft foot feet; 0.9144 yd yard; 1609.344 mi mile
mass: 1e-6 mg milligram; 0.001 g gram; 1 kg kilogram kilo; 1000 t tonne mt
mass: 907.18474 ton; 0.45359237 lb pound; 0.028349523 oz ounce; 45.359237 cwt
area: 1 m2 m² sqm; 10000 ha hectare; 4046.8564 ac acre; 0.09290304 ft2 ft² sqft
volume: 0.001 ml mL millilitre milliliter; 1 l L litre liter; 1000 m3 m³
volume: 3.785411784 gal gallon; 0.946352946 qt quart; 0.473176473 pt pint
bushel: 1 bu bushel
time: 1 s sec second; 60 min minute; 3600 h hr hour; 86400 d day; 604800 wk week
month: 1 month mo; 12 yr year
share: 1 % percent per-cent pct
pressure: 1 kPa kpa kilopascal; 6.894757 psi; 100 bar
ppm: 1 ppm
power: 1 kW kw kilowatt; 0.745699872 hp horsepower
energy: 1 kWh kwh
dollar: 1 $ dollar usd USD
euro: 1 € euro eur EUR
sterling: 1 £ gbp GBP
ph: 1 pH ph
"""
"""For each dimension, the factor to its base unit before the names of a unit."""
UNITS = {
    name: Unit(dimension, float(factor))
    for dimension, units in (line.split(":") for line in _FACTORS.strip().splitlines())
    for factor, *names in map(str.split, units.split(";"))
    for name in names
}
UNITS |= dict.fromkeys(("°C", "ºC", "℃", "celsius"), Unit("temperature", 1.0))
UNITS |= dict.fromkeys(("°F", "ºF", "℉", "fahrenheit"), Unit("temperature", 5 / 9, -160 / 9))
_PREFIX_UNITS = ("$", "€", "£", "pH")
"""Units that stand before their number."""

_FRACTION = r"(?:\d+[\s-])?\d{1,2}/(?:2|3|4|8|16|32)(?!\d)|(?:\d+\s?)?[¼-¾⅓⅔⅛-⅞]"
_NUMBER = rf"(?:{_FRACTION}|\d+(?:,\d{{3}})*(?:\.\d+)?)"
_BELOW_ZERO = r"(?:(?<![^\s(])[-−])?"
# A dash on a new line begins a list item; it makes no range with the number that ends the line before.
_TO = r"(?:[^\S\r\n]?[-–—]|\s?(?:to|and))\s?"
_RANGE = rf"(?P<low>{_BELOW_ZERO}{_NUMBER})(?:{_TO}(?P<high>{_BELOW_ZERO}{_NUMBER}))?"
_WORDS = sorted((name for name in UNITS if name not in {"$", "€", "£", '"', "pH", "ph", "in"}), key=len, reverse=True)
# `in` is an inch only where no word follows: not in `3 in Ohio`. A `"` is one only where it closes no quotation.
_UNIT = rf"(?:(?:{'|'.join(map(re.escape, _WORDS))})(?:s|es)?\.?|(?<=\d)\"(?=[\s)/x×-])|in(?!\s?\w)\.?)"
_DEGREES = r"degrees?\s(?P<scale>[CF]|Celsius|Fahrenheit)"
# What the amount is of may stand inside the unit: `150 lb N/acre`, `20 kg of P2O5 per ha`.
_SUBSTANCE = r"(?:\s(?:of\s)?(?:actual\s)?[A-Z][A-Za-z0-9]{0,4})?"
_PER = rf"(?P<unit>{_UNIT})(?:{_SUBSTANCE}\s?(?:/|\bper\b)\s?(?P<per>{_UNIT})(?!\w))?"
# Contracts write `forty-five (45) days`. The 810 of `MON-810` is no number of its own.
_AFTER = re.compile(rf"(?<![\w.,/])(?<![^\W\d_]-){_RANGE}\)?(?:\s|-)?(?:{_DEGREES}|{_PER})(?!\w)")
_DECADE = re.compile(r"(?:1\d|20)\d0s$")  # `the 1980s` are no seconds
_BEFORE = re.compile(rf"(?<!\w)(?P<unit>{'|'.join(map(re.escape, _PREFIX_UNITS))})\s?(?:of\s)?{_RANGE}(?![\w%])")


def quantities(text: str, language: str | None = None) -> tuple[Quantity, ...]:
    """Return the quantities in `text`, in order, as its language writes them; as English does without one."""
    rules = conventions(language)
    if rules.english:
        patterns, units = (_AFTER, _BEFORE), UNITS
    else:
        text = english_figures(text, rules)
        patterns, units = _patterns(rules.code or ""), _units(rules.code or "")
    read = (_quantity(match, units) for pattern in patterns for match in pattern.finditer(text))
    found = (quantity for quantity in read if quantity is not None)
    return _in_order(found if rules.english else (quantity for quantity in found if not _is_year(quantity)))


def _is_year(quantity: Quantity) -> bool:
    """Return whether a number of years is a year: `2008年`."""
    return quantity.dimension == "month" and quantity.low >= 12 * 1_000


def quantities_in(text: str, languages: Iterable[str]) -> tuple[Quantity, ...]:
    """Return the quantities that a text states in one of these languages, each once, in order."""
    found = {quantity for language in languages for quantity in quantities(text, language)}
    return tuple(sorted(found, key=lambda quantity: (quantity.span, quantity.dimension, quantity.low)))


@cache
def _units(code: str) -> dict[str, Unit]:
    own = conventions(code).units
    return UNITS | {form: UNITS[unit] for name, unit in own.items() for form in (name, name.lower())}


_LONG_NAME = 4
"""Letters of a name of a unit that other endings may follow: `Jahren`, `kilometrelik`."""


@cache
def _patterns(code: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return patterns for quantities in a language that is not English, for a text in English figures."""
    rules = conventions(code)
    names = sorted(_units(code).keys() - {"$", "€", "£", '"', "pH", "ph", "in"}, key=len, reverse=True)
    long = "|".join(re.escape(name) for name in names if len(name) >= _LONG_NAME and name.isalpha())
    short = "|".join(re.escape(name) for name in names if len(name) < _LONG_NAME or not name.isalpha())
    # Where words stand without blanks, a number and a unit end between any two signs of the script.
    edge, behind = (r"[0-9A-Za-z_]", r"(?![A-Za-z0-9_])") if rules.solid or not rules.starters else (r"\w", r"(?!\w)")
    behind = r"(?![A-Za-z0-9_])" if code == "ko" else behind
    behind += r"(?!\s(?:1\d|20)\d\d(?!\d))"  # a year: of `tháng 10 năm 1990`, ten is no number of years
    ending = "" if rules.solid else r"\w{0,4}"
    unit = rf"(?:(?i:{long}){ending}|(?:{short}))\.?|[€$£]"
    between = "|".join(map(re.escape, rules.between)) or "-"
    to = rf"(?:[^\S\r\n]?[-–—~～]|\s?(?:{between}))\s?"
    span = rf"(?P<low>{_BELOW_ZERO}{_NUMBER})(?:{to}(?P<high>{_BELOW_ZERO}{_NUMBER}))?"
    per = rf"(?P<unit>{unit})(?:\s?/\s?(?P<per>{unit}))?{behind}"
    after = rf"(?<!{edge})(?<![.,/月월])(?<![月월]\s)(?<![A-Za-z]-){span}(?:\s|-)?{per}"
    before = rf"(?<!{edge})(?P<unit>[$€£%]|pH\b)\s?{span}(?![{edge[1:-1] if edge[0] == '[' else edge}%])"
    return re.compile(after), re.compile(before)


def _in_order(found: Iterable[Quantity]) -> tuple[Quantity, ...]:
    return tuple(sorted(found, key=lambda quantity: quantity.span))


def same_quantity(first: Quantity, second: Quantity) -> bool:
    """Return whether two quantities agree, or one end of a range does. 2% allows for rounded conversions."""
    if first.dimension != second.dimension:
        return False
    return any(
        abs(a - b) <= 0.02 * max(abs(a), abs(b)) for a in (first.low, first.high) for b in (second.low, second.high)
    )


def _quantity(match: re.Match[str], units: dict[str, Unit]) -> Quantity | None:
    groups = match.groupdict()
    if _DECADE.search(match[0]):
        return None
    unit = _unit(f"°{groups['scale'][0].upper()}" if groups.get("scale") else groups["unit"], units)
    if unit is None:
        return None
    if groups.get("per"):
        if (per := _unit(groups["per"], units)) is None:
            return None
        unit = Unit(f"{unit.dimension}/{per.dimension}", unit.factor / per.factor)
    low = _value(groups["low"], unit)
    high = _value(groups["high"], unit) if groups["high"] else low
    return Quantity(Span(match.start(), match.end()), min(low, high), max(low, high), unit.dimension)


def _unit(name: str, units: dict[str, Unit]) -> Unit | None:
    name = name.rstrip(".")
    forms = [name, name.removesuffix("s"), name.removesuffix("es")]
    if units is not UNITS:
        forms += [name[:length] for length in range(len(name) - 1, _LONG_NAME - 1, -1)]
    for form in forms:
        if (unit := units.get(form) or units.get(form.lower())) is not None:
            return unit
    return None


def _value(number: str, unit: Unit) -> float:
    """Return a number as written (`2,500`, `1 1/2`, `2½`, `-5`) in the unit's base."""
    size = 0.0
    for part in re.findall(r"\d+/\d+|\d+(?:\.\d+)?|[^\d\s-]", number.replace(",", "").lstrip("-−")):
        whole, _, divisor = part.partition("/")
        size += int(whole) / int(divisor) if divisor else unicodedata.numeric(part) if len(part) == 1 else float(part)
    return (-size if number[0] in "-−" else size) * unit.factor + unit.offset


COUNT = "count:"
"""The prefix of the dimension of a count; what is counted follows."""

_WORD = rf"(?:{'|'.join(sorted((*NUMBER_WORDS, *SCALES), key=len, reverse=True))})"
_SPELLED = re.compile(rf"\b(?P<words>{_WORD}(?:(?:[\s-]|\sand\s){_WORD})*)\b(?:\s?\((?P<digits>\d[\d,]*)\))?")
_PRONOUN = re.compile(r"\s+(?:of|or|another|who|that|which|time)\b|\s*[.,;]")  # `one of them`, `at any one time`
_CAPITAL_UNIT = re.compile(r"(?P<sign>[°º]|\bdegrees? )(?P<letter>[cf])\b|\bph\b")
_COUNTED = re.compile(
    r"(?<![\w.,/$€£§#-])(?P<low>\d+(?:,\d{3})*)(?:\s?(?:-|–|to)\s?(?P<high>\d+(?:,\d{3})*))?(?=\s)"
    r"(?P<nouns>(?:\s(?!and\b|or\b)[a-z][a-z-]+){1,3})"
)


def normalise_numbers(text: str) -> str:
    """Return `text` in lower case on one line, without emphasis, spelled numbers in figures; no offset changes."""
    lowered = text.lower()
    if len(lowered) != len(text):  # `İ` has two small letters
        lowered = "".join(letter.lower() if len(letter.lower()) == 1 else letter for letter in text)
    plain = re.sub(r"[\s*_>“”\"]", " ", lowered).replace("’", "'")
    plain = _CAPITAL_UNIT.sub(lambda unit: unit["sign"] + unit["letter"].upper() if unit["letter"] else "pH", plain)
    return _SPELLED.sub(_in_figures, plain)


def stated_quantities(level: str) -> tuple[Quantity, ...]:
    """Return the quantities and counts in a normalised text, in order. The dimension of a count is its noun."""
    measured = quantities(level)
    counts = [count for match in _COUNTED.finditer(level) if (count := _count(match)) is not None]
    free = [
        count
        for count in counts
        if all(other.span.end <= count.span.start or count.span.end <= other.span.start for other in measured)
    ]
    return _in_order((*measured, *free))


def _count(match: re.Match[str]) -> Quantity | None:
    nouns = [word for word in match["nouns"].split() if word not in FUNCTION_WORDS]
    if not nouns or match["nouns"].split()[0] != nouns[0]:
        return None
    # `household pets`, `square feet`: the word in the plural is what is counted.
    counted = next((at for at, word in enumerate(nouns) if re.search(r"[^s]s$|^feet$", word)), 0)
    low = int(match["low"].replace(",", ""))
    high = int((match["high"] or match["low"]).replace(",", ""))
    name = " ".join((*nouns[:counted], singular(nouns[counted]))) if nouns[0] == "square" else singular(nouns[counted])
    end = match.start("nouns") + match["nouns"].index(nouns[counted]) + len(nouns[counted])
    return Quantity(Span(match.start(), end), min(low, high), max(low, high), COUNT + name)


def _in_figures(match: re.Match[str]) -> str:
    """Return the number in figures, padded with zeros in front so that no offset changes."""
    if not match["digits"] and match["words"] == "one" and _PRONOUN.match(match.string, match.end()):
        return match[0]
    digits = (match["digits"] or "").replace(",", "")
    figures = digits or str(_spelled_value(re.findall(_WORD, match["words"])))
    return figures.rjust(len(match[0]), "0") if len(figures) <= len(match[0]) else match[0]


def _spelled_value(words: list[str]) -> int:
    total = current = 0
    for word in words:
        if word in NUMBER_WORDS:
            current += NUMBER_WORDS[word]
        elif word == "hundred":
            current = max(current, 1) * 100
        else:
            total, current = total + max(current, 1) * SCALES[word], 0
    return total + current
