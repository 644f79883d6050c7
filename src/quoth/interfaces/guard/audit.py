"""The audit log: who changed which document, when, and how it ended."""

from __future__ import annotations

import errno
import fcntl
import json
import os
from datetime import UTC, datetime
from pathlib import Path


class AuditLog:
    """One JSON line for each write, on the disk before `record` returns.

    Processes and threads may share the file. It is opened for each line, so it can be rotated while the service runs.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def record(self, **entry: object) -> None:
        """Append an entry with the time; `OSError` when it cannot be written, and then the write must not go ahead."""
        time = datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        line = json.dumps({"time": time, **entry}, ensure_ascii=False, default=str)
        # A lone surrogate, which no encoder could write, becomes its JSON escape.
        content = line.encode("utf-8", "backslashreplace") + b"\n"
        descriptor = _opened(self._path)
        try:
            # One call, so that appends never mix; the lock keeps a line half written by another from looking cut off.
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            content = _line_break_before(descriptor) + content
            written = os.write(descriptor, content)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        if written < len(content):
            raise OSError(errno.ENOSPC, "only a part of the entry could be written", str(self._path))


def _opened(path: Path) -> int:
    """A descriptor to append with; a new file is for its owner alone, and its name is on the disk too."""
    flags = os.O_RDWR | os.O_APPEND | os.O_CLOEXEC
    try:
        return os.open(path, flags)
    except FileNotFoundError:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(path, flags | os.O_CREAT, 0o600)
    try:
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _line_break_before(descriptor: int) -> bytes:
    """A line that a full disk or a power cut left unfinished is ended, or the next entry would be lost in it."""
    size = os.fstat(descriptor).st_size
    return b"" if size == 0 or os.pread(descriptor, 1, size - 1) == b"\n" else b"\n"
