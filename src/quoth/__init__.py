"""Quoth: verbatim answers, cited by exact offsets, or an honest abstention."""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING

# The products of a question are small. Waking a second thread for one of them costs up to 8 ms on a busy machine, and
# saves nothing. Does nothing where numpy is loaded already or the user has set it.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

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
