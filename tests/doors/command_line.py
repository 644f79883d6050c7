"""Quoth as its users start it: inside this process, which is fast, or as the installed program."""

from __future__ import annotations

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]  # Ray brings it
import pytest

from quoth.cli import main

HASH = {"QUOTH_EMBEDDING_MODEL_NAME": "hash", "QUOTH_RERANK_KIND": "late"}
"""The shipped fake: for everything that does not depend on what words mean."""
MINILM: Mapping[str, str] = {}
"""The model that is used by default."""

PROGRAM = Path(sys.executable).with_name("quoth")
PATIENCE = 300
"""Seconds after which a program that was started counts as hanging."""


@dataclass(frozen=True, slots=True)
class Ran:
    """How a command ended: its exit code, its data and its talk."""

    code: int
    data: bytes
    talk: str

    @property
    def text(self) -> str:
        return self.data.decode("utf-8")

    @property
    def lines(self) -> list[str]:
        return self.text.removesuffix("\n").split("\n") if self.data else []

    @property
    def objects(self) -> list[dict[str, Any]]:
        """The JSON object of each line."""
        return [json.loads(line) for line in self.lines]

    @property
    def object(self) -> dict[str, Any]:
        (one,) = self.objects
        return one


def run(
    *arguments: str | Path, stdin: bytes = b"", variables: Mapping[str, str] = HASH, folder: Path | None = None
) -> Ran:
    """Run a command in this process, with only these `QUOTH_` variables set."""
    out, err = io.BytesIO(), io.BytesIO()
    with pytest.MonkeyPatch.context() as patch:
        for name in _foreign_variables():
            patch.delenv(name)
        for name, value in {"COLUMNS": "200", **variables}.items():
            patch.setenv(name, value)
        if folder is not None:
            patch.chdir(folder)
        patch.setattr(sys, "argv", ["quoth", *map(str, arguments)])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        patch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding="utf-8", write_through=True))
        patch.setattr(sys, "stderr", io.TextIOWrapper(err, encoding="utf-8", write_through=True))
        code = _exit_code()
        return Ran(code, out.getvalue(), err.getvalue().decode("utf-8"))


def _exit_code() -> int:
    try:
        main()
    except SystemExit as ending:
        return ending.code if isinstance(ending.code, int) else 0
    return 0


def start(
    *arguments: str | Path, variables: Mapping[str, str] = HASH, stdout: int = subprocess.PIPE
) -> subprocess.Popen[bytes]:
    """Start the installed program with pipes to and from it."""
    return subprocess.Popen(
        [PROGRAM, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env=environment(variables),
    )


def finish(program: subprocess.Popen[bytes], stdin: bytes | None = None) -> Ran:
    """Wait for a program to end, after closing its input; one that hangs is ended with all that it started."""
    try:
        data, talk = program.communicate(stdin, timeout=PATIENCE)
    except subprocess.TimeoutExpired as hanging:
        _kill_tree(program)
        raise AssertionError(f"{program.args!r} hangs; it said: {hanging.stderr!r}") from hanging
    return Ran(program.returncode, data or b"", (talk or b"").decode("utf-8"))


def _kill_tree(program: subprocess.Popen[bytes]) -> None:
    """Kill a program and its children, and close its pipes: a child that outlives it would keep them open for ever."""
    started = psutil.Process(program.pid)
    for process in (*started.children(recursive=True), started):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    program.wait()
    for pipe in (program.stdin, program.stdout, program.stderr):
        if pipe is not None:
            pipe.close()


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _foreign_variables()}
    return {**kept, **variables}


def _foreign_variables() -> list[str]:
    return [name for name in os.environ if name.startswith("QUOTH_") and name != "QUOTH_CACHE_DIR"]


def failed(ran: Ran, *words: str) -> bool:
    """Whether a command failed as it should: no data, a message with these words, a hint, and no traceback."""
    message = ran.talk.startswith("error: ") and "\nhint: " in ran.talk and "Traceback" not in ran.talk
    return ran.code == 1 and not ran.data and message and all(word in ran.talk for word in words)


def write_files(folder: Path, contents: Mapping[str, bytes | str]) -> Path:
    """Files under a folder, byte for byte."""
    for name, content in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)
    return folder
