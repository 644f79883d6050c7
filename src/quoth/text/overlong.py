"""Cutting what has no sentence end for thousands of characters, at the least harmful place."""

from __future__ import annotations

import re

from quoth.text.runs import Runs

SOFT_LIMIT = 2_000
"""Code points after which a sentence may be cut at a line break or between enumerated clauses."""
HARD_LIMIT = 4_000
"""Code points after which it is cut between two words, wherever that is safe."""

_CLAUSE = re.compile(r"[;:,](?:\s+(?:and|or|and/or))?(?P<gap>\s+)(?=\(?(?:[a-z]{1,4}|[A-Z]|\d{1,2})\)\s)")
_LINE = re.compile(r"(?<=[^\W\d]|[,;:])(?P<gap>[^\S\r\n]*+[\r\n]\s*+)(?=[^\W\d])")
_WORD_GAP = re.compile(r"(?<=[^\W\d_]{2}|[a-z][,;])(?P<gap>\s+)(?=[^\W\d_]{4})")
"""Between two words: no digit, unit, period or symbol on either side."""


def pieces(text: str, start: int, end: int) -> list[int]:
    """Return, in order, the offsets inside `[start, end)` at which an overlong sentence is cut."""
    found: list[int] = []
    runs = Runs(text, start, end)
    while end - start > SOFT_LIMIT:
        at = (
            _last_gap(_CLAUSE, text, start, min(end, start + SOFT_LIMIT), runs)
            or _last_gap(_LINE, text, start, min(end, start + SOFT_LIMIT), runs)
            or (_last_gap(_WORD_GAP, text, start, start + HARD_LIMIT, None) if end - start > HARD_LIMIT else None)
        )
        if at is None:
            # Nothing to cut here: look behind the limit, or give up on a run without any gap.
            later = _WORD_GAP.search(text, start + SOFT_LIMIT, end) if end - start > HARD_LIMIT else None
            if later is None:
                break
            at = later.start("gap")
        found.append(at)
        start = at
    return found


def _last_gap(pattern: re.Pattern[str], text: str, start: int, end: int, runs: Runs | None) -> int | None:
    # The first quarter is passed over: a tiny head with a huge tail helps nobody.
    gaps = [match.start("gap") for match in pattern.finditer(text, start + (end - start) // 4, end)]
    return next((at for at in reversed(gaps) if runs is None or not runs.around(at)), None)
