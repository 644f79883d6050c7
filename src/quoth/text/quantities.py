"""Quantities in a text: numbers and ranges with their units, comparable across units."""

from __future__ import annotations

import re
import unicodedata

from quoth.text.units import PREFIX_UNITS, UNITS, Unit
from quoth.types import Quantity, Span

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
_BEFORE = re.compile(rf"(?<!\w)(?P<unit>{'|'.join(map(re.escape, PREFIX_UNITS))})\s?(?:of\s)?{_RANGE}(?![\w%])")


def quantities(text: str) -> tuple[Quantity, ...]:
    """The quantities in `text`, in order."""
    found = [_quantity(match) for pattern in (_AFTER, _BEFORE) for match in pattern.finditer(text)]
    return tuple(sorted((one for one in found if one is not None), key=lambda one: one.span))


def same_quantity(one: Quantity, other: Quantity) -> bool:
    """Whether two quantities agree, or one end of a range does; 2% allows for rounded conversions (1 in, 2.5 cm)."""
    if one.dimension != other.dimension:
        return False
    return any(abs(a - b) <= 0.02 * max(abs(a), abs(b)) for a in (one.low, one.high) for b in (other.low, other.high))


def _quantity(match: re.Match[str]) -> Quantity | None:
    groups = match.groupdict()
    if _DECADE.search(match[0]):
        return None
    unit = _unit(f"°{groups['scale'][0].upper()}" if groups.get("scale") else groups["unit"])
    if unit is None:
        return None
    if groups.get("per"):
        per = _unit(groups["per"])
        if per is None:
            return None
        unit = Unit(f"{unit.dimension}/{per.dimension}", unit.factor / per.factor)
    low = _value(groups["low"], unit)
    high = _value(groups["high"], unit) if groups["high"] else low
    return Quantity(Span(match.start(), match.end()), min(low, high), max(low, high), unit.dimension)


def _unit(name: str) -> Unit | None:
    name = name.rstrip(".")
    for form in (name, name.removesuffix("s"), name.removesuffix("es")):
        if (unit := UNITS.get(form) or UNITS.get(form.lower())) is not None:
            return unit
    return None


def _value(number: str, unit: Unit) -> float:
    """A number as written (`2,500`, `1 1/2`, `2½`, `-5`) in the unit's base."""
    parts = re.findall(r"\d+/\d+|\d+(?:\.\d+)?|\D", number.replace(",", "").lstrip("-−"))
    size = sum(_part(part) for part in parts if part != "-" and not part.isspace())
    return (-size if number[0] in "-−" else size) * unit.factor + unit.offset


def _part(part: str) -> float:
    whole, _, divisor = part.partition("/")
    return int(whole) / int(divisor) if divisor else unicodedata.numeric(part) if len(part) == 1 else float(part)
