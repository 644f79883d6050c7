"""Spans without the whitespace around them."""

from __future__ import annotations

from quoth.types import Span


def trim(text: str, start: int, end: int) -> Span | None:
    """Return `[start, end)` without surrounding whitespace; None when nothing is left."""
    part = text[start:end]
    visible = part.strip()
    if not visible:
        return None
    begin = start + len(part) - len(part.lstrip())
    return Span(begin, begin + len(visible))
