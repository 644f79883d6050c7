"""Sentences of a document that ask a question, as in a list of frequent questions. They state nothing.

Such a sentence resembles the question of a user more than its own answer does, so the sentence behind it takes its
place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from quoth.protocols import Reader
from quoth.types import Ranked, Sentence

_ASKS = re.compile(r"[?？؟][\"'”’»」)\]]*\s*\Z")


def asks(sentence: Sentence) -> bool:
    """Return whether a sentence ends in a question mark."""
    return _ASKS.search(sentence.text) is not None


def with_answers(ranked: Sequence[Ranked], reader: Reader) -> tuple[Ranked, ...]:
    """Put the sentence behind it in the place of each sentence that asks, with its scores: both were found as one.

    What is found twice keeps its better place. A question that is not followed by a statement is left out.
    """
    asking = [item.sentence for item in ranked if asks(item.sentence)]
    if not asking:
        return tuple(ranked)
    behind = {sentence.id: after for sentence, (_, after) in zip(asking, reader.neighbours(asking), strict=True)}
    kept: dict[str, Ranked] = {}
    for item in _stating(ranked, behind):
        kept.setdefault(item.sentence.id, item)
    return tuple(kept.values())


def _stating(ranked: Sequence[Ranked], behind: dict[str, Sentence | None]) -> Iterator[Ranked]:
    for item in ranked:
        if item.sentence.id not in behind:
            yield item
            continue
        after = behind[item.sentence.id]
        if after is not None and after.kind.evidence and after.section == item.sentence.section and not asks(after):
            yield replace(item, candidate=replace(item.candidate, sentence=after))
