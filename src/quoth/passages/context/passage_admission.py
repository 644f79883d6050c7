"""Admission: how much of each found passage a context holds.

When the passages do not all fit whole, each first gets its best sentence with some text around it. The room that is
left goes to the best passages. Only a passage whose best sentence does not fit is skipped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from quoth.answer.source_texts import SourceText
from quoth.answer.verification import verify_quote
from quoth.language.words import count_tokens
from quoth.passages.context.context_draft import ContextDraft
from quoth.passages.context.excerpts import Excerpt, beginning, ending
from quoth.types import BlockReason, FoundPassage, Quote, RegionKind, Span

LEAST_TOKENS = 150
"""About how many tokens every passage gets before the better passages get more."""
_FEWEST = 0.7
"""Tokens for each estimated one; a counter that counts still fewer is only given less room than there is."""


@dataclass(frozen=True, eq=False)  # without slots, for what is worked out when it is first asked for
class WantedPassage:
    """A found passage, with the excerpt that it makes when given whole."""

    found: FoundPassage
    excerpt: Excerpt
    source: SourceText

    @cached_property
    def reaches(self) -> tuple[Span, ...]:
        """Slices, each inside the next: the best sentence, then with what completes it, and so on up to the whole."""
        return tuple(dict.fromkeys((*_reaches(self.found, self.excerpt.span, self.source), self.excerpt.span)))

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
        enough = (level for level, tokens in enumerate(self.tokens) if tokens >= LEAST_TOKENS)
        return max(self.completed, next(enough, self.whole))

    def cut(self, level: int) -> Excerpt:
        return replace(self.excerpt, span=self.reaches[level])


class PassageAdmission:
    """Admits found passages to a draft, the best first."""

    def __init__(self, found: Sequence[FoundPassage], draft: ContextDraft) -> None:
        self._draft = draft
        self._wanted = list(_wanted_passages(found, draft))
        self._short: dict[WantedPassage, int] = {}
        """For each passage that is cut short, the index of the reach that is given."""

    def admit(self) -> list[str]:
        """Admit at least the best sentence of each passage; return the ids of passages where even that does not fit."""
        if self._draft.change(tuple(wanted.excerpt for wanted in self._wanted)):
            return []
        skipped = []
        if not (self._all_at(lambda wanted: wanted.least) or self._all_at(lambda wanted: wanted.completed)):
            skipped = [wanted.found.passage.id for wanted in self._wanted if not self._first(wanted)]
        for wanted in self._short:
            self._grow(wanted, [wanted.whole])
        return skipped

    def fill(self) -> None:
        """Let what is cut short, the best first, reach further by whole sentences."""
        for wanted, level in self._short.items():
            self._grow(wanted, range(level + 1, wanted.whole + 1))

    def _all_at(self, level_of: Callable[[WantedPassage], int]) -> bool:
        if not self._draft.change(tuple(wanted.cut(level_of(wanted)) for wanted in self._wanted)):
            return False
        self._short = {wanted: level_of(wanted) for wanted in self._wanted}
        return True

    def _first(self, wanted: WantedPassage) -> bool:
        """Take in the best sentence, completed if that fits; another one where the context would stay empty."""
        for level in dict.fromkeys((wanted.completed, 0)):
            if self._draft.add(wanted.cut(level)):
                self._short[wanted] = level
                return True
        others = () if self._draft.excerpts else _by_length(wanted)
        return any(self._draft.add(replace(wanted.excerpt, span=span)) for span in others)

    def _grow(self, wanted: WantedPassage, levels: Sequence[int]) -> None:
        """Extend to the furthest of these reaches that fits."""
        held, room = wanted.tokens[self._short[wanted]], self._draft.room
        few = [level for level in levels if _FEWEST * (wanted.tokens[level] - held) <= room]
        low, high = 0, len(few)
        while low < high:  # each reach lies in the next, so where one does not fit, none behind it does
            middle = (low + high) // 2
            if self._draft.add(wanted.cut(few[middle])):
                self._short[wanted], low = few[middle], middle + 1
            else:
                high = middle


def _wanted_passages(found: Sequence[FoundPassage], draft: ContextDraft) -> Iterator[WantedPassage]:
    """Yield what was found, without passages that repeat another document word for word."""
    given: dict[str, FoundPassage] = {}
    for rank, one in enumerate(found):
        source = draft.sources.source(one.document.id)
        verify_quote(source.document, Quote(one.passage.span, one.content))
        text = " ".join(one.content.split())
        other = given.setdefault(text, one)
        # A passage in force never repeats a replaced passage.
        if other.document.id != one.document.id and (one.superseded_by or not other.superseded_by):
            continue
        yield WantedPassage(one, _excerpt(one, rank, source), source)


def _excerpt(one: FoundPassage, rank: int, source: SourceText) -> Excerpt:
    return Excerpt(
        doc_id=one.document.id,
        span=_without_last_headings(one.passage.span, source),
        section=one.passage.section,
        page=one.passage.page,
        superseded_by=one.superseded_by,
        passages=(one.passage.id,),
        reason=BlockReason.RELEVANT if one.successor_of is None else BlockReason.SUCCESSOR,
        because="",
        rank=rank,
    )


def _without_last_headings(span: Span, source: SourceText) -> Span:
    """Cut headings off the end of a passage: their sections begin after it."""
    positions = source.positions(span)
    stated = [position for position in positions if source.sentences[position].kind is not RegionKind.HEADING]
    return Span(span.start, source.sentences[stated[-1]].quote.span.end) if stated else span


def _reaches(one: FoundPassage, whole: Span, source: SourceText) -> Iterator[Span]:
    """Slices of a passage, each in the next, from its best sentence outwards. None ends with a heading."""
    best = [ranked.sentence.quote.span for ranked in one.sentences]
    inside = [span for span in best if whole.holds(span)]
    yield from inside[:1]
    limits = source.positions(whole)
    if not inside or not limits:
        return
    positions = source.positions(inside[0])
    first = max(limits[0], beginning(source, positions[0]))
    last = min(limits[-1], ending(source, positions[-1], lists=True))
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


def _tokens(reaches: Sequence[Span], source: SourceText) -> Iterator[int]:
    """Yield about how many tokens each slice has. Each slice must lie inside the next."""
    text, before = source.document.text, reaches[0]
    total = count_tokens(text[before.start : before.end])
    for reach in reaches:
        total += count_tokens(text[reach.start : before.start]) + count_tokens(text[before.end : reach.end])
        before = reach
        yield total


def _by_length(one: WantedPassage) -> list[Span]:
    """Return spans of sentences: the found sentences, best first, then all evidence of the excerpt, shortest first."""
    known = [ranked.sentence.quote.span for ranked in one.found.sentences]
    others = [other.quote.span for other in one.source.inside(one.excerpt.span) if other.kind.evidence]
    return [*known, *sorted(others, key=lambda span: (len(span), span))]
