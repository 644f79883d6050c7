"""The query log in the database of the index, for services of many processes: the same entries as in a file."""

# ruff: noqa: S608  only constant names are put into SQL; values are always bound

from __future__ import annotations

import logging
import threading
import time as clocks
from collections.abc import Callable
from contextlib import suppress

import psycopg
from psycopg import errors, sql

from quoth.errors import IndexFault
from quoth.quality import QualitySummary, summary_of
from quoth.stores.postgres import faults
from quoth.stores.postgres.connections import Connection, Connections
from quoth.stores.postgres.store import no_index
from quoth.stores.query_rows import COLUMNS, QueryEntry, entry_of, instant, read_row, row_of
from quoth.types import Retrieval

REST_SECONDS = 5.0
"""How long a database that failed is left alone."""

_NAMES = ", ".join(f'"{name}"' for name in COLUMNS)
_INSERT = f"INSERT INTO {{}} ({_NAMES}) VALUES ({', '.join(['%s'] * len(COLUMNS))})"
# As the file has them: a time in one form, and JSON as text.
_SHOWN = {
    "time": """to_char("time" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"+00:00"')""",
    "filters": "filters::text",
    "degraded": "degraded::text",
}
_SELECT = (
    f"SELECT {', '.join(_SHOWN.get(name, name) for name in COLUMNS)} FROM {{}} "
    'WHERE "time" >= %s ORDER BY "time" DESC, id DESC LIMIT %s'
)
_log = logging.getLogger(__name__)


class PostgresQueryLog:
    """As `QueryLog`, in a schema that has been migrated. Whatever happens to the database, a question goes on."""

    def __init__(self, url: str, *, schema: str, clock: Callable[[], float] = clocks.monotonic) -> None:
        self._connections = Connections(url, schema)
        # Named in full: another index may have one further down the search path.
        self._table = sql.Identifier(schema, "query_log")
        self._clock = clock
        self._lock = threading.Lock()
        self._again: float | None = None

    def record(self, retrieval: Retrieval, *, time: str, milliseconds: float) -> None:
        """Write what a retrieval came to; `time` is ISO 8601."""
        self.add(entry_of(retrieval, time=time, milliseconds=milliseconds))

    def add(self, entry: QueryEntry) -> None:
        """Write one entry; where that fails it is dropped, which is logged once until it works again."""
        with self._lock:
            if self._again is not None and self._clock() < self._again:
                return
        try:
            self._written(row_of(entry))
        except (psycopg.Error, IndexFault) as error:
            with self._lock:
                if self._again is None:
                    place = self._connections.place
                    _log.warning("the query log at %s cannot be written: %s. Questions go on without it.", place, error)
                self._again = self._clock() + REST_SECONDS
            return
        with self._lock:
            self._again = None

    def entries(self, since: str | None, limit: int | None) -> tuple[QueryEntry, ...]:
        """The latest `limit` entries from the time `since` on, the oldest first; None means all."""
        start = "-infinity" if since is None else instant(since)
        place = self._connections.place
        connection = self._connections.borrow()
        try:
            with faults.reading(place):
                rows = connection.execute(sql.SQL(_SELECT).format(self._table), (start, limit)).fetchall()
        except IndexFault as fault:
            if isinstance(fault.__cause__, errors.UndefinedTable | errors.InvalidSchemaName):
                raise no_index(place) from fault
            raise
        finally:
            self._end(connection)
        return tuple(read_row(row) for row in reversed(rows))

    def summary(self, since: str | None, limit: int | None) -> QualitySummary:
        """The same entries together."""
        return summary_of(entry.quality for entry in self.entries(since, limit))

    def close(self) -> None:
        """Let go of the connections. The log can be used again."""
        self._connections.close()

    def _written(self, row: tuple[object, ...]) -> None:
        connection = self._connections.borrow()
        try:
            connection.execute(
                sql.SQL(_INSERT).format(self._table),
                [one.replace("\0", " ") if isinstance(one, str) else one for one in row],
            )
        finally:
            self._end(connection)

    def _end(self, connection: Connection) -> None:
        with suppress(psycopg.Error):
            connection.rollback()
        self._connections.give_back(connection)
