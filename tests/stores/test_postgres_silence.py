"""A server that is stopped, not ended, says nothing more and closes nothing. A pooler may share its sessions."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

pytest.importorskip("psycopg", reason="psycopg is not installed")
import psutil  # type: ignore[import-untyped]  # the package of the server brings it

from quoth.errors import IndexFault, JobsUnavailable
from quoth.stores.postgres import PostgresStore
from quoth.stores.postgres import postgres_connections as connections

from .contract import question, texts, write
from .fakes import split
from .postgres_faults import (
    OLD,
    Beside,
    OwnServer,
    administrator,
    own_server,
    said,
    serves_the_old_generation,
    store_at,
    wait_until_waiting,
)
from .postgres_server import new_schema

NEW = split("new.md", "A new sentence.")
BOUNCER = shutil.which("pgbouncer", path=f"{os.environ.get('PATH', '')}:/usr/sbin")


@pytest.fixture(scope="module")
def server() -> Iterator[OwnServer]:
    with own_server() as server:
        yield server


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_READ_MILLISECONDS", 300)
    monkeypatch.setattr(connections, "_GRACE_SECONDS", 0.2)
    monkeypatch.setattr(connections, "_WRITE_SECONDS", 0.3)


@pytest.fixture
def store(server: OwnServer, impatient: None) -> Iterator[PostgresStore]:
    """One with an old document."""
    with closing(store_at(server.url(connect_timeout="2"), new_schema())) as store:
        write(store, [OLD])
        yield store


@contextmanager
def stopped(server: OwnServer) -> Iterator[None]:
    """Stop every process of the server where it stands; all go on at the end."""
    first = psutil.Process(int((server.data / "postmaster.pid").read_text().split()[0]))
    processes = [first, *first.children(recursive=True)]
    for process in processes:
        process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            process.send_signal(signal.SIGCONT)


def test_a_question_to_a_server_that_hangs_is_given_up(server: OwnServer, store: PostgresStore) -> None:
    with store.read(), store.read(), store.read():
        pass  # so that idle connections are there, each of which would have to be waited for
    with store.read() as reader:
        with stopped(server):
            with pytest.raises(IndexFault, match="cannot be reached") as raised:
                reader.search(question("old"))
            assert "did not answer in time" in said(raised.value)
            with pytest.raises(IndexFault, match="cannot be reached"):
                store.stored_documents()
        assert reader.document("old.md") == OLD.document  # over a new connection, once the server goes on
    assert serves_the_old_generation(store)


def test_a_write_to_a_server_that_hangs_is_given_up_and_can_be_repeated(
    server: OwnServer, store: PostgresStore
) -> None:
    schema = store.location.partition("(schema ")[2].removesuffix(")")
    with administrator(server, schema=schema) as connection, administrator(server) as observer:
        connection.execute("BEGIN; LOCK TABLE documents IN ACCESS EXCLUSIVE MODE")
        writing = Beside(lambda: write(store, [NEW]))
        wait_until_waiting(observer, "Lock")
        with stopped(server):
            failure = writing.result()
        assert isinstance(failure, IndexFault)
        assert "has said nothing for 0.3 seconds" in said(failure)
        assert "Run the same command again" in said(failure)
    assert serves_the_old_generation(store)
    write(store, [NEW])
    with store.read() as reader:
        assert texts(reader.search(question("sentence"))) == {"The old sentence.", "A new sentence."}


def test_a_write_waits_for_a_server_that_works_on_something_long(server: OwnServer, store: PostgresStore) -> None:
    schema = store.location.partition("(schema ")[2].removesuffix(")")
    with administrator(server, schema=schema) as connection, administrator(server) as observer:
        connection.execute("BEGIN; LOCK TABLE documents IN ACCESS EXCLUSIVE MODE")
        writing = Beside(lambda: write(store, [NEW]))
        wait_until_waiting(observer, "Lock")
        connection.execute("SELECT pg_sleep(1)")  # three times as long as a writer is patient
        connection.execute("COMMIT")
        assert not isinstance(writing.result(), BaseException)


@contextmanager
def pooler(server: OwnServer, mode: str) -> Iterator[str]:
    """The address of a PgBouncer before the server."""
    if BOUNCER is None:
        pytest.skip("PgBouncer is not installed")
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    file = server.folder / f"{mode}.ini"
    file.write_text(
        f"[databases]\npostgres = host={server.folder} port={server.port} user=postgres\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\nauth_type = any\n"
        f"pool_mode = {mode}\n"
    )
    file.chmod(0o644)
    owner = server.folder.stat().st_uid
    user = owner if os.geteuid() == 0 else None  # it refuses to run as root
    program = subprocess.Popen([BOUNCER, "--quiet", str(file)], user=user, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 30
        while not _listens(port):
            assert program.poll() is None
            assert time.monotonic() < until, "PgBouncer does not start"
            time.sleep(0.02)
        yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
    finally:
        program.terminate()
        program.wait(30)


def _listens(port: int) -> bool:
    with closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def test_a_pooler_in_session_mode_is_served(server: OwnServer) -> None:
    with pooler(server, "session") as url, closing(store_at(url, new_schema())) as store:
        write(store, [OLD])
        assert serves_the_old_generation(store)


def test_a_pooler_that_would_mix_up_schemas_is_not_written_through(server: OwnServer) -> None:
    with pooler(server, "transaction") as url, closing(store_at(url, new_schema())) as store:
        with pytest.raises(IndexFault, match="each transaction another session") as raised:
            write(store, [OLD])
        assert "pool_mode = session" in said(raised.value)


def test_uploads_are_not_taken_through_a_pooler_where_no_lock_of_a_session_holds(server: OwnServer) -> None:
    with (
        pooler(server, "transaction") as url,
        closing(store_at(url, new_schema())) as store,
        pytest.raises(JobsUnavailable, match="each transaction another session") as raised,
        store.uploads.transaction(),
    ):
        pass
    assert "pool_mode = session" in said(raised.value)
    with (
        pooler(server, "session") as url,
        closing(store_at(url, new_schema())) as store,
        store.uploads.alone() as first,
        store.uploads.alone() as second,
    ):
        assert (first, second) == (True, False)
