"""The definitions of the terms that a context uses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from quoth.context.draft import Draft
from quoth.context.pieces import DEFINITION_OF
from quoth.context.reading import ADDED, Seen, added_piece
from quoth.context.thoughts import ending
from quoth.text.definitions import defined_terms, term_key, terms_used
from quoth.types import NO_FILTERS, BlockReason, Filters, Query, Sentence, Span

MOST_TERMS = 12
"""Terms that are looked up for one context: in the document that uses each, then in the others."""
_CANDIDATES = 20
_DEFINING = ("means", "defined", "refers", "meaning")
_BEHIND_REFERENCES = 1_000


@dataclass(frozen=True, slots=True)
class _Use:
    """A term as written, the document that uses it first, and how often it is used."""

    term: str
    document: str
    count: int


class Definitions:
    """Looks up the terms of what was found, one step: the terms of a definition stay unexplained."""

    def __init__(self, seen: Sequence[Seen], draft: Draft) -> None:
        self._seen = seen
        self._draft = draft
        self._looked_up: set[tuple[str, ...]] = set()
        self._used = _used(seen)
        self._known = {term for one in seen for term in _defined(one.sentence)}

    def follow(self, *, best: bool) -> None:
        """Add what defines the terms of the best sentences, or the terms of all, as long as it fits."""
        for key, use in self._terms(best=best):
            if key in self._known or key in self._looked_up:
                continue
            if len(self._looked_up) == MOST_TERMS:
                return
            self._looked_up.add(key)
            sentence = self._definition(key, use.document)
            if sentence is not None and not self._draft.holds(sentence.doc_id, sentence.quote.span):
                self._add(use.term, sentence)

    def _add(self, term: str, sentence: Sentence) -> None:
        for span in dict.fromkeys((self._completed(sentence), sentence.quote.span)):
            if self._draft.holds(sentence.doc_id, span) or not self._draft.has_room(sentence.doc_id, span):
                continue
            piece = added_piece(
                sentence.doc_id,
                span,
                sentence.section,
                self._draft,
                page=sentence.page,
                reason=BlockReason.DEFINITION,
                because=DEFINITION_OF + term,
                rank=ADDED + _BEHIND_REFERENCES + len(self._looked_up),
            )
            if self._draft.add(piece):
                return

    def _terms(self, *, best: bool) -> list[tuple[tuple[str, ...], _Use]]:
        """The terms used, the most useful first: those of the best sentences as these come, else the frequent ones."""
        if not best:
            return sorted(self._used.items(), key=lambda one: (-one[1].count, -len(one[0]), one[0]))
        read = [term_key(one.sentence.text) for one in self._seen if one.best]
        places = {
            key: next((place for place, words in enumerate(read) if _holds(words, key)), None) for key in self._used
        }
        held = [(place, key) for key, place in places.items() if place is not None]
        ordered = sorted(held, key=lambda one: (one[0], -len(one[1]), -self._used[one[1]].count, one[1]))
        return [(key, self._used[key]) for _, key in ordered]

    def _definition(self, key: tuple[str, ...], doc_id: str) -> Sentence | None:
        """The sentence that defines exactly this term: in the document that uses it, in another one of the context, or
        in the only binding one that does."""
        inside = self._defining(key, Filters((doc_id,), {}, (), None, None))
        if inside:
            return inside[0]
        elsewhere = self._defining(key, NO_FILTERS)
        chosen = {one.document.id for one in self._seen}
        near = [one for one in elsewhere if one.doc_id in chosen]
        binding = [one for one in elsewhere if self._is_binding(one)]
        for several in (near, binding):
            if len({one.doc_id for one in several}) == 1:
                return several[0]
        return None

    def _defining(self, key: tuple[str, ...], filters: Filters) -> list[Sentence]:
        """The sentences that define a term, those in force first, then in reading order."""
        groups = (*((word,) for word in dict.fromkeys(key)), _DEFINING)
        candidates = self._draft.sources.reader.search(Query(None, groups, _CANDIDATES, filters))
        defining = [one.sentence for one in candidates.items if key in _defined(one.sentence)]
        return sorted(defining, key=lambda one: (self._is_replaced(one), one.doc_id, one.quote.span))

    def _is_replaced(self, sentence: Sentence) -> bool:
        return bool(self._draft.sources.about(sentence.doc_id, sentence.section)[1])

    def _is_binding(self, sentence: Sentence) -> bool:
        authority = self._draft.sources.about(sentence.doc_id, sentence.section)[0]
        info = self._draft.sources.info(sentence.doc_id)
        return authority == "binding" if authority is not None else bool(info and info.metadata.is_binding)

    def _completed(self, sentence: Sentence) -> Span:
        """A definition with what completes it."""
        source = self._draft.sources.source(sentence.doc_id)
        places = source.places(sentence.quote.span)
        return source.span(places[0], ending(source, places[-1], lists=False)) if places else sentence.quote.span


def _used(seen: Sequence[Seen]) -> dict[tuple[str, ...], _Use]:
    used: dict[tuple[str, ...], _Use] = {}
    for doc_id, group in groupby(seen, key=lambda one: one.document.id):
        for term, count in terms_used("\n\n".join(one.sentence.text for one in group)):
            known = used.get(term_key(term), _Use(term, doc_id, 0))
            used[term_key(term)] = replace(known, count=known.count + count)
    return used


def _defined(sentence: Sentence) -> set[tuple[str, ...]]:
    return {term_key(term) for term in defined_terms(sentence.text, sentence.section)}


def _holds(words: tuple[str, ...], key: tuple[str, ...]) -> bool:
    return any(words[place : place + len(key)] == key for place in range(len(words) - len(key) + 1))
