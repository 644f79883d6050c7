"""What every request passes, in and out: its id, its key, its limits, the headers, the log and the counts."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import time
from contextlib import suppress
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quoth.interfaces.guard.admission import Refusal, check_granted, check_scope, rate_headers
from quoth.interfaces.guard.keys import Key
from quoth.interfaces.guard.keys import Scope as Right
from quoth.interfaces.http import logs, metrics
from quoth.interfaces.http.cors import Cors
from quoth.interfaces.http.faults import GONE, HttpFault, error_json, unforeseen
from quoth.interfaces.http.service import Service

OPEN = frozenset({"/", "/favicon.ico", "/healthz", "/health", "/readyz", "/openapi.json"})
"""What needs no key: it says nothing about the documents."""
_OPEN_FOLDER = "/web/"
_ASKING = frozenset({"/answer", "/retrieve", "/webhook/arc-retrieval"})
_NUMBER = re.compile(r"[0-9]+")
_LONGEST_NUMBER = 15
_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_LOOPBACK = re.compile(r"(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?", re.IGNORECASE)
SLOW_SECONDS = 30.0
"""How long a client may keep quiet in the middle of what it sends."""
_REST_SECONDS = 1.0
_MOST_REST = 64 * 2**10
"""What is still read of a request that was refused, and how long it may take."""
_REFUSALS = {
    "busy": "busy",
    "key": "auth",
    "rate-limit": "rate",
    "scope": "auth",
    "slow": "timeout",
    "timeout": "timeout",
    "too-large": "too-large",
}
"""Codes of errors by which a request is sent away, and how they are counted; the others are failures, or mistakes."""
_PAGE_ROUTES = ("/web",)
"""Mounted folders, which are no routes to the framework; a request for any file below counts for the folder."""

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    # Whatever a document holds, a browser that opens it directly runs nothing.
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    "cache-control": "no-store",
}


class Gate:
    def __init__(self, app: ASGIApp, service: Service, *, slow_seconds: float) -> None:
        self._app = app
        self._service = service
        self._cors = Cors(service.settings.cors)
        self._slow_seconds = slow_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            passage = _Passage(self._app, self._service, scope, send, cors=self._cors, slow_seconds=self._slow_seconds)
            await passage.go(receive)
        else:
            await send({"type": "websocket.close", "code": 1008})


class _Passage:
    """One request on its way through."""

    def __init__(
        self, app: ASGIApp, service: Service, scope: Scope, send: Send, *, cors: Cors, slow_seconds: float
    ) -> None:
        self._app = app
        self._service = service
        self._method = scope["method"]
        # HEAD is GET without the body, on every route. Parts of files are not served: who asks for one gets the whole.
        # The server's own scope must not know of either.
        whole = [(name, value) for name, value in scope["headers"] if name != b"range"]
        self._scope = {**scope, "method": "GET" if self._method == "HEAD" else self._method, "headers": whole}
        self._send = send
        self._cors = cors
        self._slow_seconds = slow_seconds
        self._headers = Headers(scope=scope)
        given = self._headers.get("x-request-id", "")
        self._id = given if _ID.fullmatch(given) else secrets.token_hex(8)
        self._rate: dict[str, str] = {}
        self._key: Key | None = None
        self._status = 0
        self._sent = 0
        self._receive: Receive | None = None
        length = self._headers.get("content-length", "0")
        self._body_left = "transfer-encoding" in self._headers or bool(length.strip("0"))
        """Whether the request has more of a body than was read."""

    async def go(self, receive: Receive) -> None:
        started = time.perf_counter()
        self._receive = receive
        logs.REQUEST_ID.set(self._id)
        self._scope.setdefault("state", {})["noted"] = {}
        with self._service.traces.request(dict(self._headers)) as span:
            try:
                await self._serve(receive)
            except HttpFault as fault:
                await self._complain(fault)
            except Refusal as no:
                await self._complain(HttpFault(no.status, no.code, str(no), hint=no.hint, headers=no.headers))
            except Exception:
                logs.LOG.exception("a request failed")
                await self._complain(unforeseen(self._id))
            finally:
                self._tell(time.perf_counter() - started, span)

    async def _serve(self, receive: Receive) -> None:
        if (preflight := self._cors.preflight(self._method, self._headers)) is not None:  # browsers send no key with it
            self._check_host()
            raw = [(name.encode(), value.encode()) for name, value in preflight.items()]
            await self._out({"type": "http.response.start", "status": 204, "headers": raw})
            await self._out({"type": "http.response.body", "body": b""})
            return
        await self._admit()
        if self._scope["path"] in _ASKING:  # before the body is read and checked, which costs more than to say no
            self._service.desk.check_room()
        self._scope["state"]["key"] = self._key
        await self._app(self._scope, self._limited(receive), self._out)

    async def _admit(self) -> None:
        path, method = self._scope["path"], self._scope["method"]
        admission = self._service.admission
        if admission is None:
            self._check_host()
            self._check_origin()
            return
        if (
            path in OPEN
            or path.startswith(_OPEN_FOLDER)
            or (path == "/metrics" and self._service.settings.open_metrics)
        ):
            return
        self._key = admission.holder(self._headers.raw)
        check_scope(self._key, Right.WRITE if method in {"PUT", "DELETE", "PATCH"} else Right.READ)
        if (allowance := await admission.allowance(self._key)) is not None:
            self._rate = rate_headers(allowance)
            check_granted(allowance)

    def _check_host(self) -> None:
        """Without keys any page that a browser has open could ask us under a name of its own, were it not for this."""
        if self._service.keys is not None:
            return
        hosts = self._headers.getlist("host")
        if len(hosts) != 1 or not _LOOPBACK.fullmatch(hosts[0]):
            hint = "Open it as http://127.0.0.1, or serve with keys."
            raise HttpFault(421, "host", "without keys the service answers only on this machine", hint=hint)

    def _check_origin(self) -> None:
        host = self._headers.get("host", "")
        own = {f"http://{host}", f"https://{host}"}
        if not all(origin in own or self._cors.allows(origin) for origin in self._headers.getlist("origin")):
            hint = "Add the origin to service.cors, or open the service's own page."
            raise HttpFault(403, "origin", "another site's page may not ask this service", hint=hint)

    def _limited(self, receive: Receive) -> Receive:
        settings = self._service.settings
        upload = self._scope["method"] == "PUT"
        most = settings.max_upload_mb * 2**20 if upload else settings.max_body_kb * 2**10
        name = "service.max_upload_mb" if upload else "service.max_body_kb"
        declared = self._headers.get("content-length", "0")
        if _NUMBER.fullmatch(declared) and (len(declared) > _LONGEST_NUMBER or int(declared) > most):
            raise _too_large(most, name)
        read = 0
        ended = False

        async def limited() -> Message:
            nonlocal read, ended
            if ended:  # from now on only the end of the connection can come, and for that one waits
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), self._slow_seconds)
            except TimeoutError:
                hint = "Send the whole request without pausing."
                raise HttpFault(408, "slow", "the request did not come in time", hint=hint) from None
            read += len(message.get("body", b""))
            ended = not message.get("more_body", False)
            self._body_left = not ended
            if read > most:
                raise _too_large(most, name)
            return message

        return limited

    async def _out(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            headers = MutableHeaders(scope=message)
            if self._body_left and self._status >= 400:
                await self._read_rest()
            headers["X-Request-Id"] = self._id
            for name, value in {**_HEADERS, **self._rate}.items():
                headers.setdefault(name, value)
            if self._body_left or self._status in {408, 413}:
                headers["connection"] = "close"  # what is left of the request will not be read
            self._cors.mark(self._headers, headers)
        elif message["type"] == "http.response.body":
            if self._method == "HEAD":
                message = {**message, "body": b""}
            self._sent += len(message.get("body", b""))
        await self._send(message)

    async def _read_rest(self) -> None:
        """Read what is left of a request where that is little: closed with something unread, a connection breaks off,
        and some clients never see what they were told."""
        length = self._headers.get("content-length", "")
        short = _NUMBER.fullmatch(length) and len(length) <= _LONGEST_NUMBER and int(length) <= _MOST_REST
        if self._receive is None or not short or self._status == 408 or "expect" in self._headers:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(_REST_SECONDS):
                while self._body_left:
                    message = await self._receive()
                    if message["type"] != "http.request":
                        return
                    self._body_left = message.get("more_body", False)

    async def _complain(self, fault: HttpFault) -> None:
        if self._status:
            return  # the answer had begun; that it breaks off tells the client
        self._scope["state"]["fault"] = fault.code
        body = json.dumps(error_json(fault.code, str(fault.detail), fault.hint)).encode()
        headers = {"content-type": "application/json", "content-length": str(len(body)), **(fault.headers or {})}
        raw = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        await self._out({"type": "http.response.start", "status": fault.status_code, "headers": raw})
        await self._out({"type": "http.response.body", "body": body})

    def _tell(self, seconds: float, span: Any) -> None:  # noqa: ANN401 - of OpenTelemetry, or None
        route = self._route()
        method = self._method if self._method in _METHODS else "other"
        self._status = self._status or GONE  # nobody was there any more to be told anything
        metrics.REQUESTS.labels(method, route, str(self._status)).inc()
        metrics.SECONDS.labels(route).observe(seconds)
        if (why := _REFUSALS.get(self._scope["state"].get("fault", ""))) is not None:
            metrics.REFUSED.labels(why).inc()
        if span is not None:
            span.update_name(f"{method} {route}")
            span.set_attributes(
                {
                    "http.request.method": method,
                    "http.route": route,
                    "http.response.status_code": self._status,
                    "quoth.request_id": self._id,
                }
            )
        logs.log(
            "request",
            method=method,
            path=self._scope["path"],
            route=route,
            status=self._status,
            milliseconds=round(1000 * seconds, 1),
            bytes=self._sent,
            key=self._key.id if self._key else None,
            **self._scope["state"]["noted"],
        )

    def _route(self) -> str:
        """What a request counts for: a route as it was declared, never a path that a client made up."""
        found = getattr(self._scope.get("route"), "path", None)
        if isinstance(found, str):
            return found
        for route in getattr(getattr(self._app, "state", None), "routes", ()):  # it was refused on its way there
            if route.matches(self._scope)[0] is Match.FULL:
                return str(route.path)
        return next((one for one in _PAGE_ROUTES if self._scope["path"].startswith(f"{one}/")), "other")


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"})


def _too_large(most: int, name: str) -> HttpFault:
    shown = f"{most // 2**20} MB" if most >= 2**20 else f"{most // 2**10} KB"
    return HttpFault(413, "too-large", f"more than {shown} are not taken", hint=f"Send less, or raise {name}.")
