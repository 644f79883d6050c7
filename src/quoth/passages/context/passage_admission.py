"""Admission: how much of each found passage a context holds.

Where not all fit whole, none is left out for that: each is first given its best sentence with what stands around it,
and what room is left goes to the best ones. Only a passage whose best sentence does not fit is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from quoth.context.draft import Draft
from quoth.context.pieces import Piece
from quoth.context.sources import Source
from quoth.context.thoughts import beginning, ending
from quoth.text.tokens import count_tokens
from quoth.types import BlockReason, FoundPassage, Quote, RegionKind, Span
from quoth.verify import verify_quote

LEAST_TOKENS = 150
"""About how much of each passage is given before any of a better one is given beyond that."""
_FEWEST = 0.7
"""Tokens for each estimated one; a counter that counts still fewer is only given less room than there is."""


class Wanted:
    """A passage that was found, as the piece that it makes when given whole."""

    def __init__(self, found: FoundPassage, piece: Piece, source: Source) -> None:
        self.found = found
        self.piece = piece
        self.source = source

    @cached_property
    def reaches(self) -> tuple[Span, ...]:
        """Slices, each in the next: the best sentence, that with what completes it, and so on up to the whole."""
        return tuple(dict.fromkeys((*_reaches(self.found, self.piece.span, self.source), self.piece.span)))

    @cached_property
    def tokens(self) -> tuple[int, ...]:
        """About how many tokens each of `reaches` has."""
        return tuple(_tokens(self.reaches, self.source))

    @property
    def whole(self) -> int:
        return len(self.reaches) - 1

    @property
    def completed(self) -> int:
        return min(1, self.whole)

    @property
    def least(self) -> int:
        enough = (place for place, tokens in enumerate(self.tokens) if tokens >= LEAST_TOKENS)
        return max(self.completed, next(enough, self.whole))

    def cut(self, place: int) -> Piece:
        return replace(self.piece, span=self.reaches[place])


class Admission:
    """Takes in what was found, the best first."""

    def __init__(self, found: Sequence[FoundPassage], draft: Draft) -> None:
        self._draft = draft
        self._wanted = list(_wanted(found, draft))
        self._short: dict[Wanted, int] = {}
        """Of those that are cut short, which of its reaches is given."""

    def admit(self) -> list[str]:
        """Take in at least the best sentence of each; return the ids of those of which even that does not fit."""
        if self._draft.change(tuple(one.piece for one in self._wanted)):
            return []
        skipped = []
        if not (self._all_at(lambda one: one.least) or self._all_at(lambda one: one.completed)):
            skipped = [one.found.passage.id for one in self._wanted if not self._first(one)]
        for one in self._short:
            self._grow(one, [one.whole])
        return skipped

    def fill(self) -> None:
        """Let what is cut short, the best first, reach further by whole sentences."""
        for one, place in self._short.items():
            self._grow(one, range(place + 1, one.whole + 1))

    def _all_at(self, level: Callable[[Wanted], int]) -> bool:
        if not self._draft.change(tuple(one.cut(level(one)) for one in self._wanted)):
            return False
        self._short = {one: level(one) for one in self._wanted}
        return True

    def _first(self, one: Wanted) -> bool:
        """Take in the best sentence, completed if that fits; another one where the context would stay empty."""
        for place in dict.fromkeys((one.completed, 0)):
            if self._draft.add(one.cut(place)):
                self._short[one] = place
                return True
        others = () if self._draft.pieces else _by_length(one)
        return any(self._draft.add(replace(one.piece, span=span)) for span in others)

    def _grow(self, one: Wanted, places: Sequence[int]) -> None:
        """Take in the furthest of these reaches that fits."""
        held, room = one.tokens[self._short[one]], self._draft.room
        few = [place for place in places if _FEWEST * (one.tokens[place] - held) <= room]
        low, high = 0, len(few)
        while low < high:  # each reach lies in the next, so where one does not fit, none behind it does
            middle = (low + high) // 2
            if self._draft.add(one.cut(few[middle])):
                self._short[one], low = few[middle], middle + 1
            else:
                high = middle


def _wanted(found: Sequence[FoundPassage], draft: Draft) -> Iterator[Wanted]:
    """What was found, without what another document says in the same words."""
    given: dict[str, FoundPassage] = {}
    for rank, one in enumerate(found):
        source = draft.sources.source(one.document.id)
        verify_quote(source.document, Quote(one.passage.span, one.content))
        text = " ".join(one.content.split())
        if text in given and _says_the_same(given[text], one):
            continue
        given.setdefault(text, one)
        yield Wanted(one, _piece(one, rank, source), source)


def _says_the_same(given: FoundPassage, one: FoundPassage) -> bool:
    """Whether a passage of another document adds nothing; what is in force adds to what is replaced."""
    return given.document.id != one.document.id and not (given.superseded_by and not one.superseded_by)


def _piece(one: FoundPassage, rank: int, source: Source) -> Piece:
    return Piece(
        doc_id=one.document.id,
        span=_without_last_headings(one.passage.span, source),
        section=one.passage.section,
        page=one.passage.page,
        authority=one.authority,
        superseded_by=one.superseded_by,
        passages=(one.passage.id,),
        reason=BlockReason.RELEVANT if one.successor_of is None else BlockReason.SUCCESSOR,
        because="",
        rank=rank,
    )


def _without_last_headings(span: Span, source: Source) -> Span:
    """What a heading names stands behind it; one that ends a passage names nothing in it."""
    places = source.places(span)
    stated = [place for place in places if source.sentences[place].kind is not RegionKind.HEADING]
    return Span(span.start, source.sentences[stated[-1]].quote.span.end) if stated else span


def _reaches(one: FoundPassage, whole: Span, source: Source) -> Iterator[Span]:
    """Slices of a passage, each in the next, from its best sentence outwards. None ends with a heading."""
    best = [ranked.sentence.quote.span for ranked in one.sentences]
    inside = [span for span in best if whole.start <= span.start and span.end <= whole.end]
    yield from inside[:1]
    limits = source.places(whole)
    if not inside or not limits:
        return
    places = source.places(inside[0])
    first = max(limits[0], beginning(source, places[0]))
    last = min(limits[-1], ending(source, places[-1], lists=True))
    yield source.span(first, last)
    upwards = False
    while first > limits[0] or last < limits[-1]:
        upwards = not upwards
        if first > limits[0] and (upwards or last == limits[-1]):
            first -= 1
        elif last < limits[-1]:
            last += 1
        if source.sentences[last].kind is not RegionKind.HEADING:
            yield source.span(first, last)


def _tokens(reaches: Sequence[Span], source: Source) -> Iterator[int]:
    """About how many tokens each of these slices has, each of which lies in the next."""
    text, before = source.document.text, reaches[0]
    total = count_tokens(text[before.start : before.end])
    for reach in reaches:
        total += count_tokens(text[reach.start : before.start]) + count_tokens(text[before.end : reach.end])
        before = reach
        yield total


def _by_length(one: Wanted) -> list[Span]:
    """The sentences of a passage: those that the search found, best first, then the others, the shortest first."""
    known = [ranked.sentence.quote.span for ranked in one.found.sentences]
    others = [other.quote.span for other in one.source.inside(one.piece.span) if other.kind.evidence]
    return [*known, *sorted(others, key=lambda span: (len(span), span))]
