"""Ingest that is interrupted, killed, or started twice. A named pipe as a document is the place to stop at."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from doors.command_line import MINILM, PATIENCE, PROGRAM, environment, failed, finish, run, start, write_files

CANOLA = "Sow canola at 2.5 cm."
WHEAT = "Sow wheat at 4 cm in October."


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """An index that holds one sentence."""
    write_files(tmp_path / "old", {"canola.md": CANOLA})
    assert run("ingest", tmp_path / "old", "--index", tmp_path / "index").code == 0
    return tmp_path / "index"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Two documents; reading the second one waits until somebody writes it."""
    write_files(tmp_path / "new", {"a.md": "Sow barley at 3 cm."})
    os.mkfifo(tmp_path / "new" / "b.md")
    return tmp_path / "new"


def _reading(corpus: Path, index: Path) -> tuple[subprocess.Popen[bytes], int]:
    """An ingest that is waiting for the second document's text, and where to write that.

    A pipe inside a folder is left out, but one that is named is read.
    """
    program = start("ingest", corpus, corpus / "b.md", "--index", index)
    for _ in range(PATIENCE * 100):
        try:
            pipe = os.open(corpus / "b.md", os.O_WRONLY | os.O_NONBLOCK)  # fails until the program reads from it
        except OSError:
            assert program.poll() is None, program.communicate()
            time.sleep(0.01)
        else:
            os.set_blocking(pipe, True)
            return program, pipe
    raise AssertionError("the ingest never came to the second document")


def answered(question: str, index: Path) -> bool:
    return question in run("ask", question, "--index", index).text


def _interrupt(program: subprocess.Popen[bytes]) -> None:
    # A signal that comes just before a read begins is seen when the read ends, which this one never does: a person
    # presses the keys again.
    for _ in range(5):
        program.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            program.wait(timeout=30)
            return


@pytest.mark.parametrize(
    ("stop", "code", "talk"),
    [
        (_interrupt, 130, "interrupted: the index serves what it held before; run the same command to go on\n"),
        (subprocess.Popen.kill, -signal.SIGKILL, ""),
    ],
    ids=["ctrl-c", "kill -9"],
)
def test_an_ingest_that_was_stopped_can_be_run_again(
    index: Path, corpus: Path, *, stop: Callable[[subprocess.Popen[bytes]], None], code: int, talk: str
) -> None:
    program, pipe = _reading(corpus, index)
    stop(program)
    ran = finish(program)
    os.close(pipe)

    assert (ran.code, ran.data, ran.talk) == (code, b"", talk)
    assert answered(CANOLA, index)
    assert run("verify", "--index", index).code == 0
    assert not answered("Sow barley at 3 cm.", index)

    (corpus / "b.md").unlink()
    write_files(corpus, {"b.md": WHEAT})
    assert run("ingest", corpus, "--index", index).code == 0
    assert [one for one in (CANOLA, WHEAT, "Sow barley at 3 cm.") if not answered(one, index)] == []
    assert run("verify", "--index", index).code == 0


def test_ctrl_c_while_embedding_leaves_the_old_index(tmp_path: Path) -> None:
    write_files(tmp_path / "old", {"canola.md": CANOLA})
    assert run("ingest", tmp_path / "old", "--index", tmp_path / "index", variables=MINILM).code == 0
    many = "".join(f"Field {number} was sown with canola at {number % 9} cm.\n\n" for number in range(4_000))
    write_files(tmp_path / "new", {"many.md": many})

    # Only a terminal gets progress bars, and they tell when embedding has begun.
    with terminal() as (screen, keyboard):
        arguments: list[str | Path] = [PROGRAM, "ingest", tmp_path / "new", "--index", tmp_path / "index"]
        program = subprocess.Popen(arguments, stderr=keyboard, stdout=subprocess.PIPE, env=environment(MINILM))
        shown = seen(screen, b"embedding")
        program.send_signal(signal.SIGINT)
        shown += seen(screen, b"run the same command to go on")
        ran = finish(program)

    assert (ran.code, ran.data) == (130, b"")
    assert b"interrupted" in shown
    asked = run("ask", CANOLA, "--index", tmp_path / "index", "--set", "selection.min_support=1", variables=MINILM)
    assert CANOLA in asked.text
    assert run("status", "--index", tmp_path / "index", "--json").object["documents"] == 1


@contextmanager
def terminal() -> Iterator[tuple[int, int]]:
    """Two ends of a terminal: what is shown on it, and what a program takes for it."""
    screen, program = os.openpty()
    try:
        yield screen, program
    finally:
        os.close(screen)
        os.close(program)


def seen(screen: int, words: bytes) -> bytes:
    """Everything shown up to these words."""
    shown = b""
    for _ in range(100_000):
        if words in shown:
            return shown
        ready, _, _ = select.select([screen], [], [], PATIENCE)
        assert ready, shown
        shown += os.read(screen, 4096)
    raise AssertionError(shown)


def test_a_first_ingest_that_was_killed_can_be_run_again(corpus: Path, tmp_path: Path) -> None:
    index = tmp_path / "first"
    program, pipe = _reading(corpus, index)
    program.kill()
    finish(program)
    os.close(pipe)

    assert failed(run("ask", CANOLA, "--index", index), "there is no index")
    (corpus / "b.md").unlink()
    assert run("ingest", corpus, "--index", index).code == 0
    assert answered("Sow barley at 3 cm.", index)


def test_a_second_ingest_is_told_that_the_index_is_busy_and_readers_are_not_disturbed(
    index: Path, corpus: Path, tmp_path: Path
) -> None:
    write_files(tmp_path / "other", {"rye.md": "Sow rye at 2 cm."})
    program, pipe = _reading(corpus, index)

    second = run("ingest", tmp_path / "other", "--index", index)
    meanwhile = answered(CANOLA, index)
    with os.fdopen(pipe, "wb") as document:
        document.write(WHEAT.encode())
    first = finish(program)

    assert failed(second, f"pid {program.pid}", "Wait for it to finish")
    assert meanwhile
    assert (first.code, "2 documents read" in first.talk) == (0, True)
    assert answered(WHEAT, index)
    assert run("ingest", tmp_path / "other", "--index", index).code == 0
    assert run("status", "--index", index, "--json").object["documents"] == 4
    assert run("verify", "--index", index).code == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 16 MB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=16m", "none", str(place)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting is not permitted here")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


@pytest.mark.parametrize("left", [0, 100_000, 400_000, 1_200_000, 2_500_000])
def test_a_full_disk_leaves_the_old_index_and_the_same_command_succeeds_once_there_is_room(
    small_disk: Path, tmp_path: Path, *, left: int
) -> None:
    index = small_disk / "index"
    write_files(tmp_path / "corpus", {"canola.md": CANOLA})
    assert run("ingest", tmp_path / "corpus", "--index", index).code == 0
    many = "".join(f"Field {number} was sown with wheat at {number % 9} cm.\n\n" for number in range(2_000))
    write_files(tmp_path / "corpus", {"many.md": many})
    ballast = small_disk / "ballast"
    room = os.statvfs(small_disk)
    ballast.write_bytes(bytes(max(0, room.f_bavail * room.f_frsize - left)))

    assert failed(run("ingest", tmp_path / "corpus", "--index", index), "cannot be written", "Free some space")
    assert answered(CANOLA, index)
    assert run("verify", "--index", index).code == 0

    ballast.unlink()
    assert run("ingest", tmp_path / "corpus", "--index", index).code == 0
    assert answered(CANOLA, index)
    assert answered("Field 77 was sown with wheat at 5 cm.", index)
    assert run("verify", "--index", index).code == 0
