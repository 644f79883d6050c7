"""Apply the boosts of the profile: they change the order of the evidence, never its scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from quoth.domain.authority import authority_of, supersessions
from quoth.search.engine import Engine
from quoth.search.fusion import ROUND, best_first
from quoth.types import Analysis, DocumentInfo, Ranked, Sentence


def boost(
    ranked: Iterable[Ranked], analysis: Analysis, *, documents: Mapping[str, DocumentInfo], engine: Engine
) -> tuple[Ranked, ...]:
    """Return the same candidates, reordered by their tags and by the authority of their documents."""
    boosted = []
    for item in ranked:
        document = documents.get(item.sentence.doc_id)
        order = boosted_score(item.relevance, item.sentence, analysis, document=document, engine=engine)
        boosted.append(item if order == item.order else replace(item, order=order))
    return best_first(boosted)


def boosted_score(
    relevance: float, sentence: Sentence, analysis: Analysis, *, document: DocumentInfo | None, engine: Engine
) -> float:
    """Return the relevance of a sentence, or of the passage it is the best sentence of, after the profile's boosts."""
    order, profile, settings = relevance, engine.profile, engine.settings.retrieval
    for facet, values in analysis.tags.items():
        if set(values).isdisjoint(sentence.tags.get(facet, ())):
            continue
        if settings.tag_boost_mode == "add":
            order += settings.tag_boost.get(facet, 0.0)
        elif facet in settings.tag_boost:
            order *= settings.tag_boost_factor
    if profile.authority is not None and document is not None:
        metadata = document.metadata
        if authority_of(metadata, profile) == "binding":
            order *= profile.authority.binding_factor
        if (kind := profile.document_types.get(metadata.document_type or "")) is not None:
            order *= kind.factor
        # Who asks one document alone wants to see what it says, though another has replaced it.
        asked = analysis.question.filters.doc_ids
        replaced = supersessions(metadata, sentence.section)
        if any(not asked or later.by in asked for later in replaced):
            order *= profile.authority.superseded_factor
        order = min(order, profile.authority.cap)
    return round(order, ROUND)
