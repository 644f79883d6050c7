"""Over MCP too, nobody is told of what they may not see: each tool answers as if the index had never held it."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError

from quoth.http.blocking_work import BoundedPool
from quoth.http.guard.api_keys import KeyFile, KeyScope
from quoth.http.guard.askers import ANYBODY, NOBODY, Asker
from quoth.http.http_faults import client_error
from quoth.library import Quoth
from quoth.mcp.server import server_for, uri_of

from ..command_line import HASH, PATIENCE, write_files
from ..small_corpus import CANOLA, FILES
from .serving import http, over_http, talk_to

HELD = "board/zanzibar.md"
SOLD = "The board sells Zanzibar Mills for 41 million thalers in Kyzylorda."
HIDDEN = {HELD: f"---\ntitle: Quixotic divestiture\naccess: board\n---\n\n# Divestiture\n\n{SOLD}\n"}
SECRETS = ("quixotic", "divestiture", "kyzylorda", "41 million")
ASKED = "What does the board sell for many thalers?"
LIMITED = Asker("3f9a12c4", "web", frozenset({KeyScope.READ}), frozenset({"legal"}), per_minute=0)
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("ask", {"question": ASKED}),
    ("ask", {"question": ASKED, "doc_ids": [HELD]}),
    ("ask", {"question": f"{CANOLA[:-1]}?"}),
    ("retrieve", {"query": ASKED}),
    ("find", {"pattern": "board sells"}),
    ("find", {"pattern": "[Tt]haler\\w+", "regex": True}),
    ("verify", {"citations": [{"doc_id": HELD, "start": 0, "end": 9, "text": "The board"}]}),
    ("list_documents", {}),
    ("list_documents", {"prefix": "board/"}),
    ("read_span", {"doc_id": HELD, "start": 0, "end": 9}),
]
SETTINGS = {"embedding.model_name": "hash", "rerank.kind": "late"}


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """One with the hidden document, and one without it."""
    places = tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("without")
    for place, files in zip(places, ({**FILES, **HIDDEN}, FILES), strict=True):
        Quoth.build(write_files(place / "files", files), index=place / "index", settings=SETTINGS)
    return places[0] / "index", places[1] / "index"


def told(index: Path, asker: Asker) -> list[str]:
    """What the tools and the resources of an index say, in order."""
    pool = BoundedPool(threads=2, queue=8, seconds=PATIENCE)
    quoth = Quoth.open(index, settings=SETTINGS)
    server = server_for(quoth, pool=pool, error_text=client_error, asker_of=lambda _: asker)
    heard: list[str] = []

    async def work(client: Client) -> None:
        for tool, arguments in CALLS:
            heard.append((await client.call_tool(tool, arguments)).model_dump_json())
        heard.append((await client.list_resources()).model_dump_json())
        try:
            heard.append((await client.read_resource(uri_of(HELD))).model_dump_json())
        except MCPError as error:
            heard.append(str(error))

    talk_to(lambda: Client(server), work)
    return heard


def test_every_tool_and_resource_says_what_an_index_without_the_document_says(indexes: tuple[Path, Path]) -> None:
    whole, without = indexes
    heard = told(whole, LIMITED)

    assert {tool for tool, _ in CALLS} == {"ask", "retrieve", "find", "verify", "list_documents", "read_span"}
    assert heard == told(without, LIMITED)
    assert [word for word in SECRETS if word in "".join(heard).lower()] == []
    assert SOLD in json.dumps(told(whole, ANYBODY))


def test_whom_no_gate_let_through_sees_nothing(indexes: tuple[Path, Path]) -> None:
    heard = "".join(told(indexes[0], NOBODY))

    assert SOLD not in heard
    assert CANOLA not in heard.replace(f"{CANOLA[:-1]}?", "")


def test_over_http_the_labels_of_the_key_count(indexes: tuple[Path, Path], tmp_path: Path) -> None:
    keys = KeyFile(tmp_path / "keys.json")
    tokens = [
        keys.add("agent", scopes=[KeyScope.READ], per_minute=0, access=access)[1] for access in (["legal"], ["board"])
    ]
    heard = []

    async def work(client: Client) -> None:
        heard.append((await client.call_tool("ask", {"question": ASKED})).model_dump_json())

    with http(indexes[0], variables={**HASH, "QUOTH_SERVICE_STATE": str(tmp_path)}) as server:
        for token in tokens:
            talk_to(partial(over_http, server.url, token=token), work)
    assert [SOLD in one for one in heard] == [False, True]
