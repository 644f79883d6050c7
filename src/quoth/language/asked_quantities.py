"""What kind of quantity a question asks for, in which units, and whether a text could state it."""

from __future__ import annotations

import re
from functools import lru_cache

from quoth.language.entities import entities
from quoth.language.numbering import NUMBER_WORDS, SCALES
from quoth.language.quantities import UNITS, quantities
from quoth.language.words import fold, singular
from quoth.types import EntityKind

_ASKS_FOR = {
    word: frozenset(dimensions.split())
    for words, dimensions in (
        ("deep depth shallow tall height high wide width far distance spacing setback thick thickness", "length"),
        ("long", "length time month"),
        ("often soon", "time month"),
        ("temperature hot cold warm cool", "temperature"),
        ("percentage percent proportion", "share"),
        ("ph acidity", "ph"),
        ("heavy weight weigh", "mass"),
        ("cost costs fee price fine charge", "dollar euro sterling"),
    )
    for word in words.split()
}
"""The dimensions of the quantity that a word asks for."""
_MEASURE = re.compile(
    r"\bhow (?:deep|tall|high|wide|far|long|thick|heavy|many|much|often)\b"
    r"|\bwhat (?:is the |are the |was the )?(?:\w+ ){0,2}(?:depth|height|width|distance|spacing|setback|thickness"
    r"|temperature|percentage|proportion|ph|weight|rate|number|fee|price|cost)\b"
)
_NUMBER = re.compile(rf"\d|\b(?:{'|'.join((*NUMBER_WORDS, *SCALES))}|half|twice|dozen|no|none)\b(?!-)")


def asked_dimensions(question: str) -> frozenset[str]:
    """Return the dimensions that a question asks for: a length for `how deep`, mass per area for `pounds per acre`."""
    words = re.findall(r"\w+", fold(question))
    units = [unit.dimension for word in words if len(word) > 3 and (unit := UNITS.get(singular(word))) is not None]
    if len(units) == 2 and "per" in words:
        return frozenset({"/".join(units)})
    return frozenset(units).union(*(_ASKS_FOR.get(word, frozenset()) for word in words))


def asks_for_a_number(question: str) -> bool:
    """Return whether only a number can answer: `how deep`, `what seeding rate`."""
    return _MEASURE.search(fold(question)) is not None


def could_state(text: str, question: str) -> bool:
    """Return whether a text could hold the number asked for, if any: of its dimension, or without a unit."""
    if not asks_for_a_number(question):
        return True
    stated, asked = quantities(text), asked_dimensions(question)
    if stated and asked:
        return any(quantity.dimension in asked for quantity in stated)
    for entity in entities(text):
        text = text.replace(entity.text, " ") if entity.kind in {EntityKind.DATE, EntityKind.YEAR} else text
    return _NUMBER.search(fold(text)) is not None


_ASKS_AMOUNT = re.compile(r"(?:^|[.?!,;:]\s+)(?:[a-z]+\s)?how (?:many|much)\b")
_NAMED_UNIT = re.compile(r"\b(?:how many|per)\s(?P<unit>[a-z]+)\b(?!-)")
_PERIODS = frozenset({"time", "month"})
_PERIOD_WORDS = r"dail|annual|annum|yearly|hourly|overnight|decade|centur|quarter|season|date|noon|midnight|[ap]\.?m\b"


def asked_units(question: str) -> tuple[tuple[str, str], ...]:
    """Return the units named in a question for an amount (`how many pounds`, `per acre`), with their dimensions."""
    folded = fold(question)
    words = [match["unit"] for match in _NAMED_UNIT.finditer(folded)] if _ASKS_AMOUNT.search(folded) else []
    # A short word is too often another one: `per in`, `how many m`.
    units = ((word, UNITS.get(singular(word))) for word in words if len(word) > 2)
    return tuple((word, unit.dimension) for word, unit in units if unit is not None)


def speaks_in(text: str, dimension: str) -> bool:
    """Return whether a text names any unit of the dimension. Days and years count as the same dimension."""
    return _any_unit("period" if dimension in _PERIODS else dimension).search(fold(text)) is not None


@lru_cache(maxsize=64)
def _any_unit(dimension: str) -> re.Pattern[str]:
    wanted = _PERIODS if dimension == "period" else {dimension}
    names = sorted({fold(name) for name, unit in UNITS.items() if unit.dimension in wanted}, key=len, reverse=True)
    # A short name is a unit only beside a number or another unit: `5 g`, `kg/ha`.
    short = "|".join(name for name in names if len(name) <= 2 and name.isalpha())
    patterns = [rf"\b{name}(?:e?s|ly)?\b" for name in names if len(name) > 2 and name.isalpha()]
    patterns += [rf"\b(?:{_PERIOD_WORDS})"] if dimension == "period" else []
    patterns += [re.escape(name) for name in names if not name.isalpha()]
    patterns += [rf"(?:(?<=[\d/)])|(?<=\d[\s-])|\bper\s)(?:{short})s?\b", rf"\b(?:{short})s?/"] if short else []
    return re.compile("|".join(patterns))
