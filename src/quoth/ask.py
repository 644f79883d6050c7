"""The read path: question -> analyse -> search -> fuse -> rerank -> boost -> select -> decide -> answer."""

from __future__ import annotations

from collections.abc import Callable
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
from quoth.select.topic import on_topic
from quoth.settings import Settings
from quoth.types import (
    Abstention,
    Analysis,
    Answer,
    Asked,
    Candidates,
    Document,
    DocumentInfo,
    Evidence,
    Objection,
    Outcome,
    Query,
    Question,
    Ranked,
    Reason,
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
    """Everything that stays the same from question to question. Without an embedder only full text is searched."""

    embedder: Embedder | None
    reranker: Reranker | None
    profile: Profile
    settings: Settings
    settings_digest: str


def ask(question: Question, *, reader: Reader, engine: Engine) -> Asked:
    """Answer with verified quotes, or abstain with the reason."""
    settings = engine.settings
    analysis = analyse(question, profile=engine.profile, settings=settings.retrieval)
    vector = engine.embedder.embed([analysis.search_text])[0] if engine.embedder else None
    candidates = reader.search(_query(analysis, vector, settings))

    fused = fuse(candidates, analysis, mode=settings.retrieval.mode)
    reranked = rerank(
        fused, candidates, analysis=analysis, vector=vector, reranker=engine.reranker, topk=settings.rerank.topk
    )
    ranked = boost(
        reranked,
        analysis,
        documents=_authorities(reranked, reader, engine.profile),
        profile=engine.profile,
        settings=settings.retrieval,
    )
    selection = select(
        ranked,
        candidates.vectors,
        supports=_supports(analysis, engine),
        neighbours=reader.neighbours,
        settings=settings.selection,
    )
    nearest = tuple(Evidence(one.sentence, one.relevance, None) for one in ranked[:_NEAREST])
    # Until a calibration says what it is worth: the fused score of the best evidence, or of the nearest there is.
    confidence = max((one.fused for one in selection.supporting or ranked), default=0.0)
    case = Case(analysis, ranked, selection, confidence, _documents(selection.evidence or nearest, reader), reader)
    objections = decide(case, checks(settings.selection, settings.decision))
    notes = _notes(candidates, fused, selection, objections, reader=reader, engine=engine)
    outcome = _outcome(case, nearest, objections, notes=notes, engine=engine)
    return Asked(outcome, Trace(analysis, ranked, selection, objections))


def _query(analysis: Analysis, vector: Vectors | None, settings: Settings) -> Query:
    return Query(
        vector=vector,
        terms=analysis.terms if settings.retrieval.mode != "dense" else (),
        candidates=settings.retrieval.candidates,
        filters=analysis.question.filters,
    )


def _supports(analysis: Analysis, engine: Engine) -> Callable[[Ranked], bool]:
    """Whether a sentence is evidence for the question: near enough to it, and not about something else."""
    decision = engine.settings.decision
    if not decision.abstain:
        return lambda _: True
    return lambda one: one.fused >= decision.support_score and on_topic(one.sentence, analysis, engine.profile)


def _authorities(ranked: tuple[Ranked, ...], reader: Reader, profile: Profile) -> dict[str, DocumentInfo]:
    """What is known about the documents found; only a profile with authority asks for it."""
    if profile.authority is None:
        return {}
    return {info.id: info for info in reader.documents({one.sentence.doc_id for one in ranked})}


def _documents(evidence: tuple[Evidence, ...], reader: Reader) -> tuple[Document, ...]:
    ids = dict.fromkeys(one.sentence.doc_id for one in evidence)
    return tuple(document for doc_id in ids if (document := reader.document(doc_id)) is not None)


def _outcome(
    case: Case,
    nearest: tuple[Evidence, ...],
    objections: tuple[tuple[str, Objection | None], ...],
    *,
    notes: RunNotes,
    engine: Engine,
) -> Outcome:
    question = case.analysis.question
    objection = _first(objections, engine.settings)
    shown = case.selection.evidence if objection is None else nearest
    missing = tuple(one for one in shown if one.sentence.doc_id not in {document.id for document in case.documents})
    documents = {document.id: document for document in (*case.documents, *_documents(missing, case.reader))}
    citations = cite(shown, documents, engine.profile)
    if objection is None:
        return Answer(question, citations, case.confidence, notes)
    return Abstention(question, objection, citations, case.confidence, notes)


def _first(objections: tuple[tuple[str, Objection | None], ...], settings: Settings) -> Objection | None:
    """The decision. With abstention off only an empty hand is left to object."""
    said = [objection for _, objection in objections if objection is not None]
    if not settings.decision.abstain:
        said = [objection for objection in said if objection.reason is Reason.NO_RESULTS]
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
        settings=engine.settings_digest,
    )
