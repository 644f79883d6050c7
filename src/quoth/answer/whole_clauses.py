"""Whole clauses: what a quoted sentence needs from elsewhere in its document.

A lead line brings its list, an item the rest of a list that is asked for as a whole, a rule the exceptions that refer
to it, an exception its rule, a table row the line that introduces its table, and a definition its term.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from quoth.answer.references_between import exceptions_to, referred_clauses
from quoth.answer.source_texts import SourceText, SourceTexts
from quoth.language.definitions import names_a_term
from quoth.protocols import Neighbours
from quoth.types import RegionKind, Sentence

_LONGEST_LIST = 12
"""How many items of a list are quoted at most."""
_NEAR = 24
"""How many sentences around a quote are searched for its background, on either side."""
_INTRODUCES = re.compile(r":[-–—\s*_]*$")
_ROWS = frozenset({RegionKind.TABLE_HEADER, RegionKind.TABLE_ROW})
_PLURAL = r"(?!(?:is|was|has|does|this|its|us|as|less|[\w-]*ss)\b)[\w-]{2,}s"
_ASKS_FOR_ALL = re.compile(
    rf"^\W*(?:please\s)?(?:list|name|enumerate)\b|\bwhat\s(?:all\s)?(?:are|were)\b|\ball\s(?:of\s)?the\b"
    rf"|\b(?:which|what)\s(?:[\w-]+\s){{0,3}}?{_PLURAL}\s(?!of\b)"
    r"|\bwhat\b.*\b(?:includes?|contains?|consists?\sof|comprises?)\b",
    re.IGNORECASE,
)


def asks_for_all(question: str) -> bool:
    """Return whether a question asks for everything of a kind: `what are the …`, `which signs may …`, `list …`."""
    return _ASKS_FOR_ALL.search(question) is not None


@dataclass(frozen=True, slots=True)
class Parts:
    """What completes a sentence: the `items` of its list, and the clauses and captions `related` to it, best first."""

    items: tuple[Sentence, ...]
    related: tuple[Sentence, ...]


class WholeClauses:
    """Completes the quotes of one question.

    `supporting` and `near` are the ids of the sentences that support an answer, and of those that may.
    """

    def __init__(
        self, sources: SourceTexts, question: str, *, supporting: Collection[str], near: Collection[str]
    ) -> None:
        self._sources = sources
        self._whole = asks_for_all(question)
        self._supporting = supporting
        self._near = near

    def neighbours(self, sentences: Sequence[Sentence]) -> Sequence[Neighbours]:
        """Return the sentences before and after each sentence, as `Reader.neighbours` does."""
        return self._sources.reader.neighbours(sentences)

    def parts(self, sentence: Sentence) -> Parts:
        """Return what completes a sentence; nothing in a document that is too long to be read."""
        source = self._sources.source(sentence.doc_id)
        if not source.sentences:
            return Parts((), ())
        related = (
            *_introduction(sentence, source),
            *_defined_term(sentence, source),
            *referred_clauses(sentence, self._sources),
            *exceptions_to(sentence, source),
        )
        return Parts(tuple(self._items(sentence, source)), tuple({each.id: each for each in related}.values()))

    def background(self, sentence: Sentence) -> Iterator[Sentence]:
        """Yield the sentences around a sentence, those of its own section first, then of the section around that.

        The rows of a table are about one thing each, so none of them is the background of another.
        """
        source = self._sources.source(sentence.doc_id)
        at = source.position_at(sentence.quote.span.start)
        around = [*range(at + 1, at + 1 + _NEAR), *range(at - 1, at - 1 - _NEAR, -1)]
        inside = [source.sentences[place] for place in around if 0 <= place < len(source.sentences)]
        prose = [each for each in inside if each.kind.evidence and each.kind is not RegionKind.TABLE_ROW]
        yield from (each for each in prose if each.section == sentence.section)
        outer = sentence.section[:-1]
        yield from (each for each in prose if each.section != sentence.section and each.section[: len(outer)] == outer)

    def _items(self, sentence: Sentence, source: SourceText) -> Sequence[Sentence]:
        """Return the other sentences of a list: of the one that a sentence introduces, or of the one it stands in."""
        if led := _led_by(sentence, source):
            supporting = [item for item in led if item.id in self._supporting]
            return led if self._whole or not supporting else supporting
        if sentence.kind is not RegionKind.LIST_ITEM or sentence.lead is None:
            return ()
        whole = _siblings(sentence, source)
        supporting = [item for item in whole if item.id in self._supporting]
        found = [item for item in whole if item.id in self._near]
        # One item that fits does not make the list an answer: its other items may be about other things.
        asked = (self._whole and len(found) > 1) or len(supporting) * 2 >= max(4, len(whole))
        return [item for item in whole if item.id != sentence.id] if asked else ()


def _led_by(sentence: Sentence, source: SourceText) -> list[Sentence]:
    """Return the items of the list that a sentence introduces, in reading order; the rows of a table are such items."""
    if not _INTRODUCES.search(sentence.text):
        return []
    at = source.position_at(sentence.quote.span.start)
    behind = source.sentences[at + 1 : at + 2 + _LONGEST_LIST]
    rows = behind[:1] and behind[0].kind in _ROWS
    led: list[Sentence] = []
    for item in behind:
        if item.section != sentence.section or not (item.kind in _ROWS if rows else _is_led(item, sentence)):
            break
        led += [item] if item.kind.evidence else []
    return led[:_LONGEST_LIST]


def _is_led(item: Sentence, lead: Sentence) -> bool:
    return item.lead is not None and item.lead.span.overlaps(lead.quote.span)


def _siblings(item: Sentence, source: SourceText) -> list[Sentence]:
    """Return the items that share the lead of an item, itself included, in reading order; of a long list, the first."""
    at = source.position_at(item.quote.span.start)

    def run(places: range) -> Iterator[Sentence]:
        for place in places:
            other = source.sentences[place]
            if other.lead is None or item.lead is None or not other.lead.span.overlaps(item.lead.span):
                return
            if other.lead == item.lead:
                yield other

    before = list(run(range(at - 1, -1, -1)))[::-1]
    return [*before, *run(range(at, len(source.sentences)))][:_LONGEST_LIST]


def _introduction(row: Sentence, source: SourceText) -> list[Sentence]:
    """Return the caption of the table that a row stands in, or the line that introduces it."""
    if row.kind is not RegionKind.TABLE_ROW:
        return []
    at = source.position_at(row.quote.span.start)
    while at >= 0 and source.sentences[at].kind in _ROWS and source.sentences[at].section == row.section:
        at -= 1
    before = source.sentences[at] if at >= 0 else row
    names = before.kind is RegionKind.CAPTION or _INTRODUCES.search(before.text) is not None
    return [before] if names and before.kind.evidence and before.section == row.section else []


def _defined_term(definition: Sentence, source: SourceText) -> list[Sentence]:
    """Return the term that stands alone before its definition, in a glossary; that of a list is its lead already."""
    if definition.lead is not None:
        return []
    at = source.position_at(definition.quote.span.start)
    before = source.sentences[at - 1] if at > 0 else definition
    names = names_a_term(before.text, before.section) and not names_a_term(definition.text, definition.section)
    return [before] if names and before.kind.evidence and before.section == definition.section else []
