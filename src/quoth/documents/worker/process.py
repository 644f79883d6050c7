"""The process that extracts text: it reads files from standard input and writes extracts, or errors, to its output.

    python -m quoth.documents.worker.process MEGABYTES SECONDS [FOLDER]

A hostile file may make its extractor crash, hang or use up memory. Here that costs this process alone; the parent (see
`pool`) reports the file by name and starts another process.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import IO

import msgspec
import numpy as np

from quoth.documents.containers import reason_of
from quoth.documents.formats.json.json_fields import JsonFields
from quoth.errors import QuothError
from quoth.settings import IngestSettings
from quoth.types import Extract

OK, REFUSED, FAILED, EXTENDED = b"+", b"-", b"!", b"."
"""The first byte of a reply: an extract, a file that is refused, an accident. `EXTENDED` comes before the reply itself
and allows its reader to wait for more seconds."""
LENGTH = 8  # bytes in front of each message
LIST, READ = "list", "read"
"""What may be asked for instead of a format; the data is then JSON: the path of a container, the label, and what is
wanted of it."""

_NO_BOXES = np.empty((0, 4), dtype=np.float32)
_CONVERTED = frozenset({"rtf", "doc", "odt"})
_MODULES = {
    "pdf": "quoth.documents.formats.pdf.pdf_document",
    "docx": "quoth.documents.formats.docx.docx_document",
    "html": "quoth.documents.formats.html.html_document",
    "xlsx": "quoth.documents.formats.xlsx.xlsx_document",
    "pptx": "quoth.documents.formats.pptx.pptx_document",
    "json": "quoth.documents.formats.json.json_document",
    "csv": "quoth.documents.formats.csv.csv_document",
    "epub": "quoth.documents.formats.epub.epub_document",
    "eml": "quoth.documents.formats.mail.eml",
    "mbox": "quoth.documents.formats.mail.mbox",
    "msg": "quoth.documents.formats.mail.msg",
    "rst": "quoth.documents.formats.source.restructured_text",
    "asciidoc": "quoth.documents.formats.source.asciidoc",
    "latex": "quoth.documents.formats.source.latex",
    "vtt": "quoth.documents.formats.subtitles.webvtt",
    "srt": "quoth.documents.formats.subtitles.subrip",
    **dict.fromkeys(_CONVERTED, "quoth.documents.formats.legacy"),
}


def request(form: str, settings: IngestSettings) -> str:
    """Return what to ask a worker for: the format, and behind it those settings that its text depends on."""
    return f"json {settings.json_title}\n{settings.json_text}" if form == "json" else form


def version(requested: str) -> str:
    """Return the name and version of what extracts this format; when it changes, stored texts are extracted again."""
    form, _, fields = requested.partition(" ")
    module = import_module(_MODULES[form])
    named: str = module.version() if form in _CONVERTED else module.VERSION
    title, _, text = fields.partition("\n")
    return " / ".join([named, *([f"title {title}"] if title else []), *([f"text {text}"] if text else [])])


def extract(requested: str, data: bytes, extend: Callable[[float], object]) -> Extract:
    """Return the text of a file with its structure. Raise `QuothError` when the file cannot be read.

    A PDF calls `extend` with the seconds for each page that it has read, so that only an extractor that hangs is ended.
    """
    form, _, fields = requested.partition(" ")
    module = import_module(_MODULES[form])
    extracted: Extract
    if form in _CONVERTED:
        extracted = module.extract(data, f".{form}")
    elif form == "pdf":
        extracted = module.extract(data, extend)
    elif form == "json":
        title, _, text = fields.partition("\n")
        extracted = module.extract(data, JsonFields.parsed(text, title))
    else:
        extracted = module.extract(data)
    extracted.text.encode()  # half a surrogate pair is no text, and could not be stored
    return extracted


def pack(extracted: Extract) -> bytes:
    """Return a line of JSON, followed by the boxes of every page as 32-bit floats.

    The bytes are data only, so that a hostile file cannot send code.
    """
    boxes = b"".join(np.ascontiguousarray(page.boxes, dtype="<f4").tobytes() for page in extracted.pages)
    header = msgspec.json.encode(
        extracted, enc_hook=lambda value: None if isinstance(value, np.ndarray) else float(value)
    )
    return header + b"\n" + boxes


def unpack(data: bytes) -> Extract:
    """Return the value that `pack` encoded. Raise ValueError when the spans do not fit the text."""
    header, _, rest = data.partition(b"\n")
    extracted = msgspec.json.decode(header, type=Extract, dec_hook=lambda _type, _value: _NO_BOXES)
    spans = [span for region in extracted.regions or () for span in (region.span, region.lead) if span]
    spans += [span for span, _ in extracted.recognised] + [span for page in extracted.pages for span in page.spans]
    if beyond := next((span for span in spans if span.end > len(extracted.text)), None):
        raise ValueError(f"{beyond.start}:{beyond.end} is not in a text of {len(extracted.text)}")
    boxes = np.frombuffer(rest, dtype="<f4").reshape(-1, 4)
    counts = [sum(map(len, page.spans)) for page in extracted.pages]
    if sum(counts) != len(boxes):
        raise ValueError(f"{len(boxes)} boxes for {sum(counts)} characters")
    parts = np.split(boxes, np.cumsum(counts)[:-1]) if counts else []
    return replace(
        extracted, pages=tuple(replace(page, boxes=part) for page, part in zip(extracted.pages, parts, strict=True))
    )


def read_message(stream: IO[bytes]) -> bytes | None:
    """Return the next message, None at the end of the stream or when a message is incomplete."""
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
    """Extract files until the input ends."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    limit = int(sys.argv[1]) * 2**20
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    limit = limit if most == resource.RLIM_INFINITY else min(limit, most)
    resource.setrlimit(resource.RLIMIT_AS, (limit, most))  # the soft limit: a converter that we start may use more
    incoming, outgoing = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # a library that prints must not write into the replies
    alarm = _Alarm(float(sys.argv[2]), outgoing)
    while (form := read_message(incoming)) is not None and (data := read_message(incoming)) is not None:
        alarm.start()
        write_message(outgoing, *_reply(form.decode(), data, alarm.extend))
        alarm.stop()
    for folder in sys.argv[3:]:  # temporary files: if the parent was killed, nobody else removes them
        shutil.rmtree(folder, ignore_errors=True)


class _Alarm:
    """Ends this process when its parent, which should do so, has been killed itself."""

    def __init__(self, seconds: float, outgoing: IO[bytes]) -> None:
        self._seconds = seconds + _GRACE
        self._outgoing = outgoing
        self._end = 0.0

    def start(self) -> None:
        self._end = time.monotonic() + self._seconds
        signal.setitimer(signal.ITIMER_REAL, self._seconds)  # the signal has no handler, so it ends the process

    def stop(self) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0)

    def extend(self, seconds: float) -> None:
        self._end += seconds
        signal.setitimer(signal.ITIMER_REAL, max(_GRACE, self._end - time.monotonic()))
        write_message(self._outgoing, EXTENDED, str(seconds).encode())


def _reply(form: str, data: bytes, extend: Callable[[float], object]) -> tuple[bytes, bytes]:
    try:
        if form in {LIST, READ}:
            return OK, _from_container(form, *json.loads(data))
        return OK, pack(extract(form, data, extend))
    except QuothError as error:
        return REFUSED, json.dumps([reason_of(error).removeprefix(": "), error.hint]).encode()
    except MemoryError:
        return FAILED, json.dumps(["it needs more memory than is allowed", _MEMORY]).encode()
    except RecursionError:
        return FAILED, json.dumps(["it is nested too deeply", _DAMAGED]).encode()
    except Exception as error:  # libraries may raise anything; the file is reported, and the next one is read
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST_REASON]
        return FAILED, json.dumps([f"it cannot be read: {reason}", _DAMAGED]).encode()


def _from_container(task: str, path: str, label: str, wanted: str | int) -> bytes:
    """Return the listing of a container of the format `wanted`, or a file inside of at most `wanted` bytes."""
    from quoth.documents.contents import list_contents, read_content  # few runs need them

    if task == LIST:
        return list_contents(Path(path), str(wanted), label=label).packed()
    return read_content(Path(path), label=label, most_bytes=int(wanted))


_GRACE = 10.0
_LONGEST_REASON = 200
_MEMORY = "Raise ingest.memory_mb, or split the file."
_DAMAGED = "The file may be damaged: open it in its own program and save it again."


if __name__ == "__main__":
    main()
