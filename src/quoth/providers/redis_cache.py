"""A cache in Redis, which several processes share. Without its server questions are slower, and nothing else."""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from typing import Any
from urllib.parse import SplitResult, parse_qs, urlsplit

from quoth.errors import MissingExtra, SettingsError

CONNECT_SECONDS = 0.5
REPLY_SECONDS = 0.5
REST_SECONDS = 5.0
"""How long a server that failed is left alone: a dead one must not slow down each question."""

_MOST_SECONDS = 10**9
_OPTIONS = frozenset(
    "db username password client_name protocol socket_timeout socket_connect_timeout socket_keepalive "
    "ssl_ca_certs ssl_ca_path ssl_certfile ssl_keyfile ssl_cert_reqs ssl_check_hostname".split()
)
"""What an address may set. Others, such as `decode_responses`, would change what is read back."""

_HINT = (
    "For example redis://localhost:6379/0, rediss://:PASSWORD@HOST:6379/0 or unix:///path/to/socket; special "
    "characters of a password are written as %2F, %40 and so on."
)
_log = logging.getLogger(__name__)


class RedisCache:
    """Implements `Cache`. What cannot be read is a miss, what cannot be written is dropped; both are logged once.

    A key is stored as its SHA-256, since keys hold what people ask. Values above `max_value_bytes` are not kept.
    """

    def __init__(
        self,
        url: str,
        *,
        prefix: str = "quoth:1:",
        max_value_bytes: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if find_spec("redis") is None:
            raise MissingExtra("a shared cache (cache.redis_url)", "redis")
        from redis.exceptions import ResponseError

        place, self._client = _client(url)
        self._prefix = prefix
        self._max_value_bytes = max_value_bytes
        self._refusal: type[Exception] = ResponseError
        self._server = _Outage(f"Redis at {place} cannot be used", clock)
        # A server that is full, or a replica, still answers reads.
        self._writes = _Outage(f"Redis at {place} takes no writes", clock)

    def get(self, key: str) -> bytes | None:
        ticket = self._server.ticket()
        if ticket is None:
            return None
        try:
            value = self._client.get(self._name(key))
        except Exception as error:  # something that is no Redis makes the client raise anything
            self._failed(ticket, error)
            return None
        self._server.over(ticket)
        return value if isinstance(value, bytes) else None

    def put(self, key: str, value: bytes, *, seconds: float) -> None:
        """Keep `value`; one that is too large, or for no time, only removes what was there."""
        writing = self._writes.ticket()
        ticket = self._server.ticket() if writing is not None else None
        if writing is None or ticket is None:
            return
        name = self._name(key)
        try:
            if len(value) > self._max_value_bytes or not seconds > 0:
                self._client.delete(name)
            else:
                self._client.set(name, value, px=max(1, int(min(seconds, _MOST_SECONDS) * 1000)))
        except self._refusal as error:
            self._server.over(ticket)
            self._writes.begun(writing, error)
        except Exception as error:  # as above
            self._failed(ticket, error)
        else:
            self._server.over(ticket)
            self._writes.over(writing)

    def close(self) -> None:
        """Let go of the connections, whatever they say to it. The cache can be used again."""
        with suppress(Exception):
            self._client.close()
            self._client.connection_pool.disconnect()

    def _name(self, key: str) -> str:
        return self._prefix + hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()

    def _failed(self, ticket: int, error: Exception) -> None:
        self._server.begun(ticket, error)
        with suppress(Exception):  # of a server that is gone no connection is worth keeping
            self._client.connection_pool.disconnect(inuse_connections=False)


class _Outage:
    """Whether something is out of order; that is told once, and tried again after a rest.

    Who tries has a ticket. Of many that try at once the first failure counts: the others, and what was answered just
    before it, come too late to say anything.
    """

    def __init__(self, what: str, clock: Callable[[], float]) -> None:
        self._what = what
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._again: float | None = None

    def ticket(self) -> int | None:
        """None while it rests. After each rest one caller tries: the others do not wait for what may be dead."""
        with self._lock:
            if self._again is not None:
                now = self._clock()
                if now < self._again:
                    return None
                self._again = now + REST_SECONDS
            return self._failures

    def begun(self, ticket: int, error: Exception) -> None:
        with self._lock:
            if ticket != self._failures:
                return
            first = self._again is None
            self._failures += 1
            self._again = self._clock() + REST_SECONDS
        if first:
            _log.warning("%s: %s. Questions go on without it.", self._what, _reason(error))

    def over(self, ticket: int) -> None:
        with self._lock:
            if ticket != self._failures or self._again is None:
                return
            self._again = None
        _log.info("%s: this is over.", self._what)


def _reason(error: Exception) -> str:
    """Why, in our words: those of a server can repeat what it was sent, the password too."""
    from redis import exceptions

    match error:
        case exceptions.AuthenticationError() | exceptions.AuthorizationError():
            return "the password or the user is refused"
        case exceptions.TimeoutError():
            return "it does not answer in time"
        case exceptions.ConnectionError():
            return "there is no connection"
        case exceptions.OutOfMemoryError():
            return "its memory is full"
        case exceptions.ReadOnlyError():
            return "it is a replica"
        case _:
            return f"it fails with {type(error).__name__}"


def _client(url: str) -> tuple[str, Any]:
    """The server's place without any secret, and a client that has not connected yet."""
    from redis import Redis, RedisError
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    try:
        place = _place(urlsplit(url))
        client = Redis.from_url(
            url,
            socket_connect_timeout=CONNECT_SECONDS,
            socket_timeout=REPLY_SECONDS,
            retry=Retry(NoBackoff(), 0),
            protocol=2,  # understood by every server, with the shortest greeting
            max_connections=1_000,
        )
        pool = client.connection_pool
        pool.connection_class(**pool.connection_kwargs)  # it does not connect, and complains of what it does not know
    except (ValueError, TypeError, RedisError) as error:
        # The cause is left out: it quotes parts of the address, and one of them can be the password.
        why = str(error) if isinstance(error, _WrongAddress) else "it is not an address of a Redis server"
        raise SettingsError(f"cache.redis_url cannot be used: {why}", hint=_HINT) from None
    return place, client


class _WrongAddress(ValueError):
    """Says what is wrong with an address without quoting it."""


def _place(url: SplitResult) -> str:
    if url.scheme not in {"redis", "rediss", "unix"}:
        raise _WrongAddress("it must begin with redis://, rediss:// or unix://")
    if not set(parse_qs(url.query, keep_blank_values=True)) <= _OPTIONS:
        raise _WrongAddress(f"after the ? only these are known: {', '.join(sorted(_OPTIONS))}")
    if url.scheme == "unix":
        if not url.path.strip("/"):
            raise _WrongAddress("it names no socket")
        return url.path
    if not url.hostname:
        raise _WrongAddress("it names no host")
    database = url.path.removeprefix("/")
    if database and not (database.isascii() and database.isdigit()):
        raise _WrongAddress("behind the / stands the number of a database")
    return f"{url.hostname}:{url.port or 6379}"
