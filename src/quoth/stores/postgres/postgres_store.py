"""An index in one schema of a PostgreSQL database, for many machines: many readers, many writers."""

# ruff: noqa: S608  only constant names are put into SQL; values are always bound

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import ClassVar

import psycopg
from psycopg import errors, sql

from quoth.errors import IndexFault, NoIndex, SettingsError
from quoth.language.stems import word_languages
from quoth.protocols import Embedder, Neighbours, Progress
from quoth.stores import database_rows as shared
from quoth.stores.database_rows import Row
from quoth.stores.embedded.dense_index import checked_vector, scored_candidates
from quoth.stores.postgres import postgres_faults as faults
from quoth.stores.postgres import postgres_rows as rows
from quoth.stores.postgres import postgres_schema
from quoth.stores.postgres import postgres_search as search
from quoth.stores.postgres.postgres_connections import Connection, Connections
from quoth.stores.postgres.postgres_rows import comparable
from quoth.stores.postgres.postgres_schema import PublishedIndex
from quoth.stores.postgres.postgres_writer import PostgresWriter
from quoth.types import (
    Candidates,
    Document,
    DocumentInfo,
    Filters,
    IndexInfo,
    Page,
    Passage,
    Query,
    Refusals,
    Refused,
    Sentence,
    SplitDocument,
    StoredDocument,
    Vectors,
)

_SIZE = """
SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relkind = 'r'
"""
_PUBLISHED = "SELECT extract(epoch FROM max(published))::float8 FROM ingestion_batches"
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


class PostgresStore:
    """See `protocols.Store`. `vectors` is how a new index keeps them; `ef_search` how far HNSW looks, at least."""

    kind = "postgres"

    def __init__(self, url: str, *, schema: str, vectors: str = "vector", ef_search: int = 200) -> None:
        if vectors not in {"vector", "halfvec"}:
            raise SettingsError(f"vectors cannot be kept as '{vectors}'", hint="Choose 'vector' or 'halfvec'.")
        self._connections = Connections(url, schema)
        self._vectors = vectors
        self._ef_search = ef_search

    @property
    def location(self) -> str:
        return self._connections.location

    def size(self) -> int:
        """Return the bytes of all tables and indexes of the schema."""
        with self._connections.borrowed() as connection, faults.reading(self.location):
            found = connection.execute(_SIZE, (self._connections.schema,)).fetchone()
        return int(found[0]) if found else 0

    def published(self) -> float | None:
        with suppress(NoIndex), ExitStack() as stack:
            connection, _ = self._begin(stack)
            with faults.reading(self.location):
                found = connection.execute(_PUBLISHED).fetchone()
            return float(found[0]) if found and found[0] is not None else None
        return None

    @contextmanager
    def read(self) -> Iterator[PostgresReader]:
        with ExitStack() as stack:
            connection, published = self._begin(stack)
            postgres_schema.check_analysis(self.location, published)

            def reopen() -> tuple[Connection, PublishedIndex]:
                stack.close()
                return self._begin(stack)

            yield PostgresReader(connection, published, self.location, self._ef_search, reopen)

    def stored_documents(self) -> Mapping[str, StoredDocument]:
        with suppress(NoIndex), ExitStack() as stack:
            connection, _ = self._begin(stack)
            with faults.reading(self.location):
                return postgres_schema.read_stored_documents(connection)
        return {}

    def refused_files(self) -> tuple[tuple[str, Refused], ...]:
        with suppress(NoIndex), ExitStack() as stack:
            connection, _ = self._begin(stack)
            with faults.reading(self.location):
                return postgres_schema.read_refused_files(connection)
        return ()

    def write(
        self,
        put: Iterable[SplitDocument],
        *,
        remove: Collection[str],
        embedder: Embedder,
        profile: tuple[str, str],
        progress: Progress | None,
        refusals: Refusals | None = None,
    ) -> IndexInfo:
        with self._connections.writer() as connection:
            postgres_schema.bring_up_to_date(self._connections, connection)
            with faults.writing(self.location):
                published = postgres_schema.read_published(connection, self.location, schema=self._connections.schema)
            writer = PostgresWriter(
                old=published.info if published else None,
                embedder=embedder,
                profile=profile,
                progress=progress,
                connection=connection,
                location=self.location,
                schema=self._connections.schema,
                vectors=self._vectors,
                published=published,
            )
            return writer.run(put, remove, refusals)

    def close(self) -> None:
        self._connections.close()

    def _begin(self, stack: ExitStack) -> tuple[Connection, PublishedIndex]:
        """Begin a transaction that sees one generation, whatever is published meanwhile; `stack` ends it."""
        connection = stack.enter_context(self._connections.borrowed())
        try:
            row = self._first(connection)
        except psycopg.Error as error:
            if isinstance(error, errors.UndefinedTable | errors.InvalidSchemaName):
                raise no_index(self.location) from error
            if not faults.lost(error):
                raise faults.fault(self.location, error, doing="read") from error
            stack.close()
            connection = self._connections.replacement()  # an idle connection outlives its server
            stack.callback(self._connections.give_back, connection)
            with faults.reading(self.location):
                row = self._first(connection)
        published = postgres_schema.parse_published(self.location, row)
        if published is None:
            raise no_index(self.location)
        return connection, published

    def _first(self, connection: Connection) -> Row | None:
        """Begin, and read the row of the index: three statements in one round trip."""
        schema = self._connections.schema
        found = connection.execute(
            # Lock before the snapshot is taken: an older snapshot would miss a column that is created again.
            sql.SQL("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; LOCK TABLE {} IN ACCESS SHARE MODE; {}").format(
                sql.Identifier(schema, "sentences"), postgres_schema.select_published(schema)
            )
        )
        while found.nextset():
            pass
        return found.fetchone()


def no_index(location: str) -> NoIndex:
    error = NoIndex(location)
    error.hint = "Ingest something into it first, or check the database URL and the schema."
    return error


@dataclass(eq=False)
class PostgresReader:
    """See `protocols.Reader`. `reopen` replaces a connection that was lost, and says what it sees."""

    connection: Connection
    published: PublishedIndex
    location: str
    ef_search: int
    reopen: Callable[[], tuple[Connection, PublishedIndex]]
    missing: ClassVar[tuple[str, ...]] = ()

    @property
    def info(self) -> IndexInfo:
        return self.published.info

    def may_lack(self, filters: Filters) -> bool:
        return False

    def search(self, query: Query) -> Candidates:
        vector = checked_vector(query.vector, self.info.model.dimension)
        statement, values = search.statement(query, self.published, vector)
        settings = search.settings(query, self.ef_search)

        def both(connection: Connection) -> list[Row]:
            with connection.pipeline():  # one round trip
                connection.execute(search.SETTINGS, settings)
                found = connection.execute(statement, values, binary=True)
            return found.fetchall()

        return self._candidates(self._ask(both), vector)

    def frequencies(self, terms: Sequence[str]) -> dict[str, int]:
        languages = word_languages(self.info)
        queries = {term: query for term in terms if (query := rows.term_query(term, languages)) is not None}
        counts = self._rows(_FREQUENCIES, list(queries.values())) if queries else []
        return dict.fromkeys(terms, 0) | dict(zip(queries, (count for (count,) in counts), strict=True))

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
        found = self._rows(f"SELECT {rows.LISTED} FROM documents d {where}", *values)
        return tuple(sorted(map(rows.listed, found), key=lambda document: document.id))

    def sentences(self, doc_id: str) -> Iterator[Sentence]:
        statement = f"SELECT {rows.QUOTED} FROM sentences s {_OF_DOCUMENT} ORDER BY s.ordinal"
        return map(rows.sentence, self._rows(statement, comparable(doc_id)))

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
