"""The passages found, taken from the index with their text, their labels and their scores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from quoth.corpus.authority import authority_of, supersessions
from quoth.engine import Engine
from quoth.errors import OffsetMismatch
from quoth.protocols import Reader
from quoth.retrieve.boost import boosted_score
from quoth.retrieve.fuse import ROUND
from quoth.retrieve.gather import Gathered
from quoth.select.relevance import Scale
from quoth.types import (
    Analysis,
    Document,
    DocumentInfo,
    FoundPassage,
    Judgement,
    Passage,
    Sentence,
    Span,
    Supersession,
)
from quoth.verify import verify_quote


class Shelf:
    """Makes the passages of one question; each document is read once."""

    def __init__(self, reader: Reader, engine: Engine, analysis: Analysis, *, scale: Scale) -> None:
        self.reader = reader
        self._scale = scale
        self.engine = engine
        self.analysis = analysis
        self._documents: dict[str, tuple[Document, DocumentInfo]] = {}
        self._replaced: dict[str, list[tuple[Span, tuple[str, ...]]]] = {}
        """The sections, with their places, of the documents of which a part has been replaced."""

    def passages(self, gathered: Sequence[Gathered]) -> tuple[FoundPassage, ...]:
        """Best first."""
        return best_passages(map(self._passage, gathered))

    def about(self, document: DocumentInfo, section: tuple[str, ...]) -> tuple[str | None, tuple[Supersession, ...]]:
        """What a section of a document is worth, and what replaces it."""
        return authority_of(document.metadata, self.engine.profile), supersessions(document.metadata, section)

    def rescored(self, one: FoundPassage, judgement: Judgement) -> FoundPassage:
        relevance = round(judgement.score, ROUND)
        order = self._order(relevance, one, one.document)
        return replace(one, relevance=relevance, order=order, reasoning=judgement.reasoning)

    def _passage(self, gathered: Gathered) -> FoundPassage:
        passage, sentences = gathered.passage, gathered.sentences
        document, info = self._document(passage.doc_id)
        for one in sentences:
            verify_quote(document, one.sentence.quote)
        relevance = self._scale.relevance(sentences[0].relevance)
        return FoundPassage(
            passage=passage,
            content=document.quote(passage.span),
            document=info,
            authority=authority_of(info.metadata, self.engine.profile),
            superseded_by=self._superseded_by(passage, info),
            sentences=sentences,
            dense=max(one.candidate.dense for one in sentences),
            lexical=max(one.candidate.lexical for one in sentences),
            fused=max(one.fused for one in sentences),
            relevance=relevance,
            order=self._order(relevance, gathered, info),
            source=gathered.source,
            successor_of=None,
            reasoning=None,
        )

    def _order(self, relevance: float, holder: Gathered | FoundPassage, document: DocumentInfo) -> float:
        return boosted_score(
            relevance,
            holder.sentences[0].sentence,
            self.analysis,
            document=document,
            profile=self.engine.profile,
            settings=self.engine.settings.retrieval,
        )

    def _superseded_by(self, passage: Passage, info: DocumentInfo) -> tuple[Supersession, ...]:
        """What replaces any part of a passage: small sections are joined, and only their sentences know which."""
        replaced = info.metadata.superseded_by
        if all(one.section is None for one in replaced):
            return replaced
        sections = {passage.section, *self._sections(passage)}
        found = {one for section in sections for one in supersessions(info.metadata, section)}
        return tuple(one for one in replaced if one in found)

    def _sections(self, passage: Passage) -> Iterator[tuple[str, ...]]:
        if passage.doc_id not in self._replaced:
            self._replaced[passage.doc_id] = list(_runs(self.reader.sentences(passage.doc_id)))
        for span, section in self._replaced[passage.doc_id]:
            if span.start < passage.span.end and passage.span.start < span.end:
                yield section

    def _document(self, doc_id: str) -> tuple[Document, DocumentInfo]:
        if doc_id not in self._documents:
            document = self.reader.document(doc_id)
            info = next(iter(self.reader.documents([doc_id])), None)
            if document is None or info is None:
                raise OffsetMismatch(doc_id, 0, 0)
            self._documents[doc_id] = (document, info)
        return self._documents[doc_id]


def _runs(sentences: Iterable[Sentence]) -> Iterator[tuple[Span, tuple[str, ...]]]:
    """Each stretch of a document that stands under the same headings."""
    for section, group in groupby(sentences, key=lambda one: one.section):
        inside = [one.quote.span for one in group]
        yield Span(inside[0].start, inside[-1].end), section


def best_passages(passages: Iterable[FoundPassage]) -> tuple[FoundPassage, ...]:
    """By order score; equal scores by document and place."""
    return tuple(sorted(passages, key=lambda one: (-one.order, one.passage.doc_id, one.passage.span)))
