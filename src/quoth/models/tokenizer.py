"""Counting tokens as a model does: with its `tokenizer.json`, or by an estimate on the safe side."""

from __future__ import annotations

import math
from pathlib import Path

from quoth.errors import SettingsError
from quoth.protocols import TokenCounter
from quoth.text.tokens import count_tokens

_HINT = "Set context.tokenizer to a tokenizer.json of the model that will read the context, or leave it out."
_MARGIN = 1.2
"""Of the estimate: on the examples MiniLM's tokenizer counts more than this for few sentences and for no
passage."""
_ROOM = 2
"""Tokens; a short text strays further from its estimate."""


class HuggingFaceCounter:
    """Implements `TokenCounter` with a `tokenizer.json`. Marks that a model adds around a text are not counted."""

    def __init__(self, path: Path) -> None:
        from tokenizers import Tokenizer

        try:
            self._tokenizer = Tokenizer.from_buffer(path.read_bytes())
        except Exception as error:  # tokenizers raises Exception itself
            raise SettingsError(f"context.tokenizer: {path} cannot be read: {error}", hint=_HINT) from error
        # The file may tell it to cut a text to the model's window, or to fill it up.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.name = path.name if path.name != "tokenizer.json" else path.resolve().parent.name

    def count(self, text: str) -> int:
        # A lone surrogate, which is in no stored text, cannot be handed over.
        readable = text.encode("utf-8", "replace").decode("utf-8")
        return len(self._tokenizer.encode(readable, add_special_tokens=False).ids)


class EstimateCounter:
    """Implements `TokenCounter` without a model: more than most models count for the same English text."""

    name = "estimate"

    def count(self, text: str) -> int:
        estimated = count_tokens(text)
        return math.ceil(estimated * _MARGIN) + _ROOM if estimated else 0


def open_counter(tokenizer_path: str | None, weights_tokenizer: Path | None) -> TokenCounter:
    """The tokenizer that the settings name, else the embedding model's own, else the estimate."""
    if tokenizer_path is not None:
        return HuggingFaceCounter(Path(tokenizer_path).expanduser())
    return EstimateCounter() if weights_tokenizer is None else HuggingFaceCounter(weights_tokenizer)
