"""How a question and a sentence in its context become the tokens that the cross-encoder reads."""

from __future__ import annotations

from tokenizers import Tokenizer

CLS, SEP = 101, 102
MOST_QUESTION, MOST_SENTENCE, MOST_CONTEXT = 40, 80, 24
"""Tokens. Of a context the last ones are kept: they stand nearest to the sentence."""


def encode_pair(tokenizer: Tokenizer, question: str, sentence: str, *, context: str) -> tuple[list[int], list[int]]:
    """(token ids, type ids) of `[CLS] question [SEP] sentence [SEP] context [SEP]`; the sentence alone has type 1."""

    def ids(text: str) -> list[int]:
        found: list[int] = tokenizer.encode(text, add_special_tokens=False).ids if text else []
        return found

    asked = [CLS, *ids(question)[:MOST_QUESTION], SEP]
    said = [*ids(sentence)[:MOST_SENTENCE], SEP]
    around = [*ids(context)[-MOST_CONTEXT:], SEP] if context else []
    return asked + said + around, [0] * len(asked) + [1] * len(said) + [0] * len(around)
