"""How a question and a sentence in its context are laid out for the cross-encoder, in training and in use."""

from __future__ import annotations

from collections.abc import Sequence

CLS, SEP = 101, 102
MOST_QUESTION, MOST_SENTENCE, MOST_CONTEXT = 40, 80, 24
"""Tokens. Of a context the last ones are kept: they stand nearest to the sentence."""


def pair_tokens(
    question: Sequence[int], sentence: Sequence[int], context: Sequence[int]
) -> tuple[list[int], list[int]]:
    """(token ids, type ids) of `[CLS] question [SEP] sentence [SEP] context [SEP]`; the sentence alone has type 1."""
    asked = [CLS, *question[:MOST_QUESTION], SEP]
    said = [*sentence[:MOST_SENTENCE], SEP]
    around = [*context[-MOST_CONTEXT:], SEP] if context else []
    return asked + said + around, [0] * len(asked) + [1] * len(said) + [0] * len(around)
