"""The tokens of a pair as the reader sees them, with a mark on each token of the answering words."""

from __future__ import annotations

from dataclasses import dataclass

from quoth.models.cross_encoder import PairTokenizer
from quoth.types import SentenceInContext


@dataclass(frozen=True, slots=True)
class Pair:
    """Token ids, types and marks: 1 in the answering words, 0 in the rest of the sentence, -1 elsewhere or unknown."""

    ids: tuple[int, ...]
    types: tuple[int, ...]
    marks: tuple[int, ...]


def encode_pair(
    tokenizer: PairTokenizer, question: str, sentence: SentenceInContext, answer: tuple[int, int] | None
) -> Pair:
    """Return the tokens of a pair; `answer` is the span of the answering words in the sentence, in code points."""
    tokens = tokenizer.encode(question, sentence)
    marks = [-1] * len(tokens.offsets)
    if answer is not None:
        start, end = answer
        marks = [int(low < end and start < high) for low, high in tokens.offsets]
    after = len(tokens.ids) - tokens.start - len(marks)
    return Pair(tokens.ids, tokens.types, (*[-1] * tokens.start, *marks, *[-1] * after))
