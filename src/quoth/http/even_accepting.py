"""Even accepting: of several processes that listen on one socket, the one with the fewest connections takes the next.

The event loop's own way is to accept whatever waits, so that the process which wakes first takes all clients that come
together, and keeps them as long as their connections last, while the others have nothing to do.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Collection
from typing import Any

try:
    from uvloop import Loop as _Loop
except ImportError:  # not on Windows
    _Loop = asyncio.SelectorEventLoop  # type: ignore[assignment, misc]

_STEP_SECONDS = 0.001
"""How long a process waits for the others to accept, for each connection that it has."""
_LONGEST_SECONDS = 0.01
_NO_FILES_SECONDS = 1.0
"""How long a process waits after an error, such as too many open files."""


class EvenLoop(_Loop):
    """An event loop whose servers accept evenly on sockets that were opened before."""

    async def create_server(self, protocol_factory: Any, *args: Any, **options: Any) -> Any:  # noqa: ANN401 - as its parent
        opened: socket.socket | None = options.get("sock")
        if opened is None or options.get("ssl") is not None:
            return await super().create_server(protocol_factory, *args, **options)
        return _EvenServer(self, protocol_factory, opened, backlog=options.get("backlog", 100))


class _EvenServer:
    """Accepts one connection at a time: at once without connections, else after a moment for each."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        make: Callable[[], asyncio.Protocol],
        opened: socket.socket,
        *,
        backlog: int,
    ) -> None:
        self._loop = loop
        self._make = make
        self._socket = opened
        self._connections: Collection[object] = ()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._later: asyncio.TimerHandle | None = None
        self._closed = False
        opened.setblocking(False)
        opened.listen(backlog)
        loop.add_reader(opened, self._ready)

    def close(self) -> None:
        self._closed = True
        self._loop.remove_reader(self._socket)
        if self._later is not None:
            self._later.cancel()

    async def wait_closed(self) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks)

    def _ready(self) -> None:
        own = len(self._connections) + len(self._tasks)
        if own == 0:
            self._accept()
            return
        self._loop.remove_reader(self._socket)
        self._again_after(min(own * _STEP_SECONDS, _LONGEST_SECONDS), accept=True)

    def _again_after(self, seconds: float, *, accept: bool) -> None:
        def again() -> None:
            self._later = None
            if accept:
                self._accept()
            if not self._closed and self._later is None:
                self._loop.add_reader(self._socket, self._ready)

        self._later = self._loop.call_later(seconds, again)

    def _accept(self) -> None:
        try:
            connection, _ = self._socket.accept()
        except (BlockingIOError, InterruptedError, ConnectionAbortedError):
            return  # another process took it, or the client is gone
        except OSError as error:
            self._loop.call_exception_handler({"message": "a connection cannot be accepted", "exception": error})
            self._loop.remove_reader(self._socket)
            self._again_after(_NO_FILES_SECONDS, accept=False)
            return
        connection.setblocking(False)
        task = self._loop.create_task(self._serve(connection))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, connection: socket.socket) -> None:
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            _, protocol = await self._loop.connect_accepted_socket(self._make, connection)
        except OSError:
            connection.close()  # the client is gone
            return
        self._connections = getattr(protocol, "connections", ())
