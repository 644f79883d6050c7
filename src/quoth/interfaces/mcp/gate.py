"""The gate before the server on HTTP: a key for each request, and no more of them than the key grants."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import anyio.to_thread

from quoth.interfaces.guard.keys import Key, KeyFile
from quoth.interfaces.guard.rates import Allowance, Rates

_Scope = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
_Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[_Scope, _Receive, _Send], Awaitable[None]]

RATES = "rates.db"


class Gate:
    """Lets a request through to `app` when its key is in force; a revoked one is turned away from then on."""

    def __init__(self, app: App, *, keys: KeyFile | None, rates: Rates, per_minute: int) -> None:
        self._app = app
        self._keys = keys
        self._rates = rates
        self._per_minute = per_minute

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["method"] != "POST":
            # No stream is kept open and no session is kept: every request stands for itself.
            await _refuse(send, 405, "method", "this address takes POST only", hint="", headers={"allow": "POST"})
        elif self._keys is None:
            await self._app(scope, receive, send)
        else:
            await self._with_key(self._keys, scope, receive, send)

    async def _with_key(self, keys: KeyFile, scope: _Scope, receive: _Receive, send: _Send) -> None:
        allowed = await anyio.to_thread.run_sync(self._admit, keys, _token(scope))
        if allowed is None:
            hint = "Send `Authorization: Bearer quoth_…`; `quoth keys add NAME` makes a key."
            challenge = {"www-authenticate": "Bearer"}
            await _refuse(send, 401, "unauthorized", "a valid API key is needed", hint=hint, headers=challenge)
        elif not allowed.granted:
            wait = {"retry-after": str(allowed.retry_after)}
            message = f"this key may make {allowed.limit} requests a minute"
            await _refuse(send, 429, "rate", message, hint=f"Wait {allowed.retry_after} s.", headers=wait)
        else:
            await self._app(scope, receive, send)

    def _admit(self, keys: KeyFile, token: str | None) -> Allowance | None:
        """What the holder of this token may do now; None for nobody."""
        key: Key | None = None if token is None else keys.holder(token)
        if key is None:
            return None
        return self._rates.take(key.id, self._per_minute if key.per_minute is None else key.per_minute)


def _token(scope: _Scope) -> str | None:
    """The token of a request, from either header that the HTTP service takes."""
    headers = {name.lower(): value for name, value in scope["headers"]}
    scheme, _, token = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    if scheme.lower() == "bearer":
        return token.strip() or None
    given: str = headers.get(b"x-api-key", b"").decode("latin-1").strip()
    return given or None


async def _refuse(send: _Send, status: int, code: str, message: str, *, hint: str, headers: dict[str, str]) -> None:
    body = json.dumps({"error": {"code": code, "message": message, "hint": hint}}, ensure_ascii=False).encode("utf-8")
    described = {
        "content-type": "application/json",
        "content-length": str(len(body)),
        "cache-control": "no-store",
        **headers,
    }
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in described.items()]
    await send({"type": "http.response.start", "status": status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})
