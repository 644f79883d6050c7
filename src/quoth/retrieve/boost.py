"""Boosts: the profile's preferences. They change the order of the evidence, never its scores."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from quoth.corpus.authority import authority_of, is_superseded
from quoth.profile import Profile
from quoth.retrieve.fuse import ROUND, best_first
from quoth.settings import RetrievalSettings
from quoth.types import Analysis, DocumentInfo, Ranked, Sentence


def boost(
    ranked: tuple[Ranked, ...],
    analysis: Analysis,
    *,
    documents: Mapping[str, DocumentInfo],
    profile: Profile,
    settings: RetrievalSettings,
) -> tuple[Ranked, ...]:
    """The same candidates, reordered by their tags and by the authority of their documents."""
    return best_first(
        [
            replace(
                one,
                order=boosted_score(
                    one.relevance,
                    one.sentence,
                    analysis,
                    document=documents.get(one.sentence.doc_id),
                    profile=profile,
                    settings=settings,
                ),
            )
            for one in ranked
        ]
    )


def boosted_score(
    relevance: float,
    sentence: Sentence,
    analysis: Analysis,
    *,
    document: DocumentInfo | None,
    profile: Profile,
    settings: RetrievalSettings,
) -> float:
    """The relevance of a sentence, or of the passage whose best it is, with what the profile adds or takes away."""
    matching = [facet for facet, values in analysis.tags.items() if set(values) & set(sentence.tags.get(facet, ()))]
    order = relevance
    for facet in matching:
        if settings.tag_boost_mode == "add":
            order += settings.tag_boost.get(facet, 0.0)
        elif facet in settings.tag_boost:
            order *= settings.tag_boost_factor
    return round(_with_authority(order, sentence, document, profile), ROUND)


def _with_authority(order: float, sentence: Sentence, document: DocumentInfo | None, profile: Profile) -> float:
    if profile.authority is None or document is None:
        return order
    metadata = document.metadata
    if authority_of(metadata, profile) == "binding":
        order *= profile.authority.binding_factor
    if (kind := profile.document_types.get(metadata.document_type or "")) is not None:
        order *= kind.factor
    if is_superseded(metadata, sentence.section):
        order *= profile.authority.superseded_factor
    return min(order, profile.authority.cap)
