"""`quoth serve` as a program of its own, on a free port."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from ..command_line import MINILM, PATIENCE, PROGRAM, environment, run
from ..local_http import send


@dataclass(frozen=True, slots=True)
class Service:
    url: str
    token: str | None

    def get(self, path: str, **query: str | int) -> dict[str, Any]:
        """What the API itself says; of a service that is open to everybody."""
        said: dict[str, Any] = send("GET", self.url + path, params=query).raise_for_status().json()
        return said

    def answer(self, question: str) -> dict[str, Any]:
        asked = {"question": question}
        said: dict[str, Any] = send("POST", f"{self.url}/answer", json=asked).raise_for_status().json()
        return said


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def new_key(state: Path, *options: str) -> str:
    """The token of a new key."""
    ran = run("keys", "add", "tester", *options, "--state", state)
    assert ran.code == 0, ran.talk
    return ran.text.strip()


@contextmanager
def serving(index: Path, state: Path, log: Path, *, token: str | None, is_new: bool = False) -> Iterator[Service]:
    """`is_new`: there is no index yet, so the service serves, but is not ready to answer."""
    port = free_port()
    command: list[str | Path] = [
        PROGRAM,
        "serve",
        "--port",
        str(port),
        "--index",
        index,
        "--set",
        f"service.state={state}",
    ]
    command += [] if token else ["--no-auth"]
    with log.open("wb") as talk:
        program = subprocess.Popen(
            command, stdout=talk, stderr=talk, env=environment(MINILM), cwd=os.fspath(log.parent)
        )
        try:
            service = Service(f"http://127.0.0.1:{port}", token)
            _wait_for(f"{service.url}/{'healthz' if is_new else 'readyz'}", program, log)
            yield service
        finally:
            program.terminate()
            try:
                program.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                program.kill()
                program.wait()


def _wait_for(url: str, program: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        assert program.poll() is None, log.read_text("utf-8")
        try:
            if send("GET", url).status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise AssertionError(log.read_text("utf-8"))
