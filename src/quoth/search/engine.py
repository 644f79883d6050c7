"""The engine: what stays the same from question to question, for every path that reads an index."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from quoth.domain.profile import Profile
from quoth.protocols import Embedder, LlmReranker, Reranker, TokenCounter
from quoth.search.logistic import Logistic, Scale
from quoth.settings import Settings
from quoth.types import EncodedQuestion

Stage = Callable[[str], None]
"""Called with the name of each stage when it is done, to measure how long it took."""


def silent(_: str) -> None:
    """Ignore the stages."""


@dataclass(frozen=True, slots=True)
class Engine:
    """The models, the profile and the settings that answer questions; without an embedder, by full text alone."""

    embedder: Embedder | None
    reranker: Reranker | None
    llm_reranker: LlmReranker | None
    confidence_model: Logistic | None
    """None: the best fused score is the confidence."""
    scales: Mapping[str, Scale]
    """By the name of the scorer: maps the scores of passages to the scale of `context.floor`."""
    open_counter: Callable[[], TokenCounter]
    """Only a context needs it."""
    profile: Profile
    settings: Settings
    settings_digest: str

    def scorer(self, encoded: EncodedQuestion) -> str:
        """Return the name of the scorer: the reranker if it can score this question, else the search itself."""
        if self.reranker is not None and (encoded.tokens is not None or not self.reranker.needs_tokens):
            return self.reranker.name
        return "none" if encoded.vector is not None else "lexical"

    def search_mode(self, encoded: EncodedQuestion) -> str:
        """Return the retrieval mode in force: a question without a vector is searched by full text alone."""
        return "lexical" if encoded.vector is None else self.settings.retrieval.mode

    def with_settings(self, settings: Settings) -> Engine:
        """Return the same engine under other settings; only for settings that choose no model."""
        return replace(self, settings=settings, settings_digest=settings.digest)
