"""Files that hold documents: ZIP archives, and messages with their attachments. What these have in common.

The path of a document inside goes on behind that of its container, as its id does: `letters/mail.eml/plan.pdf`. A
message is a document itself; an archive is none.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from quoth.documents.formats.recognition import ARCHIVE
from quoth.errors import QuothError, UnreadableFile

MAIL = frozenset({"eml", "mbox", "msg"})
CONTAINERS = MAIL | {ARCHIVE}
"""Formats of files that may hold others."""
MOST_MEMBERS = 10_000
MOST_BYTES = 2 << 30
"""What all files inside together declare to unpack to."""
LARGEST_NESTED = 64 << 20
"""Bytes of a container inside another one, and of a message whose attachments are read: it is in memory as a whole."""
SPLIT = "Unpack it into the folder instead, or split it."


class Container(Protocol):
    """An open container. The files inside have a path of their own, such as `plans/north.pdf`."""

    what: str
    """A word for people, with its article."""

    @property
    def sizes(self) -> Mapping[str, int]:
        """The size that each file inside declares, in bytes, by its path."""

    def check(self, name: str, label: str) -> None:
        """Raise `UnreadableFile` about `label` if a file inside cannot be read, or unpacks to far too much."""

    def beginning(self, name: str, label: str) -> bytes:
        """Return as much of a file inside as is needed to tell its format."""

    def read(self, name: str, label: str, *, most_bytes: int) -> bytes:
        """Return a file inside. Raise `UnreadableFile` about `label` if it is damaged or larger than that."""


@dataclass(frozen=True, slots=True)
class Member:
    """A readable file in a container: its path inside, and its format."""

    name: str
    format: str


@dataclass(frozen=True, slots=True)
class Listing:
    """What a container holds: documents, files of other kinds by ending, and what cannot be read, named by its id."""

    members: tuple[Member, ...]
    ignored: Mapping[str, int]
    refused: tuple[UnreadableFile, ...]

    def packed(self) -> bytes:
        """Return the listing as JSON, which `unpacked` reads."""
        members = [[member.name, member.format] for member in self.members]
        refused = [[error.path, reason_of(error), error.hint] for error in self.refused]
        return json.dumps([members, dict(self.ignored), refused]).encode()

    @classmethod
    def unpacked(cls, data: bytes) -> Listing:
        """Raise `ValueError`, `TypeError` or `KeyError` for what no listing is."""
        members, ignored, refused = json.loads(data)
        return cls(
            tuple(Member(str(name), str(form)) for name, form in members),
            Counter({str(ending): int(count) for ending, count in ignored.items()}),
            tuple(UnreadableFile(str(path), str(why), hint=str(hint)) for path, why, hint in refused),
        )


def container_path(path: Path) -> Path | None:
    """Return the file that a path leads through, None if it leads through folders alone."""
    return next((parent for parent in path.parents if parent.is_file()), None)


def may_hold_files(path: Path, form: str) -> bool:
    """Return whether a file can hold others. Most messages hold none, and need not be sent to a worker to find out."""
    if form != "eml":
        return form in CONTAINERS
    try:
        return path.stat().st_size > LARGEST_NESTED or may_attach(path.read_bytes())
    except OSError:  # reading it later says why
        return False


def may_attach(message: bytes) -> bool:
    """Return whether a message can have attachments. This only looks for words, which nothing in it can lead astray."""
    lower = message.lower()
    return any(sign in lower for sign in (b"name", b"attachment", b"application/"))


def reason_of(error: QuothError) -> str:
    return str(error).removeprefix(f"{error.path}: ") if isinstance(error, UnreadableFile) else str(error)


class ContainerRoom:
    """What a container and those inside it may still hold together."""

    def __init__(self) -> None:
        self._members, self._bytes = MOST_MEMBERS, MOST_BYTES

    def less(self, container: Container) -> ContainerRoom:
        """Take its files away. Raise `UnreadableFile` when there is no room for them."""
        sizes = container.sizes
        self._members -= len(sizes)
        self._bytes -= sum(sizes.values())
        if self._members < 0:
            raise UnreadableFile("", f"{container.what} holds more than {MOST_MEMBERS:,} files", hint=SPLIT)
        if self._bytes < 0:
            raise UnreadableFile("", f"{container.what} unpacks to more than {MOST_BYTES >> 20:,} MB", hint=SPLIT)
        return self
