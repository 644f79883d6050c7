"""Reading texts, sentences and vectors from the tables of `schema.sql`."""

# ruff: noqa: S608  only constant names are put into SQL; values are always bound

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from quoth.errors import IndexDamaged
from quoth.stores.database_rows import Row
from quoth.stores.embedded import vector_blocks

CHARACTERS = 2_000
"""Characters of a text that are kept together."""
_SHIFT = 24
_NUMBERS = (1 << _SHIFT) - 1


class EvidenceRow(NamedTuple):
    """An evidence sentence for the search indexes; `tags` is JSON, and `lead` None where it has none."""

    row: int
    embedding: int
    tags: str
    text: str
    lead: str | None


class DocumentTables(Protocol):
    """What a database keeps of documents, as one transaction sees it. Vectors have so many dimensions."""

    @property
    def dimension(self) -> int: ...

    def sentences(self, condition: str, *values: object, extra: str = "", join: str = "") -> list[tuple[Row, Row]]:
        """Return the columns of `rows.QUOTED`, and those of `extra`, for sentences `s` of documents `d`."""

    def text(self, document: int) -> str:
        """Return the text of the document in this row."""

    def encoded_texts(self, ids: Collection[str]) -> list[tuple[str, bytes]]:
        """Return id and text of documents, ordered by id."""

    def evidence(self, document: int) -> Iterator[EvidenceRow]:
        """Yield the evidence sentences of a document in reading order."""

    def embeddings(self, document: int) -> list[int]:
        """Return the ids of the embeddings of its evidence sentences, in reading order."""

    def vectors(self, embeddings: NDArray[np.int64]) -> NDArray[np.float16]:
        """Return the vectors of these embeddings, in the same order."""


def row_of(document: int, number: int) -> int:
    """Return the row of something that belongs to a document."""
    return document << _SHIFT | number


def row_of_sql(document: str, number: str) -> str:
    """Return `row_of` as an expression of SQL."""
    return f"({document} << {_SHIFT} | {number})"


def rows_of(document: int) -> tuple[int, int]:
    """Return the first and the last row that something of this document can have."""
    return row_of(document, 0), row_of(document, _NUMBERS)


_QUOTED = "d.row, d.id, s.start, s.stop, p.kind, p.section, s.lead_start, s.lead_stop, s.page, s.ocr, p.tags"
_JOINED = "FROM sentences s JOIN documents d ON d.row = s.document JOIN places p ON p.row = " + row_of_sql(
    "s.document", "s.place"
)


def cut_text(text: str) -> Iterator[tuple[int, str]]:
    """Yield number and text of what is kept together."""
    for number, start in enumerate(range(0, len(text), CHARACTERS)):
        yield number, text[start : start + CHARACTERS]


@dataclass(frozen=True, slots=True)
class CurrentTables:
    """See `DocumentTables`."""

    connection: sqlite3.Connection
    dimension: int

    def sentences(self, condition: str, *values: object, extra: str = "", join: str = "") -> list[tuple[Row, Row]]:
        sql = f"SELECT {_QUOTED}{extra and ', '}{extra} {_JOINED} {join} {condition}"
        found = self.connection.execute(sql, values).fetchall()
        slices = self._slices((row[0], row[at], row[at + 1]) for row in found for at in (2, 6))
        read = []
        for (document, doc_id, start, stop, kind, section, lead_start, lead_stop, page, ocr, tags), more in (
            (row[:11], row[11:]) for row in found
        ):
            text, lead = slices[document, start, stop], slices[document, lead_start, lead_stop]
            read.append(
                ((doc_id, start, stop, text, kind, section, lead_start, lead_stop, lead, page, ocr, tags), more)
            )
        return read

    def _slices(
        self, wanted: Iterable[tuple[int, int | None, int | None]]
    ) -> dict[tuple[int, int | None, int | None], str | None]:
        """Return the text of each document row, start and stop; None from None to None."""
        found: dict[tuple[int, int | None, int | None], str | None] = dict.fromkeys(wanted)
        needed = {
            row_of(document, number)
            for document, start, stop in found
            if start is not None and stop is not None
            for number in range(start // CHARACTERS, (stop - 1) // CHARACTERS + 1)
        }
        sql = "SELECT row, text FROM texts WHERE row IN (SELECT value FROM json_each(?))"
        texts = dict(self.connection.execute(sql, (json.dumps(list(needed)),)))
        for document, start, stop in found:
            if start is None or stop is None:
                continue
            first, last = start // CHARACTERS, (stop - 1) // CHARACTERS
            try:
                text = "".join([texts[row_of(document, number)] for number in range(first, last + 1)])
            except KeyError:
                raise _incomplete() from None
            found[document, start, stop] = text[start - first * CHARACTERS : stop - first * CHARACTERS]
        return found

    def text(self, document: int) -> str:
        sql = "SELECT text FROM texts WHERE row BETWEEN ? AND ? ORDER BY row"
        return "".join([text for (text,) in self.connection.execute(sql, rows_of(document))])

    def encoded_texts(self, ids: Collection[str]) -> list[tuple[str, bytes]]:
        # As blobs, the texts are not decoded on the way.
        sql = (
            "SELECT d.id, CAST(t.text AS BLOB) FROM documents d "
            f"LEFT JOIN texts t ON t.row BETWEEN {row_of_sql('d.row', '0')} AND {row_of_sql('d.row', str(_NUMBERS))} "
            "WHERE d.id IN (SELECT value FROM json_each(?)) ORDER BY d.id, t.row"
        )
        found = self.connection.execute(sql, (json.dumps(sorted(ids)),))
        return [
            (doc_id, b"".join([text for _, text in parts if text is not None]))
            for doc_id, parts in groupby(found, key=lambda part: str(part[0]))
        ]

    def evidence(self, document: int) -> Iterator[EvidenceRow]:
        text = self.text(document)
        found = self.connection.execute(
            "SELECT s.row, s.embedding, p.tags, s.start, s.stop, s.lead_start, s.lead_stop FROM sentences s "
            f"JOIN places p ON p.row = {row_of_sql('s.document', 's.place')} "
            "WHERE s.document = ? AND s.embedding IS NOT NULL ORDER BY s.ordinal",
            (document,),
        )
        for row, embedding, tags, start, stop, lead_start, lead_stop in found:
            lead = None if lead_start is None else text[lead_start:lead_stop]
            yield EvidenceRow(row, embedding, tags, text[start:stop], lead)

    def embeddings(self, document: int) -> list[int]:
        return evidence_embeddings(self.connection, document)

    def vectors(self, embeddings: NDArray[np.int64]) -> NDArray[np.float16]:
        return vector_blocks.read(self.connection, embeddings, dimension=self.dimension)


def evidence_embeddings(connection: sqlite3.Connection, document: int) -> list[int]:
    sql = "SELECT embedding FROM sentences WHERE document = ? AND embedding IS NOT NULL ORDER BY ordinal"
    return [embedding for (embedding,) in connection.execute(sql, (document,))]


def _incomplete() -> IndexDamaged:
    return IndexDamaged("the database of the index lacks a part of what it lists", hint="Ingest into a new index.")
