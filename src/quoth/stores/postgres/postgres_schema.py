"""The numbered migrations of the schema, and the row of `index_info` that describes the published index."""

from __future__ import annotations

import json
from dataclasses import astuple, dataclass
from functools import cache
from importlib.resources import files

import psycopg
from psycopg import errors, sql

from quoth.errors import IndexFault, IndexMismatch
from quoth.stores.database_rows import Row, refused_files
from quoth.stores.postgres import postgres_faults as faults
from quoth.stores.postgres.postgres_connections import Connection, Connections
from quoth.stores.postgres.postgres_rows import original, storable
from quoth.stores.query_terms import analysis_version
from quoth.stores.write_template import FORMAT
from quoth.types import IndexInfo, ModelIdentity, Refused, StoredDocument

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
    """Return all migrations of this program, in order."""
    folder = files("quoth.stores.postgres") / "migrations"
    found = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return tuple(
        Migration(int(name.partition("_")[0]), name.removesuffix(".sql"), (folder / name).read_text(encoding="utf-8"))
        for name in found
    )


def latest() -> int:
    return migrations()[-1].version


def migrate(url: str, schema: str) -> tuple[str, int | None, int]:
    """Bring `schema` of the database at `url` to the version of this program.

    Return its location, and the versions before (None if there were no tables) and after.
    """
    connections = Connections(url, schema)
    with connections.writer() as connection:
        with faults.writing(connections.location):
            before = version_of(connection, schema)
        return connections.location, before, bring_up_to_date(connections, connection)


def version_of(connection: Connection, schema: str) -> int | None:
    """Return the version of the schema; None if it has none."""
    # Named in full: another program may have a table of this name further down the search path.
    table = sql.Identifier(schema, "migrations")
    try:
        found = connection.execute(sql.SQL("SELECT max(version) FROM {}").format(table)).fetchone()
    except (errors.UndefinedTable, errors.InvalidSchemaName):
        return None
    return found[0] if found else None


def check_version(location: str, version: int) -> None:
    """Refuse a schema of another version."""
    if version > latest():
        raise IndexMismatch(
            f"{location} has version {version}; this version of Quoth knows {latest()}", hint="Update Quoth."
        )
    if version < latest():
        raise IndexMismatch(
            f"{location} has version {version}; this version of Quoth reads {latest()}",
            hint="Bring it up to date: quoth migrate --store ADDRESS.",
        )


def bring_up_to_date(connections: Connections, connection: Connection) -> int:
    """Apply what is missing, in one transaction; the connection sees the schema afterwards."""
    location = connections.location
    with faults.writing(location):
        found = version_of(connection, connections.schema)
    if found is not None and found >= latest():
        check_version(location, found)
        return found
    with faults.writing(location), connection.transaction():
        connection.execute(sql.SQL("SET LOCAL lock_timeout = {}").format(_LOCK_TIMEOUT))
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
        _check_encoding(location, connection)
        _make_schema(connections, connection)
        _make_extension(location, connection)
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
    check_version(location, version)
    return version


def _check_encoding(location: str, connection: Connection) -> None:
    found = connection.execute("SELECT current_setting('server_encoding')").fetchone()
    if found != ("UTF8",):
        raise IndexFault(
            f"{location} keeps text as {found[0] if found else '?'}, which cannot hold every character",
            hint="Make the database with the encoding UTF8: createdb --encoding=UTF8 --template=template0 NAME.",
        )


def _make_schema(connections: Connections, connection: Connection) -> None:
    exists = connection.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", (connections.schema,)).fetchone()
    if exists is None:  # asked first, because `IF NOT EXISTS` needs the right to make one all the same
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(connections.schema)))


def _make_extension(location: str, connection: Connection) -> None:
    """Install pgvector outside our schema: dropping ours would take it from all others."""
    if (found := pgvector_version(connection)) is None:
        try:
            with connection.transaction():
                connection.execute("CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public")
        except psycopg.Error as error:
            raise faults.no_extension(location, error) from error
        found = pgvector_version(connection)
    version = found or "0"
    if tuple(map(int, version.split(".")[:2])) < _PGVECTOR:
        raise IndexFault(
            f"{location} has pgvector {version}, and {'.'.join(map(str, _PGVECTOR))} or later is needed",
            hint="Update it on the server, then run in this database: ALTER EXTENSION vector UPDATE;",
        )


def pgvector_version(connection: Connection) -> str | None:
    found = connection.execute("SELECT extversion FROM pg_extension WHERE extname = 'vector'").fetchone()
    return found[0] if found else None


_COLUMNS = (
    "generation, digest, model_name, model_revision, model_precision, dimension, profile_name, profile_source, "
    "documents, sentences, evidence, tokens, vectors, analysis, languages"
)


@dataclass(frozen=True, slots=True)
class PublishedIndex:
    """A published generation. `evidence` and `tokens` are the sentences that can be found and their terms."""

    info: IndexInfo
    evidence: int
    tokens: int
    vectors: str
    analysis: int

    @property
    def average(self) -> float:
        """The average number of terms in a sentence."""
        return self.tokens / self.evidence if self.evidence else 1.0


def select_published(schema: str) -> sql.Composed:
    """Return the query for the row. Tables are named in full, so that the search path is not used."""
    statement = sql.SQL(f"SELECT (SELECT max(version) FROM {{}}), {_COLUMNS} FROM {{}}")  # noqa: S608 - constant names
    return statement.format(sql.Identifier(schema, "migrations"), sql.Identifier(schema, "index_info"))


def read_published(connection: Connection, location: str, *, schema: str) -> PublishedIndex | None:
    """Return the published index; None if nothing is published."""
    return parse_published(location, connection.execute(select_published(schema)).fetchone())


def parse_published(location: str, row: Row | None) -> PublishedIndex | None:
    """Return the index of a row of `select_published`; None if nothing is published."""
    if row is None or row[0] is None:
        return None
    version, generation, digest, *rest = row
    check_version(location, version)
    if generation == 0:
        return None
    model, (profile, source), counts = ModelIdentity(*rest[:4]), rest[4:6], rest[6:8]
    evidence, tokens, vectors, analysis, languages = rest[8:]
    named = (original(profile), original(source))
    by_language = tuple((code, count) for code, count in languages)
    info = IndexInfo(FORMAT, generation, digest, model, *named, counts[0], counts[1], by_language)
    return PublishedIndex(info, evidence, tokens, vectors, analysis)


def check_analysis(location: str, published: PublishedIndex) -> None:
    """Raise `IndexMismatch` if another version of the word analysis built the full text."""
    needed = analysis_version(published.info.languages)
    if published.analysis != needed:
        raise IndexMismatch(
            f"the full text of {location} was made by analysis {published.analysis} of words; "
            f"this version of Quoth needs {needed}",
            hint="Ingest the same documents again: that makes the full text anew, and embeds nothing.",
        )


def read_stored_documents(connection: Connection) -> dict[str, StoredDocument]:
    """Return the published documents by id."""
    found = connection.execute(
        "SELECT access, stated_access, name, fingerprint, source_sha256, root FROM documents"
    ).fetchall()
    return {
        original(name): StoredDocument(
            fingerprint, sha256, original(root), tuple(map(original, access)), tuple(map(original, stated))
        )
        for access, stated, name, fingerprint, sha256, root in found
    }


def read_refused_files(connection: Connection) -> tuple[tuple[str, Refused], ...]:
    """Return what `Store.refused_files` does."""
    found = connection.execute("SELECT root, path, why, hint FROM refused_files ORDER BY id").fetchall()
    documents = {original(name) for (name,) in connection.execute("SELECT name FROM documents")}
    return refused_files((tuple(map(original, row)) for row in found), documents)


def write_published(connection: Connection, new: PublishedIndex) -> None:
    """Write the row of the new generation; the commit that follows publishes it."""
    info = new.info
    profile = (storable(info.profile_name), storable(info.profile_source))
    counts = (info.documents, info.sentences, new.evidence, new.tokens)
    made = (new.vectors, new.analysis, json.dumps(info.language_counts))
    values = (info.generation, info.digest, *astuple(info.model), *profile, *counts, *made)
    marks = ", ".join(["%s"] * len(values))
    connection.execute(f"UPDATE index_info SET ({_COLUMNS}) = ROW ({marks})", values)  # noqa: S608 - constant names
