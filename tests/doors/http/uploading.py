"""The writing side of the service for tests: in this process, or as the installed program."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import httpx
from starlette.testclient import TestClient

from quoth.http.app import make_app
from quoth.http.service import ServeOptions
from quoth.overrides import Overrides

from .. import local_http
from ..command_line import HASH, PATIENCE, PROGRAM, environment

HIDDEN = (".incoming", ".previous")


@dataclass(frozen=True, slots=True)
class Uploads:
    """A service that takes documents, and where it keeps them."""

    client: httpx.Client
    state: Path

    @property
    def is_shared(self) -> bool:
        """Whether it keeps them in a database, and only copies here what it ingests."""
        return (self.state / "copies").exists()

    @property
    def files(self) -> Path:
        return self.state / ("copies" if self.is_shared else "files")

    def put(self, doc_id: str, data: bytes | Iterator[bytes], **query: Any) -> httpx.Response:  # noqa: ANN401
        return self.client.put(address(doc_id), content=data, params=query)

    def put_done(self, doc_id: str, data: bytes | str, **query: Any) -> dict[str, Any]:  # noqa: ANN401
        """Upload a document, and wait for the end of its job."""
        return self.ended(self.put(doc_id, data.encode() if isinstance(data, str) else data, **query))

    def delete_done(self, doc_id: str) -> dict[str, Any]:
        return self.ended(self.client.delete(address(doc_id)))

    def ended(self, accepted: httpx.Response) -> dict[str, Any]:
        assert accepted.status_code == 202, accepted.text
        until, pause = time.monotonic() + PATIENCE, 0.01
        while True:
            job = cast("dict[str, Any]", self.client.get(accepted.headers["location"]).json())
            if job["finished"] is not None:
                return job
            assert time.monotonic() < until, job
            time.sleep(pause)
            pause = min(2 * pause, 0.2)

    def get(self, doc_id: str, view: str = "", **query: Any) -> httpx.Response:  # noqa: ANN401
        return self.client.get(address(doc_id) + view, params=query)

    def answer(self, question: str) -> list[str]:
        reply = self.client.post("/answer", json={"question": question})
        assert reply.status_code == 200, reply.text
        return [one["text"] for one in reply.json()["answer_sentences"]]

    def leftovers(self) -> list[str]:
        """Files of jobs; a finished job deletes its own a moment after its state is stored."""
        end = time.monotonic() + PATIENCE
        while (left := leftovers(self.files)) and time.monotonic() < end:
            time.sleep(0.02)
        return left


def leftovers(files: Path) -> list[str]:
    return sorted(path.name for name in HIDDEN for path in (files / name).iterdir())


def address(doc_id: str) -> str:
    return f"/documents/{quote(doc_id, safe='/')}"


def plan(index: Path | str, state: Path, *, profile: str | None = None, **settings: str) -> ServeOptions:
    flags = {"embedding.model_name": "hash", "rerank.kind": "late", "service.state": str(state)}
    flags |= {name.replace("__", "."): value for name, value in settings.items()}
    return ServeOptions(index=str(index), overrides=Overrides({}, {}, flags), profile=profile, auth=False)


@contextmanager
def serving(made: ServeOptions) -> Iterator[Uploads]:
    """The application in this process, without a network."""
    with TestClient(make_app(made), base_url="http://localhost") as client:
        yield Uploads(cast(httpx.Client, client), made.state)


@contextmanager
def program(
    index: Path | str, state: Path, *more: str, variables: Mapping[str, str] = HASH, log: Path
) -> Iterator[tuple[Uploads, subprocess.Popen[bytes]]]:
    """`quoth serve` as a process; it is ended at the end, unless it has ended before."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    command = ["serve", "--no-auth", "--port", str(port), "--index", str(index), "--set", f"service.state={state}"]
    with log.open("ab") as talk:
        process = subprocess.Popen(
            [str(PROGRAM), *command, *more], env=environment(variables), stdout=talk, stderr=talk
        )
    try:
        with local_http.client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
            _wait_for(client, process, log)
            yield Uploads(client, state), process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        process.wait(PATIENCE)


def _wait_for(client: httpx.Client, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            client.get("/healthz")
        except httpx.TransportError:
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < until, log.read_text()
            time.sleep(0.05)
        else:
            return


class Crash(BaseException):
    """What ends a process, as far as this one can tell."""


CHANGES = frozenset(
    {"os.link", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.utime", "os.symlink", "open", "sqlite3.connect"}
)
TRANSACTION = "quoth.tests.transaction"
"""What a database reports in place of its changes, which no audit sees."""
_left: list[int] = []
"""How many more changes are allowed; empty when nobody counts."""
_counted: set[str] = set()


def _count(event: str, arguments: tuple[object, ...]) -> None:
    if not _left or event not in _counted:
        return
    if event != "open" or (isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)):
        _left[0] -= 1
        if _left[0] < 0:
            raise Crash


sys.addaudithook(_count)


@contextmanager
def crashing_after(changes: int, *, counted: Collection[str] = CHANGES) -> Iterator[None]:
    """Raise `Crash` instead of the next change to the disk after so many, or of another event."""
    _left.append(changes)
    _counted.update(counted)
    try:
        yield
    finally:
        _left.clear()
        _counted.clear()


def python(code: str, *arguments: str | Path) -> subprocess.Popen[bytes]:
    """Start a Python program that can use what the tests use."""
    folder = Path(__file__).parents[3]
    variables = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=variables,
    )
