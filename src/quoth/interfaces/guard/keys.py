"""API keys: a file of hashes that commands change and running services read."""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import logging
import os
import re
import secrets
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from quoth.errors import KeyFault

LONGEST_NAME = 80
MOST_PER_MINUTE = 10**6

_FORMAT = 1
_TOKEN = re.compile(r"quoth_([0-9a-f]{8})_[A-Za-z0-9_-]{43}")
_ID = re.compile(r"[0-9a-f]{8}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_OF_NO_TOKEN = "0" * 64

_log = logging.getLogger(__name__)


class Scope(StrEnum):
    READ = "read"
    WRITE = "write"


@dataclass(frozen=True, slots=True)
class Key:
    """A key without its token. Whoever may write has both scopes; `per_minute` None is the limit of the service."""

    id: str
    name: str
    scopes: frozenset[Scope]
    sha256: str
    created: str
    revoked: str | None
    per_minute: int | None


_Keys = Mapping[str, Key]  # by id, oldest first
_Mark = tuple[int, ...]  # what tells one state of a file from another


class KeyFile:
    """The keys in one file. Many processes may read it while one writes; a writer waits for the one before it.

    The file may be a link, or mounted for reading only: then it serves, and `add` and `revoke` raise `KeyFault`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        # The mark of the file and its keys as last read. One value, replaced whole, so that threads need no lock.
        self._seen: tuple[_Mark | None, _Keys] = (None, {})
        self._complaint = ""

    def add(self, name: str, *, scopes: Collection[Scope], per_minute: int | None) -> tuple[Key, str]:
        """A new key and its token, which is kept nowhere."""
        _check(name, scopes, per_minute)
        with self._changing() as keys:
            key_id = secrets.token_hex(4)
            while key_id in keys:
                key_id = secrets.token_hex(4)
            token = f"quoth_{key_id}_{secrets.token_urlsafe(32)}"
            keys[key_id] = Key(key_id, name, _with_read(scopes), _sha256(token), _now(), None, per_minute)
        return keys[key_id], token

    def revoke(self, key_id: str) -> Key:
        """The key, which opens nothing from now on; one that was revoked before keeps its date."""
        with self._changing() as keys:
            if key_id not in keys:
                raise _unknown(key_id)
            keys[key_id] = replace(keys[key_id], revoked=keys[key_id].revoked or _now())
        return keys[key_id]

    def all(self) -> tuple[Key, ...]:
        """Every key, revoked ones too, oldest first; none where there is no file."""
        try:
            content = _content(self._path)
        except OSError as error:
            raise _unusable(self._path, "read", error) from error
        return tuple(_parsed(content[1], self._path).values()) if content else ()

    def holder(self, token: str) -> Key | None:
        """The key of this token; None when it is unknown or revoked, or when the file cannot be read."""
        shape = _TOKEN.fullmatch(token)
        if shape is None:
            return None
        key = self._current().get(shape[1])
        # An id is no secret; an unknown one takes as long as a known one all the same.
        same = hmac.compare_digest(key.sha256 if key else _OF_NO_TOKEN, _sha256(token))
        return key if key and same and key.revoked is None else None

    def _current(self) -> _Keys:
        """The keys in force: one `stat` for each call, so a revocation acts at once. A broken file opens to nobody."""
        try:
            mark, keys = self._seen
            if mark is not None and mark == _mark(self._path.stat()):
                return keys
            content = _content(self._path)
        except OSError as error:
            # Not remembered: where only the descriptors ran out, the next request finds the file again.
            return self._nobody(_unusable(self._path, "read", error))
        if content is None:
            return self._nobody(KeyFault(f"{self._path} is not there"))
        try:
            self._seen = (content[0], _parsed(content[1], self._path))
            self._complaint = ""
        except KeyFault as fault:
            self._seen = (content[0], self._nobody(fault))
        return self._seen[1]

    def _nobody(self, fault: KeyFault) -> _Keys:
        if str(fault) != self._complaint:  # one line in the log, not one for each request
            self._complaint = str(fault)
            _log.warning("no key is accepted: %s", fault)
        return {}

    @contextmanager
    def _changing(self) -> Iterator[dict[str, Key]]:
        """The keys, to be changed: read and written under one lock, so that no change of another process is lost."""
        target = self._path.resolve()  # a link keeps pointing to its file
        try:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            descriptor = _lock_file(target)
        except OSError as error:
            raise _unusable(self._path, "write", error) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            keys = {key.id: key for key in self.all()}
            yield keys
            _write(target, keys)
        except OSError as error:
            raise _unusable(self._path, "write", error) from error
        finally:
            os.close(descriptor)


def _check(name: str, scopes: Collection[Scope], per_minute: int | None) -> None:
    if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable() or not name.strip():
        raise KeyFault(
            f"the name of a key has 1 to {LONGEST_NAME} printable characters", hint="For example: quoth keys add web"
        )
    if not scopes:
        raise KeyFault("a key needs a scope", hint="Give read or write; write includes read.")
    if per_minute is not None and not 0 <= per_minute <= MOST_PER_MINUTE:
        raise KeyFault(f"{per_minute} requests a minute is no limit", hint=f"Between 0 (none) and {MOST_PER_MINUTE}.")


def _with_read(scopes: Collection[Scope]) -> frozenset[Scope]:
    return frozenset(Scope) if Scope.WRITE in scopes else frozenset(scopes)


def _sha256(token: str) -> str:
    # A fast hash is right here. A slow one makes guessing costly where people choose the secret; 256 random bits
    # cannot be guessed at any speed, and a slow hash would be paid for by every request.
    return hashlib.sha256(token.encode("ascii")).hexdigest()


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _unknown(key_id: str) -> KeyFault:
    if key_id.startswith("quoth_"):  # a whole token must not be repeated in a message
        return KeyFault("that is a token, not the id of a key", hint="The id is its part between the two first '_'.")
    return KeyFault(f"there is no key '{key_id}'", hint="quoth keys list shows the ids.")


def _unusable(path: Path, what: str, error: OSError) -> KeyFault:
    hint = "Check its rights, and those of its folder; a file that is mounted for reading is changed where it is made."
    return KeyFault(f"cannot {what} the keys in {path}: {error.strerror or error}", hint=hint)


def _mark(stat: os.stat_result) -> _Mark:
    return (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns)


def _content(path: Path) -> tuple[_Mark, bytes] | None:
    """The file's bytes with the mark of that very file; None where there is none. A link to nothing is an error."""
    try:
        with path.open("rb") as file:
            return _mark(os.fstat(file.fileno())), file.read()
    except FileNotFoundError:
        if path.is_symlink():
            raise
        return None


def _parsed(content: bytes, path: Path) -> dict[str, Key]:
    """The keys in a file. Anything unexpected is a fault: a field that is not understood may be one that forbids."""
    try:
        whole = json.loads(content)
        if not isinstance(whole, dict) or set(whole) != {"format", "keys"} or whole["format"] != _FORMAT:
            raise ValueError("another format")
        keys = [_key(one) for one in whole["keys"]]
        if len({key.id for key in keys}) < len(keys):
            raise ValueError("an id twice")
    except (ValueError, TypeError, RecursionError) as error:
        raise KeyFault(
            f"{path} is not a file of keys, or it is damaged",
            hint="Put a copy of it back; or remove it, and give everyone a new key with quoth keys add.",
        ) from error
    return {key.id: key for key in keys}


def _key(fields: object) -> Key:
    """A key from its JSON; `ValueError` when a field is missing, unknown or wrong."""
    match fields:
        case {
            "id": str(key_id),
            "name": str(name),
            "scopes": [*scopes],
            "sha256": str(sha256),
            "created": str(created),
            "revoked": (str() | None) as revoked,
            "per_minute": (int() | None) as per_minute,
            **others,
        } if not others and _ID.fullmatch(key_id) and _SHA256.fullmatch(sha256):
            if isinstance(per_minute, bool) or (per_minute or 0) < 0:
                raise ValueError("a limit that is none")
            return Key(key_id, name, _with_read({Scope(one) for one in scopes}), sha256, created, revoked, per_minute)
    raise ValueError("not a key")


def _json(key: Key) -> dict[str, object]:
    return {
        "id": key.id,
        "name": key.name,
        "scopes": sorted(key.scopes),
        "sha256": key.sha256,
        "created": key.created,
        "revoked": key.revoked,
        "per_minute": key.per_minute,
    }


def _lock_file(target: Path) -> int:
    """A descriptor of the file to lock, beside the keys, which are another file after each change."""
    place, flags = f"{target}.lock", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        descriptor = os.open(place, flags | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return os.open(place, flags)
    _give(descriptor, target.parent.stat())  # only a file that is new: root must not give away what others put here
    return descriptor


def _give(descriptor: int, owner: os.stat_result) -> None:
    """What root makes must be usable by the user that the service runs as."""
    if os.geteuid() == 0:
        os.fchown(descriptor, owner.st_uid, owner.st_gid)


def _write(target: Path, keys: _Keys) -> None:
    """Written aside, synced and renamed: whoever reads, and whatever happens, finds the old file or the new one."""
    content = json.dumps({"format": _FORMAT, "keys": [_json(key) for key in keys.values()]}, indent=1) + "\n"
    owner = (target if target.exists() else target.parent).stat()
    descriptor, aside = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")  # its mode is 0600
    try:
        with os.fdopen(descriptor, "wb") as file:
            _give(file.fileno(), owner)
            file.write(content.encode("ascii"))
            file.flush()
            os.fsync(file.fileno())
        Path(aside).replace(target)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
