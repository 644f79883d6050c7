"""A connection of the server, with bounds on what comes before a request can be looked at: its head."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEAD = 64 * 2**10
"""Bytes of a request line with its headers. A few more may come through, as far as they came in one piece."""


class BoundedConnection(HttpToolsProtocol):
    """Closed when a head is too large, or does not come in time. What follows the head, the gate looks after."""

    head_seconds = 30.0

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - as its parent takes them
        super().__init__(*args, **kwargs)
        self._timer: asyncio.TimerHandle | None = None
        self._bytes = 0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        self._bytes += len(data)
        super().data_received(data)
        if self._timer is not None and self._bytes > MOST_HEAD and not self.transport.is_closing():
            self.send_400_response("The head of the request is too large.")

    def on_message_begin(self) -> None:
        self._bytes = 0
        self._await_head()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        super().on_headers_complete()

    def _await_head(self) -> None:
        if self._timer is None:
            self._timer = self.loop.call_later(self.head_seconds, self._give_up)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _give_up(self) -> None:
        self._timer = None
        if self.cycle is not None and not self.cycle.response_complete:
            self._await_head()  # the request before is still being answered, and must not be cut off
        else:
            self.transport.close()
