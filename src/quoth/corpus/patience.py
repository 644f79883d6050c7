"""More time for an extractor that gets on: a page that was read earns some, so that only what hangs is ended."""

from __future__ import annotations

from collections.abc import Callable

Grant = Callable[[float], None]
"""Told how many seconds more the work may take."""

_grants: list[Grant] = []


def granted_by(grant: Grant) -> None:
    """Have `grant` told of every page from now on; the worker does this once, before its first file."""
    _grants[:] = [grant]


def earn(seconds: float) -> None:
    """Say that a piece of the work is done; where nobody waits this does nothing."""
    for grant in _grants:
        grant(seconds)
