"""Measures: what kind of quantity a question asks for, and whether a text states any number at all."""

from __future__ import annotations

import re

from quoth.text.entities import entities
from quoth.text.fold import fold, singular
from quoth.text.quantities import quantities
from quoth.text.units import UNITS
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
_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty"
    r"|seventy|eighty|ninety|hundred|thousand|half|twice|dozen|no|none|zero)\b(?!-)"
)


def asked_dimensions(question: str) -> frozenset[str]:
    """What a question wants to have measured: `how deep` a length, `how many pounds per acre` a mass per area."""
    words = re.findall(r"\w+", fold(question))
    units = [unit.dimension for word in words if len(word) > 3 and (unit := UNITS.get(singular(word))) is not None]
    if len(units) == 2 and "per" in words:
        return frozenset({"/".join(units)})
    return frozenset(units).union(*(_ASKS_FOR.get(word, frozenset()) for word in words))


def asks_for_a_number(question: str) -> bool:
    """Whether only a number can answer: `how deep`, `what seeding rate`."""
    return _MEASURE.search(fold(question)) is not None


def could_state(text: str, question: str) -> bool:
    """Whether a text could hold the number that a question asks for: one of its dimension, or one without a unit.

    Dates and years are no such numbers; in words, `no` is one. True where no number is asked for.
    """
    if not asks_for_a_number(question):
        return True
    stated, asked = quantities(text), asked_dimensions(question)
    if stated and asked:
        return any(one.dimension in asked for one in stated)
    for entity in entities(text):
        text = text.replace(entity.text, " ") if entity.kind in {EntityKind.DATE, EntityKind.YEAR} else text
    return _NUMBER.search(fold(text)) is not None
