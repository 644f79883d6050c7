"""Against a real server, which is killed, started again, filled up and locked with a password."""

from __future__ import annotations

import logging
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from quoth.errors import MissingExtra, SettingsError
from quoth.interfaces.python import Quoth
from quoth.protocols import Cache
from quoth.providers.redis_cache import REST_SECONDS, RedisCache
from quoth.settings import CacheSettings
from quoth.wiring import open_cache

from .cache_contract import CacheContract

PROGRAM = shutil.which("redis-server")
SECRET = "s3cret-w0rd"  # noqa: S105 - of a server that lives as long as a test
LOGGER = "quoth.providers.redis_cache"


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Server:
    """A Redis of our own on a socket in `folder`, whose path must be short; it keeps nothing on the disk."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.socket = folder / "redis.sock"
        self.url = f"unix://{self.socket}"

    def start(self, *options: str) -> None:
        if PROGRAM is None:
            pytest.skip("redis-server is not installed")
        self._process = subprocess.Popen(
            [PROGRAM, "--port", "0", "--unixsocket", self.socket, "--save", "", "--appendonly", "no", *options],
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline = time.monotonic() + 60
        while not self._listens():
            assert self._process.poll() is None, "redis-server ended at once"
            assert time.monotonic() < deadline, "redis-server does not listen"
            time.sleep(0.01)

    def _listens(self) -> bool:
        with socket.socket(socket.AF_UNIX) as attempt:
            return attempt.connect_ex(str(self.socket)) == 0

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
            self.socket.unlink(missing_ok=True)


@pytest.fixture
def server() -> Iterator[Server]:
    with TemporaryDirectory() as folder:  # that of pytest can be too long for the name of a socket
        one = Server(Path(folder))
        try:
            yield one
        finally:
            one.kill()


@pytest.fixture(scope="module")
def running() -> Iterator[Server]:
    with TemporaryDirectory() as folder:
        one = Server(Path(folder))
        try:
            one.start()
            yield one
        finally:
            one.kill()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def caches() -> Iterator[list[RedisCache]]:
    """Caches that are closed in the end."""
    opened: list[RedisCache] = []
    yield opened
    for one in opened:
        one.close()


def raw(server: Server, *command: str, password: str | None = None) -> Any:  # noqa: ANN401 - a reply is anything
    from redis import Redis

    with Redis(unix_socket_path=str(server.socket), password=password) as client:
        return client.execute_command(*command)


class TestRedisCache(CacheContract):
    @pytest.fixture
    def cache(self, running: Server) -> Iterator[Cache]:
        raw(running, "FLUSHALL")
        one = RedisCache(running.url, max_value_bytes=self.MOST_BYTES)
        yield one
        one.close()


def test_processes_share_it_and_prefixes_do_not(running: Server, caches: list[RedisCache]) -> None:
    caches += [RedisCache(running.url, max_value_bytes=100) for _ in range(2)]
    caches.append(RedisCache(running.url, prefix="other:", max_value_bytes=100))

    caches[0].put("key", b"value", seconds=60)

    assert [one.get("key") for one in caches] == [b"value", b"value", None]


def test_a_question_is_never_a_key(running: Server, caches: list[RedisCache]) -> None:
    raw(running, "FLUSHALL")
    caches.append(RedisCache(running.url, max_value_bytes=100))
    caches[0].put("Is my neighbour's fence legal?", b"value", seconds=60)

    [name] = raw(running, "KEYS", "*")

    assert name.startswith(b"quoth:1:")
    assert len(name) == len(b"quoth:1:") + 64
    assert b"fence" not in name


def test_the_server_itself_forgets_an_entry(running: Server, caches: list[RedisCache]) -> None:
    raw(running, "FLUSHALL")
    caches.append(RedisCache(running.url, max_value_bytes=100))
    caches[0].put("key", b"value", seconds=1_000)
    [name] = raw(running, "KEYS", "*")

    assert 900_000 < raw(running, "PTTL", name) <= 1_000_000


def test_something_else_under_the_key_is_a_miss(running: Server, caches: list[RedisCache]) -> None:
    raw(running, "FLUSHALL")
    caches.append(RedisCache(running.url, max_value_bytes=100))
    caches[0].put("key", b"value", seconds=60)
    [name] = raw(running, "KEYS", "*")
    raw(running, "DEL", name)
    raw(running, "LPUSH", name, "a list")

    assert caches[0].get("key") is None


def test_a_server_that_dies_and_comes_back(
    server: Server, clock: Clock, caches: list[RedisCache], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, LOGGER)
    server.start()
    cache = RedisCache(server.url, max_value_bytes=100, clock=clock)
    caches.append(cache)
    cache.put("key", b"value", seconds=60)
    assert cache.get("key") == b"value"

    server.kill()
    for _ in range(3):
        assert cache.get("key") is None
        cache.put("key", b"value", seconds=60)
    clock.now += REST_SECONDS
    assert cache.get("key") is None

    server.start()
    assert cache.get("key") is None  # it is left alone for a while
    cache.put("key", b"too early", seconds=60)
    assert raw(server, "DBSIZE") == 0
    clock.now += REST_SECONDS
    cache.put("key", b"again", seconds=60)
    assert cache.get("key") == b"again"

    server.kill()
    assert cache.get("key") is None

    levels = [record.levelname for record in caplog.records if record.name == LOGGER]
    assert levels == ["WARNING", "INFO", "WARNING"]
    assert "there is no connection" in caplog.text


def test_a_server_that_was_restarted_between_two_questions_goes_unnoticed(
    server: Server, caches: list[RedisCache], caplog: pytest.LogCaptureFixture
) -> None:
    server.start()
    cache = RedisCache(server.url, max_value_bytes=100)
    caches.append(cache)
    cache.put("key", b"value", seconds=60)
    server.kill()
    server.start()

    assert cache.get("key") is None
    cache.put("key", b"value", seconds=60)

    assert cache.get("key") == b"value"
    assert caplog.records == []


def test_it_dies_while_many_threads_ask(
    server: Server, caches: list[RedisCache], caplog: pytest.LogCaptureFixture
) -> None:
    server.start()
    cache = RedisCache(server.url, max_value_bytes=100)
    caches.append(cache)
    started, dead = threading.Barrier(9), threading.Event()
    wrong: list[object] = []

    def work(worker: int) -> None:
        value = str(worker).encode()
        cache.put(f"{worker}", value, seconds=60)
        started.wait()
        while not dead.is_set():
            found = cache.get(f"{worker}")
            cache.put(f"{worker}", value, seconds=60)
            if found not in {value, None}:
                wrong.append(found)

    workers = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for one in workers:
        one.start()
    started.wait()
    server.kill()
    assert cache.get("anything") is None
    dead.set()
    for one in workers:
        one.join()

    assert wrong == []
    assert [record.levelname for record in caplog.records if record.name == LOGGER] == ["WARNING"]


def test_a_server_that_never_answers_is_given_up_and_left_alone(
    clock: Clock, caches: list[RedisCache], caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        cache = RedisCache(f"redis://127.0.0.1:{silent.getsockname()[1]}", max_value_bytes=100, clock=clock)
        caches.append(cache)
        assert cache.get("key") is None
        for _ in range(1_000):  # were each one to wait for it, this would take minutes
            assert cache.get("key") is None
            cache.put("key", b"value", seconds=60)
        silent.settimeout(0)
        silent.accept()[0].close()
        with pytest.raises(BlockingIOError):  # nobody came a second time
            silent.accept()
        cache.close()

    assert "it does not answer in time" in caplog.text


@pytest.mark.parametrize(
    "reply",
    [
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"$5\r\nab",
        b"*99999999999999999999\r\n",
        b":x\r\n",
        b"\x00\xff\n\n",
        b"$-7\r\n",
    ],
)
def test_something_that_is_no_redis_is_a_miss(
    reply: bytes, caches: list[RedisCache], caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:

        def serve() -> None:
            peer, _ = other.accept()
            with peer:
                peer.recv(10_000)
                peer.sendall(reply)

        thread = threading.Thread(target=serve)
        thread.start()
        url = f"redis://user:{SECRET}@127.0.0.1:{other.getsockname()[1]}/2"
        cache = RedisCache(url, max_value_bytes=100)
        caches.append(cache)
        assert cache.get("key") is None
        cache.put("key", b"value", seconds=60)
        thread.join()

    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert SECRET not in caplog.text


def test_an_error_that_repeats_the_password_is_not_logged(
    caches: list[RedisCache], caplog: pytest.LogCaptureFixture
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:

        def serve() -> None:
            peer, _ = other.accept()
            with peer:
                peer.sendall(b"-ERR unknown command, with args beginning with: " + peer.recv(10_000)[-30:-2] + b"\r\n")

        thread = threading.Thread(target=serve)
        thread.start()
        caches.append(RedisCache(f"redis://:{SECRET}@127.0.0.1:{other.getsockname()[1]}", max_value_bytes=100))
        assert caches[0].get("key") is None
        thread.join()

    assert len(caplog.records) == 1
    assert SECRET not in caplog.text


def test_a_password(server: Server, caches: list[RedisCache], caplog: pytest.LogCaptureFixture) -> None:
    server.start("--requirepass", SECRET)
    right, wrong, none = (
        RedisCache(server.url + query, max_value_bytes=100)
        for query in (f"?password={SECRET}", f"?password=not-{SECRET}", "")
    )
    caches += [right, wrong, none]
    right.put("key", b"value", seconds=60)

    assert right.get("key") == b"value"
    assert caplog.records == []
    for one in (wrong, none):
        assert one.get("key") is None
        one.put("key", b"other", seconds=60)
        assert one.get("key") is None
    assert right.get("key") == b"value"
    assert [record.levelname for record in caplog.records] == ["WARNING", "WARNING"]
    assert caplog.text.count("the password or the user is refused") == 2
    assert SECRET not in caplog.text


def test_a_password_over_the_network(server: Server, caches: list[RedisCache]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server.start("--port", str(port), "--bind", "127.0.0.1", "--requirepass", "p/w@d:é")
    caches += [
        RedisCache(f"redis://:p%2Fw%40d%3A%C3%A9@127.0.0.1:{port}/{database}", max_value_bytes=100)
        for database in (0, 3)
    ]

    caches[1].put("key", b"value", seconds=60)

    assert [one.get("key") for one in caches] == [None, b"value"]


def test_a_server_that_is_full_still_answers(
    server: Server, clock: Clock, caches: list[RedisCache], caplog: pytest.LogCaptureFixture
) -> None:
    server.start("--maxmemory-policy", "noeviction")
    cache = RedisCache(server.url, max_value_bytes=100, clock=clock)
    caches.append(cache)
    cache.put("key", b"value", seconds=60)
    raw(server, "CONFIG", "SET", "maxmemory", "1")

    for _ in range(3):
        cache.put("other", b"value", seconds=60)
        assert cache.get("key") == b"value"
        clock.now += REST_SECONDS

    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "takes no writes: its memory is full" in caplog.text
    raw(server, "CONFIG", "SET", "maxmemory", "0")
    cache.put("other", b"value", seconds=60)
    assert cache.get("other") == b"value"


def test_it_can_be_closed_twice_and_used_again(running: Server) -> None:
    cache = RedisCache(running.url, max_value_bytes=100)
    cache.put("key", b"value", seconds=60)
    cache.close()
    cache.close()

    assert cache.get("key") == b"value"
    cache.close()


def test_closing_without_a_server_is_no_error() -> None:
    cache = RedisCache("redis://127.0.0.1:1", max_value_bytes=100)
    assert cache.get("key") is None
    cache.close()


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:6379",
        f"http://:{SECRET}@localhost",
        f"redis://:{SECRET}@",
        f"redis://:{SECRET}@localhost:port",
        f"redis://:{SECRET}@localhost:99999",
        f"redis://:{SECRET}/x@localhost:6379/0",  # an unescaped slash makes the password a port
        f"redis://:x/{SECRET}@localhost:6379/0",
        f"redis://:{SECRET}@localhost/database",
        f"redis://:{SECRET}@localhost?db=first",
        f"redis://:{SECRET}@localhost?decode_responses=yes",
        f"redis://:{SECRET}@localhost?no_such_option=1",
        f"redis://:{SECRET}@localhost?protocol=9",
        f"redis://:{SECRET}@[::1",
        f"rediss://:{SECRET}@localhost?ssl_cert_reqs=perhaps",
        f"unix://?password={SECRET}",
        f"unix:///path?colour={SECRET}",
    ],
)
def test_a_wrong_address_is_named_by_its_setting_without_its_secrets(url: str) -> None:
    with pytest.raises(SettingsError, match=r"cache\.redis_url") as caught:
        RedisCache(url, max_value_bytes=100)

    told = f"{caught.value} {caught.value.hint} {caught.value.__cause__}"
    assert SECRET not in told
    assert caught.value.__suppress_context__
    assert caught.value.hint


@pytest.mark.parametrize(
    "url",
    [
        "redis://localhost",
        "redis://localhost:6380/1",
        "rediss://user:pass@cache.example.org:6379/0?ssl_cert_reqs=none",
        "redis://[::1]:6379",
        "unix:///run/redis.sock?db=2",
        "redis://localhost?socket_timeout=2&protocol=3",
    ],
)
def test_addresses_of_every_kind_are_taken_without_connecting(url: str) -> None:
    RedisCache(url, max_value_bytes=100).close()


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "redis", None)

    with pytest.raises(MissingExtra) as caught:
        RedisCache("redis://localhost", max_value_bytes=100)

    assert "quoth[redis]" in caught.value.hint


def test_a_retrieval_is_shared_through_the_server_and_survives_it(server: Server, tmp_path: Path) -> None:
    server.start()
    folder = tmp_path / "guides"
    folder.mkdir()
    (folder / "canola.md").write_text("# Canola\n\nSow canola at 2 cm.\n", encoding="utf-8")
    settings = {"embedding.model_name": "hash", "cache.redis_url": server.url}
    stages: list[str] = []
    try:
        quoth = Quoth.build(folder, index=tmp_path / "index", settings=settings)
        first = quoth.retrieve("How deep to sow canola?")
        again = quoth.explain_retrieval("How deep to sow canola?", done=stages.append)
        assert (stages, again.retrieval) == (["cache"], first)

        server.kill()
        stages.clear()
        assert quoth.explain_retrieval("How deep to sow canola?", done=stages.append).retrieval == first
        assert "search" in stages
    finally:
        kept = open_cache(CacheSettings(redis_url=server.url))
        assert kept is not None
        assert isinstance(kept._cache, RedisCache)
        kept._cache.close()
        open_cache.cache_clear()
