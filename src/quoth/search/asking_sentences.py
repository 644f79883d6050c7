"""Sentences of a document that ask a question, as in a list of frequent questions. They state nothing.

Such a sentence resembles the question of a user more than its own answer does, so the sentence behind it takes its
place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from quoth.domain.document_filters import has_tags
from quoth.protocols import Reader
from quoth.types import Filters, Ranked, Sentence

_ASKS = re.compile(r"[?？؟][\"'”’»」)\]]*\s*\Z")


def asks(sentence: Sentence) -> bool:
    """Return whether a sentence ends in a question mark."""
    return _ASKS.search(sentence.text) is not None


def with_answers(ranked: Sequence[Ranked], reader: Reader, filters: Filters) -> tuple[Ranked, ...]:
    """Put the sentence behind it in the place of each sentence that asks, with its scores: both were found as one.

    What is found twice keeps its better place. A question that is not followed by a statement within `filters` is left
    out.
    """
    asking = [item.sentence for item in ranked if asks(item.sentence)]
    if not asking:
        return tuple(ranked)
    behind = {sentence.id: after for sentence, (_, after) in zip(asking, reader.neighbours(asking), strict=True)}
    kept: dict[str, Ranked] = {}
    for item in _stating(ranked, behind, filters):
        kept.setdefault(item.sentence.id, item)
    return tuple(kept.values())


def _stating(ranked: Sequence[Ranked], behind: Mapping[str, Sentence | None], filters: Filters) -> Iterator[Ranked]:
    for item in ranked:
        if item.sentence.id not in behind:
            yield item
            continue
        after = behind[item.sentence.id]
        if after is None or asks(after) or not after.kind.evidence or not has_tags(after, filters):
            continue
        if after.section == item.sentence.section:
            yield replace(item, candidate=replace(item.candidate, sentence=after))
