"""An index as it stood on a day: what was not in effect yet is not there, and has replaced nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from quoth.protocols import Reader
from quoth.questions import checked_day
from quoth.types import (
    Candidates,
    Document,
    DocumentInfo,
    Filters,
    IndexInfo,
    Metadata,
    Page,
    Passage,
    Query,
    Sentence,
    Vectors,
)

_HasMetadata = TypeVar("_HasMetadata", Document, DocumentInfo)


def as_of(reader: Reader, day: str | None) -> Reader:
    """`reader` itself, or what it held on `day` (ISO 8601)."""
    return reader if day is None else _Dated(reader, checked_day(day))


class _Dated:
    """Implements `Reader`. A search is limited by the query's own filter; here only what replaces what is dated."""

    def __init__(self, reader: Reader, day: str) -> None:
        self._reader = reader
        self._day = day

    @property
    def info(self) -> IndexInfo:
        return self._reader.info

    @property
    def missing(self) -> tuple[str, ...]:
        return self._reader.missing

    def may_lack(self, filters: Filters) -> bool:
        return self._reader.may_lack(filters)

    def search(self, query: Query) -> Candidates:
        return self._reader.search(replace(query, filters=replace(query.filters, as_of=self._day)))

    def frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        return self._reader.frequencies(terms)

    def document(self, doc_id: str) -> Document | None:
        document = self._reader.document(doc_id)
        return document and self._dated([document])[0]

    def documents(self, ids: Collection[str] | None = None) -> tuple[DocumentInfo, ...]:
        there = [one for one in self._reader.documents(ids) if _in_effect(one.metadata, self._day)]
        return tuple(self._dated(there))

    def sentences(self, doc_id: str) -> Iterator[Sentence]:
        return self._reader.sentences(doc_id)

    def passages(self, doc_id: str) -> tuple[Passage, ...]:
        return self._reader.passages(doc_id)

    def page(self, doc_id: str, number: int) -> Page | None:
        return self._reader.page(doc_id, number)

    def neighbours(self, candidate: Sentence) -> tuple[Sentence | None, Sentence | None]:
        return self._reader.neighbours(candidate)

    def expect(self, sentences: Sequence[Sentence]) -> None:
        self._reader.expect(sentences)

    def vectors(self, doc_id: str) -> Vectors:
        return self._reader.vectors(doc_id)

    def _dated(self, documents: Sequence[_HasMetadata]) -> list[_HasMetadata]:
        """The same documents without the successors that came into effect later."""
        successors = {by.by for one in documents for by in one.metadata.superseded_by}
        known = self._reader.documents(successors) if successors else ()
        later = {one.id for one in known if not _in_effect(one.metadata, self._day)}
        return [replace(one, metadata=_without(one.metadata, later)) for one in documents]


def _in_effect(metadata: Metadata, day: str) -> bool:
    return (metadata.effective_date or "") <= day


def _without(metadata: Metadata, later: Collection[str]) -> Metadata:
    return replace(metadata, superseded_by=tuple(one for one in metadata.superseded_by if one.by not in later))
