"""The read path: understand -> analyse -> search -> fuse -> rerank -> read -> boost -> select -> decide -> answer."""

from __future__ import annotations

from dataclasses import replace

from quoth.answer.calibration import calibrated, settings_in_force, threshold_in_force
from quoth.answer.confidence import confidence_of, outlook_of
from quoth.answer.conflicts.find_conflicts import conflicts_of
from quoth.answer.decision import Case, decide, is_sure
from quoth.answer.doubts import Sources, doubts_of
from quoth.answer.equal_clauses import equal_clauses
from quoth.answer.outcomes import conclude, documents_of, nearest_evidence
from quoth.answer.selection import EqualPlaces, all_on_topic, select, sentence_tests, with_both_sides
from quoth.answer.source_texts import SourceTexts
from quoth.answer.sub_answers import answer_sub_questions, best_for, without_unsupported
from quoth.answer.whole_clauses import WholeClauses
from quoth.domain.authority import is_superseded, statement_of
from quoth.domain.in_force import as_of
from quoth.protocols import Reader
from quoth.search.engine import Engine, Stage, silent
from quoth.search.follow_ups import as_understood
from quoth.search.fusion import SearchResult, merge
from quoth.search.hybrid_search import hybrid_search, read_best, rerank_with_llm
from quoth.search.language_pairs import LanguagePair, expected_pair, found_pair, spelled_alike, word_features
from quoth.search.question_analysis import analyse
from quoth.search.sub_questions import sub_questions_of
from quoth.search.unused_words import with_unused_words
from quoth.types import Analysis, AskResult, Conflict, Question, Sentence, Trace


def ask(question: Question, *, reader: Reader, engine: Engine, done: Stage = silent) -> AskResult:
    """Answer with verified quotes, or abstain with the reason. Each finished stage is reported to `done`."""
    settings = engine.settings
    reader = as_of(engine.view_regions(reader, question.filters.regions), question.filters.as_of)
    understood = as_understood(question, profile=engine.profile)
    languages = reader.info.languages
    analysis = analyse(understood, profile=engine.profile, settings=settings.retrieval, languages=languages)
    sub_questions = tuple(
        replace(sub_question, analysis=with_unused_words(sub_question.analysis, reader))
        for sub_question in sub_questions_of(analysis, profile=engine.profile, settings=settings.retrieval)
    )
    analysis = with_unused_words(analysis, reader)
    done("analyse")

    topk = settings.rerank.topk
    engine = engine.searching_for(expected_pair(analysis.language, reader.info))
    searches = [
        (searched, hybrid_search(searched, reader=reader, engine=engine, topk=topk))
        for searched in (*(sub_question.analysis for sub_question in sub_questions), analysis)
    ]
    done("search")

    engine = engine.judging(found_pair(analysis.language, searches[-1][1].ranked, reader))
    if engine.pair is LanguagePair.ACROSS:
        analysis = spelled_alike(analysis)
        sub_questions = tuple(replace(each, analysis=spelled_alike(each.analysis)) for each in sub_questions)
    *sub_results, whole = [read_best(result, searched, reader=reader, engine=engine) for searched, result in searches]
    sub_answers = answer_sub_questions(sub_questions, sub_results, reader=reader, engine=engine)
    supported = [replace(result, ranked=sub.evidence) for result, sub in zip(sub_results, sub_answers, strict=True)]
    found = rerank_with_llm(merge(whole, supported), analysis, reader=reader, engine=engine)
    done("read")

    answerable = without_unsupported(analysis, sub_answers)
    tests = sentence_tests(found.ranked, answerable, sub_answers, engine)
    sources = SourceTexts(reader, engine.profile, ())
    selection = select(
        found.ranked,
        found.candidates.vectors,
        tests=tests,
        sub_evidence=[best_for(sub_answer, whole.ranked) for sub_answer in sub_answers],
        places=_equal_places(found, analysis, sources),
        clauses=WholeClauses(
            sources,
            question.text,
            supporting={item.sentence.id for item in found.ranked if tests.supports(item)},
            near={item.sentence.id for item in found.ranked if tests.complements(item)},
        ),
        settings=replace(settings.selection, min_share=min(settings.selection.min_share, engine.thresholds.share)),
    )
    conflicts = _conflicts(found, analysis, reader=reader, engine=engine)
    selection = with_both_sides(selection, conflicts, found.ranked)
    done("select")

    in_force = settings_in_force(
        settings,
        question.filters,
        degraded=found.degraded,
        missing_shards=reader.missing,
        language=engine.judged_in(analysis.language),
    )
    evidence = selection.evidence or nearest_evidence(found.ranked)
    quoted = tuple(item.sentence for item in selection.evidence)
    evidence_sources = Sources(quoted, documents_of(evidence, reader), reader)
    doubts = doubts_of(answerable, evidence_sources)
    confidence = confidence_of(
        all_on_topic(found.ranked, answerable, engine.profile) or found.ranked,
        analysis=answerable,
        encoded=found.encoded,
        doubts=doubts,
        model=engine.confidence_model(found.encoded),
        more=word_features(engine.pair, answerable, found.ranked, reader),
    )
    case = Case(
        analysis=answerable,
        ranked=found.ranked,
        selection=selection,
        confidence=calibrated(confidence.value, in_force.calibration),
        min_support=settings.selection.min_support,
        threshold=threshold_in_force(in_force.calibration, plain=engine.thresholds.answer),
        sources=evidence_sources,
        doubts=doubts,
        sure=is_sure(confidence),
    )
    objections = decide(case)
    done("decide")

    outcome = conclude(
        case,
        objections,
        outlook=outlook_of(confidence, threshold=engine.thresholds.answer),
        question=question,
        analysis=analysis,
        found=found,
        sub_answers=sub_answers,
        conflicts=conflicts,
        engine=engine,
        in_force=in_force,
    )
    done("cite")
    trace = Trace(
        analysis=analysis,
        fused=found.fused,
        ranked=found.ranked,
        sub_answers=sub_answers,
        selection=selection,
        encoded=found.encoded,
        confidence=confidence,
        objections=objections,
        usage=found.usage,
    )
    return AskResult(outcome, trace)


def _equal_places(found: SearchResult, analysis: Analysis, sources: SourceTexts) -> EqualPlaces:
    """Return what finds the sentences that equal another among all that the search found."""
    every = {item.sentence.id: item.sentence for item in (*found.ranked, *found.fused)}.values()

    def in_force(sentence: Sentence) -> bool:
        return not is_superseded(sources.info(sentence.doc_id).metadata, sentence.section)

    return lambda sentence: equal_clauses(sentence, every, analysis=analysis, in_force=in_force)


def _conflicts(found: SearchResult, analysis: Analysis, *, reader: Reader, engine: Engine) -> tuple[Conflict, ...]:
    """Return what the sentences found disagree about. Only a profile with authority can say which are in force."""
    if engine.profile.authority is None:
        return ()
    documents = {info.id: info for info in reader.documents({ranked.sentence.doc_id for ranked in found.ranked})}
    statements = [
        statement_of(ranked.sentence, documents[ranked.sentence.doc_id], engine.profile)
        for ranked in found.ranked
        if ranked.sentence.doc_id in documents
    ]
    return conflicts_of(statements, analysis, compounds=engine.profile.compounds)
