"""Who sent a request, and how often they may ask: a rate limit holds for all processes of a machine."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from quoth.http.guard.api_keys import KEY_BEGINNING, KeyFile, keys_path
from quoth.http.guard.askers import Asker, asker_with
from quoth.http.guard.id_tokens import IdTokens
from quoth.http.guard.proxy_users import ProxyUsers
from quoth.http.http_faults import HttpFault
from quoth.settings import Settings

RawHeaders = Iterable[tuple[bytes, bytes]]
"""Header names in lower case, as ASGI servers give them."""
_KEY_HEADERS = (b"authorization", b"x-api-key")
_MINUTE = 60 * 10**9  # nanoseconds: whole numbers, so that no rounding grants one request too many
_LOCK_SECONDS = 1.0  # how long to wait for a file that another process has locked
_RETRY_SECONDS = 30.0  # until a file that failed is tried again
_TAKES_BETWEEN_CLEANINGS = 4_096

_log = logging.getLogger(__name__)


class AccessControl:
    """Checks the keys and rate limits of requests, for one event loop."""

    def __init__(self, settings: Settings, *, discreet: bool = False) -> None:
        """A `discreet` one refuses everybody in the same words, and leaves the reason to the log."""
        service = settings.service
        self._discreet = discreet
        self._keys = KeyFile(keys_path(service))
        self._tokens = IdTokens(settings.oidc) if settings.oidc.issuer else None
        self._proxy = ProxyUsers(settings.proxy) if settings.proxy.addresses else None
        self._rates = Rates(Path(service.state, "rates.db").expanduser())
        self._per_minute = service.per_minute
        # They do nothing else, so that a store that hangs cannot keep a key from being admitted.
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="rates")

    @property
    def private_headers(self) -> frozenset[bytes]:
        """The headers that only a trusted proxy may send; the application is not given them."""
        return self._proxy.names if self._proxy is not None else frozenset()

    async def authenticate(self, headers: RawHeaders, client: str) -> Asker:
        """Return who sent these headers from the address `client`; raise `HttpFault` if nobody who may ask did."""
        try:
            return await self._known(headers, client)
        except HttpFault as fault:
            if not self._discreet:
                raise
            refusal = no_key(token_of(headers))
            if fault.error != refusal.error:
                _log.warning("nobody was admitted: %s", fault.error.message)
            raise refusal from fault

    async def _known(self, headers: RawHeaders, client: str) -> Asker:
        named = self._proxy.asker(headers, client) if self._proxy is not None else None
        if named is not None:
            return named
        token = token_of(headers)
        if self._tokens is not None and token and not token.startswith(KEY_BEGINNING):
            return await self._tokens.asker(token)
        key = self._keys.holder(token) if token else None
        if key is None:
            raise no_key(token)
        return asker_with(key)

    async def allowance(self, asker: Asker) -> Allowance | None:
        """Count one request against the limit of the asker; None without a limit."""
        limit = self._per_minute if asker.per_minute is None else asker.per_minute
        if not limit:
            return None
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._rates.take, asker.id, limit)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._rates.close()
        if self._tokens is not None:
            self._tokens.close()


class ClosedAccess(AccessControl):
    """Admits nobody, in the words of a service that does not know the key."""

    async def _known(self, headers: RawHeaders, client: str) -> Asker:
        raise no_key(token_of(headers))


def no_key(token: str) -> HttpFault:
    """Return the refusal of a token that opens nothing; "" is none."""
    hint = "Send one as 'Authorization: Bearer KEY'. An operator makes it with: quoth keys add NAME."
    message = "this key is not known, or was revoked" if token else "a key is needed"
    return HttpFault(401, "key", message, hint=hint, headers={"WWW-Authenticate": "Bearer"})


def token_of(headers: RawHeaders) -> str:
    """Return the token from `Authorization` or `X-Api-Key`, or "" if there is none.

    A header that was sent twice counts as none: a proxy in front might have read the other copy.
    """
    sent = [(name, value.decode("latin-1").strip()) for name, value in headers if name in _KEY_HEADERS]
    values = dict(sent)
    if len(values) < len(sent):
        return ""
    scheme, _, token = values.get(b"authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else values.get(b"x-api-key", "")


@dataclass(frozen=True, slots=True)
class Allowance:
    """Whether a request may go ahead, and what is left.

    `limit` is in requests per minute; `remaining` requests may follow at once. After `reset_seconds` without a request
    the whole burst is available again; after `retry_after` seconds the next request is granted (0 if this one was).
    """

    granted: bool
    limit: int
    remaining: int
    reset_seconds: int
    retry_after: int

    def check(self) -> None:
        """Raise `HttpFault` if the request was not granted."""
        if not self.granted:
            seconds = max(1, self.retry_after)
            message = f"this key may ask {self.limit} times a minute"
            headers = {"Retry-After": str(seconds)}
            raise HttpFault(429, "rate-limit", message, hint=f"Try again in {seconds} s.", headers=headers)

    def headers(self) -> dict[str, str]:
        names = {"Limit": self.limit, "Remaining": self.remaining, "Reset": self.reset_seconds}
        return {f"RateLimit-{name}": str(number) for name, number in names.items()}


def burst(per_minute: int) -> int:
    """Return how many requests may come at once after a pause: ten seconds' worth, at least 5, at most a minute's.

    Opening the web page sends several requests at once, so fewer than 5 would stop a person with a low limit. A whole
    minute's worth would let through twice the limit in one minute; ten seconds' worth lets through a sixth more.
    """
    return min(per_minute, max(5, per_minute // 6))


class Rates:
    """Rate limits in a SQLite file, one row per client; threads and processes may use it at once.

    Implements the generic cell rate algorithm: a row holds the time at which all requests so far would be paid off,
    and a request is granted while that time lies no more than a burst ahead.

    If the file cannot be used, the service goes on: until it can, each process keeps limits of its own.
    """

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._file: sqlite3.Connection | None = None
        self._own = _opened(":memory:")
        self._taken = 0
        self._warned = False
        self._next_try = 0.0

    def take(self, who: str, per_minute: int) -> Allowance:
        """Count a request of `who` against a limit. A refused request is not counted."""
        if per_minute < 1:
            raise ValueError(f"a limit is 1 or more, not {per_minute}")
        with self._lock:
            if time.monotonic() >= self._next_try:
                try:
                    if self._file is None:
                        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                        self._file = _opened(self._path)
                    return self._take_from(self._file, who, per_minute)
                except (sqlite3.Error, OSError) as error:
                    self._give_up(error)
                except BaseException:
                    self._close_file()  # an open transaction would lock out the other processes
                    raise
            return self._take_from(self._own, who, per_minute)

    def close(self) -> None:
        with self._lock:
            self._close_file()

    def _take_from(self, file: sqlite3.Connection, who: str, per_minute: int) -> Allowance:
        file.execute("BEGIN IMMEDIATE")
        now = int(self._clock() * 10**9)  # read under the lock, so that it never runs backwards between processes
        if self._taken % _TAKES_BETWEEN_CLEANINGS == 0:
            file.execute("DELETE FROM rates WHERE paid_off <= ?", (now,))  # as if they had never asked
        self._taken += 1
        row = file.execute("SELECT paid_off FROM rates WHERE who = ?", (who,)).fetchone()
        before = row[0] if row else now
        allowance, paid_off = _taken(before, now, per_minute)
        if paid_off != before:
            file.execute("INSERT OR REPLACE INTO rates (who, paid_off) VALUES (?, ?)", (who, paid_off))
        file.execute("COMMIT")
        return allowance

    def _give_up(self, error: Exception) -> None:
        """Go on without the file for a while; only the first failure is logged."""
        self._next_try = time.monotonic() + _RETRY_SECONDS
        self._close_file()
        if not self._warned:
            self._warned = True
            _log.warning(
                "the file of rate limits %s cannot be used (%s): each process keeps its own limits until it can. "
                "Check its rights; if it is damaged, remove it.",
                self._path,
                error,
            )

    def _close_file(self) -> None:
        if self._file is not None:
            with suppress(sqlite3.Error):
                self._file.close()
            self._file = None


def _taken(paid_off: int, now: int, per_minute: int) -> tuple[Allowance, int]:
    """Return the allowance for a request at `now`, and the new time at which all requests are paid off."""
    each = -(-_MINUTE // per_minute)  # rounded up, so that no request too many is granted
    most_ahead = burst(per_minute) * each
    # It lies further ahead if the clock was set back or the limit changed; never wait for more than one burst.
    paid_off = min(max(paid_off, now), now + most_ahead)
    granted = paid_off + each <= now + most_ahead
    after = paid_off + each if granted else paid_off
    allowance = Allowance(
        granted=granted,
        limit=per_minute,
        remaining=(now + most_ahead - after) // each,
        reset_seconds=_seconds(after - now),
        retry_after=0 if granted else _seconds(paid_off + each - now - most_ahead),
    )
    return allowance, after


def _seconds(nanoseconds: int) -> int:
    """Return whole seconds, rounded up, so that a client who waits that long has waited long enough."""
    return -(-nanoseconds // 10**9)


def _opened(path: Path | str) -> sqlite3.Connection:
    """Open the file without syncing: a power cut may lose it, which costs nothing."""
    file = sqlite3.connect(path, timeout=_LOCK_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        with suppress(sqlite3.OperationalError):  # another process is switching the file at this moment
            file.execute("PRAGMA journal_mode = WAL")
        file.execute("PRAGMA synchronous = OFF")
        file.execute("CREATE TABLE IF NOT EXISTS rates (who TEXT PRIMARY KEY, paid_off INTEGER NOT NULL) WITHOUT ROWID")
    except BaseException:
        file.close()
        raise
    return file
