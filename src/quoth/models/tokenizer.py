"""Count tokens as a model does: with its `tokenizer.json`, or by an estimate that is rather too high."""

from __future__ import annotations

import math
from pathlib import Path

from quoth.errors import SettingsError
from quoth.language.words import count_tokens

_HINT = "Set context.tokenizer to a tokenizer.json of the model that will read the context, or leave it out."
_MARGIN = 1.2
"""Factor of the estimate. On the examples MiniLM's tokenizer counts more for few sentences and for no passage."""
_ROOM = 2
"""Extra tokens: the estimate of a short text is less exact."""


class HuggingFaceCounter:
    """Implements `TokenCounter` with a `tokenizer.json`. Special tokens that a model adds are not counted."""

    def __init__(self, path: Path) -> None:
        from tokenizers import Tokenizer

        try:
            self._tokenizer = Tokenizer.from_buffer(path.read_bytes())
        except Exception as error:  # tokenizers raises Exception itself
            raise SettingsError(f"context.tokenizer: {path} cannot be read: {error}", hint=_HINT) from error
        # The file may configure truncation to the model's window, or padding.
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self.name = path.name if path.name != "tokenizer.json" else path.resolve().parent.name

    def count(self, text: str) -> int:
        # The tokenizer takes no lone surrogates, which no stored text has.
        readable = text.encode("utf-8", "replace").decode("utf-8")
        return len(self._tokenizer.encode(readable, add_special_tokens=False).ids)


class EstimateCounter:
    """Implements `TokenCounter` without a model: more than most models count for English text."""

    name = "estimate"

    def count(self, text: str) -> int:
        estimated = count_tokens(text)
        return math.ceil(estimated * _MARGIN) + _ROOM if estimated else 0
