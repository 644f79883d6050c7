"""Selection: the few sentences that say most together, each complete in itself."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from quoth.settings import SelectionSettings
from quoth.types import Evidence, Ranked, RegionKind, Selection, Sentence, Vectors

Neighbours = Callable[[Sentence], tuple[Sentence | None, Sentence | None]]

# A sentence that opens so takes back or narrows the one before it.
_TAKES_BACK = re.compile(
    r"\W*(?:however|nevertheless|nonetheless|except|unless|provided,? (?:that|however)|notwithstanding|but|yet"
    r"|otherwise|the exception|this does not apply|exceptions?)\b",
    re.IGNORECASE,
)
# A sentence that opens so means nothing without the one before it.
_LOOKS_BACK = re.compile(
    r"\W*(?:it|this|that|they|these|those|such|he|she|the (?:former|latter)|both)\b(?!\s(?:agreement|contract|article"
    r"|section|document|guide|manual|chapter|amendment|declaration|policy|study|paper|review|report)\b)",
    re.IGNORECASE,
)
_PROSE = frozenset({RegionKind.PARAGRAPH, RegionKind.QUOTE, RegionKind.LIST_ITEM, RegionKind.FOOTNOTE})


def select(
    ranked: tuple[Ranked, ...],
    vectors: Vectors,
    *,
    supports: Callable[[Ranked], bool],
    neighbours: Neighbours,
    settings: SelectionSettings,
) -> Selection:
    """Maximal marginal relevance over the sentences worth quoting, each with what completes it."""
    supporting = tuple(filter(supports, ranked))
    worthy = worth_quoting(supporting, min_share=settings.min_share, at_least=settings.min_support)
    chosen = diversify(worthy, vectors, settings=settings)
    evidence = complete(chosen, neighbours, limit=settings.max_sentences)
    return Selection(
        evidence=evidence,
        supporting=supporting,
        redundancy_before=redundancy(vectors[[one.row for one in supporting[: settings.max_sentences]]]),
        redundancy_after=redundancy(vectors[[one.row for one in chosen]]),
    )


def worth_quoting(supporting: Sequence[Ranked], *, min_share: float, at_least: int) -> list[Ranked]:
    """Those not far behind the best one, in their order: what only resembles the question is not quoted to fill up."""
    by_score = sorted(supporting, key=lambda one: -one.fused)
    floor = min_share * by_score[0].fused if by_score else 0.0
    kept = {one.sentence.id for place, one in enumerate(by_score) if one.fused >= floor or place < at_least}
    return [one for one in supporting if one.sentence.id in kept]


def diversify(ranked: Sequence[Ranked], vectors: Vectors, *, settings: SelectionSettings) -> list[Ranked]:
    """Sentences in the order chosen: each the best of what is left, less its likeness to what was chosen already.

    What is more alike than `max_sim_threshold` is left out altogether.
    """
    left = list(ranked)
    chosen: list[Ranked] = []
    likeness = np.zeros(len(vectors), dtype=np.float32)
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


def complete(chosen: Sequence[Ranked], neighbours: Neighbours, *, limit: int) -> tuple[Evidence, ...]:
    """The chosen sentences, each followed by its companions, at most `limit` in all.

    A sentence comes with its companions or not at all. Only the first one comes even if they do not fit; what takes it
    back comes with it all the same, since without that it would mislead.
    """
    evidence: dict[str, Evidence] = {}
    for one in chosen:
        taken_back, looked_back_to = companions_of(one.sentence, neighbours)
        group = [one.sentence, *taken_back, *looked_back_to]
        if not evidence:
            group = group[: max(limit, 1 + len(taken_back))]
        added = [sentence for sentence in group if sentence.id not in evidence]
        if not evidence or len(evidence) + len(added) <= limit:
            for sentence in added:
                companion_of = None if sentence is one.sentence else one.sentence.id
                evidence[sentence.id] = Evidence(sentence, one.relevance, companion_of)
    return tuple(evidence.values())


def companions_of(sentence: Sentence, neighbours: Neighbours) -> tuple[list[Sentence], list[Sentence]]:
    """What takes the sentence back, and what it refers back to; each a list of one or none."""
    before, after = neighbours(sentence)
    taken_back = after and _TAKES_BACK.match(after.text) and _same_thought(sentence, after)
    looks_back = before and _LOOKS_BACK.match(sentence.text) and _same_thought(before, sentence)
    return [after] if after and taken_back else [], [before] if before and looks_back else []


def _same_thought(first: Sentence, second: Sentence) -> bool:
    return first.section == second.section and first.kind in _PROSE and second.kind in _PROSE


def redundancy(vectors: Vectors) -> float:
    """The mean cosine between each two of the sentences; 0 for fewer than two."""
    count = len(vectors)
    if count < 2:
        return 0.0
    likeness = np.einsum("ik,jk->ij", vectors, vectors)
    return round(float((likeness.sum() - np.trace(likeness)) / (count * (count - 1))), 4)
