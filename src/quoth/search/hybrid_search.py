"""Hybrid search: a question, or a sub-question, to sentences in order, by full text and by vectors."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from itertools import takewhile

import numpy as np

from quoth.domain.authority import successors_of, within_successors
from quoth.domain.publications import within_publications
from quoth.errors import ProviderFault
from quoth.protocols import Embedder, Reader
from quoth.search.asking_sentences import with_answers
from quoth.search.boosts import boost
from quoth.search.engine import Engine
from quoth.search.fusion import ROUND, SearchResult, fuse, merge
from quoth.search.language_pairs import LanguagePair, in_english, judged
from quoth.search.logistic import CLEAR, Scale
from quoth.search.reranking import rerank
from quoth.types import Analysis, EncodedQuestion, Filters, Query, QuestionTokens, Ranked, Remark, Vectors

_NEARLY = 0.9
"""The share of the best score anywhere that a document type must reach when the question only hints at it."""
_WORD = re.compile(r"\w+")


def hybrid_search(analysis: Analysis, *, reader: Reader, engine: Engine, topk: int) -> SearchResult:
    """Search, and rerank the `topk` best.

    A question that names document types is searched among these; everywhere when a better answer stands elsewhere,
    since a type is only read from the words of the question.
    """
    degraded: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    try:
        encoded = encode_question(analysis.search_text, embedder=engine.embedder, reader=reader)
    except ProviderFault as fault:
        encoded = encode_question(analysis.search_text, embedder=None, reader=reader)
        degraded = ("dense",)
        unreached = Remark(
            "The embedding model cannot be reached, so only full text was searched: {fault}", fault=str(fault)
        )
        notes = (unreached,)
    filters = analysis.question.filters
    result = _search_with_successors(filters, analysis, encoded, reader=reader, engine=engine, topk=topk)
    if analysis.document_types:
        narrowed = replace(filters, document_types=analysis.document_types)
        of_types = _search_with_successors(narrowed, analysis, encoded, reader=reader, engine=engine, topk=topk)
        scale = engine.scales[engine.scorer(encoded)]
        if _stays_within(of_types, result, types_asked=analysis.types_asked, scale=scale):
            result = of_types
        elif analysis.types_asked:
            named = ", ".join(analysis.document_types)
            elsewhere = Remark(
                "Nothing of the type that the question names ({named}) is clearly relevant; see all types.", named=named
            )
            notes += (elsewhere,)
    return replace(result, degraded=degraded, notes=notes)


def _stays_within(of_types: SearchResult, anywhere: SearchResult, *, types_asked: bool, scale: Scale) -> bool:
    """Return whether the search stays among the document types that the question names.

    It does where nothing elsewhere is better; if it asks for them, where something is clearly relevant, else if nearly.
    """
    here, there = (
        max((candidate.relevance for candidate in result.ranked), default=0.0) for result in (of_types, anywhere)
    )
    return here >= there or (scale.relevance(here) >= CLEAR if types_asked else here >= _NEARLY * there)


def _search_with_successors(
    filters: Filters, analysis: Analysis, encoded: EncodedQuestion, *, reader: Reader, engine: Engine, topk: int
) -> SearchResult:
    """Search within `filters`, and also in the documents that replace the best sentence."""
    result = search_within(filters, analysis, encoded, reader=reader, engine=engine, topk=topk)
    successors = successors_of(result.ranked, reader) if engine.profile.authority else ()
    narrowed = within_successors(filters, successors)
    if narrowed is None:
        return result
    return merge(result, [search_within(narrowed, analysis, encoded, reader=reader, engine=engine, topk=topk)])


def search_within(
    filters: Filters, analysis: Analysis, encoded: EncodedQuestion, *, reader: Reader, engine: Engine, topk: int
) -> SearchResult:
    """Run one search: fuse both scores, rerank, and boost the `topk` best."""
    mode = engine.search_mode(encoded)
    terms = analysis.terms if mode != "dense" else ()
    candidates = engine.settings.retrieval.candidates
    query = Query(encoded.vector, terms, candidates, filters=within_publications(filters, reader))
    found = reader.search(query)
    fused = fuse(found, analysis, mode=mode)
    # Late interaction needs the tokens of the question; without them the fused order stays.
    usable = engine.reranker is not None and engine.scorer(encoded) == engine.reranker.name
    reranked = rerank(fused, encoded=encoded, reranker=engine.reranker if usable else None, topk=topk)
    ranked = _boosted(with_answers(reranked, reader, filters), analysis, reader=reader, engine=engine)
    return SearchResult(encoded, found, fused, ranked, filters, degraded=(), notes=(), usage=None)


def read_best(result: SearchResult, analysis: Analysis, *, reader: Reader, engine: Engine) -> SearchResult:
    """Let the cross-encoder judge the best sentences, and keep only those; return `result` when there is none."""
    sentence_reader, evidence = engine.sentence_reader, engine.evidence_for(result.encoded)
    if engine.pair is not LanguagePair.ENGLISH and evidence is not None:
        return replace(result, ranked=_boosted(judged(result.ranked, evidence), analysis, reader=reader, engine=engine))
    if sentence_reader is None or evidence is None:
        return result
    read = sentence_reader.judge(
        in_english(result.ranked, reader), question=result.encoded.text, reader=reader, model=evidence.sentence
    )
    notes = (*result.notes, *sentence_reader.notes)
    return replace(result, ranked=_boosted(read, analysis, reader=reader, engine=engine), notes=notes)


def rerank_with_llm(result: SearchResult, analysis: Analysis, *, reader: Reader, engine: Engine) -> SearchResult:
    """Score the best sentences by the LLM, in one request; return `result` when there is no LLM or it fails."""
    if engine.llm_reranker is None or not result.ranked:
        return result
    best = result.ranked[: engine.llm_reranker.max_passages]
    texts = [(item.sentence.id, "\n".join((*item.sentence.section, item.sentence.search_text))) for item in best]
    try:
        scores, usage = engine.llm_reranker.score(analysis.question.text, texts)
    except ProviderFault as fault:
        return replace(result, degraded=(*result.degraded, "rerank"), notes=(*result.notes, without_llm(fault)))
    rescored = tuple(
        replace(item, relevance=(score := round(llm.score, ROUND)), order=score)
        for item, llm in zip(best, scores, strict=True)
    )
    return replace(result, ranked=_boosted(rescored, analysis, reader=reader, engine=engine), usage=usage)


def without_llm(fault: ProviderFault) -> Remark:
    return Remark("The judging model could not be used, so the order is the one before it: {fault}", fault=str(fault))


def _boosted(ranked: tuple[Ranked, ...], analysis: Analysis, *, reader: Reader, engine: Engine) -> tuple[Ranked, ...]:
    """Order by the profile's preferences. Read the documents' metadata only if the profile ranks authority."""
    ids = {item.sentence.doc_id for item in ranked} if engine.profile.authority else set()
    documents = {info.id: info for info in reader.documents(ids)} if ids else {}
    return boost(ranked, analysis, documents=documents, engine=engine)


def encode_question(text: str, *, embedder: Embedder | None, reader: Reader) -> EncodedQuestion:
    """Return the question with its vector and weighted tokens; without an embedder, only its text."""
    if embedder is None:
        return EncodedQuestion(text, None, None, np.empty(0, dtype=np.float32))
    vector, tokens = embedder.embed_question(text)
    return EncodedQuestion(text, vector, tokens, token_weights(text, tokens, reader))


def token_weights(text: str, tokens: QuestionTokens | None, reader: Reader) -> Vectors:
    """Return one weight for each token, 1 in sum: the rarer a word is in the corpus, the more it tells.

    A model that knows what its tokens count for is taken at its word: in a corpus in another language every word is
    rare. The tokens of a word share its weight, and punctuation has none.
    """
    if tokens is None:
        return np.empty(0, dtype=np.float32)
    if tokens.weights is not None:
        return _shares(tokens.weights)
    window = max((end for _, end in tokens.spans), default=0)  # the model reads no further
    words = list(takewhile(lambda word: word.start() < window, _WORD.finditer(text)))
    frequencies = reader.frequencies([word.group() for word in words])
    weights = np.zeros(len(tokens.spans), dtype=np.float32)
    for word in words:
        of_word = [at for at, (begin, _) in enumerate(tokens.spans) if word.start() <= begin < word.end()]
        rarity = math.log(1 + reader.info.sentences / (frequencies[word.group()] + 0.5))
        weights[of_word] = rarity / max(1, len(of_word))
    return _shares(weights)


def _shares(weights: Vectors) -> Vectors:
    total = float(weights.sum())
    return weights / total if total else np.full(len(weights), 1 / max(1, len(weights)), dtype=np.float32)
