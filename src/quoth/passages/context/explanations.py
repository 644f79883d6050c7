"""What explains a context: the sections that its found sentences refer to, and the definitions of their terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, groupby, takewhile

from quoth.answer.source_texts import SourceText, by_term, defined_keys
from quoth.domain.authority import is_binding, is_superseded
from quoth.language.definitions import term_key, terms_used
from quoth.language.references import OUTER_LABELS, Reference, references
from quoth.language.resolve_reference import find_document, resolve
from quoth.language.words import count_tokens
from quoth.passages.context.context_draft import ContextDraft
from quoth.passages.context.excerpts import DEFINITION_OF, ending
from quoth.types import NO_FILTERS, BlockReason, DocumentInfo, Query, RegionKind, Sentence, Span

MOST_REFERENCES = 12
"""Sections that are looked up for one context."""
SECTION_TOKENS = (300, 120)
"""About how much of a section is given at most; the second where the first does not fit."""
_MOST_NAMED = 2_000
"""In a larger index, a document that a reference names is only looked for among the documents read so far."""

MOST_TERMS = 12
"""Terms that are looked up for one context: in the document that uses each, then in the others."""
_CANDIDATES = 60
_DEFINING = ("means", "defined", "refers", "meaning")
_MOST_BINDING = 500
"""In an index of more it takes longer to find out which are binding than to search them all."""
_BEHIND_REFERENCES = 1_000


class ReferredSections:
    """Follows the references of the found sentences, but not the references of what they lead to."""

    def __init__(self, draft: ContextDraft) -> None:
        self._draft = draft
        self._looked_up: set[tuple[str, str]] = set()

    def follow(self, sentences: Sequence[Sentence], *, whole: bool) -> None:
        """Add the sections that fit, which the sentences refer to; with `whole`, no beginnings of longer sections."""
        listed = [(sentence, reference) for sentence in sentences for reference in references(sentence.text)]
        # A whole article is far less to the point than a section.
        for sentence, reference in sorted(listed, key=lambda item: item[1].label in OUTER_LABELS):
            document = self._document(reference, self._draft.sources.info(sentence.doc_id))
            key = (document.id if document else "", reference.name)
            if document is None or key in self._looked_up:
                continue
            if len(self._looked_up) == MOST_REFERENCES:
                return
            self._looked_up.add(key)
            near = sentence.section if sentence.doc_id == document.id else ()
            self._add(reference, document.id, near, whole=whole)

    def _document(self, reference: Reference, own: DocumentInfo) -> DocumentInfo | None:
        if reference.document is None:
            return own
        sources = self._draft.sources
        few = sources.reader.info.documents <= _MOST_NAMED
        documents = sources.every_info if few else tuple(sources.infos.values())
        return find_document(reference.document, own=own, documents=documents, synonyms=sources.profile.synonyms)

    def _add(self, reference: Reference, doc_id: str, near: tuple[str, ...], *, whole: bool) -> None:
        source = self._draft.sources.source(doc_id)
        target = resolve(reference, source.outline, near=near)
        if target is None:
            return
        spans = _spans(source, target.positions, reference.item, whole=whole)
        self._draft.explain(
            doc_id,
            takewhile(lambda span: not self._draft.holds(doc_id, span), spans),
            target.section,
            page=None if source.sentences else source.passages[target.positions[0]].page,
            reason=BlockReason.REFERENCE,
            because=reference.name,
            rank=len(self._looked_up),
        )


def _spans(source: SourceText, positions: range, item: str, *, whole: bool) -> Iterator[Span]:
    """Yield the spans to try: the section if it is short, else the item that the reference names, or the beginning.

    With `whole`, the beginning of a long section is left out: it is seldom what the reference means.
    """
    if not source.sentences:
        yield from () if whole else [source.passages[positions[0]].span]
        return
    end = source.span(positions[0], positions[-1]).end
    for most in SECTION_TOKENS:
        span = _first_of(source, positions, most)
        meant = _item(source, positions, item) if item and span.end < end else None
        if meant is not None or span.end == end or not whole:
            yield meant or span


def _first_of(source: SourceText, positions: range, most: int) -> Span:
    """Return the span of the first sentences that fit into `most` tokens; at least one is no heading."""
    last, tokens, stated = positions[0], 0, False
    for position in positions:
        tokens += count_tokens(source.sentences[position].text)
        heading = source.sentences[position].kind is RegionKind.HEADING
        if stated and tokens > most:
            break
        if not heading:
            last, stated = position, True
    return source.span(positions[0], last)


def _item(source: SourceText, positions: range, item: str) -> Span | None:
    for position in positions:
        if source.sentences[position].text.lower().startswith(item.lower()):
            return source.span(position, ending(source, position, lists=False))
    return None


@dataclass(frozen=True, slots=True)
class _TermUse:
    """A term as written, the document that uses it first, and how often it is used."""

    term: str
    document: str
    count: int


_Key = tuple[str, ...]


class DefinedTerms:
    """Looks up the terms of the found sentences, but not the terms of their definitions."""

    def __init__(self, seen: Sequence[Sentence], best: Sequence[Sentence], draft: ContextDraft) -> None:
        self._draft = draft
        self._sources = draft.sources
        self._chosen = tuple(dict.fromkeys(sentence.doc_id for sentence in seen))
        self._used = _used(seen)
        known = {key for sentence in seen for key in defined_keys(sentence)}
        self._unknown = [key for key in self._used if key not in known]
        self._first = self._terms_of(best)
        by_count = sorted(self._unknown, key=lambda key: (-self._used[key].count, -len(key), key))
        self._wanted = list(dict.fromkeys((*self._first, *by_count)))[:MOST_TERMS]

    def follow(self, *, best: bool) -> None:
        """Add the definitions that fit, of the terms in the best sentences or of the other terms."""
        for place, key in enumerate(self._wanted, start=1):
            if (key in self._first) is not best:
                continue
            sentence = self._definition(key, self._used[key].document)
            if sentence is not None and not self._draft.holds(sentence.doc_id, sentence.quote.span):
                self._draft.explain(
                    sentence.doc_id,
                    dict.fromkeys((self._completed(sentence), sentence.quote.span)),
                    sentence.section,
                    page=sentence.page,
                    reason=BlockReason.DEFINITION,
                    because=DEFINITION_OF + self._used[key].term,
                    rank=_BEHIND_REFERENCES + place,
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
        binding = [sentence for sentence in everywhere if self._binds(self._sources.info(sentence.doc_id))]
        return binding[0] if len({sentence.doc_id for sentence in binding}) == 1 else None

    def _near(self, key: _Key) -> list[Sentence]:
        """Return the sentences that define a term in the documents of the context."""
        read = (self._sources.source(doc_id).glossary.get(key, ()) for doc_id in self._chosen)
        return self._in_order(chain(*read, self._unread.get(key, ())))

    @cached_property
    def _unread(self) -> Mapping[_Key, Sequence[Sentence]]:
        """Definitions found by search in documents of the context that are too long to read whole, by term."""
        long = tuple(doc_id for doc_id in self._chosen if not self._sources.source(doc_id).sentences)
        return self._searched(self._wanted, long) if long else {}

    @cached_property
    def _elsewhere(self) -> Mapping[_Key, Sequence[Sentence]]:
        """Definitions in other documents, by term, of the terms that the context leaves undefined; one search."""
        missing = [key for key in self._wanted if not self._near(key)]
        if self._sources.reader.info.documents > _MOST_BINDING:
            return self._searched(missing, ())
        infos = self._sources.every_info
        others = [info.id for info in infos if info.id not in self._chosen and self._binds(info)]
        return self._searched(missing, tuple(others)) if others else {}

    def _searched(self, keys: Sequence[_Key], doc_ids: tuple[str, ...]) -> Mapping[_Key, Sequence[Sentence]]:
        if not keys:
            return {}
        groups = (tuple(" ".join(key) for key in keys), _DEFINING)
        query = Query(None, groups, _CANDIDATES, replace(NO_FILTERS, doc_ids=doc_ids))
        return by_term(candidate.sentence for candidate in self._sources.reader.search(query).items)

    def _in_order(self, sentences: Iterable[Sentence]) -> list[Sentence]:
        """Sort sentences in force before replaced sentences, then by document and reading order."""

        def order(sentence: Sentence) -> tuple[bool, str, Span]:
            metadata = self._sources.info(sentence.doc_id).metadata
            return is_superseded(metadata, sentence.section), sentence.doc_id, sentence.quote.span

        return sorted(sentences, key=order)

    def _binds(self, info: DocumentInfo) -> bool:
        return is_binding(info.metadata, self._sources.profile) is True

    def _completed(self, sentence: Sentence) -> Span:
        """Return the span of a definition with what completes it."""
        source = self._sources.source(sentence.doc_id)
        positions = source.positions(sentence.quote.span)
        if not positions:
            return sentence.quote.span
        return source.span(positions[0], ending(source, positions[-1], lists=False))


def _used(seen: Sequence[Sentence]) -> dict[_Key, _TermUse]:
    used: dict[_Key, _TermUse] = {}
    for doc_id, group in groupby(seen, key=lambda sentence: sentence.doc_id):
        for term, count in terms_used("\n\n".join(sentence.text for sentence in group)):
            known = used.get(term_key(term), _TermUse(term, doc_id, 0))
            used[term_key(term)] = replace(known, count=known.count + count)
    return used
