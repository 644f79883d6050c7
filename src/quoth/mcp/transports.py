"""The two transports of the MCP server: standard input and output, or HTTP with API keys."""

from __future__ import annotations

import logging
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing

import anyio
import uvicorn
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import ASGIApp, Receive, Scope, Send

from quoth.errors import MissingExtra
from quoth.http.guard.access import AccessControl, check_scope
from quoth.http.guard.api_keys import KeyScope, check_access
from quoth.http.http_faults import HttpFault, client_error, full_error
from quoth.library import Quoth
from quoth.mcp.server import server_for
from quoth.settings import ServiceSettings

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
    server = server_for(quoth, threads=service.threads, queue=service.queue, error_text=full_error)

    async def serve() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    anyio.run(serve)


def serve_http(
    quoth: Quoth,
    service: ServiceSettings,
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
    check_access(service, host=host, auth=not no_auth)
    quoth.prepare()
    server = server_for(quoth, threads=service.threads, queue=service.queue, error_text=client_error)
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
        access = None if no_auth else opened.enter_context(closing(AccessControl(service)))
        config = server_config(KeyGate(app, access), grace_seconds=service.grace_seconds)
        address = f"[{host}]" if ":" in host else host
        say(f"listening on http://{address}:{taken}{PATH}")
        uvicorn.Server(config).run(sockets)


class KeyGate:
    """Lets a POST through to `app` if its key is in force and within its rate limit, or `access` is None."""

    def __init__(self, app: ASGIApp, access: AccessControl | None) -> None:
        self._app = app
        self._access = access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            if scope["method"] != "POST":  # there are no streams and no sessions to open or close
                raise HttpFault(405, "method", "this address takes POST only", hint="", headers={"Allow": "POST"})
            if self._access is not None:
                key = self._access.authenticate(scope["headers"])
                check_scope(key, KeyScope.READ)
                if (allowance := await self._access.allowance(key)) is not None:
                    allowance.check()
        except HttpFault as fault:
            response = fault.response()
            response.headers["Cache-Control"] = "no-store"
            await response(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def _allowed_names(host: str, names: Sequence[str]) -> TransportSecuritySettings:
    """Allow only these host names, so that a site cannot point its own name at this machine (DNS rebinding)."""
    own = [socket.gethostname(), socket.getfqdn()] if host in _ANY_ADDRESS else [f"[{host}]" if ":" in host else host]
    allowed = dict.fromkeys([*_LOOPBACK_NAMES, *own, *names])
    hosts = [form for name in allowed for form in (name, f"{name}:*")]
    origins = [f"{scheme}://{form}" for form in hosts for scheme in ("http", "https")]
    return TransportSecuritySettings(enable_dns_rebinding_protection=True, allowed_hosts=hosts, allowed_origins=origins)


def _log_to_stderr() -> None:
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
