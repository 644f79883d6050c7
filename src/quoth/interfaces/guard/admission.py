"""Who gets in over the network: the key of a request, what it may do, and how often."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor

from quoth.interfaces.guard.keys import Key, KeyFile, Scope
from quoth.interfaces.guard.rates import Allowance, Rates

RawHeaders = Iterable[tuple[bytes, bytes]]


class Refusal(Exception):
    """A request that is not let in: the status, code, sentence, hint and headers of what its client is told."""

    def __init__(self, status: int, code: str, message: str, *, hint: str, headers: Mapping[str, str]) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.hint = hint
        self.headers = headers


class Admission:
    """Keys and limits for one event loop. A request is counted in threads that nothing else is done in: whatever
    hangs elsewhere, whoever has a key is let in."""

    def __init__(self, keys: KeyFile, rates: Rates, *, per_minute: int) -> None:
        """`per_minute` is for keys without a limit of their own; 0 is none."""
        self._keys = keys
        self._rates = rates
        self._per_minute = per_minute
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="rates")

    def holder(self, headers: RawHeaders) -> Key:
        """The key that a request came with; `Refusal` where there is none in force."""
        token = token_of(headers)
        key = self._keys.holder(token) if token else None
        if key is None:
            hint = "Send one as 'Authorization: Bearer KEY'. An operator makes it with: quoth keys add NAME."
            said = "this key is not known, or was revoked" if token else "a key is needed"
            raise Refusal(401, "key", said, hint=hint, headers={"WWW-Authenticate": "Bearer"})
        return key

    async def allowance(self, key: Key) -> Allowance | None:
        """What is left to a key after one more request; None where it has no limit."""
        limit = self._per_minute if key.per_minute is None else key.per_minute
        if not limit:
            return None
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._rates.take, key.id, limit)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def token_of(headers: RawHeaders) -> str:
    """The token of a request, from either header; none where one was sent twice: two readers could choose differently.

    Names are in lower case, as servers give them.
    """
    given: dict[bytes, str] = {}
    for name, value in headers:
        if name in (b"authorization", b"x-api-key"):
            if name in given:
                return ""
            given[name] = value.decode("latin-1").strip()
    scheme, _, token = given.get(b"authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else given.get(b"x-api-key", "")


def check_scope(key: Key, wanted: Scope) -> None:
    if wanted not in key.scopes:
        hint = f"Use a key with the scope '{wanted}': quoth keys add NAME --scope {wanted}."
        raise Refusal(403, "scope", f"this key may only {' and '.join(sorted(key.scopes))}", hint=hint, headers={})


def check_granted(allowance: Allowance) -> None:
    if not allowance.granted:
        seconds = max(1, allowance.retry_after)
        said = f"this key may ask {allowance.limit} times a minute"
        headers = {"Retry-After": str(seconds)}
        raise Refusal(429, "rate-limit", said, hint=f"Try again in {seconds} s.", headers=headers)


def rate_headers(allowance: Allowance) -> dict[str, str]:
    return {
        "RateLimit-Limit": str(allowance.limit),
        "RateLimit-Remaining": str(allowance.remaining),
        "RateLimit-Reset": str(allowance.reset_seconds),
    }
