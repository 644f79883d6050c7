"""A server that is down, restarts, refuses, or ends connections: what a user sees."""

from __future__ import annotations

import logging
import socket
import traceback
from collections.abc import Iterator
from contextlib import closing

import pytest

pytest.importorskip("psycopg", reason="psycopg is not installed")

from quoth.errors import IndexBusy, IndexFault
from quoth.stores.postgres import PostgresStore
from quoth.stores.postgres import postgres_connections as connections

from .contract import question, texts, write
from .fakes import split
from .postgres_faults import (
    OLD,
    PASSWORD,
    Beside,
    OwnServer,
    administrator,
    end_quoth,
    own_server,
    said,
    serves_the_old_generation,
    store_at,
    wait_until_waiting,
)
from .postgres_server import new_schema

NEW = split("new.md", "A new sentence.")


@pytest.fixture(scope="module")
def shared_server() -> Iterator[OwnServer]:
    with own_server() as server:
        yield server


@pytest.fixture
def server(shared_server: OwnServer) -> OwnServer:
    """One that runs, whatever the last test did to it."""
    if not shared_server.is_running:
        shared_server.start()
    return shared_server


@pytest.fixture
def schema() -> str:
    return new_schema()


@pytest.fixture
def store(server: OwnServer, schema: str) -> Iterator[PostgresStore]:
    """One with an old document."""
    with closing(store_at(server.url(), schema)) as store:
        write(store, [OLD])
        yield store


# Not let in


def fails(url: str, caplog: pytest.LogCaptureFixture) -> str:
    """What both a question and a write say, which nowhere holds the password."""
    messages = set()
    with closing(store_at(url, "quoth")) as store, caplog.at_level(logging.DEBUG):
        for action in (store.stored_documents, lambda: write(store, [NEW])):
            with pytest.raises(IndexFault) as raised:
                action()
            shown = "".join(traceback.format_exception(raised.value))
            assert PASSWORD not in shown + said(raised.value) + repr(raised.value) + repr(vars(raised.value))
            messages.add(said(raised.value))
        assert PASSWORD not in repr(store) + store.location + caplog.text
    assert len(messages) == 1
    return messages.pop()


def test_the_right_password_lets_in(server: OwnServer, schema: str, caplog: pytest.LogCaptureFixture) -> None:
    url = server.url_over_tcp(password=PASSWORD)
    with closing(store_at(url, schema)) as store, caplog.at_level(logging.DEBUG):
        write(store, [OLD])
        assert serves_the_old_generation(store)
        assert PASSWORD not in store.location + repr(store) + caplog.text
    assert PASSWORD not in server.log


def test_a_wrong_password_is_refused(server: OwnServer, caplog: pytest.LogCaptureFixture) -> None:
    message = fails(server.url_over_tcp(password=PASSWORD[::-1]), caplog)
    assert "password authentication failed" in message
    assert "Check the user and the password" in message
    assert PASSWORD[::-1] not in message + caplog.text


def test_a_password_that_is_lacking_is_asked_for(server: OwnServer, caplog: pytest.LogCaptureFixture) -> None:
    message = fails(server.url_over_tcp(), caplog)
    assert "no password supplied" in message
    assert "PGPASSWORD" in message


def test_a_database_that_is_not_there_is_named(server: OwnServer, caplog: pytest.LogCaptureFixture) -> None:
    message = fails(server.url_over_tcp(password=PASSWORD, dbname="nowhere"), caplog)
    assert 'database "nowhere" does not exist' in message
    assert "createdb" in message


def test_a_role_that_is_not_there_is_named(server: OwnServer, caplog: pytest.LogCaptureFixture) -> None:
    message = fails(server.url(user="nobody_here", password=PASSWORD), caplog)
    assert 'role "nobody_here" does not exist' in message
    assert "Check the user" in message


@pytest.mark.parametrize("place", [{"port": "1"}, {"host": "no-such-host.invalid"}])
def test_a_wrong_address_is_a_fault(server: OwnServer, place: dict[str, str], caplog: pytest.LogCaptureFixture) -> None:
    message = fails(server.url_over_tcp(password=PASSWORD, **place), caplog)
    assert "cannot be reached" in message
    assert "Check the address" in message


def test_a_server_that_never_answers_is_given_up_after_the_time_in_the_url() -> None:
    with closing(socket.socket()) as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        with pytest.raises(IndexFault, match="timeout expired") as raised:
            store_at(f"postgresql://me:{PASSWORD}@127.0.0.1:{port}/db?connect_timeout=2", "quoth").stored_documents()
    assert "did not answer in time" in said(raised.value)
    assert PASSWORD not in said(raised.value)


def test_too_many_connections_are_a_fault_with_a_next_step(server: OwnServer, caplog: pytest.LogCaptureFixture) -> None:
    with administrator(server) as connection:
        connection.execute("CREATE ROLE single LOGIN CONNECTION LIMIT 0")
    message = fails(server.url(user="single", password=PASSWORD), caplog)
    assert 'too many connections for role "single"' in message
    assert "raise the limit" in message


# Down, and back again


def test_a_server_that_is_down_is_told_at_once_and_used_again_when_it_is_back(
    server: OwnServer, store: PostgresStore, schema: str
) -> None:
    assert serves_the_old_generation(store)  # leaves a connection in the pool, which dies with the server
    with closing(store_at(server.url(), schema)) as unopened:
        server.stop("fast")
        for attempt in (
            store.stored_documents,
            lambda: serves_the_old_generation(store),
            lambda: write(store, [NEW]),
            unopened.stored_documents,
            lambda: write(unopened, [NEW]),
        ):
            with pytest.raises(IndexFault, match="cannot be reached") as raised:
                attempt()
            assert "Check the address" in said(raised.value)
        server.start()
        assert serves_the_old_generation(store)
        assert serves_the_old_generation(unopened)
    write(store, [NEW])
    assert set(store.stored_documents()) == {"old.md", "new.md"}


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_restart_between_two_questions_is_not_noticed(server: OwnServer, store: PostgresStore, mode: str) -> None:
    assert serves_the_old_generation(store)
    server.restart(mode)
    assert serves_the_old_generation(store)
    with store.read() as reader:
        before = reader.search(question("old", vector="old"))
        server.restart(mode)
        after = reader.search(question("old", vector="old"))
        assert after.items == before.items
        assert reader.document("old.md") == OLD.document


def test_a_restart_in_the_middle_of_a_question_is_ridden_out(
    server: OwnServer, store: PostgresStore, schema: str
) -> None:
    with store.read() as reader:
        with administrator(server, schema=schema) as connection, administrator(server) as observer:
            connection.execute("BEGIN; LOCK TABLE documents IN ACCESS EXCLUSIVE MODE")
            asked = Beside(lambda: reader.document("old.md"))
            wait_until_waiting(observer, "Lock")
            server.restart("immediate")
            assert asked.result() == OLD.document
        assert texts(reader.search(question("old"))) == {"The old sentence."}


def test_a_server_that_goes_away_in_the_middle_of_a_question_is_a_fault(
    server: OwnServer, store: PostgresStore, schema: str
) -> None:
    with store.read() as reader:
        with administrator(server, schema=schema) as connection, administrator(server) as observer:
            connection.execute("BEGIN; LOCK TABLE documents IN ACCESS EXCLUSIVE MODE")
            asked = Beside(lambda: reader.document("old.md"))
            wait_until_waiting(observer, "Lock")
            server.stop("immediate")
        failure = asked.result()
        assert isinstance(failure, IndexFault)
        assert "cannot be reached" in said(failure)
        with pytest.raises(IndexFault, match="cannot be"):
            reader.document("old.md")
    server.start()
    assert serves_the_old_generation(store)


def test_an_index_that_changed_during_a_restart_is_not_mixed_in(server: OwnServer, store: PostgresStore) -> None:
    with store.read() as reader:
        assert texts(reader.search(question("sentence"))) == {"The old sentence."}
        server.restart("fast")
        write(store, [NEW])
        for _ in range(2):  # and it stays so: what was found before belongs to the old generation
            with pytest.raises(IndexFault, match="has changed since") as raised:
                reader.search(question("sentence"))
            assert "Ask again" in said(raised.value)
    with store.read() as reader:
        assert texts(reader.search(question("sentence"))) == {"The old sentence.", "A new sentence."}


def test_a_reader_whose_backend_is_ended_in_mid_read_asks_once_more(
    server: OwnServer, store: PostgresStore, schema: str
) -> None:
    with (
        store.read() as reader,
        administrator(server, schema=schema) as connection,
        administrator(server) as observer,
    ):
        connection.execute("BEGIN; LOCK TABLE documents IN ACCESS EXCLUSIVE MODE")
        asked = Beside(lambda: reader.document("old.md"))
        wait_until_waiting(observer, "Lock")
        assert end_quoth(observer) >= 1
        wait_until_waiting(observer, "Lock")  # the second try
        connection.execute("COMMIT")
        assert asked.result() == OLD.document


def test_a_reader_whose_backend_is_ended_again_and_again_gives_up(
    server: OwnServer, store: PostgresStore, schema: str
) -> None:
    with (
        store.read() as reader,
        administrator(server, schema=schema) as connection,
        administrator(server) as observer,
    ):
        connection.execute("BEGIN; LOCK TABLE documents IN ACCESS EXCLUSIVE MODE")
        asked = Beside(lambda: reader.document("old.md"))
        for _ in range(2):
            wait_until_waiting(observer, "Lock")
            assert end_quoth(observer) >= 1
        failure = asked.result()
        assert isinstance(failure, IndexFault)
        assert "the connection was lost" in said(failure)
        assert "Try again" in said(failure)
    assert serves_the_old_generation(store)


# Too much at once, and too slow


def test_more_readers_than_connections_wait_and_are_told(store: PostgresStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_SOON_SECONDS", 0.2)
    monkeypatch.setattr(connections, "_POOL_SECONDS", 0.3)
    monkeypatch.setattr(connections, "_MOST", 2)
    with store.read(), store.read():
        with pytest.raises(IndexBusy, match="all 2 connections") as raised:
            store.stored_documents()
        assert "Ask fewer questions at once" in said(raised.value)
    assert serves_the_old_generation(store)


def test_a_question_that_takes_too_long_is_given_up(
    server: OwnServer, store: PostgresStore, schema: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_READ_MILLISECONDS", 300)
    store.close()  # the next connections have the new limit
    with administrator(server, schema=schema) as connection, store.read() as reader:
        connection.execute("BEGIN; LOCK TABLE documents IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(IndexFault, match="statement timeout") as raised:
            reader.document("old.md")
        assert "longer than the time limit" in said(raised.value)
        connection.execute("COMMIT; BEGIN; LOCK TABLE index_info IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(IndexFault, match="statement timeout"):
            store.stored_documents()
        connection.execute("COMMIT")
        assert serves_the_old_generation(store)
