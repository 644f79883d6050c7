from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace

import pytest

pytest.importorskip("psycopg", reason="psycopg is not installed")

import psycopg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from quoth.errors import IndexBusy, IndexFault, IndexMismatch, IndexUnwritable
from quoth.protocols import Progress
from quoth.stores.postgres import PostgresStore
from quoth.stores.postgres import postgres_publish as publish
from quoth.stores.postgres.postgres_connections import Connection
from quoth.types import SplitDocument, Vectors

from .contract import CORPUS, question, search, texts, write
from .fakes import HashEmbedder, numbered, split
from .postgres_server import drop_schema, new_schema
from .test_embedded import TESTS


@pytest.fixture
def store(database_url: str, schema: str) -> Iterator[PostgresStore]:
    """One with an old document."""
    with closing(PostgresStore(database_url, schema=schema, vectors="vector", ef_search=100)) as store:
        write(store, [split("old.md", "The old sentence.")])
        yield store


@pytest.fixture
def connection(database_url: str, schema: str) -> Iterator[Connection]:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("SELECT set_config('search_path', quote_ident(%s) || ', public', false)", (schema,))
        yield connection


def number(connection: Connection, sql: str) -> int:
    found = connection.execute(sql).fetchone()
    assert found is not None
    return int(found[0])


def is_whole(connection: Connection) -> bool:
    """Whether the counts that are kept are those of the rows."""
    counted = connection.execute(
        "SELECT u.lexeme, count(*) FROM sentences s, unnest(tsvector_to_array(s.search)) AS u (lexeme) GROUP BY 1"
    ).fetchall()
    kept = connection.execute("SELECT lexeme, sentences FROM terms").fetchall()
    described = connection.execute("SELECT documents, sentences, evidence, tokens FROM index_info").fetchone()
    held = connection.execute(
        "SELECT (SELECT count(*) FROM documents), count(*), count(vector), coalesce(sum(length), 0) FROM sentences"
    ).fetchone()
    return sorted(counted) == sorted(kept) and described == held


def at_once(*actions: Callable[[], object]) -> list[BaseException]:
    """Run them in threads of their own, and return what they raised."""
    failures: list[BaseException] = []
    start = threading.Barrier(len(actions))

    def run(action: Callable[[], object]) -> None:
        start.wait()
        try:
            action()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(action,)) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures


class WaitingEmbedder(HashEmbedder):
    """Tells when it is asked, and goes on when it is let."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = threading.Event()
        self.go_on = threading.Event()

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        self.asked.set()
        assert self.go_on.wait(60)
        return super().embed(texts, progress=progress)


# Several at once


def test_a_writer_does_not_wait_for_one_that_embeds(store: PostgresStore, connection: Connection) -> None:
    slow = WaitingEmbedder()
    thread = threading.Thread(target=lambda: write(store, [split("slow.md", "A slow sentence.")], embedder=slow))
    thread.start()
    try:
        assert slow.asked.wait(60)
        quick = write(store, [split("quick.md", "A quick sentence.")])
        assert set(store.stored_documents()) == {"old.md", "quick.md"}
    finally:
        slow.go_on.set()
        thread.join()

    with store.read() as reader:
        assert reader.info.generation == quick.generation + 1
        assert texts(reader.search(question("sentence"))) == {
            "The old sentence.",
            "A quick sentence.",
            "A slow sentence.",
        }
        assert reader.frequencies(["sentence"]) == {"sentence": 3}
    assert is_whole(connection)


def test_writers_of_different_documents_at_once_lose_nothing(
    database_url: str, store: PostgresStore, connection: Connection
) -> None:
    def of(name: str) -> list[SplitDocument]:
        return [numbered(f"{name}{number}.md", 20) for number in range(4)]

    def writes(name: str) -> Callable[[], None]:
        def run() -> None:
            for document in of(name):
                write(store, [document])
            write(store, remove=[f"{name}0.md"])

        return run

    assert at_once(*(writes(name) for name in "abcd")) == []
    other = new_schema()
    with closing(PostgresStore(database_url, schema=other, vectors="vector", ef_search=100)) as afresh:
        kept = [document for name in "abcd" for document in of(name)[1:]]
        info = write(afresh, [split("old.md", "The old sentence."), *kept])
    drop_schema(database_url, other)
    with store.read() as reader:
        assert replace(reader.info, generation=1) == info
        assert reader.info.generation == 1 + 4 * 5
    assert is_whole(connection)
    assert number(connection, "SELECT count(*) FROM ingestion_batches") == 1 + 4 * 5
    assert number(connection, "SELECT count(*) FROM staged_vectors") == 0


def test_writers_of_one_document_come_one_after_the_other(store: PostgresStore, connection: Connection) -> None:
    versions = [split("same.md", *(f"Version {one} has line {line}." for line in range(30))) for one in range(5)]
    failures = at_once(*(lambda one=one: write(store, [one]) for one in versions))

    assert failures == []
    with store.read() as reader:
        assert tuple(reader.sentences("same.md")) in [one.sentences for one in versions]
    assert is_whole(connection)


def test_a_writer_that_waits_too_long_is_told_that_the_index_is_busy(
    store: PostgresStore, schema: str, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publish, "_WAIT", "200ms")
    lock, bucket = publish.lock_number(f"quoth {schema}"), publish.lock_number("same.md") % publish._BUCKETS
    connection.execute("SELECT pg_advisory_lock(%s, %s)", (lock, bucket))

    with pytest.raises(IndexBusy):
        write(store, [split("same.md", "A new sentence.")])
    write(store, [split("other.md", "Another sentence.")])
    connection.execute("SELECT pg_advisory_lock_shared(%s, -1)", (lock,))  # as any writer does
    with pytest.raises(IndexBusy):
        write(store, profile=("other", "name: other\n"))
    assert set(store.stored_documents()) == {"old.md", "other.md"}
    connection.execute("SELECT pg_advisory_unlock_all()")
    write(store, [split("same.md", "A new sentence.")])
    assert "same.md" in store.stored_documents()


def test_a_vector_that_another_writer_removes_meanwhile_is_not_missed(
    store: PostgresStore, connection: Connection
) -> None:
    slow = WaitingEmbedder()
    both = split("both.md", "The old sentence.", "A slow sentence.")  # the first is known by its vector
    thread = threading.Thread(target=lambda: write(store, [both], embedder=slow))
    thread.start()
    try:
        assert slow.asked.wait(60)
        write(store, remove=["old.md"])
    finally:
        slow.go_on.set()
        thread.join()

    assert slow.embedded == ["A slow sentence."]
    with store.read() as reader:
        assert reader.vectors("both.md").shape == (2, 32)
    assert is_whole(connection)


def test_a_model_that_changed_meanwhile_is_not_mixed_in(store: PostgresStore) -> None:
    slow = WaitingEmbedder()
    failures: list[BaseException] = []

    def run() -> None:
        try:
            write(store, [split("slow.md", "A slow sentence.")], embedder=slow)
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        assert slow.asked.wait(60)
        write(store, [split("old.md", "The old sentence.")], embedder=HashEmbedder(name="another"))
    finally:
        slow.go_on.set()
        thread.join()

    assert [type(error) for error in failures] == [IndexMismatch]
    assert set(store.stored_documents()) == {"old.md"}


def test_a_reader_sees_the_whole_old_index_while_a_writer_publishes(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer is stopped inside the transaction, when everything is written and nothing is committed."""
    seen: list[tuple[set[str], set[str]]] = []
    change_terms = publish._change_terms

    def look(connection: Connection) -> None:
        change_terms(connection)
        with store.read() as reader:
            seen.append(({item.id for item in reader.documents()}, texts(reader.search(question("sentence")))))

    monkeypatch.setattr(publish, "_change_terms", look)
    with store.read() as before:
        write(store, [split("new.md", "A new sentence.")], remove=["old.md"])
        assert texts(before.search(question("sentence", vector="sentence"))) == {"The old sentence."}
    assert seen == [({"old.md"}, {"The old sentence."})]
    assert texts(search(store, question("sentence"))) == {"A new sentence."}


# Processes that die


def child(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", f"{__package__}.postgres_child", *arguments],
        cwd=TESTS,
        capture_output=True,
        text=True,
        check=False,
    )


def serves_the_old_generation(store: PostgresStore) -> bool:
    with store.read() as reader:
        return [item.id for item in reader.documents()] == ["old.md"] and texts(
            reader.search(question("old", vector="old"))
        ) == {"The old sentence."}


def test_what_was_embedded_before_a_kill_is_not_embedded_again(
    database_url: str, schema: str, store: PostgresStore, connection: Connection
) -> None:
    died = child("die_while_embedding", database_url, schema, "4500")  # the first chunk of 6,000 is done

    assert died.returncode == -signal.SIGKILL, died.stderr
    assert serves_the_old_generation(store)
    assert number(connection, "SELECT count(*) FROM staged_vectors") == 4096
    embedder = HashEmbedder()
    write(store, (numbered(f"doc{one}.md", 2000) for one in range(3)), remove=["old.md"], embedder=embedder)
    assert len(embedder.embedded) == 6000 - 4096
    assert number(connection, "SELECT count(*) FROM staged_vectors") == 0
    assert is_whole(connection)


@pytest.mark.parametrize("step", ["_lock", "_insert", "_change_terms"])
def test_a_writer_that_is_killed_while_publishing_leaves_nothing_half_done(
    database_url: str, schema: str, store: PostgresStore, connection: Connection, step: str
) -> None:
    died = child("die_while_publishing", database_url, schema, step)

    assert died.returncode == -signal.SIGKILL, died.stderr
    assert serves_the_old_generation(store)
    assert is_whole(connection)
    embedder = HashEmbedder()
    write(store, (numbered(f"doc{one}.md", 20) for one in range(3)), remove=["old.md"], embedder=embedder)
    assert embedder.embedded == []
    assert set(store.stored_documents()) == {"doc0.md", "doc1.md", "doc2.md"}
    assert is_whole(connection)


# Another analysis of words


def test_a_full_text_of_another_analysis_is_made_anew(store: PostgresStore, connection: Connection) -> None:
    write(store, CORPUS, remove=["old.md"])
    with store.read() as reader:
        query = question("canola", "6.0-7.0", vector="canola")
        before = reader.info, reader.search(query).items
    # As a version would have left it that had other words:
    connection.execute("UPDATE sentences SET terms = 'xother xwords', length = 2, norm = 2 WHERE key IS NOT NULL")
    connection.execute("UPDATE documents SET tokens = 2 * evidence")
    connection.execute("UPDATE index_info SET analysis = 0, tokens = 2 * evidence")
    connection.execute("DELETE FROM terms")
    connection.execute("INSERT INTO terms SELECT unnest(ARRAY['xother', 'xwords']), evidence FROM index_info")

    with pytest.raises(IndexMismatch, match="analysis 0"), store.read():
        pass
    embedder = HashEmbedder()
    info = write(store, CORPUS, embedder=embedder)
    assert embedder.embedded == []
    with store.read() as reader:
        assert (info.digest, reader.search(query).items) == (before[0].digest, before[1])
    assert is_whole(connection)


# Indexes of the vectors


def has_vector_index(connection: Connection, schema: str) -> bool:
    named = "SELECT FROM pg_indexes WHERE schemaname = %s AND indexname = 'sentences_by_vector'"
    return connection.execute(named, (schema,)).fetchone() is not None


def test_an_index_is_made_when_it_pays_off_and_again_for_another_model(
    store: PostgresStore, schema: str, connection: Connection
) -> None:
    documents = [numbered(f"doc{number}.md", 600) for number in range(2)]
    write(store, documents[:1])
    assert not has_vector_index(connection, schema)
    write(store, documents[1:])
    assert has_vector_index(connection, schema)

    write(store, documents, remove=["old.md"], embedder=HashEmbedder(name="small", dimension=8))
    assert has_vector_index(connection, schema)
    with store.read() as reader:
        assert reader.vectors("doc0.md").shape == (600, 8)
    assert is_whole(connection)


# What the server refuses


def test_an_orphan_is_impossible(store: PostgresStore, connection: Connection) -> None:
    write(store, CORPUS)
    with pytest.raises(psycopg.errors.ForeignKeyViolation):
        connection.execute("INSERT INTO passages VALUES (999, 0, 0, 0, 0, 1, '[]', NULL, 1)")
    connection.execute("DELETE FROM documents")
    assert number(connection, "SELECT count(*) FROM sentences") == 0


def test_a_server_that_only_reads_says_so(
    database_url: str, schema: str, store: PostgresStore, connection: Connection
) -> None:
    readonly = make_conninfo(database_url, options="-c default_transaction_read_only=on")
    with closing(PostgresStore(readonly, schema=schema, vectors="vector", ef_search=100)) as other:
        assert serves_the_old_generation(other)
        with pytest.raises(IndexFault) as raised:
            write(other, [split("new.md", "A new sentence.")])
    assert "only reads" in raised.value.hint
    assert serves_the_old_generation(store)


@pytest.fixture
def plain_user(database_url: str) -> Iterator[str]:
    """The URL of a database without the extension, for a user without rights."""
    name = new_schema()
    with psycopg.connect(database_url, autocommit=True) as connection:
        if connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone() != (True,):
            pytest.skip("only a superuser can make users and databases")
        identifier = sql.Identifier(name)
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(identifier))
        connection.execute(sql.SQL("CREATE DATABASE {} OWNER {}").format(identifier, identifier))
        yield make_conninfo(database_url, user=name, dbname=name)
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(identifier))
        connection.execute(sql.SQL("DROP ROLE {}").format(identifier))


def test_a_user_who_may_not_add_the_extension_is_told_who_can(plain_user: str) -> None:
    with closing(PostgresStore(plain_user, schema="quoth", vectors="vector", ef_search=100)) as store:
        with pytest.raises(IndexUnwritable, match="vector") as raised:
            write(store, CORPUS)
        assert "CREATE EXTENSION vector" in raised.value.hint
        assert store.stored_documents() == {}


def test_a_user_with_the_right_to_read_can_only_read(
    database_url: str, schema: str, store: PostgresStore, plain_user: str, connection: Connection
) -> None:
    user = conninfo_to_dict(plain_user)["user"]
    reader = make_conninfo(database_url, user=user)
    with closing(PostgresStore(reader, schema=schema, vectors="vector", ef_search=100)) as other:
        with pytest.raises(IndexFault, match="permission denied"):
            other.stored_documents()
        for grant in ("GRANT USAGE ON SCHEMA {} TO {}", "GRANT SELECT ON ALL TABLES IN SCHEMA {} TO {}"):
            connection.execute(sql.SQL(grant).format(sql.Identifier(schema), sql.Identifier(str(user))))
        try:
            assert serves_the_old_generation(other)
            with pytest.raises(IndexUnwritable, match="permission denied"):
                write(other, [split("new.md", "A new sentence.")])
        finally:
            connection.execute(sql.SQL("DROP OWNED BY {}").format(sql.Identifier(str(user))))
