"""The middleware around the application: request ids, keys, limits, CORS, security headers, the log and the metrics."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from contextlib import suppress
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quoth.http import logs, telemetry
from quoth.http.guard.access import check_scope
from quoth.http.guard.api_keys import ApiKey, KeyScope
from quoth.http.http_faults import CLIENT_GONE, HttpFault, unforeseen
from quoth.http.service import Service

OPEN = frozenset({"/", "/favicon.ico", "/healthz", "/health", "/readyz", "/openapi.json"})
"""Paths that need no key, since they reveal nothing about the documents."""
_DIGITS = re.compile(r"[0-9]{1,15}")
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_LOOPBACK = re.compile(r"(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?", re.IGNORECASE)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"})
SLOW_SECONDS = 30.0
"""How long a client may pause while it sends its body."""
_DRAIN_SECONDS = 1.0
_DRAIN_BYTES = 64 * 2**10
"""How much of a refused request's body is still read, and for how long."""
_REFUSAL_OF = {"key": "auth", "scope": "auth", "rate-limit": "rate", "slow": "timeout"}
"""Error codes whose name in the metrics is another."""

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
    # A browser that opens a document directly runs nothing in it.
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
    "cache-control": "no-store",
}
_PREFLIGHT = {
    "access-control-allow-methods": "GET, POST, PUT, DELETE",
    "access-control-allow-headers": "Authorization, Content-Type, X-Api-Key, X-Request-Id",
    "access-control-max-age": "600",
}
_EXPOSED = "X-Request-Id, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Location"


class RequestGate:
    """The ASGI application that a server runs: every request passes through it to `app`."""

    def __init__(self, app: ASGIApp, service: Service, *, slow_seconds: float) -> None:
        self.app = app
        self.service = service
        self.slow_seconds = slow_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await _GatedRequest(self, scope, receive, send).serve()
        else:
            await send({"type": "websocket.close", "code": 1008})


class _GatedRequest:
    """One request on its way to the application, and its response on the way back."""

    def __init__(self, gate: RequestGate, scope: Scope, receive: Receive, send: Send) -> None:
        self._app = gate.app
        self._service = gate.service
        self._slow_seconds = gate.slow_seconds
        self._method = scope["method"]
        # Every route answers HEAD like GET, without the body. Range requests get the whole file. A copy, since the
        # server reads its own scope again.
        headers = [(name, value) for name, value in scope["headers"] if name != b"range"]
        self._scope = {**scope, "method": "GET" if self._method == "HEAD" else self._method, "headers": headers}
        self._state: dict[str, Any] = self._scope.setdefault("state", {})
        self._receive = receive
        self._send = send
        self._headers = Headers(scope=scope)
        sent_id = self._headers.get("x-request-id", "")
        self._id = sent_id if _REQUEST_ID.fullmatch(sent_id) else secrets.token_hex(8)
        self._origins = frozenset(self._service.settings.cors.split())  # `*` is every origin
        self._rate: dict[str, str] = {}
        self._key: ApiKey | None = None
        self._status = 0
        self._sent_bytes = 0
        length = self._headers.get("content-length", "0")
        self._has_unread_body = "transfer-encoding" in self._headers or bool(length.strip("0"))

    async def serve(self) -> None:
        started = time.perf_counter()
        logs.REQUEST_ID.set(self._id)
        self._state["noted"] = {}
        with self._service.traces.request(dict(self._headers)) as span:
            try:
                await self._serve()
            except HttpFault as fault:
                await self._send_error(fault)
            except Exception:
                logs.LOG.exception("a request failed")
                await self._send_error(unforeseen(self._id))
            finally:
                self._report(time.perf_counter() - started, span)

    async def _serve(self) -> None:
        is_preflight = self._method == "OPTIONS" and "access-control-request-method" in self._headers
        if is_preflight and self._allows(self._headers.get("origin", "")):  # browsers send no key with it
            self._check_host()
            await self._respond(Response(status_code=204, headers=_PREFLIGHT))
            return
        await self._admit()
        if self._scope["path"] in self._service.question_paths:  # to refuse is cheaper than to read the body first
            self._service.pool.check_room()
        self._state["key"] = self._key
        await self._app(self._scope, self._limited_receive(), self._send_message)

    async def _admit(self) -> None:
        """Raise `HttpFault` unless the client may send this request."""
        path, access = self._scope["path"], self._service.access
        if access is None:
            self._check_host()
            self._check_origin()
            return
        is_open = path in OPEN or path.startswith("/web/")
        if is_open or (path == "/metrics" and self._service.settings.open_metrics):
            return
        is_write = self._scope["method"] in {"PUT", "DELETE", "PATCH"}
        self._key = access.authenticate(self._headers.raw)
        check_scope(self._key, KeyScope.WRITE if is_write else KeyScope.READ)
        if (allowance := await access.allowance(self._key)) is not None:
            self._rate = allowance.headers()
            allowance.check()

    def _check_host(self) -> None:
        """Without keys, refuse host names other than loopback: a site could point its own name at this machine."""
        if self._service.access is not None:
            return
        hosts = self._headers.getlist("host")
        if len(hosts) != 1 or not _LOOPBACK.fullmatch(hosts[0]):
            hint = "Open it as http://127.0.0.1, or serve with keys."
            raise HttpFault(421, "host", "without keys the service answers only on this machine", hint=hint)

    def _check_origin(self) -> None:
        host = self._headers.get("host", "")
        own = {f"http://{host}", f"https://{host}"}
        if not all(origin in own or self._allows(origin) for origin in self._headers.getlist("origin")):
            hint = "Add the origin to service.cors, or open the service's own page."
            raise HttpFault(403, "origin", "another site's page may not ask this service", hint=hint)

    def _allows(self, origin: str) -> bool:
        return origin in self._origins or "*" in self._origins

    def _limited_receive(self) -> Receive:
        """Return a `receive` that raises `HttpFault` if the body is too large or the client pauses for too long."""
        settings = self._service.settings
        is_upload = self._scope["method"] == "PUT"
        most = settings.max_upload_mb * 2**20 if is_upload else settings.max_body_kb * 2**10
        shown = f"{most // 2**20} MB" if most >= 2**20 else f"{most // 2**10} KB"
        hint = f"Send less, or raise service.{'max_upload_mb' if is_upload else 'max_body_kb'}."
        too_large = HttpFault(413, "too-large", f"more than {shown} are not taken", hint=hint)
        declared = self._headers.get("content-length", "0")
        if declared.isascii() and declared.isdigit() and (not _DIGITS.fullmatch(declared) or int(declared) > most):
            raise too_large
        read = 0
        ended = False

        async def receive() -> Message:
            nonlocal read, ended
            if ended:  # only the end of the connection can follow, and the wait for it has no limit
                return await self._receive()
            try:
                message = await asyncio.wait_for(self._receive(), self._slow_seconds)
            except TimeoutError:
                hint = "Send the whole request without pausing."
                raise HttpFault(408, "slow", "the request did not come in time", hint=hint) from None
            read += len(message.get("body", b""))
            ended = not message.get("more_body", False)
            self._has_unread_body = not ended
            if read > most:
                raise too_large
            return message

        return receive

    async def _send_message(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            headers = MutableHeaders(scope=message)
            if self._has_unread_body and self._status >= 400:
                await self._drain()
            headers["X-Request-Id"] = self._id
            for name, value in {**_HEADERS, **self._rate}.items():
                headers.setdefault(name, value)
            if self._has_unread_body or self._status in {408, 413}:
                headers["connection"] = "close"  # the rest of the request will not be read
            if self._origins:
                headers.add_vary_header("Origin")
            origin = self._headers.get("origin")
            if origin is not None and self._allows(origin):
                headers["access-control-allow-origin"] = origin
                headers["access-control-expose-headers"] = _EXPOSED
        elif message["type"] == "http.response.body":
            if self._method == "HEAD":
                message = {**message, "body": b""}
            self._sent_bytes += len(message.get("body", b""))
        await self._send(message)

    async def _drain(self) -> None:
        """Read the rest of a short body: a connection closed with unread data resets, and some clients then never
        see the response."""
        length = self._headers.get("content-length", "")
        is_short = _DIGITS.fullmatch(length) and int(length) <= _DRAIN_BYTES
        if not is_short or self._status == 408 or "expect" in self._headers:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(_DRAIN_SECONDS):
                while self._has_unread_body:
                    message = await self._receive()
                    if message["type"] != "http.request":
                        return
                    self._has_unread_body = message.get("more_body", False)

    async def _send_error(self, fault: HttpFault) -> None:
        if not self._status:  # otherwise the response has begun; the client sees that it breaks off
            self._state["fault"] = fault.code
            await self._respond(fault.response())

    async def _respond(self, response: Response) -> None:
        await response(self._scope, self._receive, self._send_message)

    def _report(self, seconds: float, span: Any) -> None:  # noqa: ANN401 - an OpenTelemetry span, or None
        """Write the request to the metrics, the trace and the log."""
        route = self._route()
        method = self._method if self._method in _METHODS else "other"
        self._status = self._status or CLIENT_GONE
        telemetry.REQUESTS.labels(method, route, str(self._status)).inc()
        telemetry.SECONDS.labels(route).observe(seconds)
        fault = self._state.get("fault", "")
        if (why := _REFUSAL_OF.get(fault, fault)) in telemetry.REFUSALS:
            telemetry.REFUSED.labels(why).inc()
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
            bytes=self._sent_bytes,
            key=self._key.id if self._key else None,
            **self._state["noted"],
        )

    def _route(self) -> str:
        """Return the route as it was declared, `/web` for a file of the page, or "other": never a client's own path."""
        declared = getattr(self._scope.get("route"), "path", None)
        if isinstance(declared, str):
            return declared
        for route in getattr(getattr(self._app, "state", None), "routes", ()):  # refused before the router saw it
            if route.matches(self._scope)[0] is Match.FULL:
                return str(route.path)
        return "/web" if self._scope["path"].startswith("/web/") else "other"
