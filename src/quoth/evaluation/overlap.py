"""How far quotes and gold share characters. Both are half-open spans of one document's code points."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from quoth.evaluation.questions import Gold, Labelled
from quoth.types import Span

Place: TypeAlias = tuple[str, Span]
"""A document and a span of it."""


def touches(place: Place, gold: Gold) -> bool:
    """Whether the place shares a character with the gold or one of its alternatives."""
    doc_id, span = place
    return doc_id == gold.doc_id and any(one.start < span.end and span.start < one.end for one in gold.spans)


def first_ranks(places: Sequence[Place], gold: Sequence[Gold]) -> tuple[int | None, ...]:
    """For each gold the rank, from 1, of the first place that touches it; None when none does."""
    return tuple(next((rank for rank, place in enumerate(places, 1) if touches(place, one)), None) for one in gold)


def recall(ranks: Sequence[int | None], item: Labelled, *, at: int | None = None) -> float:
    """The share of the gold found within the first `at` ranks; with mode `any` 1 as soon as one is. 0 without gold."""
    found = [rank is not None and (at is None or rank <= at) for rank in ranks]
    if item.gold_mode == "any" or not found:
        return float(any(found))
    return sum(found) / len(found)


def character_scores(places: Sequence[Place], item: Labelled) -> tuple[float, float, float]:
    """Precision, recall and F1 in characters; all 0 when nothing is quoted or there is no gold.

    A character counts once however often it is quoted. Recall takes of each gold the alternative that is quoted best;
    with mode `any` it is the best of any gold, with `all` the share of all their characters.
    """
    quoted = _merged(places)
    golden = _merged((one.doc_id, span) for one in item.gold for span in one.spans)
    if not quoted or not golden:
        return 0.0, 0.0, 0.0
    precision = _shared(quoted, golden) / sum(len(span) for _, span in quoted)
    covered = [max((_covered(one, span, quoted) for span in one.spans), key=_share) for one in item.gold]
    if item.gold_mode == "any":
        found = max(map(_share, covered))
    else:
        found = sum(shared for shared, _ in covered) / sum(length for _, length in covered)
    both = precision + found
    return precision, found, 2 * precision * found / both if both else 0.0


def _merged(places: Iterable[Place]) -> list[Place]:
    """The same characters in places that do not overlap."""
    merged: list[Place] = []
    for doc_id, span in sorted(places):
        if merged and merged[-1][0] == doc_id and span.start <= merged[-1][1].end:
            before = merged.pop()[1]
            merged.append((doc_id, Span(before.start, max(before.end, span.end))))
        else:
            merged.append((doc_id, span))
    return merged


def _shared(ones: Sequence[Place], others: Sequence[Place]) -> int:
    """How many characters two lists of places that do not overlap have in common."""
    return sum(
        max(0, min(one.end, other.end) - max(one.start, other.start))
        for doc_id, one in ones
        for other_id, other in others
        if doc_id == other_id
    )


def _covered(gold: Gold, span: Span, quoted: Sequence[Place]) -> tuple[int, int]:
    return _shared([(gold.doc_id, span)], quoted), len(span)


def _share(covered: tuple[int, int]) -> float:
    return covered[0] / covered[1]
