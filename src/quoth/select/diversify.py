"""Selection: the few sentences that say most together, each complete in itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from quoth.select.companions import Neighbours, companions_of
from quoth.settings import SelectionSettings
from quoth.types import Evidence, Ranked, Selection, Vectors


def select(
    ranked: tuple[Ranked, ...],
    vectors: Vectors,
    *,
    supports: Callable[[Ranked], bool],
    parts: Sequence[Sequence[str]],
    neighbours: Neighbours,
    settings: SelectionSettings,
) -> Selection:
    """Maximal marginal relevance over the sentences worth quoting, each with what completes it.

    `parts` has, for each part of the question, the ids of the sentences that are evidence for it, best first; one of
    each is chosen before any other sentence.
    """
    supporting = tuple(filter(supports, ranked))
    worthy = worth_quoting(supporting, min_share=settings.min_share, at_least=settings.min_support)
    first = one_of_each(supporting, parts)[: settings.max_sentences]
    chosen = diversify(worthy, vectors, first=first, settings=settings)
    evidence = complete(chosen, neighbours, sure=max(1, len(first)), limit=settings.max_sentences)
    return Selection(
        evidence=evidence,
        supporting=supporting,
        redundancy_before=redundancy(vectors[[one.row for one in supporting[: settings.max_sentences]]]),
        redundancy_after=redundancy(vectors[[one.row for one in chosen]]),
    )


def worth_quoting(supporting: Sequence[Ranked], *, min_share: float, at_least: int) -> list[Ranked]:
    """Those not far behind the best one, in their order: what only resembles the question is not quoted to fill up."""
    by_score = sorted(supporting, key=lambda one: -one.relevance)
    floor = min_share * by_score[0].relevance if by_score else 0.0
    kept = {one.sentence.id for place, one in enumerate(by_score) if one.relevance >= floor or place < at_least}
    return [one for one in supporting if one.sentence.id in kept]


def one_of_each(supporting: Sequence[Ranked], parts: Sequence[Sequence[str]]) -> list[Ranked]:
    """The best sentence for each part, in the order of the parts; one that serves a second part stands for both."""
    by_id = {one.sentence.id: one for one in supporting}
    chosen: dict[str, Ranked] = {}
    for ids in parts:
        at_hand = [by_id[one] for one in ids if one in by_id]
        if at_hand and not any(one.sentence.id in chosen for one in at_hand):
            chosen[at_hand[0].sentence.id] = at_hand[0]
    return list(chosen.values())


def diversify(
    ranked: Sequence[Ranked], vectors: Vectors, *, first: Sequence[Ranked], settings: SelectionSettings
) -> list[Ranked]:
    """Sentences in the order chosen: each the best of what is left, less its likeness to what was chosen already.

    Those of `first` are chosen in any case. What is more alike than `max_sim_threshold` is left out altogether.
    """
    chosen = list(first)
    likeness = np.zeros(len(vectors), dtype=np.float32)
    for one in first:
        likeness = np.maximum(likeness, np.einsum("ij,j->i", vectors, vectors[one.row]))
    taken = {one.sentence.id for one in first}
    left = [
        one
        for one in ranked
        if one.sentence.id not in taken and (not first or likeness[one.row] <= settings.max_sim_threshold)
    ]
    while left and len(chosen) < settings.max_sentences:
        best = max(
            left,
            key=lambda one: round(
                settings.mmr_lambda * one.order - (1 - settings.mmr_lambda) * float(likeness[one.row]), 6
            ),
        )
        chosen.append(best)
        likeness = np.maximum(likeness, np.einsum("ij,j->i", vectors, vectors[best.row]))
        left = [one for one in left if one is not best and likeness[one.row] <= settings.max_sim_threshold]
    return chosen


def complete(chosen: Sequence[Ranked], neighbours: Neighbours, *, sure: int, limit: int) -> tuple[Evidence, ...]:
    """The chosen sentences, each followed by its companions, at most `limit` in all.

    A sentence comes with its companions or not at all. Only the first `sure` ones come even if they do not fit; what
    takes them back comes with them all the same, since without that they would mislead.
    """
    evidence: dict[str, Evidence] = {}
    for place, one in enumerate(chosen):
        taken_back, looked_back_to = companions_of(one.sentence, neighbours)
        group = [one.sentence, *taken_back, *looked_back_to]
        if place < sure:
            room = limit - len(evidence) - (min(sure, len(chosen)) - place - 1)
            group = group[: max(room, 1 + len(taken_back))]
        added = [sentence for sentence in group if sentence.id not in evidence]
        if place < sure or len(evidence) + len(added) <= limit:
            for sentence in added:
                companion_of = None if sentence is one.sentence else one.sentence.id
                evidence[sentence.id] = Evidence(sentence, one.relevance, companion_of)
    return tuple(evidence.values())


def redundancy(vectors: Vectors) -> float:
    """The mean cosine between each two of the sentences; 0 for fewer than two."""
    count = len(vectors)
    if count < 2:
        return 0.0
    likeness = np.einsum("ik,jk->ij", vectors, vectors)
    return round(float((likeness.sum() - np.trace(likeness)) / (count * (count - 1))), 4)
