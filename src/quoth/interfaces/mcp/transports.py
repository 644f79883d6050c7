"""The two ways in: standard input and output of this process, or HTTP."""

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

from quoth.errors import MissingExtra, SettingsError
from quoth.interfaces.guard.access import check_access, keys_path, rates_path
from quoth.interfaces.guard.admission import Admission
from quoth.interfaces.guard.keys import KeyFile
from quoth.interfaces.guard.rates import Rates
from quoth.interfaces.guard.words import client_words, full_words
from quoth.interfaces.mcp.gate import Gate
from quoth.interfaces.mcp.server import server_for
from quoth.interfaces.python import Quoth
from quoth.settings import ServiceSettings

PATH = "/mcp"
_LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
_ANY_ADDRESS = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - compared with, not bound to


def serve_stdio(quoth: Quoth, service: ServiceSettings, *, say: Callable[[str], None]) -> None:
    """Serve one client until it closes our standard input. Only the protocol goes to standard output."""
    _log_to_stderr()
    if sys.stdin.isatty():
        say("quoth mcp waits for messages of an MCP client on standard input; docs/mcp.md tells how one starts it")
    # The thread that reads cannot be interrupted: Ctrl-C would wait for one more line. We only read, so end at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    server = server_for(quoth, threads=service.threads, queue=service.queue, words=full_words)

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
    """Serve over streamable HTTP at `/mcp` until a signal comes; requests under way are finished.

    `names` are those that clients may call this machine by, besides `host`.
    """
    try:
        from quoth.interfaces.http.connection import server_config  # its parser, standard input and output do without
    except ImportError as error:
        raise MissingExtra("MCP over HTTP", "mcp") from error
    _log_to_stderr()
    check_access(keys_path(service), host=host, auth=not no_auth)
    quoth.prepare()
    app = server_for(quoth, threads=service.threads, queue=service.queue, words=client_words).streamable_http_app(
        streamable_http_path=PATH,
        # Every request stands for itself: nothing to lose in a restart, and a revoked key has no session left.
        stateless_http=True,
        json_response=True,
        max_request_body_size=service.max_body_kb * 1024,
        transport_security=_allowed(host, names),
        host=host,
    )
    with closing(_listening(host, port)) as listener, ExitStack() as opened:
        admission = None
        if not no_auth:
            rates = opened.enter_context(closing(Rates(rates_path(service))))
            keys = KeyFile(keys_path(service))
            admission = opened.enter_context(closing(Admission(keys, rates, per_minute=service.per_minute)))
        config = server_config(Gate(app, admission), grace_seconds=service.grace_seconds)
        address = f"[{host}]" if ":" in host else host
        say(f"listening on http://{address}:{listener.getsockname()[1]}{PATH}")
        uvicorn.Server(config).run(sockets=[listener])


def _allowed(host: str, names: Sequence[str]) -> TransportSecuritySettings:
    """The names that a request may call us by: a page of another site, whose name was bent to our address, has none."""
    own = [socket.gethostname(), socket.getfqdn()] if host in _ANY_ADDRESS else [f"[{host}]" if ":" in host else host]
    known = list(dict.fromkeys([*_LOOPBACK_NAMES, *own, *names]))
    hosts = [form for name in known for form in (name, f"{name}:*")]
    origins = [f"{scheme}://{form}" for form in hosts for scheme in ("http", "https")]
    return TransportSecuritySettings(enable_dns_rebinding_protection=True, allowed_hosts=hosts, allowed_origins=origins)


def _listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        raise SettingsError(
            f"cannot listen on {host}, port {port}: {error}",
            hint="Choose another --port, or an address of this machine.",
        ) from error


def _log_to_stderr() -> None:
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
