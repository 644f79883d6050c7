"""What one change of a question is made from: the question, its evidence, and a pool of substitutes."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from quoth.language.words import FUNCTION_WORDS
from quoth.types import Entity
from stress.wording import Change, words_of


@dataclass(frozen=True, slots=True)
class Pool:
    """What substitutes are drawn from. Each group of `terms` holds lower-case terms of one kind, such as crops."""

    names: tuple[str, ...]
    codes: tuple[str, ...]
    places: tuple[str, ...]
    terms: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class EvidenceText:
    """The words of the evidence, folded and singular, and its whole text."""

    words: frozenset[str]
    text: str

    @classmethod
    def of(cls, texts: Sequence[str]) -> EvidenceText:
        text = "\n".join(texts)
        return cls(frozenset(words_of(text)), text)

    def holds(self, phrase: str) -> bool:
        """Whether all words of the phrase occur: strict, since names are also written in parts."""
        words = [word for word in words_of(phrase) if word not in FUNCTION_WORDS] or words_of(phrase)
        return all(word in self.words for word in words)


@dataclass(frozen=True, slots=True)
class Draft:
    question: str
    words: frozenset[str]
    entities: tuple[Entity, ...]
    evidence: EvidenceText
    pool: Pool
    rng: random.Random

    def shuffled(self, options: Sequence[str], *, most: int = 48) -> list[str]:
        """Options in a random order; of very many only some, which keeps a long pool cheap."""
        return self.rng.sample(options, min(most, len(options)))


def is_new(draft: Draft, after: str) -> bool:
    """Whether the substitute is new: its words are not all in the question, nor all in the evidence."""
    new = [word for word in words_of(after) if word not in FUNCTION_WORDS]
    return bool(new) and not draft.words.issuperset(new) and not draft.evidence.holds(after)


def in_turn(turns: Sequence[Iterator[Change]]) -> Iterator[Change]:
    """One of each, then the next of each: no part of the question is favoured."""
    waiting = list(turns)
    while waiting:
        for one in list(waiting):
            try:
                yield next(one)
            except StopIteration:
                waiting.remove(one)
