"""Quoth: verbatim answers, cited by exact offsets, or an honest abstention."""

from __future__ import annotations

import os

# The threads of numpy's linear algebra go on spinning for some 25 ms after each product, on the cores that the model
# needs next. This lets them sleep at once; it changes no result, and nothing where numpy is loaded already.
os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")

# ONNX Runtime counts its uses in a file of its own, for its makers. Nothing may leave the machine.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

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
