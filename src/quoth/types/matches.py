"""What a search for words or a pattern finds."""

from __future__ import annotations

from dataclasses import dataclass

from quoth.types.text import Quote, RegionKind, Span


@dataclass(frozen=True, slots=True)
class Match:
    """A place where a pattern was found. `context` is an exact slice too, short enough to show.

    In a part that is never quoted, such as a page number, `sentence` and `kind` are None, and `section` and `page` are
    those of the text before.
    """

    quote: Quote
    context: Quote
    sentence: Span | None
    """The sentence around it; from the first to the last where it reaches over several."""
    kind: RegionKind | None
    """The kind of its first sentence."""
    section: tuple[str, ...]
    page: int | None
    """The page that it begins on; None for a format without pages."""


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """A document that holds a pattern `count` times. `matches` are the first of them, in order; perhaps none."""

    doc_id: str
    sha256: str
    """SHA-256 of the canonical text, which the offsets belong to."""
    count: int
    matches: tuple[Match, ...]


@dataclass(frozen=True, slots=True)
class FindResult:
    """Every document that holds a pattern, ordered by id.

    `missing` names the shards that did not answer: what their documents hold is not known.
    """

    documents: tuple[FoundDocument, ...]
    missing: tuple[str, ...]

    @property
    def count(self) -> int:
        """How often the pattern was found in all documents together."""
        return sum(document.count for document in self.documents)
