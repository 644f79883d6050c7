"""Extract text in worker processes with time and memory limits: a bad file costs one worker, never the run."""

from __future__ import annotations

import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from queue import LifoQueue
from typing import TypeVar

from quoth.documents.containers import Listing
from quoth.documents.encodings import decode, encoding_of
from quoth.documents.formats.recognition import AS_TEXT, SOURCES
from quoth.documents.worker.process import (
    EXTENDED,
    FAILED,
    LIST,
    OK,
    READ,
    read_message,
    request,
    unpack,
    write_message,
)
from quoth.errors import UnreadableFile
from quoth.machine import WITNESS, available_cores, plain_environment
from quoth.settings import IngestSettings
from quoth.types import Extract

_Result = TypeVar("_Result")
_FIRST_NUMBER = 64
"""The least number of a pipe that is inherited: a shell may use those below 10 for itself."""
_LAST_MOMENTS = 30_000
"""Milliseconds in which what was killed has ended, even on the busiest machine."""
_HANGS = "Raise ingest.seconds if it is only large; otherwise open it in its own program and save it again."
_CRASHES = "The file is damaged or hostile: open it in its own program and save it again, or leave it out."


class Extraction:
    """A pool of worker processes, started on demand. Threads may share it; each call waits for a free worker."""

    def __init__(self, settings: IngestSettings) -> None:
        self.workers = settings.workers or available_cores()
        self._settings = settings
        self._free: LifoQueue[_Worker | None] = LifoQueue()  # the worker that was used last is warm
        for _ in range(self.workers):
            self._free.put(None)
        self._started: set[_Worker] = set()
        self._closed = False

    def __enter__(self) -> Extraction:
        return self

    def __exit__(self, *_error: object) -> None:
        self._closed = True
        for worker in tuple(self._started):
            worker.stop()

    def read(self, data: bytes, *, form: str, label: str) -> tuple[Extract, str]:
        """Return the extract of a file of any format, and its encoding, which is empty unless it is a text file."""
        if form not in AS_TEXT:
            return self.extract(data, form=form, label=label), encoding_of(data, label=label) if form in SOURCES else ""
        text, encoding = decode(data, label=label)
        return Extract(text, None, (), (), {}, ()), encoding

    def extract(self, data: bytes, *, form: str, label: str) -> Extract:
        """Return the extract of a file that a worker must read. Raise `UnreadableFile` when the worker cannot."""
        return self._ask(request(form, self._settings), data, label=label, parse=unpack)

    def list_contents(self, path: Path, *, form: str, label: str) -> Listing:
        """Return what a container holds, as `contents.list_contents` does."""
        wanted = json.dumps([os.path.abspath(path), label, form]).encode()  # noqa: PTH100 - links stay as they are
        return self._ask(LIST, wanted, label=label, parse=Listing.unpacked)

    def read_content(self, path: Path, *, label: str, most_bytes: int) -> bytes:
        """Return a file inside a container, as `contents.read_content` does."""
        wanted = json.dumps([os.path.abspath(path), label, most_bytes]).encode()  # noqa: PTH100
        return self._ask(READ, wanted, label=label, parse=bytes)

    def _ask(self, task: str, data: bytes, *, label: str, parse: Callable[[bytes], _Result]) -> _Result:
        worker = self._free.get()
        try:
            if worker is not None and worker.alive:
                try:
                    return worker.ask(task, data, label=label, parse=parse)
                except _WorkerFailure:
                    # Memory taken by earlier files may be the cause, so the file gets a second try in a new process.
                    self._end(worker)
            worker = self._start(label)
            return worker.ask(task, data, label=label, parse=parse)
        finally:
            if worker is not None and not worker.alive:
                self._end(worker)
                worker = None
            self._free.put(worker)

    def _start(self, label: str) -> _Worker:
        if not self._closed:
            worker = _Worker(self._settings)
            self._started.add(worker)
            if not self._closed:
                return worker
            self._end(worker)  # the pool was closed meanwhile, and nothing else would end this worker
        raise UnreadableFile(label, "the run was interrupted", hint="Run the same command to go on.")

    def _end(self, worker: _Worker) -> None:
        worker.stop()
        self._started.discard(worker)


class _WorkerFailure(UnreadableFile):
    """The extractor crashed or raised an error that it does not know, so a new process may succeed."""


class _Worker:
    """One worker process and the pipes to it."""

    def __init__(self, settings: IngestSettings) -> None:
        self._seconds = settings.seconds
        # A process that is killed cleans up nothing, so all its temporary files go to a folder that we remove.
        self._folder = tempfile.mkdtemp(prefix="quoth-worker-")
        # With a session of its own it does not receive Ctrl-C, and the programs it starts are killed with it.
        limits = [str(settings.memory_mb), f"{settings.seconds:g}", self._folder]
        self._witness = _Witness()
        self._process = subprocess.Popen(  # noqa: S603 - our own module, in the Python that runs us
            [sys.executable, "-P", "-m", "quoth.documents.worker.process", *limits],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**plain_environment(), "TMPDIR": self._folder, WITNESS: str(self._witness.inherited)},
            start_new_session=True,
            pass_fds=[self._witness.inherited],
        )
        self._witness.leave_to_heirs()
        self._timed_out = False
        self._stopping = threading.Lock()
        self._stopped = False

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, task: str, data: bytes, *, label: str, parse: Callable[[bytes], _Result]) -> _Result:
        self._timed_out = False  # the timer of the previous file may have fired just after it was done
        deadline = time.monotonic() + self._seconds
        with self._time_limit(self._seconds):
            reply = self._reply(task.encode(), data)
        while reply is not None and reply[:1] == EXTENDED:
            deadline += float(reply[1:])
            with self._time_limit(deadline - time.monotonic()):
                reply = self._reply()
        if reply is None:
            raise self._ended(label)
        try:
            if reply[:1] == OK:
                return parse(reply[1:])
            why, hint = json.loads(reply[1:])
            refusal = _WorkerFailure if reply[:1] == FAILED else UnreadableFile
        except (ValueError, TypeError, KeyError, IndexError) as error:
            raise UnreadableFile(label, f"its extractor contradicts itself: {error}", hint=_CRASHES) from error
        raise refusal(label, why, hint=hint)

    def _reply(self, *messages: bytes) -> bytes | None:
        """Send messages and return the next reply; None if the process died, or was stopped."""
        if self._process.stdin is None or self._process.stdout is None:
            return None
        try:
            for message in messages:
                write_message(self._process.stdin, message)
            return read_message(self._process.stdout)
        except (BrokenPipeError, ValueError):
            return None

    @contextmanager
    def _time_limit(self, seconds: float) -> Iterator[None]:
        clock = threading.Timer(max(0.0, seconds), self._time_out)
        clock.start()
        try:
            yield
        finally:
            clock.cancel()

    def _time_out(self) -> None:
        self._timed_out = True
        self._kill()

    def _ended(self, label: str) -> UnreadableFile:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=1)  # its own exit status says more than our kill
        self._kill()
        status = self._process.wait()
        if self._timed_out:
            return UnreadableFile(label, f"reading it took more than {self._seconds:g} seconds", hint=_HANGS)
        how = signal.Signals(-status).name if status < 0 else f"status {status}"
        return _WorkerFailure(label, f"it crashed its extractor ({how})", hint=_CRASHES)

    def _kill(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def stop(self) -> None:
        """End the worker with all that it started, and remove its folder. Threads may call it at once."""
        with self._stopping:
            if self._stopped:
                return
            self._stopped = True
            self._kill()
            self._process.wait()
            for stream in filter(None, (self._process.stdin, self._process.stdout)):
                with suppress(BrokenPipeError):  # from what it did not read
                    stream.close()
            self._witness.wait()
            shutil.rmtree(self._folder, ignore_errors=True)


class _Witness:
    """A pipe that a process hands on to all that it starts: it ends when the last of them has ended.

    A program that is being killed may act for a moment longer, and make a folder anew that has just been removed.
    """

    def __init__(self) -> None:
        self._end, low = os.pipe()
        self.inherited = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, _FIRST_NUMBER)
        os.close(low)

    def leave_to_heirs(self) -> None:
        os.close(self.inherited)

    def wait(self) -> None:
        poll = select.poll()
        poll.register(self._end, select.POLLIN | select.POLLHUP)
        poll.poll(_LAST_MOMENTS)
        os.close(self._end)
