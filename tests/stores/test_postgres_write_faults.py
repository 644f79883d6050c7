"""A write that loses its server, waits for another, or finds no room or no right: nothing is half published."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

pytest.importorskip("psycopg", reason="psycopg is not installed")

from quoth.errors import IndexBusy, IndexFault, IndexUnwritable
from quoth.protocols import Progress
from quoth.stores.postgres import PostgresStore
from quoth.stores.postgres import postgres_publish as publish
from quoth.stores.postgres import postgres_writer as writer
from quoth.types import SplitDocument, Vectors

from .contract import question, search, texts, write
from .fakes import HashEmbedder, numbered, split
from .postgres_faults import (
    OLD,
    Beside,
    OwnServer,
    administrator,
    end_quoth,
    leave_room,
    own_server,
    prepared,
    said,
    serves_the_old_generation,
    small_disk,
    standby_of,
    store_at,
    wait_until_waiting,
)
from .postgres_server import new_schema

NEW = split("new.md", "A new sentence.")
CHUNK = 50


@pytest.fixture(scope="module")
def server() -> Iterator[OwnServer]:
    with own_server() as server:
        yield server


@pytest.fixture
def schema() -> str:
    return new_schema()


@pytest.fixture
def store(server: OwnServer, schema: str) -> Iterator[PostgresStore]:
    """One with an old document."""
    with closing(store_at(server.url(), schema)) as store:
        write(store, [OLD])
        yield store


# A connection that is lost


class Interrupted(HashEmbedder):
    """Has something done to the server when it is asked for more than `limit` texts, and then goes on."""

    def __init__(self, limit: int, then: Callable[[], object]) -> None:
        super().__init__()
        self._limit = limit
        self._then = then

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        if len(self.embedded) < self._limit <= len(self.embedded) + len(texts):
            self._then()
        return super().embed(texts, progress=progress)


def finishes(store: PostgresStore, put: Iterator[SplitDocument] | Sequence[SplitDocument]) -> int:
    """Write the same again, and say how many texts that embeds."""
    embedder = HashEmbedder()
    info = write(store, put, embedder=embedder)
    assert info.documents == len(store.stored_documents())
    return len(embedder.embedded)


@pytest.mark.parametrize("how", ["ended", "restarted"])
def test_a_writer_that_is_cut_off_while_it_embeds_keeps_what_it_has(
    server: OwnServer, store: PostgresStore, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "CHUNK", CHUNK)

    def cut() -> None:
        if how == "restarted":
            server.restart("immediate")
            return
        with administrator(server) as connection:
            end_quoth(connection)

    put = [numbered(f"doc{number}.md", 60) for number in range(3)]
    with pytest.raises(IndexFault, match="the connection was lost") as raised:
        write(store, put, embedder=Interrupted(2 * CHUNK + 1, cut))

    assert "Run the same command again: what was embedded is kept" in said(raised.value)
    assert serves_the_old_generation(store)
    assert finishes(store, put) == 180 - 2 * CHUNK
    assert texts(search(store, question("topic7"))) >= {"Sentence 7 of doc2.md: topic7 topic7."}


def test_a_writer_that_is_cut_off_while_it_reads_documents_publishes_nothing(
    server: OwnServer, store: PostgresStore
) -> None:
    def documents() -> Iterator[SplitDocument]:
        yield numbered("doc0.md", 10)
        with administrator(server) as connection:
            assert end_quoth(connection) == 1
        yield numbered("doc1.md", 10)

    with pytest.raises(IndexFault, match="the connection was lost"):
        write(store, documents())
    assert serves_the_old_generation(store)
    assert finishes(store, [numbered("doc0.md", 10), numbered("doc1.md", 10)]) == 20


def test_a_writer_that_is_cut_off_while_it_publishes_publishes_nothing(
    server: OwnServer, store: PostgresStore, schema: str
) -> None:
    with administrator(server, schema=schema) as connection, administrator(server) as observer:
        connection.execute("BEGIN; LOCK TABLE terms IN EXCLUSIVE MODE")  # which the writer comes to late
        writing = Beside(lambda: write(store, [NEW], remove=["old.md"]))
        wait_until_waiting(observer, "Lock")
        assert end_quoth(observer) == 1
        failure = writing.result()
    assert isinstance(failure, IndexFault)
    assert "the connection was lost" in said(failure)
    assert serves_the_old_generation(store)
    assert finishes(store, [NEW]) == 0  # all of it had been embedded


# Another writer


def test_a_second_writer_of_the_same_document_does_not_wait_for_ever(
    server: OwnServer, store: PostgresStore, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with administrator(server, schema=schema) as connection, administrator(server) as observer:
        connection.execute("BEGIN; LOCK TABLE terms IN EXCLUSIVE MODE")
        first = Beside(lambda: write(store, [NEW]))
        wait_until_waiting(observer, "Lock")
        monkeypatch.setattr(publish, "_WAIT", "300ms")
        with pytest.raises(IndexBusy, match="lock timeout") as raised:
            write(store, [split("new.md", "Another new sentence.")])
        assert "Try again when the other process is done" in said(raised.value)
        assert serves_the_old_generation(store)
        connection.execute("COMMIT")
        assert not isinstance(first.result(), BaseException)
    assert texts(search(store, question("new"))) == {"A new sentence."}


# Only to be read


def test_a_replica_answers_and_refuses_to_be_written(server: OwnServer, store: PostgresStore, schema: str) -> None:
    with standby_of(server) as standby, closing(store_at(standby.url(), schema)) as replica:
        assert serves_the_old_generation(replica)
        for target in (schema, new_schema()):
            with (
                closing(store_at(standby.url(), target)) as other,
                pytest.raises(IndexUnwritable, match="read-only transaction") as raised,
            ):
                write(other, [NEW])
            assert "write to the primary" in said(raised.value)
        assert serves_the_old_generation(replica)

        write(store, [NEW])
        with administrator(server) as connection, administrator(standby) as following:
            (written,) = connection.execute("SELECT pg_current_wal_lsn()::text").fetchone() or ("",)
            while following.execute("SELECT pg_last_wal_replay_lsn() >= %s::pg_lsn", (written,)).fetchone() != (True,):
                following.execute("SELECT pg_sleep(0.05)")
        assert texts(search(replica, question("new"))) == {"A new sentence."}


# No room


@pytest.fixture
def crowded(server: OwnServer) -> Iterator[Path]:
    """A disk of three megabytes, on which the tables of the database `crowded` live."""
    with small_disk(server, "3m") as disk, administrator(server) as connection:
        connection.execute(f"CREATE TABLESPACE small LOCATION '{disk}'")
        connection.execute("CREATE DATABASE crowded")
        connection.execute("ALTER DATABASE crowded SET default_tablespace = small")
        yield disk
        connection.execute("DROP DATABASE crowded WITH (FORCE)")
        connection.execute("DROP TABLESPACE small")


def starved(store: PostgresStore, disk: Path, put: Sequence[SplitDocument], dimension: int) -> tuple[int, int]:
    """Write until the disk is full, make room, write again; return how many texts each of them embedded."""
    write(store, [OLD], embedder=HashEmbedder(dimension=dimension))
    first, second, third = (HashEmbedder(dimension=dimension) for _ in range(3))
    for embedder in (first, second):  # twice: it does not get worse
        with pytest.raises(IndexUnwritable, match="No space left on device") as raised:
            write(store, put, embedder=embedder)
        assert "disk is full: free some space, then run the same command again" in said(raised.value)
        with store.read() as reader:
            assert [item.id for item in reader.documents()] == ["old.md"]
            assert texts(reader.search(question("old"))) == {"The old sentence."}
    leave_room(disk, 100)
    write(store, put, embedder=third)
    assert set(store.stored_documents()) == {"old.md", *(one.document.id for one in put)}
    return len(first.embedded), len(third.embedded)


def test_a_disk_that_fills_up_while_vectors_are_kept_costs_one_chunk(
    server: OwnServer, schema: str, crowded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "CHUNK", CHUNK)
    with closing(store_at(server.url(dbname="crowded"), schema)) as store:
        before, after = starved(store, crowded, [numbered("large.md", 800)], dimension=1500)
    assert CHUNK < before < 800
    assert after == 800 - (before - CHUNK)


def test_a_disk_that_fills_up_while_publishing_costs_no_vector(server: OwnServer, schema: str, crowded: Path) -> None:
    with closing(store_at(server.url(dbname="crowded"), schema)) as store:
        put = [numbered(f"doc{number}.md", 1000) for number in range(4)]
        assert starved(store, crowded, put, dimension=32) == (4000, 0)


def test_a_server_that_stops_because_its_log_has_no_room_loses_nothing() -> None:
    """Where the write-ahead log cannot grow, the server itself goes down in the middle of the write."""
    with prepared() as server, small_disk(server, "100m") as disk:
        server.create(f"--waldir={disk / 'wal'}", "--wal-segsize=1")
        server.configure("max_wal_size = 1GB")
        server.start()
        put = [numbered(f"doc{number}.md", 1000) for number in range(3)]
        with closing(store_at(server.url(), "quoth")) as store:
            write(store, [OLD])
            leave_room(disk, 2)
            # Whether the writer's own process finds no room or another one does, decides about the words.
            with pytest.raises(IndexFault, match=r"No space left on device|the connection was lost") as raised:
                write(store, put)
            assert "run the same command again" in said(raised.value).lower()
            assert "PANIC" in server.log
            leave_room(disk, 100)
            server.end()
            server.start()
            assert serves_the_old_generation(store)
            write(store, put)
            assert len(store.stored_documents()) == 4
        server.end()


# No extension


@pytest.fixture
def bare_database(server: OwnServer) -> Iterator[str]:
    """A database for which the server finds no extensions, as if pgvector had never been put on it."""
    with administrator(server) as connection:
        connection.execute("CREATE DATABASE bare")
        connection.execute("ALTER DATABASE bare SET extension_control_path = '/nonexistent'")
        yield server.url(dbname="bare")
        connection.execute("DROP DATABASE bare WITH (FORCE)")


def test_a_server_without_pgvector_is_told_what_to_install(server: OwnServer, bare_database: str, schema: str) -> None:
    with closing(store_at(bare_database, schema)) as store:
        with pytest.raises(IndexFault, match="lacks the extension 'vector', and the server does not have it") as raised:
            write(store, [NEW])
        assert "Install pgvector" in said(raised.value)
        assert store.stored_documents() == {}
        with administrator(server, dbname="bare") as connection:
            assert connection.execute("SELECT FROM pg_namespace WHERE nspname = %s", (schema,)).fetchone() is None
            connection.execute("ALTER DATABASE bare RESET extension_control_path")
        write(store, [OLD])
        assert serves_the_old_generation(store)


def test_what_else_fails_while_the_extension_is_made_is_not_taken_for_its_lack(
    server: OwnServer, bare_database: str, schema: str
) -> None:
    with administrator(server, dbname="bare") as connection, administrator(server, dbname="bare") as observer:
        connection.execute("ALTER DATABASE bare RESET extension_control_path")
        connection.execute("BEGIN; LOCK TABLE pg_extension IN EXCLUSIVE MODE")
        with closing(store_at(bare_database, schema)) as store:
            writing = Beside(lambda: write(store, [NEW]))
            wait_until_waiting(observer, "Lock")
            end_quoth(observer)
            failure = writing.result()
    assert isinstance(failure, IndexFault)
    assert "the connection was lost" in said(failure)
