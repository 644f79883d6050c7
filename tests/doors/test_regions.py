"""Bibliographies and back matter are asked by name, through every door, and are no evidence otherwise."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from starlette.testclient import TestClient

from quoth import Quoth
from quoth.http.document_catalog import DocumentCatalog
from quoth.mcp.tools import tools_for
from quoth.types import EVERYTHING

from .command_line import failed, run, write_files
from .http.serving import opened, plan

SCHEMAS = Path(__file__).parents[2] / "src" / "quoth" / "output" / "schemas"
GLICK = "Glick B, Lee S (2014) Ethylene and the waterlogging of maize. FEMS Lett 251: 1-7."
GRANT = "The Basel Science Fund paid for the work with grant 4711."
PAPER = f"""\
# Maize in wet soil

## Results

Maize stands in wet soil for three days and loses a tenth of its yield.

## References

1. Lee S, Badieyan S, Bevan DR (2010) Volatiles of young maize plants. Plant J 59: 149-155.

2. {GLICK}

3. Das S, Vasudevan D (2006) Tulsi and its uses. Indian J Nat Prod 5: 279-283.

## Funding

{GRANT}

## Conflict of interest

The authors declare none.
"""
CITED = "Which work of 2014 is on ethylene and the waterlogging of maize?"
ANSWER_ALL = ("--set", "decision.abstain=false", "--set", "selection.max_sentences=1")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("paper")
    folder = write_files(place / "papers", {"maize.md": PAPER})
    assert run("ingest", folder, "--index", place / "index").code == 0
    return place / "index"


@pytest.fixture(scope="module")
def client(index: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with opened(plan(index, tmp_path_factory.mktemp("state"))) as one:
        yield one


def fits(value: object, schema: str) -> None:
    Draft202012Validator(json.loads((SCHEMAS / schema).read_text("utf-8"))).validate(value)


def texts(answer: dict[str, Any]) -> list[str]:
    return [quote["text"] for quote in answer["answer_sentences"] or answer["nearest"]]


def test_a_reference_is_an_answer_only_where_references_are_asked(index: Path) -> None:
    plain = run("ask", CITED, "--index", index, "--json", *ANSWER_ALL).object
    asked = run("ask", CITED, "--index", index, "--json", "--regions", "references", *ANSWER_ALL)

    assert texts(plain) == ["Maize stands in wet soil for three days and loses a tenth of its yield."]
    assert texts(asked.object) == [GLICK]
    assert asked.object["answer_sentences"][0]["region"] == "references"
    fits(asked.object, "answer.schema.json")


def test_a_quoted_reference_is_exact(index: Path, tmp_path: Path) -> None:
    saved = tmp_path / "run.jsonl"
    saved.write_bytes(run("ask", CITED, "--index", index, "--json", "--regions", "references", *ANSWER_ALL).data)

    assert run("verify", saved, "--index", index).text.strip() == "1 of 1 citations are exact"


@pytest.mark.parametrize("regions", [("--regions", "back_matter"), ("--regions", "masthead, back_matter")])
def test_back_matter_is_asked_by_its_name(index: Path, regions: tuple[str, ...]) -> None:
    asked = run("ask", "Who paid for the work, by which grant?", "--index", index, "--json", *regions, *ANSWER_ALL)

    assert texts(asked.object) == [GRANT]


def test_another_kind_is_refused_with_the_kinds_there_are(index: Path) -> None:
    ran = run("ask", CITED, "--index", index, "--regions", "footnotes")

    assert failed(ran, "'footnotes'", "references, back_matter, masthead")


def test_a_retrieval_gives_entries_and_a_context_of_them(index: Path) -> None:
    found = run("retrieve", CITED, "--index", index, "--json", "--regions", "references", "--set", "context.nothing=0")
    best = found.object["passages"][0]

    assert best["content"] == GLICK
    assert best["section_hierarchy"][-1] == "References"
    assert found.object["filters"] == {"regions": ["references"]}
    assert GLICK in found.object["context"]
    fits(found.object, "retrieval.schema.json")


def test_a_question_of_a_batch_names_its_regions(index: Path, tmp_path: Path) -> None:
    questions = tmp_path / "questions.jsonl"
    lines = [
        {"question": CITED, "filters": {"regions": regions}} for regions in ("references", ["back_matter"], "none")
    ]
    questions.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    ran = run("batch", questions, "--index", index, *ANSWER_ALL)

    assert [quote["region"] for answer in ran.objects for quote in answer["answer_sentences"]] == [
        "references",
        "back_matter",
    ]
    assert "\"filters.regions\": 'none' is no part" in ran.talk


def test_http_takes_regions_among_the_filters(client: TestClient) -> None:
    asked = {"question": CITED, "filters": {"regions": "references"}}
    answer = client.post("/answer", json=asked).json()
    found = client.post("/retrieve", json={"query": CITED, "filters": {"regions": ["references"]}}).json()

    assert texts(answer)[0] == GLICK
    assert found["passages"][0]["content"] == GLICK
    assert client.post("/answer", json=asked | {"filters": {"regions": "footnote"}}).status_code == 422


def test_mcp_takes_regions(index: Path) -> None:
    quoth = Quoth.open(index, settings={"decision.abstain": False, "embedding.model_name": "hash"})
    tools = {tool.name: tool for tool in tools_for(quoth, DocumentCatalog(quoth))}
    answer = tools["ask"].call(EVERYTHING, {"question": CITED, "regions": ["references"]})

    assert texts(answer)[0] == GLICK
