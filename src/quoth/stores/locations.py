"""Where the parts of a large index lie: a folder, or a prefix in object storage. Only what both can do is offered.

A name is a path below the place with slashes. `put` is atomic: a reader finds the whole value, or the one before.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from quoth.errors import IndexFault, IndexUnwritable, MissingExtra, SettingsError
from quoth.stores.embedded.faults import reading, writing

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_CHUNK = 8 * 2**20
_SCHEMES = ("s3://", "gs://", "az://")
_ONE_SLASH = re.compile(r"(s3|gs|az|file):/(?!/)")


@dataclass(frozen=True, slots=True)
class File:
    """What a file should be."""

    size: int
    sha256: str


class Changed(Exception):
    """What was to be replaced is not there any more, or something is where nothing should be."""


class Place(Protocol):
    @property
    def uri(self) -> str:
        """As the user gave it; no password is ever part of it."""
        ...

    @property
    def folder(self) -> Path | None:
        """The folder itself where it is one on this machine; None in object storage."""
        ...

    def get(self, name: str) -> tuple[bytes, str] | None:
        """The content and its version, for `put`; None where there is nothing."""
        ...

    def put(self, name: str, content: bytes, *, over: str | None) -> str:
        """Write all of it or nothing, over the version named; None: where nothing is. `Changed` where that is not so.

        Gives the new version. In a folder the check is no lock: two writers there hold one (see `sharded.lock`).
        """
        ...

    def upload(self, source: Path, name: str) -> None:
        """A large file, from this machine; where one of that name is, it is replaced."""
        ...

    def download(self, name: str, target: Path) -> None:
        """To this machine; the folders above `target` are made. FileNotFoundError where there is none."""
        ...

    def names(self, prefix: str) -> Iterator[str]:
        """Everything below `prefix` (a folder's name, or "" for all), in no order."""
        ...

    def remove(self, names: Iterable[str]) -> None:
        """Whatever of these there is."""
        ...


def open_place(uri: str | Path) -> Place:
    """A folder, which need not exist yet, or `s3://bucket/prefix`."""
    text = str(uri)
    if text.startswith(_SCHEMES):
        _check_address(text)
        return _Remote(text.rstrip("/"))
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
    return _Folder(Path(text.removeprefix("file://")).expanduser().absolute())


def put_again(place: Place, name: str, content: bytes, *, over: str | None) -> None:
    """`put`, but `Changed` only where something else is there.

    The reply to a write can be lost on its way; then it is done again, and finds what it wrote itself.
    """
    try:
        place.put(name, content, over=over)
    except Changed:
        found = place.get(name)
        if found is None or found[0] != content:
            raise


def file_of(path: Path) -> File:
    """What a file on this machine is."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as file:
        while block := file.read(_CHUNK):
            digest.update(block)
            size += len(block)
    return File(size, digest.hexdigest())


class _Folder:
    """A folder on this machine, or one that every node sees."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def uri(self) -> str:
        return str(self._folder)

    @property
    def folder(self) -> Path | None:
        return self._folder

    def get(self, name: str) -> tuple[bytes, str] | None:
        with reading(self._folder):
            try:
                content = (self._folder / name).read_bytes()
            except (FileNotFoundError, NotADirectoryError):
                return None
        return content, _version(content)

    def put(self, name: str, content: bytes, *, over: str | None) -> str:
        held = self.get(name)
        if (held[1] if held else None) != over:
            raise Changed(name)
        target = self._folder / name
        aside = target.with_name(f".{target.name}.{os.getpid()}-{os.urandom(4).hex()}")
        with writing(self._folder):
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                with aside.open("wb") as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
                aside.replace(target)
                _sync(target.parent)
            finally:
                aside.unlink(missing_ok=True)
        return _version(content)

    def upload(self, source: Path, name: str) -> None:
        target = self._folder / name
        aside = target.with_name(f".{target.name}.{os.getpid()}-{os.urandom(4).hex()}")
        with writing(self._folder):
            try:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(source, aside)
                aside.replace(target)
            finally:
                aside.unlink(missing_ok=True)

    def download(self, name: str, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(self._folder / name, target)

    def names(self, prefix: str) -> Iterator[str]:
        with reading(self._folder):
            for inside, _, files in os.walk(self._folder / prefix):
                for name in files:
                    yield Path(inside, name).relative_to(self._folder).as_posix()

    def remove(self, names: Iterable[str]) -> None:
        with writing(self._folder):
            for name in names:
                path = self._folder / name
                path.unlink(missing_ok=True)
                for above in path.relative_to(self._folder).parents:
                    if above == Path() or not _removed_if_empty(self._folder / above):
                        break


class _Remote:
    """A prefix in object storage, through obstore. Its credentials and endpoint stand in the environment."""

    def __init__(self, uri: str) -> None:
        self._uri = uri
        self._store = _opened(uri)

    def __reduce__(self) -> tuple[type[_Remote], tuple[str]]:
        return _Remote, (self._uri,)

    @property
    def uri(self) -> str:
        return self._uri

    @property
    def folder(self) -> Path | None:
        return None

    def get(self, name: str) -> tuple[bytes, str] | None:
        import obstore

        with _storing(self._uri, name):
            try:
                found = obstore.get(self._store, name)
                return bytes(found.bytes()), str(found.meta["e_tag"])
            except FileNotFoundError:
                return None

    def put(self, name: str, content: bytes, *, over: str | None) -> str:
        import obstore
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        with _storing(self._uri, name):
            try:
                mode: Any = "create" if over is None else {"e_tag": over}
                return str(obstore.put(self._store, name, content, mode=mode)["e_tag"])
            except FileNotFoundError as error:
                if over is not None:
                    raise Changed(name) from error
                raise IndexFault(
                    f"{self._uri} cannot be written: {_short(error)}", hint="Make the bucket, or check its name."
                ) from error
            except (AlreadyExistsError, PreconditionError) as error:
                raise Changed(name) from error

    def upload(self, source: Path, name: str) -> None:
        import obstore

        with _storing(self._uri, name):
            obstore.put(self._store, name, source)

    def download(self, name: str, target: Path) -> None:
        import obstore

        target.parent.mkdir(parents=True, exist_ok=True)
        with _storing(self._uri, name), target.open("wb") as file:
            for block in obstore.get(self._store, name).stream(min_chunk_size=_CHUNK):
                file.write(block)

    def names(self, prefix: str) -> Iterator[str]:
        import obstore

        with _storing(self._uri, prefix):
            for some in obstore.list(self._store, prefix or None):
                for one in some:
                    yield one["path"]

    def remove(self, names: Iterable[str]) -> None:
        import obstore

        doomed = list(names)
        with _storing(self._uri, doomed[0] if doomed else ""):
            for start in range(0, len(doomed), 1000):
                obstore.delete(self._store, doomed[start : start + 1000])


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
    """Turn what the storage says into an error with a next step."""
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


def _removed_if_empty(folder: Path) -> bool:
    try:
        folder.rmdir()
    except OSError:
        return False
    return True


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
