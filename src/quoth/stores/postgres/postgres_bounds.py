"""Which sentences can score enough: conditions that an index answers without reading a sentence.

The index holds each lexeme together with a class of the sentence's norm, and whether it stands there more than once.
That bounds what the lexeme is worth in the sentence from above, closely. A condition for a score is the combinations
of words whose bounds add up to it, so that every sentence that scores as much meets it, and few others do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

import numpy as np

from quoth.stores.query_terms import Variant, idf, weigh

LEAST_NORMS = (0, 4, 6, 8, 11, 16, 22, 32, 45, 64, 91, 128)
"""The least norm of each class, as the function `impacts` of the schema has them."""

_LETTERS = "ABCDEFGHIJKL"
_LONGEST = 500  # characters of a lexeme in that index
_MOST_WORDS = 24  # beyond that a condition looks at one word and the rest of them as a whole
_STEPS = 128
_ROUNDING = 1e-9  # sums in another order


@dataclass(frozen=True, slots=True)
class WeighedVariant:
    """The lexemes that a sentence must all hold, each with what it is worth at most there."""

    number: int
    weights: Mapping[str, float]

    @property
    def query(self) -> str:
        return " & ".join(self.weights)


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
        reached = np.zeros(_STEPS + 1)
        reached[0] = 1.0
        step = sum(map(_usual, self.groups)) / _STEPS
        for group, held in zip(self.groups, self.held, strict=True):
            shift, share = round(_usual(group) / step), min(1.0, held / self.evidence)
            moved = np.concatenate([np.zeros(shift), reached[: len(reached) - shift]])
            reached = reached * (1 - share) + moved * share
        at_least = self.evidence * np.cumsum(reached[::-1])[::-1]
        enough = np.flatnonzero(at_least >= count)
        return float(enough[-1] * step) if len(enough) else 0.0

    def conditions(self, score: float) -> list[str]:
        """Return conditions over `impacts`, one for each class of norms; no sentence meets two of them."""
        needed = score - _ROUNDING * self.ideal
        made = (self._condition(letter, norm, needed) for letter, norm in zip(_LETTERS, LEAST_NORMS, strict=True))
        return [condition for condition in made if condition is not None]

    def _condition(self, letter: str, norm: int, needed: float) -> str | None:
        length = 0.25 + 0.75 * norm / self.average
        once = 1 / (1 + 1.2 * length)
        words = [_options(group, letter, once) for group in self.groups]
        words.sort(key=lambda options: -options[0][1])
        return _at_least(words, needed, depth=3 if len(words) <= _MOST_WORDS // 2 else 1)


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


_Option = tuple[str, float]
"""A condition for a word, and the most that the word is worth where it is met."""


def _usual(group: Sequence[WeighedVariant]) -> float:
    """Return what a word is worth that stands once in a sentence of average length."""
    return max(sum(variant.weights.values()) for variant in group) / 2.2


def _options(group: Sequence[WeighedVariant], letter: str, once: float) -> list[_Option]:
    """Return the conditions that a word can meet in a sentence of this class, the best first."""
    options = []
    for variant in group:
        total = sum(variant.weights.values())
        if len(variant.weights) == 1:
            (lexeme,) = variant.weights
            options += [(_classed(lexeme, letter, 2), total), (_classed(lexeme, letter, 1), total * once)]
        else:
            every = (f"({_classed(lexeme, letter, 1)}|{_classed(lexeme, letter, 2)})" for lexeme in variant.weights)
            options.append((f"({'&'.join(every)})", total))
    return sorted(options, key=lambda option: -option[1])


def _classed(lexeme: str, letter: str, times: int) -> str:
    return f"{lexeme[:_LONGEST]}{letter}{times}"


def _at_least(words: Sequence[Sequence[_Option]], needed: float, *, depth: int) -> str | None:
    """Return the condition that the words met are worth `needed`; "" where nothing is needed, None if none can be.

    It names up to `depth` words together; of what is left to reach then, it says only that some word must be met.
    """
    rest = list(accumulate((options[0][1] for options in reversed(words)), initial=0.0))[::-1]
    anyone = ["|".join(condition for condition, _ in options) for options in words]

    def condition(first: int, needed: float, depth: int) -> str | None:
        if needed <= 0:
            return ""
        ways: dict[str, list[str]] = {}
        for place in range(first, len(words)):
            if rest[place] < needed:  # from here on even all words together are too little
                break
            if depth == 0:
                ways.setdefault("", []).append(anyone[place])
                continue
            for met, worth in words[place]:
                others = condition(place + 1, needed - worth, depth - 1)
                if others is None:
                    break
                ways.setdefault(others, []).append(met)
        parts = ["|".join(met) if not others else f"({'|'.join(met)})&({others})" for others, met in ways.items()]
        return "|".join(parts) or None

    return condition(0, needed, depth)
