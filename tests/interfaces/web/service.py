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

from ..command_line import MINILM, PATIENCE, PROGRAM, environment


@dataclass(frozen=True, slots=True)
class Service:
    url: str
    token: str | None

    def get(self, path: str, **query: str | int) -> Any:
        """What the API itself says."""
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return httpx.get(self.url + path, params=query, headers=headers).raise_for_status().json()

    def post(self, path: str, body: object) -> Any:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        return httpx.post(self.url + path, json=body, headers=headers).raise_for_status().json()


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def new_key(state: Path, *options: str) -> str:
    """The token of a new key."""
    command = [PROGRAM, "keys", "add", "tester", *options, "--state", state]
    ran = subprocess.run(command, check=True, capture_output=True, env=environment(MINILM))
    return ran.stdout.decode().strip()


@contextmanager
def serving(index: Path, state: Path, log: Path, *, token: str | None) -> Iterator[Service]:
    port = free_port()
    command = [PROGRAM, "serve", "--port", str(port), "--index", index, "--set", f"service.state={state}"]
    command += [] if token else ["--no-auth"]
    with log.open("wb") as talk:
        program = subprocess.Popen(command, stdout=talk, stderr=talk, env=environment(MINILM), cwd=os.fspath(log.parent))
        try:
            service = Service(f"http://127.0.0.1:{port}", token)
            _wait_until_ready(service.url, program, log)
            yield service
        finally:
            program.terminate()
            try:
                program.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                program.kill()
                program.wait()


def _wait_until_ready(url: str, program: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        assert program.poll() is None, log.read_text("utf-8")
        try:
            if httpx.get(f"{url}/readyz").status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise AssertionError(log.read_text("utf-8"))
