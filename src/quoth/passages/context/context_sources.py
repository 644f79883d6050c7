"""The documents that a context is made from, each read once."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock

from quoth.errors import OffsetMismatch
from quoth.protocols import Reader
from quoth.text.definitions import defined_terms, term_key
from quoth.text.outlines import Outline
from quoth.types import Document, DocumentInfo, Passage, RegionKind, Sentence, Span, Supersession

About = Callable[[DocumentInfo, tuple[str, ...]], tuple[str | None, tuple[Supersession, ...]]]
"""The authority of a section of a document, and what replaces it and is in force."""

MOST_SENTENCES = 20_000
"""Of a document that is read sentence by sentence; of a longer one only its passages are known."""


_OPENING = 40
"""Characters of a sentence that show whether it is a numbered clause."""
_KEPT_SENTENCES = 40_000
"""Of the documents read last: agents ask the same few again and again, and reading one takes the most time."""


@dataclass(frozen=True)  # without slots, for what is worked out when it is first asked for
class Source:
    """A document, and its sentences in reading order; none where there are too many to read."""

    document: Document
    sentences: tuple[Sentence, ...]
    starts: tuple[int, ...]
    passages: tuple[Passage, ...]

    @cached_property
    def outline(self) -> Outline:
        """That of its sentences, or else of its passages."""
        openings = ["" if one.kind is RegionKind.HEADING else one.text[:_OPENING] for one in self.sentences]
        return Outline([one.section for one in self.sentences or self.passages], openings)

    @cached_property
    def glossary(self) -> Mapping[tuple[str, ...], Sequence[Sentence]]:
        """The sentences that define a term, in reading order, by the key of the term."""
        found: dict[tuple[str, ...], list[Sentence]] = {}
        for sentence in self.sentences:
            if sentence.kind.evidence:
                for key in defined_keys(sentence):
                    found.setdefault(key, []).append(sentence)
        return found

    def places(self, span: Span) -> range:
        """The ordinals of the sentences that `span` touches."""
        if not self.sentences:
            return range(0)
        first = max(0, bisect_right(self.starts, span.start) - 1)
        first += self.sentences[first].quote.span.end <= span.start
        return range(first, max(first, bisect_right(self.starts, span.end - 1)))

    def inside(self, span: Span) -> tuple[Sentence, ...]:
        """The sentences that `span` touches."""
        places = self.places(span)
        return self.sentences[places.start : places.stop]

    def span(self, first: int, last: int) -> Span:
        return Span(self.sentences[first].quote.span.start, self.sentences[last].quote.span.end)

    def neighbours(self, sentence: Sentence) -> tuple[Sentence | None, Sentence | None]:
        place = bisect_right(self.starts, sentence.quote.span.start) - 1
        before = self.sentences[place - 1] if place > 0 else None
        return before, self.sentences[place + 1] if place + 1 < len(self.sentences) else None


def defined_keys(sentence: Sentence) -> dict[tuple[str, ...], None]:
    """The keys of the terms that a sentence defines, in order."""
    return dict.fromkeys(term_key(term) for term in defined_terms(sentence.text, sentence.section))


class _Recent:
    """The sources that were read last, by index and document. An index is named by its content, so none gets stale."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str], Source] = OrderedDict()
        self._lock = Lock()

    def get(self, key: tuple[str, str]) -> Source | None:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
            return self._kept.get(key)

    def put(self, key: tuple[str, str], source: Source) -> None:
        with self._lock:
            self._kept[key] = source
            while sum(len(one.sentences) for one in self._kept.values()) > _KEPT_SENTENCES:
                self._kept.popitem(last=False)


_recent = _Recent()


class Sources:
    """The documents of one context, and what is known of their sections."""

    def __init__(self, reader: Reader, about: About, known: Iterable[DocumentInfo]) -> None:
        self.reader = reader
        self._about = about
        self._infos = {info.id: info for info in known}
        self._all: tuple[DocumentInfo, ...] | None = None
        self._sources: dict[str, Source] = {}
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

    def source(self, doc_id: str) -> Source:
        """`OffsetMismatch` for a document that is not in the index: nothing of it can be verified."""
        if doc_id not in self._sources:
            key = (self.reader.info.digest, doc_id)
            source = _recent.get(key)
            if source is None:
                source = self._read(doc_id)
                _recent.put(key, source)
            self._sources[doc_id] = source
        return self._sources[doc_id]

    def _read(self, doc_id: str) -> Source:
        info, document = self.info(doc_id), self.reader.document(doc_id)
        if info is None or document is None:
            raise OffsetMismatch(doc_id, 0, 0)
        sentences = tuple(self.reader.sentences(doc_id)) if info.sentences <= MOST_SENTENCES else ()
        passages = self.reader.passages(doc_id)
        starts = tuple(sentence.quote.span.start for sentence in sentences)
        return Source(document, sentences, starts, passages)

    def about(self, doc_id: str, section: tuple[str, ...]) -> tuple[str | None, tuple[Supersession, ...]]:
        """The authority of a section, and what replaces it; nothing for a document that is not there."""
        key, info = (doc_id, section), self.info(doc_id)
        if key not in self._sections:
            self._sections[key] = (None, ()) if info is None else self._about(info, section)
        return self._sections[key]

    def superseded(self, source: Source, span: Span, section: tuple[str, ...]) -> tuple[Supersession, ...]:
        """What replaces anything in `span`: a passage of several small sections may hold one that is replaced."""
        sections = dict.fromkeys([section, *(sentence.section for sentence in source.inside(span))])
        return tuple(dict.fromkeys(one for path in sections for one in self.about(source.document.id, path)[1]))
