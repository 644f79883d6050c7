"""The definitions of the terms that a context uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby

from quoth.context.draft import Draft
from quoth.context.pieces import DEFINITION_OF
from quoth.context.reading import ADDED, Seen, added_piece
from quoth.context.sources import defined_keys
from quoth.context.thoughts import ending
from quoth.text.definitions import term_key, terms_used
from quoth.types import NO_FILTERS, BlockReason, Query, Sentence, Span

MOST_TERMS = 12
"""Terms that are looked up for one context: in the document that uses each, then in the others."""
_CANDIDATES = 60
_DEFINING = ("means", "defined", "refers", "meaning")
_MOST_DOCUMENTS = 500
"""In an index of more it takes longer to find out which are binding than to search them all."""
_BEHIND_REFERENCES = 1_000


@dataclass(frozen=True, slots=True)
class _Use:
    """A term as written, the document that uses it first, and how often it is used."""

    term: str
    document: str
    count: int


_Key = tuple[str, ...]


class Definitions:
    """Looks up the terms of what was found, one step: the terms of a definition stay unexplained."""

    def __init__(self, seen: Sequence[Seen], draft: Draft) -> None:
        self._draft = draft
        self._chosen = tuple(dict.fromkeys(one.document.id for one in seen))
        self._added = 0
        self._used = _used(seen)
        known = {key for one in seen for key in defined_keys(one.sentence)}
        self._unknown = [key for key in self._used if key not in known]
        best = self._terms_of([one.sentence for one in seen if one.best])
        wanted = list(dict.fromkeys((*best, *self._by_count())))[:MOST_TERMS]
        self._wanted = {True: [key for key in wanted if key in best], False: [key for key in wanted if key not in best]}

    def follow(self, *, best: bool) -> None:
        """Add what defines the terms of the best sentences, or those of the others, as long as it fits."""
        for key in self._wanted[best]:
            use = self._used[key]
            self._added += 1
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
                rank=ADDED + _BEHIND_REFERENCES + self._added,
            )
            if self._draft.add(piece):
                return

    def _terms_of(self, sentences: Sequence[Sentence]) -> dict[_Key, None]:
        """The terms that these use, as the sentences come, the longest of each first."""
        held: dict[_Key, None] = {}
        for sentence in sentences:
            words = f" {' '.join(term_key(sentence.text))} "
            inside = [key for key in self._unknown if f" {' '.join(key)} " in words]
            held |= dict.fromkeys(sorted(inside, key=lambda key: (-len(key), -self._used[key].count, key)))
        return held

    def _by_count(self) -> list[_Key]:
        return sorted(self._unknown, key=lambda key: (-self._used[key].count, -len(key), key))

    def _definition(self, key: _Key, doc_id: str) -> Sentence | None:
        """The sentence that defines exactly this term: in the document that uses it, in another one of the context, or
        in the only binding one that does."""
        near = self._near(key)
        inside = [one for one in near if one.doc_id == doc_id]
        if inside or len({one.doc_id for one in near}) == 1:
            return (inside or near)[0]
        binding = [one for one in self._in_order((*near, *self._elsewhere.get(key, ()))) if self._is_binding(one)]
        return binding[0] if len({one.doc_id for one in binding}) == 1 else None

    def _near(self, key: _Key) -> list[Sentence]:
        """What defines a term in the documents of the context."""
        read = (self._draft.sources.source(doc_id).glossary.get(key, ()) for doc_id in self._chosen)
        return self._in_order([*(one for several in read for one in several), *self._unread.get(key, ())])

    @cached_property
    def _unread(self) -> Mapping[_Key, Sequence[Sentence]]:
        """What defines the terms in those documents of the context that are too long to be read."""
        long = tuple(one for one in self._chosen if not self._draft.sources.source(one).sentences)
        return self._searched([*self._wanted[True], *self._wanted[False]], long) if long else {}

    @cached_property
    def _elsewhere(self) -> Mapping[_Key, Sequence[Sentence]]:
        """What defines, in documents that are not of the context, the terms that these leave open: one search for all
        of them."""
        missing = [key for several in self._wanted.values() for key in several if not self._near(key)]
        sources = self._draft.sources
        if sources.reader.info.documents > _MOST_DOCUMENTS:
            return self._searched(missing, ())
        others = [one.id for one in sources.every_info() if one.id not in self._chosen and self._binds(one.id, ())]
        return self._searched(missing, tuple(others)) if others else {}

    def _searched(self, keys: Sequence[_Key], doc_ids: tuple[str, ...]) -> Mapping[_Key, Sequence[Sentence]]:
        groups = (tuple(" ".join(key) for key in keys), _DEFINING)
        found: dict[_Key, list[Sentence]] = {}
        filters = replace(NO_FILTERS, doc_ids=doc_ids)
        for one in self._draft.sources.reader.search(Query(None, groups, _CANDIDATES, filters)).items if keys else ():
            for key in defined_keys(one.sentence):
                found.setdefault(key, []).append(one.sentence)
        return found

    def _in_order(self, sentences: Iterable[Sentence]) -> list[Sentence]:
        """Those in force first, then in reading order."""
        return sorted(sentences, key=lambda one: (self._is_replaced(one), one.doc_id, one.quote.span))

    def _is_replaced(self, sentence: Sentence) -> bool:
        return bool(self._draft.sources.about(sentence.doc_id, sentence.section)[1])

    def _is_binding(self, sentence: Sentence) -> bool:
        return self._binds(sentence.doc_id, sentence.section)

    def _binds(self, doc_id: str, section: tuple[str, ...]) -> bool:
        authority = self._draft.sources.about(doc_id, section)[0]
        info = self._draft.sources.info(doc_id)
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
