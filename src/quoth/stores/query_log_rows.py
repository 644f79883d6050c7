"""The rows of the query log, and what its two places, a file and a database, have in common."""

from __future__ import annotations

import json
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, astuple, dataclass
from datetime import UTC, datetime
from typing import Any

from quoth.errors import QuothError
from quoth.passages.quality import Quality, SourceRelevance, quality_of
from quoth.types import FoundBy, Retrieval, Status

COLUMNS = dict(
    column.split(" ")
    for column in (
        "time TEXT, question TEXT, kind TEXT, status TEXT, best REAL, top1 REAL, relevant INTEGER, "
        "full_text_only INTEGER, vector_only INTEGER, both_count INTEGER, both_relevance REAL, vector_count INTEGER, "
        "vector_relevance REAL, full_text_count INTEGER, full_text_relevance REAL, lexical_weight REAL, "
        "dense_weight REAL, filters TEXT, degraded TEXT, index_digest TEXT, settings_digest TEXT, milliseconds REAL"
    ).split(", ")
)
"""Types by name; none may be null. A `..._relevance` is a sum over passages, so that means can be made of many."""

REST_SECONDS = 5.0
"""How long a log that failed is left alone: a locked file must not slow down every question."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class QueryEntry:
    """A question in the log, as it is read back. `time` is ISO 8601 in UTC."""

    time: str
    question: str
    quality: Quality


class RetrievalLog(ABC):
    """A log of retrievals. It is no part of an answer: whatever happens to it, a question goes on.

    `name` names it in warnings; `failures` are the errors of its storage.
    """

    def __init__(self, name: str, *, failures: tuple[type[Exception], ...], clock: Callable[[], float]) -> None:
        self._name = name
        self._failures: tuple[type[Exception], ...] = (*failures, QuothError)
        self._clock = clock
        self._state = threading.Lock()
        self._rest_until: float | None = None

    def record(self, retrieval: Retrieval, *, time: str, milliseconds: float) -> None:
        """Write a row; `time` is ISO 8601. A row that cannot be written is dropped, with one warning until it works."""
        with self._state:
            if self._rest_until is not None and self._clock() < self._rest_until:
                return
        try:
            self._write(_row_of(retrieval, time=time, milliseconds=milliseconds))
        except self._failures as error:
            with self._state:
                if self._rest_until is None:
                    _log.warning(
                        "the query log %s cannot be written: %s. Questions go on without it.", self._name, error
                    )
                self._rest_until = self._clock() + REST_SECONDS
        else:
            with self._state:
                self._rest_until = None

    @abstractmethod
    def _write(self, row: tuple[Any, ...]) -> None:
        """Write the values of `COLUMNS`."""

    @abstractmethod
    def entries(self, since: str | None, limit: int | None) -> tuple[QueryEntry, ...]:
        """Return the latest `limit` entries since the time `since`, the oldest first; None means all."""

    @abstractmethod
    def close(self) -> None:
        """Release the file or the connections. The log can be used again."""


def _row_of(retrieval: Retrieval, *, time: str, milliseconds: float) -> tuple[Any, ...]:
    quality = quality_of(retrieval)
    return (
        instant(time),
        retrieval.question.text.encode("utf-8", "replace").decode(),  # a lone surrogate has no UTF-8
        retrieval.kind.value,
        quality.status.value,
        retrieval.best,
        quality.top1,
        quality.relevant,
        quality.full_text_only,
        quality.vector_only,
        *(number for source in FoundBy for number in astuple(quality.sources[source])),
        *retrieval.weights,
        json.dumps(asdict(retrieval.filters)),
        json.dumps(quality.degraded),
        retrieval.index,
        retrieval.settings,
        milliseconds,
    )


def read_row(row: tuple[Any, ...]) -> QueryEntry:
    """Return the entry of a row; ValueError, TypeError or KeyError if it is not one."""
    values = dict(zip(COLUMNS, row, strict=True))
    quality = Quality(
        status=Status(values["status"]),
        top1=values["top1"],
        relevant=values["relevant"],
        full_text_only=values["full_text_only"],
        vector_only=values["vector_only"],
        sources={
            source: SourceRelevance(values[f"{source}_count"], values[f"{source}_relevance"]) for source in FoundBy
        },
        degraded=tuple(json.loads(values["degraded"])),
    )
    return QueryEntry(values["time"], values["question"], quality)


def instant(time: str) -> str:
    """Return a time in one form, so that times can be compared as text; without a zone it is UTC."""
    try:
        read = datetime.fromisoformat(time)
    except ValueError as error:
        raise QuothError(f"'{time}' is not a time", hint="Write it as 2026-01-31 or 2026-01-31T08:00:00Z.") from error
    zoned = read if read.tzinfo is not None else read.replace(tzinfo=UTC)
    return zoned.astimezone(UTC).isoformat(timespec="microseconds")
