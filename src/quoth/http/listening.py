"""A connection of a server, with bounds on what the application cannot look after: heads, trailers, and what is left
of a request that was answered before its end."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable
from math import ceil
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEAD = 64 * 2**10
"""Bytes of a request line with its headers, of a line before a chunk, or of what follows the last one. A few more may
come through, as far as they came in one piece."""
_KEEP_ALIVE_SECONDS = 30


def _most_connections() -> int:
    """Half of the files that the process may open are left to the index and to the log."""
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 1_024 if files == resource.RLIM_INFINITY else min(1_024, max(1, files // 2))


class BoundedConnection(HttpToolsProtocol):
    """Closed when a head is too large, or does not come in time. What follows the head, the application looks after;
    once it has answered, the rest of the request must come soon."""

    head_seconds = 30.0
    rest_seconds = 10.0
    most_connections = _most_connections()
    """Of one process. One more is closed at once: it has sent nothing yet that could be lost."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - as its parent takes them
        super().__init__(*args, **kwargs)
        self._timer: asyncio.TimerHandle | None = None
        self._rest_timer: asyncio.TimerHandle | None = None
        self._bytes = 0
        """Since the last thing that the parser could hand on: what it keeps in memory meanwhile."""
        self._in_body = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.most_connections:
            transport.close()
        else:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._stop_rest_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._bytes += len(data)
        super().data_received(data)
        if self._bytes > MOST_HEAD and not self.transport.is_closing():
            if self.cycle is not None and self.cycle.response_started and not self.cycle.response_complete:
                self.transport.close()  # in the middle of an answer, where another would be taken for a part of it
            else:
                self.send_400_response("The head of the request is too large.")

    def on_message_begin(self) -> None:
        self._bytes = 0
        self._in_body = False
        self._await_head()
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_body:  # or it is a trailer, which nobody reads and which must not pass for a header
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._in_body = True
        self._stop_waiting()
        super().on_headers_complete()

    def on_chunk_header(self) -> None:
        self._bytes = 0

    def on_body(self, body: bytes) -> None:
        self._bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._stop_rest_timer()
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        # Each further byte would keep it from being idle, and so from being closed.
        unread = self.cycle.response_complete and self.cycle.more_body
        if unread and self._rest_timer is None and not self.transport.is_closing():
            self._rest_timer = self.loop.call_later(self.rest_seconds, self.transport.close)

    def _await_head(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.head_seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _stop_rest_timer(self) -> None:
        if self._rest_timer is not None:
            self._rest_timer.cancel()
            self._rest_timer = None

    def _give_up(self) -> None:
        self._timer = None
        if self.cycle is not None and not self.cycle.response_complete:
            self._await_head()  # the request before is still being answered, and must not be cut off
        else:
            self.transport.close()


def server_config(
    app: Callable[..., Any] | str, *, grace_seconds: float, factory: bool = False, workers: int = 1
) -> uvicorn.Config:
    """How every server of ours listens. A grace of 0 waits for requests under way as long as they take."""
    return uvicorn.Config(
        app,
        factory=factory,
        workers=workers,
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        http=BoundedConnection,
        ws="none",
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=ceil(grace_seconds) or None,
    )
