"""What the file system and SQLite say, as errors with a next step."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from quoth.errors import IndexBusy, IndexDamaged, IndexFault, IndexUnwritable

_NO_ROOM = "Free some space (or lift the limit), then run the same command again: what was embedded is kept."
_NO_RIGHTS = "Choose a place you may write to with --index, or change its permissions."
_NO_ACCESS = "Choose another place with --index, or change its permissions."
_TOO_MANY_FILES = "Close some files or raise the limit (ulimit -n), then try again."
_ELSEWHERE = "Choose another place with --index."
_DAMAGED = "Remove the index directory and ingest again."

_HINT_BY_ERRNO = {
    errno.ENOSPC: _NO_ROOM,
    errno.EDQUOT: _NO_ROOM,
    errno.EFBIG: _NO_ROOM,
    errno.EACCES: _NO_RIGHTS,
    errno.EPERM: _NO_RIGHTS,
    errno.EROFS: _NO_RIGHTS,
    errno.ENOTDIR: "A part of that path is a file: choose another place with --index.",
    errno.EEXIST: "There is a file in its place: choose another place with --index.",
    errno.ENAMETOOLONG: "That path is too long: choose another place with --index.",
    errno.ELOOP: "The links in that path lead in a circle: choose another place with --index.",
    errno.EMFILE: _TOO_MANY_FILES,
    errno.ENFILE: _TOO_MANY_FILES,
    errno.EIO: "The disk reports errors: choose another place with --index.",
}

# SQLite's messages are part of its documented interface; Python 3.11 gives codes, but not for every wrapper.
_HINT_BY_MESSAGE = {
    "disk is full": _NO_ROOM,
    "disk I/O error": _NO_ROOM,
    "readonly database": _NO_RIGHTS,
    "unable to open database": _NO_RIGHTS,
}


@contextmanager
def writing(place: Path) -> Iterator[None]:
    """Turn what goes wrong while writing under `place` into an `IndexFault`; never wrap foreign code in it."""
    try:
        yield
    except OSError as error:
        raise unwritable(place, error.strerror, _hint(error)) from error
    except sqlite3.DatabaseError as error:
        raise _database_fault(place, error) from error


@contextmanager
def reading(place: Path) -> Iterator[None]:
    """Turn what goes wrong while reading under `place` into an `IndexFault`; never wrap foreign code in it."""
    try:
        yield
    except OSError as error:
        hint = _NO_ACCESS if isinstance(error, PermissionError) else _hint(error)
        raise IndexFault(f"the index at {place} cannot be read: {error.strerror}", hint=hint) from error
    except sqlite3.DatabaseError as error:
        raise _database_fault(place, error, doing="read") from error


def unwritable(place: Path, why: object, hint: str = _NO_ROOM) -> IndexUnwritable:
    return IndexUnwritable(f"the index at {place} cannot be written: {why}", hint=hint)


def replaced(place: Path) -> IndexFault:
    return IndexFault(f"the index at {place} was removed or made anew while it was read", hint="Ask again.")


def _hint(error: OSError) -> str:
    return _ELSEWHERE if error.errno is None else _HINT_BY_ERRNO.get(error.errno, _ELSEWHERE)


def _database_fault(place: Path, error: sqlite3.DatabaseError, *, doing: str = "written") -> IndexFault:
    message = str(error)
    if "locked" in message:
        return IndexBusy(f"the index at {place} is in use: {message}", hint="Try again when the other process is done.")
    if doing == "written":
        for words, hint in _HINT_BY_MESSAGE.items():
            if words in message:
                return unwritable(place, message, hint)
    return IndexDamaged(f"the index at {place} cannot be {doing}: {message}", hint=_DAMAGED)
