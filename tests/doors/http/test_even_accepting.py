"""Even accepting: processes that listen on one socket share the clients that come together."""

from __future__ import annotations

import asyncio
import socket

from quoth.http.even_accepting import EvenLoop


class Connection(asyncio.Protocol):
    def __init__(self, connections: set[Connection]) -> None:
        self.connections = connections

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.connections.add(self)
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        self.connections.discard(self)


async def _shares(clients: int) -> list[int]:
    """Return how many of the clients, who come together, each of two servers on one socket accepts."""
    loop = asyncio.get_running_loop()
    taken: list[set[Connection]] = [set(), set()]
    with socket.create_server(("127.0.0.1", 0)) as first, first.dup() as second:
        address = first.getsockname()
        servers = [
            await loop.create_server(lambda mine=mine: Connection(mine), sock=opened)  # type: ignore[misc]
            for mine, opened in zip(taken, (first, second), strict=True)
        ]
        writers = [(await asyncio.open_connection(*address))[1] for _ in range(clients)]
        async with asyncio.timeout(30):
            while sum(map(len, taken)) < clients:
                await asyncio.sleep(0.01)
        shares = [len(mine) for mine in taken]
        for writer in writers:
            writer.close()
            await writer.wait_closed()
        for server in servers:
            server.close()
            await server.wait_closed()
        async with asyncio.timeout(30):
            while any(taken):
                await asyncio.sleep(0.01)
    return shares


def test_clients_that_come_together_are_shared() -> None:
    with asyncio.Runner(loop_factory=EvenLoop) as runner:
        shares = runner.run(_shares(8))

    assert sum(shares) == 8
    assert min(shares) >= 3


def test_a_server_that_opens_its_own_socket_is_an_ordinary_one() -> None:
    async def serve() -> bytes:
        async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"hello")
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        async with server:
            reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
            said = await reader.read()
            writer.close()
            return said

    with asyncio.Runner(loop_factory=EvenLoop) as runner:
        assert runner.run(serve()) == b"hello"
