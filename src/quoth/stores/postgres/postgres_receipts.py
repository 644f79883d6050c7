"""Receipts that their owner keeps in a table beside the index."""

from __future__ import annotations

from contextlib import closing

import psycopg
from psycopg import sql

from quoth.errors import IndexFault
from quoth.stores.postgres.postgres_connections import Connections


def kept_receipts(url: str, *, schema: str, table: str) -> list[tuple[str, str]]:
    """Return the columns `name` and `receipt` of a table, as text and ordered by name.

    `table` may begin with a schema and a point; else the search path of the index finds it. Raise `IndexFault` when
    it cannot be read.
    """
    query = sql.SQL("SELECT name::text, receipt::text FROM {} WHERE receipt IS NOT NULL ORDER BY name")
    with closing(Connections(url, schema)) as connections, connections.borrowed(own_session=True) as connection:
        try:
            rows = connection.execute(query.format(sql.Identifier(*table.split(".", 1)))).fetchall()
        except psycopg.Error as error:
            message = f"the table '{table}' of receipts cannot be read: {error.diag.message_primary or error}"
            hint = "Give a table with the columns name and receipt, which the role of the index may read."
            raise IndexFault(message, hint=hint) from error
    return [(str(name), receipt) for name, receipt in rows]
