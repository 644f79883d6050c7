"""`quoth ask` without a question, at a real terminal."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import stat
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .command_line import HASH, PATIENCE, PROGRAM, environment, run
from .small_corpus import CANOLA, HALVORSEN, WHEAT, SmallCorpus

CTRL_C, CTRL_D, TAB, UP = "\x03", "\x04", "\t", "\x1b[A"
_CONTROLS = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[=>]|\r|\x07")

# Ctrl-C interrupts only a program whose session has this terminal.
_ON_ITS_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)


class Terminal:
    """A program on a pseudo terminal of 200 columns, and what it has shown."""

    def __init__(self, program: subprocess.Popen[bytes], screen: int) -> None:
        self._program, self.screen = program, screen

    def keys(self, text: str, *, until: str = "> ") -> str:
        """Press keys; return what is shown after them, up to a text that it ends with."""
        os.write(self.screen, text.encode())
        return self.shown(until)

    def line(self, text: str) -> str:
        return self.keys(f"{text}\r")

    def shown(self, until: str) -> str:
        return _CONTROLS.sub("", self.printed(until))

    def printed(self, until: str) -> str:
        """Return all that is sent to the screen, control sequences too, once what they show ends with a text."""
        seen = b""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            if select.select([self.screen], [], [], 0.2)[0]:
                seen += os.read(self.screen, 65_536)
            elif _CONTROLS.sub("", text := seen.decode("utf-8", "replace")).endswith(until):
                return text
        raise AssertionError(f"it never showed {until!r}: {seen!r}")

    def leave(self) -> int:
        """Press Ctrl-D and return the exit code."""
        os.write(self.screen, CTRL_D.encode())
        return self.ended()

    def ended(self) -> int:
        try:
            while os.read(self.screen, 65_536):
                pass
        except OSError:  # how Linux says that the other side is gone
            pass
        return self._program.wait(PATIENCE)


@contextmanager
def terminal(*arguments: str | Path, state: Path) -> Iterator[Terminal]:
    """A conversation that has shown its first prompt; its history is kept in `state`."""
    variables = environment({**HASH, "XDG_STATE_HOME": str(state), "TERM": "xterm", "INPUTRC": os.devnull})
    screen, inside = pty.openpty()
    fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 200, 0, 0))
    program = subprocess.Popen(
        [sys.executable, "-c", _ON_ITS_TERMINAL, PROGRAM, "ask", *map(str, arguments)],
        stdin=inside,
        stdout=inside,
        stderr=inside,
        env=variables,
        start_new_session=True,
    )
    os.close(inside)
    started = Terminal(program, screen)
    try:
        started.shown("quoth> ")
        yield started
    finally:
        os.close(screen)
        program.kill()
        program.wait()


@pytest.fixture
def talk(small: SmallCorpus, tmp_path: Path) -> Iterator[Terminal]:
    with terminal("--index", small.index, state=tmp_path) as started:
        yield started


def test_a_follow_up_says_how_it_was_understood(talk: Terminal) -> None:
    assert CANOLA in talk.line("How deep should we sow canola into moist soil?")
    shown = talk.line("why?")

    assert "understood as: How deep should we sow canola into moist soil, why?" in shown
    assert "understood as" not in talk.line(WHEAT)


def test_a_new_talk_leans_on_nothing(talk: Terminal) -> None:
    talk.line(CANOLA)

    assert "The next question stands alone." in talk.line(":new")
    assert "understood as" not in talk.line("why?")


def test_the_last_answer_is_explained_and_opened(talk: Terminal, small: SmallCorpus) -> None:
    talk.line(CANOLA)

    assert "How it came about" in talk.line(":why")
    opened = talk.line(":open 1")
    assert f"canola.md[{small.source('canola.md').index(CANOLA)}:" in opened
    assert f"# Canola\n\n{CANOLA} Roll the canola field after seeding." in opened


def test_the_nearest_of_an_abstention_can_be_opened(talk: Terminal) -> None:
    assert "May be relevant." in talk.line(HALVORSEN)

    assert "Roll the canola field after seeding." in talk.line(":open 1")


def test_what_else_is_near_is_shown_when_asked_for_and_can_be_opened(small: SmallCorpus, tmp_path: Path) -> None:
    with terminal("--index", small.index, "--set", "rerank.kind=reader", state=tmp_path) as talk:
        assert "See also" not in talk.line("Roll the canola field after seeding.")

        near = talk.line(":see")
        assert "See also, no part of the answer:" in near
        assert CANOLA in near and "[2] " in near
        assert CANOLA in talk.line(":open 2")


def test_a_quote_is_marked_in_its_text(small: SmallCorpus, tmp_path: Path) -> None:
    with terminal("--index", small.index, state=tmp_path) as talk:
        talk.line(CANOLA)
        os.write(talk.screen, b":open 1\r")

        assert f"\x1b[1;7m{CANOLA}\x1b[0m" in talk.printed("> ")


def test_an_error_is_shown_and_the_talk_goes_on(talk: Terminal) -> None:
    for line, words in {
        ":why": "error: nothing was asked yet",
        ":open 1": "error: nothing was asked yet",
        ":bogus": "error: there is no command :bogus",
        ":d x": "error: there is no command :d",
        ":doc cannola.md": "Did you mean canola.md?",
        "???": "error: the question has no words",
    }.items():
        assert words in talk.line(line)
    assert CANOLA in talk.line(CANOLA)
    assert "there is no quote '0'" in talk.line(":open 0")
    assert "there is no quote 'x'" in talk.line(":open x")


def test_one_document_is_asked_alone(talk: Terminal) -> None:
    assert "notes/windows.txt" in talk.line(":docs")
    assert talk.line(":docs wheat").count(".md") == 1
    restricted = talk.line(":doc wheat.md")
    assert "Asking only wheat.md." in restricted
    assert restricted.endswith("quoth [wheat.md]> ")
    assert "[1] Canola" not in talk.line(CANOLA)

    assert "Asking all documents." in talk.line(":doc")
    assert "[1] Canola" in talk.line(CANOLA)


def test_tab_completes_commands_and_documents(talk: Terminal) -> None:
    assert talk.keys(f":w{TAB}", until=":why").endswith(":why")
    talk.keys(CTRL_C)
    talk.keys(f":doc win{TAB}", until="notes/windows.txt")
    assert "Asking only notes/windows.txt." in talk.line("")


def test_ctrl_c_abandons_the_line_and_ctrl_d_leaves(talk: Terminal) -> None:
    shown = talk.keys(f"half a quest{CTRL_C}", until="quoth> ")
    assert "error" not in shown
    assert CANOLA in talk.line(CANOLA)

    assert talk.leave() == 0


def test_quit_leaves(talk: Terminal) -> None:
    os.write(talk.screen, b":q\r")

    assert talk.ended() == 0


def test_the_history_is_kept_for_the_user_alone(small: SmallCorpus, tmp_path: Path) -> None:
    with terminal("--index", small.index, state=tmp_path) as talk:
        talk.line(CANOLA)
        assert talk.leave() == 0
    kept = tmp_path / "quoth" / "history"

    assert kept.read_text().splitlines() == [CANOLA]
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    with terminal("--index", small.index, state=tmp_path) as talk:
        assert CANOLA in talk.keys(UP, until=CANOLA)
        talk.line("")
        assert talk.leave() == 0
    kept.write_text("".join(f"question {number}\n" for number in range(2_000)))
    with terminal("--index", small.index, state=tmp_path) as talk:
        talk.line(WHEAT)
        assert talk.leave() == 0
    assert kept.read_text().splitlines()[-2:] == ["question 1999", WHEAT]
    assert len(kept.read_text().splitlines()) == 1_000


def test_a_history_that_cannot_be_kept_stops_nobody(small: SmallCorpus, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"")
    with terminal("--index", small.index, state=file) as talk:
        assert CANOLA in talk.line(CANOLA)
        assert talk.leave() == 0


def test_without_a_terminal_a_question_is_needed(small: SmallCorpus) -> None:
    for arguments in (["ask"], ["ask", "--json"]):
        ran = run(*arguments, "--index", small.index)

        assert (ran.code, ran.data) == (2, b"")
        assert "give a question, or - to read it from standard input" in " ".join(ran.talk.replace("│", "").split())
