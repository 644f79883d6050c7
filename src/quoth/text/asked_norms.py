"""What a question wants to know of rules: about which things, and whether how much or what is allowed."""

from __future__ import annotations

import re
from dataclasses import dataclass

from quoth.text.asked_units import asked_units
from quoth.text.fold import fold, singular
from quoth.text.measures import asked_dimensions
from quoth.text.norm_words import ATTRIBUTES, content, is_unit
from quoth.text.quantities import quantities
from quoth.text.stated import COUNT, levelled
from quoth.text.words import POLAR_OPENERS
from quoth.types import Analysis

_HOW_MANY = re.compile(r"\bhow many ((?:\w+ ?){1,3})")
_MEASURED = re.compile(r"\b(?:limits?|maximum|minimum|max|min|amount|rate|number|how (?:much|many|long|often))\b")


@dataclass(frozen=True, slots=True)
class Asked:
    """What the question is about: its things, each with what else they are called, and what of them it measures."""

    things: tuple[tuple[frozenset[str], ...], ...]
    words: frozenset[str]
    dimensions: frozenset[str]
    attribute: str | None
    permissions: bool
    """Whether it may ask what is allowed; `how high` does not."""
    quantities: bool
    """Whether it may ask how much; `may I` does not."""

    def named(self, words: frozenset[str]) -> frozenset[int]:
        """Which of the things the words name, by their places."""
        return frozenset(at for at, group in enumerate(self.things) if any(name <= words for name in group))

    def measures(self, dimension: str) -> bool:
        """Whether a quantity of that dimension can be what is asked for; the length of a text is counted."""
        counted = dimension.startswith(COUNT) and self.attribute == "length"
        return not self.dimensions or dimension in self.dimensions or counted


def asked_for(analysis: Analysis) -> Asked | None:
    """None for a question that no rule answers (`why`, `who`), or that names no thing."""
    question = fold(analysis.search_text)
    if re.match(r"(?:why|who|whose)\b", question):
        return None
    things = []
    for group in analysis.terms:
        if is_unit(fold(group[0])):
            continue
        names = [frozenset(content(levelled(name))) for name in group]
        if names[0]:
            things.append(tuple(name for name in names if name))
    if not things:
        return None
    counted = {COUNT + singular(word) for match in _HOW_MANY.finditer(question) for word in match[1].split()}
    dimensions = {dimension for _, dimension in asked_units(question)} | counted
    dimensions |= asked_dimensions(question) | {one.dimension for one in quantities(question)}
    if question.startswith("when "):
        dimensions |= {"time", "month"}
    measured = next((ATTRIBUTES[word] for word in re.findall(r"[a-z]+", question) if word in ATTRIBUTES), None)
    words = frozenset(word for group in analysis.terms for name in group for word in content(levelled(name)))
    measures = bool(dimensions or _MEASURED.search(question))
    polar = question.split()[0] in POLAR_OPENERS
    return Asked(
        tuple(things),
        words,
        frozenset(dimensions),
        measured,
        permissions=bool(counted) or not measures or (polar and _MEASURED.search(question) is None),
        quantities=measures or not polar,
    )
