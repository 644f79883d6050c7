"""The documents that an answer or a context is made from, each read once."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock

from quoth.domain.profile import Profile
from quoth.errors import OffsetMismatch
from quoth.language.definitions import defined_terms, term_key
from quoth.language.resolve_reference import SectionIndex
from quoth.language.restrictions import Restriction, restricting_places, restrictions
from quoth.protocols import Reader
from quoth.types import Document, DocumentInfo, Passage, RegionKind, Sentence, Span

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
    passages: tuple[Passage, ...]

    @cached_property
    def _starts(self) -> tuple[int, ...]:
        return tuple(sentence.quote.span.start for sentence in self.sentences)

    @cached_property
    def outline(self) -> SectionIndex:
        """The sections of its sentences or, if these were not read, of its passages."""
        openings = ["" if each.kind is RegionKind.HEADING else each.text[:_OPENING] for each in self.sentences]
        return SectionIndex([each.section for each in self.sentences or self.passages], openings)

    @cached_property
    def glossary(self) -> Mapping[tuple[str, ...], Sequence[Sentence]]:
        """The sentences that define a term, in reading order, by the key of the term."""
        return by_term(sentence for sentence in self.sentences if sentence.kind.evidence)

    @cached_property
    def restrictions(self) -> Sequence[tuple[Sentence, Restriction]]:
        """The sentences that refer to a clause which they restrict, or which restricts them, in reading order."""
        places = sorted({self.position_at(offset) for offset in restricting_places(self.document.text)} - {-1})
        evidence = (self.sentences[place] for place in places if self.sentences[place].kind.evidence)
        return [(sentence, each) for sentence in evidence for each in restrictions(sentence.text)]

    def position_at(self, offset: int) -> int:
        """Return the position of the last sentence that begins at `offset` or before; -1 if there is none."""
        return bisect_right(self._starts, offset) - 1

    def positions(self, span: Span) -> range:
        """Return the positions of the sentences that `span` touches."""
        if not self.sentences:
            return range(0)
        first = max(0, self.position_at(span.start))
        first += self.sentences[first].quote.span.end <= span.start
        return range(first, max(first, self.position_at(span.end - 1) + 1))

    def inside(self, span: Span) -> tuple[Sentence, ...]:
        """Return the sentences that `span` touches."""
        positions = self.positions(span)
        return self.sentences[positions.start : positions.stop]

    def span(self, first: int, last: int) -> Span:
        return Span(self.sentences[first].quote.span.start, self.sentences[last].quote.span.end)

    def neighbours(self, sentence: Sentence) -> tuple[Sentence | None, Sentence | None]:
        position = self.position_at(sentence.quote.span.start)
        before = self.sentences[position - 1] if position > 0 else None
        return before, self.sentences[position + 1] if position + 1 < len(self.sentences) else None


def defined_keys(sentence: Sentence) -> dict[tuple[str, ...], None]:
    """Return the keys of the terms that a sentence defines, in order."""
    return dict.fromkeys(term_key(term) for term in defined_terms(sentence.text, sentence.section))


class RecentSources:
    """The sources that were read last, by index and document. An index is named by its content, so none gets stale."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._sources: OrderedDict[tuple[str, str], SourceText] = OrderedDict()
        self._sentences = 0

    def get(self, key: tuple[str, str]) -> SourceText | None:
        return self._sources.get(key)

    def keep(self, key: tuple[str, str], source: SourceText) -> None:
        """Keep a source as the most recent one, and as many others as fit."""
        with self._lock:
            before = self._sources.pop(key, None)
            self._sources[key] = source
            self._sentences += len(source.sentences) - (len(before.sentences) if before else 0)
            while self._sentences > _KEPT_SENTENCES:
                _, dropped = self._sources.popitem(last=False)
                self._sentences -= len(dropped.sentences)


_recent = RecentSources()


def by_term(sentences: Iterable[Sentence]) -> dict[tuple[str, ...], list[Sentence]]:
    """Group sentences by the keys of the terms that they define."""
    definitions: dict[tuple[str, ...], list[Sentence]] = {}
    for sentence in sentences:
        for key in defined_keys(sentence):
            definitions.setdefault(key, []).append(sentence)
    return definitions


class SourceTexts:
    """The documents of one answer or context; `profile` tells their authority."""

    def __init__(self, reader: Reader, profile: Profile, known: Iterable[DocumentInfo]) -> None:
        self.reader = reader
        self.profile = profile
        self.infos = {info.id: info for info in known}
        """The documents that were asked for so far, by id."""
        self._sources: dict[str, SourceText] = {}

    @cached_property
    def every_info(self) -> Sequence[DocumentInfo]:
        """Every document of the index."""
        return self.reader.documents()

    def info(self, doc_id: str) -> DocumentInfo:
        """Describe a document; raise `OffsetMismatch` if the index lacks it, because nothing in it can be verified."""
        info = self._known(doc_id)
        if info is None:
            raise OffsetMismatch(doc_id, 0, 0)
        return info

    def title(self, doc_id: str) -> str:
        """Return the title of a document; empty if it has none, or if the index lacks the document."""
        info = self._known(doc_id)
        return (info.metadata.title or "") if info else ""

    def source(self, doc_id: str) -> SourceText:
        """Return the text of a document; raise `OffsetMismatch` if the index lacks it."""
        if doc_id not in self._sources:
            key = (self.reader.info.digest, doc_id)
            self._sources[doc_id] = _recent.get(key) or self._read(doc_id)
            _recent.keep(key, self._sources[doc_id])
        return self._sources[doc_id]

    def _known(self, doc_id: str) -> DocumentInfo | None:
        if doc_id not in self.infos:
            self.infos |= {info.id: info for info in self.reader.documents([doc_id])}
        return self.infos.get(doc_id)

    def _read(self, doc_id: str) -> SourceText:
        info, document = self.info(doc_id), self.reader.document(doc_id)
        if document is None:
            raise OffsetMismatch(doc_id, 0, 0)
        sentences = tuple(self.reader.sentences(doc_id)) if info.sentences <= MOST_SENTENCES else ()
        return SourceText(document, sentences, self.reader.passages(doc_id))
