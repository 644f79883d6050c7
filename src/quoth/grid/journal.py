"""The journal of a grid: the finished cells of a run that was stopped, in a file beside the output."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from quoth.errors import QuothError
from quoth.output.render import json_line

_MARK = "quoth_grid"
_FORMAT = 1


class Journal:
    """The cells finished so far, in order. Each is handed to the system at once, so that `kill -9` loses none."""

    def __init__(self, file: BinaryIO, lines: list[dict[str, Any]]) -> None:
        self._file = file
        self.lines = lines

    def add(self, line: dict[str, Any]) -> None:
        self._file.write((json_line(line) + "\n").encode())
        self._file.flush()
        self.lines.append(line)


def journal_path(output: Path) -> Path:
    return output.with_name(f"{output.name}.part")


@contextmanager
def open_journal(path: Path, identity: Mapping[str, str], tell: Callable[[str], None]) -> Iterator[Journal]:
    """Yield the journal at `path`, and remove it when the block ends without an error.

    It holds the cells of an earlier run if that had the same `identity`; otherwise it begins anew, and `tell` is called
    with the reason. Raise `QuothError` when another run has it open, or when the file is no journal.
    """
    try:
        file = path.open("a+b")
    except OSError as error:
        hint = "Choose another file with -o."
        raise QuothError(f"cannot write {path}: {error.strerror}", hint=hint) from error
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            hint = "Wait for it to finish, or choose another file with -o."
            raise QuothError(f"another run is writing {path}", hint=hint) from error
        yield _begun(file, path, dict(identity), tell)
        path.unlink()  # before the lock is released: nobody else may take up a journal that is done with


def _begun(file: BinaryIO, path: Path, identity: dict[str, str], tell: Callable[[str], None]) -> Journal:
    file.seek(0)
    head, *rest = file.read().split(b"\n")
    if rest:  # else the file is new, or its first line was cut off
        earlier = _read(head, _MARK)
        if earlier is None:
            hint = "Move it away, or choose another file with -o."
            raise QuothError(f"{path} is no journal of quoth grid", hint=hint)
        changed = [name for name, value in identity.items() if earlier.get(name) != value]
        if not changed and earlier[_MARK] == _FORMAT:
            return _resumed(file, head, rest, tell)
        tell(f"starting anew: {' and '.join(changed) or 'the format'} changed since the cells in {path} were made")
    file.truncate(0)
    file.write((json_line({_MARK: _FORMAT, **identity}) + "\n").encode())
    file.flush()
    return Journal(file, [])


def _resumed(file: BinaryIO, head: bytes, rest: list[bytes], tell: Callable[[str], None]) -> Journal:
    """Keep the complete lines: what follows the last line feed was cut off while it was written."""
    lines: list[dict[str, Any]] = []
    length = len(head) + 1
    for raw in rest[:-1]:
        line = _read(raw, "doc_id")
        if line is None:
            break
        lines.append(line)
        length += len(raw) + 1
    file.truncate(length)
    tell(f"going on: {len(lines):,} cells are done")
    return Journal(file, lines)


def _read(raw: bytes, key: str) -> dict[str, Any] | None:
    """Return the JSON object of a line if it has the key."""
    try:
        content = json.loads(raw)
    except ValueError:
        return None
    return content if isinstance(content, dict) and key in content else None
