"""Select the few sentences that together say most, each with the sentences it needs to be understood."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from quoth.answer.companions import companions_of
from quoth.domain.profile import Profile
from quoth.search.engine import Engine
from quoth.settings import SelectionSettings
from quoth.types import Analysis, Conflict, Evidence, Ranked, Selection, Sentence, SubAnswer, Vectors

ReadNeighbours = Callable[[Sequence[Sentence]], Sequence[tuple[Sentence | None, Sentence | None]]]
"""Return the sentences before and after each sentence, as `Reader.neighbours` does."""
SentenceTest = Callable[[Ranked], bool]


@dataclass(frozen=True, slots=True)
class SentenceTests:
    """Which sentences support an answer by themselves, and which only complement one that does."""

    supports: SentenceTest
    complements: SentenceTest


def sentence_tests(
    ranked: Sequence[Ranked], analysis: Analysis, sub_answers: Sequence[SubAnswer], engine: Engine
) -> SentenceTests:
    """Return tests for the sentences found: near enough to the question, and not about something else.

    When no sub-question has evidence, nothing passes: resembling the whole question is no evidence either.
    """
    if not engine.settings.decision.abstain:
        return SentenceTests(lambda _: True, lambda _: False)
    if sub_answers and all(sub_answer.objection is not None for sub_answer in sub_answers):
        return SentenceTests(lambda _: False, lambda _: False)

    def reaches(threshold: float) -> SentenceTest:
        return lambda ranked: ranked.relevance >= threshold and on_topic(ranked.sentence, analysis, engine.profile)

    thresholds = engine.thresholds
    best = max((item.relevance for item in all_on_topic(ranked, analysis, engine.profile)), default=0.0)
    # The confidence decides about the best sentence; the others must be likely to support the answer by themselves.
    likely = reaches(max(thresholds.support, min(thresholds.quote, best)))
    # The best sentence of a part may support less than that of another part.
    of_parts = {item.sentence.id for sub_answer in sub_answers for item in sub_answer.evidence}
    return SentenceTests(lambda item: item.sentence.id in of_parts or likely(item), reaches(thresholds.context))


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
    neighbours: ReadNeighbours,
    settings: SelectionSettings,
) -> Selection:
    """Select sentences worth quoting by maximal marginal relevance, and add the companions of each.

    `sub_evidence` lists, for each sub-question, the ids of the sentences that are evidence for it, best first. The
    best sentence of each sub-question is chosen before any other sentence.
    """
    supporting = tuple(filter(tests.supports, ranked))
    context = complementary(ranked, supporting, tests.complements, settings.min_support - len(supporting))
    worthy = worth_quoting(supporting, min_share=settings.min_share, at_least=settings.min_support)
    first = one_of_each(supporting, sub_evidence)[: settings.max_sentences]
    chosen = [*diversify(worthy, vectors, first=first, settings=settings), *context]
    evidence = complete(chosen, neighbours, sure=max(1, len(first)), limit=settings.max_sentences)
    return Selection(
        evidence=evidence,
        supporting=supporting,
        context=context,
        redundancy_before=redundancy(vectors[[candidate.row for candidate in supporting[: settings.max_sentences]]]),
        redundancy_after=redundancy(vectors[[candidate.row for candidate in chosen]]),
    )


def complementary(
    ranked: Sequence[Ranked], supporting: Sequence[Ranked], complements: SentenceTest, wanted: int
) -> tuple[Ranked, ...]:
    """Return up to `wanted` sentences that complement an answer, best first; none when nothing supports one."""
    if not supporting:
        return ()
    taken = {candidate.sentence.id for candidate in supporting}
    others = (candidate for candidate in ranked if candidate.sentence.id not in taken and complements(candidate))
    return tuple(islice(others, max(0, wanted)))


def worth_quoting(supporting: Sequence[Ranked], *, min_share: float, at_least: int) -> list[Ranked]:
    """Return the sentences with at least `min_share` of the best score, and always the `at_least` best, in input order.

    A sentence that only resembles the question is not quoted to fill up the answer.
    """
    by_score = sorted(supporting, key=lambda candidate: -candidate.relevance)
    floor = min_share * by_score[0].relevance if by_score else 0.0
    worthy = {
        candidate.sentence.id
        for rank, candidate in enumerate(by_score)
        if candidate.relevance >= floor or rank < at_least
    }
    return [candidate for candidate in supporting if candidate.sentence.id in worthy]


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
    """Return the sentences of maximal marginal relevance, in the order chosen.

    Each step takes the candidate with the best score after a penalty for similarity to the sentences chosen so far.
    The sentences in `first` are always chosen. Candidates more similar than `max_sim_threshold` are left out.
    """
    chosen: list[Ranked] = []
    rest = list(ranked)
    similarity = np.zeros(len(vectors), dtype=np.float32)

    def marginal_relevance(candidate: Ranked) -> float:
        penalty = (1 - settings.mmr_lambda) * float(similarity[candidate.row])
        return round(settings.mmr_lambda * candidate.order - penalty, 6)

    while len(chosen) < len(first) or (rest and len(chosen) < settings.max_sentences):
        best = first[len(chosen)] if len(chosen) < len(first) else max(rest, key=marginal_relevance)
        chosen.append(best)
        similarity = np.maximum(similarity, np.einsum("ij,j->i", vectors, vectors[best.row]))
        rest = [
            candidate
            for candidate in rest
            if candidate.sentence.id != best.sentence.id and similarity[candidate.row] <= settings.max_sim_threshold
        ]
    return chosen


def complete(chosen: Sequence[Ranked], neighbours: ReadNeighbours, *, sure: int, limit: int) -> tuple[Evidence, ...]:
    """Return the chosen sentences, each followed by its companions, at most `limit` in all.

    A sentence that does not fit together with its companions is dropped. The first `sure` sentences always stay, with
    their exceptions even beyond `limit`, since they would mislead without them.
    """
    # Read all neighbours in one call: a remote index would pay a round trip for each sentence.
    sentences = [candidate.sentence for candidate in chosen]
    beside = dict(zip((sentence.id for sentence in sentences), neighbours(sentences), strict=True))

    def neighbours_of(sentence: Sentence) -> tuple[Sentence | None, Sentence | None]:
        return beside[sentence.id] if sentence.id in beside else neighbours([sentence])[0]

    evidence: dict[str, Evidence] = {}
    for rank, candidate in enumerate(chosen):
        exceptions, referents = companions_of(candidate.sentence, neighbours_of)
        group = [candidate.sentence, *exceptions, *referents]
        if rank < sure:
            room = limit - len(evidence) - (min(sure, len(chosen)) - rank - 1)
            group = group[: max(room, 1 + len(exceptions))]
        added = [sentence for sentence in group if sentence.id not in evidence]
        if rank < sure or len(evidence) + len(added) <= limit:
            for sentence in added:
                companion_of = None if sentence is candidate.sentence else candidate.sentence.id
                evidence[sentence.id] = Evidence(sentence, candidate.relevance, companion_of)
    return tuple(evidence.values())


def with_both_sides(selection: Selection, conflicts: Sequence[Conflict], ranked: Sequence[Ranked]) -> Selection:
    """Add the statements of all conflicts when one of them is quoted, however similar they are."""
    quoted = {item.sentence.id for item in selection.evidence}
    sides = [statement.sentence for conflict in conflicts for statement in conflict.statements]
    if not any(sentence.id in quoted for sentence in sides):
        return selection
    scores = {candidate.sentence.id: candidate.relevance for candidate in ranked}
    added = {side.id: Evidence(side, scores[side.id], None) for side in sides if side.id not in quoted}
    return replace(selection, evidence=(*selection.evidence, *added.values()))


def redundancy(vectors: Vectors) -> float:
    """Return the mean cosine over all pairs of sentences; 0 for fewer than two sentences."""
    count = len(vectors)
    if count < 2:
        return 0.0
    similarity = np.einsum("ik,jk->ij", vectors, vectors)
    return round(float((similarity.sum() - np.trace(similarity)) / (count * (count - 1))), 4)
