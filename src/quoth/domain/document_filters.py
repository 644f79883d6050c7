"""Filters that are checked one by one, where no index of a store does it."""

from __future__ import annotations

from quoth.types import DocumentInfo, Filters, Sentence


def document_passes(info: DocumentInfo, filters: Filters) -> bool:
    """Return whether a document passes. Filters of `domain.publications` name documents by their ids by now."""
    about = info.metadata
    return (
        (not filters.doc_ids or info.id in filters.doc_ids)
        and (not filters.document_types or about.document_type in filters.document_types)
        and (filters.is_binding is None or about.is_binding == filters.is_binding)
        and (filters.as_of is None or (about.effective_date or "") <= filters.as_of)
    )


def has_tags(sentence: Sentence, filters: Filters) -> bool:
    """Return whether a sentence has a wanted value of each facet."""
    wanted = ((facet, values) for facet, values in filters.tags.items() if values)
    return all(not set(values).isdisjoint(sentence.tags.get(facet, ())) for facet, values in wanted)
