"""Passages: runs of whole sentences for readers that want context. No passage crosses from one section into another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise, takewhile

from quoth.language.words import count_tokens
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
class _SectionRun:
    """Sentences `first` to `last` (ordinals), all under `section`."""

    first: int
    last: int
    section: tuple[str, ...]
    tokens: int


def passages(sentences: Sequence[Sentence]) -> tuple[Passage, ...]:
    """Return the passages of a document from all its sentences, headings included, in reading order."""
    tokens = [count_tokens(sentence.text) for sentence in sentences]
    return tuple(
        _passage(sentences, run, first, last, tokens)
        for run in _joined(_sections(sentences, tokens))
        for first, last in _cut(run, tokens)
    )


def _passage(sentences: Sequence[Sentence], run: _SectionRun, first: int, last: int, tokens: Sequence[int]) -> Passage:
    return Passage(
        doc_id=sentences[first].doc_id,
        span=Span(sentences[first].quote.span.start, sentences[last].quote.span.end),
        first=first,
        last=last,
        section=run.section,
        page=sentences[first].page,
        tokens=sum(tokens[first : last + 1]),
    )


def _sections(sentences: Sequence[Sentence], tokens: Sequence[int]) -> list[_SectionRun]:
    runs = []
    for section, group in groupby(range(len(sentences)), key=lambda ordinal: sentences[ordinal].section):
        ordinals = list(group)
        runs.append(_SectionRun(ordinals[0], ordinals[-1], section, sum(tokens[ordinal] for ordinal in ordinals)))
    return runs


def _joined(runs: Sequence[_SectionRun]) -> list[_SectionRun]:
    """Join a run that is too small with the next one, or the one before, under the same heading."""
    done: list[_SectionRun] = []
    for run in runs:
        small = done and min(done[-1].tokens, run.tokens) < LEAST
        if small and (both := _join(done[-1], run)):
            done[-1] = both
        else:
            done.append(run)
    return done


def _join(first: _SectionRun, second: _SectionRun) -> _SectionRun | None:
    """Return two runs as one under the heading they share, None when they share none or would be too long."""
    levels = zip(first.section, second.section, strict=False)
    shared = tuple(mine for mine, _ in takewhile(lambda level: level[0] == level[1], levels))
    near = len(shared) >= min(len(first.section), len(second.section)) - 1
    if not shared or not near or first.tokens + second.tokens > LONGEST:
        return None
    return _SectionRun(first.first, second.last, shared, first.tokens + second.tokens)


def _cut(run: _SectionRun, tokens: Sequence[int]) -> list[tuple[int, int]]:
    """Return the first and last sentence of each passage of a run, by ordinal."""
    ends = _ends(run, tokens)
    firsts = [run.first, *(end + 1 for end in ends[:-1])]
    starts = [run.first, *(_overlapped(before, behind, tokens) for before, behind in pairwise(firsts))]
    return list(zip(starts, ends, strict=True))


def _ends(run: _SectionRun, tokens: Sequence[int]) -> list[int]:
    """Return the last sentence of each passage; passages of a run are about equally long, as far as sentences allow."""
    parts = 1 if run.tokens <= LONGEST else -(-run.tokens // (LONGEST - MOST_OVERLAP))
    ends: list[int] = []
    before_passage, counted = 0, 0
    for ordinal in range(run.first, run.last):
        counted += tokens[ordinal]
        goal = run.tokens * (len(ends) + 1) / parts
        nearest = abs(counted - goal) <= abs(counted + tokens[ordinal + 1] - goal)
        full = counted + tokens[ordinal + 1] - before_passage > MOST - MOST_OVERLAP
        if full or (nearest and len(ends) < parts - 1 and counted - before_passage >= LEAST):
            ends.append(ordinal)
            before_passage = counted
    return [*ends, run.last]


def _overlapped(before: int, first: int, tokens: Sequence[int]) -> int:
    """Return the first sentence of a passage with its overlap: at most `MOST_OVERLAP` tokens before `first`."""
    room = MOST_OVERLAP
    while first - 1 > before and tokens[first - 1] <= room:
        first -= 1
        room -= tokens[first]
    return first
