"""Build found passages from found sentences: gather them by passage, then add text, labels and scores."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from quoth.answer.verification import verify_quote
from quoth.domain.authority import authority_of, supersessions
from quoth.errors import OffsetMismatch
from quoth.protocols import Reader
from quoth.search.boosts import boosted_score
from quoth.search.engine import Engine
from quoth.search.fusion import ROUND
from quoth.search.logistic import Scale
from quoth.types import (
    Analysis,
    Document,
    DocumentInfo,
    FoundBy,
    FoundPassage,
    LlmScore,
    Passage,
    Ranked,
    Span,
    Supersession,
)


class PassageBuilder:
    """Builds the passages of one question; reads each document once."""

    def __init__(self, reader: Reader, engine: Engine, analysis: Analysis, *, scale: Scale) -> None:
        self.reader = reader
        self._scale = scale
        self.engine = engine
        self.analysis = analysis
        self._documents: dict[str, tuple[Document, DocumentInfo]] = {}
        self._sections: dict[str, list[tuple[str, ...]]] = {}
        """The section of each sentence, by document, for documents with a superseded section."""

    def passages(self, gathered: Sequence[GatheredPassage]) -> tuple[FoundPassage, ...]:
        """Return the passages with text, labels and scores, best first."""
        return best_passages(map(self._passage, gathered))

    def rescored(self, found: FoundPassage, llm_score: LlmScore) -> FoundPassage:
        relevance = round(llm_score.score, ROUND)
        order = self._order(relevance, found.sentences[0], found.document)
        return replace(found, relevance=relevance, order=order, reasoning=llm_score.reasoning)

    def _passage(self, gathered: GatheredPassage) -> FoundPassage:
        passage, sentences = gathered.passage, gathered.sentences
        document, info = self._document(passage.doc_id)
        for ranked in sentences:
            verify_quote(document, ranked.sentence.quote)
        relevance = self._scale.relevance(sentences[0].relevance)
        return FoundPassage(
            passage=passage,
            content=document.quote(passage.span),
            document=info,
            authority=authority_of(info.metadata, self.engine.profile),
            superseded_by=self._superseded_by(passage, info),
            sentences=sentences,
            dense=max(ranked.candidate.dense for ranked in sentences),
            lexical=max(ranked.candidate.lexical for ranked in sentences),
            fused=max(ranked.fused for ranked in sentences),
            relevance=relevance,
            order=self._order(relevance, sentences[0], info),
            source=gathered.source,
            successor_of=None,
            reasoning=None,
        )

    def _order(self, relevance: float, best: Ranked, document: DocumentInfo) -> float:
        return boosted_score(relevance, best.sentence, self.analysis, document=document, engine=self.engine)

    def _superseded_by(self, passage: Passage, info: DocumentInfo) -> tuple[Supersession, ...]:
        """Return what supersedes any part of a passage. It may join small sections; its sentences know which."""
        successors = info.metadata.superseded_by
        if all(successor.section is None for successor in successors):
            return successors
        if passage.doc_id not in self._sections:
            self._sections[passage.doc_id] = [sentence.section for sentence in self.reader.sentences(passage.doc_id)]
        inside = self._sections[passage.doc_id][passage.first : passage.last + 1]
        replacing = {each for section in {passage.section, *inside} for each in supersessions(info.metadata, section)}
        return tuple(successor for successor in successors if successor in replacing)

    def _document(self, doc_id: str) -> tuple[Document, DocumentInfo]:
        if doc_id not in self._documents:
            document = self.reader.document(doc_id)
            info = next(iter(self.reader.documents([doc_id])), None)
            if document is None or info is None:
                raise OffsetMismatch(doc_id, 0, 0)
            self._documents[doc_id] = (document, info)
        return self._documents[doc_id]


def best_passages(passages: Iterable[FoundPassage]) -> tuple[FoundPassage, ...]:
    """Sort by order score, best first; equal scores by document and position."""
    return tuple(sorted(passages, key=lambda found: (-found.order, found.passage.doc_id, found.passage.span)))


@dataclass(frozen=True, slots=True)
class GatheredPassage:
    """A passage with the sentences found in it, the most relevant first."""

    passage: Passage
    sentences: tuple[Ranked, ...]

    @property
    def source(self) -> FoundBy:
        """Which way of searching found it."""
        ways = {way for ranked in self.sentences for way in ranked.candidate.found_by}
        if ways == {"dense"}:
            return FoundBy.VECTOR
        return FoundBy.FULL_TEXT if ways == {"lexical"} else FoundBy.BOTH


def gather(ranked: Sequence[Ranked], reader: Reader) -> tuple[GatheredPassage, ...]:
    """Return the passages that hold the ranked sentences, best first.

    Passages overlap a little, so a sentence can stand in two. A passage whose sentences all stand in better passages is
    left out.
    """
    by_document: dict[str, list[Ranked]] = {}
    for each in sorted(ranked, key=lambda each: (-each.relevance, -each.fused, each.sentence.quote.span)):
        by_document.setdefault(each.sentence.doc_id, []).append(each)
    passages = [
        gathered
        for doc_id, sentences in by_document.items()
        for gathered in _in_document(reader.passages(doc_id), sentences)
    ]
    seen: set[str] = set()
    best = []
    for gathered in sorted(passages, key=_rank):
        ids = {each.sentence.id for each in gathered.sentences}
        if not ids <= seen:
            best.append(gathered)
            seen |= ids
    return tuple(best)


def _in_document(passages: Sequence[Passage], sentences: Sequence[Ranked]) -> list[GatheredPassage]:
    starts = [passage.span.start for passage in passages]
    inside: dict[int, list[Ranked]] = {}
    for ranked in sentences:
        position = bisect_right(starts, ranked.sentence.quote.span.start) - 1
        while position >= 0 and passages[position].span.holds(ranked.sentence.quote.span):
            inside.setdefault(position, []).append(ranked)
            position -= 1
    return [GatheredPassage(passages[position], tuple(group)) for position, group in inside.items()]


def _rank(gathered: GatheredPassage) -> tuple[float, float, str, Span]:
    """Rank by the best sentence; two passages that share it, by all of their sentences together."""
    relevances = [ranked.relevance for ranked in gathered.sentences]
    return -relevances[0], -sum(relevances), gathered.passage.doc_id, gathered.passage.span
