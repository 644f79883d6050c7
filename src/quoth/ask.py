"""The read path: question -> analyse -> search -> fuse -> rerank -> boost -> select -> decide -> answer."""

from __future__ import annotations

from dataclasses import dataclass

from quoth.answer import cite
from quoth.decide import Case, checks, decide
from quoth.profile import Profile
from quoth.protocols import Embedder, Reader, Reranker
from quoth.retrieve.boost import boost
from quoth.retrieve.fuse import fuse
from quoth.retrieve.question import analyse
from quoth.select.diversify import select
from quoth.select.rerank import rerank
from quoth.settings import Settings
from quoth.types import (
    Abstention,
    Analysis,
    Answer,
    Asked,
    Candidates,
    Document,
    Evidence,
    Objection,
    Outcome,
    Query,
    Question,
    Ranked,
    RunNotes,
    Selection,
    Trace,
    Vectors,
)

_RETRIEVERS = {"hybrid": "hybrid_bm25_dense", "lexical": "bm25", "dense": "dense"}
_NEAREST = 3
"""How many sentences an abstention shows as the nearest evidence."""


@dataclass(frozen=True, slots=True)
class Engine:
    """Everything that stays the same from question to question."""

    embedder: Embedder
    reranker: Reranker | None
    profile: Profile
    settings: Settings


def ask(question: Question, *, reader: Reader, engine: Engine) -> Asked:
    """Answer with verified quotes, or abstain with the reason."""
    settings = engine.settings
    analysis = analyse(question, profile=engine.profile, settings=settings.retrieval)
    vector = engine.embedder.embed([analysis.search_text])[0] if settings.retrieval.mode != "lexical" else None
    candidates = reader.search(_query(analysis, vector, settings))

    fused = fuse(candidates, analysis, mode=settings.retrieval.mode)
    reranked = rerank(
        fused, candidates, analysis=analysis, vector=vector, reranker=engine.reranker, topk=settings.rerank.topk
    )
    infos = {info.id: info for info in reader.documents({one.sentence.doc_id for one in reranked})}
    ranked = boost(reranked, analysis, documents=infos, profile=engine.profile, settings=settings.retrieval)
    selection = select(
        ranked,
        candidates.vectors,
        support_score=settings.decision.support_score if settings.decision.abstain else 0.0,
        neighbours=reader.neighbours,
        settings=settings.selection,
    )
    confidence = _confidence(selection)
    case = Case(analysis, selection, confidence, _quoted_documents(selection.evidence, reader), reader)
    objections = decide(case, checks(settings.selection, settings.decision))
    notes = _notes(candidates, fused, selection, objections, reader=reader, engine=engine)
    outcome = _outcome(case, ranked, objections, notes=notes, engine=engine)
    return Asked(outcome, Trace(analysis, ranked, selection, objections))


def _query(analysis: Analysis, vector: Vectors | None, settings: Settings) -> Query:
    return Query(
        vector=vector,
        terms=analysis.terms if settings.retrieval.mode != "dense" else (),
        candidates=settings.retrieval.candidates,
        filters=analysis.question.filters,
    )


def _confidence(selection: Selection) -> float:
    """The fused score of the best sentence, until a calibration says what it is worth."""
    return max((one.fused for one in selection.supporting), default=0.0)


def _quoted_documents(evidence: tuple[Evidence, ...], reader: Reader) -> tuple[Document, ...]:
    ids = dict.fromkeys(one.sentence.doc_id for one in evidence)
    return tuple(document for doc_id in ids if (document := reader.document(doc_id)) is not None)


def _outcome(
    case: Case,
    ranked: tuple[Ranked, ...],
    objections: tuple[tuple[str, Objection | None], ...],
    *,
    notes: RunNotes,
    engine: Engine,
) -> Outcome:
    question = case.analysis.question
    objection = _first(objections, engine.settings)
    if objection is None:
        documents = {document.id: document for document in case.documents}
        return Answer(question, cite(case.selection.evidence, documents, engine.profile), case.confidence, notes)
    nearest = tuple(Evidence(one.sentence, one.relevance, None) for one in ranked[:_NEAREST])
    documents = {document.id: document for document in _quoted_documents(nearest, case.reader)}
    confidence = max((one.fused for one in ranked), default=0.0)
    return Abstention(question, objection, cite(nearest, documents, engine.profile), confidence, notes)


def _first(objections: tuple[tuple[str, Objection | None], ...], settings: Settings) -> Objection | None:
    """The decision. With abstention off only an empty hand is left to object."""
    said = [objection for _, objection in objections if objection is not None]
    if not settings.decision.abstain:
        said = [objection for objection in said if objection.reason == "no_results"]
    return said[0] if said else None


def _notes(
    candidates: Candidates,
    fused: tuple[Ranked, ...],
    selection: Selection,
    objections: tuple[tuple[str, Objection | None], ...],
    *,
    reader: Reader,
    engine: Engine,
) -> RunNotes:
    objection = _first(objections, engine.settings)
    return RunNotes(
        retriever=_RETRIEVERS[engine.settings.retrieval.mode],
        k_initial=len(candidates.items),
        rerank_topk=engine.settings.rerank.topk,
        decision=("answered",) if objection is None else ("abstained", objection.reason),
        max_retrieval=fused[0].fused if fused else 0.0,
        support_count=len(selection.supporting),
        redundancy_before=selection.redundancy_before,
        redundancy_after=selection.redundancy_after,
        degraded=(),
        profile=engine.profile.name,
        calibrated=False,
        index=reader.info.digest,
        settings=engine.settings.digest,
    )
