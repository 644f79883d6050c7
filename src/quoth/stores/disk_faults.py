"""Files and SQLite databases on disk: read-only connections, and errors as index errors with a next step."""

from __future__ import annotations

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

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
def writing(location: Path) -> Iterator[None]:
    """Turn what goes wrong while writing under `location` into an `IndexFault`; never wrap foreign code in it."""
    try:
        yield
    except OSError as error:
        raise unwritable(location, error.strerror, _hint(error)) from error
    except sqlite3.DatabaseError as error:
        raise _database_fault(location, error) from error


@contextmanager
def reading(location: Path) -> Iterator[None]:
    """Turn what goes wrong while reading under `location` into an `IndexFault`; never wrap foreign code in it."""
    try:
        yield
    except OSError as error:
        hint = _NO_ACCESS if isinstance(error, PermissionError) else _hint(error)
        raise IndexFault(f"the index at {location} cannot be read: {error.strerror}", hint=hint) from error
    except sqlite3.DatabaseError as error:
        raise _database_fault(location, error, doing="read") from error


def unwritable(location: Path, why: object, hint: str = _NO_ROOM) -> IndexUnwritable:
    return IndexUnwritable(f"the index at {location} cannot be written: {why}", hint=hint)


def replaced(location: Path) -> IndexFault:
    return IndexFault(f"the index at {location} was removed or made anew while it was read", hint="Ask again.")


def _hint(error: OSError) -> str:
    return _ELSEWHERE if error.errno is None else _HINT_BY_ERRNO.get(error.errno, _ELSEWHERE)


def _database_fault(location: Path, error: sqlite3.DatabaseError, *, doing: str = "written") -> IndexFault:
    message = str(error)
    if "locked" in message:
        return IndexBusy(
            f"the index at {location} is in use: {message}", hint="Try again when the other process is done."
        )
    if doing == "written":
        for words, hint in _HINT_BY_MESSAGE.items():
            if words in message:
                return unwritable(location, message, hint)
    return IndexDamaged(f"the index at {location} cannot be {doing}: {message}", hint=_DAMAGED)


class FileIdentity(NamedTuple):
    """A file as a process sees it. While a connection is open, its inode is given to no other file."""

    process: int
    device: int
    inode: int


def identify(database: Path) -> FileIdentity | None:
    """Return which file has this path now; None if there is none.

    A process may fork, and a database may be removed and made again: neither may go on with what was open before.
    """
    try:
        file = database.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    return FileIdentity(os.getpid(), file.st_dev, file.st_ino)


def write_ahead_log(database: Path) -> Path:
    """Return SQLite's log of what is not yet merged into the file."""
    return database.with_name(f"{database.name}-wal")


def connect_readonly(database: Path, *, timeout: float) -> tuple[sqlite3.Connection, bool]:
    """Open a database for reading only, and say whether the connection sees later changes too."""
    uri = f"{database.absolute().as_uri()}?mode=ro"
    try:
        return _connect(uri, timeout), True
    except sqlite3.OperationalError as error:
        # Beside a WAL database SQLite keeps files to coordinate. Where they cannot be made, nobody can write through
        # here either, and the database may be read as it is; unless a log that was never merged makes it incomplete.
        log = write_ahead_log(database)
        refused = "unable to open" in str(error) or "readonly" in str(error)
        if not refused or (log.exists() and log.stat().st_size):
            raise
        return _connect(uri + "&immutable=1", timeout), False


def _connect(uri: str, timeout: float) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=timeout, check_same_thread=False)
    try:
        connection.execute("SELECT count(*) FROM sqlite_master")  # opening is lazy: fail here if at all
    except BaseException:
        connection.close()
        raise
    return connection
