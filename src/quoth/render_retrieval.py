"""Retrievals as JSON objects."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from quoth.render import DECIMALS, conflict_json
from quoth.types import ContextBlock, Filters, FoundPassage, Retrieval, Retrieved, Supersession


def retrieval_json(retrieval: Retrieval) -> dict[str, Any]:
    """One object for an agent: the passages with their scores and labels, and the context made of them."""
    lexical, dense = retrieval.weights
    return {
        "query": retrieval.question.text,
        "status": retrieval.status.value,
        "best_score": _rounded(retrieval.best),
        "message": retrieval.message,
        "warning": retrieval.warning,
        "passages": [found_json(one) for one in retrieval.passages],
        "filters": filters_json(retrieval.filters),
        "weights": {"dense": _rounded(dense), "lexical": _rounded(lexical)},
        "degraded": list(retrieval.degraded),
        "conflicts": [conflict_json(one) for one in retrieval.conflicts],
        "context": retrieval.context.text,
        "context_tokens": retrieval.context.tokens,
        "sources": [_source_json(number, one) for number, one in enumerate(retrieval.context.blocks, 1)],
        "skipped": list(retrieval.context.skipped),
        "kind": retrieval.kind.value,
        "detected_types": list(retrieval.detected),
        "index": retrieval.index,
        "settings": retrieval.settings,
        "offset_unit": "codepoint",
    }


def found_json(one: FoundPassage) -> dict[str, Any]:
    """A passage with its exact place and all its scores."""
    metadata, section = one.document.metadata, one.passage.section
    return {
        "chunk_id": one.passage.id,
        "content": one.content,
        "doc_id": one.passage.doc_id,
        "start": one.passage.span.start,
        "end": one.passage.span.end,
        "document_name": metadata.title or one.document.id,
        "document_type": metadata.document_type,
        "section_hierarchy": list(section),
        "section_title": section[-1] if section else None,
        "page_number": one.passage.page,
        "is_binding": metadata.is_binding if one.authority is None else one.authority == "binding",
        "authority": one.authority,
        "effective_date": metadata.effective_date,
        "superseded_by": _superseded(one.superseded_by),
        "successor_of": one.successor_of,
        "doc_sha256": one.document.sha256,
        "token_count": one.passage.tokens,
        "vector_score": _rounded(one.dense),
        "fts_score": _rounded(one.lexical),
        "combined_score": _rounded(one.fused),
        "relevance_score": _rounded(one.relevance),
        "order_score": _rounded(one.order),
        "source": one.source.value,
        "reasoning": one.reasoning,
    }


def filters_json(filters: Filters) -> dict[str, Any]:
    """The filters that say something, by name."""
    about: dict[str, Any] = {
        "doc_id": sorted(filters.doc_ids),
        "document_type": sorted(filters.document_types),
        "is_binding": filters.is_binding,
        "as_of": filters.as_of,
        **{facet: sorted(values) for facet, values in sorted(filters.tags.items())},
    }
    return {name: value for name, value in about.items() if value not in ([], None)}


def _source_json(number: int, block: ContextBlock) -> dict[str, Any]:
    return {
        "number": number,
        "doc_id": block.document.id,
        "start": block.span.start,
        "end": block.span.end,
        "doc_sha256": block.document.sha256,
        "reason": block.reason.value,
        "because": block.because or None,
        "superseded_by": _superseded(block.superseded_by),
        "chunk_ids": list(block.passages),
        "token_count": block.tokens,
    }


def _superseded(replaced: tuple[Supersession, ...]) -> list[dict[str, str | None]] | None:
    return [{"section": one.section, "by": one.by} for one in replaced] or None


def retrieval_trace_json(retrieved: Retrieved) -> dict[str, Any]:
    """How a retrieval came about, for `--why --json`."""
    trace = retrieved.trace
    chosen = {one.passage.id for one in retrieved.retrieval.passages}
    return {
        "search_text": trace.analysis.search_text,
        "kind": trace.analysis.kind.value,
        "terms": [list(group) for group in trace.analysis.terms],
        "candidates": trace.candidates,
        "reranker": trace.reranker,
        "usage": None if trace.usage is None else asdict(trace.usage),
        "notes": list(trace.notes),
        "passages": [_judged_json(one, chosen=one.passage.id in chosen) for one in trace.passages],
    }


def _judged_json(one: FoundPassage, *, chosen: bool) -> dict[str, Any]:
    return {
        "chunk_id": one.passage.id,
        "vector_score": _rounded(one.dense),
        "fts_score": _rounded(one.lexical),
        "combined_score": _rounded(one.fused),
        "relevance_score": _rounded(one.relevance),
        "order_score": _rounded(one.order),
        "source": one.source.value,
        "best_sentence": one.sentences[0].sentence.text,
        "chosen": chosen,
    }


def _rounded(value: float) -> float:
    return round(value, DECIMALS)
