"""What the server does inside, where a whole program is not needed to see it."""

from __future__ import annotations

import json
import logging
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from mcp import Client, MCPError
from mcp.server import Server
from mcp_types import CallToolResult

from quoth.errors import IndexDamaged, QuestionError
from quoth.http.blocking_work import BoundedPool
from quoth.http.document_catalog import DocumentCatalog
from quoth.http.guard.api_keys import is_loopback
from quoth.http.guard.askers import ANYBODY
from quoth.http.http_faults import client_error, full_error
from quoth.library import Quoth
from quoth.mcp import tool_texts, tools
from quoth.mcp.server import (
    PAGE,
    ErrorTextOf,
    check_arguments,
    cursor_after,
    doc_id_before,
    doc_id_of,
    server_for,
    uri_of,
)
from quoth.mcp.tool_inputs import RetrieveInput
from quoth.mcp.tools import tools_for
from quoth.output.json_schema import object_schema
from quoth.types import Document, Outcome

from ..command_line import PATIENCE, failed, run, write_files
from ..small_corpus import SmallCorpus
from .serving import refused, talk_to

HASHED = {"embedding.model_name": "hash", "rerank.kind": "late"}
MANY = 2 * PAGE + 20


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Quoth:
    """More documents than two pages hold, some in a folder."""
    place = tmp_path_factory.mktemp("many")
    names = [f"{'notes/' if number % 5 == 0 else ''}{number:04}.txt" for number in range(MANY)]
    write_files(place / "files", {name: f"Plot {name} was sown.\n" for name in names})
    return Quoth.build(place / "files", index=place / "index", settings=HASHED)


def served(quoth: Quoth, *, threads: int, queue: int, error_text: ErrorTextOf) -> Server[None]:
    pool = BoundedPool(threads=threads, queue=queue, seconds=PATIENCE)
    return server_for(quoth, pool=pool, error_text=error_text, asker_of=lambda _: ANYBODY)


def test_resources_come_in_pages_and_each_once(many: Quoth) -> None:
    async def work(client: Client) -> None:
        cursor, pages = None, []
        while True:
            page = await client.list_resources(cursor=cursor)
            pages.append([one.name for one in page.resources])
            if (cursor := page.next_cursor) is None:
                break
        assert [len(page) for page in pages] == [PAGE, PAGE, 20]
        assert list(chain.from_iterable(pages)) == [info.id for info in many.documents()]

    talk_to(lambda: Client(served(many, threads=2, queue=8, error_text=full_error)), work)


def test_a_catalog_of_a_folder(many: Quoth) -> None:
    listing = DocumentCatalog(many).listing()
    folder = [info.id for info in many.documents() if info.id.startswith("notes/")]
    first = listing.page(prefix="notes/", after="", limit=60)
    second = listing.page(prefix="notes/", after=folder[59], limit=60)

    assert [document.doc_id for document in (*first.documents, *second.documents)] == folder
    assert (first.total, first.next, second.total, second.next) == (len(folder), folder[59], len(folder), None)
    assert listing.page(prefix="hedges/", after="", limit=5).total == 0
    assert listing.page(prefix="notes/", after="zzz", limit=5).documents == []
    assert [one.doc_id for one in listing.page(prefix="notes/", after="0000", limit=1).documents] == folder[:1]


class _Broken(Quoth):
    """An index that fails in a way that nobody foresaw."""

    def ask(self, *_: Any, **__: Any) -> Any:  # noqa: ANN401 - it gives nothing
        raise RuntimeError("secret detail")

    def document(self, doc_id: str) -> Document | None:
        raise RuntimeError(f"secret detail of {doc_id}")


def test_what_nobody_foresaw_is_logged_and_not_told(small: SmallCorpus, caplog: pytest.LogCaptureFixture) -> None:
    broken = _Broken.open(small.index, settings=HASHED)

    async def work(client: Client) -> None:
        said = await refused(client, "ask", question="How deep is canola sown?")
        assert said == "Something went wrong inside Quoth. Its log, on standard error, says what."
        with pytest.raises(MCPError) as error:
            await client.read_resource(uri_of("canola.md"))
        assert "secret" not in str(error.value)
        assert error.value.data is None

    with caplog.at_level(logging.ERROR):
        talk_to(lambda: Client(served(broken, threads=2, queue=8, error_text=full_error)), work)
    assert caplog.text.count("secret detail") >= 2


class _Held(Quoth):
    """Answers when it is let go."""

    held = threading.Event()
    let_go = threading.Event()

    def ask(self, *given: Any, **filters: Any) -> Outcome:  # noqa: ANN401 - as the class above it
        self.held.set()
        assert self.let_go.wait(PATIENCE)
        return super().ask(*given, **filters)


def test_a_call_too_many_is_sent_away_and_the_others_are_answered(small: SmallCorpus) -> None:
    held = _Held.open(small.index, settings=HASHED)
    question = {"question": "How deep should canola be sown into moist soil?"}

    async def work(client: Client) -> None:
        answers: list[CallToolResult] = []

        async def ask() -> None:
            answers.append(await client.call_tool("ask", question))

        async with anyio.create_task_group() as group:
            group.start_soon(ask)
            group.start_soon(ask)
            await anyio.to_thread.run_sync(_Held.held.wait, PATIENCE)
            while "more to do" not in (said := await refused(client, "list_documents", limit=0)):
                await anyio.sleep(0.01)  # until the second waits as well
            assert said == "the service has more to do than it can\nHint: Try again in 1 s."
            assert len((await client.list_tools()).tools) == 6
            _Held.let_go.set()
        assert [one.is_error for one in answers] == [False, False]

    talk_to(lambda: Client(served(held, threads=1, queue=1, error_text=client_error)), work)


def test_a_model_that_cannot_be_loaded_is_told_to_whoever_asks(
    small: SmallCorpus, caplog: pytest.LogCaptureFixture
) -> None:
    other = Quoth.open(small.index, settings={"embedding.model_name": "no-such-model", "embedding.path": "/nowhere"})

    async def work(client: Client) -> None:
        assert len((await client.list_tools()).tools) == 6
        assert "\nHint: " in await refused(client, "ask", question="How deep is canola sown?")

    talk_to(lambda: Client(served(other, threads=2, queue=8, error_text=full_error)), work)
    assert caplog.records


class _Damaged(Quoth):
    def document(self, doc_id: str) -> Document | None:
        raise IndexDamaged("/srv/index is damaged", hint="Remove /srv/index and ingest again.")

    def ask(self, *given: Any, **filters: Any) -> Outcome:  # noqa: ANN401 - as the class above it
        raise IndexDamaged("/srv/index is damaged", hint="Remove /srv/index and ingest again.")


@pytest.mark.parametrize(("words", "told"), [(client_error, False), (full_error, True)])
def test_agents_of_other_machines_are_not_told_what_only_the_operator_should_know(
    small: SmallCorpus, caplog: pytest.LogCaptureFixture, words: ErrorTextOf, *, told: bool
) -> None:
    damaged = _Damaged.open(small.index, settings=HASHED)

    async def work(client: Client) -> None:
        said = await refused(client, "ask", question="How deep is canola sown?")
        assert ("/srv/index" in said) is told
        assert "\nHint: " in said
        with pytest.raises(MCPError) as error:
            await client.read_resource(uri_of("canola.md"))
        assert ("/srv/index" in f"{error.value} {error.value.data}") is told
        assert error.value.data["code"] == "index-damaged"

    with caplog.at_level(logging.ERROR):
        talk_to(lambda: Client(served(damaged, threads=2, queue=8, error_text=words)), work)
    assert ("/srv/index is damaged" in caplog.text) is not told


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1))
def test_an_address_leads_back_to_its_document(doc_id: str) -> None:
    assert doc_id_of(uri_of(doc_id)) == doc_id
    assert "/" not in uri_of(doc_id).removeprefix("quoth:///documents/")
    assert doc_id_before(cursor_after(doc_id)) == doc_id


@pytest.mark.parametrize("cursor", ["§", "a", "notes/1", "gIA="])
def test_a_cursor_that_was_never_given(cursor: str) -> None:
    assert doc_id_before(cursor) is None


def test_arguments_are_named_when_they_are_wrong() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "'query' is a required property"),
        ({"query": 3}, "query: 3 is not of type 'string'"),
        ({"query": "x", "doc_ids": ["a", 7]}, "doc_ids.1: 7 is not of type 'string'"),
        ({"query": "x", "match_count": 2.5}, "match_count: 2.5 is not of type 'integer'"),
        ({"query": "x", "tags": {"crop": {}}}, "tags.crop"),
        ({"query": "x", "doc_ids": "x" * 10_000}, "…"),
    ]
    for arguments, words in cases:
        with pytest.raises(QuestionError) as wrong:
            check_arguments("retrieve", arguments, object_schema(RetrieveInput))
        assert words in str(wrong.value)
        assert len(str(wrong.value)) < 400
        assert "match_count" in wrong.value.hint


def test_arguments_as_models_give_them() -> None:
    said = check_arguments("retrieve", {"query": "x", "match_count": 3.0, "as_of": None}, object_schema(RetrieveInput))

    assert said == {"query": "x", "match_count": 3}
    assert isinstance(said["match_count"], int)


def _cited(**about: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    plain = {"text": "Fences are brown.", "doc_id": "rules.pdf", "start": 7, "end": 24, "section": ["4", "4.2"]}
    return {**plain, "lead": None, "page": 3, "ocr_confidence": None, **about}


def _outcome(**about: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    plain = {"abstained": False, "confidence": 0.914, "answer_sentences": [_cited()], "unsupported_parts": []}
    rest: dict[str, Any] = {
        "conflicts": [],
        "missing": [],
        "nearest": [],
        "reason": None,
        "run_notes": {"warnings": []},
    }
    return {**plain, **rest, **about}


def test_an_answer_in_words() -> None:
    superseded = _cited(
        lead={"text": "The owner shall:", "start": 0, "end": 6},
        authority="binding",
        effective_date="2019-12-04",
        superseded_by=[{"section": None, "by": "new.pdf"}],
        ocr_confidence=0.87,
    )
    notes = {"warnings": ["The calibration is for another model."]}
    (said,) = tool_texts.answer_texts(
        _outcome(answer_sentences=[_cited(), superseded], unsupported_parts=["gates"], run_notes=notes)
    )

    assert said.startswith("Answered in the words of the documents; confidence 0.91.")
    assert '[1] "Fences are brown."\n    cite: rules.pdf[7:24] · 4 > 4.2 · page 3\n' in said
    assert 'introduced by: "The owner shall:"' in said
    assert "binding · in effect from 2019-12-04 · SUPERSEDED by new.pdf · read from a picture, 87% sure" in said
    assert "Parts of the question without evidence: gates\n\nNote: The calibration is for another model." in said
    assert said.endswith("Nothing may be added to them: no fact, number or condition that is not in their words.")


def test_a_follow_up_says_how_it_was_understood(small: SmallCorpus) -> None:
    quoth = Quoth.open(small.index, settings=HASHED)
    question = "Do we sow canola at 2.5 cm into moist soil?"
    answer = tools.ask(quoth, {"question": "why?", "previous": [question]})

    assert answer["question"] == "why?"
    (said,) = tool_texts.answer_texts(answer)
    assert said.startswith("Understood as: Why do we sow canola at 2.5 cm into moist soil?\n")
    assert "understood" not in tools.ask(quoth, {"question": question, "previous": ["How deep?"]})


def test_sources_that_disagree_are_both_told() -> None:
    statements = [_cited(authority="binding"), _cited(text="Fences are green.", doc_id="guide.md", page=None)]
    conflict = {"detail": "Two colours are named.", "statements": statements}
    (said,) = tool_texts.answer_texts(_outcome(conflicts=[conflict]))

    assert "Sources disagree: Two colours are named. Report both sides." in said
    assert '- "Fences are green." (guide.md[7:24] · 4 > 4.2)' in said


@pytest.mark.parametrize(
    ("outcome", "begins", "shows"),
    [
        ("nothing", "No answer (unknown_entity): ", "What came nearest, not given as an answer:"),
        (
            "may_be_relevant",
            "No sure answer, but something that may be relevant (unknown_entity): ",
            "What may apply, ",
        ),
    ],
)
def test_an_abstention_in_words(outcome: str, begins: str, shows: str) -> None:
    reason = {"code": "unknown_entity", "detail": "No document mentions Halvorsen."}
    about = {"missing": ["Halvorsen"], "nearest": [_cited(why="It does not mention Halvorsen.")], "outcome": outcome}
    (said,) = tool_texts.answer_texts(_outcome(abstained=True, answer_sentences=[], reason=reason, **about))

    assert said.startswith(f"{begins}No document mentions Halvorsen.\n\nWithout evidence: Halvorsen")
    assert shows in said
    assert "what it lacks: It does not mention Halvorsen." in said
    assert "Say that no sure answer was found, and why." in said


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),  # noqa: S104
        ("::", False),
        ("192.168.1.4", False),
        ("docs.example", False),
        ("", False),
    ],
)
def test_what_only_this_machine_reaches(host: str, *, local: bool) -> None:
    assert is_loopback(host) is local


@pytest.fixture
def without_sdk(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine where the extra is not installed."""
    import importlib.util

    found = importlib.util.find_spec
    monkeypatch.setattr("quoth.cli.servers.find_spec", lambda name: None if name == "mcp" else found(name))
    yield


@pytest.mark.usefixtures("without_sdk")
def test_without_the_sdk_the_extra_is_named(small: SmallCorpus) -> None:
    refused_ = run("mcp", "--index", small.index)

    assert failed(refused_, "the MCP server needs the optional extra 'mcp'", "pip install 'quoth[mcp]'")


def test_the_command_line_does_not_load_the_sdk() -> None:
    code = "import sys, quoth.cli; sys.exit(any(name in sys.modules for name in ('mcp', 'uvicorn')))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_documented_tools_and_settings_of_clients_are_real(small: SmallCorpus) -> None:
    page = (Path(__file__).parents[3] / "docs" / "mcp.md").read_text(encoding="utf-8")
    quoth = Quoth.open(small.index, settings=HASHED)
    tools = tools_for(quoth, DocumentCatalog(quoth))
    rows = dict(re.findall(r"^\| `(\w+)` \| (.+?) \|", page, re.MULTILINE))
    blocks = [json.loads(code) for code in re.findall(r"^```jsonc\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)]
    servers = [one for block in blocks for one in (block.get("mcpServers") or block["servers"]).values()]

    assert list(rows) == [tool.name for tool in tools]
    for tool in tools[2:]:
        assert all(f"`{name}`" in rows[tool.name] for name in tool.input["properties"])
    assert [one["args"][:2] for one in servers if "command" in one] == [["mcp", "--index"]] * 3
    remote = [one for one in servers if "url" in one]
    assert all(one["url"].endswith("/mcp") for one in remote)
    assert all(one["headers"]["Authorization"].startswith("Bearer $") for one in remote)


def test_a_schema_of_a_tool_is_an_object_without_an_address(small: SmallCorpus) -> None:
    quoth = Quoth.open(small.index, settings=HASHED)

    for tool in tools_for(quoth, DocumentCatalog(quoth)):
        for schema in (tool.input, tool.output):
            Draft202012Validator.check_schema(schema)
            assert schema["type"] == "object"
            assert "$id" not in schema
