"""An index in one schema of a PostgreSQL database, for many machines: many readers, many writers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress

import psycopg
from psycopg import errors, sql

from quoth.errors import NoIndex, SettingsError
from quoth.protocols import Embedder, Progress
from quoth.stores.database_rows import Row
from quoth.stores.postgres import postgres_faults as faults
from quoth.stores.postgres import postgres_schema
from quoth.stores.postgres.postgres_connections import Connection, Connections
from quoth.stores.postgres.postgres_reader import PostgresReader
from quoth.stores.postgres.postgres_schema import PublishedIndex
from quoth.stores.postgres.postgres_writer import PostgresWriter
from quoth.types import IndexInfo, SplitDocument, StoredDocument

_SIZE = """
SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s AND c.relkind = 'r'
"""
_PUBLISHED = "SELECT extract(epoch FROM max(published))::float8 FROM ingestion_batches"


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

    def write(
        self,
        put: Iterable[SplitDocument],
        *,
        remove: Collection[str],
        embedder: Embedder,
        profile: tuple[str, str],
        progress: Progress | None,
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
            return writer.run(put, remove)

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
