"""Labels in PostgreSQL: what a role for asking sees, and that the server itself hides all else."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("psycopg", reason="psycopg is not installed")

import psycopg
from psycopg import errors, sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from quoth.errors import CorpusError, IndexMismatch, LabelsUnsupported
from quoth.stores.postgres import PostgresStore, migrate
from quoth.stores.postgres.postgres_reader import PostgresReader
from quoth.types import EVERYTHING, Access, Filters, Query, SplitDocument

from .access_contract import AccessContract
from .contract import NewStore, question, write
from .fakes import numbered, split
from .postgres_server import drop_schema, new_schema
from .test_postgres_roles import PASSWORD, drop_roles, new_names, run_script, set_passwords
from .test_sharded import questions
from .test_visible import ACCESSES, everything_of, labelled_corpora, unlabelled

BOARD = Access(frozenset({"board"}), unlabelled=True)
NOBODY = Access(frozenset(), unlabelled=False)
DOCUMENTS = [
    replace(split("secret.md", "The merger is called Falcon.", "Falcon closes in May."), access=("board",)),
    replace(split("pay.md", "Salaries rise in May."), access=("hr", "legal")),
    split("open.md", "The office opens in May."),
]


@dataclass(frozen=True)
class Server:
    """A database with the roles of an index, and the means to make indexes in it."""

    admin: str
    names: dict[str, str]

    def url(self, role: str) -> str:
        return make_conninfo(self.admin, user=self.names[role], password=PASSWORD)

    def store(self, role: str, schema: str) -> PostgresStore:
        return PostgresStore(self.url(role), schema=schema, vectors="vector", ef_search=100)

    def fill(self, schema: str, documents: list[SplitDocument]) -> None:
        self.prepare(schema)
        with closing(self.store("owner", schema)) as store:
            write(store, documents)

    def prepare(self, schema: str) -> None:
        """Make empty tables as the guide says: the script, the tables, the script again."""
        variables = self.names | {"schema": schema}
        run_script(self.admin, variables, "-v", "shared=1")
        migrate(self.url("owner"), schema)
        run_script(self.admin, variables, "-v", "shared=1")


@pytest.fixture(scope="module")
def server(database_url: str) -> Iterator[Server]:
    names = new_names()
    names["asker"] = names["reader"].replace("reader", "asker")
    schema = new_schema()
    run_script(database_url, names | {"schema": schema}, "-v", "shared=1")
    set_passwords(database_url, names)
    yield Server(database_url, names)
    drop_schema(database_url, schema)
    with psycopg.connect(database_url, autocommit=True) as connection:
        for name in names.values():  # who has been given rights on the database cannot be dropped otherwise
            connection.execute(sql.SQL("DROP OWNED BY {} CASCADE").format(sql.Identifier(name)))
    drop_roles(database_url, list(names.values()))


@pytest.fixture(scope="module")
def schema(server: Server, database_url: str) -> Iterator[str]:
    schema = new_schema()
    server.fill(schema, DOCUMENTS)
    yield schema
    drop_schema(database_url, schema)


class OwnerAndAsker(PostgresStore):
    """An index that its owner writes and that others see through the role for asking."""

    def __init__(self, server: Server, schema: str) -> None:
        super().__init__(server.url("owner"), schema=schema, vectors="vector", ef_search=100)
        self.asker = server.store("asker", schema)

    @contextmanager
    def read(self, access: Access = EVERYTHING) -> Iterator[PostgresReader]:
        with super().read() if access.labels is None else self.asker.read(access) as reader:
            yield reader

    def close(self) -> None:
        super().close()
        self.asker.close()


class TestAccessContract(AccessContract):
    @pytest.fixture(scope="class")
    @classmethod
    def new_store(cls, server: Server) -> Iterator[NewStore]:
        made: list[OwnerAndAsker] = []
        schemas: list[str] = []

        def new_store() -> OwnerAndAsker:
            for store in made:
                store.close()  # lets go of connections, and can be used again
            schemas.append(new_schema())
            server.prepare(schemas[-1])
            made.append(OwnerAndAsker(server, schemas[-1]))
            return made[-1]

        yield new_store
        for store in made:
            store.close()
        for schema in schemas:
            drop_schema(server.admin, schema)


@pytest.fixture
def asker(server: Server, schema: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
    """A connection of the role for asking that runs SQL as it likes."""
    with psycopg.connect(server.url("asker"), autocommit=True) as connection:
        connection.execute(sql.SQL("SET search_path = {}, public").format(sql.Identifier(schema)))
        yield connection


@contextmanager
def pooler(url: str, place: Path, names: Collection[str]) -> Iterator[str]:
    """The address of a PgBouncer in transaction mode that shares two connections; `place` is for its files."""
    program = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        pytest.skip("pgbouncer is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    given = conninfo_to_dict(url)
    users = "".join(f'"{name}" "{PASSWORD}"\n' for name in names)
    (place / "users").write_text(users, encoding="ascii")
    settings = {
        "listen_addr": "127.0.0.1",
        "listen_port": port,
        "unix_socket_dir": "",
        "auth_type": "plain",
        "auth_file": place / "users",
        "pool_mode": "transaction",
        "default_pool_size": 2,
    }
    written = "".join(f"{name} = {value}\n" for name, value in settings.items())
    server = f"host={given['host']} port={given.get('port', 5432)} dbname={given['dbname']}"
    (place / "pgbouncer.ini").write_text(f"[databases]\nquoth = {server}\n[pgbouncer]\n{written}", encoding="ascii")
    for path in (place, *place.iterdir()):
        path.chmod(0o755)
    unprivileged = ["-u", Path(str(given["host"])).owner()] if os.getuid() == 0 else []  # who may use the socket
    process = subprocess.Popen([program, "-q", *unprivileged, str(place / "pgbouncer.ini")], stderr=subprocess.DEVNULL)
    try:
        for _ in range(100):
            with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
                break
            time.sleep(0.05)
        yield make_conninfo(host="127.0.0.1", port=port, dbname="quoth", password=PASSWORD)
    finally:
        process.terminate()
        process.wait(10)


def test_many_people_can_share_the_connections_of_a_pooler(server: Server, schema: str) -> None:
    wanted = [
        (BOARD, ["open.md", "secret.md"]),
        (Access(frozenset({"hr"}), unlabelled=False), ["pay.md"]),
        (NOBODY, []),
        (EVERYTHING, ["open.md", "pay.md", "secret.md"]),
    ]
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, ExitStack() as stack:
        address = stack.enter_context(pooler(server.admin, Path(folder), [server.names["asker"]]))
        url = make_conninfo(address, user=server.names["asker"])
        shared = PostgresStore(url, schema=schema, vectors="vector", ef_search=100)
        stack.enter_context(closing(shared))
        elsewhere = stack.enter_context(psycopg.connect(url, autocommit=True))

        def ask(number: int) -> bool:
            access, names = wanted[number % len(wanted)]
            with shared.read(access) as reader:
                found = reader.search(question("may", vector="may"))
                return [document.id for document in reader.documents()] == names and sorted(
                    {item.sentence.doc_id for item in found.items}
                ) == names

        with ThreadPoolExecutor(4) as threads:
            assert all(threads.map(ask, range(80)))
        table = sql.Identifier(schema, "documents")
        for _ in range(10):  # over connections that others have read with
            assert elsewhere.execute(sql.SQL("SELECT count(*) FROM {}").format(table)).fetchone() == (0,)


def names_seen(store: PostgresStore, access: Access) -> list[str]:
    with store.read(access) as reader:
        return [document.id for document in reader.documents()]


@settings(max_examples=8, deadline=None)
@given(labelled_corpora(), st.lists(ACCESSES, min_size=2, max_size=2), st.lists(questions(), min_size=4, max_size=4))
def test_forbidden_documents_leave_no_trace(
    server: Server, documents: list[SplitDocument], accesses: list[Access], asked: list[Query]
) -> None:
    ids = [document.document.id for document in documents]
    schemas = [new_schema() for _ in range(1 + len(accesses))]
    try:
        server.fill(schemas[0], documents)
        for access, schema in zip(accesses, schemas[1:], strict=True):
            visible = unlabelled([document for document in documents if access.sees(document.access)])
            with closing(PostgresStore(server.admin, schema=schema, vectors="vector", ef_search=100)) as never:
                write(never, visible)
                with never.read() as reader:
                    expected = everything_of(reader, asked, ids)
            with closing(server.store("asker", schemas[0])) as store, store.read(access) as reader:
                assert everything_of(reader, asked, ids) == expected
    finally:
        for schema in schemas:
            drop_schema(server.admin, schema)


def test_many_visible_sentences_are_ranked_as_if_they_were_alone(server: Server) -> None:
    """Enough of them that conditions on words and the index of vectors choose."""
    documents = [replace(numbered(f"{number:02d}.md", 300), access=("board",) * (number % 2)) for number in range(16)]
    schema, alone = new_schema(), new_schema()
    asked = replace(question("topic3", "topic7", "sentence", vector="topic3"), candidates=40)
    within = replace(asked, filters=Filters(("03.md", "04.md", "05.md"), {}, (), None, None))
    access = Access(frozenset({"board"}), unlabelled=False)
    try:
        server.fill(schema, documents)
        with closing(PostgresStore(server.admin, schema=alone, vectors="vector", ef_search=100)) as never:
            write(never, unlabelled(documents[1::2]))
            with never.read() as reader:
                expected = [reader.search(replace(query, vector=None)).items for query in (asked, within)]
                nearest = sorted((item.dense for item in reader.search(asked).items), reverse=True)
        with closing(server.store("asker", schema)) as store, store.read(access) as reader:
            assert [reader.search(replace(query, vector=None)).items for query in (asked, within)] == expected
            dense = sorted((item.dense for item in reader.search(asked).items), reverse=True)
            assert np.allclose(dense[:20], nearest[:20], atol=1e-3)
    finally:
        for made in (schema, alone):
            drop_schema(server.admin, made)


def test_plain_sql_shows_nothing_where_nothing_was_said(asker: psycopg.Connection[tuple[object, ...]]) -> None:
    for table in ("documents", "sentences", "passages", "pages"):
        found = asker.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))).fetchone()
        assert found == (0,)
    assert asker.execute("SELECT holding('xmay')").fetchall() == []
    assert asker.execute("SELECT meeting(ARRAY['xmayA1|xmayB1|xmayC1'])").fetchall() == []


def test_plain_sql_shows_only_what_its_transaction_may_see(asker: psycopg.Connection[tuple[object, ...]]) -> None:
    with asker.transaction():
        asker.execute("SELECT set_config('quoth.labels', '{hr}', true), set_config('quoth.unlabelled', 'on', true)")
        names = asker.execute("SELECT name FROM documents ORDER BY name").fetchall()
        texts = asker.execute("SELECT text FROM sentences ORDER BY text").fetchall()
        held = asker.execute("SELECT count(*) FROM holding('xmay')").fetchall()
    assert names == [("open.md",), ("pay.md",)]
    assert texts == [("Salaries rise in May.",), ("The office opens in May.",)]
    assert held == [(2,)]
    assert asker.execute("SELECT name FROM documents").fetchall() == []


def test_an_index_that_is_made_again_is_counted_again(server: Server, database_url: str) -> None:
    schema = new_schema()
    try:
        with closing(server.store("asker", schema)) as store:
            seen = []
            for documents in (DOCUMENTS, [split("other.md", "The garden opens in June.")]):
                server.fill(schema, documents)
                with store.read(BOARD) as reader:
                    seen.append((reader.info.documents, reader.info.digest))
                drop_schema(database_url, schema)
        assert [count for count, _ in seen] == [2, 1]
        assert seen[0][1] != seen[1][1]
    finally:
        drop_schema(database_url, schema)


def test_what_runs_as_the_owner_takes_no_better_match_of_others(server: Server, database_url: str) -> None:
    schema = new_schema()
    server.fill(schema, DOCUMENTS)
    try:
        with psycopg.connect(server.url("owner")) as owner:
            owner.execute(sql.SQL("SET search_path = {}").format(sql.Identifier(schema)))
            for name, result in (("unnest", "SETOF text"), ("anything", "boolean")):
                argument = "text[]" if name == "unnest" else "text[], text[]"
                body = f"BEGIN RAISE EXCEPTION '{name} of others'; END"
                owner.execute(f"CREATE FUNCTION {name}({argument}) RETURNS {result} LANGUAGE plpgsql AS $${body}$$")
            for operator in ("&&", "="):
                owner.execute(f"CREATE OPERATOR {operator} (LEFTARG = text[], RIGHTARG = text[], FUNCTION = anything)")
        with psycopg.connect(server.url("asker")) as asker:
            asker.execute(sql.SQL("SET search_path = {}, public").format(sql.Identifier(schema)))
            asker.execute("SELECT set_config('quoth.labels', '{hr}', true), set_config('quoth.unlabelled', 'on', true)")
            assert asker.execute("SELECT count(*) FROM holding('xmay')").fetchall() == [(2,)]
            met = asker.execute("SELECT count(*) FROM meeting(ARRAY['xmayA1|xmayB1|xmayC1'])").fetchall()
            assert met == [(2,)]
    finally:
        drop_schema(database_url, schema)


@pytest.mark.parametrize(
    "statement",
    [
        "SELECT * FROM terms",
        "SELECT * FROM index_info",
        "SELECT digest, documents FROM index_info",
        "SELECT * FROM staged_vectors",
        "SELECT * FROM refused_files",
        "SELECT * FROM jobs",
        "SELECT * FROM uploads",
        "SELECT * FROM upload_files",
        "SELECT * FROM upload_chunks",
        "SELECT * FROM ingestion_batches",
        "SELECT * FROM query_log",
        "UPDATE documents SET access = '{}'",
        "SET SESSION AUTHORIZATION postgres",
    ],
)
def test_what_tells_of_every_document_is_refused(asker: psycopg.Connection[tuple[object, ...]], statement: str) -> None:
    asker.execute("SET default_transaction_read_only = off")
    with pytest.raises(errors.InsufficientPrivilege):
        asker.execute(statement.encode())


def test_statistics_of_the_server_do_not_tell(asker: psycopg.Connection[tuple[object, ...]]) -> None:
    shown = asker.execute("SELECT attname FROM pg_stats WHERE tablename IN ('documents', 'sentences')").fetchall()
    assert shown == []


def test_labels_can_be_changed_from_one_question_to_the_next(server: Server, schema: str) -> None:
    with closing(server.store("asker", schema)) as asking, closing(server.store("writer", schema)) as writing:
        before = names_seen(asking, BOARD)
        with asking.read() as reader:
            generation = reader.info.generation
        writing.relabel({"open.md": ["HR"], "pay.md": []})
        after = names_seen(asking, BOARD)
        write(writing, DOCUMENTS)  # the files state what they stated before
        again = names_seen(asking, BOARD)
        with asking.read() as reader:
            assert reader.info.generation == generation
        with writing.read() as reader:
            labels = {document.id: document.access for document in reader.documents()}
        with pytest.raises(CorpusError, match="no such"):
            writing.relabel({"open.md": [], "no such.md": ["hr"]})
        assert names_seen(asking, BOARD) == after
        writing.relabel({"open.md": [], "pay.md": ["hr", "legal"]})

    assert before == ["open.md", "secret.md"]
    assert after == again == ["pay.md", "secret.md"]
    assert labels == {"open.md": ("hr",), "pay.md": (), "secret.md": ("board",)}


def test_a_document_keeps_labels_that_were_set_until_its_file_states_others(server: Server, schema: str) -> None:
    changed = replace(split("open.md", "The office closes in May."))
    stated = replace(split("open.md", "The office closes in June."), access=("legal",))
    with closing(server.store("writer", schema)) as writing, closing(server.store("asker", schema)) as asking:
        writing.relabel({"open.md": ["hr"]})
        write(writing, [changed])
        kept = names_seen(asking, BOARD)
        write(writing, [stated])
        with writing.read() as reader:
            labels = [document.access for document in reader.documents(["open.md"])]
        writing.relabel({"open.md": []})
        write(writing, [DOCUMENTS[2]])

    assert kept == ["secret.md"]
    assert labels == [("legal",)]


def test_the_role_for_asking_can_be_told_to_see_everything(server: Server, schema: str) -> None:
    with closing(server.store("asker", schema)) as asking, closing(server.store("reader", schema)) as reading:
        with asking.read(EVERYTHING) as one, reading.read() as other:
            assert one.info == other.info
            assert one.documents() == other.documents()
            assert one.search(question("may", "falcon")).items == other.search(question("may", "falcon")).items
            assert one.frequencies(["may", "falcon"]) == other.frequencies(["may", "falcon"]) == {"may": 3, "falcon": 2}
        assert asking.published() is None
        assert asking.refused_files() == ()


@pytest.mark.parametrize("role", ["owner", "writer", "reader"])
def test_a_role_that_no_policy_limits_cannot_ask_for_somebody(server: Server, schema: str, role: str) -> None:
    with (
        closing(server.store(role, schema)) as store,
        pytest.raises(LabelsUnsupported, match="no policy"),
        store.read(NOBODY),
    ):
        pass


def test_an_index_from_before_labels_asks_to_be_migrated(server: Server, schema: str) -> None:
    with psycopg.connect(server.admin, autocommit=True) as admin, closing(server.store("owner", schema)) as store:
        admin.execute(sql.SQL("SET search_path = {}, public").format(sql.Identifier(schema)))
        admin.execute("ALTER TABLE index_info RENAME COLUMN label_revision TO later")
        later = admin.execute("DELETE FROM migrations WHERE version >= 8 RETURNING version, name").fetchall()
        with pytest.raises(IndexMismatch) as raised, store.read(BOARD):
            pass
        admin.execute("ALTER TABLE index_info RENAME COLUMN later TO label_revision")
        for row in later:
            admin.execute("INSERT INTO migrations (version, name) VALUES (%s, %s)", row)

    assert "quoth migrate" in raised.value.hint


def test_a_policy_that_is_missing_is_noticed(server: Server, schema: str) -> None:
    with closing(server.store("asker", schema)) as store, psycopg.connect(server.admin, autocommit=True) as admin:
        policy = sql.Identifier(f"seen by {server.names['asker']}")
        admin.execute(sql.SQL("DROP POLICY {} ON {}").format(policy, sql.Identifier(schema, "pages")))
        with pytest.raises(LabelsUnsupported), store.read(BOARD):
            pass
        run_script(server.admin, server.names | {"schema": schema}, "-v", "shared=1")
        assert names_seen(store, BOARD) == ["open.md", "secret.md"]


def test_a_policy_for_askers_does_not_keep_readers_from_the_indexes(server: Server, schema: str) -> None:
    with psycopg.connect(server.url("reader"), autocommit=True) as connection:
        connection.execute(sql.SQL("SET search_path = {}, public").format(sql.Identifier(schema)))
        connection.execute("SET enable_seqscan = off")
        statement = "EXPLAIN SELECT id FROM sentences s WHERE impacts(s.search, s.norm) @@ 'xmayA1'::tsquery"
        plan = "\n".join(row[0] for row in connection.execute(statement))
    assert "Bitmap Index Scan on sentences_by_impact" in plan
