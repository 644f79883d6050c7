"""The stress set: answerable questions changed in one thing, so that their corpus no longer answers them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from quoth.errors import QuestionError
from quoth.evaluation.labelled_questions import LabelledQuestion
from quoth.language.quantities import quantities
from quoth.language.words import fold, singular
from quoth.overrides import parse_yaml
from quoth.types import Abstention, Outcome, Quantity, Question
from stress.premise import false_premises, opposite_premises, premise
from stress.swap import Pool, Swap, SwapKind, pool_of, swaps

PER_KIND: Mapping[SwapKind, int] = {
    SwapKind.ENTITY: 4,
    SwapKind.YEAR: 2,
    SwapKind.NUMBER: 3,
    SwapKind.UNIT: 3,
    SwapKind.POLARITY: 3,
    SwapKind.PLACE: 2,
}
"""How many changes of each kind are kept of one question."""
_TRIED = 40
_SEED = 7


@dataclass(frozen=True, slots=True)
class Plan:
    """What was settled by reading: terms to exchange, by kind; opposites that count; changes that do not.

    A word's opposite often leaves the question answered, so that only those that were read are kept.
    """

    terms: tuple[tuple[str, ...], ...]
    opposites: frozenset[str]
    drop: frozenset[str]

    def admits(self, swap: Swap) -> bool:
        if swap.kind is SwapKind.POLARITY:
            return swap.question in self.opposites
        return swap.question not in self.drop


@dataclass(frozen=True, slots=True)
class Stressed:
    """An unanswerable question, made by one change of the answerable one whose id is `of`."""

    labelled: LabelledQuestion
    of: str
    kind: SwapKind
    after: str


def read_plan(path: Path) -> Plan:
    """The plan in a YAML file with `terms`, a list of lists, and with `opposites` and `drop`, lists of questions."""
    hint = "A plan holds 'terms', a list of lists of words, and 'opposites' and 'drop', lists of questions."
    content = parse_yaml(path.read_bytes(), what=str(path), hint=hint)
    try:
        terms = tuple(tuple(map(str, group)) for group in content["terms"])
        return Plan(terms, frozenset(content["opposites"]), frozenset(content["drop"]))
    except (KeyError, TypeError) as error:
        raise QuestionError(f"{path} is not a plan: {error}", hint=hint) from error


def stress_set(items: Sequence[LabelledQuestion], *, texts: Sequence[str], plan: Plan) -> tuple[Stressed, ...]:
    """The changed questions, in the order of their originals; nothing that is put in occurs in the `texts`.

    Besides the questions themselves, what their evidence states is asked back with a false amount.
    """
    corpus = _Corpus.of(texts)
    pool = pool_of([item.question.text for item in items], terms=plan.terms)
    # A name from another question is one that its corpus knows; only the terms of the plan are exchanged.
    pool = Pool(names=(), codes=(), places=pool.places, terms=pool.terms)
    made: list[Stressed] = []
    for item in items:
        if item.answerable:
            kept = [one for one in _changes(item, pool, corpus) if plan.admits(one)]
            for kind in SwapKind:
                of_kind = islice((one for one in kept if one.kind is kind), PER_KIND[kind])
                made += [_stressed(item, one, number) for number, one in enumerate(of_kind, 1)]
    once: dict[str, Stressed] = {}
    for one in made:
        once.setdefault(one.labelled.question.text, one)
    return tuple(once.values())


def _stressed(item: LabelledQuestion, swap: Swap, number: int) -> Stressed:
    question = Question(f"{item.question.id}-{swap.kind}-{number}", swap.question, item.question.filters)
    return Stressed(LabelledQuestion(question, False, (), item.gold_mode), item.question.id, swap.kind, swap.after)


def _changes(item: LabelledQuestion, pool: Pool, corpus: _Corpus) -> Iterator[Swap]:
    evidence = [gold.text for gold in item.gold]
    for swap in swaps(item.question.text, evidence=evidence, pool=pool, per_kind=_TRIED, seed=_SEED):
        if corpus.lacks(swap):
            yield swap
    for sentence in evidence:
        yield from _first_of_each(false_premises(sentence, stated=corpus.quantities, seed=_SEED))
        yield from opposite_premises(sentence)


def _first_of_each(swaps: Iterable[Swap]) -> list[Swap]:
    """One change of each amount by kind: a sentence is not to fill the set alone."""
    return list({(one.kind, one.before): one for one in reversed(list(swaps))}.values())[::-1]


def true_premises(items: Sequence[LabelledQuestion]) -> tuple[LabelledQuestion, ...]:
    """What the evidence states, asked back unchanged: the measure of how much the false premises cost.

    Each question keeps the gold that it was made of, and is answerable.
    """
    made: dict[str, LabelledQuestion] = {}
    for item in items:
        for number, gold in enumerate(item.gold, 1):
            if (text := premise(gold.text)) is not None:
                question = Question(f"{item.question.id}-premise-{number}", text, item.question.filters)
                made.setdefault(text, LabelledQuestion(question, True, (gold,), "any"))
    return tuple(made.values())


@dataclass(frozen=True, slots=True)
class _Corpus:
    """What all documents say together."""

    folded: str
    words: frozenset[str]
    quantities: tuple[Quantity, ...]

    @classmethod
    def of(cls, texts: Sequence[str]) -> _Corpus:
        folded = fold(" ".join(" ".join(texts).split()))
        words = frozenset(singular(word) for word in re.findall(r"[^\W_]+", folded))
        return cls(folded, words, tuple(one for text in texts for one in quantities(text)))

    def lacks(self, swap: Swap) -> bool:
        """Whether no document holds what was put in; of units and opposites only the evidence is asked."""
        if swap.kind in {SwapKind.UNIT, SwapKind.POLARITY}:
            return True
        if swap.kind is SwapKind.NUMBER:
            following = re.search(rf"{re.escape(swap.after)}(\s\w+)?", swap.question)
            return following is None or fold(following[0]) not in self.folded
        return not all(singular(word) in self.words for word in re.findall(r"[^\W_]+", fold(swap.after)))


@dataclass(frozen=True, slots=True)
class Refusals:
    """How many questions of one kind there are, and how many of them were refused."""

    refused: int
    total: int

    @property
    def share(self) -> float:
        return self.refused / self.total if self.total else 1.0


def refusals(stressed: Sequence[Stressed], ask: Callable[[Question], Outcome]) -> dict[SwapKind, Refusals]:
    """Ask every question; what came of each kind, in the order of the kinds."""
    totals, refused = Counter[SwapKind](), Counter[SwapKind]()
    for one in stressed:
        totals[one.kind] += 1
        refused[one.kind] += is_refused(one, ask(one.labelled.question))
    return {kind: Refusals(refused[kind], totals[kind]) for kind in SwapKind if totals[kind]}


def is_refused(stressed: Stressed, outcome: Outcome) -> bool:
    """Whether nothing was answered, or what was put in is named as a part without evidence."""
    if isinstance(outcome, Abstention):
        return True
    return any(fold(stressed.after) in fold(part) for part in outcome.unsupported_parts)
