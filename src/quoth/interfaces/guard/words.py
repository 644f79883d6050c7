"""What somebody on another machine is told of an error: what concerns the operator alone is kept from them."""

from __future__ import annotations

from typing import NamedTuple

from quoth.errors import CorpusError, IndexBusy, IndexFault, NoIndex, PartMissing, QuestionError, QuothError

_OURS = "See the log of the service for this request."


class Words(NamedTuple):
    """A code for programs, a sentence and a next step for people."""

    code: str
    message: str
    hint: str


def client_words(error: QuothError) -> Words:
    """For clients of the network: messages about the index and the settings name folders, and what to run there."""
    if isinstance(error, QuestionError | CorpusError):
        return Words(error.code, str(error), error.hint)
    if isinstance(error, NoIndex):
        return Words(error.code, "there is no index yet", "Upload a document, or ingest a folder.")
    if isinstance(error, IndexBusy):
        return Words(error.code, "the index is being written to by another process", "Try again in a while.")
    if isinstance(error, PartMissing):
        return Words(error.code, f"{error.part} of the index cannot be asked now", "Try again in a while.")
    if isinstance(error, IndexFault):
        return Words(error.code, "the index cannot be used now", _OURS)
    return Words(error.code, "the service is not set up for this", _OURS)


def full_words(error: QuothError) -> Words:
    """For whoever started the program: all that there is to say."""
    return Words(error.code, str(error), error.hint)
