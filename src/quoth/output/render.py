"""Outcomes as JSON objects; the only place that writes `abstained`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import msgspec
from msgspec import UNSET

from quoth.domain.authority import supersessions
from quoth.output.json_types import (
    AbstentionReasonJson,
    AnswerJson,
    CitationJson,
    ConflictJson,
    DocumentJson,
    JsonObject,
    QuoteJson,
    RunNotesJson,
    RunScoresJson,
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
    DocumentInfo,
    Objection,
    Outcome,
    Passage,
    Ranked,
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
            answer_sentences=[_citation(citation) for citation in citations],
            final_answer="\n".join(citation.sentence.text for citation in citations),
            confidence=rounded(outcome.confidence),
            reason=AbstentionReasonJson(objection.reason, objection.detail) if objection else None,
            nearest=[_citation(citation) for citation in abstention.nearest] if abstention else [],
            run_notes=_run_notes(outcome.notes),
            offset_unit="codepoint",
            unsupported_parts=list(outcome.unsupported_parts),
            conflicts=[conflict_of(conflict) for conflict in answer.conflicts] if answer else [],
            missing=list(abstention.missing) if abstention else [],
        )
    )


def citation_json(citation: Citation) -> dict[str, Any]:
    """Return a quoted sentence with its exact place."""
    return to_json(_citation(citation))


def _citation(citation: Citation) -> CitationJson:
    sentence = citation.sentence
    with_authority = citation.authority is not None
    return CitationJson(
        **_sentence_fields(sentence),
        score=rounded(citation.score),
        doc_sha256=citation.doc_sha256,
        companion_of=citation.companion_of,
        document_type=citation.metadata.document_type if with_authority else UNSET,
        authority=UNSET if citation.authority is None else citation.authority,
        effective_date=citation.metadata.effective_date if with_authority else UNSET,
        superseded_by=superseded_by(supersessions(citation.metadata, sentence.section)) if with_authority else UNSET,
        why=UNSET if citation.why is None else citation.why,
    )


def _quoted(sentence: Sentence) -> dict[str, Any]:
    span = sentence.quote.span
    return {"text": sentence.quote.text, "doc_id": sentence.doc_id, "start": span.start, "end": span.end}


def _sentence_fields(sentence: Sentence) -> dict[str, Any]:
    lead = sentence.lead
    return _quoted(sentence) | {
        "region": sentence.kind.value,
        "section": list(sentence.section),
        "page": sentence.page,
        "ocr_confidence": None if sentence.ocr is None else rounded(sentence.ocr),
        "tags": main_tags(sentence.tags),
        "all_tags": {facet: list(values) for facet, values in sentence.tags.items()},
        "lead": QuoteJson(lead.text, lead.span.start, lead.span.end) if lead else None,
    }


def superseded_by(successors: Sequence[Supersession]) -> list[SupersessionJson] | None:
    return [SupersessionJson(section=successor.section, by=successor.by) for successor in successors] or None


def conflict_of(conflict: Conflict) -> ConflictJson:
    """Return sources in force that disagree, each with its exact words and place."""
    return ConflictJson(
        kind=conflict.kind,
        subject=conflict.subject,
        detail=conflict.detail,
        statements=[
            StatementJson(
                **_quoted(statement.sentence),
                document_name=statement.document_name,
                section=list(statement.sentence.section),
                authority=statement.authority,
                says=says,
            )
            for statement, says in zip(conflict.statements, conflict.says, strict=True)
        ],
    )


def sentence_json(sentence: Sentence) -> dict[str, Any]:
    """Return a sentence as `show --sentences` and `export` list it."""
    fields: dict[str, Any] = msgspec.to_builtins(_sentence_fields(sentence))
    return fields


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
    about = info.metadata
    return DocumentJson(
        doc_id=info.id,
        title=about.title,
        document_type=about.document_type,
        is_binding=about.is_binding,
        effective_date=about.effective_date,
        superseded_by=superseded_by(about.superseded_by) or [],
        language=about.language,
        tags={facet: list(values) for facet, values in about.tags.items()},
        format=info.format,
        encoding=info.encoding or None,
        extractor=info.extractor or None,
        pages=info.pages or None,
        characters=info.characters,
        sentences=info.sentences,
        doc_sha256=info.sha256,
        source_sha256=info.source_sha256,
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
            {"id": evidence.sentence.id, "score": rounded(evidence.score), "companion_of": evidence.companion_of}
            for evidence in trace.selection.evidence
        ],
        "usage": None if trace.usage is None else asdict(trace.usage),
        "checks": [{"check": name, "objection": _detail(objection)} for name, objection in trace.objections],
    }


def _detail(objection: Objection | None) -> str | None:
    return objection.detail if objection else None


def _ranked_json(ranked: Ranked, *, chosen: bool) -> dict[str, Any]:
    return {
        "id": ranked.sentence.id,
        "text": ranked.sentence.text,
        "lexical": rounded(ranked.candidate.lexical),
        "dense": rounded(ranked.candidate.dense),
        "found_by": list(ranked.candidate.found_by),
        "fused": rounded(ranked.fused),
        "relevance": rounded(ranked.relevance),
        "order": rounded(ranked.order),
        "selected": chosen,
    }


def _run_notes(notes: RunNotes) -> RunNotesJson:
    """Copy the fields of the same names; the figures stand in an object of their own."""
    values = asdict(notes)
    values |= {name: list(values[name]) for name in ("decision", "degraded", "warnings")}
    figures = {name: rounded(values.pop(name)) for name in ("max_retrieval", "redundancy_before", "redundancy_after")}
    scores = RunScoresJson(support_count=values.pop("support_count"), **figures)
    return RunNotesJson(**values, scores=scores)


def rounded(value: float) -> float:
    """Return a score as it is written. It may come from numpy, whose numbers are no JSON."""
    return float(round(value, DECIMALS))


def json_line(value: Mapping[str, Any] | JsonObject) -> str:
    """Return one line of JSONL: characters as they are, except lone surrogates, which no encoder could write."""
    content = to_json(value) if isinstance(value, JsonObject) else value
    return json.dumps(content, ensure_ascii=False).encode("utf-8", "backslashreplace").decode("utf-8")
