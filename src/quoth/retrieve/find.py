"""One search: a question, or a part of one, to sentences in order, with whatever parts can be reached."""

from __future__ import annotations

from dataclasses import replace

from quoth.engine import Engine
from quoth.errors import ProviderFault
from quoth.protocols import Reader
from quoth.retrieve.boost import boost
from quoth.retrieve.fuse import fuse
from quoth.retrieve.merge import Found, merge
from quoth.retrieve.probe import probe
from quoth.retrieve.successors import successors_of, within_successors
from quoth.select.rerank import rerank
from quoth.types import Analysis, Filters, Probe, Query, Ranked


def find(analysis: Analysis, *, reader: Reader, engine: Engine, topk: int) -> Found:
    """Search, and bring the `topk` best into order.

    In the document types that the question names; everywhere when nothing there supports an answer, since a type is
    only read from the words of the question.
    """
    asked, degraded, notes = _probe(analysis, reader=reader, engine=engine)
    filters = analysis.question.filters
    if not analysis.document_types:
        found = _within(filters, analysis, asked, reader=reader, engine=engine, topk=topk)
        return replace(found, degraded=degraded, notes=notes)
    narrowed = replace(filters, document_types=analysis.document_types)
    found = _within(narrowed, analysis, asked, reader=reader, engine=engine, topk=topk)
    if _best(found) < engine.settings.decision.support_score:
        anywhere = _within(filters, analysis, asked, reader=reader, engine=engine, topk=topk)
        if _best(anywhere) > _best(found):
            named = ", ".join(analysis.document_types)
            notes = (
                *notes,
                f"Nothing relevant of the type that the question names ({named}); all types were searched.",
            )
            found = anywhere
    return replace(found, degraded=degraded, notes=notes)


def _best(found: Found) -> float:
    return max((one.relevance for one in found.ranked), default=-1.0)


def _probe(analysis: Analysis, *, reader: Reader, engine: Engine) -> tuple[Probe, tuple[str, ...], tuple[str, ...]]:
    """The question made ready, what is out of order, and a sentence that says so."""
    try:
        return probe(analysis.search_text, embedder=engine.embedder, reader=reader), (), ()
    except ProviderFault as fault:
        note = f"The embedding model cannot be reached, so only full text was searched: {fault}"
        return probe(analysis.search_text, embedder=None, reader=reader), ("dense",), (note,)


def _within(filters: Filters, analysis: Analysis, asked: Probe, *, reader: Reader, engine: Engine, topk: int) -> Found:
    found = search(filters, analysis, asked, reader=reader, engine=engine, topk=topk)
    successors = successors_of(found.ranked, reader) if engine.profile.authority else ()
    their = within_successors(filters, successors)
    if their is None:
        return found
    return merge(found, [search(their, analysis, asked, reader=reader, engine=engine, topk=topk)])


def search(filters: Filters, analysis: Analysis, asked: Probe, *, reader: Reader, engine: Engine, topk: int) -> Found:
    """The `topk` best sentences within `filters`, boosted."""
    settings = engine.settings
    mode = "lexical" if asked.vector is None else settings.retrieval.mode
    candidates = reader.search(
        Query(
            vector=asked.vector,
            terms=analysis.terms if mode != "dense" else (),
            candidates=settings.retrieval.candidates,
            filters=filters,
        )
    )
    fused = fuse(candidates, analysis, mode=mode)
    # Late interaction needs the tokens of the question; without them the fused order stays.
    usable = engine.reranker is not None and engine.scorer(asked) == engine.reranker.name
    reranked = rerank(fused, probe=asked, reranker=engine.reranker if usable else None, topk=topk)
    ranked = boosted(reranked, analysis, reader=reader, engine=engine)
    return Found(asked, candidates, fused, ranked, filters, (), (), None)


def boosted(ranked: tuple[Ranked, ...], analysis: Analysis, *, reader: Reader, engine: Engine) -> tuple[Ranked, ...]:
    """In the order that the profile prefers; only one with authority asks what is known about the documents."""
    ids = {one.sentence.doc_id for one in ranked} if engine.profile.authority else set()
    documents = {info.id: info for info in reader.documents(ids)} if ids else {}
    return boost(ranked, analysis, documents=documents, profile=engine.profile, settings=engine.settings.retrieval)
