"""The middleware around the application: request ids, keys, limits, CORS, security headers, the log and the metrics."""

from __future__ import annotations

import asyncio
import json
import re
import secrets
import time
from contextlib import suppress
from typing import Any, Protocol

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quoth.http import logs, telemetry
from quoth.http.blocking_work import BoundedPool
from quoth.http.guard.access import AccessControl
from quoth.http.guard.api_keys import KeyScope
from quoth.http.guard.askers import ANYBODY, Asker, check_scope
from quoth.http.guard.request_bounds import REQUEST_ID, SECURITY_HEADERS, BoundedBody
from quoth.http.http_faults import CLIENT_GONE, HttpFault, unforeseen
from quoth.http.read_log import ReadLog, quotes_in
from quoth.settings import ServiceSettings

OPEN = frozenset({"/", "/favicon.ico", "/healthz", "/health", "/readyz", "/openapi.json"})
"""Paths that need no key, since they reveal nothing about the documents."""
_LOOPBACK = re.compile(r"(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?", re.IGNORECASE)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"})
_DRAIN_SECONDS = 1.0
_DRAIN_BYTES = 64 * 2**10
"""How much of a refused request's body is still read, and for how long."""
_REFUSAL_OF = {"key": "auth", "scope": "auth", "rate-limit": "rate", "slow": "timeout"}
"""Error codes whose name in the metrics is another."""

PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
_PREFLIGHT = {
    "access-control-allow-methods": "GET, POST, PUT, DELETE",
    "access-control-allow-headers": "Authorization, Content-Type, X-Api-Key, X-Request-Id",
    "access-control-max-age": "600",
}
_EXPOSED = "X-Request-Id, Retry-After, RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset, Location"


class Guarded(Protocol):
    """What a gate must know of the service behind it. An `access` of None asks nobody for a key."""

    @property
    def access(self) -> AccessControl | None: ...
    @property
    def settings(self) -> ServiceSettings: ...
    @property
    def reads(self) -> ReadLog | None: ...
    @property
    def traces(self) -> telemetry.Traces: ...
    @property
    def pool(self) -> BoundedPool: ...
    @property
    def question_paths(self) -> frozenset[str]: ...


class RequestGate:
    """The ASGI application that a server runs: every request passes through it to `app`.

    `open_paths` need no key; with `/` among them, neither do the files of the page.
    """

    def __init__(
        self, app: ASGIApp, service: Guarded, *, slow_seconds: float, open_paths: frozenset[str] = OPEN
    ) -> None:
        self.app = app
        self.service = service
        self.slow_seconds = slow_seconds
        self.open_paths = open_paths

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
        self._open_paths = gate.open_paths
        self._method = scope["method"]
        # Every route answers HEAD like GET, without the body. Range requests get the whole file. A copy, since the
        # server reads its own scope again.
        left_out = {b"range", *(gate.service.access.private_headers if gate.service.access else ())}
        headers = [(name, value) for name, value in scope["headers"] if name not in left_out]
        self._scope = {**scope, "method": "GET" if self._method == "HEAD" else self._method, "headers": headers}
        self._state: dict[str, Any] = self._scope.setdefault("state", {})
        self._receive = receive
        self._send = send
        self._headers = Headers(scope=scope)
        sent_id = self._headers.get("x-request-id", "")
        self._id = sent_id if REQUEST_ID.fullmatch(sent_id) else secrets.token_hex(8)
        self._origins = frozenset(self._service.settings.cors.split())  # `*` is every origin
        self._rate: dict[str, str] = {}
        self._asker: Asker | None = None
        self._status = 0
        self._held: Message | None = None
        self._unwritten: HttpFault | None = None
        self._media = ""
        self._sent_bytes = 0
        is_upload = self._scope["method"] == "PUT"
        settings = gate.service.settings
        self._body = BoundedBody(
            receive,
            self._headers,
            most=settings.max_upload_mb * 2**20 if is_upload else settings.max_body_kb * 2**10,
            setting=f"service.{'max_upload_mb' if is_upload else 'max_body_kb'}",
            slow_seconds=gate.slow_seconds,
            bytes_per_second=settings.min_kb_per_second * 2**10,
        )

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
                if self._unwritten is None:
                    logs.LOG.exception("a request failed")
                await self._send_error(self._unwritten or unforeseen(self._id))
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
        self._state["asker"] = self._asker
        self._body.check_declared()
        await self._app(self._scope, self._body, self._send_message)

    async def _admit(self) -> None:
        """Raise `HttpFault` unless the client may send this request."""
        path, access = self._scope["path"], self._service.access
        if access is None:
            self._check_host()
            self._check_origin()
            self._asker = ANYBODY
            return
        is_open = path in self._open_paths or ("/" in self._open_paths and path.startswith("/web/"))
        if is_open or (path == "/metrics" and self._service.settings.open_metrics):
            return
        # A grid changes no document, and its routes give it only to who asked for it.
        is_write = self._scope["method"] in {"PUT", "DELETE", "PATCH"} and not path.startswith("/grids/")
        self._asker = await access.authenticate(self._headers.raw, (self._scope.get("client") or ("",))[0])
        check_scope(self._asker, KeyScope.WRITE if is_write else KeyScope.READ)
        if (allowance := await access.allowance(self._asker)) is not None:
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

    async def _send_message(self, message: Message) -> None:
        if self._service.reads is not None and 200 <= (message.get("status") or self._status or 200) < 300:
            if message["type"] == "http.response.start":
                self._held = message  # until what follows it is written down
                return
            await self._note_reads(self._service.reads, message)
            if self._held is not None:
                held, self._held = self._held, None
                await self._send_on(held)
        await self._send_on(message)

    async def _note_reads(self, reads: ReadLog, message: Message) -> None:
        """Write down what a part of the response gives to read; raise `HttpFault` if it may not be given without."""
        headers = Headers(scope=self._held) if self._held is not None else None
        media = self._media = self._media if headers is None else headers.get("content-type", "").partition(";")[0]
        seen: list[dict[str, Any]] = self._state.pop("reads", [])
        if media in {"application/json", "application/jsonl"} and not seen:
            # Every response in JSON comes whole, and a batch line by line.
            lines = [message.get("body", b"")] if media == "application/json" else message.get("body", b"").split(b"\n")
            seen = [quote for line in lines if line.strip() for quote in quotes_in(json.loads(line))]
        try:
            await reads.note(
                self._asker,
                seen,
                request_id=self._id,
                client=(self._scope.get("client") or (None,))[0],
                route=f"{self._method} {self._route()}",
            )
        except HttpFault as fault:
            self._unwritten = fault  # the framework turns it into an error of its own: its response had begun
            raise

    async def _send_on(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
            headers = MutableHeaders(scope=message)
            if self._body.unread and self._status >= 400:
                await self._drain()
            headers["X-Request-Id"] = self._id
            for name, value in {**SECURITY_HEADERS, **self._rate}.items():
                headers.setdefault(name, value)
            if self._body.unread or self._status in {408, 413}:
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
        if not self._body.is_short(_DRAIN_BYTES) or self._status == 408 or "expect" in self._headers:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(_DRAIN_SECONDS):
                await self._body.drain()

    async def _send_error(self, fault: HttpFault) -> None:
        self._held = None
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
        if (corpus := logs.CORPUS.get()) is not None:
            telemetry.CORPORA.labels(corpus, route, str(self._status)).inc()
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
            key=(self._asker and self._asker.id) or None,
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
