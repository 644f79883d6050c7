"""How the words of one text become those of another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from os.path import commonprefix

MOST_WORDS = 400
"""Words are compared one by one up to so many: the time grows with their cube when they repeat."""


@dataclass(frozen=True, slots=True)
class WordEdit:
    """Words that stay, go, come or give way to others; `op` is equal, delete, insert or replace."""

    op: str
    a: str
    b: str


def word_edits(a: str, b: str) -> tuple[WordEdit, ...]:
    """Return the edits, in order, that turn the words of `a` into those of `b`; words are joined by one space.

    Where more than `MOST_WORDS` of either differ, they are one edit.
    """
    before, after = a.split(), b.split()
    start = len(commonprefix([before, after]))  # noqa: RUF071 - no paths, words
    end = min(len(commonprefix([before[::-1], after[::-1]])), len(before) - start, len(after) - start)  # noqa: RUF071
    if max(len(before), len(after)) - start - end > MOST_WORDS:
        sides = ((before[:start], after[:start]), (before[start : len(before) - end], after[start : len(after) - end]))
        runs = (*sides, (before[len(before) - end :], after[len(after) - end :]))
        return tuple(_edit(*run) for run in runs if any(run))
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    return tuple(
        WordEdit(op, " ".join(before[a_from:a_to]), " ".join(after[b_from:b_to]))
        for op, a_from, a_to, b_from, b_to in matcher.get_opcodes()
    )


def _edit(before: Sequence[str], after: Sequence[str]) -> WordEdit:
    op = "equal" if before == after else "replace" if before and after else "delete" if before else "insert"
    return WordEdit(op, " ".join(before), " ".join(after))
