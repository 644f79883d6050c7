"""The service over an index in PostgreSQL: the answers, uploads and readiness of one in a folder."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from quoth.http.service import ServeOptions
from quoth.library import ingest_paths
from quoth.overrides import Overrides
from stores.postgres_server import drop_schema, new_schema, running_server

from ..command_line import PATIENCE
from ..small_corpus import CANOLA, SmallCorpus
from .serving import opened, plan


@pytest.fixture(scope="module")
def in_database(small: SmallCorpus, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with running_server() as url:
        schema = new_schema()
        state = tmp_path_factory.mktemp("state")
        flags = {
            "embedding.model_name": "hash",
            "rerank.kind": "late",
            "service.state": str(state),
            "store.schema": schema,
        }
        given = Overrides({}, {}, flags)
        ingest_paths([small.folder], url, profile=str(small.profile), overrides=given)
        with opened(ServeOptions(index=url, overrides=given, profile=None, auth=False)) as client:
            yield client
        drop_schema(url, schema)


def test_the_answers_are_those_of_a_folder(in_database: TestClient, small: SmallCorpus, tmp_path: Path) -> None:
    with opened(plan(small.index, tmp_path)) as beside:
        for route, asked in (("/answer", {"question": CANOLA}), ("/retrieve", {"query": CANOLA})):
            there, here = in_database.post(route, json=asked), beside.post(route, json=asked)
            assert there.status_code == 200
            assert there.content == here.content


def test_it_is_ready_and_counts_what_it_holds(in_database: TestClient) -> None:
    assert in_database.get("/readyz").json()["checks"] == {"store": True, "index": True, "model": True}
    assert "quoth_index_age_seconds" in in_database.get("/metrics").text


def test_what_is_uploaded_can_be_asked_for(in_database: TestClient) -> None:
    text = b"# Barley\n\nDry the barley to 14.8 percent before winter.\n"
    job = in_database.put("/documents/barley.md", content=text).json()
    until = time.monotonic() + PATIENCE
    while job["finished"] is None and time.monotonic() < until:
        time.sleep(0.1)
        job = in_database.get(f"/jobs/{job['id']}").json()

    assert job["state"] == "done", job
    answer = in_database.post("/answer", json={"question": "Dry the barley to 14.8 percent before winter."}).json()
    assert answer["final_answer"] == "Dry the barley to 14.8 percent before winter."
