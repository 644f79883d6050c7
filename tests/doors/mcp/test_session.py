"""A whole conversation of an agent with `quoth mcp`, over both transports."""

from __future__ import annotations

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from mcp import Client, MCPError
from mcp_types import TextResourceContents

from quoth import __version__
from quoth.library import Quoth
from quoth.output.render import outcome_json, retrieval_json
from quoth.types import Filters

from ..command_line import HASH, PATIENCE, failed, finish, run, start
from ..small_corpus import CANOLA, FILES, HALVORSEN, SmallCorpus
from .serving import Served, called, http, over_http, refused, stdio, talk_to, text_of

Opened = Callable[[], Any]
SOWING = "How deep should canola be sown into moist soil?"
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
TOOLS = ["ask", "retrieve", "find", "verify", "list_documents", "read_span"]


@pytest.fixture(scope="module")
def served(small: SmallCorpus) -> Iterator[Served]:
    with http(small.index, "--no-auth") as server:
        yield server


@pytest.fixture(params=["stdio", "stdio, with a handshake", "http", "http, with a handshake"])
def opened(request: pytest.FixtureRequest, small: SmallCorpus, tmp_path: Path) -> Iterator[Opened]:
    """Opens a client over each transport, of the protocol's newest revision and of those before it."""
    mode = "legacy" if "handshake" in request.param else "auto"
    if request.param.startswith("http"):
        server: Served = request.getfixturevalue("served")
        yield lambda: over_http(server.url, mode=mode)
        return
    with (tmp_path / "stderr").open("w", encoding="utf-8") as errlog:
        yield lambda: stdio(small.index, errlog=errlog, mode=mode)
    assert (tmp_path / "stderr").read_text(encoding="utf-8") == ""


def direct(small: SmallCorpus) -> Quoth:
    return Quoth.open(small.index, settings={"embedding.model_name": "hash", "rerank.kind": "late"})


def test_a_conversation(opened: Opened, small: SmallCorpus) -> None:
    """One session for all of it: to start a program takes longer than everything that is asked of it."""
    expected = outcome_json(direct(small).ask(SOWING))
    passages = retrieval_json(direct(small).retrieve(SOWING, most=2))

    async def work(client: Client) -> None:
        assert client.server_info is not None
        assert (client.server_info.name, client.server_info.version) == ("quoth", __version__)
        assert "word for word" in (client.instructions or "")
        await _tools_are_described(client)
        answer = await called(client, "ask", question=SOWING)
        assert answer == expected
        assert answer["final_answer"].startswith(CANOLA)
        await _quotes_hold(client, answer)
        await _abstains(client)
        found = await client.call_tool("retrieve", {"query": SOWING, "match_count": 2})
        assert found.structured_content == passages
        assert text_of(found).startswith(passages["context"])
        await _documents_are_there(client, small)
        await _errors_have_hints(client)

    talk_to(opened, work)


async def _tools_are_described(client: Client) -> None:
    tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == TOOLS
    for tool in tools:
        hints = tool.annotations
        assert hints is not None
        assert (hints.read_only_hint, hints.idempotent_hint, hints.open_world_hint) == (True, True, False)
        assert tool.description
        assert tool.input_schema["type"] == "object"
        assert all(value.get("description") for value in tool.input_schema["properties"].values())
        assert tool.output_schema is not None
        assert tool.output_schema["type"] == "object"
        assert not {"$id", "$schema"} & set(tool.output_schema)


async def _quotes_hold(client: Client, answer: dict[str, Any]) -> None:
    sentences = answer["answer_sentences"]
    verified = await called(client, "verify", citations=sentences)
    assert verified == {"verified": True, "citations": len(sentences), "failures": []}
    moved = {**sentences[0], "start": sentences[0]["start"] + 1}
    unknown = {**sentences[0], "doc_id": "hedges.md"}
    verified = await called(client, "verify", citations=[sentences[0], moved, unknown])
    assert (verified["verified"], verified["citations"]) == (False, 3)
    assert [one["number"] for one in verified["failures"]] == [2, 3]
    assert verified["failures"][1]["why"] == "there is no such document"
    first = sentences[0]
    span = await called(client, "read_span", doc_id=first["doc_id"], start=first["start"], end=first["end"], around=200)
    assert span["quote"] == first["text"]
    assert span["section"] == first["section"]
    assert span["before"] + span["quote"] + span["after"] == FILES["canola.md"]
    cited = {name: first[name] for name in ("doc_id", "start", "end", "doc_sha256")}
    assert (await called(client, "read_span", **cited))["quote"] == first["text"]
    said = await refused(client, "read_span", **{**cited, "doc_sha256": "0" * 16})
    assert said.startswith("'canola.md' has changed since it was cited\nHint: Ask the question again")
    assert "doc_sha256" in await refused(client, "read_span", **{**cited, "doc_sha256": "none"})


async def _abstains(client: Client) -> None:
    result = await client.call_tool("ask", {"question": HALVORSEN})
    assert not result.is_error
    assert result.structured_content["abstained"]
    said = text_of(result)
    assert "(unknown_entity): " in said.splitlines()[0]
    assert "Halvorsen" in said
    assert "not given as an answer" in said
    assert "nor from anything else that you know" in said


async def _documents_are_there(client: Client, small: SmallCorpus) -> None:
    listed = await called(client, "list_documents")
    assert [one["doc_id"] for one in listed["documents"]] == sorted(FILES)
    assert (listed["total"], listed["next"]) == (4, None)
    page = await called(client, "list_documents", limit=2, after="canola.md")
    assert [one["doc_id"] for one in page["documents"]] == ["notes/windows.txt", "rules.md"]
    assert (page["total"], page["next"]) == (4, "rules.md")
    folder = await called(client, "list_documents", prefix="notes/")
    assert ([one["doc_id"] for one in folder["documents"]], folder["total"]) == (["notes/windows.txt"], 1)

    resources = await client.list_resources()
    assert resources.next_cursor is None
    assert [one.name for one in resources.resources] == sorted(FILES)
    uris = {one.name: one.uri for one in resources.resources}
    assert uris["notes/windows.txt"] == "quoth:///documents/notes%2Fwindows.txt"
    for doc_id, uri in uris.items():
        (content,) = (await client.read_resource(uri)).contents
        assert isinstance(content, TextResourceContents)
        assert (content.mime_type, content.uri) == ("text/plain", uri)
        assert content.text == small.source(doc_id)
    (template,) = (await client.list_resource_templates()).resource_templates
    assert template.uri_template == "quoth:///documents/{doc_id}"


async def _errors_have_hints(client: Client) -> None:
    said = await refused(client, "read_span", doc_id="hedges.md", start=0, end=3)
    assert said == "the index holds no document 'hedges.md'\nHint: Take the id from a list of the documents."
    assert "is no slice of canola.md" in await refused(
        client, "read_span", doc_id="canola.md", start=0, end=10**6 // 20
    )
    assert "one call gives" in await refused(client, "read_span", doc_id="canola.md", start=0, end=10**6)
    assert "'next week' is no day" in await refused(client, "ask", question=SOWING, as_of="next week")
    assert "YYYY-MM-DD" in await refused(client, "retrieve", query=SOWING, as_of="2022-02-30")
    assert "more than 4,000" in await refused(client, "ask", question="why " * 2_000)
    assert "no words" in await refused(client, "ask", question="?!")
    assert "'question' is a required property" in await refused(client, "ask")
    assert "match_count: 0 is less than" in await refused(client, "retrieve", query=SOWING, match_count=0)
    assert "doc_scope" in await refused(client, "ask", question=SOWING, doc_scope=["canola.md"])
    for uri in ("quoth:///documents/hedges.md", "quoth:///documents/%FF", "file:///etc/passwd"):
        with pytest.raises(MCPError, match="no such document"):
            await client.read_resource(uri)
    with pytest.raises(MCPError, match="cursor"):
        await client.list_resources(cursor="§")
    with pytest.raises(MCPError, match="no tool 'burn'"):
        await client.call_tool("burn", {})


def test_several_things_at_once(small: SmallCorpus, served: Served, tmp_path: Path) -> None:
    """Filters, what a model leaves open, foreign letters, and many questions together."""
    warden = "\N{GREEK SMALL LETTER ALPHA}-warden"
    burning = f"Is burning straw forbidden from May to September \N{EN DASH} ask the {warden}? \N{EAR OF RICE}"
    questions = [SOWING, HALVORSEN, burning, "When to store wheat?"] * 4
    quoth = direct(small)
    expected = [outcome_json(quoth.ask(question)) for question in questions[:4]] * 4
    wheat = outcome_json(quoth.ask(SOWING, filters=Filters(doc_ids=["wheat.md"], tags={"crop": "wheat"})))
    text = small.source("rules.md")
    begin = text.index(warden)

    async def work(client: Client) -> None:
        answers: dict[int, dict[str, Any]] = {}

        async def one(number: int) -> None:
            answers[number] = (await client.call_tool("ask", {"question": questions[number]})).structured_content

        async with anyio.create_task_group() as group:
            for number in range(len(questions)):
                group.start_soon(one, number)
        assert [answers[number] for number in range(len(questions))] == expected
        assert answers[2]["question"] == burning
        assert warden in answers[2]["final_answer"]

        found = await called(client, "ask", question=SOWING, doc_ids=["wheat.md"], tags={"crop": "wheat"}, as_of=None)
        assert found == wheat
        assert {one["doc_id"] for one in found["nearest"]} == {"wheat.md"}
        found = await called(client, "retrieve", query=SOWING, document_types=["guide"], match_count=1.0, tags=None)
        assert {one["doc_id"] for one in found["passages"]} == {"canola.md"}
        span = await called(client, "read_span", doc_id="rules.md", start=begin, end=len(text), around=10)
        assert span["quote"] == text[begin:]

    talk_to(lambda: over_http(served.url), work)
    with (tmp_path / "stderr").open("w", encoding="utf-8") as errlog:
        talk_to(lambda: stdio(small.index, errlog=errlog), work)


def test_only_the_protocol_goes_to_standard_output(small: SmallCorpus) -> None:
    question = {"name": "ask", "arguments": {"question": SOWING}}
    messages: list[dict[str, object]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": question},
    ]
    program = start("mcp", "--index", small.index, variables=HASH)
    assert program.stdin is not None
    assert program.stdout is not None
    answers = []
    for message in messages:
        program.stdin.write(json.dumps(message).encode() + b"\n")
        program.stdin.flush()
        if "id" in message:
            answers.append(json.loads(program.stdout.readline()))
    ended = finish(program)  # a client that goes closes our input

    assert [one["id"] for one in answers] == [1, 2]
    assert answers[0]["result"]["serverInfo"]["name"] == "quoth"
    assert answers[1]["result"]["structuredContent"]["answer_sentences"][0]["text"] == CANOLA
    assert (ended.code, ended.data, ended.talk) == (0, b"", "")


def test_an_interrupt_ends_it_at_once(small: SmallCorpus) -> None:
    program = start("mcp", "--index", small.index)
    assert program.stdin is not None
    assert program.stdout is not None
    hello = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
    program.stdin.write(json.dumps(hello).encode() + b"\n")
    program.stdin.flush()
    assert json.loads(program.stdout.readline())["id"] == 1
    program.send_signal(signal.SIGINT)
    try:
        assert program.wait(PATIENCE) == -signal.SIGINT  # its input is still open
    finally:
        program.kill()
        program.communicate()


def test_no_index_is_said_at_once(tmp_path: Path) -> None:
    assert failed(run("mcp", "--index", tmp_path / "nothing"), "there is no index at", "Make one: quoth ingest")


def test_a_new_generation_is_seen_without_a_restart(own: SmallCorpus, tmp_path: Path) -> None:
    async def work(client: Client) -> None:
        assert (await called(client, "list_documents"))["total"] == 4
        quoth = Quoth.open(own.index, settings={"embedding.model_name": "hash", "rerank.kind": "late"})
        await anyio.to_thread.run_sync(lambda: quoth.remove("canola.md"))
        assert (await called(client, "list_documents"))["total"] == 3
        assert "no document" in await refused(client, "read_span", doc_id="canola.md", start=0, end=3)

    with (tmp_path / "stderr").open("w", encoding="utf-8") as errlog:
        talk_to(lambda: stdio(own.index, errlog=errlog), work)


@pytest.mark.parametrize("options", [["--no-auth"], ["--allowed-host", "docs.example"]])
def test_options_of_http_are_refused_without_it(small: SmallCorpus, options: list[str]) -> None:
    ended = run("mcp", "--index", small.index, *options)

    assert ended.code == 2
    assert "go with --http" in ended.talk
