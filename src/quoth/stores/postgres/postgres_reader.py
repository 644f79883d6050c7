"""One generation of the index, read inside one transaction."""

# ruff: noqa: S608  only constant names are put into SQL; values are always bound

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import psycopg

from quoth.errors import IndexFault, IndexMismatch
from quoth.stores.embedded.dense import cosines
from quoth.stores.embedded.rows import Row
from quoth.stores.postgres import faults, lexemes, rows, search
from quoth.stores.postgres.connections import Connection
from quoth.stores.postgres.described import Published
from quoth.stores.postgres.texts import comparable
from quoth.types import (
    Candidate,
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

_SENTENCES = f"SELECT {rows.QUOTED} FROM sentences s JOIN documents d ON d.id = s.document"
_FREQUENCIES = """
SELECT CASE WHEN a.query ~ '^[a-z0-9]+$' THEN coalesce((SELECT t.sentences FROM terms t WHERE t.lexeme = a.query), 0)
            ELSE (SELECT count(*) FROM sentences s WHERE s.search @@ a.query::tsquery) END
FROM unnest(%s::text[]) WITH ORDINALITY AS a (query, place) ORDER BY a.place
"""

Reopen: TypeAlias = Callable[[], tuple[Connection, Published]]


class PostgresReader:
    """See `protocols.Reader`. `reopen` takes the place of a connection that was lost, and says what it sees."""

    def __init__(
        self, connection: Connection, published: Published, *, place: str, ef_search: int, reopen: Reopen
    ) -> None:
        self._connection = connection
        self._published = published
        self._place = place
        self._ef_search = ef_search
        self._reopen = reopen

    @property
    def info(self) -> IndexInfo:
        return self._published.info

    @property
    def missing(self) -> tuple[str, ...]:
        return ()

    def may_lack(self, filters: Filters) -> bool:
        return False

    def search(self, query: Query) -> Candidates:
        vector = self._checked(query.vector)
        sql, values = search.statement(query, self._published, vector)
        settings = search.settings(query, self._ef_search)

        def both(connection: Connection) -> list[Row]:
            with connection.pipeline():  # one round trip
                connection.execute(search.SETTINGS, settings)
                found = connection.execute(sql, values, binary=True)
            return found.fetchall()

        return self._candidates(self._ask(both), vector)

    def frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        queries = {term: query for term in terms if (query := lexemes.query_of(term)) is not None}
        counts = self._rows(_FREQUENCIES, (list(queries.values()),)) if queries else []
        return dict.fromkeys(terms, 0) | dict(zip(queries, (count for (count,) in counts), strict=True))

    def document(self, doc_id: str) -> Document | None:
        found = self._rows(f"SELECT {rows.WHOLE} FROM documents d WHERE d.name = %s", (comparable(doc_id),))
        return rows.document(found[0]) if found else None

    def documents(self, ids: Collection[str] | None = None) -> tuple[DocumentInfo, ...]:
        where, values = ("", ()) if ids is None else ("WHERE d.name = ANY (%s)", ([comparable(one) for one in ids],))
        found = self._rows(f"SELECT {rows.LISTED} FROM documents d {where}", values)
        return tuple(sorted(map(rows.listed, found), key=lambda document: document.id))

    def sentences(self, doc_id: str) -> Iterator[Sentence]:
        found = self._rows(f"{_SENTENCES} WHERE d.name = %s ORDER BY s.ordinal", (comparable(doc_id),))
        return map(rows.sentence, found)

    def passages(self, doc_id: str) -> tuple[Passage, ...]:
        found = self._rows(
            f"SELECT {rows.PASSAGES} FROM passages p JOIN documents d ON d.id = p.document "
            "WHERE d.name = %s ORDER BY p.ordinal",
            (comparable(doc_id),),
        )
        return tuple(rows.passage(doc_id, row) for row in found)

    def page(self, doc_id: str, number: int) -> Page | None:
        found = self._rows(
            f"SELECT {rows.PAGES} FROM pages p JOIN documents d ON d.id = p.document "
            "WHERE d.name = %s AND p.number = %s",
            (comparable(doc_id), number),
        )
        return rows.page(found[0]) if found else None

    def neighbours(self, candidate: Sentence) -> tuple[Sentence | None, Sentence | None]:
        span = candidate.quote.span
        found = self._rows(
            f"SELECT s.ordinal > m.ordinal, {rows.QUOTED} FROM documents d "
            "JOIN sentences m ON m.document = d.id AND m.start = %s AND m.stop = %s "
            "JOIN sentences s ON s.document = d.id AND s.ordinal IN (m.ordinal - 1, m.ordinal + 1) WHERE d.name = %s",
            (span.start, span.end, comparable(candidate.doc_id)),
        )
        beside = {after: rows.sentence(tuple(row)) for after, *row in found}
        return beside.get(False), beside.get(True)

    def expect(self, sentences: Sequence[Sentence]) -> None:
        pass  # all of it is near

    def vectors(self, doc_id: str) -> Vectors:
        found = self._rows(
            f"SELECT {self._published.vectors}_send(s.vector) FROM sentences s JOIN documents d ON d.id = s.document "
            "WHERE d.name = %s AND s.key IS NOT NULL ORDER BY s.ordinal",
            (comparable(doc_id),),
        )
        return self._vectors([sent for (sent,) in found])

    def _vectors(self, sent: list[bytes]) -> Vectors:
        return rows.vectors(sent, kind=self._published.vectors, dimension=self.info.model.dimension)

    def _checked(self, vector: Vectors | None) -> Vectors | None:
        if vector is None:
            return None
        if vector.shape != (self.info.model.dimension,):
            raise IndexMismatch(
                f"a vector of shape {vector.shape} cannot be searched among {self.info.model.dimension} dimensions",
                hint="Ask with the model that the index was made with; quoth status names it.",
            )
        return vector.astype(np.float32, copy=False)

    def _candidates(self, found: list[Row], vector: Vectors | None) -> Candidates:
        """What was found, ordered by sentence id; the cosines are computed here, as the embedded store does."""
        vectors = self._vectors([row[-2] for row in found])
        dense = np.zeros(len(found)) if vector is None else cosines(vector, vectors)
        items = [
            Candidate(
                sentence=rows.sentence(tuple(quoted)),
                lexical=lexical,
                dense=float(cosine),
                found_by=("lexical",) * by_lexical + ("dense",) * by_dense,
                tokens=tokens,
            )
            for (*quoted, lexical, by_lexical, by_dense, _, tokens), cosine in zip(found, dense, strict=True)
        ]
        order = sorted(range(len(items)), key=lambda place: items[place].sentence.id)
        return Candidates(tuple(items[place] for place in order), vectors[order])

    def _rows(self, sql: str, values: Sequence[Any] | Mapping[str, Any]) -> list[Row]:
        return self._ask(lambda connection: connection.execute(sql, values, binary=True).fetchall())

    def _ask(self, question: Callable[[Connection], list[Row]]) -> list[Row]:
        """Ask the server; once more over a fresh connection where this one was lost."""
        try:
            return question(self._connection)
        except psycopg.Error as error:
            if not faults.lost(error):
                raise faults.fault(self._place, error, doing="read") from error
        connection, published = self._reopen()
        if published != self._published:
            raise IndexFault(
                f"the connection to {self._place} was lost, and the index has changed since", hint="Ask again."
            )
        self._connection = connection
        with faults.reading(self._place):
            return question(connection)
