"""Quoth: verbatim answers, cited by exact offsets, or an honest abstention."""

from __future__ import annotations

from quoth.errors import QuothError
from quoth.interfaces.python import Quoth
from quoth.types import Abstention, Answer, Asked, Citation, Document, Filters, Question, Reason, Sentence, Span

__version__ = "0.1.0"

__all__ = [
    "Abstention",
    "Answer",
    "Asked",
    "Citation",
    "Document",
    "Filters",
    "Question",
    "Quoth",
    "QuothError",
    "Reason",
    "Sentence",
    "Span",
    "__version__",
]
