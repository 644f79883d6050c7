"""Grids over HTTP: jobs that go on after their request, and after a stop of the service."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from quoth.http.guard.api_keys import KeyScope

from ..command_line import PATIENCE, run
from ..small_corpus import CANOLA, HALVORSEN, WHEAT, SmallCorpus
from .serving import bearer, error_of, new_key, opened, plan

QUESTIONS = [CANOLA, WHEAT, HALVORSEN]
BODY = {"questions": [{"question": question} for question in QUESTIONS]}
MANY = {"questions": [{"question": f"Sow wheat at {number} cm in October?"} for number in range(1, 401)]}
FILES = ("grid.html", "grid.csv", "grid.xlsx", "grid.jsonl")


@pytest.fixture(scope="module")
def client(small: SmallCorpus, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with opened(plan(small.index, tmp_path_factory.mktemp("state"), max_cells=5_000)) as one:
        yield one


def finished(client: TestClient, grid_id: str) -> dict[str, Any]:
    for _ in range(PATIENCE * 20):
        job: dict[str, Any] = client.get(f"/grids/{grid_id}").json()
        if job["finished"]:
            return job
        time.sleep(0.05)
    raise AssertionError(job)


def test_a_grid_is_a_job_whose_files_are_those_of_the_command(
    client: TestClient, small: SmallCorpus, tmp_path: Path
) -> None:
    accepted = client.post("/grids", json=BODY)
    job = accepted.json()

    assert (accepted.status_code, accepted.headers["location"]) == (202, f"/grids/{job['id']}")
    assert (job["state"], job["documents"], job["questions"], job["total"]) == ("queued", 4, 3, 12)
    done = finished(client, job["id"])
    assert (done["state"], done["done"], done["error"], done["seconds_left"]) == ("done", 12, None, None)
    (tmp_path / "q.txt").write_text("\n".join(QUESTIONS), encoding="utf-8")
    for name in FILES:
        ran = run("grid", tmp_path / "q.txt", "--index", small.index, "-o", tmp_path / name)
        given = client.get(f"/grids/{job['id']}/{name}")
        assert (ran.code, given.status_code) == (0, 200)
        assert given.content == (tmp_path / name).read_bytes()
        assert given.headers["content-disposition"] == f'attachment; filename="{name}"'
        assert "sandbox" in given.headers["content-security-policy"]
    assert job["id"] in [listed["id"] for listed in client.get("/grids").json()["grids"]]


def test_documents_types_and_ids_are_chosen(client: TestClient) -> None:
    body = {"questions": [{"id": "a", "question": CANOLA}], "docs": ["*.md"], "document_type": "guide"}
    job = client.post("/grids", json=body).json()

    assert (job["documents"], job["total"]) == (1, 1)
    finished(client, job["id"])
    (line,) = client.get(f"/grids/{job['id']}/grid.jsonl").text.splitlines()
    assert line.startswith('{"doc_id": "canola.md", "cell": "stated", "question_id": "a"')


@pytest.mark.parametrize(
    ("body", "status", "words"),
    [
        ({"questions": []}, 422, "questions"),
        ({"questions": [{"question": "?!"}]}, 422, "no words"),
        ({"questions": [{"id": "1", "question": "a"}, {"id": "1", "question": "b"}]}, 422, "two questions"),
        ({**BODY, "docs": ["rye.md"]}, 404, "rye.md"),
        ({**BODY, "document_type": "song"}, 404, "no document"),
        ({**BODY, "doc": ["wheat.md"]}, 422, "doc"),
        ({"questions": [{"question": "Which?"}] * 1_300}, 413, "5,200 cells are more than 5,000"),
    ],
    ids=["none", "no words", "one id", "no document", "no type", "no field", "too many"],
)
def test_what_cannot_be_asked_is_refused_at_once(
    client: TestClient, *, body: dict[str, Any], status: int, words: str
) -> None:
    before = len(client.get("/grids").json()["grids"])

    refused = client.post("/grids", json=body)

    assert refused.status_code == status
    assert words in error_of(refused)["message"]
    assert len(client.get("/grids").json()["grids"]) == before


def test_an_unknown_grid_or_file_is_not_found(client: TestClient) -> None:
    job = client.post("/grids", json=BODY).json()
    finished(client, job["id"])

    for path in ("/grids/1", "/grids/..%2f..", f"/grids/{job['id']}/state.json", f"/grids/{job['id']}/request.json"):
        assert client.get(path).status_code == 404


def test_a_grid_that_runs_can_be_removed_and_is_not_served_before_its_end(client: TestClient) -> None:
    job = client.post("/grids", json=MANY).json()
    early = client.get(f"/grids/{job['id']}/grid.csv")

    assert (early.status_code, error_of(early)["code"]) == (409, "not-finished")
    assert client.delete(f"/grids/{job['id']}").status_code == 200
    assert client.get(f"/grids/{job['id']}").status_code == 404
    after = client.post("/grids", json=BODY).json()
    assert finished(client, after["id"])["state"] == "done"


def test_a_grid_goes_on_after_the_service_was_stopped(small: SmallCorpus, tmp_path: Path) -> None:
    given = plan(small.index, tmp_path / "state")
    with opened(given) as client:
        grid_id = client.post("/grids", json=MANY).json()["id"]
        journal = tmp_path / "state" / "grids" / grid_id / "grid.jsonl.part"
        while not journal.exists() or journal.read_bytes().count(b"\n") < 50:
            time.sleep(0.01)
    kept = journal.read_bytes()
    with opened(given) as client:
        job = finished(client, grid_id)
        content = client.get(f"/grids/{grid_id}/grid.jsonl").content

    assert 50 <= kept.count(b"\n") < 1_600
    assert (job["state"], job["done"]) == ("done", 1_600)
    cells = kept.partition(b"\n")[2]
    assert content.startswith(cells)
    assert content.count(b"\n") == 1_600


def test_the_progress_of_a_long_grid_has_an_estimate(small: SmallCorpus, tmp_path: Path) -> None:
    with opened(plan(small.index, tmp_path / "state")) as client:
        grid_id = client.post("/grids", json=MANY).json()["id"]
        seen: list[dict[str, Any]] = []
        while not seen or not seen[-1]["finished"]:
            seen.append(client.get(f"/grids/{grid_id}").json())
            time.sleep(0.05)

    running = [job for job in seen if job["state"] == "running" and job["seconds_left"] is not None]
    assert running
    assert all(0 < job["done"] <= 1_600 and job["seconds_left"] >= 0 for job in running)
    assert [job["done"] for job in seen] == sorted(job["done"] for job in seen)


def test_a_grid_belongs_to_who_asked_for_it(small: SmallCorpus, tmp_path: Path) -> None:
    _, reading = new_key(tmp_path / "state")
    _, writing = new_key(tmp_path / "state", KeyScope.READ, KeyScope.WRITE)
    with opened(plan(small.index, tmp_path / "state", auth=True), base_url="https://quoth.example") as client:
        assert client.post("/grids", json=BODY).status_code == 401
        job = client.post("/grids", json=BODY, headers=bearer(reading)).json()
        place = f"/grids/{job['id']}"
        for path in (place, f"{place}/grid.csv"):
            assert error_of(client.get(path, headers=bearer(writing)))["code"] == "no-grid"
        assert client.get("/grids", headers=bearer(writing)).json() == {"grids": []}
        assert error_of(client.delete(place, headers=bearer(writing)))["code"] == "no-grid"
        assert [one["id"] for one in client.get("/grids", headers=bearer(reading)).json()["grids"]] == [job["id"]]
        assert client.delete(place, headers=bearer(reading)).status_code == 200
        assert client.get(place, headers=bearer(reading)).status_code == 404


def test_a_grid_that_ends_the_service_again_and_again_is_given_up(small: SmallCorpus, tmp_path: Path) -> None:
    given = plan(small.index, tmp_path / "state")
    with opened(given) as client:
        job = client.post("/grids", json=BODY).json()
        finished(client, job["id"])
    place = tmp_path / "state" / "grids" / job["id"]
    (place / "state.json").write_text(json.dumps(job), encoding="utf-8")  # as it was before anything was done
    (place / "begun").write_text("0\n0\n0\n", encoding="utf-8")
    with opened(given) as client:
        ended = finished(client, job["id"])

    assert (ended["state"], ended["error"]["code"]) == ("failed", "cut-off")
