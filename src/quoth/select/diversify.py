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
    support_score: float,
    neighbours: Neighbours,
    settings: SelectionSettings,
) -> Selection:
    """Maximal marginal relevance over the sentences that support an answer, each with what completes it."""
    supporting = tuple(one for one in ranked if one.fused >= support_score)
    chosen = diversify(supporting, vectors, settings=settings)
    evidence = complete(chosen, neighbours, limit=settings.max_sentences)
    return Selection(
        evidence=evidence,
        supporting=supporting,
        redundancy_before=redundancy(vectors[[one.row for one in supporting[: settings.max_sentences]]]),
        redundancy_after=redundancy(vectors[[one.row for one in chosen]]),
    )


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
        likeness = np.maximum(likeness, vectors @ vectors[best.row])
        left = [one for one in left if one is not best and likeness[one.row] <= settings.max_sim_threshold]
    return chosen


def complete(chosen: Sequence[Ranked], neighbours: Neighbours, *, limit: int) -> tuple[Evidence, ...]:
    """The chosen sentences with their companions, at most `limit` in all: a sentence comes whole or not at all."""
    evidence: dict[str, Evidence] = {}
    for one in chosen:
        before, after = _companions(one.sentence, neighbours)
        group = [*before, one.sentence, *after]
        missing = [sentence for sentence in group if sentence.id not in evidence]
        if evidence and len(evidence) + len(missing) > limit:
            continue
        for sentence in missing:
            companion_of = None if sentence is one.sentence else one.sentence.id
            evidence[sentence.id] = Evidence(sentence, one.relevance, companion_of)
    return tuple(evidence.values())


def _companions(sentence: Sentence, neighbours: Neighbours) -> tuple[list[Sentence], list[Sentence]]:
    """The sentence it refers back to, and the one that takes it back."""
    before, after = neighbours(sentence)
    needed_before = [before] if before and _LOOKS_BACK.match(sentence.text) and _same_thought(before, sentence) else []
    needed_after = [after] if after and _TAKES_BACK.match(after.text) and _same_thought(sentence, after) else []
    return needed_before, needed_after


def _same_thought(first: Sentence, second: Sentence) -> bool:
    return first.section == second.section and first.kind in _PROSE and second.kind in _PROSE


def redundancy(vectors: Vectors) -> float:
    """The mean cosine between each two of the sentences; 0 for fewer than two."""
    count = len(vectors)
    if count < 2:
        return 0.0
    likeness = vectors @ vectors.T
    return round(float((likeness.sum() - np.trace(likeness)) / (count * (count - 1))), 4)
