"""Errors of the server and the driver as index errors with a next step. They never hold a password."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict

from quoth.errors import IndexBusy, IndexDamaged, IndexFault, IndexMismatch, IndexUnwritable, QuothError, SettingsError

_WHERE = "Check the address in the database URL, and that the server runs and may be reached from here."
_WHO = "Check the user and the password in the database URL, or PGPASSWORD and ~/.pgpass."
_LATER = "Try again when the other process is done."
_CROWDED = "Too many connections: close some, or raise max_connections on the server."
_RIGHTS = "Ask the owner of the database for the rights, or use a user that has them."

# The server sends no code with a refused connection, so its words must do; any others lead to the general hint.
_HINT_BY_MESSAGE = {
    "password authentication failed": _WHO,
    "no password supplied": _WHO,
    "pg_hba.conf": "The server does not let this user in from here: see its pg_hba.conf.",
    "FATAL:  role ": "Check the user in the database URL: the server knows none of that name.",
    "FATAL:  database ": "Make the database (createdb), or check its name in the database URL.",
    "timeout expired": "The server did not answer in time: check the address, and any firewall on the way.",
    "too many clients": _CROWDED,
    "too many connections": "Too many connections: close some, or raise the limit of this user or database.",
    "remaining connection slots": _CROWDED,
    "starting up": "Try again in a moment.",
    "in recovery mode": "Try again in a moment: the server has broken down, and puts itself right.",
    "not yet accepting connections": "Try again in a moment.",
    "shutting down": "Try again when the server is back.",
}

# By SQLSTATE: a whole code, or its class (the first two characters).
_BY_STATE: dict[str, tuple[type[IndexFault], str]] = {
    "57014": (IndexFault, "It took longer than the time limit: try again when the server has less to do."),
    "25006": (IndexUnwritable, "This server only reads (a replica, perhaps): write to the primary one."),
    "53100": (IndexUnwritable, "The server's disk is full: free some space, then run the same command again."),
    "53200": (IndexFault, "The server is out of memory: try again, or raise its limits."),
    "53300": (IndexBusy, _CROWDED),
    "55P03": (IndexBusy, _LATER),
    "40P01": (IndexBusy, "Two writers waited for each other: run the same command again."),
    "40001": (IndexBusy, "Run the same command again."),
    "42501": (IndexUnwritable, _RIGHTS),
    "42P01": (IndexDamaged, "A table is missing: ingest into another schema, or restore this one."),
    "42703": (IndexDamaged, "A column is missing: ingest into another schema, or restore this one."),
    "54": (IndexFault, "A value is too long for the server to index: see what it names, and shorten it."),
    "XX": (IndexDamaged, "The server reports damage: see its log, and restore the database."),
    "58": (IndexFault, "The server reports errors of its disk: see its log."),
    "23": (IndexDamaged, "What was written contradicts itself; nothing was published."),
}


_ENDED = {"57P01", "57P02", "57P03", "57P05", "25P03"}  # with which the server ends a connection


def describe_location(url: str, schema: str) -> str:
    """Name the index without user and password; `SettingsError` if `url` is not a database URL."""
    try:
        fields = conninfo_to_dict(url)
    except psycopg.Error:
        raise SettingsError(  # what libpq says quotes the URL, and with it the password
            "the database URL cannot be read", hint="Write it as postgresql://user@host:5432/database."
        ) from None
    host = str(fields.get("host") or fields.get("hostaddr") or "localhost")
    port = f":{fields['port']}" if fields.get("port") else ""
    database = fields.get("dbname") or ""
    where = f"/{database}?host={host}" if host.startswith("/") else f"{host}{port}/{database}"  # a socket is a path
    return f"postgresql://{where} (schema {schema})"


@contextmanager
def _doing(location: str, *, doing: str) -> Iterator[None]:
    """Turn what goes wrong while reading or writing into an `IndexFault`; never wrap foreign code in it."""
    try:
        yield
    except psycopg.Error as error:
        raise fault(location, error, doing=doing) from error


reading = partial(_doing, doing="read")
writing = partial(_doing, doing="written")


def lost(error: BaseException) -> bool:
    """Return whether the connection is lost, not only the statement."""
    if not isinstance(error, psycopg.Error):
        return False
    if error.sqlstate is None:
        return isinstance(error, psycopg.OperationalError)
    return error.sqlstate.startswith("08") or error.sqlstate in _ENDED


def unreachable(location: str, error: psycopg.Error) -> IndexFault:
    """Return the error for a connection that could not be made."""
    message = _first_line(error)
    hint = next((hint for words, hint in _HINT_BY_MESSAGE.items() if words in message), _WHERE)
    return IndexFault(f"{location} cannot be reached: {message}", hint=hint)


def no_extension(location: str, error: psycopg.Error | None) -> QuothError:
    """Return the error for a database without pgvector that we could not add."""
    if isinstance(error, errors.InsufficientPrivilege):
        hint = "Ask an administrator to run in this database: CREATE EXTENSION vector;"
        return IndexUnwritable(f"{location} lacks the extension 'vector', and this user may not add it", hint=hint)
    if error is not None and not isinstance(error, errors.FeatureNotSupported | errors.UndefinedFile):
        return fault(location, error, doing="written")  # nothing that only concerns the extension
    hint = "Install pgvector 0.8 or later on the server (https://github.com/pgvector/pgvector), then try again."
    return IndexFault(f"{location} lacks the extension 'vector', and the server does not have it", hint=hint)


def fault(location: str, error: psycopg.Error, *, doing: str) -> IndexFault:
    """Return `error` as an index error. `doing` is `read` or `written`."""
    message, state = _first_line(error), error.sqlstate or ""
    if lost(error):
        hint = "Try again." if doing == "read" else "Run the same command again: what was embedded is kept."
        return IndexFault(f"{location} cannot be {doing}: the connection was lost ({message})", hint=hint)
    if "different vector dimensions" in message or ("expected" in message and "dimensions" in message):
        return IndexMismatch(f"{location}: {message}", hint="Use the model that the index was made with.")
    kind, hint = _BY_STATE.get(state) or _BY_STATE.get(state[:2]) or (IndexFault, "See the server's log.")
    if kind is IndexUnwritable and doing == "read":
        kind = IndexFault
    return kind(f"{location} cannot be {doing}: {message}", hint=hint)


def _first_line(error: psycopg.Error) -> str:
    """Return the first line of the message; further lines may hold data."""
    message = error.diag.message_primary or str(error)
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    return lines[0] if lines else type(error).__name__
