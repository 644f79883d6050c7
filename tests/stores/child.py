"""Writes that are meant to die or to fail, each in a process of its own.

`python -m stores.child COMMAND INDEX ...` runs one; without arguments it reads commands from standard input.
"""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import sqlite3
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from quoth.errors import QuothError
from quoth.protocols import Progress
from quoth.stores.embedded import EmbeddedStore, sqlite_schema
from quoth.types import NO_FILTERS, Query, Vectors

from .fakes import PROFILE, HashEmbedder, numbered

NOBODY = 65534


class DyingEmbedder(HashEmbedder):
    """Kills its own process once it has been asked for more than `limit` texts."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self._left = limit

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        self._left -= len(texts)
        if self._left < 0:
            die()
        return super().embed(texts, progress=progress)


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError("unreachable")


def write(index: str, embedder: HashEmbedder, *, documents: int, sentences: int) -> None:
    put = (numbered(f"doc{number}.md", sentences) for number in range(documents))
    info = EmbeddedStore(index).write(put, remove=["old.md"], embedder=embedder, profile=PROFILE, progress=None)
    print(f"published {info.documents}", flush=True)  # noqa: T201


def die_while_embedding(index: str, limit: str) -> None:
    write(index, DyingEmbedder(int(limit)), documents=3, sentences=2000)


def die_at_step(index: str, step: str) -> None:
    """Die at the given one of the moments at which Python touches the file system; 0 lives, and counts them."""
    steps = 0
    inside = str(Path(index).resolve())

    def count(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal steps
        if event.startswith(("open", "os.", "sqlite3.")) and inside in str(arguments[:2]):
            steps += 1
            if steps == int(step):
                die()

    sys.addaudithook(count)
    write(index, HashEmbedder(), documents=2, sentences=5)
    print(f"steps {steps}", flush=True)  # noqa: T201


def die_while_relabelling(index: str, step: str) -> None:
    """Die at the given one of the statements of a change of labels; 0 lives, and counts them."""
    steps = 0

    def count(_: str) -> None:
        nonlocal steps
        steps += 1
        if steps == int(step):
            die()

    connect = sqlite_schema.connect_writer

    def counted(location: Path) -> sqlite3.Connection:
        connection = connect(location)
        connection.set_trace_callback(count)
        return connection

    sqlite_schema.connect_writer = counted
    EmbeddedStore(index).relabel({f"doc{number}.md": ["board"] for number in range(4)})
    print(f"steps {steps}", flush=True)  # noqa: T201


def fail_with_small_files(index: str, *limits: str) -> None:
    """Write with a limit on the size of files, for each limit in turn."""
    for limit in limits:
        _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(limit), hard))
        attempt(index, documents=3, sentences=1000)
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))


def write_plainly(index: str, sentences: str) -> None:
    attempt(index, documents=3, sentences=int(sentences))


def write_without_rights(index: str) -> None:
    if os.getuid() == 0:
        os.setuid(NOBODY)
    attempt(index, documents=1, sentences=5)


def read_without_rights(index: str) -> None:
    if os.getuid() == 0:
        os.setuid(NOBODY)
    try:
        with EmbeddedStore(index).read() as reader:
            print(f"read {len(reader.documents())} {reader.frequencies(['old'])['old']}", flush=True)  # noqa: T201
    except QuothError as error:
        print(f"{error.code}: {error} {error.hint}", flush=True)  # noqa: T201


def described(store: EmbeddedStore) -> str:
    """One line for everything that a question finds in the current generation."""
    query = Query(HashEmbedder().embed(["soil lime"])[0], (("soil",), ("lime",), ("frost",)), 6, NO_FILTERS)
    with store.read() as reader:
        found = reader.search(query)
        digest = reader.info.digest
    return json.dumps(
        {"index": digest, "found": [[repr(item), *found.vectors[n].tolist()] for n, item in enumerate(found.items)]}
    )


def ask_until_told(index: str) -> None:
    """Ask again and again, until the standard input ends, and then once more."""
    store = EmbeddedStore(index, smallest_partition=4)
    more = True
    while more:
        more = not select.select([sys.stdin], [], [], 0)[0]
        print(described(store), flush=True)  # noqa: T201


def attempt(index: str, *, documents: int, sentences: int) -> None:
    try:
        write(index, HashEmbedder(), documents=documents, sentences=sentences)
    except QuothError as error:
        print(f"{error.code}: {error} {error.hint}", flush=True)  # noqa: T201


COMMANDS = {
    command.__name__: command
    for command in (
        die_while_embedding,
        die_at_step,
        die_while_relabelling,
        fail_with_small_files,
        write_plainly,
        write_without_rights,
        read_without_rights,
        ask_until_told,
    )
}


def obey() -> None:
    """Run each command on standard input, a JSON list a line, in a fork; print its exit code, output and errors.

    A fork has the store imported already, which takes longer than most commands.
    """
    for line in sys.stdin:
        (read_out, out), (read_err, err) = os.pipe(), os.pipe()  # no files, whose size a command may limit
        if not (pid := os.fork()):
            os.dup2(out, 1)
            os.dup2(err, 2)
            os._exit(_code(*json.loads(line)))
        os.close(out)
        os.close(err)
        said = [open(end, encoding="utf-8").read() for end in (read_out, read_err)]  # noqa: PTH123, SIM115 - no path
        print(json.dumps([os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), *said]), flush=True)  # noqa: T201


def _code(name: str, *arguments: str) -> int:
    try:
        COMMANDS[name](*arguments)
    except BaseException:  # nothing may get out of the copy
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    if told := sys.argv[1:]:
        COMMANDS[told[0]](*told[1:])
    else:
        obey()
