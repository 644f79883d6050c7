"""The numbered migrations of the schema, applied in order, one process at a time."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

import psycopg
from psycopg import errors, sql

from quoth.errors import IndexFault, IndexMismatch
from quoth.stores.postgres import faults
from quoth.stores.postgres.connections import Connection, Connections

_LOCK = 0x51754D67  # "QuMg": one for the whole database, because the extension belongs to all schemas
_LOCK_TIMEOUT = "60s"
_PGVECTOR = (0, 8)  # iterative scans, without which a filter would lose results


@dataclass(frozen=True, slots=True)
class Migration:
    version: int
    name: str
    sql: str


@cache
def migrations() -> tuple[Migration, ...]:
    """All of this program, in order."""
    folder = files("quoth.stores.postgres") / "migrations"
    found = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return tuple(
        Migration(int(name.partition("_")[0]), name.removesuffix(".sql"), (folder / name).read_text(encoding="utf-8"))
        for name in found
    )


def latest() -> int:
    return migrations()[-1].version


def migrate(url: str, schema: str) -> int:
    """Bring `schema` of the database at `url` to the version of this program, and return it."""
    connections = Connections(url, schema)
    with connections.writer() as connection:
        return bring_up_to_date(connections, connection)


def version_of(connection: Connection, schema: str) -> int | None:
    """The version of the schema; None when it has none."""
    # Named in full: another program may have a table of this name further down the search path.
    table = sql.Identifier(schema, "migrations")
    try:
        found = connection.execute(sql.SQL("SELECT max(version) FROM {}").format(table)).fetchone()
    except (errors.UndefinedTable, errors.InvalidSchemaName):
        return None
    return found[0] if found else None


def check(place: str, version: int) -> None:
    """Refuse a schema of another version."""
    if version > latest():
        raise IndexMismatch(
            f"{place} has version {version}; this version of Quoth knows {latest()}", hint="Update Quoth."
        )
    if version < latest():
        raise IndexMismatch(
            f"{place} has version {version}; this version of Quoth reads {latest()}",
            hint="Bring it up to date: quoth migrate --store ADDRESS.",
        )


def bring_up_to_date(connections: Connections, connection: Connection) -> int:
    """Apply what is missing, in one transaction; the connection sees the schema afterwards."""
    place = connections.place
    with faults.writing(place):
        found = version_of(connection, connections.schema)
    if found is not None and found >= latest():
        check(place, found)
        return found
    with faults.writing(place), connection.transaction():
        connection.execute(sql.SQL("SET LOCAL lock_timeout = {}").format(_LOCK_TIMEOUT))
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        _check_encoding(place, connection)
        _make_schema(connections, connection)
        _make_extension(place, connection)
        connections.configure(connection, statement_milliseconds=0)  # the extension may be new
        connection.execute(
            "CREATE TABLE IF NOT EXISTS migrations (version integer PRIMARY KEY CHECK (version > 0), "
            "name text NOT NULL, applied timestamptz NOT NULL DEFAULT now())"
        )
        done = version_of(connection, connections.schema) or 0  # again: another process may have been faster
        for migration in migrations():
            if migration.version > done:
                connection.execute(sql.SQL(migration.sql))
                connection.execute(
                    "INSERT INTO migrations (version, name) VALUES (%s, %s)", (migration.version, migration.name)
                )
    version = max(done, latest())
    check(place, version)
    return version


def _check_encoding(place: str, connection: Connection) -> None:
    found = connection.execute("SELECT current_setting('server_encoding')").fetchone()
    if found != ("UTF8",):
        raise IndexFault(
            f"{place} keeps text as {found[0] if found else '?'}, which cannot hold every character",
            hint="Make the database with the encoding UTF8: createdb --encoding=UTF8 --template=template0 NAME.",
        )


def _make_schema(connections: Connections, connection: Connection) -> None:
    exists = connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (connections.schema,)).fetchone()
    if exists is None:  # asked first, because `IF NOT EXISTS` needs the right to make one all the same
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(connections.schema)))


def _make_extension(place: str, connection: Connection) -> None:
    """Have pgvector, in a schema of its own right: one that goes with ours would take it from all others."""
    if (found := _extension(connection)) is None:
        try:
            with connection.transaction():
                connection.execute("CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public")
        except psycopg.Error as error:
            raise faults.no_extension(place, error) from error
        found = _extension(connection)
    version = found or "0"
    if tuple(map(int, version.split(".")[:2])) < _PGVECTOR:
        raise IndexFault(
            f"{place} has pgvector {version}, and {'.'.join(map(str, _PGVECTOR))} or later is needed",
            hint="Update it on the server, then run in this database: ALTER EXTENSION vector UPDATE;",
        )


def _extension(connection: Connection) -> str | None:
    found = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
    return found[0] if found else None
