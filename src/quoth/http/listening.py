"""Sockets and connections of the HTTP servers, with the limits that an application cannot enforce itself."""

from __future__ import annotations

import asyncio
import resource
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from math import ceil
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from quoth.errors import SettingsError

MOST_HEAD = 64 * 2**10
"""The most bytes that the parser may hold back: of a request head, a chunk's size line, or trailers. A single read may
exceed it by a little."""
_KEEP_ALIVE_SECONDS = 30


@contextmanager
def listen(host: str, port: int) -> Iterator[tuple[list[socket.socket], int]]:
    """Yield open sockets on every address of a host, and their port; raise `SettingsError` if it cannot be had.

    Port 0 takes any free one.
    """
    with ExitStack() as opened:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            sockets = []
            for family, address in dict.fromkeys((info[0], info[4]) for info in found):
                bound = (address[0], port, *address[2:])
                sockets.append(opened.enter_context(socket.create_server(bound, family=family)))
                port = sockets[0].getsockname()[1]
        except OSError as error:
            hint = "Is another service running there? Choose another with --port, or an address of this machine."
            why = error.strerror or str(error)
            raise SettingsError(f"cannot listen on {host}, port {port}: {why.lower()}", hint=hint) from error
        yield sockets, port


def _most_connections() -> int:
    """Return half of the file descriptors of the process; the index and the log need the others."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 1_024 if files == resource.RLIM_INFINITY else min(1_024, max(1, files // 2))


class BoundedConnection(HttpToolsProtocol):
    """A connection that closes if a request head is too large or too slow.

    The application limits the body. Once it has responded, the rest of the body must come within `rest_seconds`.
    """

    head_seconds = 30.0
    rest_seconds = 10.0
    most_connections = _most_connections()
    """Per process. A connection beyond it is closed at once, before it can have sent anything."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - as its parent takes them
        super().__init__(*args, **kwargs)
        self._timer: asyncio.TimerHandle | None = None  # for the head, or for the rest of a body
        self._held_bytes = 0  # received since the parser last handed something on
        self._in_body = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.most_connections:
            transport.close()
        else:
            self._start_head_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._held_bytes += len(data)
        super().data_received(data)
        if self._held_bytes > MOST_HEAD and not self.transport.is_closing():
            if self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete:
                self.transport.close()  # a second response here would be read as part of the first
            else:
                self.send_400_response("The head of the request is too large.")

    def on_message_begin(self) -> None:
        self._held_bytes = 0
        self._in_body = False
        self._start_head_timer()
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_body:  # otherwise it is a trailer, which must not pass for a header
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_body = True
        self._stop_timer()
        super().on_headers_complete()

    def on_chunk_header(self) -> None:
        self._held_bytes = 0

    def on_body(self, body: bytes) -> None:
        self._held_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._stop_timer()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # Without this timer each further byte would keep the connection from being idle, and so from being closed.
        unread = self.cycle.response_complete and self.cycle.more_body
        if unread and self._timer is None and not self.transport.is_closing():
            self._timer = self.loop.call_later(self.rest_seconds, self.transport.close)

    def _start_head_timer(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.head_seconds, self._head_is_late)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _head_is_late(self) -> None:
        self._timer = None
        if self.cycle is not None and not self.cycle.response_complete:
            self._start_head_timer()  # the previous request is still being answered
        else:
            self.transport.close()


def server_config(
    app: Callable[..., Any] | str, *, grace_seconds: float, factory: bool = False, workers: int = 1
) -> uvicorn.Config:
    """Return the configuration of every server of ours. A grace of 0 waits for requests under way without limit."""
    return uvicorn.Config(
        app,
        factory=factory,
        workers=workers,
        loop="quoth.http.even_accepting:EvenLoop" if workers > 1 else "auto",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        http=BoundedConnection,
        ws="none",
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=ceil(grace_seconds) or None,
    )
