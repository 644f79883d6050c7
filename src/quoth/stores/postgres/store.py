"""An index in one schema of a PostgreSQL database, for many machines: many readers, many writers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

import psycopg
from psycopg import errors, sql

from quoth.errors import NoIndex, SettingsError
from quoth.protocols import Embedder, Progress
from quoth.stores.postgres import described, faults, versions
from quoth.stores.postgres.connections import Connection, Connections
from quoth.stores.postgres.described import Published
from quoth.stores.postgres.reader import PostgresReader
from quoth.stores.postgres.writer import Write
from quoth.types import IndexInfo, Known, SplitDocument

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
    def place(self) -> str:
        return self._connections.place

    def size(self) -> int:
        """Bytes of all tables and indexes of the schema, as the server counts them."""
        connection = self._connections.borrow()
        try:
            with faults.reading(self.place):
                found = connection.execute(_SIZE, (self._connections.schema,)).fetchone()
        finally:
            self._connections.give_back(connection)
        return int(found[0]) if found else 0

    def published(self) -> float | None:
        try:
            connection, _ = self._begin()
        except NoIndex:
            return None
        try:
            with faults.reading(self.place):
                found = connection.execute(_PUBLISHED).fetchone()
        finally:
            self._end(connection)
        return float(found[0]) if found and found[0] is not None else None

    @contextmanager
    def read(self) -> Iterator[PostgresReader]:
        connection, published = self._begin()
        borrowed = [connection]

        def reopen() -> tuple[Connection, Published]:
            while borrowed:  # none where the last attempt failed
                self._end(borrowed.pop())
            fresh, seen = self._begin()
            borrowed.append(fresh)
            return fresh, seen

        try:
            described.check_analysis(self.place, published)
            yield PostgresReader(
                connection, published, place=self._connections.place, ef_search=self._ef_search, reopen=reopen
            )
        finally:
            for one in borrowed:
                self._end(one)

    def known(self) -> Mapping[str, Known]:
        try:
            connection, _ = self._begin()
        except NoIndex:
            return {}
        try:
            with faults.reading(self._connections.place):
                return described.read_known(connection)
        finally:
            self._end(connection)

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
            versions.bring_up_to_date(self._connections, connection)
            write = Write(
                connection,
                self._connections.place,
                schema=self._connections.schema,
                embedder=embedder,
                profile=profile,
                progress=progress,
                vectors=self._vectors,
            )
            return write.run(put, remove)

    def close(self) -> None:
        """Let go of the connections. The store can be used again."""
        self._connections.close()

    def _begin(self) -> tuple[Connection, Published]:
        """A connection inside a transaction that sees one generation, whatever is published meanwhile."""
        place = self._connections.place
        connection = self._connections.borrow()
        try:
            row = self._first(connection)
        except BaseException as error:
            self._end(connection)
            if not isinstance(error, psycopg.Error):
                raise
            if isinstance(error, errors.UndefinedTable | errors.InvalidSchemaName):
                raise no_index(place) from error
            if not faults.lost(error):
                raise faults.fault(place, error, doing="read") from error
            connection = self._connections.replacement()  # an idle connection outlives its server
            try:
                with faults.reading(place):
                    row = self._first(connection)
            except BaseException:
                self._end(connection)
                raise
        try:
            published = described.published(place, row)
            if published is None:
                raise no_index(place)
        except BaseException:
            self._end(connection)
            raise
        return connection, published

    def _first(self, connection: Connection) -> described.Row | None:
        """Begin, and read the row of the index: three statements in one round trip."""
        schema = self._connections.schema
        found = connection.execute(
            # The lock comes before anything is seen: a column that is made anew would be missing from an older view.
            sql.SQL("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; LOCK TABLE {} IN ACCESS SHARE MODE; {}").format(
                sql.Identifier(schema, "sentences"), described.select(schema)
            )
        )
        while found.nextset():
            pass
        return found.fetchone()

    def _end(self, connection: Connection) -> None:
        with suppress(psycopg.Error):
            connection.rollback()
        self._connections.give_back(connection)


def no_index(place: str) -> NoIndex:
    error = NoIndex(place)
    error.hint = "Ingest something into it first, or check the database URL and the schema."
    return error
