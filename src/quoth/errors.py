"""Everything Quoth raises on purpose. An error is a sentence, a code and a next step.

QuothError
├── OffsetMismatch      a citation does not match its source; never caught inside the package
├── MissingExtra        a feature needs an optional dependency
├── SettingsError       a setting, profile or manifest is wrong
├── CorpusError         nothing usable to ingest
│   └── UnreadableFile  one file cannot be taken; the others go on
├── QuestionError       a question that cannot be asked
├── CalibrationError    nothing to calibrate with, or a calibration for something else
├── ModelError          the model's files are missing or damaged
├── KeyFault            an API key that is unknown, or a file of keys that cannot be read
├── ClusterFault        a cluster that cannot be reached, or whose nodes are not alike
├── ProviderFault       a service that was asked did not give what it should; a question goes on without it
└── IndexFault          the index cannot serve
    ├── NoIndex         there is none yet
    ├── IndexMismatch   another format or model wrote it
    ├── IndexBusy       another process is writing
    ├── IndexDamaged    its files contradict each other
    ├── PartMissing     one of its parts cannot be asked now
    │   └── PartLost    it was asked, and did not answer; who reads may begin anew without it
    └── IndexUnwritable no rights or no room
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class QuothError(Exception):
    """Base of everything we raise on purpose."""

    code = "error"
    hint = ""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        if hint is not None:
            self.hint = hint

    def __reduce__(self) -> tuple[Callable[..., QuothError], tuple[type[QuothError], str, dict[str, Any]]]:
        """Errors take what they please to make their sentence of; between processes the sentence goes as it is."""
        return _as_it_was, (type(self), str(self), dict(vars(self)))


def _as_it_was(kind: type[QuothError], message: str, fields: dict[str, Any]) -> QuothError:
    error = kind.__new__(kind)
    Exception.__init__(error, message)
    vars(error).update(fields)
    return error


class OffsetMismatch(QuothError):
    """A citation does not match its source. Never caught inside the package."""

    code = "offset-mismatch"
    hint = "Re-ingest the document; its text changed after it was indexed."

    def __init__(self, doc_id: str, start: int, end: int) -> None:
        super().__init__(f"{doc_id}[{start}:{end}] does not match the source text")
        self.doc_id = doc_id
        self.start = start
        self.end = end


class MissingExtra(QuothError):
    code = "missing-extra"

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs the optional extra '{extra}'", hint=f"pip install 'quoth[{extra}]'")


class SettingsError(QuothError):
    code = "settings"


class CorpusError(QuothError):
    code = "corpus"


class UnreadableFile(CorpusError):
    """One file cannot be taken. Ingest names it and goes on with the others."""

    code = "unreadable-file"

    def __init__(self, path: str, why: str, *, hint: str) -> None:
        super().__init__(f"{path}: {why}", hint=hint)
        self.path = path


class QuestionError(QuothError):
    code = "question"


class CalibrationError(QuothError):
    code = "calibration"


class ModelError(QuothError):
    code = "model"


class KeyFault(QuothError):
    code = "key"


class ClusterFault(QuothError):
    code = "cluster"


class ProviderFault(QuothError):
    """An outside service is down, slow, or answers nonsense."""

    code = "provider"


class IndexFault(QuothError):
    code = "index"


class NoIndex(IndexFault):
    code = "no-index"

    def __init__(self, place: str) -> None:
        super().__init__(f"there is no index at {place}", hint="Make one: quoth ingest FOLDER --index " + place)


class IndexMismatch(IndexFault):
    code = "index-mismatch"


class IndexBusy(IndexFault):
    code = "index-busy"


class IndexDamaged(IndexFault):
    code = "index-damaged"


class PartMissing(IndexFault):
    """What was asked for is in a part of the index that cannot be asked now, such as `shard 3 of 8`."""

    code = "index-part"
    hint = "Try again in a while; the log of the service says what is wrong with it."

    def __init__(self, part: str, why: str) -> None:
        super().__init__(f"{part} of the index cannot be asked now: {why}")
        self.part = part
        self.why = why


class PartLost(PartMissing):
    """A part did not answer, or not in time. What was read so far may not be used."""


class IndexUnwritable(IndexFault):
    code = "index-unwritable"
