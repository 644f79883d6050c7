"""The query log in the database of the index, for services of many processes: the same entries as in a file."""

# ruff: noqa: S608  only constant names are put into SQL; values are always bound

from __future__ import annotations

import time
from collections.abc import Callable

import psycopg
from psycopg import errors, sql

from quoth.stores.postgres import postgres_faults as faults
from quoth.stores.postgres.postgres_connections import Connections
from quoth.stores.postgres.postgres_store import no_index
from quoth.stores.query_log import COLUMNS, QueryEntry, RetrievalLog, instant, read_row

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


class PostgresQueryLog(RetrievalLog):
    """A query log in a migrated schema."""

    def __init__(self, url: str, *, schema: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._connections = Connections(url, schema)
        # Named in full: another index may have one further down the search path.
        self._table = sql.Identifier(schema, "query_log")
        super().__init__(f"at {self._connections.location}", failures=(psycopg.Error,), clock=clock)

    def entries(self, since: str | None, limit: int | None) -> tuple[QueryEntry, ...]:
        start = "-infinity" if since is None else instant(since)
        location = self._connections.location
        with self._connections.borrowed(own_session=True) as connection, faults.reading(location):
            try:
                rows = connection.execute(sql.SQL(_SELECT).format(self._table), (start, limit)).fetchall()
            except (errors.UndefinedTable, errors.InvalidSchemaName) as error:
                raise no_index(location) from error
        return tuple(read_row(row) for row in reversed(rows))

    def close(self) -> None:
        self._connections.close()

    def _write(self, row: tuple[object, ...]) -> None:
        values = [value.replace("\0", " ") if isinstance(value, str) else value for value in row]
        with self._connections.borrowed(own_session=True) as connection:
            connection.execute(sql.SQL(_INSERT).format(self._table), values)
