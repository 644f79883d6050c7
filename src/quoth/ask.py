"""The read path: question -> analyse -> search -> fuse -> rerank -> boost -> select -> decide -> answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from quoth.answer import cite
from quoth.calibration import calibrated, decision_in_force
from quoth.confidence import confidence_of
from quoth.conflicts import conflicts_of
from quoth.corpus.authority import statement_of
from quoth.decide import Case, checks, decide
from quoth.engine import Engine, Stage, silent
from quoth.misses import explain, missing
from quoth.protocols import Reader
from quoth.retrieve.as_of import as_of
from quoth.retrieve.find import find
from quoth.retrieve.judged import judged
from quoth.retrieve.lacking import Result, lacking
from quoth.retrieve.merge import Found, merge
from quoth.retrieve.parts import parts_of
from quoth.retrieve.question import analyse
from quoth.select.cover import best_for, evidence_of, unsupported_parts, without_unsupported
from quoth.select.diversify import select
from quoth.select.topic import on_topic
from quoth.settings import Settings
from quoth.types import (
    Abstention,
    Analysis,
    Answer,
    Asked,
    Confidence,
    Conflict,
    Cover,
    Document,
    Evidence,
    Objection,
    Outcome,
    Part,
    Probe,
    Question,
    Ranked,
    Reason,
    RunNotes,
    Selection,
    Sentence,
    Trace,
)

_RETRIEVERS = {"hybrid": "hybrid_bm25_dense", "lexical": "bm25", "dense": "dense"}
_NEAREST = 3
"""How many sentences an abstention shows as the nearest evidence."""


def ask(question: Question, *, reader: Reader, engine: Engine, done: Stage = silent) -> Asked:
    """Answer with verified quotes, or abstain with the reason. `done` is told of each stage when it is over."""
    settings = engine.settings
    reader = as_of(reader, question.filters.as_of)
    analysis = analyse(question, profile=engine.profile, settings=settings.retrieval)
    parts = parts_of(analysis, profile=engine.profile, settings=settings.retrieval)
    done("analyse")
    found_for = [_find(part.analysis, reader=reader, engine=engine) for part in parts]
    covers = _cover(parts, found_for, reader=reader, engine=engine)
    whole = _find(analysis, reader=reader, engine=engine)
    evidence = [replace(one, ranked=cover.evidence) for one, cover in zip(found_for, covers, strict=True)]
    found = judged(merge(whole, evidence), analysis, reader=reader, engine=engine)
    ranked = found.ranked
    done("search")
    engine = _in_force(engine, found, reader)
    settings = engine.settings

    answerable = without_unsupported(analysis, covers)
    supports = _supports(answerable, engine, covers=covers)
    reader.expect(_likely(ranked, supports, settings))
    selection = select(
        ranked,
        found.candidates.vectors,
        supports=supports,
        parts=[best_for(cover, whole.ranked) for cover in covers],
        neighbours=reader.neighbours,
        settings=settings.selection,
    )
    conflicts = _conflicts(found, analysis, reader=reader, engine=engine)
    selection = _with_both_sides(selection, conflicts, found)
    done("select")
    nearest = tuple(Evidence(one.sentence, one.relevance, None) for one in ranked[:_NEAREST])
    raw = _confidence(selection.supporting or ranked, answerable, found.probe, engine)
    confidence = calibrated(raw.value, settings.calibration)
    case = Case(answerable, ranked, selection, confidence, _documents(selection.evidence or nearest, reader), reader)
    objections = decide(case, checks(settings.selection, decision_in_force(settings)))
    done("decide")
    notes = _notes(found, selection, objections, question=question, reader=reader, engine=engine)
    outcome = _outcome(
        replace(case, analysis=analysis),
        nearest,
        objections,
        covers=covers,
        conflicts=conflicts,
        notes=notes,
        engine=engine,
    )
    done("cite")
    trace = Trace(analysis, found.fused, ranked, covers, selection, found.probe, raw, objections, found.usage)
    return Asked(outcome, trace)


def _likely(ranked: Sequence[Ranked], supports: Callable[[Ranked], bool], settings: Settings) -> list[Sentence]:
    """What will probably be quoted, or shown as the nearest evidence."""
    quoted = [one.sentence for one in ranked if supports(one)][: settings.selection.max_sentences]
    return quoted or [one.sentence for one in ranked[:_NEAREST]]


def _find(analysis: Analysis, *, reader: Reader, engine: Engine) -> Found:
    return find(analysis, reader=reader, engine=engine, topk=engine.settings.rerank.topk)


def _in_force(engine: Engine, found: Found, reader: Reader) -> Engine:
    """A calibration holds for the whole search of the whole index; what a part of either says was never calibrated."""
    if "dense" not in found.degraded and not reader.missing:
        return engine
    return engine.with_settings(replace(engine.settings, calibration=Settings().calibration))


def _conflicts(found: Found, analysis: Analysis, *, reader: Reader, engine: Engine) -> tuple[Conflict, ...]:
    """What the sentences found disagree about; only a profile with authority can say which of them is in force."""
    if engine.profile.authority is None:
        return ()
    infos = {info.id: info for info in reader.documents({one.sentence.doc_id for one in found.ranked})}
    known = [one.sentence for one in found.ranked if one.sentence.doc_id in infos]
    return conflicts_of([statement_of(one, infos[one.doc_id], engine.profile) for one in known], analysis)


def _with_both_sides(selection: Selection, conflicts: tuple[Conflict, ...], found: Found) -> Selection:
    """Where sources disagree, each side is quoted, however alike they sound."""
    chosen = {one.sentence.id for one in selection.evidence}
    scores = {one.sentence.id: one.relevance for one in found.ranked}
    sides = (one.sentence for conflict in conflicts for one in conflict.statements)
    if not any(one.sentence.id in chosen for conflict in conflicts for one in conflict.statements):
        return selection
    added = {one.id: Evidence(one, scores[one.id], None) for one in sides if one.id not in chosen}
    return replace(selection, evidence=(*selection.evidence, *added.values()))


def _cover(parts: Sequence[Part], found: Sequence[Found], *, reader: Reader, engine: Engine) -> tuple[Cover, ...]:
    """Each part judged as a question of its own, for which one sentence is enough."""
    # By the plain threshold: what is quoted may not depend on the calibrated one, or its questions were others.
    policy = checks(replace(engine.settings.selection, min_support=1), engine.settings.decision)
    covers = []
    for place, part in enumerate(parts):
        ranked = found[place].ranked
        rivals = [one.ranked for other, one in enumerate(found) if other != place]
        evidence = evidence_of(part, ranked, rivals=rivals, supports=_supports(part.analysis, engine, covers=()))
        best = tuple(Evidence(one.sentence, one.relevance, None) for one in (evidence or ranked)[:1])
        selection = Selection(best if evidence else (), evidence, 0.0, 0.0)
        confidence = _confidence(evidence or ranked, part.analysis, found[place].probe, engine)
        case = Case(part.analysis, ranked, selection, confidence.value, _documents(best, reader), reader)
        objection = _first(decide(case, policy), engine.settings)
        covers.append(Cover(part, evidence if objection is None else (), objection))
    return tuple(covers)


def _confidence(ranked: Sequence[Ranked], analysis: Analysis, asked: Probe, engine: Engine) -> Confidence:
    return confidence_of(ranked, analysis=analysis, probe=asked, model=engine.confidence_model)


def _without_evidence(engine: Engine) -> bool:
    """Whether the evidence model was asked for and this embedding model cannot give it what it needs."""
    return engine.settings.rerank.kind == "evidence" and engine.embedder is not None and engine.reranker is None


def _supports(analysis: Analysis, engine: Engine, *, covers: Sequence[Cover]) -> Callable[[Ranked], bool]:
    """Whether a sentence is evidence for the question: near enough to it, and not about something else.

    Where no part of a question has evidence, what resembles the whole of it is none either.
    """
    decision = engine.settings.decision
    if not decision.abstain:
        return lambda _: True
    if covers and all(cover.objection is not None for cover in covers):
        return lambda _: False
    return lambda one: one.relevance >= decision.support_score and on_topic(one.sentence, analysis, engine.profile)


def _documents(evidence: tuple[Evidence, ...], reader: Reader) -> tuple[Document, ...]:
    ids = dict.fromkeys(one.sentence.doc_id for one in evidence)
    return tuple(document for doc_id in ids if (document := reader.document(doc_id)) is not None)


def _outcome(
    case: Case,
    nearest: tuple[Evidence, ...],
    objections: tuple[tuple[str, Objection | None], ...],
    *,
    covers: tuple[Cover, ...],
    conflicts: tuple[Conflict, ...],
    notes: RunNotes,
    engine: Engine,
) -> Outcome:
    question = case.analysis.question
    objection = _first(objections, engine.settings)
    shown = case.selection.evidence if objection is None else nearest
    absent = tuple(one for one in shown if one.sentence.doc_id not in {document.id for document in case.documents})
    documents = {document.id: document for document in (*case.documents, *_documents(absent, case.reader))}
    citations = cite(shown, documents, engine.profile)
    if objection is None:
        unsupported = unsupported_parts(covers, {one.sentence.id for one in shown})
        quoted = {one.sentence.id for one in shown}
        named = tuple(one for one in conflicts if all(side.sentence.id in quoted for side in one.statements))
        return Answer(question, citations, unsupported, named, case.confidence, notes)
    unsupported = tuple(cover.part.text for cover in covers if cover.objection is not None)
    explained = explain(citations, case, objection=objection, profile=engine.profile)
    return Abstention(question, objection, missing(case, unsupported), unsupported, explained, case.confidence, notes)


def _first(objections: tuple[tuple[str, Objection | None], ...], settings: Settings) -> Objection | None:
    """The decision. With abstention off only an empty hand is left to object."""
    said = [objection for _, objection in objections if objection is not None]
    if not settings.decision.abstain:
        said = [objection for objection in said if objection.reason is Reason.NO_RESULTS]
    return said[0] if said else None


def _notes(
    found: Found,
    selection: Selection,
    objections: tuple[tuple[str, Objection | None], ...],
    *,
    question: Question,
    reader: Reader,
    engine: Engine,
) -> RunNotes:
    objection = _first(objections, engine.settings)
    result = Result.ANSWER if objection is None else Result.ABSTENTION
    return RunNotes(
        retriever=_RETRIEVERS["lexical" if found.probe.vector is None else engine.settings.retrieval.mode],
        k_initial=len(found.candidates.items),
        rerank_topk=engine.settings.rerank.topk,
        decision=("answered",) if objection is None else ("abstained", objection.reason),
        max_retrieval=found.fused[0].fused if found.fused else 0.0,
        support_count=len(selection.supporting),
        redundancy_before=selection.redundancy_before,
        redundancy_after=selection.redundancy_after,
        degraded=(*found.degraded, *reader.missing, *(("evidence",) if _without_evidence(engine) else ())),
        warnings=(*found.notes, *lacking(reader, question.filters, result)),
        profile=engine.profile.name,
        calibrated=engine.settings.calibration.threshold is not None,
        index=reader.info.digest,
        settings=engine.settings_digest,
    )
