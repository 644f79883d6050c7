"""Numbers and units of a question exchanged for others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from quoth.language.quantities import UNITS, quantities, same_quantity
from quoth.language.words import fold, singular
from quoth.types import Entity, EntityKind
from stress.draft import Draft, in_turn
from stress.substitutes import ASKED_AS, ASKED_FOR, FOREIGN, NUMBER_WORDS, ORDINALS, TWINS, UNIT_WORDS
from stress.wording import Change, presumes, replaced


def other_numbers(draft: Draft) -> Iterator[Change]:
    """Numbers that the question presumes: of things that are numbered in any question, amounts where none is asked."""
    numbered = [entity for entity in draft.entities if is_counted(entity)]
    turns = [_renumbered(draft, entity.text, entity.words[-1]) for entity in numbered]
    if presumes(draft.question):
        inside = " ".join(entity.text for entity in draft.entities)
        numbers = re.findall(r"(?<![\w.,/$€£-])\d+(?:\.\d+)?(?![\w/-]|[.,]\d)", draft.question)
        turns += [_renumbered(draft, one, one) for one in numbers if one not in inside]
    for row in (NUMBER_WORDS[1:], ORDINALS):
        # `anybody first` counts nothing; `a first violation` does.
        counting = re.findall(r"(?<![\w-])[^\W\d_]+(?=\s\w)", draft.question)
        turns += [_other_in_row(draft, word, row) for word in dict.fromkeys(counting) if fold(word) in row]
    return in_turn(turns)


def is_counted(entity: Entity) -> bool:
    """`Lot 47`: a name that goes by its number."""
    return (
        entity.kind is EntityKind.NAME
        and len(entity.words) > 1
        and re.fullmatch(r"\d+(?:\.\d+)?", entity.words[-1]) is not None
    )


def _renumbered(draft: Draft, before: str, number: str) -> Iterator[Change]:
    digits = len(number.partition(".")[2])
    value = float(number)
    factors = [1.3, 1.7, 2.3, 2.9, 3.1, 0.4, 0.6, 4.7, 5.3]
    for factor in draft.rng.sample(factors, len(factors)):
        after = f"{value * factor + 1:.{digits}f}"
        if after != number and not _has_number(draft.evidence.text, after):
            whole = before[: len(before) - len(number)] + after
            yield replaced(draft.question, before, whole), before, whole


def _has_number(text: str, number: str) -> bool:
    """Whether a number is stated, also inside a stated range."""
    value = float(number)
    spans = re.findall(r"(\d+(?:\.\d+)?)\s?(?:-|–|to|and)\s?(\d+(?:\.\d+)?)", text)
    alone = re.findall(r"\d+(?:\.\d+)?", text)
    return any(float(one) == value for one in alone) or any(float(low) <= value <= float(high) for low, high in spans)


def _other_in_row(draft: Draft, before: str, row: Sequence[str]) -> Iterator[Change]:
    later = [word for word in row if word != fold(before) and word not in draft.evidence.words]
    digits = [str(row.index(word) + (2 if row[0] == "two" else 1)) for word in later]
    for after in draft.shuffled(
        [word for word, digit in zip(later, digits, strict=True) if digit not in draft.evidence.words]
    ):
        whole = after.capitalize() if before[0].isupper() else after
        yield replaced(draft.question, before, whole), before, whole


def other_units(draft: Draft) -> Iterator[Change]:
    return in_turn([_remeasured(draft), _reunited(draft), _asked_otherwise(draft)])


def unit_twins(amount: str) -> Iterator[str]:
    """The amount in units that its own is taken for: `12 yards` and `12 metres` for `12 feet`."""
    for unit in re.findall(r"[$]|°?[^\W\d_]+", amount):
        for other in TWINS.get(unit, ()):
            yield amount.replace(unit, other, 1)


def _remeasured(draft: Draft) -> Iterator[Change]:
    """`12 feet` becomes `12 yards` or `12 litres`, where the question takes the 12 feet for granted."""
    stated = quantities(draft.evidence.text)
    for one in quantities(draft.question) if presumes(draft.question) else ():
        before = draft.question[one.span.start : one.span.end]
        for after in unit_twins(before):
            if not any(same_quantity(new, other) for new in quantities(after) for other in stated):
                yield replaced(draft.question, before, after), before, after
        number = re.match(r"[\d.,]+(?=[\s-][^\W\d]|[^\W\ds])", before)  # not `1980s`
        for unit in _foreign_units(draft, one.dimension) if number else ():
            after = f"{number[0] if number else ''} {unit}"
            new = quantities(after)
            if new and not any(same_quantity(new[0], other) for other in stated):
                yield replaced(draft.question, before, after), before, after


def _reunited(draft: Draft) -> Iterator[Change]:
    """`How many days` and `per acre`: another dimension, of which the evidence has no quantity."""
    for match in re.finditer(
        r"\b(how many|per|in how many)\s((?:square |cubic )?[a-z]+)\b", draft.question, re.IGNORECASE
    ):
        before = match[2]
        unit = UNITS.get(fold(before)) or UNITS.get(singular(fold(before)))
        if unit is None and " " not in before:
            continue
        dimension = unit.dimension if unit else "area"
        for other in _foreign_units(draft, dimension):
            after = other if fold(match[1]) != "per" else singular(other)
            start, end = match.span(2)
            yield draft.question[:start] + after + draft.question[end:], before, after


def _foreign_units(draft: Draft, dimension: str) -> list[str]:
    """Units in which something else is measured that the evidence does not speak of."""
    stated = {part for one in quantities(draft.evidence.text) for part in one.dimension.split("/")}
    others = FOREIGN.get(dimension, tuple(UNIT_WORDS))
    options = [unit for other in others if other not in {dimension, *stated} for unit in UNIT_WORDS[other]]
    return [unit for unit in draft.shuffled(options) if not draft.evidence.holds(unit)]


_MEASURE = re.compile(
    rf"\b(?:[Hh]ow ({'|'.join(ASKED_AS)})|(?:[Ww]hat|[Ww]hich)(?: [a-z]+){{0,2}}? ({'|'.join(ASKED_FOR)}))\b"
)


def _asked_otherwise(draft: Draft) -> Iterator[Change]:
    """`How deep` becomes `how heavy`, `what height` becomes `what weight`."""
    for match in _MEASURE.finditer(draft.question):
        group = 1 if match[1] else 2
        start, end = match.span(group)
        for after in draft.shuffled((ASKED_AS | ASKED_FOR)[match[group]]):
            if not draft.evidence.holds(after):
                yield draft.question[:start] + after + draft.question[end:], match[group], after
