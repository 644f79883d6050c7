"""The process that extracts text: it takes files on its standard input and gives extracts, or why not, on its output.

    python -m quoth.corpus.worker MEGABYTES SECONDS [FOLDER]

A hostile file may make its extractor crash, hang or eat memory. Here that costs this process alone; its parent, see
`corpus.extraction`, reports the file by name and starts another.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import sys
import time
from importlib import import_module
from importlib.util import find_spec
from typing import IO

from quoth.corpus.formats import ocr
from quoth.corpus.patience import granted_by
from quoth.corpus.wire import pack
from quoth.errors import QuothError
from quoth.types import Extract

OK, REFUSED, FAILED, EARNED = b"+", b"-", b"!", b"."
"""How an answer begins: the text, why there is none, what went wrong; and before it, more time for what gets on."""
LENGTH = 8  # bytes in front of each message

_MODULES = {
    "pdf": "quoth.corpus.formats.pdf",
    "docx": "quoth.corpus.formats.docx",
    "html": "quoth.corpus.formats.html",
    "rtf": "quoth.corpus.formats.legacy",
    "doc": "quoth.corpus.formats.legacy",
    "odt": "quoth.corpus.formats.legacy",
}
_CONVERTED = frozenset({"rtf", "doc", "odt"})


def version(form: str) -> str:
    """What extracts this format, with its version: a stored text is made again when it changes."""
    module = import_module(_MODULES[form])
    named: str = module.version() if form in _CONVERTED else module.VERSION
    return f"{named} / {ocr.VERSION}" if form == "pdf" and find_spec("rapidocr") else named


def extract(form: str, data: bytes) -> Extract:
    """The text of a file with its structure; `QuothError` when it cannot be taken."""
    module = import_module(_MODULES[form])
    found: Extract = module.extract(data, f".{form}") if form in _CONVERTED else module.extract(data)
    found.text.encode()  # half a surrogate pair is no text, and could not be stored
    return found


def read_message(stream: IO[bytes]) -> bytes | None:
    """One message; None at the end of the stream, or where it breaks off."""
    length = stream.read(LENGTH)
    if len(length) < LENGTH:
        return None
    wanted = int.from_bytes(length)
    message = stream.read(wanted)
    return message if len(message) == wanted else None


def write_message(stream: IO[bytes], *parts: bytes) -> None:
    stream.write(sum(map(len, parts)).to_bytes(LENGTH))
    for part in parts:
        stream.write(part)
    stream.flush()


def main() -> None:
    """Serve until the input ends."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    limit = int(sys.argv[1]) * 2**20
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    limit = limit if most == resource.RLIM_INFINITY else min(limit, most)
    resource.setrlimit(resource.RLIMIT_AS, (limit, most))  # the soft one: a converter that we start may have more
    incoming, outgoing = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # a library that prints must not break the conversation
    clock = _Clock(float(sys.argv[2]))

    def grant(seconds: float) -> None:
        clock.prolong(seconds)
        write_message(outgoing, EARNED, str(seconds).encode())

    granted_by(grant)
    while (form := read_message(incoming)) is not None and (data := read_message(incoming)) is not None:
        clock.start()
        write_message(outgoing, *_answer(form.decode(), data))
        clock.stop()
    for folder in sys.argv[3:]:  # of temporary files; should our parent be gone, nobody else removes it
        shutil.rmtree(folder, ignore_errors=True)


class _Clock:
    """Ends this process should its parent not be there to do so: who was killed cannot end others."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds + _GRACE
        self._end = 0.0

    def start(self) -> None:
        self._end = time.monotonic() + self._seconds
        signal.setitimer(signal.ITIMER_REAL, self._seconds)  # nobody handles its signal, which ends us

    def stop(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)

    def prolong(self, seconds: float) -> None:
        self._end += seconds
        signal.setitimer(signal.ITIMER_REAL, max(_GRACE, self._end - time.monotonic()))


def _answer(form: str, data: bytes) -> tuple[bytes, bytes]:
    try:
        return OK, pack(extract(form, data))
    except QuothError as error:
        return REFUSED, json.dumps([str(error).removeprefix(": "), error.hint]).encode()
    except MemoryError:
        return FAILED, json.dumps(["it needs more memory than is allowed", _MEMORY]).encode()
    except RecursionError:
        return FAILED, json.dumps(["it is nested too deeply", _DAMAGED]).encode()
    except Exception as error:  # libraries raise what they like; the file is named, and the rest goes on
        said = " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST_REASON]
        return FAILED, json.dumps([f"it cannot be read: {said}", _DAMAGED]).encode()


_GRACE = 10.0
_LONGEST_REASON = 200
_MEMORY = "Raise ingest.memory_mb, or split the file."
_DAMAGED = "The file may be damaged: open it in its own program and save it again."


if __name__ == "__main__":
    main()
