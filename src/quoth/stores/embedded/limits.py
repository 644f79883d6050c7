"""The filters of a question as rows and ids, which both ways of searching understand."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Where to look: document rows, and for each facet tag ids; None and empty mean anywhere."""

    documents: Collection[int] | None
    tags: Sequence[Collection[int]]

    @property
    def anywhere(self) -> bool:
        return self.documents is None and not self.tags
