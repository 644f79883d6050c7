"""What stays the same from question to question, for every path that reads an index."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from quoth.profile import Profile
from quoth.protocols import Embedder, Judge, Reranker, TokenCounter
from quoth.select.evidence import Logistic
from quoth.select.relevance import Scale
from quoth.settings import Settings
from quoth.types import Probe

Stage = Callable[[str], None]
"""Told the name of each stage when it is done, by whoever wants to know how long it took."""


def silent(_: str) -> None:
    """For those who do not."""


@dataclass(frozen=True, slots=True)
class Engine:
    """Without an embedder only full text is searched; without a judge the reranker has the last word."""

    embedder: Embedder | None
    reranker: Reranker | None
    judge: Judge | None
    confidence_model: Logistic | None
    """None: the best fused score stands for the confidence."""
    scales: Mapping[str, Scale]
    """By who had the last word on the scores: what brings those of passages to the scale of `context.floor`."""
    open_counter: Callable[[], TokenCounter]
    """Only a context needs it."""
    profile: Profile
    settings: Settings
    settings_digest: str

    def scorer(self, asked: Probe) -> str:
        """Who scores the sentences found for a question: a reranker that can, or the search itself."""
        if self.reranker is not None and (asked.tokens is not None or not self.reranker.needs_tokens):
            return self.reranker.name
        return "none" if asked.vector is not None else "lexical"

    def with_settings(self, settings: Settings) -> Engine:
        """The same parts under other settings; only for settings that choose no part."""
        return replace(self, settings=settings, settings_digest=settings.digest)
