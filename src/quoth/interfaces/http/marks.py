"""What readers say of answers, kept as labelled questions that `quoth calibrate` and `quoth eval` take."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

MOST = 100_000
"""Marks that are kept: each one is written with all the others."""


class MarksFull(Exception):
    """There are as many marks as are kept; one of a question that is among them can still be changed."""


class Marks:
    """A JSONL file with one line for each question; a later mark of the same question takes the earlier one's place.

    The file is written anew each time, aside, and renamed: readers see the whole old or the whole new one.
    """

    def __init__(self, path: Path, *, most: int = MOST) -> None:
        self._path = path
        self._most = most
        self._lock = threading.Lock()

    def put(self, labelled: Mapping[str, Any]) -> int:
        """Store a labelled question; gives how many there are. `MarksFull` when there is no place for another."""
        with self._alone():
            lines = self._read()
            if labelled["id"] not in lines and len(lines) >= self._most:
                raise MarksFull
            lines[labelled["id"]] = json.dumps(labelled, ensure_ascii=False).encode("utf-8", "backslashreplace")
            self._write(b"".join(line + b"\n" for line in lines.values()))
            return len(lines)

    def count(self) -> int:
        return len(self._read())

    def _read(self) -> dict[str, bytes]:
        """The lines by their ids. One that somebody wrote by hand, and wrongly, stays as it is under its own words."""
        try:
            lines = self._path.read_bytes().splitlines()
        except FileNotFoundError:
            return {}
        return {_id_of(line): line for line in lines if line.strip()}

    def _write(self, content: bytes) -> None:
        aside = self._path.with_name(f".{self._path.name}.new")
        try:
            with aside.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            aside.replace(self._path)
        except BaseException:
            aside.unlink(missing_ok=True)
            raise

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Nobody else writes meanwhile, in this process or another."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        lock = self._path.with_name(f".{self._path.name}.lock")
        with self._lock, lock.open("wb") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def mark_id(question: str, filters: Mapping[str, Any]) -> str:
    """The same for the same question under the same filters."""
    said = json.dumps([question, filters], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()[:16]


def _id_of(line: bytes) -> str:
    try:
        content = json.loads(line)
    except ValueError:
        content = None
    name = content.get("id") if isinstance(content, dict) else None
    return name if isinstance(name, str) else line.decode("utf-8", "backslashreplace")
