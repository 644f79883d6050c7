"""What each stage of one question found of the gold, taken from its trace while that is still there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from quoth.evaluation.overlap import Place, first_ranks, touches
from quoth.evaluation.questions import Labelled
from quoth.render import main_tags
from quoth.types import Asked, Candidate, Ranked, Sentence

STAGES = ("lexical", "dense", "fused", "reranked", "selected")
"""In the order of the pipeline. A search by one way alone has no stage of the other."""
TOP = 5
"""Sentences that the precision of the order looks at."""
UNTAGGED = "other"
"""The value of a facet for a sentence in which nothing matched."""

_WITHOUT = {"bm25": "dense", "dense": "lexical"}
"""Which way a retriever does not search."""


@dataclass(frozen=True, slots=True)
class Stages:
    """`ranks` holds for each stage the rank, from 1, of the first sentence that touches each gold; None if none does.

    `boosted` and `unboosted` count the sentences that touch gold among the first `TOP`, ordered with and without the
    profile's boosts. `pairs_gained` is how many more combinations of tags the chosen sentences have than as many of
    the best ranked ones would.
    """

    ranks: Mapping[str, tuple[int | None, ...]]
    boosted: int
    unboosted: int
    pairs_gained: int


def stages_of(asked: Asked, item: Labelled) -> Stages:
    """The stages of one question as they bear on its gold."""
    trace = asked.trace
    found = [one.candidate for one in trace.fused]
    chosen = [one.sentence for one in trace.selection.evidence]
    orders: dict[str, list[Place]] = {
        "lexical": _by_score(found, way="lexical"),
        "dense": _by_score(found, way="dense"),
        "fused": [_place(one.sentence) for one in trace.fused],
        "reranked": [_place(one.sentence) for one in trace.ranked],
        "selected": [_place(one) for one in chosen],
    }
    absent = _WITHOUT.get(asked.outcome.notes.retriever)
    plain = sorted(trace.ranked, key=lambda one: (-one.relevance, one.sentence.doc_id, one.sentence.quote.span))
    own = [one.sentence for one in trace.selection.evidence if one.companion_of is None]
    best = [one.sentence for one in trace.selection.supporting[: len(own)]]
    return Stages(
        ranks={name: first_ranks(order, item.gold) for name, order in orders.items() if name != absent},
        boosted=_relevant(trace.ranked, item),
        unboosted=_relevant(plain, item),
        pairs_gained=len(_pairs(own)) - len(_pairs(best)),
    )


def tag_pairs(tags: Iterable[Mapping[str, str]]) -> set[tuple[str, ...]]:
    """The different combinations of main tags (crop x practice); a sentence with an untagged facet has none."""
    return {tuple(one[facet] for facet in sorted(one)) for one in tags if one and UNTAGGED not in one.values()}


def _pairs(sentences: Sequence[Sentence]) -> set[tuple[str, ...]]:
    return tag_pairs(main_tags(one.tags) for one in sentences)


def _by_score(candidates: Sequence[Candidate], *, way: str) -> list[Place]:
    """What one way of searching found, by its own score."""
    found = [one for one in candidates if way in one.found_by]
    ordered = sorted(found, key=lambda one: (-_score(one, way), one.sentence.doc_id, one.sentence.quote.span))
    return [_place(one.sentence) for one in ordered]


def _score(candidate: Candidate, way: str) -> float:
    return candidate.lexical if way == "lexical" else candidate.dense


def _relevant(order: Sequence[Ranked], item: Labelled) -> int:
    return sum(any(touches(_place(one.sentence), gold) for gold in item.gold) for one in order[:TOP])


def _place(sentence: Sentence) -> Place:
    return sentence.doc_id, sentence.quote.span
