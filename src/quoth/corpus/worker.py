"""The process that extracts text: it takes files on its standard input and gives extracts, or why not, on its output.

    python -m quoth.corpus.worker MEGABYTES

A hostile file may make its extractor crash, hang or eat memory. Here that costs this process alone; its parent, see
`corpus.extraction`, reports the file by name and starts another.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import IO

from quoth.corpus.formats import ocr
from quoth.corpus.patience import granted_by
from quoth.corpus.wire import pack
from quoth.errors import QuothError
from quoth.types import Extract

OK, REFUSED, EARNED = b"+", b"-", b"."
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
    resource.setrlimit(resource.RLIMIT_AS, (limit, most))  # the soft one: a converter that we start may have more
    incoming, outgoing = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # a library that prints must not break the conversation
    granted_by(lambda seconds: write_message(outgoing, EARNED, str(seconds).encode()))
    while (form := read_message(incoming)) is not None and (data := read_message(incoming)) is not None:
        write_message(outgoing, *_answer(form.decode(), data))


def _answer(form: str, data: bytes) -> tuple[bytes, bytes]:
    try:
        return OK, pack(extract(form, data))
    except QuothError as error:
        return REFUSED, json.dumps([str(error).removeprefix(": "), error.hint]).encode()
    except MemoryError:
        return REFUSED, json.dumps(["it needs more memory than is allowed", _MEMORY]).encode()
    except RecursionError:
        return REFUSED, json.dumps(["it is nested too deeply", _DAMAGED]).encode()
    except Exception as error:  # libraries raise what they like; the file is named, and the rest goes on
        return REFUSED, json.dumps([f"it cannot be read: {type(error).__name__}: {error}"[:500], _DAMAGED]).encode()


_MEMORY = "Raise ingest.memory_mb, or split the file."
_DAMAGED = "The file may be damaged: open it in its own program and save it again."


if __name__ == "__main__":
    main()
