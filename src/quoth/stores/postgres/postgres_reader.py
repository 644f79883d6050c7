"""One generation of the index, read inside one transaction."""

# ruff: noqa: S608  only constant names are put into SQL; values are always bound

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import psycopg

from quoth.errors import IndexFault
from quoth.protocols import Neighbours
from quoth.stores import database_rows as shared
from quoth.stores.database_rows import Row
from quoth.stores.embedded.dense_index import checked_vector, scored_candidates
from quoth.stores.postgres import lexemes
from quoth.stores.postgres import postgres_faults as faults
from quoth.stores.postgres import postgres_rows as rows
from quoth.stores.postgres import postgres_search as search
from quoth.stores.postgres.postgres_connections import Connection
from quoth.stores.postgres.postgres_rows import comparable
from quoth.stores.postgres.postgres_schema import PublishedIndex
from quoth.types import (
    Candidates,
    Document,
    DocumentInfo,
    Filters,
    IndexInfo,
    Page,
    Passage,
    Query,
    Sentence,
    Vectors,
)

_OF_DOCUMENT = "JOIN documents d ON d.id = s.document WHERE d.name = %s"
_BESIDE = f"""
SELECT s.ordinal > m.ordinal, {rows.QUOTED} FROM documents d JOIN sentences m ON m.document = d.id
JOIN sentences s ON s.document = d.id AND s.ordinal IN (m.ordinal - 1, m.ordinal + 1)
WHERE d.name = %s AND m.start = %s AND m.stop = %s
"""
_FREQUENCIES = """
SELECT CASE WHEN a.query ~ '^[a-z0-9]+$' THEN coalesce((SELECT t.sentences FROM terms t WHERE t.lexeme = a.query), 0)
            ELSE (SELECT count(*) FROM sentences s WHERE s.search @@ a.query::tsquery) END
FROM unnest(%s::text[]) WITH ORDINALITY AS a (query, place) ORDER BY a.place
"""

Reopen: TypeAlias = Callable[[], tuple[Connection, PublishedIndex]]


@dataclass(eq=False)
class PostgresReader:
    """See `protocols.Reader`. `reopen` replaces a connection that was lost, and says what it sees."""

    connection: Connection
    published: PublishedIndex
    location: str
    ef_search: int
    reopen: Reopen
    missing: ClassVar[tuple[str, ...]] = ()

    @property
    def info(self) -> IndexInfo:
        return self.published.info

    def may_lack(self, filters: Filters) -> bool:
        return False

    def search(self, query: Query) -> Candidates:
        vector = checked_vector(query.vector, self.info.model.dimension)
        sql, values = search.statement(query, self.published, vector)
        settings = search.settings(query, self.ef_search)

        def both(connection: Connection) -> list[Row]:
            with connection.pipeline():  # one round trip
                connection.execute(search.SETTINGS, settings)
                found = connection.execute(sql, values, binary=True)
            return found.fetchall()

        return self._candidates(self._ask(both), vector)

    def frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        queries = {term: query for term in terms if (query := lexemes.term_query(term)) is not None}
        counts = self._rows(_FREQUENCIES, list(queries.values())) if queries else []
        return dict.fromkeys(terms, 0) | dict(zip(queries, (count for (count,) in counts), strict=True))

    def document(self, doc_id: str) -> Document | None:
        found = self._rows(f"SELECT {rows.WHOLE} FROM documents d WHERE d.name = %s", comparable(doc_id))
        return rows.document(found[0]) if found else None

    def documents(self, ids: Collection[str] | None = None) -> tuple[DocumentInfo, ...]:
        where = "" if ids is None else "WHERE d.name = ANY (%s)"
        values = () if ids is None else ([comparable(doc_id) for doc_id in ids],)
        found = self._rows(f"SELECT {rows.LISTED} FROM documents d {where}", *values)
        return tuple(sorted(map(rows.listed, found), key=lambda document: document.id))

    def sentences(self, doc_id: str) -> Iterator[Sentence]:
        sql = f"SELECT {rows.QUOTED} FROM sentences s {_OF_DOCUMENT} ORDER BY s.ordinal"
        return map(rows.sentence, self._rows(sql, comparable(doc_id)))

    def passages(self, doc_id: str) -> tuple[Passage, ...]:
        sql = f"SELECT {rows.PASSAGES} FROM passages s {_OF_DOCUMENT} ORDER BY s.ordinal"
        return tuple(shared.passage(doc_id, row) for row in self._rows(sql, comparable(doc_id)))

    def page(self, doc_id: str, number: int) -> Page | None:
        found = self._rows(
            f"SELECT {rows.PAGES} FROM pages s {_OF_DOCUMENT} AND s.number = %s", comparable(doc_id), number
        )
        return shared.page(found[0]) if found else None

    def neighbours(self, sentences: Sequence[Sentence]) -> list[Neighbours]:
        return [self._beside(sentence) for sentence in sentences]

    def _beside(self, sentence: Sentence) -> Neighbours:
        span = sentence.quote.span
        found = self._rows(_BESIDE, comparable(sentence.doc_id), span.start, span.end)
        beside = {after: rows.sentence(tuple(row)) for after, *row in found}
        return beside.get(False), beside.get(True)

    def vectors(self, doc_id: str) -> Vectors:
        sent = f"SELECT {self.published.vectors}_send(s.vector) FROM sentences s"
        found = self._rows(f"{sent} {_OF_DOCUMENT} AND s.key IS NOT NULL ORDER BY s.ordinal", comparable(doc_id))
        return self.received([vector for (vector,) in found])

    def received(self, sent: list[bytes]) -> Vectors:
        """Return the vectors that the server sent."""
        return rows.vectors(sent, kind=self.published.vectors, dimension=self.info.model.dimension)

    def _candidates(self, found: list[Row], vector: Vectors | None) -> Candidates:
        scored = [
            (rows.sentence(tuple(quoted)), lexical, ("lexical",) * by_lexical + ("dense",) * by_dense, tokens)
            for *quoted, lexical, by_lexical, by_dense, _, tokens in found
        ]
        return scored_candidates(scored, vector, self.received([row[-2] for row in found]))

    def _rows(self, sql: str, *values: object) -> list[Row]:
        return self._ask(lambda connection: connection.execute(sql, values, binary=True).fetchall())

    def _ask(self, question: Callable[[Connection], list[Row]]) -> list[Row]:
        """Ask the server; ask again over a new connection if this one was lost."""
        try:
            return question(self.connection)
        except psycopg.Error as error:
            if not faults.lost(error):
                raise faults.fault(self.location, error, doing="read") from error
        connection, published = self.reopen()
        if published != self.published:
            raise IndexFault(
                f"the connection to {self.location} was lost, and the index has changed since", hint="Ask again."
            )
        self.connection = connection
        with faults.reading(self.location):
            return question(connection)
