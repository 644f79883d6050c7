"""Schemas of another version, migrations that collide or die, and rows that the database itself refuses."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from functools import partial

import pytest

pytest.importorskip("psycopg", reason="psycopg is not installed")

import psycopg
from psycopg import errors, sql
from psycopg.conninfo import make_conninfo

from quoth.errors import IndexFault, IndexMismatch
from quoth.stores.postgres import PostgresStore, migrate, postgres_schema
from quoth.stores.postgres.postgres_connections import Connection
from quoth.stores.postgres.postgres_schema import Migration

from .contract import CORPUS, question, search, write
from .fakes import HashEmbedder, numbered, split
from .postgres_faults import OLD, Beside, said, serves_the_old_generation, store_at, wait_until_waiting
from .postgres_server import new_schema
from .test_embedded import TESTS

NEW = split("new.md", "A new sentence.")
COLUMN = "ALTER TABLE documents ADD COLUMN colour text"


@pytest.fixture
def store(database_url: str, schema: str) -> Iterator[PostgresStore]:
    """One with an old document."""
    with closing(store_at(database_url, schema)) as store:
        write(store, [OLD])
        yield store


@pytest.fixture
def connection(database_url: str, schema: str) -> Iterator[Connection]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("SELECT set_config('search_path', quote_ident(%s) || ', public', false)", (schema,))
        connection.execute("SET statement_timeout = '30s'")
        yield connection


def with_another(monkeypatch: pytest.MonkeyPatch, statements: str) -> int:
    """Pretend that the program has one migration more; return its version."""
    known = postgres_schema.migrations()
    added = Migration(postgres_schema.latest() + 1, "added", statements)
    monkeypatch.setattr(postgres_schema, "migrations", lambda: (*known, added))
    return added.version


def applied(connection: Connection) -> list[int]:
    return [version for (version,) in connection.execute("SELECT version FROM migrations ORDER BY version")]


# Versions


def test_a_newer_schema_is_refused_by_every_command(store: PostgresStore, connection: Connection) -> None:
    connection.execute("INSERT INTO migrations (version, name) VALUES (999, 'of tomorrow')")
    for attempt in (store.stored_documents, lambda: serves_the_old_generation(store), lambda: write(store, [NEW])):
        with pytest.raises(IndexMismatch, match="999") as raised:
            attempt()
        assert "Update Quoth" in said(raised.value)
    connection.execute("DELETE FROM migrations WHERE version = 999")
    assert serves_the_old_generation(store)


def test_an_older_schema_is_refused_to_readers_and_brought_up_to_date_by_a_write(
    store: PostgresStore, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    latest = with_another(monkeypatch, COLUMN)
    with pytest.raises(IndexMismatch, match=f"reads {latest}") as raised:
        serves_the_old_generation(store)
    assert "quoth migrate" in said(raised.value)

    embedder = HashEmbedder()
    write(store, [OLD], embedder=embedder)
    assert embedder.embedded == []
    assert serves_the_old_generation(store)
    assert applied(connection) == [*range(1, latest + 1)]
    connection.execute("SELECT colour FROM documents")


def test_a_migration_that_fails_changes_nothing(
    store: PostgresStore, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        with_another(patched, f"{COLUMN}; ALTER TABLE nowhere ADD COLUMN colour text")
        with pytest.raises(IndexFault, match="nowhere"):
            write(store, [NEW])
    assert applied(connection) == [*range(1, postgres_schema.latest() + 1)]
    with pytest.raises(errors.UndefinedColumn):
        connection.execute("SELECT colour FROM documents")
    assert serves_the_old_generation(store)


def test_a_second_migration_waits_for_the_first_and_does_nothing(
    database_url: str, schema: str, store: PostgresStore, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    latest = with_another(monkeypatch, f"{COLUMN}; SELECT pg_advisory_xact_lock(1)")
    connection.execute("SELECT pg_advisory_lock(1)")  # which the first waits for, and the second for the first
    first = Beside(lambda: migrate(database_url, schema)[2])
    wait_until_waiting(connection, "Lock")
    second = Beside(lambda: migrate(database_url, schema)[2])
    wait_until_waiting(connection, "Lock", statements=2)
    connection.execute("SELECT pg_advisory_unlock(1)")
    assert (first.result(), second.result()) == (latest, latest)
    assert applied(connection) == [*range(1, latest + 1)]
    assert serves_the_old_generation(store)


def test_the_first_two_migrations_of_a_database_do_not_collide(database_url: str) -> None:
    database = new_schema()
    name = sql.Identifier(database)
    with psycopg.connect(database_url, autocommit=True) as connection:
        try:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(name))
        except errors.InsufficientPrivilege:
            pytest.skip("this user may not make a database")
        try:
            url = make_conninfo(database_url, dbname=database)
            # In schemas of their own, and still each would make the extension.
            done = [Beside(partial(migrate, url, schema)) for schema in ("one", "two", "three", "three")]
            results = [one.result() for one in done]
            assert [isinstance(one, tuple) and one[2] for one in results] == [postgres_schema.latest()] * 4
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


def test_a_process_that_is_killed_in_mid_migration_leaves_nothing_and_no_lock(
    database_url: str, schema: str, store: PostgresStore, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = f"{COLUMN}; SELECT pg_sleep(600)"
    program = (
        "from quoth.stores.postgres import migrate, postgres_schema\n"
        f"added = postgres_schema.Migration({postgres_schema.latest() + 1}, 'slow', {slow!r})\n"
        "all = (*postgres_schema.migrations(), added)\n"
        "postgres_schema.migrations = lambda: all\n"
        f"migrate({database_url!r}, {schema!r})\n"
    )
    child = subprocess.Popen([sys.executable, "-c", program], cwd=TESTS)
    try:
        wait_until_waiting(connection, "Timeout")
    finally:
        child.kill()
        assert child.wait(60) == -signal.SIGKILL
    # The server notices that its client is gone, although the statement would take ten minutes more.
    latest = with_another(monkeypatch, COLUMN)
    monkeypatch.setattr(postgres_schema, "_LOCK_TIMEOUT", "30s")
    assert migrate(database_url, schema)[2] == latest
    assert applied(connection) == [*range(1, latest + 1)]
    assert serves_the_old_generation(store)


# Other models


def test_vectors_of_another_model_or_dimension_are_refused(store: PostgresStore) -> None:
    for other in (HashEmbedder(dimension=8), HashEmbedder(name="other")):
        with pytest.raises(IndexMismatch, match="was made with fake") as raised:
            write(store, [NEW], embedder=other)
        assert "another schema" in said(raised.value)
        assert other.embedded == []
    query = question("old", vector="old")
    with store.read() as reader, pytest.raises(IndexMismatch, match="32 dimensions"):
        reader.search(type(query)(HashEmbedder(dimension=8).embed(["old"])[0], query.terms, 5, query.filters))
    assert serves_the_old_generation(store)


# Rows that contradict themselves

REFUSED = {
    "UPDATE sentences SET start = -1": errors.CheckViolation,
    "UPDATE sentences SET stop = start": errors.CheckViolation,
    "UPDATE sentences SET stop = start - 1": errors.CheckViolation,
    "UPDATE sentences SET ordinal = -1": errors.CheckViolation,
    "UPDATE sentences SET ordinal = 0": errors.UniqueViolation,
    "UPDATE sentences SET kind = 'poem'": errors.CheckViolation,
    "UPDATE sentences SET ocr = 1.5": errors.CheckViolation,
    "UPDATE sentences SET lead_start = 0": errors.CheckViolation,
    "UPDATE sentences SET lead_start = 5, lead_stop = 5, lead_text = ''": errors.CheckViolation,
    "UPDATE sentences SET key = NULL": errors.CheckViolation,
    "UPDATE sentences SET key = 'short'": errors.CheckViolation,
    "UPDATE sentences SET vector = NULL": errors.CheckViolation,
    "UPDATE sentences SET terms = NULL WHERE key IS NOT NULL": errors.CheckViolation,
    "UPDATE sentences SET length = -1": errors.CheckViolation,
    "UPDATE sentences SET norm = length + 1": errors.CheckViolation,
    "UPDATE sentences SET text = NULL": errors.NotNullViolation,
    "UPDATE sentences SET document = 999999 WHERE text = 'The old sentence.'": errors.ForeignKeyViolation,
    "UPDATE sentences SET vector = '[1,2,3]'": errors.DataException,
    "UPDATE passages SET stop = start": errors.CheckViolation,
    "UPDATE passages SET last = first - 1": errors.CheckViolation,
    "UPDATE passages SET document = 999999": errors.ForeignKeyViolation,
    "INSERT INTO passages VALUES (999999, 0, 0, 0, 0, 1, '[]', NULL, 1)": errors.ForeignKeyViolation,
    "INSERT INTO pages VALUES (999999, 1, 1, 1, '[]', '')": errors.ForeignKeyViolation,
    "UPDATE documents SET characters = -1": errors.CheckViolation,
    "UPDATE documents SET evidence = sentences + 1": errors.CheckViolation,
    "UPDATE documents SET name = 'same'": errors.UniqueViolation,
    "UPDATE documents SET text = NULL": errors.NotNullViolation,
    "UPDATE documents SET id = DEFAULT": errors.ForeignKeyViolation,
    "UPDATE terms SET sentences = 0": errors.CheckViolation,
    "UPDATE index_info SET model_name = NULL": errors.CheckViolation,
    "UPDATE index_info SET dimension = 0": errors.CheckViolation,
    "UPDATE index_info SET vectors = 'bits'": errors.CheckViolation,
    "INSERT INTO index_info SELECT * FROM index_info": errors.UniqueViolation,
    "INSERT INTO migrations (version, name) VALUES (0, 'none')": errors.CheckViolation,
}


def test_the_database_refuses_rows_that_contradict_themselves(store: PostgresStore, connection: Connection) -> None:
    write(store, [*CORPUS, numbered("many.md", 5)])
    connection.execute(
        "INSERT INTO passages SELECT id, 0, 0, 1, 0, 1, '[]', NULL, 1 FROM documents WHERE name = 'many.md'"
    )
    before = search(store, question("canola", vector="canola"))
    accepted = []
    for statement, refusal in REFUSED.items():
        try:
            connection.execute(statement)
        except psycopg.Error as error:
            assert isinstance(error, refusal), f"{statement}: {error!r}"
        else:
            accepted.append(statement)
    assert accepted == []
    assert search(store, question("canola", vector="canola")).items == before.items
    connection.execute("DELETE FROM documents")  # takes all that belongs to them with it
    for table in ("sentences", "passages", "pages"):
        assert connection.execute(sql.SQL("SELECT FROM {}").format(sql.Identifier(table))).fetchone() is None
