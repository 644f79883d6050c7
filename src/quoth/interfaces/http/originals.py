"""The files that documents came from, and pictures of their pages. Only what was ingested is ever given out."""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path

from quoth.interfaces.http.faults import HttpFault, busy, too_slow
from quoth.machine import plain_environment
from quoth.protocols import Store
from quoth.types import Known

_PAGE_SECONDS = 20
_PAGE_MEMORY_MB = 2_048
_MOST_KEPT = 32 * 2**20
_MOST_PROCESSES = 2
_MOST_WAITING = 16
_LONGEST_WAIT = 30
_AGAIN_SECONDS = 1.0
_DRAW_PAGE = Path(__file__).with_name("draw_page.py")


class Originals:
    """`version` names a state of the index: while it is the same, what is known of the files is not read again."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._known: tuple[str, Mapping[str, Known]] | None = None
        self._read_at = 0.0
        self._pages: OrderedDict[tuple[str, int, int], bytes] = OrderedDict()
        # Threads of their own: pages that take long must not keep questions from being answered.
        self._pool = ThreadPoolExecutor(_MOST_PROCESSES, thread_name_prefix="drawing")
        self._underway = 0

    def root_of(self, doc_id: str, version: str) -> str | None:
        """The folder that a document was read from; None for one that the index does not hold."""
        found = self._all(version).get(doc_id)
        return found.root if found else None

    def is_here(self, doc_id: str, version: str) -> bool:
        """Whether there is a file; not whether it is still the same."""
        return self._found(doc_id, version) is not None

    def read(self, doc_id: str, version: str) -> bytes:
        """The very bytes that were ingested."""
        found = self._found(doc_id, version)
        if found is None:
            hint = "Its text is at /documents/{id}/text."
            raise HttpFault(404, "no-original", f"the file of '{doc_id}' is not on this machine", hint=hint)
        path, sha256 = found
        try:
            data = path.read_bytes()
        except OSError as error:
            hint = "Ask the operator to check the rights of the file."
            raise HttpFault(404, "no-original", f"the file of '{doc_id}' cannot be read", hint=hint) from error
        if hashlib.sha256(data).hexdigest() != sha256:
            hint = "Ingest it again; its text as it was is at /documents/{id}/text."
            raise HttpFault(409, "original-changed", f"the file of '{doc_id}' was changed after its ingest", hint=hint)
        return data

    async def drawn(self, doc_id: str, version: str, *, number: int, width: int) -> bytes:
        """A picture (PNG) of a page of a PDF; `HttpFault` when too many wait for theirs, or it takes too long."""
        with self._lock:
            if self._underway >= _MOST_PROCESSES + _MOST_WAITING:
                raise busy(5)
            self._underway += 1
        future = self._pool.submit(partial(self.page, doc_id, version, number=number, width=width))
        future.add_done_callback(self._leave)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(future), _LONGEST_WAIT)
        except TimeoutError:
            raise too_slow(_LONGEST_WAIT) from None

    def _leave(self, done: Future[bytes]) -> None:
        with self._lock:
            self._underway -= 1
        if not done.cancelled():
            done.exception()  # it was told to whoever waited

    def page(self, doc_id: str, version: str, *, number: int, width: int) -> bytes:
        """What `drawn` gives, by the thread that calls."""
        data = self.read(doc_id, version)
        key = (hashlib.sha256(data).hexdigest(), number, width)
        with self._lock:
            if (kept := self._pages.get(key)) is not None:
                self._pages.move_to_end(key)
                return kept
        drawn = _draw(data, number=number, width=width)
        with self._lock:
            self._pages[key] = drawn
            while sum(map(len, self._pages.values())) > _MOST_KEPT:
                self._pages.popitem(last=False)
        return drawn

    def _found(self, doc_id: str, version: str) -> tuple[Path, str] | None:
        """The file of a document and the hash that it should have; None where there is no file."""
        for look_again in (False, True):
            found = self._all(version, look_again=look_again).get(doc_id)
            path = self._path(doc_id, found) if found else None
            if found is not None and path is not None:
                return path, found.source_sha256
        return None

    def _all(self, version: str, *, look_again: bool = False) -> Mapping[str, Known]:
        """What is known of the files. That a folder was moved makes no new version: who misses one looks again."""
        with self._lock:
            old = look_again and time.monotonic() - self._read_at > _AGAIN_SECONDS
            if self._known is None or self._known[0] != version or old:
                self._known = (version, self._store.known())
                self._read_at = time.monotonic()
            return self._known[1]

    @staticmethod
    def _path(doc_id: str, known: Known) -> Path | None:
        """The file, unless it is gone or a link leads out of its folder."""
        root = os.path.realpath(known.root)
        path = Path(os.path.realpath(Path(root, doc_id)))
        return path if path.is_relative_to(root) and path.is_file() else None


def _draw(data: bytes, *, number: int, width: int) -> bytes:
    """In a process of its own: a hostile PDF may crash the library or keep it busy for ever."""
    # As a file by itself: it needs nothing of ours, and to import the package would take most of its time.
    command = [sys.executable, "-P", str(_DRAW_PAGE), str(number), str(width), str(_PAGE_MEMORY_MB)]
    try:
        done = subprocess.run(  # noqa: S603 - our own file, and three numbers
            command,
            input=data,
            capture_output=True,
            timeout=_PAGE_SECONDS,
            check=False,
            env=plain_environment(),
        )
    except subprocess.TimeoutExpired:
        done = None
    if done is None or done.returncode != 0 or not done.stdout.startswith(b"\x89PNG"):
        hint = "Read its text instead: /documents/{id}/text."
        raise HttpFault(422, "no-picture", f"page {number} cannot be drawn", hint=hint)
    return done.stdout
