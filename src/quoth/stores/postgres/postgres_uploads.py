"""The database of an index as the place of jobs and uploaded files. The statements are those of the service."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

import psycopg
from psycopg import errors

from quoth.errors import IndexFault, JobsUnavailable
from quoth.stores.database_rows import Row
from quoth.stores.postgres import postgres_faults as faults
from quoth.stores.postgres import postgres_schema
from quoth.stores.postgres.postgres_connections import Connection, Connections
from quoth.stores.postgres.postgres_publish import lock_number
from quoth.stores.postgres.postgres_rows import comparable, original

_WORKER, _WRITER = -2, -3  # beside the locks of writers of the index


class PostgresUploads:
    """See `protocols.JobDatabase`.

    The worker holds an advisory lock of its session, which the server releases when the session ends, however that
    comes about. All that the worker changes goes over this very session: without the lock it can change nothing.
    """

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._key = lock_number(f"quoth {connections.schema}")
        self._worker = threading.local()
        self._has_tables = False

    @contextmanager
    def transaction(self, *, alone: bool = False) -> Iterator[Statements]:
        with self._unavailable_on_fault(), self._session() as connection, connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL READ COMMITTED")  # whatever the server's own is
            if alone:
                connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", (self._key, _WRITER))
            yield Statements(connection)

    @contextmanager
    def alone(self) -> Iterator[bool]:
        with ExitStack() as stack:
            with self._unavailable_on_fault():
                connection = stack.enter_context(self._connections.writer())
                self._check_tables(connection)
                connection.execute("SET idle_session_timeout = 0")  # a long write leaves it idle
                found = connection.execute("SELECT pg_try_advisory_lock(%s, %s)", (self._key, _WORKER)).fetchone()
            is_ours = found == (True,)
            if is_ours:
                self._worker.connection = connection
                stack.callback(self._release, connection)
            yield is_ours

    def _release(self, connection: Connection) -> None:
        """Release the lock now: the server may see only a moment later that a connection was closed."""
        del self._worker.connection
        with suppress(psycopg.Error):
            connection.execute("SELECT pg_advisory_unlock(%s, %s)", (self._key, _WORKER))

    @contextmanager
    def _session(self) -> Iterator[Connection]:
        """The session of the lock, in the thread that holds it; else a connection that others use too."""
        if (own := getattr(self._worker, "connection", None)) is not None:
            yield own
            return
        with ExitStack() as stack:
            connection = stack.enter_context(self._connections.borrowed(own_session=True))
            try:
                connection.execute("SELECT 1")
            except psycopg.Error as error:
                if not faults.lost(error):
                    raise
                connection = self._connections.replacement()  # an idle connection outlives its server
                stack.callback(self._connections.give_back, connection)
            self._check_tables(connection)
            yield connection

    def _check_tables(self, connection: Connection) -> None:
        """Make an index without documents where there is none: the first upload comes before it."""
        if self._has_tables:
            return
        version = postgres_schema.version_of(connection, self._connections.schema)
        if version is None:
            with self._connections.writer() as writer:
                postgres_schema.bring_up_to_date(self._connections, writer)
        else:
            postgres_schema.check_version(self._connections.location, version)
        self._has_tables = True

    @contextmanager
    def _unavailable_on_fault(self) -> Iterator[None]:
        """Raise `JobsUnavailable` in place of any fault of the database."""
        try:
            with faults.writing(self._connections.location):
                yield
        except IndexFault as error:
            self._has_tables &= not isinstance(error.__cause__, errors.UndefinedTable)
            raise JobsUnavailable(str(error), hint=error.hint) from error


class Statements:
    """Statements in one transaction. Values stand where `?` does."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def execute(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        given = [comparable(value) if isinstance(value, str) else value for value in values]
        cursor = self._connection.execute(statement.replace("?", "%s").encode(), given, binary=True)
        if cursor.description is None:
            return []
        return [tuple(original(value) if isinstance(value, str) else value for value in row) for row in cursor]
