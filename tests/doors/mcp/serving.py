"""`quoth mcp` as its clients start it, and the SDK's own client to talk to it."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

import anyio
import httpx2
from jsonschema import Draft202012Validator
from mcp import Client, StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from ..command_line import HASH, PATIENCE, PROGRAM, environment, finish, start

Work = Callable[[Client], Awaitable[None]]


@asynccontextmanager
async def stdio(index: Path, *, errlog: TextIO, mode: str = "auto") -> AsyncIterator[Client]:
    """A client of a program of its own, over its standard input and output."""
    server = StdioServerParameters(
        command=str(PROGRAM), args=["mcp", "--index", str(index)], env=environment(HASH), cwd=index.parent
    )
    async with Client(stdio_client(server, errlog=errlog), mode=mode, read_timeout_seconds=PATIENCE) as client:
        yield client


@dataclass(frozen=True, slots=True)
class Served:
    """A server over HTTP: where it is, its process, and what it has said so far."""

    url: str
    program: subprocess.Popen[bytes]
    talk: list[str] = field(default_factory=list)


@contextmanager
def http(index: Path, *options: str, variables: Mapping[str, str] = HASH) -> Iterator[Served]:
    """A program that listens on a free port; it must end by itself once it is told to."""
    program = start("mcp", "--index", index, "--http", "--port", "0", *options, variables=variables)
    assert program.stderr is not None
    talk: list[str] = []
    for line in program.stderr:
        talk.append(line.decode("utf-8"))
        if talk[-1].startswith("listening on "):
            break
    else:
        ended = finish(program)
        raise AssertionError((ended.code, talk))
    listener = threading.Thread(target=lambda: talk.extend(line.decode() for line in program.stderr or ()))
    listener.start()
    try:
        yield Served(talk[-1].removeprefix("listening on ").strip(), program, talk)
    finally:
        program.terminate()
        try:
            program.wait(PATIENCE)
        finally:
            program.kill()
            listener.join(PATIENCE)
            for pipe in (program.stdin, program.stdout, program.stderr):
                if pipe is not None:
                    pipe.close()


@asynccontextmanager
async def over_http(url: str, *, token: str | None = None, mode: str = "auto") -> AsyncIterator[Client]:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE, trust_env=False) as connection:
        transport = streamable_http_client(url, http_client=connection)
        async with Client(transport, mode=mode, read_timeout_seconds=PATIENCE) as client:
            yield client


def talk_to(opened: Callable[[], Any], work: Work) -> None:
    """Run `work` with a client; nothing may hang."""

    async def run() -> None:
        with anyio.fail_after(PATIENCE):
            async with opened() as client:
                await work(client)

    anyio.run(run)


def text_of(result: CallToolResult) -> str:
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))


async def called(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    """The structured content of a call that went well, which fits the schema that the server itself published."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    schemas = {one.name: one.output_schema for one in (await client.list_tools()).tools}
    schema = schemas[tool]
    assert schema is not None
    Draft202012Validator(schema).validate(result.structured_content)
    content: dict[str, Any] = result.structured_content
    return content


async def refused(client: Client, tool: str, **arguments: Any) -> str:  # noqa: ANN401 - any JSON
    """What a tool says when it cannot do what it was asked: a sentence and a hint, and no trace of the program."""
    result = await client.call_tool(tool, arguments)
    said = text_of(result)
    assert result.is_error, said
    assert result.structured_content is None
    assert "Traceback" not in said
    assert os.sep + "site-packages" not in said
    return said
