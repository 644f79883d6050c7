"""What a connection may cost, whatever its client sends."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from quoth.http.listening import MOST_HEAD, BoundedConnection, server_config

from ..command_line import PATIENCE

CHUNKED = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


class Quick(BoundedConnection):
    head_seconds = 0.3
    rest_seconds = 0.3


async def refuses(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers before it has read anything."""
    await send({"type": "http.response.start", "status": 401, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


async def reads(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers with the number of headers that it sees once it has read everything, and that of the bytes."""
    size, more = 0, True
    while more:
        message = await receive()
        size += len(message.get("body", b""))
        more = message.get("more_body", False)
    said = f"{len(scope['headers'])} {size}".encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(said))]})
    await send({"type": "http.response.body", "body": said})


def talk(app: Callable[..., Any], *talks: Talk, connection: type[BoundedConnection] = Quick) -> None:
    """Let each of `talks` have a connection to a server of its own, one after the other."""

    async def main() -> None:
        config = uvicorn.Config(app, http=connection, ws="none", lifespan="off", log_config=None, timeout_keep_alive=60)
        server = uvicorn.Server(config)
        with socket.create_server(("127.0.0.1", 0)) as listening:
            serves = asyncio.create_task(server._serve([listening]))
            try:
                async with asyncio.timeout(PATIENCE):
                    for one in talks:
                        reader, writer = await asyncio.open_connection(*listening.getsockname())
                        await one(reader, writer)
                        writer.close()
            finally:
                server.should_exit = server.force_exit = True
                await serves

    asyncio.run(main())


async def ended(reader: asyncio.StreamReader) -> bytes:
    """What comes until the connection is closed."""
    try:
        return await reader.read()
    except ConnectionError:
        return b""


@pytest.mark.parametrize(
    "head", [b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 999999\r\n\r\n", CHUNKED + b"fffff\r\n"]
)
def test_what_is_left_of_a_request_that_was_answered_cannot_hold_its_connection(head: bytes) -> None:
    async def one_more_byte(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(head)
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 401")
        writer.write(b"x")
        assert await ended(reader) == b""

    async def the_rest(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One that sends the rest in time is kept."""
        for _ in range(3):
            writer.write(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n")
            assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 401")
            writer.write(b"xx")
            await asyncio.sleep(0.4)

    class Patient(Quick):
        head_seconds = PATIENCE

    talk(refuses, one_more_byte, the_rest, connection=Patient)


def test_what_follows_the_last_chunk_is_bounded_and_is_no_header() -> None:
    async def small(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED + b"3\r\nabc\r\n0\r\nAuthorization: Bearer x\r\n\r\n")
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        assert await reader.readexactly(3) == b"2 3"

    def endless(first: bytes, again: bytes) -> Talk:
        async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(CHUNKED + first)
            sent = 0
            while not reader.at_eof() and sent < 100 * MOST_HEAD:
                writer.write(again)
                sent += len(again)
                try:
                    await writer.drain()
                except ConnectionError:
                    break
                await asyncio.sleep(0)
            assert sent < 100 * MOST_HEAD
            assert b" 200 " not in await ended(reader)

        return send

    class Patient(Quick):
        head_seconds = PATIENCE

    trailers = endless(b"0\r\n", 100 * b"X: aaaa\r\n")
    one_value = endless(b"0\r\nX: ", 1_000 * b"a")
    extension = endless(b"1;", 1_000 * b"a")
    talk(reads, small, trailers, one_value, extension, connection=Patient)


def test_small_chunks_of_a_large_body_are_no_head() -> None:
    async def send(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(CHUNKED + 50_000 * b"1\r\nx\r\n" + b"0\r\n\r\n")
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
        assert await reader.readexactly(7) == b"2 50000"

    talk(reads, send)


def test_one_connection_too_many_is_closed_and_the_others_are_served() -> None:
    class Few(BoundedConnection):
        most_connections = 2

    async def crowd(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address = writer.get_extra_info("peername")
        other = await asyncio.open_connection(*address)
        third = await asyncio.open_connection(*address)
        assert await ended(third[0]) == b""
        for one in ((reader, writer), other):
            one[1].write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            assert (await one[0].readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 401")
        for one in (other, third):
            one[1].close()
            await one[1].wait_closed()

    talk(refuses, crowd, connection=Few)


def test_every_server_of_ours_is_bounded() -> None:
    config = server_config(refuses, grace_seconds=0.2)

    assert config.http is BoundedConnection
    assert (config.server_header, config.proxy_headers, config.ws) == (False, False, "none")
    assert config.timeout_graceful_shutdown == 1
