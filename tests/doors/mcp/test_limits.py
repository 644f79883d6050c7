"""MCP over HTTP has the limits of the HTTP service: of bodies, of time, of rate, and its headers."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

from mcp import Client
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from quoth.http.blocking_work import BoundedPool
from quoth.http.guard.askers import ANYBODY, asker_in
from quoth.http.http_faults import client_error
from quoth.library import Quoth
from quoth.mcp.server import server_for
from quoth.mcp.transports import MessageGate
from quoth.settings import ServiceSettings
from quoth.types import Outcome

from ..command_line import HASH, PATIENCE
from ..http.serving import Exchange, call, sends
from ..small_corpus import SmallCorpus
from .serving import http, refused, talk_to
from .test_http import new_key, post

HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
}


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """An application that gives back what it is sent, and sees who sent it."""
    assert asker_in(scope) == ANYBODY
    message = await receive()
    assert not message["more_body"]
    await Response(message["body"])(scope, receive, send)


def exchanged(receive: Receive, method: str = "POST", **headers: str) -> Exchange:
    gate = MessageGate(echo, None, ServiceSettings(max_body_kb=1, min_kb_per_second=1), slow_seconds=0.2)
    return asyncio.run(call(gate, method, "/mcp", receive=receive, headers=headers))


def code_of(exchange: Exchange) -> str:
    error: dict[str, Any] = json.loads(exchange.body)["error"]
    assert set(error) == {"code", "message", "hint"}
    code: str = error["code"]
    return code


def test_a_message_arrives_whole_and_every_response_has_the_headers() -> None:
    told = exchanged(sends(b"one ", b"two"), **{"x-request-id": "mine"})

    assert (told.status, told.body) == (200, b"one two")
    assert HEADERS.items() <= told.headers.items()
    assert told.headers["x-request-id"] == "mine"
    wrong = exchanged(sends(b""), method="GET")
    assert (wrong.status, code_of(wrong), wrong.headers["allow"]) == (405, "method", "POST")
    assert HEADERS.items() <= wrong.headers.items()


def test_a_body_is_bounded_in_size_whether_it_says_so_or_not() -> None:
    for told in (
        exchanged(sends(b"x"), **{"content-length": "1025"}),
        exchanged(sends(b"x" * 1_000, b"x" * 25), **{"transfer-encoding": "chunked"}),
    ):
        assert (told.status, code_of(told)) == (413, "too-large")


def test_a_body_that_pauses_or_drips_is_ended() -> None:
    async def drips() -> Message:
        await asyncio.sleep(0.02)
        return {"type": "http.request", "body": b"x", "more_body": True}

    async def pauses() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    for receive in (drips, pauses):
        told = exchanged(receive, **{"transfer-encoding": "chunked"})
        assert (told.status, code_of(told)) == (408, "slow")
        assert told.headers["connection"] == "close"


def test_a_client_that_goes_away_is_not_waited_for() -> None:
    async def leaves() -> Message:
        return {"type": "http.disconnect"}

    assert exchanged(leaves, **{"transfer-encoding": "chunked"}).status == 499


class _Slow(Quoth):
    let_go = threading.Event()

    def ask(self, *given: Any, **filters: Any) -> Outcome:  # noqa: ANN401 - as the class above it
        assert self.let_go.wait(PATIENCE)
        return super().ask(*given, **filters)


def test_a_call_that_takes_too_long_is_ended_and_others_are_answered(small: SmallCorpus) -> None:
    slow = _Slow.open(small.index, settings={"embedding.model_name": "hash", "rerank.kind": "late"})
    pool = BoundedPool(threads=2, queue=2, seconds=0.5)
    server = server_for(slow, pool=pool, error_text=client_error, asker_of=lambda _: ANYBODY)

    async def work(client: Client) -> None:
        said = await refused(client, "ask", question="How deep should canola be sown?")
        assert said.startswith("it took longer than 0.5 s\nHint: ")
        assert not (await client.call_tool("find", {"pattern": "canola"})).is_error
        _Slow.let_go.set()

    talk_to(lambda: Client(server), work)


def test_a_server_tells_what_is_left_of_a_rate(small: SmallCorpus, tmp_path: Path) -> None:
    _, token = new_key(tmp_path, per_minute=60)
    with http(small.index, variables={**HASH, "QUOTH_SERVICE_STATE": str(tmp_path)}) as server:
        told = post(server.url, token=token)
        nobody = post(server.url, token=None)
    assert (told.status_code, told.headers["ratelimit-limit"], told.headers["ratelimit-remaining"]) == (200, "60", "9")
    for reply in (told, nobody):
        assert HEADERS.items() <= dict(reply.headers).items()
