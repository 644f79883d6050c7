"""A view of an index on a given day, without documents and successors that were not in effect yet."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

from quoth.protocols import Reader
from quoth.types import Candidates, Document, DocumentInfo, Metadata, Query

_HasMetadata = TypeVar("_HasMetadata", Document, DocumentInfo)


def as_of(reader: Reader, day: str | None) -> Reader:
    """Return `reader`, or a view of what it held on `day` (ISO 8601)."""
    return reader if day is None else cast(Reader, _Dated(reader, day))


class _Dated:
    """A `Reader` without documents and successors of later days. The `as_of` filter limits its searches."""

    def __init__(self, reader: Reader, day: str) -> None:
        self._reader = reader
        self._day = day

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - all else that a reader has
        return getattr(self._reader, name)

    def search(self, query: Query) -> Candidates:
        return self._reader.search(replace(query, filters=replace(query.filters, as_of=self._day)))

    def document(self, doc_id: str) -> Document | None:
        document = self._reader.document(doc_id)
        return document and self._dated([document])[0]

    def documents(self, ids: Collection[str] | None = None) -> tuple[DocumentInfo, ...]:
        there = [document for document in self._reader.documents(ids) if _in_effect(document.metadata, self._day)]
        return tuple(self._dated(there))

    def _dated(self, documents: Sequence[_HasMetadata]) -> list[_HasMetadata]:
        """Return the documents without the successors that came into effect later."""
        successors = {successor.by for document in documents for successor in document.metadata.superseded_by}
        known = self._reader.documents(successors) if successors else ()
        later = {document.id for document in known if not _in_effect(document.metadata, self._day)}
        dated = []
        for document in documents:
            kept = tuple(successor for successor in document.metadata.superseded_by if successor.by not in later)
            dated.append(replace(document, metadata=replace(document.metadata, superseded_by=kept)))
        return dated


def _in_effect(metadata: Metadata, day: str) -> bool:
    return (metadata.effective_date or "") <= day
