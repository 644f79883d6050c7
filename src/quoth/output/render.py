"""Outcomes, retrievals and documents as JSON objects; the only place that writes `abstained`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import msgspec
from msgspec import UNSET

from quoth.domain.authority import supersessions
from quoth.language.display import Vocabulary, display_parts, displayed_lead, displayed_sentence
from quoth.output.citation_label import source_labels
from quoth.output.document_json_types import DocumentJson
from quoth.output.json_types import (
    AbstentionReasonJson,
    AnswerJson,
    CitationJson,
    ConflictJson,
    JsonObject,
    PassageJson,
    PlaceJson,
    QuoteJson,
    RetrievalJson,
    RunNotesJson,
    RunScoresJson,
    SearchWeightsJson,
    SourceJson,
    StatementJson,
    SupersessionJson,
    to_json,
)
from quoth.types import (
    Abstention,
    Answer,
    AskResult,
    Citation,
    Conflict,
    ContextBlock,
    DocumentInfo,
    Filters,
    FoundPassage,
    Objection,
    Outcome,
    Passage,
    Ranked,
    Retrieval,
    RetrieveResult,
    RunNotes,
    Sentence,
    Supersession,
    Tags,
)

DECIMALS = 4


def outcome_json(outcome: Outcome) -> dict[str, Any]:
    """Return one object of a run file, its first nine fields in their fixed order."""
    abstention = outcome if isinstance(outcome, Abstention) else None
    answer = outcome if isinstance(outcome, Answer) else None
    citations = answer.citations if answer else ()
    objection = abstention.objection if abstention else None
    return to_json(
        AnswerJson(
            question_id=outcome.question.id,
            question=outcome.question.text,
            abstained=abstention is not None,
            answer_sentences=_citations(citations),
            final_answer="\n".join(citation.sentence.text for citation in citations),
            confidence=rounded(outcome.confidence),
            reason=AbstentionReasonJson(objection.reason, objection.detail) if objection else None,
            nearest=_citations(abstention.nearest) if abstention else [],
            run_notes=_run_notes(outcome.notes),
            offset_unit="codepoint",
            unsupported_parts=list(outcome.unsupported_parts),
            conflicts=[conflict_of(conflict) for conflict in answer.conflicts] if answer else [],
            missing=list(abstention.missing) if abstention else [],
            outcome=abstention.outlook.value if abstention else "answer",
            see_also=_citations(answer.see_also) if answer else [],
            understood=UNSET if outcome.understood is None else outcome.understood,
            filters=filters_json(outcome.question.filters) or UNSET,
        )
    )


def citation_json(citation: Citation) -> dict[str, Any]:
    """Return a quoted sentence with its exact place."""
    (label,) = source_labels([citation])
    return to_json(_citation(citation, label))


def _citations(citations: Sequence[Citation]) -> list[CitationJson]:
    return [_citation(cited, label) for cited, label in zip(citations, source_labels(citations), strict=True)]


def _citation(citation: Citation, label: str) -> CitationJson:
    sentence = citation.sentence
    parts = display_parts(sentence, citation.display, citation.highlights)
    with_authority = citation.authority is not None
    return CitationJson.of(
        citation,
        **_sentence_fields(sentence, citation.display, citation.lead_display),
        score=rounded(citation.score),
        label=label,
        highlights=[[span.start, span.end] for span in citation.highlights],
        display_parts=list(parts) if len(parts) > 1 else UNSET,
        document_type=citation.metadata.document_type if with_authority else UNSET,
        authority=UNSET if citation.authority is None else citation.authority,
        authority_guessed=citation.metadata.type_guessed if with_authority else UNSET,
        effective_date=citation.metadata.effective_date if with_authority else UNSET,
        superseded_by=superseded_by(supersessions(citation.metadata, sentence.section)) if with_authority else UNSET,
        byline=citation.metadata.byline or UNSET,
        doi=citation.metadata.doi or UNSET,
        cells=UNSET if citation.cells is None else citation.cells,
        why=UNSET if citation.why is None else citation.why,
        also=[PlaceJson.of(**_quoted(place), section=list(place.section), page=place.page) for place in citation.also]
        or UNSET,
    )


def _quoted(sentence: Sentence) -> dict[str, Any]:
    span = sentence.quote.span
    return {"text": sentence.quote.text, "doc_id": sentence.doc_id, "start": span.start, "end": span.end}


def _sentence_fields(sentence: Sentence, display: str, lead_display: str | None) -> dict[str, Any]:
    lead = sentence.lead
    return _quoted(sentence) | {
        "display": display,
        "region": sentence.kind.value,
        "section": list(sentence.section),
        "page": sentence.page,
        "ocr_confidence": None if sentence.ocr is None else rounded(sentence.ocr),
        "tags": main_tags(sentence.tags),
        "all_tags": {facet: list(values) for facet, values in sentence.tags.items()},
        "lead": QuoteJson(lead.text, lead.span.start, lead.span.end, lead_display or "") if lead else None,
    }


def superseded_by(successors: Sequence[Supersession]) -> list[SupersessionJson] | None:
    return [SupersessionJson.of(successor) for successor in successors] or None


def conflict_of(conflict: Conflict) -> ConflictJson:
    """Return sources in force that disagree, each with its exact words and place."""
    statements = [
        StatementJson.of(statement, statement.sentence, **_quoted(statement.sentence), says=says)
        for statement, says in zip(conflict.statements, conflict.says, strict=True)
    ]
    return ConflictJson.of(conflict, statements=statements)


def sentence_json(sentence: Sentence, vocabulary: Vocabulary) -> dict[str, Any]:
    """Return a sentence as `show --sentences` and `export` list it; `vocabulary` is that of its document."""
    shown = displayed_sentence(sentence, vocabulary), displayed_lead(sentence, vocabulary)
    fields: dict[str, Any] = msgspec.to_builtins(_sentence_fields(sentence, *shown))
    return fields


def quotes_json(sentence: Sentence) -> dict[str, Any]:
    """Return only the exact words of a sentence and of its lead with their places: what a verification compares."""
    lead = sentence.lead
    placed = {"text": lead.text, "start": lead.span.start, "end": lead.span.end} if lead else None
    return _quoted(sentence) | {"lead": placed}


def passage_json(passage: Passage, content: str) -> dict[str, Any]:
    """A passage as `show --passages` lists it."""
    return {
        "passage_id": passage.id,
        "doc_id": passage.doc_id,
        "start": passage.span.start,
        "end": passage.span.end,
        "section": list(passage.section),
        "page": passage.page,
        "tokens": passage.tokens,
        "first_sentence": passage.first,
        "last_sentence": passage.last,
        "text": content,
    }


def document_json(info: DocumentInfo) -> dict[str, Any]:
    """Return a document without its text, as `docs` and `export` list it."""
    return to_json(described_document(info))


def described_document(info: DocumentInfo) -> DocumentJson:
    return DocumentJson.of(
        info,
        info.metadata,
        doc_id=info.id,
        superseded_by=superseded_by(info.metadata.superseded_by) or [],
        authors=list(info.metadata.authors),
        language_recognised=info.reading is not None and "language" in info.reading.recognised,
        tags={facet: list(values) for facet, values in info.metadata.tags.items()},
        encoding=info.encoding or None,
        extractor=info.extractor or None,
        pages=info.pages or None,
        doc_sha256=info.sha256,
    )


def main_tags(tags: Tags) -> dict[str, str]:
    return {facet: values[0] for facet, values in tags.items()}


def trace_json(asked: AskResult) -> dict[str, Any]:
    """Every stage of a question with its scores, for `--why --json`."""
    trace = asked.trace
    analysis = trace.analysis
    chosen = {evidence.sentence.id for evidence in trace.selection.evidence}
    return {
        "search_text": analysis.search_text,
        "kind": analysis.kind.value,
        "weights": {"lexical": analysis.alpha_lexical, "dense": rounded(analysis.alpha_semantic)},
        "terms": [list(group) for group in analysis.terms],
        "tags": {facet: list(values) for facet, values in analysis.tags.items()},
        "entities": [{"text": entity.text, "kind": entity.kind.value} for entity, *_ in analysis.entities],
        "quantities": [analysis.question.text[each.span.start : each.span.end] for each in analysis.quantities],
        "parts": [
            {
                "text": part.sub_question.text,
                "search_text": part.sub_question.analysis.search_text,
                "evidence": [ranked.sentence.id for ranked in part.evidence],
                "objection": _detail(part.objection),
            }
            for part in trace.sub_answers
        ],
        "ranked": [_ranked_json(ranked, chosen=ranked.sentence.id in chosen) for ranked in trace.ranked],
        "selected": [
            {
                "id": evidence.sentence.id,
                "score": rounded(evidence.score),
                "companion_of": evidence.companion_of,
                "role": evidence.role.value,
            }
            for evidence in trace.selection.evidence
        ],
        "confidence": {
            name: {"value": rounded(trace.confidence.features.get(name, 1.0)), "log_odds": rounded(term)}
            for name, term in trace.confidence.terms.items()
        },
        "usage": None if trace.usage is None else asdict(trace.usage),
        "checks": [{"check": name, "objection": _detail(objection)} for name, objection in trace.objections],
    }


def _detail(objection: Objection | None) -> str | None:
    return objection.detail if objection else None


def _ranked_json(ranked: Ranked, *, chosen: bool) -> dict[str, Any]:
    features = ranked.support.features if ranked.support else {}
    return {
        "id": ranked.sentence.id,
        "text": ranked.sentence.text,
        "lexical": rounded(ranked.candidate.lexical),
        "dense": rounded(ranked.candidate.dense),
        "found_by": list(ranked.candidate.found_by),
        "fused": rounded(ranked.fused),
        "relevance": rounded(ranked.relevance),
        "features": {name: rounded(value) for name, value in features.items()},
        "order": rounded(ranked.order),
        "selected": chosen,
    }


def _run_notes(notes: RunNotes) -> RunNotesJson:
    figures = ("max_retrieval", "redundancy_before", "redundancy_after")
    scores = RunScoresJson.of(notes, **{name: rounded(getattr(notes, name)) for name in figures})
    return RunNotesJson.of(notes, scores=scores)


def retrieval_json(retrieval: Retrieval) -> dict[str, Any]:
    """Return one object for an agent: the passages with their scores and labels, and the context made of them."""
    lexical, dense = retrieval.weights
    return to_json(
        RetrievalJson.of(
            retrieval,
            retrieval.context,
            query=retrieval.question.text,
            best_score=rounded(retrieval.best),
            passages=[_passage(found) for found in retrieval.passages],
            filters=filters_json(retrieval.filters),
            weights=SearchWeightsJson(dense=rounded(dense), lexical=rounded(lexical)),
            conflicts=[conflict_of(conflict) for conflict in retrieval.conflicts],
            context=retrieval.context.text,
            context_tokens=retrieval.context.tokens,
            sources=[_source(number, block) for number, block in enumerate(retrieval.context.blocks, 1)],
            detected_types=list(retrieval.detected),
            offset_unit="codepoint",
        )
    )


def found_json(found: FoundPassage) -> dict[str, Any]:
    """Return a passage with its exact place and all its scores."""
    return to_json(_passage(found))


def _passage(found: FoundPassage) -> PassageJson:
    metadata, section = found.document.metadata, found.passage.section
    return PassageJson.of(
        found,
        found.passage,
        found.passage.span,
        metadata,
        chunk_id=found.passage.id,
        document_name=metadata.title or found.document.id,
        section_hierarchy=list(section),
        section_title=section[-1] if section else None,
        page_number=found.passage.page,
        is_binding=metadata.is_binding if found.authority is None else found.authority == "binding",
        authority_guessed=metadata.type_guessed,
        superseded_by=superseded_by(found.superseded_by),
        doc_sha256=found.document.sha256,
        token_count=found.passage.tokens,
        **_scores(found),
    )


def _scores(found: FoundPassage) -> dict[str, float]:
    return {
        "vector_score": rounded(found.dense),
        "fts_score": rounded(found.lexical),
        "combined_score": rounded(found.fused),
        "relevance_score": rounded(found.relevance),
        "order_score": rounded(found.order),
    }


def filters_json(filters: Filters) -> dict[str, Any]:
    """The filters that say something, by name."""
    about: dict[str, Any] = {
        "doc_id": sorted(filters.doc_ids),
        "document_type": sorted(filters.document_types),
        "is_binding": filters.is_binding,
        "as_of": filters.as_of,
        "regions": sorted(filters.regions),
        "author": sorted(filters.authors),
        "year": filters.years,
        "doi": sorted(filters.dois),
        "language": sorted(filters.languages),
        **{facet: sorted(values) for facet, values in sorted(filters.tags.items())},
    }
    return {name: value for name, value in about.items() if value not in ([], None)}


def _source(number: int, block: ContextBlock) -> SourceJson:
    return SourceJson.of(
        block,
        block.span,
        number=number,
        doc_id=block.document.id,
        doc_sha256=block.document.sha256,
        because=block.because or None,
        superseded_by=superseded_by(block.superseded_by),
        chunk_ids=list(block.passages),
        token_count=block.tokens,
    )


def retrieval_trace_json(retrieved: RetrieveResult) -> dict[str, Any]:
    """How a retrieval came about, for `--why --json`."""
    trace = retrieved.trace
    chosen = {found.passage.id for found in retrieved.retrieval.passages}
    return {
        "search_text": trace.analysis.search_text,
        "kind": trace.analysis.kind.value,
        "terms": [list(group) for group in trace.analysis.terms],
        "candidates": trace.candidates,
        "reranker": trace.reranker,
        "usage": None if trace.usage is None else asdict(trace.usage),
        "notes": list(trace.notes),
        "passages": [
            {
                "chunk_id": found.passage.id,
                **_scores(found),
                "source": found.source.value,
                "best_sentence": found.sentences[0].sentence.text,
                "chosen": found.passage.id in chosen,
            }
            for found in trace.passages
        ],
    }


def rounded(value: float) -> float:
    """Return a score as it is written. It may come from numpy, whose numbers are no JSON."""
    return float(round(value, DECIMALS))


def json_line(value: Mapping[str, Any] | JsonObject) -> str:
    """Return one line of JSONL: characters as they are, except lone surrogates, which no encoder could write."""
    content = to_json(value) if isinstance(value, JsonObject) else value
    return json.dumps(content, ensure_ascii=False).encode("utf-8", "backslashreplace").decode("utf-8")
