"""API keys: a file of token hashes that `quoth keys` changes while services read it."""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import ipaddress
import json
import logging
import os
import re
import secrets
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from quoth.errors import KeyFault, SettingsError
from quoth.machine import replaced_file
from quoth.settings import ServiceSettings, Settings
from quoth.types import labels_of

LONGEST_NAME = 80
LONGEST_LABEL = 200
MOST_PER_MINUTE = 10**6
ALL_LABELS = "*"
"""In the labels of a key: it sees every document, whatever its labels."""

KEY_BEGINNING = "quoth_"
_TOKEN = re.compile(r"quoth_([0-9a-f]{8})_[A-Za-z0-9_-]{43}")
_HASH_OF_NO_TOKEN = "0" * 64

_log = logging.getLogger(__name__)


class KeyScope(StrEnum):
    READ = "read"
    WRITE = "write"


class ApiKey(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A key without its token. The scope `write` implies `read`; a `per_minute` of None means the service's limit.

    `access` are the labels of the documents that it sees, besides those without labels where `access.default` is open;
    `ALL_LABELS` among them sees all. A key from before there were labels has none: what is labelled from now on, nobody
    has allowed it to see.

    An unknown field in the file makes all of it invalid: it might restrict what a key may do.
    """

    id: Annotated[str, Meta(pattern=r"^[0-9a-f]{8}\Z")]
    name: str
    scopes: frozenset[KeyScope]
    sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}\Z")]
    created: str
    revoked: str | None
    per_minute: Annotated[int, Meta(ge=0)] | None
    access: frozenset[str] = frozenset()

    @property
    def labels(self) -> frozenset[str] | None:
        """Its labels as they are compared; None sees every document."""
        return None if ALL_LABELS in self.access else frozenset(labels_of(self.access))


class _StoredKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: Literal[1]
    keys: list[ApiKey]


_Keys = Mapping[str, ApiKey]  # by id, oldest first


class KeyFile:
    """The keys in one file. Many processes may read it while one writes; writers wait for each other.

    The file may be a symbolic link. On a read-only mount it can be read, and every change raises `KeyFault`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last_warning = ""

    def add(
        self, name: str, *, scopes: Collection[KeyScope], per_minute: int | None, access: Collection[str] = ()
    ) -> tuple[ApiKey, str]:
        """Add a key. Return it with its token, which is not stored anywhere."""
        _check(name, scopes, per_minute)
        labels = checked_labels(access)
        with self._changing() as keys:
            key_id = secrets.token_hex(4)
            while key_id in keys:
                key_id = secrets.token_hex(4)
            token = f"quoth_{key_id}_{secrets.token_urlsafe(32)}"
            keys[key_id] = ApiKey(key_id, name, _with_read(scopes), _sha256(token), _now(), None, per_minute, labels)
        return keys[key_id], token

    def change(self, key_id: str, *, access: Collection[str]) -> ApiKey:
        """Replace the labels of a key and return it. A running service goes by them from the next request on."""
        labels = checked_labels(access)
        with self._changing() as keys:
            if key_id not in keys:
                raise _unknown(key_id)
            keys[key_id] = msgspec.structs.replace(keys[key_id], access=labels)
        return keys[key_id]

    def revoke(self, key_id: str) -> ApiKey:
        """Revoke a key and return it. A key that was revoked before keeps its date."""
        with self._changing() as keys:
            if key_id not in keys:
                raise _unknown(key_id)
            keys[key_id] = msgspec.structs.replace(keys[key_id], revoked=keys[key_id].revoked or _now())
        return keys[key_id]

    def all(self) -> tuple[ApiKey, ...]:
        """Return every key, revoked ones too, oldest first; empty if there is no file."""
        return tuple((self._read() or {}).values())

    def holder(self, token: str) -> ApiKey | None:
        """Return the key of a token; None if it is unknown or revoked, or the file cannot be read."""
        shape = _TOKEN.fullmatch(token)
        if shape is None:
            return None
        key = self._current().get(shape[1])
        # Ids are not secret, but an unknown id should still take as long as a known one.
        same = hmac.compare_digest(key.sha256 if key else _HASH_OF_NO_TOKEN, _sha256(token))
        return key if key and same and key.revoked is None else None

    def _current(self) -> _Keys:
        """Return the keys; none if the file is missing or broken. It is read for each request: see `_parsed`."""
        try:
            keys = self._read()
            if keys is None:
                raise KeyFault(f"{self._path} is not there")
        except KeyFault as fault:
            if str(fault) != self._last_warning:  # log it once, not for each request
                self._last_warning = str(fault)
                _log.warning("no key is accepted: %s", fault)
            return {}
        self._last_warning = ""
        return keys

    def _read(self) -> _Keys | None:
        """Return the keys by id; None if there is no file. A link to nothing raises `KeyFault`."""
        try:
            content = self._path.read_bytes()
        except OSError as error:
            if isinstance(error, FileNotFoundError) and not self._path.is_symlink():
                return None
            raise _unusable(self._path, "read", error) from error
        try:
            return _parsed(content)
        except (ValueError, RecursionError) as error:
            raise KeyFault(
                f"{self._path} is not a file of keys, or it is damaged",
                hint="Put a copy of it back; or remove it, and give everyone a new key with quoth keys add.",
            ) from error

    @contextmanager
    def _changing(self) -> Iterator[dict[str, ApiKey]]:
        """Yield the keys to change; one lock covers reading and writing, so that no other change is lost."""
        target = self._path.resolve()  # replace the file that a link points to, not the link
        try:
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with os.fdopen(_lock_file(target), "r+b") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                keys = dict(self._read() or {})
                yield keys
                _write(target, keys)
        except OSError as error:
            raise _unusable(self._path, "write", error) from error


def _check(name: str, scopes: Collection[KeyScope], per_minute: int | None) -> None:
    if not 1 <= len(name) <= LONGEST_NAME or not name.isprintable() or not name.strip():
        raise KeyFault(
            f"the name of a key has 1 to {LONGEST_NAME} printable characters", hint="For example: quoth keys add web"
        )
    if not scopes:
        raise KeyFault("a key needs a scope", hint="Give read or write; write includes read.")
    if per_minute is not None and not 0 <= per_minute <= MOST_PER_MINUTE:
        raise KeyFault(f"{per_minute} requests a minute is no limit", hint=f"Between 0 (none) and {MOST_PER_MINUTE}.")


def checked_labels(labels: Collection[str]) -> frozenset[str]:
    """Return the labels of a key as they are compared; raise `KeyFault` for one that no document can have."""
    for label in labels:
        if not label.strip() or len(label) > LONGEST_LABEL or not label.isprintable() or "," in label:
            hint = "For example: --access board. To see every document: --access '*'."
            raise KeyFault(f"a label has 1 to {LONGEST_LABEL} printable characters, and no comma", hint=hint)
    return frozenset(labels_of(labels))


def _with_read(scopes: Collection[KeyScope]) -> frozenset[KeyScope]:
    return frozenset(KeyScope) if KeyScope.WRITE in scopes else frozenset(scopes)


def _sha256(token: str) -> str:
    # A fast hash is right here: 256 random bits cannot be guessed at any speed, and every request would pay for a slow
    # hash, which only protects secrets that people choose.
    return hashlib.sha256(token.encode("ascii")).hexdigest()


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _unknown(key_id: str) -> KeyFault:
    if key_id.startswith("quoth_"):  # never repeat a token in a message
        return KeyFault("that is a token, not the id of a key", hint="The id is its part between the two first '_'.")
    return KeyFault(f"there is no key '{key_id}'", hint="quoth keys list shows the ids.")


def _unusable(path: Path, what: str, error: OSError) -> KeyFault:
    hint = "Check its rights, and those of its folder; a file that is mounted for reading is changed where it is made."
    return KeyFault(f"cannot {what} the keys in {path}: {error.strerror or error}", hint=hint)


@lru_cache(maxsize=4)
def _parsed(content: bytes) -> _Keys:
    """Parse the keys; raise `ValueError` for anything unexpected. Cached, since the content seldom changes."""
    stored = msgspec.json.decode(content, type=_StoredKeys).keys
    keys = {key.id: msgspec.structs.replace(key, scopes=_with_read(key.scopes)) for key in stored}
    if len(keys) < len(stored):
        raise ValueError("an id twice")
    return keys


def _lock_file(target: Path) -> int:
    """Open the lock file. It lies beside the key file, which each change replaces with a new one."""
    path, flags = f"{target}.lock", os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        descriptor = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return os.open(path, flags)
    _set_owner(descriptor, target.parent.stat())  # only of a new file: root must not give away what others put here
    return descriptor


def _set_owner(descriptor: int, owner: os.stat_result) -> None:
    """Let the user that the service runs as use a file that root has created."""
    if os.geteuid() == 0:
        os.fchown(descriptor, owner.st_uid, owner.st_gid)


def _write(target: Path, keys: _Keys) -> None:
    """Replace the file: readers, and a restart after a crash, find either the old or the new one."""
    stored = msgspec.to_builtins(_StoredKeys(1, list(keys.values())), order="deterministic")
    content = json.dumps(stored, indent=1) + "\n"
    owner = (target if target.exists() else target.parent).stat()
    with replaced_file(target) as file:
        _set_owner(file.fileno(), owner)
        file.write(content.encode("ascii"))


def keys_path(settings: ServiceSettings) -> Path:
    """Return the path of the key file: `service.keys`, or `keys.json` in the state folder."""
    return Path(settings.keys or Path(settings.state, "keys.json")).expanduser()


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach `host`."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def check_access(settings: Settings, *, host: str, auth: bool) -> None:
    """Raise `SettingsError` if the service would answer anybody, or nobody."""
    keys = keys_path(settings.service)
    if not auth:
        if not is_loopback(host):
            raise SettingsError(
                f"without keys the service would answer anyone who can reach {host}",
                hint="Leave out --no-auth and make a key (quoth keys add NAME), or leave out --host.",
            )
        return
    others = settings.oidc.issuer or settings.proxy.addresses
    if not others and not any(key.revoked is None for key in KeyFile(keys).all()):
        raise SettingsError(
            f"there is no key in {keys}, so that nobody could ask",
            hint="Make one: quoth keys add NAME. On this machine alone: --no-auth.",
        )
