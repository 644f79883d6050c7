"""How a question and a sentence in its context become tokens: the same when training and when answering."""

from __future__ import annotations

from typing import Any

from quoth.providers.evidence_tokens import pair_tokens


def encode_pair(tokenizer: Any, question: str, sentence: str, *, context: str) -> tuple[list[int], list[int]]:  # noqa: ANN401
    """(token ids, type ids) of `[CLS] question [SEP] sentence [SEP] context [SEP]`."""
    texts = (question, sentence, context)
    parts = [tokenizer.encode(text, add_special_tokens=False).ids if text else [] for text in texts]
    return pair_tokens(*parts)
