"""Where a sharded index lies: a folder, or a prefix in object storage. Offers only what both can do.

A name is a path below the location, with slashes. `put` is atomic: a reader finds the new value or the old one, whole.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, ClassVar, Protocol

from quoth.errors import IndexFault, IndexUnwritable, MissingExtra, SettingsError
from quoth.machine import replaced_file, usual_mode
from quoth.stores.disk_faults import reading, writing

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_CHUNK = 8 * 2**20
_SCHEMES = ("s3://", "gs://", "az://")
_ONE_SLASH = re.compile(r"(s3|gs|az|file):/(?!/)")


@dataclass(frozen=True, slots=True)
class FileDigest:
    """The size and the digest that a file should have."""

    size: int
    sha256: str


class VersionConflict(Exception):
    """The version to replace is gone, or there is a file where none should be."""


class Location(Protocol):
    """`uri` is the address as the user gave it, which never holds a password; `folder` is None for object storage."""

    @property
    def uri(self) -> str: ...

    @property
    def folder(self) -> Path | None: ...

    def get(self, name: str) -> tuple[bytes, str] | None:
        """Return the content and its version, for `put`; None if there is no such file."""

    def put(self, name: str, content: bytes, *, over: str | None) -> str:
        """Write all of `content` or nothing, and return the new version.

        `over` is the version to replace; None means that there must be nothing yet. `VersionConflict` if the location
        holds another version. A folder cannot compare and replace in one step, so two writers there need a lock.
        """

    def upload(self, source: Path, name: str) -> None:
        """Copy a large file from this machine, replacing a file of that name."""

    def download(self, name: str, target: Path) -> None:
        """Copy a file to this machine, making folders above `target`; FileNotFoundError if there is none."""

    def names(self, prefix: str) -> Iterator[str]:
        """Yield all names below `prefix` (a folder's name, or "" for all), in no order."""

    def remove(self, names: Iterable[str]) -> None:
        """Remove the files; ignore names that do not exist."""


def open_location(uri: str | Path) -> Location:
    """Open a folder, which need not exist yet, or `s3://bucket/prefix`."""
    text = str(uri)
    if text.startswith(_SCHEMES):
        _check_address(text)
        return _ObjectStorageLocation(text.rstrip("/"))
    if "://" in text and not text.startswith("file://"):
        raise SettingsError(
            f"an index of shards cannot be at an address that begins with '{text.partition('://')[0]}:'",
            hint="Give a folder, or s3://bucket/prefix.",
        )
    if _ONE_SLASH.match(text):
        raise SettingsError(
            f"'{text.partition(':')[0]}:' is followed by one slash, and needs two",
            hint="Give s3://bucket/prefix, or ./ before the name of a folder.",
        )
    return _FolderLocation(Path(text.removeprefix("file://")).expanduser().absolute())


def put_idempotent(location: Location, name: str, content: bytes, *, over: str | None) -> None:
    """Call `put`, but raise `VersionConflict` only if the location holds other content.

    The reply to a write can be lost on its way; the repeated write then finds its own content.
    """
    try:
        location.put(name, content, over=over)
    except VersionConflict:
        found = location.get(name)
        if found is None or found[0] != content:
            raise


def digest_file(path: Path) -> FileDigest:
    """Return the size and the digest of a file on this machine."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return FileDigest(file.tell(), digest)


@dataclass(frozen=True)
class _FolderLocation:
    """A folder on this machine, or one that every node sees."""

    folder: Path

    @property
    def uri(self) -> str:
        return str(self.folder)

    def get(self, name: str) -> tuple[bytes, str] | None:
        with reading(self.folder):
            try:
                content = (self.folder / name).read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                return None
        return content, _version(content)

    def put(self, name: str, content: bytes, *, over: str | None) -> str:
        held = self.get(name)
        if (held[1] if held else None) != over:
            raise VersionConflict(name)
        with self._replacing(name) as file:
            file.write(content)
        return _version(content)

    def upload(self, source: Path, name: str) -> None:
        with self._replacing(name) as file, source.open("rb") as content:
            shutil.copyfileobj(content, file, _CHUNK)

    @contextmanager
    def _replacing(self, name: str) -> Iterator[IO[bytes]]:
        """Give a new file, which takes the place of `name` at the end."""
        target = self.folder / name
        with writing(self.folder):
            target.parent.mkdir(parents=True, exist_ok=True)
            with replaced_file(target) as file:
                os.fchmod(file.fileno(), usual_mode())
                yield file

    def download(self, name: str, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self.folder / name, target)

    def names(self, prefix: str) -> Iterator[str]:
        with reading(self.folder):
            for inside, _, files in os.walk(self.folder / prefix):
                for name in files:
                    yield Path(inside, name).relative_to(self.folder).as_posix()

    def remove(self, names: Iterable[str]) -> None:
        with writing(self.folder):
            for name in names:
                path = self.folder / name
                path.unlink(missing_ok=True)
                with suppress(OSError):  # of the first folder that is not empty
                    for above in path.relative_to(self.folder).parents[:-1]:
                        (self.folder / above).rmdir()


class _ObjectStorageLocation:
    """A prefix in object storage, through obstore. Its credentials and endpoint stand in the environment."""

    folder: ClassVar[Path | None] = None

    def __init__(self, uri: str) -> None:
        self.uri = uri
        self._store = _opened(uri)

    def __reduce__(self) -> tuple[type[_ObjectStorageLocation], tuple[str]]:
        return _ObjectStorageLocation, (self.uri,)

    def get(self, name: str) -> tuple[bytes, str] | None:
        with _storing(self.uri, name):
            try:
                found = self._store.get(name)
                return bytes(found.bytes()), str(found.meta["e_tag"])
            except FileNotFoundError:
                return None

    def put(self, name: str, content: bytes, *, over: str | None) -> str:
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        with _storing(self.uri, name):
            try:
                mode: Any = "create" if over is None else {"e_tag": over}
                return str(self._store.put(name, content, mode=mode)["e_tag"])
            except FileNotFoundError as error:
                if over is not None:
                    raise VersionConflict(name) from error
                raise IndexFault(
                    f"{self.uri} cannot be written: {_short(error)}", hint="Make the bucket, or check its name."
                ) from error
            except (AlreadyExistsError, PreconditionError) as error:
                raise VersionConflict(name) from error

    def upload(self, source: Path, name: str) -> None:
        with _storing(self.uri, name):
            self._store.put(name, source)

    def download(self, name: str, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        with _storing(self.uri, name), target.open("wb") as file:
            for block in self._store.get(name).stream(min_chunk_size=_CHUNK):
                file.write(block)

    def names(self, prefix: str) -> Iterator[str]:
        with _storing(self.uri, prefix):
            for batch in self._store.list(prefix or None):
                yield from (listed["path"] for listed in batch)

    def remove(self, names: Iterable[str]) -> None:
        doomed = list(names)
        with _storing(self.uri, doomed[0] if doomed else ""):
            for start in range(0, len(doomed), 1000):
                self._store.delete(doomed[start : start + 1000])


def _check_address(uri: str) -> None:
    """An address is repeated in messages and kept beside answers, so nothing secret may be in it."""
    host = uri.partition("://")[2].partition("/")[0]
    if "@" in host or "?" in uri or "#" in uri:
        raise SettingsError(
            "an address in object storage may hold no key, no '?' and no '#'",
            hint="Give s3://bucket/prefix alone, and the key as AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.",
        )


def _opened(uri: str) -> ObjectStore:
    try:
        from obstore.exceptions import BaseError
        from obstore.store import from_url
    except ImportError as error:
        raise MissingExtra("an index in object storage", "ray") from error
    try:
        return from_url(uri)
    except (BaseError, ValueError) as error:
        raise SettingsError(
            f"{uri} is no address in object storage: {_short(error)}", hint="Give s3://bucket/prefix."
        ) from error


@contextmanager
def _storing(uri: str, name: str) -> Iterator[None]:
    """Turn errors of the storage into ours, with a next step."""
    from obstore.exceptions import BaseError, PermissionDeniedError, UnauthenticatedError

    try:
        yield
    except (PermissionDeniedError, UnauthenticatedError) as error:
        raise IndexUnwritable(
            f"{uri} does not let us in: {_short(error)}", hint="Check AWS_ACCESS_KEY_ID and the rights of that key."
        ) from error
    except BaseError as error:
        raise IndexFault(
            f"{uri}/{name} cannot be reached: {_short(error)}",
            hint="Check the address, AWS_ENDPOINT_URL, AWS_REGION and the network, then run the same command again.",
        ) from error


def _short(error: Exception) -> str:
    return " ".join(str(error).split())[:300]


def _version(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
