"""Units that a question names for its answer, and whether a text speaks of anything in such units."""

from __future__ import annotations

import re
from functools import lru_cache

from quoth.text.fold import fold, singular
from quoth.text.units import UNITS

_COUNTS = re.compile(r"(?:^|[.?!,;:]\s+)(?:[a-z]+\s)?how (?:many|much)\b")
_ASKED = re.compile(r"\b(?:how many|per)\s(?P<unit>[a-z]+)\b(?!-)")
_PERIODS = frozenset({"time", "month"})
_PERIOD_WORDS = r"dail|annual|annum|yearly|hourly|overnight|decade|centur|quarter|season|date|noon|midnight|[ap]\.?m\b"


def asked_units(question: str) -> tuple[tuple[str, str], ...]:
    """The units in `how many pounds` and `per acre` of a question for an amount, as written, with their dimensions."""
    folded = fold(question)
    start = _COUNTS.search(folded)
    found = ((match["unit"], UNITS.get(singular(match["unit"]))) for match in _ASKED.finditer(folded)) if start else ()
    # A short word is too often another one: `per in`, `how many m`.
    return tuple((word, unit.dimension) for word, unit in found if unit is not None and len(word) > 2)


def speaks_in(text: str, dimension: str) -> bool:
    """Whether a text names any unit of the dimension, in figures, in words or as a rate; days and years are one."""
    return _any_unit("period" if dimension in _PERIODS else dimension).search(fold(text)) is not None


@lru_cache(maxsize=64)
def _any_unit(dimension: str) -> re.Pattern[str]:
    wanted = _PERIODS if dimension == "period" else {dimension}
    names = sorted({fold(name) for name, unit in UNITS.items() if unit.dimension in wanted}, key=len, reverse=True)
    # A short name is a unit only beside a number or another unit: `5 g`, `kg/ha`.
    short = "|".join(re.escape(name) for name in names if len(name) <= 2 and name.isalpha())
    signs = [re.escape(name) for name in names if not name.isalpha()]
    long = [re.escape(name) + r"(?:e?s|ly)?\b" for name in names if len(name) > 2 and name.isalpha()]
    words = [r"\b(?:" + "|".join(long) + ")"] if long else []
    extra = [rf"\b(?:{_PERIOD_WORDS})"] if dimension == "period" else []
    beside = [rf"(?:(?<=[\d/)])|(?<=\d[\s-])|\bper\s)(?:{short})s?\b", rf"\b(?:{short})s?/"] if short else []
    return re.compile("|".join((*words, *extra, *signs, *beside)))
