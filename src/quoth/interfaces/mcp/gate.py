"""The gate before the server on HTTP: a key for each request, and no more of them than the key grants."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from quoth.interfaces.guard.admission import Admission, Refusal, check_granted, check_scope
from quoth.interfaces.guard.keys import Scope

_Scope = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
_Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[_Scope, _Receive, _Send], Awaitable[None]]


class Gate:
    """Lets a request through to `app` when its key is in force; a revoked one is turned away from then on."""

    def __init__(self, app: App, admission: Admission | None) -> None:
        """Without an admission everyone is let in."""
        self._app = app
        self._admission = admission

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            if scope["method"] != "POST":
                # No stream is kept open and no session is kept: every request stands for itself.
                raise Refusal(405, "method", "this address takes POST only", hint="", headers={"Allow": "POST"})
            if self._admission is not None:
                await _admit(self._admission, scope)
        except Refusal as refusal:
            await _refuse(send, refusal)
        else:
            await self._app(scope, receive, send)


async def _admit(admission: Admission, scope: _Scope) -> None:
    key = admission.holder(scope["headers"])
    check_scope(key, Scope.READ)
    if (allowance := await admission.allowance(key)) is not None:
        check_granted(allowance)


async def _refuse(send: _Send, refusal: Refusal) -> None:
    error = {"code": refusal.code, "message": str(refusal), "hint": refusal.hint}
    body = json.dumps({"error": error}, ensure_ascii=False).encode("utf-8")
    described = {
        "content-type": "application/json",
        "content-length": str(len(body)),
        "cache-control": "no-store",
        **{name.lower(): value for name, value in refusal.headers.items()},
    }
    encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in described.items()]
    await send({"type": "http.response.start", "status": refusal.status, "headers": encoded})
    await send({"type": "http.response.body", "body": body})
