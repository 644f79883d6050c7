"""Quoth: verbatim answers, cited by exact offsets, or an honest abstention."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING

# The threads of numpy's linear algebra go on spinning for some 25 ms after each product, on the cores that the model
# needs next. This lets them sleep at once; it changes no result, and nothing where numpy is loaded already.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")

# ONNX Runtime counts its uses in a file of its own, for its makers. Nothing may leave the machine.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

if TYPE_CHECKING:
    from quoth.errors import QuothError
    from quoth.library import Quoth
    from quoth.types import (
        Abstention,
        Answer,
        AskResult,
        Citation,
        Document,
        Filters,
        Question,
        Reason,
        Retrieval,
        Sentence,
        Span,
        Status,
    )
else:

    def __getattr__(name: str) -> object:
        """Import a public name when it is used: a process that reads files needs none, and starts in half the time."""
        if name not in __all__:
            raise AttributeError(f"module 'quoth' has no attribute {name!r}")
        module = {"Quoth": "quoth.library", "QuothError": "quoth.errors"}.get(name, "quoth.types")
        return getattr(import_module(module), name)


__version__ = "0.1.0"

__all__ = [
    "Abstention",
    "Answer",
    "AskResult",
    "Citation",
    "Document",
    "Filters",
    "Question",
    "Quoth",
    "QuothError",
    "Reason",
    "Retrieval",
    "Sentence",
    "Span",
    "Status",
    "__version__",
]
