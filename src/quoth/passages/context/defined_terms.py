"""The definitions of the terms that a context uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, groupby

from quoth.language.definitions import term_key, terms_used
from quoth.passages.context.context_draft import ContextDraft, SeenSentence
from quoth.passages.context.context_sources import by_term, defined_keys
from quoth.passages.context.excerpts import DEFINITION_OF, ending
from quoth.types import NO_FILTERS, BlockReason, Query, Sentence, Span

MOST_TERMS = 12
"""Terms that are looked up for one context: in the document that uses each, then in the others."""
_CANDIDATES = 60
_DEFINING = ("means", "defined", "refers", "meaning")
_MOST_DOCUMENTS = 500
"""In an index of more it takes longer to find out which are binding than to search them all."""
_BEHIND_REFERENCES = 1_000


@dataclass(frozen=True, slots=True)
class _TermUse:
    """A term as written, the document that uses it first, and how often it is used."""

    term: str
    document: str
    count: int


_Key = tuple[str, ...]


class DefinedTerms:
    """Looks up the terms of the found sentences, but not the terms of their definitions."""

    def __init__(self, seen: Sequence[SeenSentence], draft: ContextDraft) -> None:
        self._draft = draft
        self._chosen = tuple(dict.fromkeys(each.document.id for each in seen))
        self._added = 0
        self._used = _used(seen)
        known = {key for each in seen for key in defined_keys(each.sentence)}
        self._unknown = [key for key in self._used if key not in known]
        best = self._terms_of([each.sentence for each in seen if each.best])
        by_count = sorted(self._unknown, key=lambda key: (-self._used[key].count, -len(key), key))
        wanted = list(dict.fromkeys((*best, *by_count)))[:MOST_TERMS]
        self._wanted = {True: [key for key in wanted if key in best], False: [key for key in wanted if key not in best]}

    def follow(self, *, best: bool) -> None:
        """Add the definitions that fit, of the terms in the best sentences or of the other terms."""
        for key in self._wanted[best]:
            self._added += 1
            sentence = self._definition(key, self._used[key].document)
            if sentence is not None and not self._draft.holds(sentence.doc_id, sentence.quote.span):
                self._draft.explain(
                    sentence.doc_id,
                    dict.fromkeys((self._completed(sentence), sentence.quote.span)),
                    sentence.section,
                    page=sentence.page,
                    reason=BlockReason.DEFINITION,
                    because=DEFINITION_OF + self._used[key].term,
                    rank=_BEHIND_REFERENCES + self._added,
                )

    def _terms_of(self, sentences: Sequence[Sentence]) -> dict[_Key, None]:
        """Return the undefined terms of the sentences, in the order of the sentences, the longest of each first."""
        held: dict[_Key, None] = {}
        for sentence in sentences:
            words = f" {' '.join(term_key(sentence.text))} "
            inside = [key for key in self._unknown if f" {' '.join(key)} " in words]
            held |= dict.fromkeys(sorted(inside, key=lambda key: (-len(key), -self._used[key].count, key)))
        return held

    def _definition(self, key: _Key, doc_id: str) -> Sentence | None:
        """Return the sentence that defines exactly this term, or None.

        It comes from the document that uses the term, from the only document of the context that defines it, or from
        the only binding document that does.
        """
        near = self._near(key)
        inside = [sentence for sentence in near if sentence.doc_id == doc_id]
        if inside or len({sentence.doc_id for sentence in near}) == 1:
            return (inside or near)[0]
        everywhere = self._in_order((*near, *self._elsewhere.get(key, ())))
        binding = [sentence for sentence in everywhere if self._binds(sentence.doc_id, sentence.section)]
        return binding[0] if len({sentence.doc_id for sentence in binding}) == 1 else None

    def _near(self, key: _Key) -> list[Sentence]:
        """Return the sentences that define a term in the documents of the context."""
        read = (self._draft.sources.source(doc_id).glossary.get(key, ()) for doc_id in self._chosen)
        return self._in_order(chain(*read, self._unread.get(key, ())))

    @cached_property
    def _unread(self) -> Mapping[_Key, Sequence[Sentence]]:
        """Definitions found by search in documents of the context that are too long to read whole, by term."""
        long = tuple(doc_id for doc_id in self._chosen if not self._draft.sources.source(doc_id).sentences)
        return self._searched([*self._wanted[True], *self._wanted[False]], long) if long else {}

    @cached_property
    def _elsewhere(self) -> Mapping[_Key, Sequence[Sentence]]:
        """Definitions in other documents, by term, of the terms that the context leaves undefined; one search."""
        missing = [key for keys in self._wanted.values() for key in keys if not self._near(key)]
        sources = self._draft.sources
        if sources.reader.info.documents > _MOST_DOCUMENTS:
            return self._searched(missing, ())
        infos = sources.every_info()
        others = [info.id for info in infos if info.id not in self._chosen and self._binds(info.id, ())]
        return self._searched(missing, tuple(others)) if others else {}

    def _searched(self, keys: Sequence[_Key], doc_ids: tuple[str, ...]) -> Mapping[_Key, Sequence[Sentence]]:
        if not keys:
            return {}
        groups = (tuple(" ".join(key) for key in keys), _DEFINING)
        query = Query(None, groups, _CANDIDATES, replace(NO_FILTERS, doc_ids=doc_ids))
        return by_term(candidate.sentence for candidate in self._draft.sources.reader.search(query).items)

    def _in_order(self, sentences: Iterable[Sentence]) -> list[Sentence]:
        """Sort sentences in force before replaced sentences, then by document and reading order."""
        about = self._draft.sources.about
        return sorted(
            sentences, key=lambda each: (bool(about(each.doc_id, each.section)[1]), each.doc_id, each.quote.span)
        )

    def _binds(self, doc_id: str, section: tuple[str, ...]) -> bool:
        authority = self._draft.sources.about(doc_id, section)[0]
        info = self._draft.sources.info(doc_id)
        return authority == "binding" if authority is not None else bool(info and info.metadata.is_binding)

    def _completed(self, sentence: Sentence) -> Span:
        """Return the span of a definition with what completes it."""
        source = self._draft.sources.source(sentence.doc_id)
        positions = source.positions(sentence.quote.span)
        if not positions:
            return sentence.quote.span
        return source.span(positions[0], ending(source, positions[-1], lists=False))


def _used(seen: Sequence[SeenSentence]) -> dict[tuple[str, ...], _TermUse]:
    used: dict[tuple[str, ...], _TermUse] = {}
    for doc_id, group in groupby(seen, key=lambda each: each.document.id):
        for term, count in terms_used("\n\n".join(each.sentence.text for each in group)):
            known = used.get(term_key(term), _TermUse(term, doc_id, 0))
            used[term_key(term)] = replace(known, count=known.count + count)
    return used
