"""One generation of an index in PostgreSQL, or the documents of it that somebody may see."""

# ruff: noqa: S608  only constant names are put into SQL; values are always bound

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import psycopg

from quoth.errors import IndexFault
from quoth.language.stems import word_languages
from quoth.protocols import Neighbours
from quoth.stores import database_rows as shared
from quoth.stores.database_rows import Row
from quoth.stores.embedded.dense_index import checked_vector, scored_candidates
from quoth.stores.postgres import postgres_faults as faults
from quoth.stores.postgres import postgres_rows as rows
from quoth.stores.postgres import postgres_search as search
from quoth.stores.postgres.postgres_access import VisibleIndex
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
    Span,
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


@dataclass(eq=False)
class PostgresReader:
    """See `protocols.Reader`. `reopen` replaces a connection that was lost, and says what it sees.

    `visible` counts the documents that a role for asking sees; None for others. `listed` are the columns of a document.
    """

    connection: Connection
    published: PublishedIndex
    location: str
    ef_search: int
    reopen: Callable[[], tuple[Connection, PublishedIndex]]
    visible: VisibleIndex | None = None
    listed: str = rows.LISTED
    missing: ClassVar[tuple[str, ...]] = ()

    @property
    def info(self) -> IndexInfo:
        return self.published.info

    def may_lack(self, filters: Filters) -> bool:
        return False

    def search(self, query: Query) -> Candidates:
        vector = checked_vector(query.vector, self.info.model.dimension)

        def found_by(connection: Connection) -> list[Row]:
            return search.found_by(
                connection, query, self.published, vector, ef_search=self.ef_search, visible=self.visible
            )

        return self._candidates(self._ask(found_by), vector)

    def frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        languages = word_languages(self.info)
        queries = {term: query for term in terms if (query := rows.term_query(term, languages)) is not None}
        counts = self._held(list(queries.values())) if queries else []
        return dict.fromkeys(terms, 0) | dict(zip(queries, counts, strict=True))

    def _held(self, queries: list[str]) -> list[int]:
        if self.visible is None:
            return [count for (count,) in self._rows(_FREQUENCIES, queries)]
        return self.visible.held(queries, lambda new: [count for (count,) in self._rows(search.HELD, new)])

    def document(self, doc_id: str) -> Document | None:
        found = self._rows(f"SELECT {rows.WHOLE} FROM documents d WHERE d.name = %s", comparable(doc_id))
        return rows.document(found[0]) if found else None

    def texts(self, ids: Collection[str]) -> Iterator[tuple[str, bytes]]:
        statement = "SELECT d.name, d.text FROM documents d WHERE d.name = ANY (%s)"
        found = self._rows(statement, [comparable(doc_id) for doc_id in ids])
        return iter(sorted((rows.original(name), rows.original(text).encode("utf-8")) for name, text in found))

    def documents(self, ids: Collection[str] | None = None) -> tuple[DocumentInfo, ...]:
        where = "" if ids is None else "WHERE d.name = ANY (%s)"
        values = () if ids is None else ([comparable(doc_id) for doc_id in ids],)
        found = self._rows(f"SELECT {self.listed} FROM documents d {where}", *values)
        return tuple(sorted(map(rows.listed, found), key=lambda document: document.id))

    def sentences(self, doc_id: str, near: Span | None = None) -> Iterator[Sentence]:
        statement = f"SELECT {rows.QUOTED} FROM sentences s {_OF_DOCUMENT} ORDER BY s.ordinal"
        return shared.near_sentences(map(rows.sentence, self._rows(statement, comparable(doc_id))), near)

    def passages(self, doc_id: str) -> tuple[Passage, ...]:
        statement = f"SELECT {rows.PASSAGES} FROM passages s {_OF_DOCUMENT} ORDER BY s.ordinal"
        return tuple(shared.passage(doc_id, row) for row in self._rows(statement, comparable(doc_id)))

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

    def _rows(self, statement: str, *values: object) -> list[Row]:
        return self._ask(lambda connection: connection.execute(statement, values, binary=True).fetchall())

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
