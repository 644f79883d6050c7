"""The HTTP service over shards behind calls."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from doors.http.serving import HERE, error_of, plan
from quoth.cluster.remote_store import RemoteStore
from quoth.http.app import make_app
from quoth.library import Quoth
from quoth.stores.embedded import EmbeddedStore
from quoth.stores.sharded import assign
from quoth.types import Answer

from .remote_shards import CROPS, HASH, LAYOUT, QUESTIONS, Wires, corpus, dies_at, plain, shards_of, wait_for

SHARDS = 3
LOST = assign("canola.md", SHARDS)
NAME = f"shard {LOST + 1} of {SHARDS}"


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> EmbeddedStore:
    return corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture
def wires(one: EmbeddedStore, tmp_path: Path) -> Wires:
    shards_of(one, tmp_path / "shards", shards=SHARDS)
    return Wires(tmp_path / "shards", SHARDS)


@pytest.fixture
def client(wires: Wires, tmp_path: Path) -> Iterator[TestClient]:
    store = RemoteStore(wires.place, wires, layout=LAYOUT, poll_seconds=0.05)
    given = plan(wires.place, tmp_path / "state")
    few = {**given.overrides.flags, "retrieval.candidates": "6"}
    app = make_app(type(given)(given.index, type(HASH)({}, {}, few), None, auth=False), cluster=store)
    with TestClient(app, base_url=HERE) as client:
        yield client
    wires.close()


def test_answers_are_the_bytes_of_one_index(client: TestClient, one: EmbeddedStore) -> None:
    answered = 0
    for question in QUESTIONS:
        outcome = Quoth(one, HASH).ask(question)
        assert client.post("/answer", json={"question": question}).text == plain(outcome, notes=True)
        answered += isinstance(outcome, Answer)
    assert 0 < answered < len(QUESTIONS)


def test_without_a_shard_everything_says_so(client: TestClient, wires: Wires) -> None:
    assert client.get("/readyz").json()["degraded"] == []
    wires.faults[LOST] = dies_at()
    answer = client.post("/answer", json={"question": QUESTIONS[2]})
    assert answer.status_code == 200
    assert answer.json()["run_notes"]["degraded"] == [NAME, "evidence"]
    assert NAME in answer.json()["run_notes"]["warnings"][0]
    found = client.post("/retrieve", json={"query": QUESTIONS[2]}).json()
    assert (found["degraded"], NAME in found["warning"]) == ([NAME], True)
    listed = client.get("/documents").json()
    assert listed["degraded"] == [NAME]
    assert len(listed["documents"]) == sum(assign(f"{crop}.md", SHARDS) != LOST for crop in CROPS)
    assert client.get("/facets").json()["degraded"] == [NAME]
    ready = client.get("/readyz")
    assert (ready.status_code, ready.json()["degraded"]) == (200, [NAME])
    assert ready.json()["message"] == f"without {NAME}"


def test_a_document_of_a_missing_shard_is_unavailable_and_not_unknown(client: TestClient, wires: Wires) -> None:
    wires.faults[LOST] = dies_at()
    for path in ("", "/text", "/span?start=0&end=4", "/original"):
        answer = client.get(f"/documents/canola.md{path}")
        assert answer.status_code == 503, path
        assert error_of(answer) == {
            "code": "index-part",
            "message": f"{NAME} of the index cannot be asked now",
            "hint": "Try again in a while.",
        }
    there = next(f"{crop}.md" for crop in CROPS if assign(f"{crop}.md", SHARDS) != LOST)
    assert client.get(f"/documents/{there}").status_code == 200
    unknown = next(f"no-{number}.md" for number in range(99) if assign(f"no-{number}.md", SHARDS) != LOST)
    assert client.get(f"/documents/{unknown}").status_code == 404
    cited = {"doc_id": "canola.md", "start": 0, "end": 3, "text": "# C"}
    assert client.post("/verify", json={"results": [{"answer_sentences": [cited]}]}).status_code == 503


def test_shards_are_counted_one_by_one(client: TestClient, wires: Wires) -> None:
    client.post("/answer", json={"question": QUESTIONS[0]})
    wires.faults[LOST] = dies_at()
    client.post("/answer", json={"question": QUESTIONS[1]})
    said = client.get("/metrics").text
    assert f'quoth_shard_up{{shard="{NAME}"}} 0.0' in said
    assert said.count("quoth_shard_up{") == SHARDS
    assert f'quoth_shard_faults_total{{shard="{NAME}"}}' in said
    assert 'quoth_shard_calls_total{shard="shard 1 of 3"}' in said
    assert f'quoth_degraded_total{{part="{NAME}"}}' in said


def test_it_takes_no_uploads(client: TestClient) -> None:
    refused = client.put("/documents/new.md", content=b"# New\n")
    assert refused.status_code == 403
    assert "quoth cluster ingest" in error_of(refused)["hint"]


def test_a_generation_that_cannot_be_opened_is_told_to_operators(
    client: TestClient, wires: Wires, one: EmbeddedStore
) -> None:
    client.post("/answer", json={"question": QUESTIONS[0]})
    assert client.get("/readyz").json()["notes"] == []
    (wires.place / "cluster.json").write_bytes(b"{}")
    wait_for(lambda: client.get("/readyz").json()["notes"] != [])
    ready = client.get("/readyz")
    assert (ready.status_code, ready.json()["degraded"]) == (200, [])
    assert "the generation before answers" in ready.json()["notes"][0]


def test_a_document_whose_shard_comes_back_is_found(client: TestClient, wires: Wires) -> None:
    wires.faults[LOST] = dies_at()
    assert client.get("/documents/canola.md").status_code == 503
    wires.faults.clear()
    wait_for(lambda: client.get("/documents/canola.md").status_code == 200)
    assert client.get("/documents/canola.md").json()["doc_id"] == "canola.md"
