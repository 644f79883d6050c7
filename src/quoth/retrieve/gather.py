"""Gathering: the sentences that a search found, as the passages they stand in."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from quoth.protocols import Reader
from quoth.types import Passage, Ranked, Source, Span


@dataclass(frozen=True, slots=True)
class Gathered:
    """A passage with the sentences found in it, the most relevant first."""

    passage: Passage
    sentences: tuple[Ranked, ...]

    @property
    def source(self) -> Source:
        """Which way of searching led to it."""
        ways = {way for one in self.sentences for way in one.candidate.found_by}
        if ways == {"dense"}:
            return Source.VECTOR
        return Source.FULL_TEXT if ways == {"lexical"} else Source.BOTH


def gather(ranked: Sequence[Ranked], reader: Reader) -> tuple[Gathered, ...]:
    """Each passage that holds a sentence found, best first; one whose sentences all stand in better ones is left out.

    Passages overlap a little, so that a sentence can stand in two.
    """
    by_document: dict[str, list[Ranked]] = {}
    for one in sorted(ranked, key=lambda one: (-one.relevance, -one.fused, one.sentence.quote.span)):
        by_document.setdefault(one.sentence.doc_id, []).append(one)
    found = [
        gathered
        for doc_id, sentences in by_document.items()
        for gathered in _in_document(reader.passages(doc_id), sentences)
    ]
    return _without_repeats(sorted(found, key=_rank))


def _in_document(passages: Sequence[Passage], sentences: Sequence[Ranked]) -> list[Gathered]:
    starts = [passage.span.start for passage in passages]
    held: dict[int, list[Ranked]] = {}
    for one in sentences:
        place = bisect_right(starts, one.sentence.quote.span.start) - 1
        while place >= 0 and _within(one.sentence.quote.span, passages[place].span):
            held.setdefault(place, []).append(one)
            place -= 1
    return [Gathered(passages[place], tuple(inside)) for place, inside in held.items()]


def _within(inner: Span, outer: Span) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _rank(gathered: Gathered) -> tuple[float, float, str, Span]:
    """By the best sentence; where two passages share it, by all of them together."""
    relevances = [one.relevance for one in gathered.sentences]
    return -relevances[0], -sum(relevances), gathered.passage.doc_id, gathered.passage.span


def _without_repeats(ordered: Sequence[Gathered]) -> tuple[Gathered, ...]:
    seen: set[str] = set()
    kept = []
    for gathered in ordered:
        ids = {one.sentence.id for one in gathered.sentences}
        if not ids <= seen:
            kept.append(gathered)
            seen |= ids
    return tuple(kept)
