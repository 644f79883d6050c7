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
from quoth.select.relevance import CLEAR, Scale
from quoth.select.rerank import rerank
from quoth.types import Analysis, Filters, Probe, Query, Ranked

_NEARLY = 0.9
"""Of the best score anywhere: what a type that is only hinted at must reach."""


def find(analysis: Analysis, *, reader: Reader, engine: Engine, topk: int) -> Found:
    """Search, and bring the `topk` best into order.

    In the document types that the question names; everywhere when a better answer stands elsewhere, since a type is
    only read from the words of the question.
    """
    asked, degraded, notes = _probe(analysis, reader=reader, engine=engine)
    filters = analysis.question.filters
    found = _within(filters, analysis, asked, reader=reader, engine=engine, topk=topk)
    if analysis.document_types:
        narrowed = replace(filters, document_types=analysis.document_types)
        among = _within(narrowed, analysis, asked, reader=reader, engine=engine, topk=topk)
        if _keeps(among, found, asked=analysis.types_asked, scale=engine.scales[engine.scorer(asked)]):
            found = among
        elif analysis.types_asked:
            named = ", ".join(analysis.document_types)
            note = f"Nothing of the type that the question names ({named}) is clearly relevant; see all types."
            notes = (*notes, note)
    return replace(found, degraded=degraded, notes=notes)


def _keeps(among: Found, anywhere: Found, *, asked: bool, scale: Scale) -> bool:
    """Whether the search stays among the types named. Where they are asked for, as long as something there is clearly
    relevant or nothing elsewhere is more so; where they are only hinted at, if nothing elsewhere is clearly better."""
    here, there = _best(among), _best(anywhere)
    if here >= there:
        return True
    return scale.relevance(here) >= CLEAR if asked else here >= _NEARLY * there


def _best(found: Found) -> float:
    return max((one.relevance for one in found.ranked), default=0.0)


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
