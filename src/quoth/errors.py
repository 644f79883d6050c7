"""The exceptions of Quoth. Each has a message, a code for programs, and a hint that names the next step.

QuothError
├── OffsetMismatch      a citation does not match its source; never caught inside the package
├── MissingExtra        a feature needs an optional dependency
├── SettingsError       a setting, profile or manifest is wrong
├── CorpusError         nothing usable to ingest
│   ├── NothingReadable no file of a run can be read
│   └── UnreadableFile  a file cannot be read; ingest goes on with the others
├── QuestionError       a question is malformed
├── CalibrationError    too few judged questions, or a calibration or fit made for other settings
├── ModelError          the model's files are missing or damaged
├── ReceiptError        a receipt cannot be made, signed or read
├── KeyFault            an API key is unknown, or the file of keys cannot be read
├── ClusterFault        a cluster cannot be reached, or its nodes differ
├── ProviderFault       an outside service failed; questions are answered without it
└── IndexFault          the index cannot serve
    ├── NoIndex         there is no index yet
    ├── IndexMismatch   it was written in another format or with another model
    ├── IndexBusy       another process is writing
    ├── IndexDamaged    its files contradict each other
    ├── LabelsUnsupported   it cannot be read with limited access
    ├── ShardMissing    a shard does not answer now
    │   └── ShardLost   a shard stopped answering; the caller may read again without it
    ├── IndexUnwritable no permission to write, or no space
    └── JobsUnavailable the database cannot be asked for the jobs and files of uploads
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any


class QuothError(Exception):
    """The base of all exceptions of Quoth."""

    code = "error"
    hint = ""

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        if hint is not None:
            self.hint = hint

    def __reduce__(self) -> tuple[Callable[..., QuothError], tuple[type[QuothError], str, dict[str, Any]]]:
        """Pickle the finished message, since the constructors of subclasses take other arguments."""
        return _rebuild, (type(self), str(self), dict(vars(self)))


def _rebuild(kind: type[QuothError], message: str, fields: dict[str, Any]) -> QuothError:
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
    """A file cannot be read. Ingest reports it and goes on with the others."""

    code = "unreadable-file"

    def __init__(self, path: str, why: str, *, hint: str) -> None:
        super().__init__(f"{path}: {why}", hint=hint)
        self.path = path


class NothingReadable(CorpusError):
    """No file of a run can be read. `files` are the path, the reason and the next step of each."""

    def __init__(self, files: Sequence[tuple[str, str, str]]) -> None:
        reasons = "; ".join(f"{path}: {why}" for path, why, _ in files[:3])
        super().__init__(f"none of {len(files)} files could be read ({reasons})", hint=files[0][2])
        self.files = tuple(files)


class QuestionError(QuothError):
    code = "question"


class CalibrationError(QuothError):
    code = "calibration"


class ModelError(QuothError):
    code = "model"


class ReceiptError(QuothError):
    code = "receipt"


class KeyFault(QuothError):
    code = "key"


class ClusterFault(QuothError):
    code = "cluster"


class ProviderFault(QuothError):
    """An outside service is down or slow, or its response is malformed."""

    code = "provider"


class IndexFault(QuothError):
    code = "index"


class NoIndex(IndexFault):
    code = "no-index"

    def __init__(self, location: str) -> None:
        super().__init__(f"there is no index at {location}", hint=f"Make one: quoth ingest FOLDER --index {location}")


class IndexMismatch(IndexFault):
    code = "index-mismatch"


class IndexBusy(IndexFault):
    code = "index-busy"


class IndexDamaged(IndexFault):
    code = "index-damaged"


class LabelsUnsupported(IndexFault):
    """This kind of index cannot be limited to some of its documents. It shows none rather than all."""

    code = "labels-unsupported"


class ShardMissing(IndexFault):
    """The document is in a shard that does not answer now; `shard` is its name, such as `shard 3 of 8`."""

    code = "index-part"
    hint = "Try again in a while; the log of the service says what is wrong with it."

    def __init__(self, shard: str, why: str) -> None:
        super().__init__(f"{shard} of the index cannot be asked now: {why}")
        self.shard = shard
        self.why = why


class ShardLost(ShardMissing):
    """A shard did not answer in time. Discard what was read from this generation so far."""


class IndexUnwritable(IndexFault):
    code = "index-unwritable"


class JobsUnavailable(IndexFault):
    """The database that keeps jobs and uploaded files cannot be asked now. What was being done is done again later."""

    code = "jobs"
