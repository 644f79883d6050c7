"""How a question and a sentence in its context become the tokens that the cross-encoder learns from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from tokenizers import Tokenizer

CLS, SEP = 101, 102
MOST_QUESTION, MOST_SENTENCE, MOST_HEADING, MOST_BEFORE = 48, 112, 16, 32
"""Tokens. Of the sentence before, the last ones are kept: they stand nearest."""

_LEANS_ON_THE_LAST = re.compile(
    r"\W*(?:(?:and|but|or|so|yet|however|therefore|thus|moreover|furthermore|also|otherwise|then|here|instead"
    r"|in addition|as a result|for example|for instance|in this case)\b[\s,]*)?"
    r"(?:it|its|he|she|his|her|they|them|their|this|these|that|those|such|both|each|one|some|others"
    r"|the (?:former|latter|same))\b",
    re.IGNORECASE,
)
"""The beginning of a sentence that can only be understood after the one before it."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Token and type ids of `[CLS] question [SEP] sentence [SEP] context [SEP]`; only the sentence has type 1.

    `marks` has a number for each token: 1 in the answering words, 0 in the rest of the sentence, -1 elsewhere and where
    the answering words are unknown.
    """

    ids: list[int]
    types: list[int]
    marks: list[int]


def context_of(section: Sequence[str], before: str, sentence: str) -> tuple[str, str]:
    """Return the two innermost headings of a sentence, and the sentence before it if it leans on that one."""
    return " > ".join(section[-2:]), before if _LEANS_ON_THE_LAST.match(sentence) else ""


def encode_pair(
    tokenizer: Tokenizer,
    question: str,
    sentence: str,
    *,
    heading: str = "",
    before: str = "",
    answer: tuple[int, int] | None = None,
) -> Pair:
    """Return the tokens of a pair; `answer` is the span of the answering words in `sentence`, in code points."""
    asked = [CLS, *_ids(tokenizer, question)[:MOST_QUESTION], SEP]
    encoded = tokenizer.encode(sentence, add_special_tokens=False)
    text = encoded.ids[:MOST_SENTENCE]
    context = _ids(tokenizer, heading)[:MOST_HEADING] + _ids(tokenizer, before)[-MOST_BEFORE:]
    context += [SEP] if context else []
    marks = [-1] * len(text)
    if answer is not None:
        start, end = answer
        marks = [int(low < end and start < high) for low, high in encoded.offsets[:MOST_SENTENCE]]
    return Pair(
        ids=[*asked, *text, SEP, *context],
        types=[0] * len(asked) + [1] * (len(text) + 1) + [0] * len(context),
        marks=[-1] * len(asked) + marks + [-1] * (1 + len(context)),
    )


def _ids(tokenizer: Tokenizer, text: str) -> list[int]:
    found: list[int] = tokenizer.encode(text, add_special_tokens=False).ids if text else []
    return found
