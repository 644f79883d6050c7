"""The two transports of the MCP server: standard input and output, or HTTP with API keys."""

from __future__ import annotations

import logging
import math
import secrets
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import anyio
import uvicorn
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quoth.errors import MissingExtra
from quoth.http.blocking_work import BoundedPool
from quoth.http.guard.access import AccessControl
from quoth.http.guard.api_keys import KeyScope, check_access
from quoth.http.guard.askers import ANYBODY, Asker, asker_in, check_scope
from quoth.http.guard.request_bounds import REQUEST_ID, SECURITY_HEADERS, SLOW_SECONDS, BoundedBody
from quoth.http.http_faults import HttpFault, client_error, full_error, gone
from quoth.http.read_log import ReadLog
from quoth.library import Quoth
from quoth.mcp.server import Context, server_for
from quoth.settings import ServiceSettings, Settings

PATH = "/mcp"
_LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
_ANY_ADDRESS = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - compared with, not bound to


def serve_stdio(quoth: Quoth, service: ServiceSettings, *, say: Callable[[str], None]) -> None:
    """Serve one client until it closes our standard input. Only the protocol goes to standard output."""
    _log_to_stderr()
    if sys.stdin.isatty():
        say("quoth mcp waits for messages of an MCP client on standard input; docs/mcp.md tells how one starts it")
    # The reading thread cannot be interrupted: after Ctrl-C it would wait for one more line. End at once instead.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    pool = BoundedPool(threads=service.threads, queue=service.queue, seconds=math.inf)
    server = server_for(quoth, pool=pool, error_text=full_error, asker_of=lambda _: ANYBODY)

    async def serve() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(serve)


def serve_http(
    quoth: Quoth,
    settings: Settings,
    *,
    host: str,
    port: int,
    no_auth: bool,
    names: Sequence[str],
    say: Callable[[str], None],
) -> None:
    """Serve streamable HTTP at `/mcp` until a signal comes, then finish the requests under way.

    `names` are the host names, besides `host`, that clients may use for this machine.
    """
    try:
        from quoth.http.listening import listen, server_config  # needs a parser that the other transport does not
    except ImportError as error:
        raise MissingExtra("MCP over HTTP", "mcp") from error
    _log_to_stderr()
    service = settings.service
    check_access(settings, host=host, auth=not no_auth)
    quoth.prepare()
    pool = BoundedPool(threads=service.threads, queue=service.queue, seconds=service.seconds)
    reads = ReadLog(Path(service.state).expanduser(), settings.audit) if settings.audit.reads else None
    server = server_for(quoth, pool=pool, error_text=client_error, asker_of=_asker_of, reads=reads)
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        # Stateless: a restart loses nothing, and a revoked key has no session left.
        stateless_http=True,
        json_response=True,
        max_request_body_size=service.max_body_kb * 1024,
        transport_security=_allowed_names(host, names),
        host=host,
    )
    with listen(host, port) as (sockets, taken), ExitStack() as opened:
        access = None if no_auth else opened.enter_context(closing(AccessControl(settings)))
        config = server_config(MessageGate(app, access, service), grace_seconds=service.grace_seconds)
        address = f"[{host}]" if ":" in host else host
        if reads is not None:
            reads.start()
            opened.enter_context(closing(reads))
        say(f"listening on http://{address}:{taken}{PATH}")
        uvicorn.Server(config).run(sockets)


class MessageGate:
    """Lets a POST through to `app` if its asker is known and within their rate; `access` None admits every client.

    A body is bounded in size and time, and every response carries the headers of the HTTP service.
    """

    def __init__(
        self,
        app: ASGIApp,
        access: AccessControl | None,
        service: ServiceSettings,
        *,
        slow_seconds: float = SLOW_SECONDS,
    ) -> None:
        self._app = app
        self._access = access
        self._service = service
        self._slow_seconds = slow_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._serve(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        sent_id = Headers(scope=scope).get("x-request-id", "")
        request_id = sent_id if REQUEST_ID.fullmatch(sent_id) else secrets.token_hex(8)
        rate: dict[str, str] = {}
        body = BoundedBody(
            receive,
            Headers(scope=scope),
            most=self._service.max_body_kb * 2**10,
            setting="service.max_body_kb",
            slow_seconds=self._slow_seconds,
            bytes_per_second=self._service.min_kb_per_second * 2**10,
        )
        begun = False

        async def send_marked(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                headers = MutableHeaders(scope=message)
                headers["X-Request-Id"] = request_id
                for name, value in {**SECURITY_HEADERS, **rate}.items():
                    headers.setdefault(name, value)
                if body.unread:
                    headers["connection"] = "close"  # the rest of the request will not be read
            await send(message)

        try:
            if scope["method"] != "POST":  # there are no streams and no sessions to open or close
                raise HttpFault(405, "method", "this address takes POST only", hint="", headers={"Allow": "POST"})
            asker = ANYBODY
            if self._access is not None:
                asker = await self._access.authenticate(scope["headers"], (scope.get("client") or ("",))[0])
                check_scope(asker, KeyScope.READ)
                if (allowance := await self._access.allowance(asker)) is not None:
                    rate |= allowance.headers()
                    allowance.check()
            body.check_declared()
            # Read whole before the protocol sees it, so that a body that is too slow ends here and not inside the SDK.
            whole = await _whole(body)
            state = {**scope.get("state", {}), "asker": asker}
            await self._app({**scope, "state": state}, _once(whole, receive), send_marked)
        except HttpFault as fault:
            if not begun:
                await fault.response()(scope, receive, send_marked)


async def _whole(body: Receive) -> bytes:
    """Return a whole body; raise `HttpFault` if the client goes away meanwhile."""
    pieces: list[bytes] = []
    while True:
        message = await body()
        if message["type"] == "http.disconnect":
            raise gone()
        pieces.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(pieces)


def _once(whole: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body at once, and then waits for the end of the connection."""
    given = False

    async def receive_once() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": whole, "more_body": False}

    return receive_once


def _asker_of(context: Context) -> Asker:
    """Return who sent a message over HTTP; `NOBODY` if the message did not pass `MessageGate`."""
    request: Any = context.request
    return asker_in(request.scope if request is not None else {})


def _allowed_names(host: str, names: Sequence[str]) -> TransportSecuritySettings:
    """Allow only these host names, so that a site cannot point its own name at this machine (DNS rebinding)."""
    own = [socket.gethostname(), socket.getfqdn()] if host in _ANY_ADDRESS else [f"[{host}]" if ":" in host else host]
    allowed = dict.fromkeys([*_LOOPBACK_NAMES, *own, *names])
    hosts = [form for name in allowed for form in (name, f"{name}:*")]
    origins = [f"{scheme}://{form}" for form in hosts for scheme in ("http", "https")]
    return TransportSecuritySettings(enable_dns_rebinding_protection=True, allowed_hosts=hosts, allowed_origins=origins)


def _log_to_stderr() -> None:
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
