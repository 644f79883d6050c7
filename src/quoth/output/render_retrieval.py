"""Retrievals as JSON objects."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from quoth.output.json_types import PassageJson, RetrievalJson, SearchWeightsJson, SourceJson, to_json
from quoth.output.render import conflict_of, rounded, superseded_by
from quoth.types import ContextBlock, Filters, FoundPassage, Retrieval, RetrieveResult


def retrieval_json(retrieval: Retrieval) -> dict[str, Any]:
    """Return one object for an agent: the passages with their scores and labels, and the context made of them."""
    lexical, dense = retrieval.weights
    return to_json(
        RetrievalJson(
            query=retrieval.question.text,
            status=retrieval.status,
            best_score=rounded(retrieval.best),
            message=retrieval.message,
            warning=retrieval.warning,
            passages=[_passage(found) for found in retrieval.passages],
            filters=filters_json(retrieval.filters),
            weights=SearchWeightsJson(dense=rounded(dense), lexical=rounded(lexical)),
            degraded=list(retrieval.degraded),
            conflicts=[conflict_of(conflict) for conflict in retrieval.conflicts],
            context=retrieval.context.text,
            context_tokens=retrieval.context.tokens,
            sources=[_source(number, block) for number, block in enumerate(retrieval.context.blocks, 1)],
            skipped=list(retrieval.context.skipped),
            kind=retrieval.kind,
            detected_types=list(retrieval.detected),
            index=retrieval.index,
            settings=retrieval.settings,
            offset_unit="codepoint",
        )
    )


def found_json(found: FoundPassage) -> dict[str, Any]:
    """Return a passage with its exact place and all its scores."""
    return to_json(_passage(found))


def _passage(found: FoundPassage) -> PassageJson:
    metadata, section = found.document.metadata, found.passage.section
    return PassageJson(
        chunk_id=found.passage.id,
        content=found.content,
        doc_id=found.passage.doc_id,
        start=found.passage.span.start,
        end=found.passage.span.end,
        document_name=metadata.title or found.document.id,
        document_type=metadata.document_type,
        section_hierarchy=list(section),
        section_title=section[-1] if section else None,
        page_number=found.passage.page,
        is_binding=metadata.is_binding if found.authority is None else found.authority == "binding",
        authority=found.authority,
        effective_date=metadata.effective_date,
        superseded_by=superseded_by(found.superseded_by),
        successor_of=found.successor_of,
        doc_sha256=found.document.sha256,
        token_count=found.passage.tokens,
        source=found.source,
        reasoning=found.reasoning,
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
        **{facet: sorted(values) for facet, values in sorted(filters.tags.items())},
    }
    return {name: value for name, value in about.items() if value not in ([], None)}


def _source(number: int, block: ContextBlock) -> SourceJson:
    return SourceJson(
        number=number,
        doc_id=block.document.id,
        start=block.span.start,
        end=block.span.end,
        doc_sha256=block.document.sha256,
        reason=block.reason,
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
