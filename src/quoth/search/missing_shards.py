"""What to say about a result where a part of the index could not be asked."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from quoth.protocols import Reader
from quoth.types import Filters


class Result(Enum):
    """What was made of the parts that could be asked, and what a missing one may mean for it."""

    ANSWER = "a better sentence, or one that says otherwise, may be in {it}, and the confidence may differ."
    ABSTENTION = "the answer may be in {it}, so that nothing was found is no sign that there is none."
    PASSAGES = "better passages, or some that say otherwise, may be in {it}, and the scores may differ."
    NO_PASSAGES = "what is looked for may be in {it}, so that nothing was found is no sign that there is none."


_INSIDE = (
    "every document that was asked for is there, but how rare each word is was counted without {it}: scores and "
    "confidence may differ, and with them what is close to a limit."
)


_INSIDE_NOTHING = (
    "every document that was asked for is there, but words that only {it} may hold count as unknown here, and how rare "
    "each word is was counted without {it}: with {it}, there may be an answer."
)


def lacking(reader: Reader, filters: Filters, result: Result) -> tuple[str, ...]:
    """A sentence for people about the parts that are missing; none where nothing is. `filters` are the asker's own."""
    if not reader.missing:
        return ()
    inside = _INSIDE_NOTHING if result in {Result.ABSTENTION, Result.NO_PASSAGES} else _INSIDE
    said = result.value if reader.may_lack(filters) else inside
    it = "it" if len(reader.missing) == 1 else "them"
    return (f"Without {_listed(reader.missing)} of the index, which could not be asked: {said.format(it=it)}",)


def _listed(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
