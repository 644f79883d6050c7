"""Engines for tests, without the wiring: what is not named is not there."""

from __future__ import annotations

from quoth.domain.profile import Profile
from quoth.protocols import Embedder, LlmReranker, Reranker, TokenCounter
from quoth.search.engine import Engine
from quoth.search.logistic import Scale
from quoth.settings import Settings
from quoth.stores.aside_search import AsideSearch

SCALE = Scale(slope=8.0, intercept=-3.2)


def engine_of(
    profile: Profile,
    settings: Settings,
    *,
    embedder: Embedder | None,
    reranker: Reranker | None = None,
    judge: LlmReranker | None = None,
    counter: TokenCounter | None = None,
) -> Engine:
    return Engine(
        embedder=embedder,
        reranker=reranker,
        sentence_reader=None,
        llm_reranker=judge,
        evidence=None,
        evidence_without_tokens=None,
        scales=dict.fromkeys(("late", "cosine", "none", "lexical"), SCALE),
        open_counter=lambda: counter or _estimate(),
        view_regions=AsideSearch(embedder).view,
        profile=profile,
        settings=settings,
        settings_digest=settings.digest,
    )


def _estimate() -> TokenCounter:
    from quoth.models.tokenizer import EstimateCounter

    return EstimateCounter()
