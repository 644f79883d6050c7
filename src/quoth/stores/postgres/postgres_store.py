"""An index in one schema of a PostgreSQL database, for many machines: many readers, many writers."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress

import psycopg
from psycopg import errors, sql

from quoth.errors import CorpusError, IndexFault, LabelsUnsupported, NoIndex, SettingsError
from quoth.protocols import Embedder, Progress
from quoth.stores.database_rows import Row
from quoth.stores.postgres import postgres_access, postgres_schema
from quoth.stores.postgres import postgres_faults as faults
from quoth.stores.postgres import postgres_rows as rows
from quoth.stores.postgres.postgres_access import Described, VisibleIndex, VisibleIndexes
from quoth.stores.postgres.postgres_connections import Connection, Connections
from quoth.stores.postgres.postgres_publish import set_labels
from quoth.stores.postgres.postgres_reader import PostgresReader
from quoth.stores.postgres.postgres_schema import PublishedIndex
from quoth.stores.postgres.postgres_uploads import PostgresUploads
from quoth.stores.postgres.postgres_writer import PostgresWriter
from quoth.types import (
    EVERYTHING,
    Access,
    IndexInfo,
    Refusals,
    Refused,
    SplitDocument,
    StoredDocument,
)

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
        self._visible = VisibleIndexes()
        self._asks = False  # whether the role is one for asking, as its first read shows

    @property
    def location(self) -> str:
        return self._connections.location

    @property
    def uploads(self) -> PostgresUploads:
        """What keeps the jobs and files of uploads beside the index."""
        return PostgresUploads(self._connections)

    def size(self) -> int:
        """Return the bytes of all tables and indexes of the schema."""
        with self._connections.borrowed() as connection, faults.reading(self.location):
            found = connection.execute(_SIZE, (self._connections.schema,)).fetchone()
        return int(found[0]) if found else 0

    def published(self) -> float | None:
        with suppress(NoIndex), ExitStack() as stack:
            connection, _, visible = self._begin(stack)
            if visible is not None:  # what was ingested when is not for a role that asks
                return None
            with faults.reading(self.location):
                found = connection.execute(_PUBLISHED).fetchone()
            return float(found[0]) if found and found[0] is not None else None
        return None

    @contextmanager
    def read(self, access: Access = EVERYTHING) -> Iterator[PostgresReader]:
        with ExitStack() as stack:
            connection, published, visible = self._begin(stack, access)
            if visible is None:
                postgres_schema.check_analysis(self.location, published)

            def reopen() -> tuple[Connection, PublishedIndex]:
                stack.close()
                return self._begin(stack, access)[:2]

            listed = rows.LISTED if access.labels is None else rows.LISTED.replace("d.access", "'{}'::text[]")
            yield PostgresReader(
                connection, published, self.location, self._ef_search, reopen, visible=visible, listed=listed
            )

    def relabel(self, labels: Mapping[str, Collection[str]]) -> None:
        with self._connections.writer() as connection:
            with faults.writing(self.location):
                published = postgres_schema.read_published(connection, self.location, schema=self._connections.schema)
            if published is None:
                raise no_index(self.location)
            with faults.writing(self.location):
                unknown = set_labels(connection, self._connections.schema, labels, stated=False)
        if unknown is not None:
            raise CorpusError(f"the index holds no document '{unknown}'", hint="quoth docs lists the ids.")

    def stored_documents(self) -> Mapping[str, StoredDocument]:
        with suppress(NoIndex), ExitStack() as stack:
            connection, *_ = self._begin(stack)
            with faults.reading(self.location):
                return postgres_schema.read_stored_documents(connection)
        return {}

    def refused_files(self) -> tuple[tuple[str, Refused], ...]:
        with suppress(NoIndex), ExitStack() as stack:
            connection, _, visible = self._begin(stack)
            if visible is not None:
                return ()
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
        labels: Mapping[str, tuple[str, ...]] | None = None,
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
            return writer.run(put, remove, refusals, labels)

    def close(self) -> None:
        self._connections.close()

    def _begin(
        self, stack: ExitStack, access: Access = EVERYTHING
    ) -> tuple[Connection, PublishedIndex, VisibleIndex | None]:
        """Begin a transaction that sees one generation, whatever is published meanwhile; `stack` ends it.

        The third value is None for a role that may read every table.
        """
        denied: IndexFault | None = None
        if access.labels is None and not self._asks:
            try:
                connection, row = self._begun(stack, access, postgres_schema.select_published(self._connections.schema))
            except IndexFault as error:
                if not isinstance(error.__cause__, errors.InsufficientPrivilege):
                    raise
                denied = error  # a role for asking may not read what describes every document
                stack.close()
            else:
                published = postgres_schema.parse_published(self.location, row)
                if published is None:
                    raise no_index(self.location)
                return connection, published, None
        connection, row = self._begun(stack, access, postgres_access.describe(self._connections.schema))
        described = postgres_access.parse_described(self.location, row)
        if described is None:
            raise no_index(self.location)
        if denied is not None and not described.limited:
            raise denied
        visible = self._seen(connection, described, access)
        if access.labels is None:
            self._asks = True
            return connection, postgres_access.whole(visible.published, described), visible
        return connection, visible.published, visible

    def _seen(self, connection: Connection, described: Described, access: Access) -> VisibleIndex:
        if not described.limited:
            raise LabelsUnsupported(
                f"{self.location} is opened as a user that no policy limits to the documents that somebody may see",
                hint="Use the role for asking that roles.sql makes, and run that script again after `quoth migrate`.",
            )
        postgres_access.check_described(self.location, described)

        def count() -> list[Row]:
            return connection.execute(postgres_access.VISIBLE, binary=True).fetchall()

        with faults.reading(self.location):
            return self._visible.of(described, access, count)

    def _begun(self, stack: ExitStack, access: Access, select: sql.Composed) -> tuple[Connection, Row | None]:
        """Borrow a connection, and begin to read for `access` with the row of the index that `select` gives."""
        connection = stack.enter_context(self._connections.borrowed())
        try:
            return connection, self._first(connection, access, select)
        except psycopg.Error as error:
            if isinstance(error, errors.UndefinedTable | errors.InvalidSchemaName):
                raise no_index(self.location) from error
            if isinstance(error, errors.UndefinedColumn):
                connection.rollback()
                version = postgres_schema.version_of(connection, self._connections.schema)
                postgres_schema.check_version(self.location, version or 0)
            if not faults.lost(error):
                raise faults.fault(self.location, error, doing="read") from error
            stack.close()
            connection = self._connections.replacement()  # an idle connection outlives its server
            stack.callback(self._connections.give_back, connection)
            with faults.reading(self.location):
                return connection, self._first(connection, access, select)

    def _first(self, connection: Connection, access: Access, select: sql.Composed) -> Row | None:
        """Begin, and read the row of the index, in one round trip. All settings end with the transaction."""
        found = connection.execute(
            # Lock before the snapshot is taken: an older snapshot would miss a column that is created again.
            sql.SQL(
                "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; LOCK TABLE {} IN ACCESS SHARE MODE; {}; {}; {}"
            ).format(
                sql.Identifier(self._connections.schema, "sentences"),
                self._connections.for_transaction(),
                postgres_access.settings(access),
                select,
            )
        )
        while found.nextset():
            pass
        return found.fetchone()


def no_index(location: str) -> NoIndex:
    error = NoIndex(location)
    error.hint = "Ingest something into it first, or check the database URL and the schema."
    return error
