"""Questions that take something false for granted, made of a sentence that states what is true."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator, Sequence
from functools import partial

from quoth.language.quantities import quantities, same_quantity
from quoth.types import Quantity
from stress.amounts import unit_twins
from stress.substitutes import NUMBER_WORDS
from stress.swap import Swap, SwapKind
from stress.wording import opposed

_LONGEST = 150
"""Characters. A longer sentence makes a question that nobody would ask."""
_LABEL = re.compile(r"^(?:\([a-z]{1,3}\)|\d+(?:\.\d+)*)\s+")
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety hundred thousand".split()
_WRITTEN_OUT = re.compile(
    rf"\b(?:(?:{'|'.join([*NUMBER_WORDS, *_TENS])})[\s-])+(?:(?:percent|dollars)\s)?"
    r"\((?P<digits>\$?\d[\d,]*(?:\.\d+)?%?)\)",
    re.IGNORECASE,
)
_INSTRUCTIONS = frozenset(
    "add aim apply avoid begin bring build buy check choose clean close collect combine cool count cover cut "
    "dig do drain dry establish feed fill flood harvest hold inoculate install keep leave lime limit lower "
    "measure mix move open pick place plan plant plough push put raise remove repair replace report rotate run "
    "scout seed send set sow spray stagger start stop store swath take test till time treat turn use wait wash "
    "water".split()
)
"""Verbs that tell the reader to do something when a sentence opens with them."""
_OFTEN_SUBJECT = frozenset("cover cut feed flood harvest lime plant seed store test time water".split())
"""Of these, the ones that are nouns as well: `Seed going to virgin land must be treated.`"""


def premise(sentence: str) -> str | None:
    """The sentence as a question for its place; None where it cannot be put so.

    `Plant corn 4 cm deep.` becomes `Where does it say to plant corn 4 cm deep?`, `Canola grows best at pH 6.`
    becomes `Where does it say that canola grows best at pH 6?`
    """
    plain = _LABEL.sub("", " ".join(sentence.replace("*", "").split()))
    plain = _WRITTEN_OUT.sub(lambda match: match["digits"], plain)
    if len(plain) > _LONGEST or not plain.endswith(".") or not plain[0].isupper() or '"' in plain:
        return None
    first, _, rest = plain[:-1].partition(" ")
    head = first if any(map(str.isupper, first[1:])) else first.lower()
    tells = head in _INSTRUCTIONS and not (head in _OFTEN_SUBJECT and re.match(r"\w+ing |is |are |must |shall ", rest))
    return f"Where does it say to {head} {rest}?" if tells else f"Where does it say that {head} {rest}?"


def false_premises(sentence: str, *, stated: Sequence[Quantity], seed: int) -> Iterator[Swap]:
    """The sentence's question with one amount changed, in its number and in its unit, to one that is stated nowhere."""
    question = premise(sentence)
    if question is None:
        return
    rng = random.Random(f"{seed}\n{question}")
    for one in quantities(question):
        before = question[one.span.start : one.span.end]
        options = [(SwapKind.NUMBER, after) for after in _other_numbers(before, rng)]
        options += [(SwapKind.UNIT, after) for after in unit_twins(before)]
        for kind, after in options:
            new = quantities(after)
            if new and _possible(new[0]) and not any(_agrees(new[0], other) for other in stated):
                changed = question[: one.span.start] + after + question[one.span.end :]
                yield Swap(kind, changed, before, after, stated=True)


def opposite_premises(sentence: str) -> Iterator[Swap]:
    """The sentence's question with one word turned to its opposite."""
    question = premise(sentence)
    words = set(re.findall(r"[a-z]+", sentence.lower()))
    for changed, before, after in opposed(question, evidence=words) if question else ():
        yield Swap(SwapKind.POLARITY, changed, before, after, stated=True)


def _other_numbers(before: str, rng: random.Random) -> Iterator[str]:
    """The amount with each of its numbers multiplied, written with as many decimals."""
    numbers = re.compile(r"\d[\d,]*(?:\.\d+)?")
    for factor in rng.sample([0.4, 0.6, 1.4, 1.7, 2.3, 2.9], 6):
        after = numbers.sub(partial(_times, factor), before)
        if len(set(numbers.findall(after))) == len(set(numbers.findall(before))):  # else a range has shrunk to a point
            yield after


def _times(factor: float, number: re.Match[str]) -> str:
    decimals = len(number[0].partition(".")[2])
    value = float(number[0].replace(",", "")) * factor
    return f"{value:,.{decimals}f}" if "," in number[0] else f"{value:.{decimals}f}"


def _possible(one: Quantity) -> bool:
    """Not a share above the whole, not a pH that nothing has, not an empty amount."""
    most = {"share": 100.0, "ph": 12.0, "temperature": 70.0}.get(one.dimension, math.inf)
    return 0 < one.high <= most


def _agrees(one: Quantity, other: Quantity) -> bool:
    within = one.dimension == other.dimension and other.low <= one.low and one.high <= other.high
    return within or same_quantity(one, other)
