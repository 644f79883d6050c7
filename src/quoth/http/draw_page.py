"""A program that draws pages of PDF files: requests come on standard input, pictures go to standard output.

    python draw_page.py MEMORY_MB SECONDS IDLE_SECONDS

A request is its length in eight bytes, then `NUMBER WIDTH`, a line end and the PDF. The reply is its length in eight
bytes, then a PNG; nothing where the page cannot be drawn. The program ends with its input, or when nobody asks.

Each page is drawn in a process of its own, a fork of this one, which has loaded the libraries and never looks into a
PDF: a hostile file may crash the library, or take over the process that reads it, but not the drawing of another page.
It imports nothing of Quoth, so that it starts fast.
"""

from __future__ import annotations

import io
import os
import resource
import select
import signal
import sys
import time

_MOST_HEIGHT = 4_000  # pixels: a page may be a mile long
_LENGTH = 8
_MOST_BYTES = 64 * 2**20
"""Of a picture: a page of the largest size takes half of it without compression."""


def main() -> None:
    memory_mb, seconds, idle_seconds = (int(argument) for argument in sys.argv[1:4])
    import pypdfium2  # noqa: F401 - loaded once for all pages
    from PIL import Image

    Image.preinit()
    requests, pictures = sys.stdin.buffer, sys.stdout.buffer
    while select.select([requests], [], [], idle_seconds)[0]:
        length = requests.read(_LENGTH)
        request = requests.read(int.from_bytes(length))
        if len(length) < _LENGTH or len(request) < int.from_bytes(length):
            return
        picture = _drawn_apart(request, memory_mb=memory_mb, seconds=seconds)
        del request
        pictures.write(len(picture).to_bytes(_LENGTH) + picture)
        pictures.flush()


def _drawn_apart(request: bytes, *, memory_mb: int, seconds: int) -> bytes:
    """Return the picture that a process of its own draws within these limits; nothing if it cannot."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            for inherited in (0, 1, reading):  # so that it reads no other request and answers none
                os.close(inherited)
            limits = {resource.RLIMIT_CORE: 0, resource.RLIMIT_CPU: seconds, resource.RLIMIT_AS: memory_mb * 2**20}
            for kind, limit in limits.items():
                resource.setrlimit(kind, (limit, resource.getrlimit(kind)[1]))
            picture = _drawn(request)
            with os.fdopen(writing, "wb") as pipe:
                pipe.write(len(picture).to_bytes(_LENGTH) + picture)
        finally:
            os._exit(0)
    os.close(writing)
    try:
        return _received(reading, until=time.monotonic() + seconds)
    finally:
        os.close(reading)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _received(pipe: int, *, until: float) -> bytes:
    """Return what comes before the end of a pipe, behind its length; nothing if it is not whole in time."""
    received = bytearray()
    while len(received) <= _MOST_BYTES and select.select([pipe], [], [], max(0.0, until - time.monotonic()))[0]:
        part = os.read(pipe, 2**20)
        if not part:
            length = int.from_bytes(received[:_LENGTH])
            return bytes(received[_LENGTH:]) if len(received) == _LENGTH + length else b""
        received += part
    return b""


def _drawn(request: bytes) -> bytes:
    import pypdfium2

    asked, _, data = request.partition(b"\n")
    number, width = map(int, asked.split())
    document = pypdfium2.PdfDocument(data)
    page = document[number - 1]
    page_width, page_height = page.get_size()
    scale = min(width / page_width, _MOST_HEIGHT / page_height)
    picture = io.BytesIO()
    page.render(scale=scale).to_pil().convert("RGB").save(picture, "PNG", optimize=False)
    return picture.getvalue()


if __name__ == "__main__":
    main()
