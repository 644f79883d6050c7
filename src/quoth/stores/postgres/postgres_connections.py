"""Connections to one schema of a database: a pool for readers, and one connection of its own for each writer."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeAlias

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict
from psycopg_pool import ConnectionPool, PoolTimeout

from quoth.errors import IndexBusy, IndexFault, SettingsError
from quoth.stores.postgres import postgres_faults as faults
from quoth.stores.postgres.patience import PatientConnection

Connection: TypeAlias = psycopg.Connection[tuple[Any, ...]]

# What the driver warns of, our errors say. Without a handler it would go to the standard error as well.
logging.getLogger("psycopg").addHandler(logging.NullHandler())

_OPTIONS = {  # unless the URL says otherwise
    "application_name": "quoth",
    "connect_timeout": 10,
    # A server that is gone with its machine closes nothing: without these we would wait for it for hours.
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
_POOL_SECONDS = 30.0
_SOON_SECONDS = 3.0  # after which a pool that gave nothing is asked why, and gives up connecting
_AGAIN_SECONDS = 0.2
_IDLE_SECONDS = 120.0
_MOST = 16
_MOST_NAME = 63  # bytes; PostgreSQL would cut a longer name short without a word
_READ_MILLISECONDS = 30_000
_GRACE_SECONDS = 5.0  # after which a server that should have ended a statement no longer works
_WRITE_SECONDS = 60.0  # after which a writer that heard nothing asks over another connection whether the server works

# The extension may live in any schema: its types and operators must be found wherever that is. Where there is none yet,
# the first write makes it in `public`, and connections that are older than that must find it too.
_CONFIGURE = """
SELECT pg_catalog.set_config('search_path', pg_catalog.concat_ws(', ', pg_catalog.quote_ident({schema}), coalesce((
           SELECT pg_catalog.quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
           WHERE e.extname = 'vector'), 'public')), {local}),
       set_config('statement_timeout', {statement_timeout}, {local}),
       set_config('jit', 'off', {local}),
       set_config('max_parallel_workers_per_gather', '0', {local}),
       -- A client that is gone, with its machine or alone, must not keep its locks until the statement is done.
       set_config('tcp_keepalives_idle', '30', {local}),
       set_config('tcp_keepalives_interval', '10', {local}),
       set_config('tcp_keepalives_count', '3', {local}),
       CASE WHEN current_setting('client_connection_check_interval', true) IS NOT NULL  -- PostgreSQL 14 or later
            THEN set_config('client_connection_check_interval', '2s', {local}) END
"""
_BACKEND = "SELECT pg_catalog.pg_backend_pid()"
_LOOKS_AT_POOLER = 3


class Connections:
    """Makes connections as they are needed. After a fork the child makes its own."""

    def __init__(self, url: str, schema: str) -> None:
        named = schema.encode("utf-8", "surrogatepass")
        if not 0 < len(named) <= _MOST_NAME or "\0" in schema or named != schema.encode("utf-8", "replace"):
            raise SettingsError(f"{schema!a} cannot name a schema", hint=f"Use a name of 1 to {_MOST_NAME} bytes.")
        self.location = faults.describe_location(url, schema)
        self.schema = schema
        self._url = url
        self._given = conninfo_to_dict(url)
        self._lock = threading.Lock()
        self._has_own_sessions = False
        self._pool: ConnectionPool[Connection] | None = None
        self._process = os.getpid()
        self._inherited: list[ConnectionPool[Connection]] = []

    @contextmanager
    def borrowed(self, *, own_session: bool = False) -> Iterator[Connection]:
        """A connection in autocommit mode.

        `own_session` raises behind a pooler that gives each transaction another session; what runs
        `for_transaction` first works there too.
        """
        if own_session and not self._has_own_sessions:
            self._connect(_READ_MILLISECONDS, own_session=True).close()
        connection = self._borrow()
        try:
            yield connection
        finally:
            self.give_back(connection)

    def _borrow(self) -> Connection:
        pool = self._opened()
        with faults.reading(self.location):
            with suppress(PoolTimeout):
                return pool.getconn(_SOON_SECONDS)
            self._connect(_READ_MILLISECONDS).close()  # says what is wrong, if it is the server
            try:
                return pool.getconn(_POOL_SECONDS)
            except PoolTimeout as error:
                hint = "Ask fewer questions at once, or try again."
                raise IndexBusy(f"all {_MOST} connections to {self.location} are in use", hint=hint) from error

    def give_back(self, connection: Connection) -> None:
        """End the transaction of a connection, and let others use it."""
        with self._lock:
            pool = self._pool
        with suppress(psycopg.Error):
            connection.rollback()
        with suppress(psycopg.Error, ValueError):  # ValueError: the pool was closed and made again meanwhile
            if pool is not None:
                pool.putconn(connection)
                return
        connection.close()

    def replacement(self) -> Connection:
        """Return a new connection in place of a lost one; the caller gives it back.

        The pool's other connections may be about to fail too, although they still answer: a backend ends some time
        after the server asks it to. Idle connections that are already lost are dropped.
        """
        with suppress(psycopg.Error):
            self._opened().check()
        until = time.monotonic() + _SOON_SECONDS
        while True:
            try:
                return self._connect(_READ_MILLISECONDS)
            except IndexFault:  # a server that is started again may be back in a moment
                if time.monotonic() > until:
                    raise
            time.sleep(_AGAIN_SECONDS)

    @contextmanager
    def writer(self) -> Iterator[Connection]:
        """A connection of its own, in autocommit mode: a write may take long, and has temporary tables."""
        connection = self._connect(statement_milliseconds=0, own_session=True)
        connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED  # whatever the server's own is
        connection.patience, connection.alive = _WRITE_SECONDS, self._works
        try:
            yield connection
        finally:
            connection.close()

    def close(self, *, wait_seconds: float = 5.0) -> None:
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None and os.getpid() == self._process:
            pool.close(wait_seconds)

    def _abandon(self) -> bool:
        """Drop the idle connections too, each of which would have to be waited for; return that nothing is alive."""
        self.close(wait_seconds=0)
        return False

    def _works(self) -> bool:
        """Return whether the server still lets in and answers."""
        try:
            self._connect(_READ_MILLISECONDS).close()
        except IndexFault:
            return False
        return True

    def configure(self, connection: Connection, *, statement_milliseconds: int) -> None:
        """Let the connection see our schema; again after the schema or the extension was made."""
        if isinstance(connection, PatientConnection) and statement_milliseconds:
            connection.patience, connection.alive = statement_milliseconds / 1000 + _GRACE_SECONDS, self._abandon
        connection.execute(self._configuration(statement_milliseconds, local=False))

    def for_transaction(self) -> sql.Composed:
        """Return what configures a transaction that reads.

        A pooler may run it over a connection that another client has configured.
        """
        return self._configuration(_READ_MILLISECONDS, local=True)

    def _configuration(self, statement_milliseconds: int, *, local: bool) -> sql.Composed:
        return sql.SQL(_CONFIGURE).format(
            schema=sql.Literal(self.schema),
            statement_timeout=sql.Literal(str(statement_milliseconds)),
            local=sql.Literal(local),
        )

    def _opened(self) -> ConnectionPool[Connection]:
        with self._lock:
            if self._process != os.getpid() and self._pool is not None:
                self._inherited.append(self._pool)  # of the parent process: closing it would end its connections
                self._pool = None
            if self._pool is None:
                self._connect(_READ_MILLISECONDS).close()  # a pool keeps to itself why it cannot connect
                self._process = os.getpid()
                self._pool = ConnectionPool(
                    self._url,
                    kwargs=self._arguments(),
                    min_size=0,
                    max_size=_MOST,
                    connection_class=PatientConnection,
                    timeout=_POOL_SECONDS,
                    max_idle=_IDLE_SECONDS,
                    reconnect_timeout=_SOON_SECONDS,
                    num_workers=1,
                    configure=lambda made: self.configure(made, statement_milliseconds=_READ_MILLISECONDS),
                    open=True,
                )
            return self._pool

    def _connect(self, statement_milliseconds: int, *, own_session: bool = False) -> PatientConnection:
        try:
            connection = PatientConnection.connect(self._url, **self._arguments())
        except psycopg.Error as error:
            raise faults.unreachable(self.location, error) from error
        try:
            with faults.reading(self.location):
                if own_session and not self._has_own_sessions:
                    self._refuse_shared_sessions(connection)
                    self._has_own_sessions = True
                self.configure(connection, statement_milliseconds=statement_milliseconds)
        except BaseException:
            connection.close()
            raise
        return connection

    def _refuse_shared_sessions(self, connection: PatientConnection) -> None:
        """Raise where a pooler gives several clients one session: each would read with the schema of the other.

        A pooler tells its clients another process than the one that serves them. It shares sessions where a second
        client meets the process of the first, or where the first is served by another one afterwards.
        """
        first = _backend(connection)
        if first == connection.info.backend_pid:
            return
        for _ in range(_LOOKS_AT_POOLER):
            with suppress(psycopg.OperationalError), PatientConnection.connect(self._url, **self._arguments()) as other:
                other.patience = _SOON_SECONDS  # a pooler that has no more sessions to give lets it wait
                if _backend(other) != first == _backend(connection):
                    continue
                raise IndexFault(
                    f"{self.location} is behind a pooler that gives each transaction another session",
                    hint="Let the pooler work in session mode (pool_mode = session), or use the server's own address.",
                )

    def _arguments(self) -> dict[str, Any]:
        # No statement is prepared: a pooler that shares connections between transactions would look for it on another.
        options = {name: value for name, value in _OPTIONS.items() if name not in self._given}
        return {"autocommit": True, "prepare_threshold": None, **options}


def _backend(connection: Connection) -> int:
    """Return the process of the server that answers."""
    found = connection.execute(_BACKEND).fetchone()
    return int(found[0]) if found else 0
