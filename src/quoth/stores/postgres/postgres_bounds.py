"""Which sentences can score enough: conditions that an index answers without reading a sentence.

The index holds each lexeme together with a class of the sentence's norm, and whether it stands there more than once.
That bounds what the lexeme is worth in the sentence from above, closely. A condition for a score is the combinations
of words whose bounds add up to it, so that every sentence that scores as much meets it, and few others do.

GIN begins with the lexemes of which a condition must have one, the rarest that there are, and skips through the others.
For each sentence it considers this way, it looks at every name in the condition, even those named before. So conditions
are written to name each lexeme seldom.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from quoth.stores.query_terms import Variant, idf, weigh

LEAST_NORMS = (0, 4, 6, 8, 11, 16, 22, 32, 45, 64, 91, 128)
"""The least norm of each class, as the function `impacts` of the schema has them."""

_LETTERS = "ABCDEFGHIJKL"
_CLASS = "?"  # in place of the letter, in conditions that are the same for several classes
_FEW_WORDS = 5  # of so many a condition tells which two are repeated
_MANY_WORDS = 16  # conditions of more words tell little
_LONGEST = 500  # characters of a lexeme in that index
_SCORES = 128  # into which a score is divided to guess it
_ROUNDING = 1e-9  # sums in another order


@dataclass(frozen=True, slots=True)
class WeighedVariant:
    """The lexemes that a sentence must all hold, each with what it is worth at most there."""

    number: int
    weights: Mapping[str, float]

    @property
    def query(self) -> str:
        return " & ".join(self.weights)


class ClassConditions(NamedTuple):
    """Conditions over `impacts` that a sentence of one class can reach a score, or None where no sentence can.

    Such a sentence meets `none_repeated`, `several_repeated`, or both `any_repeated` and `one_repeated`: most sentences
    repeat none of the words, and are told apart by a short condition.
    """

    none_repeated: str | None
    any_repeated: str | None
    one_repeated: str | None
    several_repeated: str | None

    @property
    def ways(self) -> list[str]:
        """Return conditions of which every such sentence meets one."""
        one = f"({self.any_repeated})&{self.one_repeated}" if self.one_repeated else None
        return [condition for condition in (self.none_repeated, one, self.several_repeated) if condition]


@dataclass(frozen=True)
class WeighedWords:
    """The words of a question that occur: for each its variants, and in how many sentences it is.

    A sentence holds a word by any of its variants, of which the best counts. `ideal` is the score of the ideal
    sentence, `average` the average length of a sentence, `evidence` their number.
    """

    groups: tuple[tuple[WeighedVariant, ...], ...]
    held: tuple[int, ...]
    ideal: float
    evidence: int
    average: float

    @property
    def plain(self) -> bool:
        """Whether each word is one lexeme."""
        return all(len(variant.weights) == 1 for group in self.groups for variant in group) and all(
            len(group) == 1 for group in self.groups
        )

    @cached_property
    def any_word(self) -> str:
        """The condition that a sentence holds any word."""
        return " | ".join(f"({variant.query})" for group in self.groups for variant in group)

    def score_of_best(self, count: int) -> float:
        """Return about the score that the `count` best sentences reach, were words independent of each other."""
        reached = np.zeros(_SCORES + 1)
        reached[0] = 1.0
        step = sum(map(_usual, self.groups)) / _SCORES
        for group, held in zip(self.groups, self.held, strict=True):
            shift, share = round(_usual(group) / step), min(1.0, held / self.evidence)
            moved = np.concatenate([np.zeros(shift), reached[: len(reached) - shift]])
            reached = reached * (1 - share) + moved * share
        at_least = self.evidence * np.cumsum(reached[::-1])[::-1]
        enough = np.flatnonzero(at_least >= count)
        return float(enough[-1] * step) if len(enough) else 0.0

    def conditions(self, score: float) -> list[ClassConditions]:
        """Return the conditions that a sentence of each class of norms can reach `score`."""
        needed = max(score - _ROUNDING * self.ideal, _ROUNDING * self.ideal)
        writer = _Writer(self.groups)
        found = []
        for letter, norm in zip(_LETTERS, LEAST_NORMS, strict=True):
            once = 1 / (1 + 1.2 * (0.25 + 0.75 * norm / self.average))
            conditions = ClassConditions(
                writer.at_least(needed, once=once, repeated=0),
                writer.any_repeated,
                writer.at_least(needed, once=once, repeated=1),
                writer.several_repeated(needed, once=once),
            )
            if conditions.ways:
                found.append(ClassConditions(*(part and part.replace(_CLASS, letter) for part in conditions)))
        return found


def weighed(
    groups: Sequence[Sequence[Variant]],
    *,
    held: Callable[[Variant], int],
    evidence: int,
    average: float,
    lexeme: Callable[[str], str],
) -> WeighedWords:
    """Weigh the words of a question. `held` tells how many sentences hold every token of a variant."""
    found: list[tuple[WeighedVariant, ...]] = []
    counts = []
    ideal = 0.0
    number = 0
    for group in groups:
        boosts, worth = weigh(group, evidence, held=held)
        ideal += worth
        variants = []
        for variant, boost in boosts.items():
            weights = {lexeme(token): 2.2 * boost * idf(evidence, held((token,))) for token in variant}
            variants.append(WeighedVariant(number, weights))
            number += 1
        if variants:
            found.append(tuple(variants))
            counts.append(sum(map(held, boosts)))
    return WeighedWords(tuple(found), tuple(counts), ideal, evidence, average)


def _usual(group: Sequence[WeighedVariant]) -> float:
    """Return what a word is worth that stands once in a sentence of average length."""
    return max(sum(variant.weights.values()) for variant in group) / 2.2


_Option = tuple[str, float]
"""A condition that a word can meet, with `_CLASS` for the letter, and the most that the word is worth then."""
_Rounded = tuple[tuple[tuple[str, int], ...], tuple[tuple[str, int], ...]]
"""The options of a word that is not repeated, and of one that is, worth whole steps."""


class _Word(NamedTuple):
    """The options of a word that stands once (worth less, by class), stands there again, or is several lexemes."""

    once: list[_Option]
    repeated: list[_Option]
    joined: list[_Option]

    @property
    def most(self) -> float:
        return max(worth for options in self for _, worth in options)

    def rounded(self, *, once: float, step: float, most: int) -> _Rounded:
        """Return the options with their worth rounded up to steps, and `most` steps for all that is more."""

        def steps(options: Sequence[_Option], share: float) -> list[tuple[str, int]]:
            return [(condition, min(most, math.ceil(worth * share / step))) for condition, worth in options]

        return tuple(steps(self.once, once) + steps(self.joined, 1)), tuple(steps(self.repeated, 1))


def _word(group: Sequence[WeighedVariant]) -> _Word:
    word = _Word([], [], [])
    for variant in group:
        total = sum(variant.weights.values())
        stems = [lexeme[:_LONGEST] + _CLASS for lexeme in variant.weights]
        if len(stems) == 1:
            word.once.append((f"{stems[0]}1", total))
            word.repeated.append((f"{stems[0]}2", total))
        else:
            word.joined.append(("&".join(f"({stem}1|{stem}2)" for stem in stems), total))
    return word


class _Writer:
    """Writes conditions over the words of a question, each of them once."""

    def __init__(self, groups: Sequence[Sequence[WeighedVariant]]) -> None:
        self._words = sorted(map(_word, groups), key=lambda word: -word.most)
        self._steps = _steps(len(groups))
        self._written: dict[tuple[tuple[_Rounded, ...], int, int], str | None] = {}
        self._repeated = [word.repeated for word in self._words if word.repeated]
        self._most = sorted((max(worth for _, worth in word) for word in self._repeated), reverse=True)
        self.any_repeated = "|".join(condition for word in self._repeated for condition, _ in word) or None

    def at_least(self, needed: float, *, once: float, repeated: int) -> str | None:
        """Return the condition that words are worth `needed`, of which so many are repeated; None if they cannot be."""
        most = max(2, self._steps // 2) if repeated else self._steps  # most sentences repeat none: tell more exactly
        return self._write(
            tuple(word.rounded(once=once, step=needed / most, most=most) for word in self._words), most, repeated
        )

    def several_repeated(self, needed: float, *, once: float) -> str | None:
        """Return the condition that two or more repeated words and any others can be worth `needed`.

        Of few words the condition tells which two. Else they count as the most valuable ones: such sentences are few.
        """
        marked = tuple((tuple((condition, 1) for condition, _ in word), ()) for word in self._repeated)
        told = 2 if len(self._words) <= _FEW_WORDS else 1
        ways = [self.at_least(needed, once=once, repeated=2)] if told == 2 else []
        last = 3 if len(self._words) <= _MANY_WORDS else 2  # more repeated words than these: whatever the others
        for count in range(told + 1, min(last, len(marked)) + 1):
            left = needed - sum(self._most[:count]) if count < last else 0.0
            several = self._write(marked, count, 0)
            others = self.at_least(left, once=once, repeated=0) if left > 0 else ""
            if several is not None and others is not None:
                ways.append(_every(several, others))
            if left <= 0:
                break
        return _any([way for way in ways if way is not None])

    def _write(self, words: tuple[_Rounded, ...], needed: int, repeated: int) -> str | None:
        key = words, needed, repeated
        if key not in self._written:
            self._written[key] = _Halves(words, needed).condition(0, len(words), needed, repeated)
        return self._written[key]


def _steps(words: int) -> int:
    """Return how finely a condition of so many words tells what they are worth, so that it stays short."""
    return 32 if words <= 8 else 8 if words <= 10 else 4 if words <= _MANY_WORDS else 2


class _Halves:
    """Conditions over ranges of words, each made once.

    The halves of a range are looked at apart: for each sum of one half the other must make up the rest. Of all ways to
    write it this repeats words least, and the server's work grows with the words in a condition. That is also why what
    words are worth is rounded: there are few sums. One beyond `most` counts as that.
    """

    def __init__(self, words: Sequence[_Rounded], most: int) -> None:
        self._words = words
        self._most = most
        self._sums: dict[tuple[int, int, int], list[int]] = {}
        self._made: dict[tuple[int, int, int, int], str | None] = {}

    def condition(self, first: int, end: int, needed: int, repeated: int) -> str | None:
        """Return the condition that these words are worth `needed`, exactly so many of them repeated.

        That is "" where nothing is needed, and None where they cannot be.
        """
        if needed <= 0 and not repeated:
            return ""
        key = first, end, needed, repeated
        if key not in self._made:
            self._made[key] = _any(self._ways(first, end, needed, repeated))
        return self._made[key]

    def _ways(self, first: int, end: int, needed: int, repeated: int) -> list[str]:
        if end - first == 1:
            options = self._words[first][repeated] if repeated < 2 else ()
            return [condition for condition, worth in options if worth >= needed]
        middle = (first + end) // 2
        ways = []
        for left in range(repeated + 1):
            others = self._worths(middle, end, repeated - left)
            before = None
            for worth in self._worths(first, middle, left):
                place = bisect.bisect_left(others, needed - worth)
                if place == len(others) or place == before:  # out of reach, or no less than with a smaller sum
                    continue
                before = place
                one = self.condition(first, middle, worth, left)
                other = self.condition(middle, end, others[place], repeated - left)
                if one is not None and other is not None:
                    ways.append(_every(one, other))
        return ways

    def _worths(self, first: int, end: int, repeated: int) -> list[int]:
        """Return what these words can be worth, ascending, when exactly so many of them are repeated."""
        key = first, end, repeated
        if key not in self._sums:
            if end - first == 1:
                options = self._words[first][repeated] if repeated < 2 else ()
                found = {worth for _, worth in options} | ({0} if not repeated else set())
            else:
                middle = (first + end) // 2
                found = {
                    min(self._most, one + other)
                    for left in range(repeated + 1)
                    for one in self._worths(first, middle, left)
                    for other in self._worths(middle, end, repeated - left)
                }
            self._sums[key] = sorted(found)
        return self._sums[key]


def _every(one: str, other: str) -> str:
    return f"{one}&{other}" if one and other else one or other


def _any(ways: Sequence[str]) -> str | None:
    return None if not ways else ways[0] if len(ways) == 1 else f"({'|'.join(ways)})"
