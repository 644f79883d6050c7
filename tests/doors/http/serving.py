"""The service in this process, over its own event loop, or as the installed program."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Message

from quoth.http.app import make_app
from quoth.http.guard.api_keys import ApiKey, KeyFile, KeyScope
from quoth.http.service import ServeOptions
from quoth.overrides import Overrides

from ..command_line import HASH, PATIENCE, PROGRAM, environment
from ..local_http import send

HERE = "http://127.0.0.1:8080"
"""What a browser on this machine would call the service."""


def plan(index: Path, state: Path, *, auth: bool = False, **settings: object) -> ServeOptions:
    """What `quoth serve` would be told; the names of `settings` are those of the service."""
    flags = {"embedding.model_name": "hash", "rerank.kind": "late", "service.state": str(state)}
    flags |= {f"service.{name}": str(value).lower() for name, value in settings.items()}
    return ServeOptions(index=str(index), overrides=Overrides({}, {}, flags), profile=None, auth=auth)


@contextmanager
def opened(given: ServeOptions, *, base_url: str = HERE, **headers: str) -> Iterator[TestClient]:
    """A client of the whole application, gate and all, with its beginning and its end."""
    with TestClient(make_app(given), base_url=base_url, headers=headers) as client:
        yield client


def new_key(state: Path, *scopes: KeyScope, per_minute: int | None = None) -> tuple[ApiKey, str]:
    return KeyFile(state / "keys.json").add("tester", scopes=scopes or [KeyScope.READ], per_minute=per_minute)


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def error_of(response: Any) -> dict[str, str]:  # noqa: ANN401 - of the test client, or of httpx
    """The error in a response, which is always of one shape."""
    content = response.json()
    assert set(content) == {"error"}, content
    assert set(content["error"]) == {"code", "message", "hint"}, content
    assert all(isinstance(value, str) for value in content["error"].values()), content
    assert content["error"]["code"], content
    error: dict[str, str] = content["error"]
    return error


@dataclass(slots=True)
class Exchange:
    """One request to an application without a server between, and what it sent."""

    sent: list[Message] = field(default_factory=list)

    @property
    def status(self) -> int:
        status: int = self.sent[0]["status"]
        return status

    @property
    def headers(self) -> dict[str, str]:
        return {name.decode(): value.decode() for name, value in self.sent[0]["headers"]}

    @property
    def body(self) -> bytes:
        return b"".join(one.get("body", b"") for one in self.sent[1:])


Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


async def call(
    app: ASGIApp,
    method: str,
    path: str,
    *,
    receive: Receive,
    send: Send | None = None,
    headers: Mapping[str, str] | None = None,
) -> Exchange:
    """Call an application as a server would: `receive` is the client that sends, `send` the one that reads."""
    exchange = Exchange()

    async def kept(message: Message) -> None:
        exchange.sent.append(message)
        if send is not None:
            await send(message)

    given = {"host": "127.0.0.1:8080", **(headers or {})}
    scope = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": "1.1",
        "method": method,
        "scheme": "http",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(name.lower().encode(), value.encode("latin-1")) for name, value in given.items()],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8080),
        "state": {},
    }
    async with asyncio.timeout(PATIENCE):
        await app(scope, receive, kept)
    return exchange


def sends(*pieces: bytes) -> Receive:
    """A client that sends these pieces, and then stays on the line."""
    left = [
        {"type": "http.request", "body": piece, "more_body": number < len(pieces)}
        for number, piece in enumerate(pieces, 1)
    ]

    async def receive() -> Message:
        if left:
            return left.pop(0)
        await asyncio.Event().wait()
        raise AssertionError

    return receive


def json_bytes(value: object) -> bytes:
    return json.dumps(value).encode()


@asynccontextmanager
async def begun(app: ASGIApp) -> AsyncIterator[ASGIApp]:
    """An application after its beginning, on the loop of the caller."""
    asked: asyncio.Queue[Message] = asyncio.Queue()
    said: asyncio.Queue[Message] = asyncio.Queue()

    async def live() -> None:
        await app({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, asked.get, said.put)

    running = asyncio.create_task(live())
    await asked.put({"type": "lifespan.startup"})
    assert (await said.get())["type"] == "lifespan.startup.complete"
    try:
        yield app
    finally:
        await asked.put({"type": "lifespan.shutdown"})
        assert (await said.get())["type"] == "lifespan.shutdown.complete"
        await running


@dataclass(slots=True)
class Program:
    """`quoth serve` as a process of its own."""

    url: str
    process: subprocess.Popen[bytes]
    talk: list[str]
    folder: Path
    """Where it keeps its temporary files."""

    def send(self, method: str, path: str, **options: Any) -> httpx.Response:  # noqa: ANN401 - as httpx takes them
        return send(method, f"{self.url}{path}", **options)

    def logged(self, event: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in list(self.talk) if line.startswith("{")]
        return [line for line in lines if line["event"] == event]

    def wait_until_ready(self, status: int = 200) -> None:
        wait_for(lambda: self._status() == status, lambda: f"not {status}: {self.talk[:5]} … {self.talk[-2:]}")

    def _status(self) -> int:
        assert self.process.poll() is None, self.talk
        try:
            return self.send("GET", "/readyz").status_code
        except httpx.TransportError:
            return 0


def wait_for(holds: Callable[[], object], said: Callable[[], str] = lambda: "it never came") -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, said()
        time.sleep(0.05)


@contextmanager
def serving(
    index: Path, state: Path, *options: str, folder: Path, variables: Mapping[str, str] = HASH
) -> Iterator[Program]:
    """The program on a free port; what is still running in the end is told to stop."""
    given = ("--index", str(index), "--set", f"service.state={state}", *options)
    with started(*given, folder=folder, variables=variables) as program:
        yield program


@contextmanager
def started(*options: str, folder: Path, variables: Mapping[str, str] = HASH) -> Iterator[Program]:
    """`quoth serve` in a folder, on a free port; what is still running in the end is told to stop."""
    temporary = folder / "temporary"
    temporary.mkdir(exist_ok=True)
    process = subprocess.Popen(
        [PROGRAM, "serve", "--port", "0", *options],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**environment(variables), "TMPDIR": str(temporary)},
        cwd=folder,
    )
    talk: list[str] = []
    listener = threading.Thread(target=lambda: talk.extend(line.decode() for line in process.stderr or ()))
    listener.start()
    try:
        wait_for(lambda: _address(talk) or process.poll() is not None, lambda: f"no address: {talk}")
        url = _address(talk)
        assert url is not None, talk
        yield Program(url, process, talk, temporary)
    finally:
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            raise
        finally:
            listener.join(PATIENCE)
            if process.stderr is not None:
                process.stderr.close()


def _address(talk: Sequence[str]) -> str | None:
    found = re.search(r"^Serving .* on (http://\S+) ", "".join(list(talk)), re.MULTILINE)
    return found[1] if found else None


def children(pid: int) -> list[int]:
    """The processes that a process has started and that serve."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        found += [int(one) for one in (task / "children").read_text().split()]
    return [one for one in found if b"spawn_main" in _command(one)]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
