"""Outcomes as JSON objects; the only place that writes `abstained`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from quoth.corpus.authority import supersessions
from quoth.types import (
    Abstention,
    Answer,
    Asked,
    Citation,
    Conflict,
    Cover,
    DocumentInfo,
    Outcome,
    Passage,
    Quote,
    Ranked,
    RunNotes,
    Sentence,
    Tags,
)

DECIMALS = 4


def outcome_json(outcome: Outcome) -> dict[str, Any]:
    """One object of a run file, its first nine fields in their fixed order."""
    match outcome:
        case Answer(question, citations, unsupported, conflicts, confidence, notes):
            body = _body([citation_json(one) for one in citations], None, [], conflicts)
        case Abstention(question, objection, _, unsupported, nearest, confidence, notes):
            reason = {"code": objection.reason.value, "detail": objection.detail}
            body = _body([], reason, [citation_json(one) | {"why": one.why} for one in nearest], ())
    return {
        "question_id": question.id,
        "question": question.text,
        "abstained": isinstance(outcome, Abstention),
        "answer_sentences": body["answer_sentences"],
        "final_answer": "\n".join(one["text"] for one in body["answer_sentences"]),
        "confidence": _rounded(confidence),
        "reason": body["reason"],
        "nearest": body["nearest"],
        "run_notes": _notes_json(notes),
        "offset_unit": "codepoint",
        "unsupported_parts": list(unsupported),
        "conflicts": body["conflicts"],
        "missing": list(outcome.missing) if isinstance(outcome, Abstention) else [],
    }


def _body(
    sentences: list[dict[str, Any]],
    reason: dict[str, str] | None,
    nearest: list[dict[str, Any]],
    conflicts: Sequence[Conflict],
) -> dict[str, Any]:
    named = [conflict_json(one) for one in conflicts]
    return {"answer_sentences": sentences, "reason": reason, "nearest": nearest, "conflicts": named}


def conflict_json(conflict: Conflict) -> dict[str, Any]:
    """Sources in force that disagree, each with its exact words and place."""
    return {
        "kind": conflict.kind.value,
        "subject": conflict.subject,
        "detail": conflict.detail,
        "statements": [
            {
                **_quote_json(one.sentence.quote, doc_id=one.sentence.doc_id),
                "document_name": one.document_name,
                "section": list(one.sentence.section),
                "authority": one.authority,
                "says": says,
            }
            for one, says in zip(conflict.statements, conflict.says, strict=True)
        ],
    }


def citation_json(citation: Citation) -> dict[str, Any]:
    """One quoted sentence with its exact place."""
    sentence = citation.sentence
    result = {
        **_quote_json(sentence.quote, doc_id=sentence.doc_id),
        "tags": main_tags(sentence.tags),
        "all_tags": {facet: list(values) for facet, values in sentence.tags.items()},
        "score": _rounded(citation.score),
        "section": list(sentence.section),
        "page": sentence.page,
        "ocr_confidence": None if sentence.ocr is None else _rounded(sentence.ocr),
        "doc_sha256": citation.doc_sha256,
        "region": sentence.kind.value,
        "lead": _quote_json(sentence.lead) if sentence.lead else None,
        "companion_of": citation.companion_of,
    }
    if citation.authority is None:
        return result
    replaced = supersessions(citation.metadata, sentence.section)
    return result | {
        "document_type": citation.metadata.document_type,
        "authority": citation.authority,
        "effective_date": citation.metadata.effective_date,
        "superseded_by": [{"section": one.section, "by": one.by} for one in replaced] or None,
    }


def _quote_json(quote: Quote, *, doc_id: str | None = None) -> dict[str, Any]:
    where = {"doc_id": doc_id} if doc_id is not None else {}
    return {"text": quote.text, **where, "start": quote.span.start, "end": quote.span.end}


def sentence_json(sentence: Sentence) -> dict[str, Any]:
    """A sentence as `show --sentences` and `export` list it."""
    return {
        **_quote_json(sentence.quote, doc_id=sentence.doc_id),
        "region": sentence.kind.value,
        "section": list(sentence.section),
        "page": sentence.page,
        "ocr_confidence": None if sentence.ocr is None else _rounded(sentence.ocr),
        "tags": main_tags(sentence.tags),
        "all_tags": {facet: list(values) for facet, values in sentence.tags.items()},
        "lead": _quote_json(sentence.lead) if sentence.lead else None,
    }


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
    """A document without its text, as `docs` and `export` list it."""
    about = info.metadata
    return {
        "doc_id": info.id,
        "title": about.title,
        "document_type": about.document_type,
        "is_binding": about.is_binding,
        "effective_date": about.effective_date,
        "superseded_by": [{"section": one.section, "by": one.by} for one in about.superseded_by],
        "language": about.language,
        "tags": {facet: list(values) for facet, values in about.tags.items()},
        "format": info.format,
        "encoding": info.encoding or None,
        "extractor": info.extractor or None,
        "pages": info.pages or None,
        "characters": info.characters,
        "sentences": info.sentences,
        "doc_sha256": info.sha256,
        "source_sha256": info.source_sha256,
    }


def main_tags(tags: Tags) -> dict[str, str]:
    return {facet: values[0] for facet, values in tags.items()}


def trace_json(asked: Asked) -> dict[str, Any]:
    """Every stage of a question with its scores, for `--why --json`."""
    trace = asked.trace
    analysis = trace.analysis
    chosen = {one.sentence.id for one in trace.selection.evidence}
    return {
        "search_text": analysis.search_text,
        "kind": analysis.kind.value,
        "weights": {"lexical": analysis.alpha_lexical, "dense": _rounded(analysis.alpha_semantic)},
        "terms": [list(group) for group in analysis.terms],
        "tags": {facet: list(values) for facet, values in analysis.tags.items()},
        "entities": [{"text": one.text, "kind": one.kind.value} for one, *_ in analysis.entities],
        "quantities": [analysis.question.text[one.span.start : one.span.end] for one in analysis.quantities],
        "parts": [_cover_json(one) for one in trace.parts],
        "ranked": [_ranked_json(one, chosen=one.sentence.id in chosen) for one in trace.ranked],
        "selected": [
            {"id": one.sentence.id, "score": _rounded(one.score), "companion_of": one.companion_of}
            for one in trace.selection.evidence
        ],
        "usage": None if trace.usage is None else asdict(trace.usage),
        "checks": [{"check": name, "objection": said.detail if said else None} for name, said in trace.objections],
    }


def _cover_json(cover: Cover) -> dict[str, Any]:
    return {
        "text": cover.part.text,
        "search_text": cover.part.analysis.search_text,
        "evidence": [one.sentence.id for one in cover.evidence],
        "objection": cover.objection.detail if cover.objection else None,
    }


def _ranked_json(one: Ranked, *, chosen: bool) -> dict[str, Any]:
    return {
        "id": one.sentence.id,
        "text": one.sentence.text,
        "lexical": _rounded(one.candidate.lexical),
        "dense": _rounded(one.candidate.dense),
        "found_by": list(one.candidate.found_by),
        "fused": _rounded(one.fused),
        "relevance": _rounded(one.relevance),
        "order": _rounded(one.order),
        "selected": chosen,
    }


def _notes_json(notes: RunNotes) -> dict[str, Any]:
    return {
        "retriever": notes.retriever,
        "k_initial": notes.k_initial,
        "rerank_topk": notes.rerank_topk,
        "decision": list(notes.decision),
        "scores": {
            "max_retrieval": _rounded(notes.max_retrieval),
            "support_count": notes.support_count,
            "redundancy_before": _rounded(notes.redundancy_before),
            "redundancy_after": _rounded(notes.redundancy_after),
        },
        "degraded": list(notes.degraded),
        "warnings": list(notes.warnings),
        "profile": notes.profile,
        "calibrated": notes.calibrated,
        "index": notes.index,
        "settings": notes.settings,
    }


def _rounded(value: float) -> float:
    return round(value, DECIMALS)


def json_line(value: Mapping[str, Any]) -> str:
    """One line of JSONL: characters as they are, except lone surrogates, which no encoder could write."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace").decode("utf-8")
