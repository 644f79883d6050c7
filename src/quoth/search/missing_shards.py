"""Describe what a result may lack when some shards of the index were unavailable."""

from __future__ import annotations

from enum import Enum

from quoth.language.words import listed
from quoth.protocols import Reader
from quoth.types import Filters


class PartialResult(Enum):
    """The kind of a result, with what the missing shards may mean for it."""

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


def missing_shards_note(reader: Reader, filters: Filters, result: PartialResult) -> tuple[str, ...]:
    """Return a note for people about missing shards, () without any; `filters` are those that the caller gave."""
    if not reader.missing:
        return ()
    inside = _INSIDE_NOTHING if result in {PartialResult.ABSTENTION, PartialResult.NO_PASSAGES} else _INSIDE
    effect = result.value if reader.may_lack(filters) else inside
    it = "it" if len(reader.missing) == 1 else "them"
    return (f"Without {listed(reader.missing, 'and')} of the index, which could not be asked: {effect.format(it=it)}",)
