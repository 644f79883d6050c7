"""List and read the files inside containers. This runs in worker processes; see `worker.pool`.

Nothing is written to disk, and a container is trusted in nothing: what it holds is counted and measured before any of
it is unpacked, and names that lead outside are refused. A container inside a container is opened, and none inside that.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from io import BytesIO
from pathlib import Path, PurePosixPath

from quoth.documents.archives import ZipContainer
from quoth.documents.containers import (
    CONTAINERS,
    LARGEST_NESTED,
    MAIL,
    SPLIT,
    Container,
    ContainerRoom,
    Listing,
    Member,
    container_path,
    reason_of,
)
from quoth.documents.formats.recognition import ARCHIVE, recognise, recognised
from quoth.errors import QuothError, UnreadableFile

_AGAIN = "Ingest the folder again."
_DRIVE = re.compile(r"[A-Za-z]:")
_RESOURCE_FORKS = "__MACOSX"


def list_contents(path: Path, form: str, *, label: str) -> Listing:
    """Return what a container holds. One that cannot be opened is refused as a whole, by its `label`."""
    try:
        container = _on_disk(path, form)
        return _listed(container, label, room=ContainerRoom().less(container), nested=False)
    except QuothError as error:
        return Listing((), {}, (_about(label, error),))
    except OSError as error:
        return Listing((), {}, (_unreadable(label, error),))


def read_content(path: Path, *, label: str, most_bytes: int) -> bytes:
    """Return the bytes of a file inside a container. Raise `UnreadableFile` when there is none, or it is too large."""
    outer = container_path(path)
    if outer is None:
        raise UnreadableFile(label, "it does not exist", hint=_AGAIN)
    inside = path.relative_to(outer).as_posix()
    try:
        stamp = outer.stat().st_size, outer.stat().st_mtime_ns
        container = _opened(outer, stamp, "")
        if inside in container.sizes:
            return container.read(inside, label, most_bytes=most_bytes)
        for folder in PurePosixPath(inside).parents:
            if folder.as_posix() in container.sizes:
                nested = _opened(outer, stamp, folder.as_posix())
                within = PurePosixPath(inside).relative_to(folder).as_posix()
                if within in nested.sizes:
                    return nested.read(within, label, most_bytes=most_bytes)
    except QuothError as error:
        raise _about(label, error) from error
    except OSError as error:
        raise _unreadable(label, error) from error
    raise UnreadableFile(label, f"{container.what} no longer holds it", hint=_AGAIN)


@lru_cache(maxsize=4)
def _opened(path: Path, stamp: tuple[int, int], inside: str) -> Container:
    """Return the container at `path`, or the one `inside` it: their files are read one after another.

    `stamp` is its size and when it was changed, so that another container is opened anew.
    """
    if not inside:
        return _on_disk(path, recognise(path) or "")
    data = _opened(path, stamp, "").read(inside, inside, most_bytes=LARGEST_NESTED)
    return _in_memory(data, recognised(BytesIO(data), PurePosixPath(inside).suffix.lower()) or "")


def _on_disk(path: Path, form: str) -> Container:
    if form == ARCHIVE:
        return ZipContainer(lambda: path.open("rb"))
    if form in MAIL and path.stat().st_size > LARGEST_NESTED:
        why = f"its attachments are not read: it has more than {LARGEST_NESTED >> 20} MB"
        raise UnreadableFile("", why, hint="Split it, or save the attachments beside it.")
    return _in_memory(path.read_bytes() if form in MAIL else b"", form)


def _in_memory(data: bytes, form: str) -> Container:
    if form == ARCHIVE:
        return ZipContainer(lambda: BytesIO(data))
    if form in MAIL:
        from quoth.documents.attachments import MailContainer  # the readers of messages take long to import

        return MailContainer(data, form)
    raise UnreadableFile("", "it no longer holds files", hint=_AGAIN)


def _about(label: str, error: QuothError) -> UnreadableFile:
    """Return the same error about the file with that id."""
    return UnreadableFile(label, reason_of(error), hint=error.hint)


def _unreadable(label: str, error: OSError) -> UnreadableFile:
    return UnreadableFile(label, str(error.strerror), hint="Check that the file can be read.")


def _listed(container: Container, label: str, *, room: ContainerRoom, nested: bool) -> Listing:
    members: list[Member] = []
    ignored: Counter[str] = Counter()
    refused: list[UnreadableFile] = []
    for name in sorted(container.sizes):
        inner_label = f"{label}/{name}"
        if _is_hidden(name):
            continue
        try:
            _check_name(name, inner_label)
            container.check(name, inner_label)
            suffix = PurePosixPath(name).suffix.lower()
            form = recognised(BytesIO(container.beginning(name, inner_label)), suffix)
            if form is None:
                ignored[suffix or PurePosixPath(name).name] += 1
                continue
            if form != ARCHIVE:
                members.append(Member(name, form))
            if form in CONTAINERS:
                inner = _inner(container, name, form, inner_label, room=room, nested=nested)
                members += [Member(f"{name}/{found.name}", found.format) for found in inner.members]
                ignored.update(inner.ignored)
                refused += inner.refused
        except UnreadableFile as error:
            refused.append(error)
    return Listing(tuple(members), ignored, tuple(refused))


def _inner(container: Container, name: str, form: str, label: str, *, room: ContainerRoom, nested: bool) -> Listing:
    """Return what a container inside another one holds. A message that is too deep is read without its attachments."""
    if nested and form in MAIL:
        return Listing((), {}, ())
    if nested:
        raise UnreadableFile(label, "it is an archive inside two others", hint=SPLIT)
    data = container.read(name, label, most_bytes=LARGEST_NESTED)
    try:
        inner = _in_memory(data, form)
        return _listed(inner, label, room=room.less(inner), nested=True)
    except QuothError as error:
        raise _about(label, error) from error


def _is_hidden(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return any(part.startswith(".") and part != ".." for part in parts) or _RESOURCE_FORKS in parts


def _check_name(name: str, label: str) -> None:
    parts = name.split("/")
    if ".." in parts or "" in parts or "." in parts or _DRIVE.match(name) or "\x00" in name:
        hint = "Pack it again as an ordinary ZIP archive, or unpack it into the folder."
        raise UnreadableFile(label, "its name in the archive leads outside the archive", hint=hint)
