"""The documents that a context is made from, each read once."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock

from quoth.errors import OffsetMismatch
from quoth.language.definitions import defined_terms, term_key
from quoth.language.resolve_reference import SectionIndex
from quoth.protocols import Reader
from quoth.types import Document, DocumentInfo, Passage, RegionKind, Sentence, Span, Supersession

SectionAuthority = Callable[[DocumentInfo, tuple[str, ...]], tuple[str | None, tuple[Supersession, ...]]]
"""The authority of a section of a document, and what replaces it and is in force."""

MOST_SENTENCES = 20_000
"""The most sentences of a document that is read sentence by sentence; longer documents give only passages."""
_OPENING = 40
"""Characters of a sentence that show whether it is a numbered clause."""
_KEPT_SENTENCES = 40_000
"""How many sentences of recent documents to keep: agents ask for the same few, and reading takes the most time."""


@dataclass(frozen=True)  # without slots, for what is worked out when it is first asked for
class SourceText:
    """A document, and its sentences in reading order; none where there are too many to read."""

    document: Document
    sentences: tuple[Sentence, ...]
    starts: tuple[int, ...]
    passages: tuple[Passage, ...]

    @cached_property
    def outline(self) -> SectionIndex:
        """The sections of its sentences or, if these were not read, of its passages."""
        openings = ["" if each.kind is RegionKind.HEADING else each.text[:_OPENING] for each in self.sentences]
        return SectionIndex([each.section for each in self.sentences or self.passages], openings)

    @cached_property
    def glossary(self) -> Mapping[tuple[str, ...], Sequence[Sentence]]:
        """The sentences that define a term, in reading order, by the key of the term."""
        return by_term(sentence for sentence in self.sentences if sentence.kind.evidence)

    def positions(self, span: Span) -> range:
        """Return the positions of the sentences that `span` touches."""
        if not self.sentences:
            return range(0)
        first = max(0, bisect_right(self.starts, span.start) - 1)
        first += self.sentences[first].quote.span.end <= span.start
        return range(first, max(first, bisect_right(self.starts, span.end - 1)))

    def inside(self, span: Span) -> tuple[Sentence, ...]:
        """Return the sentences that `span` touches."""
        positions = self.positions(span)
        return self.sentences[positions.start : positions.stop]

    def span(self, first: int, last: int) -> Span:
        return Span(self.sentences[first].quote.span.start, self.sentences[last].quote.span.end)

    def neighbours(self, sentence: Sentence) -> tuple[Sentence | None, Sentence | None]:
        position = bisect_right(self.starts, sentence.quote.span.start) - 1
        before = self.sentences[position - 1] if position > 0 else None
        return before, self.sentences[position + 1] if position + 1 < len(self.sentences) else None


def defined_keys(sentence: Sentence) -> dict[tuple[str, ...], None]:
    """Return the keys of the terms that a sentence defines, in order."""
    return dict.fromkeys(term_key(term) for term in defined_terms(sentence.text, sentence.section))


_recent: OrderedDict[tuple[str, str], SourceText] = OrderedDict()
"""The sources that were read last, by index and document. An index is named by its content, so none gets stale."""
_recent_lock = Lock()


def _remember(key: tuple[str, str], source: SourceText) -> None:
    """Keep a source as the most recent one, and as many others as fit."""
    with _recent_lock:
        _recent[key] = source
        _recent.move_to_end(key)
        while sum(len(other.sentences) for other in _recent.values()) > _KEPT_SENTENCES:
            _recent.popitem(last=False)


def by_term(sentences: Iterable[Sentence]) -> dict[tuple[str, ...], list[Sentence]]:
    """Group sentences by the keys of the terms that they define."""
    definitions: dict[tuple[str, ...], list[Sentence]] = {}
    for sentence in sentences:
        for key in defined_keys(sentence):
            definitions.setdefault(key, []).append(sentence)
    return definitions


class SourceTexts:
    """The documents of one context, with the authority and the successors of their sections."""

    def __init__(self, reader: Reader, about: SectionAuthority, known: Iterable[DocumentInfo]) -> None:
        self.reader = reader
        self._about = about
        self._infos = {info.id: info for info in known}
        self._all: tuple[DocumentInfo, ...] | None = None
        self._sources: dict[str, SourceText] = {}
        self._sections: dict[tuple[str, tuple[str, ...]], tuple[str | None, tuple[Supersession, ...]]] = {}

    @property
    def infos(self) -> Sequence[DocumentInfo]:
        """The documents that were asked for so far."""
        return tuple(self._infos.values())

    def every_info(self) -> Sequence[DocumentInfo]:
        """Every document of the index."""
        if self._all is None:
            self._all = self.reader.documents()
            self._infos |= {info.id: info for info in self._all}
        return self._all

    def info(self, doc_id: str) -> DocumentInfo | None:
        if doc_id not in self._infos:
            self._infos |= {info.id: info for info in self.reader.documents([doc_id])}
        return self._infos.get(doc_id)

    def source(self, doc_id: str) -> SourceText:
        """Return a document; raise `OffsetMismatch` if the index lacks it, because nothing in it can be verified."""
        if doc_id not in self._sources:
            key = (self.reader.info.digest, doc_id)
            self._sources[doc_id] = _recent.get(key) or self._read(doc_id)
            _remember(key, self._sources[doc_id])
        return self._sources[doc_id]

    def _read(self, doc_id: str) -> SourceText:
        info, document = self.info(doc_id), self.reader.document(doc_id)
        if info is None or document is None:
            raise OffsetMismatch(doc_id, 0, 0)
        sentences = tuple(self.reader.sentences(doc_id)) if info.sentences <= MOST_SENTENCES else ()
        passages = self.reader.passages(doc_id)
        starts = tuple(sentence.quote.span.start for sentence in sentences)
        return SourceText(document, sentences, starts, passages)

    def about(self, doc_id: str, section: tuple[str, ...]) -> tuple[str | None, tuple[Supersession, ...]]:
        """Return the authority of a section and what supersedes it; (None, ()) if the index lacks the document."""
        key, info = (doc_id, section), self.info(doc_id)
        if key not in self._sections:
            self._sections[key] = (None, ()) if info is None else self._about(info, section)
        return self._sections[key]

    def superseded(self, source: SourceText, span: Span, section: tuple[str, ...]) -> tuple[Supersession, ...]:
        """Return what supersedes any section in `span`: a passage may hold several small sections."""
        sections = dict.fromkeys([section, *(sentence.section for sentence in source.inside(span))])
        return tuple(dict.fromkeys(each for path in sections for each in self.about(source.document.id, path)[1]))
