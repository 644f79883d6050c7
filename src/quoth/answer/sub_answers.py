"""Sub-answers: which sentences are evidence for which sub-question, and what is left of the question without one."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from quoth.answer.confidence import confidence_of
from quoth.answer.decision import Case, decide, first_objection, is_sure
from quoth.answer.doubts import Sources, doubts_of
from quoth.answer.selection import SentenceTest, sentence_tests
from quoth.language.asked_quantities import could_state
from quoth.language.entities import mentions
from quoth.language.words import fold
from quoth.protocols import Reader
from quoth.search.engine import Engine
from quoth.search.fusion import SearchResult
from quoth.search.language_pairs import word_features
from quoth.types import Analysis, Evidence, Quantity, QuoteRole, Ranked, Selection, Sentence, SubAnswer, SubQuestion


def answer_sub_questions(
    sub_questions: Sequence[SubQuestion], results: Sequence[SearchResult], *, reader: Reader, engine: Engine
) -> tuple[SubAnswer, ...]:
    """Answer each sub-question from its own search result, or say why it has no evidence."""
    answers = []
    for number, (sub_question, result) in enumerate(zip(sub_questions, results, strict=True)):
        analysis = sub_question.analysis
        evidence = evidence_of(
            sub_question,
            result.ranked,
            rivals=[rival.ranked for other, rival in enumerate(results) if other != number],
            supports=sentence_tests(result.ranked, analysis, (), engine).supports,
        )
        ranked, model = evidence or result.ranked, engine.confidence_model(result.encoded)
        best = [Evidence(item.sentence, item.relevance, None, QuoteRole.ANSWER, ()) for item in ranked[:1]]
        quoted = tuple(best) if evidence else ()
        documents = [reader.document(item.sentence.doc_id) for item in best]
        sources = Sources(
            quoted=tuple(item.sentence for item in quoted),
            documents=tuple(document for document in documents if document is not None),
            reader=reader,
        )
        doubts = doubts_of(analysis, sources)
        more = word_features(engine.pair, analysis, ranked, reader)
        confidence = confidence_of(
            ranked, analysis=analysis, encoded=result.encoded, doubts=doubts, model=model, more=more
        )
        case = Case(
            analysis=analysis,
            ranked=result.ranked,
            selection=Selection(quoted, (), evidence, 0.0, 0.0),
            confidence=confidence.value,
            # A single sentence is enough. With the calibrated threshold, a calibration would change the very answers
            # that it is computed from.
            min_support=1,
            threshold=engine.thresholds.answer,
            sources=sources,
            doubts=doubts,
            sure=is_sure(confidence),
        )
        objection = first_objection(decide(case), abstain=engine.settings.decision.abstain)
        answers.append(SubAnswer(sub_question, evidence if objection is None else (), objection))
    return tuple(answers)


def evidence_of(
    sub_question: SubQuestion, ranked: Sequence[Ranked], *, rivals: Sequence[Sequence[Ranked]], supports: SentenceTest
) -> tuple[Ranked, ...]:
    """Return the sentences that support a sub-question, best first; `rivals` were found for the other sub-questions.

    If it asks for a number, only sentences that could state one count. If it is a clause whose own words no sentence
    mentions, the sentences that answer it better than the other sub-questions count.
    """
    question = sub_question.analysis.search_text
    near = [candidate for candidate in ranked if supports(candidate) and could_state(candidate.sentence.text, question)]
    mentioning = tuple(candidate for candidate in near if speaks_of(candidate.sentence, sub_question))
    if mentioning or not sub_question.clause:
        return mentioning
    elsewhere: dict[str, float] = {}
    for candidate in (candidate for rival in rivals for candidate in rival):
        sentence_id = candidate.sentence.id
        elsewhere[sentence_id] = max(candidate.relevance, elsewhere.get(sentence_id, 0.0))
    return tuple(candidate for candidate in near if candidate.relevance > elsewhere.get(candidate.sentence.id, 0.0))


def speaks_of(sentence: Sentence, sub_question: SubQuestion) -> bool:
    """Return whether a sentence with its surroundings mentions half of what only this sub-question names."""
    about = surroundings(sentence)
    folded = fold(about)
    tagged = {value for values in sentence.tags.values() for value in values}
    mentioned = sum(
        any(mentions(about, entity, folded=folded) for entity in group) or group[0].text in tagged
        for group in sub_question.distinguishing
    )
    return 0 < len(sub_question.distinguishing) <= 2 * mentioned


def surroundings(sentence: Sentence) -> str:
    """Return a sentence with its lead, its headings and the words of its document's id."""
    return "\n".join([sentence.search_text, *sentence.section, re.sub(r"[_/.\-]+", " ", sentence.doc_id)])


def best_for(sub_answer: SubAnswer, whole: Sequence[Ranked]) -> list[str]:
    """Return the ids of the evidence, best first, by the sum of the scores for the sub-question and the question."""
    scores = {candidate.sentence.id: candidate.order for candidate in whole}
    totals = {
        candidate.sentence.id: candidate.order + scores.get(candidate.sentence.id, 0.0)
        for candidate in sub_answer.evidence
    }
    return sorted(totals, key=lambda sentence_id: -totals[sentence_id])


def without_unsupported(analysis: Analysis, sub_answers: Sequence[SubAnswer]) -> Analysis:
    """Return the question without what only unsupported sub-questions name; the whole where none is supported."""
    supported = [answer.sub_question.analysis for answer in sub_answers if answer.objection is None]
    dropped = [answer.sub_question.analysis for answer in sub_answers if answer.objection is not None]
    if not supported or not dropped:
        return analysis
    unsupported = set().union(*map(_named, dropped)) - set().union(*map(_named, supported))
    tags = {
        facet: tuple(value for value in values if (facet, value) not in unsupported)
        for facet, values in analysis.tags.items()
    }
    return replace(
        analysis,
        entities=tuple(group for group in analysis.entities if ("name", group[0].words) not in unsupported),
        quantities=tuple(quantity for quantity in analysis.quantities if _value(quantity) not in unsupported),
        unused=tuple(word for word in analysis.unused if ("word", word) not in unsupported),
        tags={facet: values for facet, values in tags.items() if values},
    )


def _named(analysis: Analysis) -> set[tuple[object, ...]]:
    """Return the entities, quantities, tags and unused words of a question, each under a key of its own form."""
    tags = {(facet, value) for facet, values in analysis.tags.items() for value in values}
    named = {("name", group[0].words) for group in analysis.entities} | {("word", word) for word in analysis.unused}
    return named | set(map(_value, analysis.quantities)) | tags


def _value(quantity: Quantity) -> tuple[float, float, str]:
    return quantity.low, quantity.high, quantity.dimension


def unsupported_parts(sub_answers: Sequence[SubAnswer], quoted: Collection[str]) -> tuple[str, ...]:
    """Return the texts of the sub-questions for which no quoted sentence (by id) is evidence."""
    return tuple(
        answer.sub_question.text
        for answer in sub_answers
        if answer.objection is not None or not any(candidate.sentence.id in quoted for candidate in answer.evidence)
    )
