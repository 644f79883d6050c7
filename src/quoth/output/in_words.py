"""What Quoth itself says of an outcome, in the language of a person. The quotes stay in theirs."""

from __future__ import annotations

from quoth.output.json_types import InWordsJson
from quoth.output.messages import Messages
from quoth.types import Abstention, Outcome


def in_words(outcome: Outcome, messages: Messages) -> InWordsJson:
    """Return the sentences of an outcome in the order in which its JSON has them in English."""
    abstention = outcome if isinstance(outcome, Abstention) else None
    return InWordsJson(
        lang=messages.language,
        reason=messages.said(abstention.objection.detail) if abstention else None,
        nearest=[messages.said(citation.why or "") for citation in abstention.nearest] if abstention else [],
        conflicts=[] if isinstance(outcome, Abstention) else [messages.said(each.detail) for each in outcome.conflicts],
        warnings=[messages.said(warning) for warning in outcome.notes.warnings],
    )
