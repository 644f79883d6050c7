"""A tool in a process of its own, spoken to in JSON lines."""

from __future__ import annotations

import json
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from run import environment

LIMIT = 3600.0
"""Seconds after which a tool that does not reply is ended."""


class ToolError(Exception):
    """A tool failed, or cannot be run on this machine."""


@dataclass(frozen=True, slots=True)
class Started:
    """How a tool is started: its interpreter, its adapter, its index, the shared models and a folder for logs."""

    python: Path
    script: Path
    index: Path
    models: Path
    work: Path

    def command(self, *words: str) -> list[str]:
        return [str(self.python), str(self.script), *words, "--index", str(self.index), "--models", str(self.models)]

    def environment(self) -> dict[str, str]:
        """Nothing leaves the machine, no key is known, and bytecode is kept, as on an installed program."""
        bytecode = self.models.parent / "bytecode"
        kept = {name: value for name, value in environment(bytecode).items() if not name.endswith("_API_KEY")}
        offline = {"TRANSFORMERS_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "HAYSTACK_TELEMETRY_ENABLED": "False"}
        return kept | offline | {"NLTK_DATA": str(self.models / "nltk_data"), "TOKENIZERS_PARALLELISM": "true"}


class Session:
    """A running tool."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process = process
        self._log = log

    def send(self, **request: object) -> dict[str, Any]:
        """Return the reply to a request. Raise `ToolError` when there is none."""
        ending = threading.Timer(LIMIT, self._process.kill)
        ending.start()
        try:
            assert self._process.stdin is not None  # noqa: S101 - it is a pipe
            assert self._process.stdout is not None  # noqa: S101
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        finally:
            ending.cancel()
        if not line:
            raise ToolError(last_line(self._log.read_text(encoding="utf-8", errors="replace")))
        reply: dict[str, Any] = json.loads(line)
        if "unavailable" in reply:
            raise ToolError(reply["unavailable"])
        return reply


@contextmanager
def session(started: Started) -> Iterator[Session]:
    """Start a tool, and end it afterwards."""
    log = started.work / f"{started.script.stem}.log"
    with (
        log.open("ab") as errors,
        subprocess.Popen(
            started.command("serve"),
            cwd=started.work,
            env=started.environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        try:
            yield Session(process, log)
        finally:
            process.kill()


def first_answer(started: Started, question: str) -> float:
    """Return the seconds of a command that loads the index, answers once and ends."""
    began = time.perf_counter()
    done = subprocess.run(
        started.command("ask", question),
        cwd=started.work,
        env=started.environment(),
        capture_output=True,
        check=False,
        timeout=LIMIT,
    )
    seconds = time.perf_counter() - began
    if done.returncode:
        raise ToolError(last_line(done.stderr.decode(errors="replace")))
    return seconds


def last_line(text: str) -> str:
    """Return the last error that a Python program wrote, or its last line."""
    lines = [line for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b", line)]
    return (errors or lines or ["it ended without a word"])[-1][:300]
