"""What somebody may not see, no route tells them: each answers as a service whose index never held it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from quoth.http.guard.api_keys import KeyFile, KeyScope
from quoth.http.job_file import JobFile

from ..command_line import run, write_files
from ..small_corpus import CANOLA, FILES
from .serving import bearer, error_of, opened, plan, wait_for

SEALED = "secret/zanzibar.md"
SOLD = "The board sells Zanzibar Mills for 41 million thalers in Kyzylorda."
HIDDEN = {SEALED: f"---\ntitle: Quixotic divestiture\naccess: board\n---\n\n# Divestiture\n\n{SOLD}\n"}
SECRETS = ("zanzibar", "quixotic", "divestiture", "thalers", "kyzylorda", "41 million")
ASKED = "What does the board sell for 41 million thalers in Kyzylorda?"
QUESTIONS: list[dict[str, Any]] = [
    {"question": ASKED},
    {"question": f"{CANOLA[:-1]}?"},
    {"question": ASKED, "doc_scope": [SEALED]},
]
JSONL = {"Content-Type": "application/jsonl"}


@dataclass(frozen=True, slots=True)
class Asked:
    """A service, and the key of somebody who may not see the hidden document."""

    client: TestClient
    token: str
    state: Path

    def send(self, method: str, path: str, **given: Any) -> Any:  # noqa: ANN401 - the client has a response of its own
        headers = {**bearer(self.token), **given.pop("headers", {})}
        return self.client.request(method, path, headers=headers, **given)

    def await_done(self, job: str) -> None:
        wait_for(lambda: self.send("GET", job).json()["state"] == "done")


@dataclass(frozen=True, slots=True)
class Told:
    """A service with the hidden document, one without it, and what somebody who sees all was told by the first."""

    whole: Asked
    without: Asked
    answer: dict[str, Any]
    receipt: dict[str, Any]
    job: str
    grid: str


def _service(place: Path, files: Mapping[str, bytes | str]) -> Iterator[tuple[Asked, str]]:
    write_files(place / "fields", files)
    ran = run("ingest", place / "fields", "--index", place / "index", "--profile", "general")
    assert ran.code == 0, ran.talk
    keys = KeyFile(place / "state" / "keys.json")
    token = keys.add("limited", scopes=[KeyScope.WRITE], per_minute=0, access=["legal"])[1]
    everything = keys.add("board", scopes=[KeyScope.WRITE], per_minute=0, access=["*"])[1]
    given = plan(place / "index", place / "state", auth=True)
    flags = {**given.overrides.flags, "receipts.watch": str(place / "watched")}
    given = replace(given, overrides=replace(given.overrides, flags=flags))
    with opened(given, base_url="https://quoth.example") as client:
        yield Asked(client, token, place / "state"), everything


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    places = tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("without")
    services = _service(places[0], {**FILES, **HIDDEN}), _service(places[1], FILES)
    (whole, all_seen), (without, _) = (next(one) for one in services)
    sees_all = Asked(whole.client, all_seen, whole.state)
    answer = sees_all.send("POST", "/answer", json={"question": ASKED}).json()
    assert [one["text"] for one in answer["answer_sentences"]] == [SOLD]
    receipt = sees_all.send("POST", "/receipts", json=answer).json()
    seen = sees_all.send("POST", "/answer", json={"question": f"{CANOLA[:-1]}?"}).json()
    for place, receipts in zip(places, ((receipt, seen), (seen,)), strict=True):
        (place / "watched").mkdir()
        for number, one in enumerate(receipts):
            text = one if "digest" in one else sees_all.send("POST", "/receipts", json=one).json()
            (place / "watched" / f"{number}{SEALED[-3] if one is receipt else ''}.json").write_text(json.dumps(text))
    job = sees_all.send("PUT", "/documents/secret/thalers.md", content=f"# T\n\n{SOLD}", params={"access": "board"})
    assert job.status_code == 202, job.text
    at = job.headers["location"]
    wait_for(lambda: sees_all.send("GET", at).json()["state"] == "done", lambda: sees_all.send("GET", at).text)
    grid = sees_all.send("POST", "/grids", json={"questions": QUESTIONS[:1], "docs": [SEALED]}).json()["id"]
    wait_for(lambda: sees_all.send("GET", f"/grids/{grid}").json()["state"] == "done")
    assert SOLD in sees_all.send("GET", f"/grids/{grid}/grid.csv").text
    yield Told(whole, without, answer, receipt, at.rpartition("/")[2], grid)
    for one in services:
        next(one, None)


def requests(told: Told) -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """What to send to each operation, by its method and path as the service describes them."""
    hidden = f"/documents/{SEALED}"
    questions = [("", {"json": one}) for one in QUESTIONS]
    searches = [("", {"json": {"query": one["question"]}}) for one in QUESTIONS]
    receipts = [("", {"content": json.dumps(told.receipt) + "\n", "headers": JSONL})]
    place = {"doc_id": SEALED, "start": 0, "end": 10}
    marks = [
        {"question": ASKED, "verdict": "wrong", "gold": [place]},
        {"question": ASKED, "verdict": "right", "doc_scope": [SEALED]},
        {"question": f"{CANOLA[:-1]}?", "verdict": "right"},
    ]
    finds = [{"pattern": "board sells"}, {"pattern": "[A-Z]yz\\w+", "regex": True}, {"pattern": "sow canola"}]
    return {
        "get /health": [("/health", {})],
        "get /healthz": [("/healthz", {})],
        "get /readyz": [("/readyz", {})],
        "get /metrics": [("/metrics", {})],
        "get /facets": [("/facets", {})],
        "post /answer": [("/answer", given) for _, given in questions]
        + [("/answer", {"json": {**QUESTIONS[0], "why": True, "lang": "de"}})],
        "post /answer/batch": [("/answer/batch", {"json": {"questions": QUESTIONS}})],
        "post /retrieve": [("/retrieve", given) for _, given in searches]
        + [("/retrieve", {"json": {"query": ASKED, "doc_scope": [SEALED]}})],
        "post /webhook/arc-retrieval": [("/webhook/arc-retrieval", given) for _, given in searches],
        "post /verify": [("/verify", {"json": told.answer})],
        "post /find": [("/find", {"json": one}) for one in finds]
        + [("/find", {"json": {"pattern": "board", "doc_scope": [SEALED]}})],
        "post /marks": [("/marks", {"json": one}) for one in marks],
        "post /receipts": [("/receipts", {"json": told.answer})],
        "post /receipts/verify": [("/receipts/verify", given) for _, given in receipts],
        "post /receipts/anchor": [("/receipts/anchor", given) for _, given in receipts],
        "get /receipts/stale": [("/receipts/stale", {})],
        "get /documents": [("/documents", {}), ("/documents?prefix=secret", {}), ("/documents?limit=2", {})],
        "get /documents/{doc_id}": [(hidden, {})],
        "get /documents/{doc_id}/text": [(f"{hidden}/text", {})],
        "get /documents/{doc_id}/original": [(f"{hidden}/original", {})],
        "get /documents/{doc_id}/pages/{number}": [(f"{hidden}/pages/1", {})],
        "get /documents/{doc_id}/span": [
            (f"{hidden}/span?start=0&end=9", {}),
            (f"{hidden}/span?start=0&end=9&sha256={told.answer['answer_sentences'][0]['doc_sha256']}", {}),
        ],
        "delete /documents/{doc_id}": [(hidden, {})],
        "get /jobs": [("/jobs", {})],
        "get /jobs/{job_id}": [(f"/jobs/{told.job}", {})],
        "get /grids": [("/grids", {})],
        "get /grids/{grid_id}": [(f"/grids/{told.grid}", {})],
        "get /grids/{grid_id}/{name}": [(f"/grids/{told.grid}/grid.{kind}", {}) for kind in ("csv", "jsonl", "html")],
        "delete /grids/{grid_id}": [(f"/grids/{told.grid}", {})],
        # These two change what the others would see, so they come last.
        "put /documents/{doc_id}": [(hidden, {"content": b"# Mine\n\nNow it is mine.\n"})],
        "post /grids": [("/grids", {"json": {"questions": QUESTIONS[1:], "docs": ["*"]}})],
    }


def shape(response: Any) -> tuple[int, dict[str, str], str]:  # noqa: ANN401 - as `send` returns it
    """What a response says, without ids and times that are made for it."""
    headers = {name: value for name, value in response.headers.items() if name not in {"x-request-id", "location"}}
    body = re.sub(r'"[0-9]{17}-[0-9a-f]{12}"|"[0-9a-f]{24}"|"20\d\d-[^"]*T[^"]*"', '""', response.text)
    headers.pop("content-length", None)  # of what was left out
    return response.status_code, headers, body


CHANGING = ("put /documents/{doc_id}", "get /metrics")
"""What cannot be the same: an id that is taken cannot be given, and times pass."""


def test_no_route_tells_of_a_document_that_may_not_be_seen(told: Told) -> None:
    paths = told.whole.send("GET", "/openapi.json").json()["paths"]
    described = {f"{method} {path}" for path, methods in paths.items() for method in methods}
    sent = requests(told)
    assert described == set(sent), "say above what to send to a new route"
    for operation, several in sent.items():
        for path, given in several:
            method = operation.partition(" ")[0].upper()
            response = told.whole.send(method, path, **given)
            assert response.status_code < 500, (operation, response.text)
            asked = f"{path} {given}".lower()
            heard = f"{response.headers} {response.text}".lower()
            assert [one for one in SECRETS if one in heard and one not in asked] == [], (operation, given)
            if operation not in CHANGING:
                assert shape(response) == shape(told.without.send(method, path, **given)), (operation, given)


def test_an_id_that_is_taken_by_a_hidden_document_cannot_be_given(told: Told) -> None:
    refused = told.whole.send("PUT", f"/documents/{SEALED}", content=b"# Mine\n\nNow it is mine.\n")

    assert (refused.status_code, error_of(refused)["code"]) == (409, "document-id")
    assert told.whole.send("GET", f"/documents/{SEALED}").status_code == 404


def test_a_grid_is_made_of_what_its_asker_sees(told: Told) -> None:
    body = {"questions": QUESTIONS, "docs": ["*.md"]}
    made = told.whole.send("POST", "/grids", json=body)
    assert made.status_code == 202, made.text
    wait_for(lambda: told.whole.send("GET", made.headers["location"]).json()["state"] == "done")
    for kind in ("csv", "jsonl", "html"):
        text = told.whole.send("GET", f"{made.headers['location']}/grid.{kind}").text.lower()
        assert [one for one in SECRETS if one in text and one not in json.dumps(QUESTIONS).lower()] == []
        assert CANOLA.lower() in text


def test_labels_that_are_taken_away_take_grids_away(told: Told) -> None:
    keys = KeyFile(told.whole.state / "keys.json")
    key, token = keys.add("leaving", scopes=[KeyScope.READ], per_minute=0, access=["board"])
    leaving = Asked(told.whole.client, token, told.whole.state)
    grid = leaving.send("POST", "/grids", json={"questions": QUESTIONS[:1], "docs": [SEALED]}).headers["location"]
    wait_for(lambda: leaving.send("GET", grid).json()["state"] == "done")
    assert SOLD in leaving.send("GET", f"{grid}/grid.csv").text

    keys.change(key.id, access=[])
    assert leaving.send("GET", f"{grid}/grid.csv").status_code == 404
    assert leaving.send("GET", f"/documents/{SEALED}").status_code == 404
    keys.change(key.id, access=["BOARD"])
    assert SOLD in leaving.send("GET", f"{grid}/grid.csv").text


def test_a_document_that_gets_labels_takes_grids_away(told: Told) -> None:
    keys = KeyFile(told.whole.state / "keys.json")
    board, plain = (
        Asked(
            told.whole.client,
            keys.add("one", scopes=[KeyScope.WRITE], per_minute=0, access=access)[1],
            told.whole.state,
        )
        for access in (["board"], [])
    )
    fence = b"# Fence\n\nThe fence of the yard is 3 m high.\n"
    put = board.send("PUT", "/documents/fence.md", content=fence)
    board.await_done(put.headers["location"])
    body = {"questions": [{"question": "How high is the fence of the yard?"}], "docs": ["fence.md"]}
    grids = [one.send("POST", "/grids", json=body).headers["location"] for one in (board, plain)]
    for one, grid in zip((board, plain), grids, strict=True):
        one.await_done(grid)
        assert "3 m high" in one.send("GET", f"{grid}/grid.csv").text

    put = board.send("PUT", "/documents/fence.md", content=fence, params={"access": "board"})
    board.await_done(put.headers["location"])
    assert [
        one.send("GET", f"{grid}/grid.csv").status_code for one, grid in zip((board, plain), grids, strict=True)
    ] == [
        200,
        404,
    ]
    assert plain.send("GET", "/grids").json()["grids"] == []


def test_a_message_is_not_given_with_an_attachment_that_may_not_be_seen(tmp_path: Path) -> None:
    message = EmailMessage()
    message["Subject"] = "Lunch"
    message.set_content("Lunch is served at noon in the great hall.\n")
    message.add_attachment(f"# Plan\n\n{SOLD}\n".encode(), maintype="text", subtype="markdown", filename="plan.md")
    rules = 'documents:\n  - match: "lunch.eml/plan.md"\n    access: board\n'
    service = _service(tmp_path, {"lunch.eml": message.as_bytes(), "corpus.yaml": rules})
    limited, all_seen = next(service)
    sees_all = Asked(limited.client, all_seen, limited.state)
    given = [one.send("GET", "/documents/lunch.eml/original") for one in (limited, sees_all)]
    described = [one.send("GET", "/documents/lunch.eml").json()["has_original"] for one in (limited, sees_all)]
    next(service, None)

    assert [one.status_code for one in given] == [404, 200]
    assert error_of(given[0])["code"] == "no-original"
    assert given[1].content == message.as_bytes()
    assert described == [False, True]


def test_a_writer_gives_only_labels_that_it_holds(told: Told) -> None:
    put = {"content": b"# Lease\n\nThe lease of the barn ends in 2031.\n"}
    refused = told.whole.send("PUT", "/documents/lease.md", params={"access": "board"}, **put)
    assert (refused.status_code, error_of(refused)["code"]) == (403, "label")

    accepted = told.whole.send("PUT", "/documents/lease.md", params={"access": "Legal"}, **put)
    wait_for(lambda: told.whole.send("GET", accepted.headers["location"]).json()["state"] == "done")
    _, token = KeyFile(told.whole.state / "keys.json").add("other", scopes=[KeyScope.READ], per_minute=0)
    other = Asked(told.whole.client, token, told.whole.state)
    assert [one.send("GET", "/documents/lease.md").status_code for one in (told.whole, other)] == [200, 404]

    again = told.whole.send("PUT", "/documents/lease.md", content=b"# Lease\n\nThe lease of the barn ends in 2032.\n")
    wait_for(lambda: told.whole.send("GET", again.headers["location"]).json()["state"] == "done")
    assert "2032" in told.whole.send("GET", "/documents/lease.md/text").text
    assert other.send("GET", "/documents/lease.md").status_code == 404  # it keeps its labels

    opened_up = told.whole.send("PUT", "/documents/lease.md", params={"access": ""}, **put)
    wait_for(lambda: told.whole.send("GET", opened_up.headers["location"]).json()["state"] == "done")
    assert other.send("GET", "/documents/lease.md").status_code == 200


def test_a_job_does_not_tell_whether_a_hidden_document_replaces_another(told: Told) -> None:
    notes = []
    for by in (SEALED, "secret/none.md"):
        stated = f"---\nsuperseded_by: {by}\n---\n\n# Barn\n\nThe barn is sold in 2034.\n".encode()
        for body, query in ((stated, {}), (b"# Barn\n\nThe barn is sold.\n", {"superseded_by": by})):
            put = told.whole.send("PUT", "/documents/barn.md", content=body, params=query)
            told.whole.await_done(put.headers["location"])
            notes.append(told.whole.send("GET", put.headers["location"]).json()["notes"])

    assert notes == [[]] * 4


@pytest.mark.parametrize("front_matter", ["", "---\naccess: board\n---\n\n"], ids=["in the query", "in the file"])
def test_an_upload_keeps_the_labels_of_one_that_waits(told: Told, front_matter: str) -> None:
    keys = KeyFile(told.whole.state / "keys.json")
    board, other = (
        Asked(
            told.whole.client,
            keys.add("one", scopes=[KeyScope.WRITE], per_minute=0, access=access)[1],
            told.whole.state,
        )
        for access in (["board"], [])
    )
    mill, put = f"/documents/mill{len(front_matter)}.md", b"# Mill\n\nThe mill is sold in 2033.\n"
    first = {"params": {"access": "board"}, "content": put}
    if front_matter:
        first = {"content": front_matter.encode() + put}
    with JobFile(told.whole.state / "service.db").alone() as ours:  # so that nothing is done meanwhile
        assert ours
        sent = [board.send("PUT", mill, **given) for given in (first, {"content": put})]
        refused = other.send("PUT", mill, content=b"# Mine\n\nNow it is mine.\n")
    for one in sent:
        board.await_done(one.headers["location"])

    assert (refused.status_code, error_of(refused)["code"]) == (409, "document-id")
    assert "2033" in board.send("GET", f"{mill}/text").text
    assert other.send("GET", mill).status_code == 404
