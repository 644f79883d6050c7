"""Select the sentences that answer a question, best first, and what each needs to be understood."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from quoth.answer.completion import Clauses, complementary, complete
from quoth.domain.profile import Profile
from quoth.search.asking_sentences import asks
from quoth.search.engine import Engine
from quoth.settings import SelectionSettings
from quoth.types import (
    Analysis,
    Conflict,
    Evidence,
    QuoteRole,
    Ranked,
    RegionKind,
    Selection,
    Sentence,
    SubAnswer,
    Vectors,
)

EqualPlaces = Callable[[Sentence], Sequence[Sentence]]
"""Return the sentence to quote in place of a sentence, then the other sentences that equal it."""
SentenceTest = Callable[[Ranked], bool]
_EQUAL_SUPPORT = 0.02
"""By how much the order scores of sentences differ that support an answer equally well."""
_MOST_NEAR = 3
"""How many sentences are shown beside an answer as near to the question."""
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_PREDICATE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|be|been|shall|must|may|might|can|cannot|could|will|would|should|do|does|did)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class SentenceTests:
    """Which sentences support an answer by themselves, which may complement one, and which two have one subject."""

    supports: SentenceTest
    complements: SentenceTest
    akin: Callable[[Sentence, Sentence], bool]


def sentence_tests(
    ranked: Sequence[Ranked], analysis: Analysis, sub_answers: Sequence[SubAnswer], engine: Engine
) -> SentenceTests:
    """Return tests for the sentences found: near enough to the question, and not about something else.

    When no sub-question has evidence, nothing passes: resembling the whole question is no evidence either.
    """

    def akin(sentence: Sentence, other: Sentence) -> bool:
        together = (sentence.doc_id, sentence.section) == (other.doc_id, other.section)
        return on_topic(sentence, analysis, engine.profile) and (
            together or have_one_subject(sentence, other, engine.profile)
        )

    if not engine.settings.decision.abstain:
        return SentenceTests(lambda _: True, lambda _: False, akin)
    if sub_answers and all(sub_answer.objection is not None for sub_answer in sub_answers):
        return SentenceTests(lambda _: False, lambda _: False, akin)

    def reaches(threshold: float) -> SentenceTest:
        return lambda ranked: ranked.relevance >= threshold and on_topic(ranked.sentence, analysis, engine.profile)

    thresholds = engine.thresholds
    stating = [item for item in all_on_topic(ranked, analysis, engine.profile) if states(item.sentence)]
    best = max((item.relevance for item in stating), default=0.0)
    # The confidence decides about the best sentence; the others must be likely to support the answer by themselves.
    likely = reaches(max(thresholds.support, min(thresholds.quote, best)))
    # The best sentence of a part may support less than that of another part.
    of_parts = {item.sentence.id for sub_answer in sub_answers for item in sub_answer.evidence}
    return SentenceTests(
        supports=lambda item: item.sentence.id in of_parts or (likely(item) and states(item.sentence)),
        complements=reaches(thresholds.context),
        akin=akin,
    )


def states(sentence: Sentence) -> bool:
    """Return whether a sentence can be an answer by itself: a question asks, and a bare caption names its picture."""
    named = sentence.kind is RegionKind.CAPTION and _PREDICATE.search(sentence.text) is None
    return not named and not asks(sentence)


def have_one_subject(first: Sentence, second: Sentence, profile: Profile) -> bool:
    """Return whether `first` shares a tag with `second` in every facet in which both have tags.

    In a facet that questions presume it must be the main one: a sentence may mention several crops, but is about one.
    """
    for facet in profile.facets:
        own, others = (set(each.tags.get(facet.name, ())) - {facet.default} for each in (first, second))
        about = {first.tags[facet.name][0]} if own and facet.presumed else own
        if about and others and about.isdisjoint(others):
            return False
    return True


def on_topic(sentence: Sentence, analysis: Analysis, profile: Profile) -> bool:
    """Return whether the sentence could be about what the question names.

    In a facet that questions presume, a sentence about another value (crop) is not; one about nothing in particular is.
    """
    for facet in profile.facets:
        wanted = analysis.tags.get(facet.name, ())
        about = set(sentence.tags.get(facet.name, ())) - {facet.default}
        if facet.presumed and wanted and about and not about & set(wanted):
            return False
    return True


def all_on_topic(ranked: Sequence[Ranked], analysis: Analysis, profile: Profile) -> tuple[Ranked, ...]:
    return tuple(item for item in ranked if on_topic(item.sentence, analysis, profile))


def select(
    ranked: tuple[Ranked, ...],
    vectors: Vectors,
    *,
    tests: SentenceTests,
    sub_evidence: Sequence[Sequence[str]],
    places: EqualPlaces,
    clauses: Clauses,
    settings: SelectionSettings,
) -> Selection:
    """Select the sentences that answer, best first, with what completes each, and context where these are too few.

    `sub_evidence` lists, for each sub-question, the ids of the sentences that are evidence for it, best first. The
    best sentence of each sub-question is chosen before any other sentence. `places` finds equal sentences.
    """
    supporting = tuple(filter(tests.supports, ranked))
    worthy = worth_quoting(supporting, min_share=settings.min_share)
    first = one_of_each(supporting, sub_evidence)[: settings.max_sentences]
    merged = Places([*first, *worthy], places)
    chosen = diversify(merged.of(worthy), vectors, first=merged.of(first), settings=settings)
    completed = complete(
        chosen,
        clauses,
        also=merged.also,
        relevance={item.sentence.id: item.relevance for item in ranked},
        answers={item.sentence.id for item in (*merged.of(worthy), *chosen)},
        sure=max(1, len(merged.of(first))),
        limit=settings.max_sentences,
    )
    rest = [item for item in without_repetition(ranked, chosen, vectors, settings=settings) if tests.complements(item)]
    wanted = min(settings.min_support, settings.max_sentences) - len(completed)
    context = complementary(completed, rest, akin=tests.akin, clauses=clauses, wanted=wanted)
    evidence = (*completed, *context)
    added = {item.sentence.id for item in context}
    quoted = [*chosen, *(item for item in rest if item.sentence.id in added)]
    return Selection(
        evidence=evidence,
        see_also=near_the_question(rest, evidence),
        supporting=supporting,
        redundancy_before=redundancy(vectors[[candidate.row for candidate in supporting[: settings.max_sentences]]]),
        redundancy_after=redundancy(vectors[[candidate.row for candidate in quoted]]),
    )


def near_the_question(rest: Sequence[Ranked], evidence: Sequence[Evidence]) -> tuple[Evidence, ...]:
    """Return the best sentences of `rest` that no evidence states already, in input order."""
    stated = {each.id for item in evidence for each in (item.sentence, *item.also)}
    near = [item for item in rest if item.sentence.id not in stated]
    return tuple(
        Evidence(item.sentence, item.relevance, None, QuoteRole.CONTEXT, also=()) for item in near[:_MOST_NEAR]
    )


class Places:
    """Joins equal sentences: one stands for all of them."""

    def __init__(self, ranked: Sequence[Ranked], places: EqualPlaces) -> None:
        self._stands_for: dict[str, Ranked] = {}
        self.also: dict[str, tuple[Sentence, ...]] = {}
        """The other places of each sentence that stands for several, by its id."""
        for item in ranked:
            if item.sentence.id in self._stands_for:
                continue
            quoted, *others = places(item.sentence)
            standing = replace(item, candidate=replace(item.candidate, sentence=quoted))
            self._stands_for |= {each.id: standing for each in (item.sentence, quoted, *others)}
            self.also[quoted.id] = tuple(others)

    def of(self, ranked: Sequence[Ranked]) -> list[Ranked]:
        """Return the sentences that stand for these, each once, in the same order."""
        standing = (self._stands_for[item.sentence.id] for item in ranked)
        return list({item.sentence.id: item for item in standing}.values())


def worth_quoting(supporting: Sequence[Ranked], *, min_share: float) -> list[Ranked]:
    """Return the sentences with at least `min_share` of the best score, in input order.

    A sentence that only resembles the question is not quoted to fill up the answer.
    """
    floor = min_share * max((candidate.relevance for candidate in supporting), default=0.0)
    return [candidate for candidate in supporting if candidate.relevance >= floor]


def one_of_each(supporting: Sequence[Ranked], sub_evidence: Sequence[Sequence[str]]) -> list[Ranked]:
    """Return the best sentence for each sub-question, in their order; a sentence may serve several sub-questions."""
    by_id = {candidate.sentence.id: candidate for candidate in supporting}
    chosen: dict[str, Ranked] = {}
    for ids in sub_evidence:
        available = [sentence_id for sentence_id in ids if sentence_id in by_id]
        if available and not any(sentence_id in chosen for sentence_id in available):
            chosen[available[0]] = by_id[available[0]]
    return list(chosen.values())


def diversify(
    ranked: Sequence[Ranked], vectors: Vectors, *, first: Sequence[Ranked], settings: SelectionSettings
) -> list[Ranked]:
    """Return the sentences that add to each other, best first.

    Among sentences that support equally well, each step takes the one with the best score after a penalty for its
    similarity to the sentences chosen so far. What is more similar to them than `max_sim_threshold` is left out, so a
    sentence never gives way to one that supports less. The sentences in `first` are always chosen.
    """
    chosen: list[Ranked] = []
    rest = list(ranked)
    similarity = np.zeros(len(vectors), dtype=np.float32)

    def marginal_relevance(candidate: Ranked) -> float:
        penalty = (1 - settings.mmr_lambda) * float(similarity[candidate.row])
        return round(settings.mmr_lambda * candidate.order - penalty, 6)

    while len(chosen) < len(first) or (rest and len(chosen) < settings.max_sentences):
        if len(chosen) < len(first):
            best = first[len(chosen)]
        else:
            least = max(candidate.order for candidate in rest) - _EQUAL_SUPPORT
            best = max((candidate for candidate in rest if candidate.order >= least), key=marginal_relevance)
        chosen.append(best)
        similarity = np.maximum(similarity, np.einsum("ij,j->i", vectors, vectors[best.row]))
        rest = [
            candidate
            for candidate in rest
            if candidate.sentence.id != best.sentence.id and similarity[candidate.row] <= settings.max_sim_threshold
        ]
    return chosen


def without_repetition(
    ranked: Sequence[Ranked], chosen: Sequence[Ranked], vectors: Vectors, *, settings: SelectionSettings
) -> list[Ranked]:
    """Return the sentences that are not too similar to the chosen ones or state other numbers, in input order."""
    if not chosen:
        return list(ranked)
    stated = {number for item in chosen for number in _NUMBER.findall(item.sentence.text)}
    similarity = np.einsum("ij,kj->ik", vectors, vectors[[item.row for item in chosen]]).max(axis=1)
    return [
        item
        for item in ranked
        if similarity[item.row] <= settings.max_sim_threshold or set(_NUMBER.findall(item.sentence.text)) - stated
    ]


def with_both_sides(selection: Selection, conflicts: Sequence[Conflict], ranked: Sequence[Ranked]) -> Selection:
    """Add the statements of all conflicts when one of them is quoted, however similar they are."""
    quoted = {item.sentence.id for item in selection.evidence}
    sides = [statement.sentence for conflict in conflicts for statement in conflict.statements]
    if not any(sentence.id in quoted for sentence in sides):
        return selection
    scores = {candidate.sentence.id: candidate.relevance for candidate in ranked}
    supporting = {candidate.sentence.id for candidate in selection.supporting}
    added = {
        side.id: Evidence(
            side, scores[side.id], None, QuoteRole.ANSWER if side.id in supporting else QuoteRole.CONTEXT, also=()
        )
        for side in sides
        if side.id not in quoted
    }
    near = tuple(item for item in selection.see_also if item.sentence.id not in added)
    return replace(selection, evidence=(*selection.evidence, *added.values()), see_also=near)


def redundancy(vectors: Vectors) -> float:
    """Return the mean cosine over all pairs of sentences; 0 for fewer than two sentences."""
    count = len(vectors)
    if count < 2:
        return 0.0
    similarity = np.einsum("ik,jk->ij", vectors, vectors)
    return round(float((similarity.sum() - np.trace(similarity)) / (count * (count - 1))), 4)
