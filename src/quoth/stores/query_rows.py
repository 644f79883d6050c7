"""What the query log keeps of a question, and how it stands in a row."""

from __future__ import annotations

import json
from dataclasses import astuple, dataclass
from datetime import UTC, datetime
from typing import Any

from quoth.errors import QuothError
from quoth.quality import Quality, Tally, quality_of
from quoth.types import Filters, QuestionKind, Retrieval, Source, Status

COLUMNS = {
    "time": "TEXT NOT NULL",
    "question": "TEXT NOT NULL",
    "kind": "TEXT NOT NULL",
    "status": "TEXT NOT NULL",
    "best": "REAL NOT NULL",
    "top1": "REAL NOT NULL",
    "relevant": "INTEGER NOT NULL",
    "full_text_only": "INTEGER NOT NULL",
    "vector_only": "INTEGER NOT NULL",
    "both_count": "INTEGER NOT NULL",
    "both_relevance": "REAL NOT NULL",
    "vector_count": "INTEGER NOT NULL",
    "vector_relevance": "REAL NOT NULL",
    "full_text_count": "INTEGER NOT NULL",
    "full_text_relevance": "REAL NOT NULL",
    "lexical_weight": "REAL NOT NULL",
    "dense_weight": "REAL NOT NULL",
    "filters": "TEXT NOT NULL",
    "degraded": "TEXT NOT NULL",
    "index_digest": "TEXT NOT NULL",
    "settings_digest": "TEXT NOT NULL",
    "milliseconds": "REAL NOT NULL",
}
"""By name. A `..._relevance` is the sum over the passages of a source, so that means can be made of many."""


@dataclass(frozen=True, slots=True)
class QueryEntry:
    """One question as it is logged. `time` is ISO 8601 in UTC; `weights` are the lexical and the dense one."""

    time: str
    question: str
    kind: QuestionKind
    best: float
    quality: Quality
    weights: tuple[float, float]
    filters: Filters
    index: str
    settings: str
    milliseconds: float


def entry_of(retrieval: Retrieval, *, time: str, milliseconds: float) -> QueryEntry:
    """A retrieval as it is logged."""
    return QueryEntry(
        time=time,
        question=retrieval.question.text,
        kind=retrieval.kind,
        best=retrieval.best,
        quality=quality_of(retrieval),
        weights=retrieval.weights,
        filters=retrieval.filters,
        index=retrieval.index,
        settings=retrieval.settings,
        milliseconds=milliseconds,
    )


def row_of(entry: QueryEntry) -> tuple[Any, ...]:
    """The values of `COLUMNS`, in their order."""
    quality = entry.quality
    filters = {
        "doc_ids": list(entry.filters.doc_ids),
        "tags": {facet: list(values) for facet, values in entry.filters.tags.items()},
        "document_types": list(entry.filters.document_types),
        "is_binding": entry.filters.is_binding,
        "as_of": entry.filters.as_of,
    }
    return (
        instant(entry.time),
        entry.question.encode("utf-8", "replace").decode(),  # a lone surrogate has no UTF-8
        entry.kind.value,
        quality.status.value,
        entry.best,
        quality.top1,
        quality.relevant,
        quality.full_text_only,
        quality.vector_only,
        *(number for source in Source for number in astuple(quality.sources[source])),
        *entry.weights,
        json.dumps(filters),
        json.dumps(list(quality.degraded)),
        entry.index,
        entry.settings,
        entry.milliseconds,
    )


def read_row(row: tuple[Any, ...]) -> QueryEntry:
    """The entry of such values; ValueError, TypeError or KeyError for any others."""
    values = dict(zip(COLUMNS, row, strict=True))
    filters = json.loads(values["filters"])
    return QueryEntry(
        time=values["time"],
        question=values["question"],
        kind=QuestionKind(values["kind"]),
        best=values["best"],
        quality=Quality(
            status=Status(values["status"]),
            top1=values["top1"],
            relevant=values["relevant"],
            full_text_only=values["full_text_only"],
            vector_only=values["vector_only"],
            sources={one: Tally(values[f"{one}_count"], values[f"{one}_relevance"]) for one in Source},
            degraded=tuple(json.loads(values["degraded"])),
        ),
        weights=(values["lexical_weight"], values["dense_weight"]),
        filters=Filters(
            doc_ids=tuple(filters["doc_ids"]),
            tags={facet: tuple(given) for facet, given in filters["tags"].items()},
            document_types=tuple(filters["document_types"]),
            is_binding=filters["is_binding"],
            as_of=filters["as_of"],
        ),
        index=values["index_digest"],
        settings=values["settings_digest"],
        milliseconds=values["milliseconds"],
    )


def instant(time: str) -> str:
    """A time in one form, so that times can be compared as text; without a zone it is UTC."""
    try:
        read = datetime.fromisoformat(time)
    except ValueError as error:
        raise QuothError(f"'{time}' is not a time", hint="Write it as 2026-01-31 or 2026-01-31T08:00:00Z.") from error
    known = read if read.tzinfo is not None else read.replace(tzinfo=UTC)
    return known.astimezone(UTC).isoformat(timespec="microseconds")
