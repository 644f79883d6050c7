"""The reader: a cross-encoder that reads a question and a sentence together and judges whether it is an answer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import numpy as np

from quoth.errors import ModelError
from quoth.models.onnx_model import open_session, readable
from quoth.types import SentenceInContext, TokenMark, Vectors

MOST_QUESTION, MOST_SENTENCE, MOST_HEADING, MOST_BEFORE = 48, 112, 16, 32
"""Tokens that are read of each. Of the sentence before, the last ones count: they stand nearest."""
_REMEMBERED = 4_096
"""Pairs. The same question under other filters meets the same sentences again."""
_INSTALL_AGAIN = "Install quoth again."


@dataclass(frozen=True, slots=True)
class PairTokens:
    """Token and type ids of `[CLS] question [SEP] sentence [SEP] context [SEP]`; only the sentence has type 1.

    The sentence begins at token `start`; `offsets` are the spans of its tokens in its text.
    """

    ids: tuple[int, ...]
    types: tuple[int, ...]
    start: int
    offsets: tuple[tuple[int, int], ...]


class PairTokenizer:
    """Turns pairs into tokens, in training and at run time."""

    def __init__(self, path: Path) -> None:
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(path))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._cls, self._sep = (cast("int", self._tokenizer.token_to_id(name)) for name in ("[CLS]", "[SEP]"))

    def encode(self, question: str, sentence: SentenceInContext) -> PairTokens:
        asked = [self._cls, *self._ids(question)[:MOST_QUESTION], self._sep]
        encoded = self._tokenizer.encode(readable(sentence.text), add_special_tokens=False)
        text = encoded.ids[:MOST_SENTENCE]
        context = self._ids(sentence.heading)[:MOST_HEADING] + self._ids(sentence.before)[-MOST_BEFORE:]
        context += [self._sep] if context else []
        return PairTokens(
            ids=(*asked, *text, self._sep, *context),
            types=(*[0] * len(asked), *[1] * (len(text) + 1), *[0] * len(context)),
            start=len(asked),
            offsets=tuple(encoded.offsets[:MOST_SENTENCE]),
        )

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(readable(text), add_special_tokens=False).ids if text else []
        return ids


TokenPair = tuple[tuple[int, ...], tuple[int, ...]]
"""The ids and the types of the tokens of a question and a sentence."""


Read = TypeVar("Read")


class PairRunner(Generic[Read]):
    """Runs several pairs side by side, each alone on one core, and remembers what came out."""

    def __init__(self, run: Callable[[TokenPair], Read], *, threads: int) -> None:
        self._run = lru_cache(maxsize=_REMEMBERED)(run)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="reader")

    def each(self, pairs: Sequence[TokenPair]) -> list[Read]:
        """Return what `run` gives for each pair, in the same order."""
        # The longest first: then no core is left with one at the end.
        order = sorted(range(len(pairs)), key=lambda at: -len(pairs[at][0]))
        read = dict(zip(order, self._pool.map(self._run, (pairs[at] for at in order)), strict=True))
        return [read[at] for at in range(len(pairs))]


class CrossEncoder:
    """Implements `PairReader` with an ONNX graph of 8-bit weights. Any number of threads may call `read` at once.

    Each pair runs alone: activations are rounded with one scale for all that runs at once, so in a batch the score of a
    pair would depend on its neighbours. Several pairs run side by side, each on one core.
    """

    def __init__(self, folder: Path, *, threads: int) -> None:
        """Raise `ModelError` when `folder` lacks the graph or the graph is damaged."""
        self.revision = _checked_revision(folder)
        self._session = open_session(folder / "reader.onnx", threads=1, providers=["CPUExecutionProvider"])
        self._tokenizer = PairTokenizer(folder / "tokenizer.json")
        self._runner = PairRunner(self._run, threads=threads)

    def read(self, question: str, sentences: Sequence[SentenceInContext]) -> list[float]:
        """Return for each sentence the log odds that it answers, before they are weighed with other evidence."""
        pairs = [self._tokenizer.encode(question, sentence) for sentence in sentences]
        return [score for score, _ in self._runner.each([(pair.ids, pair.types) for pair in pairs])]

    def mark(self, question: str, sentences: Sequence[SentenceInContext]) -> list[tuple[TokenMark, ...]]:
        """Return for each sentence its tokens, as far as they are read; free for what `read` has read before."""
        pairs = [self._tokenizer.encode(question, sentence) for sentence in sentences]
        read = self._runner.each([(pair.ids, pair.types) for pair in pairs])
        return [
            tuple(
                TokenMark(*offsets, float(mark))
                for offsets, mark in zip(pair.offsets, marks[pair.start :], strict=False)
            )
            for pair, (_, marks) in zip(pairs, read, strict=True)
        ]

    def _run(self, pair: TokenPair) -> tuple[float, Vectors]:
        """Return the score of the pair, and the log odds of each token to be a part of the answer."""
        ids, types = pair
        inputs = {"input_ids": np.array([ids], np.int32), "token_type_ids": np.array([types], np.int32)}
        scores, marks = cast("tuple[Any, Any]", self._session.run(["scores", "marks"], inputs))
        return round(float(scores[0]), 4), np.round(marks[0], 4)


def _checked_revision(folder: Path) -> str:
    """Return the first digits of the graph's sha256, which must be the one in reader.json."""
    try:
        expected = json.loads((folder / "reader.json").read_bytes())["sha256"]
        with (folder / "reader.onnx").open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ModelError(f"the reader in {folder} cannot be read: {error!r}", hint=_INSTALL_AGAIN) from error
    if digest != expected:
        raise ModelError(f"{folder / 'reader.onnx'} is damaged: its sha256 is {digest}", hint=_INSTALL_AGAIN)
    return digest[:12]
