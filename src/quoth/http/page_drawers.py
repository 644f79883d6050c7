"""Programs that draw pages of PDF files, kept while pages are asked for: starting one takes longer than most pages."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, cast

from quoth.http.http_faults import HttpFault
from quoth.machine import plain_environment

_PAGE_SECONDS = 20
_PAGE_MEMORY_MB = 2_048
_IDLE_SECONDS = 300
"""How long a program waits for the next page; then it ends, and gives its memory back."""
_GRACE_SECONDS = 10
"""How long after its own limit a program may take to tell that a page took too long."""
_LENGTH = 8
_DRAW_PAGE = Path(__file__).with_name("draw_page.py")


class PageDrawers:
    """Draws pages for any number of threads, each with a program of its own. A program is used again."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[subprocess.Popen[bytes]] = []
        self._closed = False

    def draw(self, data: bytes, *, number: int, width: int) -> bytes:
        """Return a PNG of a page; raise `HttpFault` if it cannot be drawn.

        A hostile PDF may crash the library or keep it busy for ever: see `draw_page`.
        """
        request = b"%d %d\n" % (number, width) + data
        picture = None
        while picture is None and (idle := self._take()) is not None:
            picture = self._ask(idle, request)  # None if it ended, since nobody had asked for long
        if picture is None:
            picture = self._ask(_start(), request)
        if not (picture or b"").startswith(b"\x89PNG"):
            hint = "Read its text instead: /documents/{id}/text."
            raise HttpFault(422, "no-picture", f"page {number} cannot be drawn", hint=hint)
        return cast("bytes", picture)

    def close(self) -> None:
        """End the programs that draw nothing now; the others end when their page is drawn."""
        with self._lock:
            self._closed = True
        while (idle := self._take()) is not None:
            _end(idle)

    def _take(self) -> subprocess.Popen[bytes] | None:
        with self._lock:
            return self._idle.pop() if self._idle else None

    def _ask(self, program: subprocess.Popen[bytes], request: bytes) -> bytes | None:
        """Return the reply of a program, which is empty if the page cannot be drawn; None if the program has ended."""
        watch = threading.Timer(_PAGE_SECONDS + _GRACE_SECONDS, program.kill)
        watch.start()
        try:
            requests, replies = cast("IO[bytes]", program.stdin), cast("IO[bytes]", program.stdout)
            requests.write(len(request).to_bytes(_LENGTH) + request)
            requests.flush()
            length = replies.read(_LENGTH)
            reply = replies.read(int.from_bytes(length))
            whole = len(length) == _LENGTH and len(reply) == int.from_bytes(length)
        except BrokenPipeError:
            whole, reply = False, b""
        finally:
            watch.cancel()
        with self._lock:
            if whole and not self._closed:
                self._idle.append(program)
                return reply
        _end(program)
        return reply if whole else None


def _start() -> subprocess.Popen[bytes]:
    limits = [str(limit) for limit in (_PAGE_MEMORY_MB, _PAGE_SECONDS, _IDLE_SECONDS)]
    return subprocess.Popen(  # noqa: S603 - our own file, and three numbers
        [sys.executable, "-P", str(_DRAW_PAGE), *limits],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=plain_environment(),
        start_new_session=True,  # Ctrl-C is for the service, which finishes what was asked
    )


def _end(program: subprocess.Popen[bytes]) -> None:
    program.kill()
    program.communicate()
