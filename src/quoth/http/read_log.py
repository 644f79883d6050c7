"""The log of what was read: who saw which quote of which document, and when. JSON Lines, written by a thread."""

from __future__ import annotations

import asyncio
import fcntl
import json
import logging
import os
import queue
import re
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import copy_context
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from quoth.http.guard.askers import Asker
from quoth.http.http_faults import HttpFault
from quoth.settings import AuditSettings

NAME = "reads.jsonl"
"""The current file in the folder of the service's state; older ones have the time of their end in their name."""
_TEXTS = frozenset({"text", "content", "quote", "display"})
"""The fields that make an object with offsets a quote: without one, only a place is named."""
_PLACE = re.compile(r"(.+):([0-9]+)-([0-9]+)", re.DOTALL)
"""The id of a sentence."""
_DAY = 86_400.0
_MOST_WAITING = 10_000
_MOST_AT_ONCE = 1_000
_WRITE_SECONDS = 5.0
_FILES = 8
"""Into how many files the allowed size is divided: retention deletes whole ones."""
_CLEAN_SECONDS = 3_600.0

_log = logging.getLogger(__name__)
_Entry = tuple[bytes, "Future[None]"]


class ReadLog:
    """Several processes may write to one folder. A read waits for its entry only where it may not go without one."""

    def __init__(self, folder: Path, settings: AuditSettings) -> None:
        self._folder = folder
        self._settings = settings
        self._waiting: queue.Queue[_Entry | None] = queue.Queue(_MOST_WAITING)
        self._thread = threading.Thread(target=copy_context().run, args=(self._run,), name="reads", daemon=True)
        self._failing = False
        self._clean_at = 0.0

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Write what is left, and wait for that a while."""
        try:
            self._waiting.put(None, timeout=_WRITE_SECONDS)
        except queue.Full:
            return
        self._thread.join(_WRITE_SECONDS)

    async def note(self, asker: Asker | None, reads: list[dict[str, Any]], **request: object) -> None:
        """Write down what an asker is about to be given: quotes, or whole documents.

        With `audit.when_full=refuse`, raise `HttpFault` unless it is on the disk; else go on at once.
        """
        if not reads:
            return
        now = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        who = {"asker": (asker and asker.id) or None, "name": (asker and asker.name) or None}
        entry = json.dumps({"time": now, **who, **request, "reads": reads}, ensure_ascii=False, default=str)
        written: Future[None] = Future()
        try:
            self._waiting.put_nowait((entry.encode("utf-8", "backslashreplace") + b"\n", written))
        except queue.Full:
            self._tell(OSError("more is read than can be written down"))
            if self._settings.when_full == "refuse":
                raise _unwritten() from None
            return
        if self._settings.when_full == "refuse":
            try:
                await asyncio.wait_for(asyncio.wrap_future(written), _WRITE_SECONDS)
            except (OSError, TimeoutError) as error:
                raise _unwritten() from error

    def _run(self) -> None:
        while (entry := self._waiting.get()) is not None:
            entries, last = [entry], False
            while len(entries) < _MOST_AT_ONCE and not self._waiting.empty():
                following = self._waiting.get()
                if following is None:
                    last = True
                    break
                entries.append(following)
            try:
                self._write(b"".join(line for line, _ in entries))
            except OSError as error:
                self._tell(error)
                _end(entries, error)
            else:
                self._failing = False
                _end(entries, None)
            if last:
                return

    def _write(self, lines: bytes) -> None:
        with self._alone():
            path = self._folder / NAME
            self._rotate(path, len(lines))
            descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "a+b", buffering=0) as file:
                size = os.fstat(descriptor).st_size
                # A full disk or a power cut may have left a line without an end.
                if size and os.pread(descriptor, 1, size - 1) != b"\n":
                    lines = b"\n" + lines
                if file.write(lines) < len(lines):
                    os.ftruncate(descriptor, size)
                    raise OSError("only a part of the entry could be written")
                os.fsync(descriptor)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(self._folder / f"{NAME}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "r+b") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _rotate(self, path: Path, added: int) -> None:
        """Begin a new file for each day and each eighth of the allowed size, and delete what is too old or too much."""
        most = self._settings.mb * 2**20
        try:
            is_full = path.stat().st_size + added > most // _FILES
            began = _began(path)
        except FileNotFoundError:
            is_full, began = False, None
        if is_full or (began is not None and time.time() - began > _DAY):
            path.rename(path.with_name(f"reads-{time.time_ns():020d}.jsonl"))
        elif time.monotonic() < self._clean_at:
            return
        self._clean_at = time.monotonic() + _CLEAN_SECONDS
        kept = 0
        for old in sorted(self._folder.glob("reads-*.jsonl"), reverse=True):
            kept += old.stat().st_size
            too_old = self._settings.days and time.time() - old.stat().st_mtime > self._settings.days * _DAY
            if too_old or kept > most - most // _FILES:
                old.unlink(missing_ok=True)

    def _tell(self, error: Exception) -> None:
        if not self._failing:  # log it once, not for each answer
            self._failing = True
            then = "answers are refused" if self._settings.when_full == "refuse" else "answers go on without it"
            _log.error("what is read cannot be written down (%s): %s until it can", error, then)


def quotes_in(content: object, doc_id: str | None = None) -> list[dict[str, Any]]:
    """Return each quote in the JSON of a response once, in order: its document, its place, and the document's hash."""
    found: dict[tuple[object, ...], dict[str, Any]] = {}
    for read in _quotes_in(content, doc_id):
        found.setdefault(tuple(read.values()), read)
    return list(found.values())


def _quotes_in(content: object, doc_id: str | None) -> Iterator[dict[str, Any]]:
    if isinstance(content, list):
        for item in content:
            yield from _quotes_in(item, doc_id)
    elif isinstance(content, Mapping):
        named = content.get("document")
        own = content.get("doc_id") or (named.get("doc_id") if isinstance(named, Mapping) else None) or doc_id
        start, end = content.get("start"), content.get("end")
        if own and isinstance(start, int) and isinstance(end, int) and not _TEXTS.isdisjoint(content):
            sha256 = content.get("doc_sha256")
            yield {"doc_id": own, "start": start, "end": end, **({"sha256": sha256} if sha256 else {})}
        elif start is None and "text" in content and (place := _PLACE.fullmatch(str(content.get("id")))):
            yield {"doc_id": place[1], "start": int(place[2]), "end": int(place[3])}  # of the trace of an answer
        for value in content.values():
            yield from _quotes_in(value, own)


def _began(path: Path) -> float | None:
    """Return when the first entry of a file was made, in seconds since 1970; None if that cannot be read."""
    with path.open("rb") as file:
        first = file.readline(2**20)
    try:
        return datetime.fromisoformat(json.loads(first)["time"]).timestamp()
    except (ValueError, KeyError, TypeError):
        return None


def _end(entries: list[_Entry], error: OSError | None) -> None:
    for _, written in entries:
        if written.set_running_or_notify_cancel():  # else nobody waits for it any more
            if error is None:
                written.set_result(None)
            else:
                written.set_exception(error)


def _unwritten() -> HttpFault:
    hint = "Ask the operator of the service to make room in the folder of its state."
    message = "what is read must be written down here, and cannot be now"
    return HttpFault(503, "audit", message, hint=hint, headers={"Retry-After": "30"})
