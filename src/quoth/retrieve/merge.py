"""Merging: what several searches for one question found, each sentence once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from quoth.retrieve.fuse import best_first
from quoth.types import Candidate, Candidates, Filters, Probe, Ranked, Usage, Vectors


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What a search came back with: every candidate by fused score, and the best ones by a closer look.

    `filters` were in force; `degraded` names what could not be used, and `notes` say both to people. `usage` is
    what a judging model used.
    """

    probe: Probe
    candidates: Candidates
    fused: tuple[Ranked, ...]
    ranked: tuple[Ranked, ...]
    filters: Filters
    degraded: tuple[str, ...]
    notes: tuple[str, ...]
    usage: Usage | None


def merge(first: Found, others: Sequence[Found]) -> Found:
    """One result from the search for a question and those for its parts; `first` itself when there are no others."""
    if not others:
        return first
    items: dict[str, tuple[Candidate, Vectors]] = {}
    for found in (first, *others):
        for candidate, vector in zip(found.candidates.items, found.candidates.vectors, strict=True):
            items.setdefault(candidate.sentence.id, (candidate, vector))
    ordered = sorted(items.values(), key=lambda item: (item[0].sentence.doc_id, item[0].sentence.quote.span))
    rows = {candidate.sentence.id: row for row, (candidate, _) in enumerate(ordered)}
    return Found(
        first.probe,
        Candidates(tuple(candidate for candidate, _ in ordered), np.stack([vector for _, vector in ordered]))
        if ordered
        else first.candidates,
        _each_once((one for found in (first, *others) for one in found.fused), rows),
        _each_once((one for found in (first, *others) for one in found.ranked), rows),
        first.filters,
        tuple(dict.fromkeys(name for found in (first, *others) for name in found.degraded)),
        tuple(dict.fromkeys(note for found in (first, *others) for note in found.notes)),
        first.usage,
    )


def _each_once(ranked: Iterable[Ranked], rows: dict[str, int]) -> tuple[Ranked, ...]:
    """Each sentence in the order of the search that ranked it first, with the best scores of all, best first.

    The question as a whole comes first and says more than its parts: a few words are soon matched.
    """
    found: dict[str, Ranked] = {}
    for one in ranked:
        known = found.get(one.sentence.id, one)
        found[one.sentence.id] = replace(
            known,
            row=rows[one.sentence.id],
            fused=max(one.fused, known.fused),
            relevance=max(one.relevance, known.relevance),
        )
    return best_first(list(found.values()))
