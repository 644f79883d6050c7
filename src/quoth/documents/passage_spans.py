"""Passages: runs of whole sentences for readers that want context, never crossing from one section into another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise, takewhile

from quoth.text.tokens import count_tokens
from quoth.types import Passage, Sentence, Span

LEAST = 100
"""Tokens; a smaller section is joined with its neighbours under the same heading, if it has any."""
LONGEST = 800
"""Tokens of a section that is cut; its parts are of about equal length, with their overlap 500 tokens or more."""
MOST = 1_200
"""Tokens that no passage exceeds, unless a single sentence does."""
MOST_OVERLAP = 100
"""Tokens at the end of a passage that the next one begins with: as many whole sentences as fit."""


@dataclass(frozen=True, slots=True)
class _Run:
    """Sentences `first` to `last` (ordinals), all under `section`."""

    first: int
    last: int
    section: tuple[str, ...]
    tokens: int


def passages(sentences: Sequence[Sentence]) -> tuple[Passage, ...]:
    """The passages of a document from all its sentences, headings included, in reading order."""
    tokens = [count_tokens(sentence.text) for sentence in sentences]
    return tuple(
        _passage(sentences, run, first, last, tokens)
        for run in _joined(_sections(sentences, tokens))
        for first, last in _cut(run, tokens)
    )


def _passage(sentences: Sequence[Sentence], run: _Run, first: int, last: int, tokens: Sequence[int]) -> Passage:
    start, end = sentences[first].quote.span.start, sentences[last].quote.span.end
    return Passage(
        doc_id=sentences[first].doc_id,
        span=Span(start, end),
        first=first,
        last=last,
        section=run.section,
        page=sentences[first].page,
        tokens=sum(tokens[first : last + 1]),
    )


def _sections(sentences: Sequence[Sentence], tokens: Sequence[int]) -> list[_Run]:
    runs = []
    for section, group in groupby(range(len(sentences)), key=lambda place: sentences[place].section):
        places = list(group)
        runs.append(_Run(places[0], places[-1], section, sum(tokens[place] for place in places)))
    return runs


def _joined(runs: Sequence[_Run]) -> list[_Run]:
    """Join what is too small with the section behind it, or before it, under the same heading."""
    done: list[_Run] = []
    for run in runs:
        small = done and min(done[-1].tokens, run.tokens) < LEAST
        both = _join(done[-1], run) if small else None
        if both is None:
            done.append(run)
        else:
            done[-1] = both
    return done


def _join(one: _Run, other: _Run) -> _Run | None:
    """The two as one run under the heading they share; None where there is none, or where they would be too long."""
    levels = zip(one.section, other.section, strict=False)
    shared = tuple(mine for mine, _ in takewhile(lambda level: level[0] == level[1], levels))
    near = len(shared) >= min(len(one.section), len(other.section)) - 1
    if not shared or not near or one.tokens + other.tokens > LONGEST:
        return None
    return _Run(one.first, other.last, shared, one.tokens + other.tokens)


def _cut(run: _Run, tokens: Sequence[int]) -> list[tuple[int, int]]:
    """Ordinals of the first and last sentence of each passage of a run."""
    ends = _ends(run, tokens)
    firsts = [run.first, *(end + 1 for end in ends[:-1])]
    starts = [run.first, *(_overlapped(before, behind, tokens) for before, behind in pairwise(firsts))]
    return list(zip(starts, ends, strict=True))


def _ends(run: _Run, tokens: Sequence[int]) -> list[int]:
    """The last sentence of each part: parts of about equal length, each as near to its share as sentences allow."""
    parts = 1 if run.tokens <= LONGEST else -(-run.tokens // (LONGEST - MOST_OVERLAP))
    ends: list[int] = []
    before_part, counted = 0, 0
    for place in range(run.first, run.last):
        counted += tokens[place]
        goal = run.tokens * (len(ends) + 1) / parts
        nearest = abs(counted - goal) <= abs(counted + tokens[place + 1] - goal)
        full = counted + tokens[place + 1] - before_part > MOST - MOST_OVERLAP
        if full or (nearest and len(ends) < parts - 1 and counted - before_part >= LEAST):
            ends.append(place)
            before_part = counted
    return [*ends, run.last]


def _overlapped(before: int, first: int, tokens: Sequence[int]) -> int:
    """Where a passage begins whose own first sentence is `first`: some sentences earlier, but behind `before`."""
    room = MOST_OVERLAP
    while first - 1 > before and tokens[first - 1] <= room:
        first -= 1
        room -= tokens[first]
    return first
