"""Extract text in worker processes, each with a time and a memory limit: a bad file costs a worker, never the run."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from queue import LifoQueue
from types import TracebackType

from quoth.corpus.kinds import AS_TEXT
from quoth.corpus.load import decode
from quoth.corpus.wire import unpack
from quoth.corpus.worker import EARNED, FAILED, OK, read_message, write_message
from quoth.errors import UnreadableFile
from quoth.machine import available_cores, plain_environment
from quoth.settings import IngestSettings
from quoth.types import Extract

_CLEANINGS = 40
_HANGS = "Raise ingest.seconds if it is only large; otherwise open it in its own program and save it again."
_CRASHES = "The file is damaged or hostile: open it in its own program and save it again, or leave it out."


class Extraction:
    """A few workers, started when the first file needs one. Threads may share it; each call waits for a free worker."""

    def __init__(self, settings: IngestSettings) -> None:
        self.workers = settings.workers or available_cores()
        self._seconds = settings.seconds
        self._memory_mb = settings.memory_mb
        self._free: LifoQueue[_Worker | None] = LifoQueue()  # the one used last is warm
        for _ in range(self.workers):
            self._free.put(None)
        self._started: set[_Worker] = set()
        self._closed = False

    def __enter__(self) -> Extraction:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed = True
        for worker in tuple(self._started):
            worker.stop()

    def read(self, data: bytes, *, form: str, label: str) -> tuple[Extract, str]:
        """The text of a file of any format, and its encoding if it is text itself."""
        if form not in AS_TEXT:
            return self.extract(data, form=form, label=label), ""
        source = decode(data, label=label)
        return Extract(source.text, None, (), (), {}, ()), source.encoding

    def extract(self, data: bytes, *, form: str, label: str) -> Extract:
        """The text of one that is not; `UnreadableFile` says why it cannot be taken, or how its extractor ended."""
        worker = self._free.get()
        try:
            if worker is not None and worker.alive:
                try:
                    return worker.extract(data, form=form, label=label, seconds=self._seconds)
                except _Accident:
                    # What earlier files left in its memory may be to blame: alone the file gets all that it may have.
                    self._end(worker)
            worker = self._start(label)
            return worker.extract(data, form=form, label=label, seconds=self._seconds)
        finally:
            if worker is not None and not worker.alive:
                self._end(worker)
                worker = None
            self._free.put(worker)

    def _start(self, label: str) -> _Worker:
        if not self._closed:
            worker = _Worker(self._memory_mb, self._seconds)
            self._started.add(worker)
            if not self._closed:
                return worker
            self._end(worker)  # it was closed meanwhile, and nobody else will
        raise UnreadableFile(label, "the run was interrupted", hint="Run the same command to go on.")

    def _end(self, worker: _Worker) -> None:
        worker.stop()
        self._started.discard(worker)


class _Accident(UnreadableFile):
    """A file that cannot be taken for a reason that nobody foresaw."""


class _Worker:
    """One process."""

    def __init__(self, memory_mb: int, seconds: float) -> None:
        # Who is ended in the middle cleans up nothing, so we do: its temporary files are all in here.
        self._folder = tempfile.mkdtemp(prefix="quoth-worker-")
        # A session of its own: Ctrl-C in the terminal is for us, and whatever the worker starts ends with it.
        self._process = subprocess.Popen(  # noqa: S603 - our own module, in the Python that runs us
            [sys.executable, "-P", "-m", "quoth.corpus.worker", str(memory_mb), f"{seconds:g}", self._folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**plain_environment(), "TMPDIR": self._folder},
            start_new_session=True,
        )
        self._timed_out = False

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def extract(self, data: bytes, *, form: str, label: str, seconds: float) -> Extract:
        self._timed_out = False  # the clock of the file before may have rung just as it was done
        deadline = time.monotonic() + seconds
        with self._time_limit(seconds):
            reply = self._ask(form, data)
        while reply is not None and reply[:1] == EARNED:
            deadline += float(reply[1:])
            with self._time_limit(deadline - time.monotonic()):
                reply = self._reply()
        if reply is None:
            raise self._ended(label, seconds)
        try:
            if reply[:1] == OK:
                return unpack(reply[1:])
            why, hint = json.loads(reply[1:])
            refusal = _Accident if reply[:1] == FAILED else UnreadableFile
        except (ValueError, TypeError, KeyError, IndexError) as error:
            raise UnreadableFile(label, f"its extractor contradicts itself: {error}", hint=_CRASHES) from error
        raise refusal(label, why, hint=hint)

    def _ask(self, form: str, data: bytes) -> bytes | None:
        outgoing = self._process.stdin
        if outgoing is None:
            return None
        try:
            write_message(outgoing, form.encode())
            write_message(outgoing, data)
        except (BrokenPipeError, ValueError):
            return None  # it died while we wrote, or was stopped
        return self._reply()

    def _reply(self) -> bytes | None:
        incoming = self._process.stdout
        if incoming is None:
            return None
        try:
            return read_message(incoming)
        except ValueError:
            return None  # it was stopped

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

    def _ended(self, label: str, seconds: float) -> UnreadableFile:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=1)  # how it ended by itself says more
        self._kill()
        status = self._process.wait()
        if self._timed_out:
            return UnreadableFile(label, f"reading it took more than {seconds:g} seconds", hint=_HANGS)
        how = signal.Signals(-status).name if status < 0 else f"status {status}"
        return _Accident(label, f"it crashed its extractor ({how})", hint=_CRASHES)

    def _kill(self) -> None:
        try:
            os.killpg(self._process.pid, signal.SIGKILL)
        except ProcessLookupError:
            return

    def stop(self) -> None:
        self._kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with suppress(BrokenPipeError):  # of what it never took in
                    stream.close()
        self._clean_up()

    def _clean_up(self) -> None:
        """Remove its folder; a program that it had started may write there for a moment longer."""
        for _ in range(_CLEANINGS):
            shutil.rmtree(self._folder, ignore_errors=True)
            if not os.path.exists(self._folder):  # noqa: PTH110 - a text is all we have
                return
            time.sleep(0.05)
