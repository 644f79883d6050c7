"""Receipts over HTTP: answers become receipts, and receipts are compared with the documents as they are now."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from quoth.citations.verify_receipt import digest_of, read_receipts
from quoth.http.http_faults import HttpFault
from quoth.http.receipt_routes import _until
from quoth.overrides import Overrides

from ..command_line import run
from ..small_corpus import CANOLA, HALVORSEN, SmallCorpus
from .serving import error_of, opened, plan

DEPTH = "Do we sow canola at 2.5 cm into moist soil?"
JSONL = {"Content-Type": "application/jsonl"}


@pytest.fixture(scope="module")
def client(small: SmallCorpus, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with opened(plan(small.index, tmp_path_factory.mktemp("state"))) as one:
        yield one


@pytest.fixture(scope="module")
def answer(client: TestClient) -> dict[str, Any]:
    found: dict[str, Any] = client.post("/answer", json={"question": DEPTH}).json()
    return found


@pytest.fixture(scope="module")
def receipt(client: TestClient, answer: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = client.post("/receipts", json=answer).json()
    return made


def posted(client: TestClient, path: str, *receipts: dict[str, Any]) -> dict[str, Any]:
    response = client.post(path, content="".join(f"{json.dumps(one)}\n" for one in receipts), headers=JSONL)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()
    return found


def resealed(receipt: dict[str, Any], **quote: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    """A receipt whose first quote was changed by somebody who made the digest fit again."""
    changed = {**receipt, "quotes": [{**receipt["quotes"][0], **quote}, *receipt["quotes"][1:]]}
    return changed | {"digest": digest_of(changed)}


def test_an_answer_becomes_a_receipt_that_holds(client: TestClient, answer: dict[str, Any]) -> None:
    response = client.post("/receipts", json=answer)

    assert response.headers["content-type"] == "application/jsonl"
    (receipt,) = read_receipts(response.content)
    assert isinstance(receipt, dict)
    assert [quote["quote"] for quote in receipt["quotes"]] == [one["text"] for one in answer["answer_sentences"]]
    checked = client.post("/receipts/verify", content=response.content, headers=JSONL).json()
    assert (checked["holds"], checked["refused"]) == (True, [])
    assert [quote["holds"] for one in checked["receipts"] for quote in one["quotes"]] == [True] * len(receipt["quotes"])


def test_several_answers_become_several_receipts_abstentions_too(client: TestClient, answer: dict[str, Any]) -> None:
    declined = client.post("/answer", json={"question": HALVORSEN}).json()
    response = client.post("/receipts", json={"results": [answer, declined]})

    outcomes = [json.loads(line)["decision"]["outcome"] for line in response.text.splitlines()]
    assert outcomes == [answer["outcome"], declined["outcome"]]
    assert client.post("/receipts/verify", content=response.content, headers=JSONL).json()["holds"] is True


def test_an_answer_that_was_changed_has_no_receipt(client: TestClient, answer: dict[str, Any]) -> None:
    first, *others = answer["answer_sentences"]
    false = {**answer, "answer_sentences": [{**first, "text": first["text"].replace("2.5", "9.5")}, *others]}
    old = {**answer, "run_notes": {**answer["run_notes"], "index": "another"}}
    for sent, status, code in (
        (false, 422, "offset-mismatch"),
        (old, 409, "index-changed"),
        ({"answer_sentences": 4}, 422, "receipt"),
        ({"results": [{}]}, 422, "receipt"),
        ({**answer, "results": [answer]}, 422, "ambiguous"),
    ):
        response = client.post("/receipts", json=sent)
        assert (response.status_code, error_of(response)["code"]) == (status, code)


def test_a_receipt_that_was_changed_is_refused_and_a_false_one_fails(
    client: TestClient, receipt: dict[str, Any]
) -> None:
    tampered = {**receipt, "question": {**receipt["question"], "text": "Really?"}}
    kept = receipt["quotes"][0]["before"]
    false = resealed(receipt, before="x" * len(kept))
    checked = posted(client, "/receipts/verify", receipt, tampered, false)

    assert checked["holds"] is False
    assert [one["holds"] for one in checked["receipts"]] == [True, False]
    assert "its text before is 'x" in checked["receipts"][1]["quotes"][0]["why"]
    (refused,) = checked["refused"]
    assert (refused["name"], "its digest does not fit" in refused["why"]) == ("receipt 2", True)


def test_what_is_no_receipt_is_refused_by_name(client: TestClient) -> None:
    for path in ("/receipts/verify", "/receipts/anchor"):
        refused = client.post(path, content='{"receipt": 2}\nno JSON\n', headers=JSONL).json()["refused"]
        assert [one["name"] for one in refused] == ["receipt 1", "receipt 2"]
        assert "but 2" in refused[0]["why"]
        assert "not JSON" in refused[1]["why"]
        for body, headers, status in ((b"\xff", JSONL, 422), (b" \n", JSONL, 422), (b"{}", {}, 415)):
            response = client.post(path, content=body, headers=headers)
            assert response.status_code == status
            error_of(response)


def test_a_file_of_receipts_that_is_too_large_is_refused(small: SmallCorpus, tmp_path: Path) -> None:
    with opened(plan(small.index, tmp_path / "state", max_body_kb=1)) as client:
        response = client.post("/receipts/anchor", content=b"x" * 2000, headers=JSONL)
        assert (response.status_code, error_of(response)["code"]) == (413, "too-large")


def test_quotes_are_found_again_after_their_document_changed(
    small: SmallCorpus, receipt: dict[str, Any], tmp_path: Path
) -> None:
    folder, index = tmp_path / "fields", tmp_path / "index"
    shutil.copytree(small.folder, folder)
    text = (folder / "canola.md").read_text("utf-8")
    (folder / "canola.md").write_text(text.replace("at 2.5 cm", "at 3 cm").replace("Roll", "Do roll"), "utf-8")
    assert run("ingest", folder, "--index", index, "--profile", small.profile).code == 0
    watched = tmp_path / "receipts"
    watched.mkdir()
    (watched / "depth.json").write_text(json.dumps(receipt), "utf-8")
    (watched / "notes.json").write_text("none", "utf-8")
    given = plan(index, tmp_path / "state")
    watching = {**given.overrides.flags, "receipts.watch": str(watched)}
    with opened(replace(given, overrides=Overrides({}, {}, watching))) as client:
        found = posted(client, "/receipts/anchor", receipt)
        assert found["refused"] == []
        changed = found["quotes"][0]
        assert (changed["outcome"], changed["was"]["text"]) == ("changed", CANOLA)
        assert changed["places"][0]["text"] == CANOLA.replace("2.5", "3")
        assert [edit for edit in changed["edits"] if edit["op"] != "equal"] == [{"op": "replace", "a": "2.5", "b": "3"}]
        place = changed["places"][0]
        path = f"/documents/{place['doc_id']}/span"
        span = client.get(path, params={"start": place["start"], "end": place["end"]}).json()
        assert span["quote"] == place["text"]
        stale = client.get("/receipts/stale").json()
        assert (stale["total"], stale["stale"]) == (1, [{"name": "depth.json", "doc_ids": ["canola.md"]}])
        assert [one["name"] for one in stale["refused"]] == ["notes.json"]


def test_unchanged_documents_hold_every_quote(client: TestClient, receipt: dict[str, Any]) -> None:
    found = posted(client, "/receipts/anchor", receipt)["quotes"]
    assert [one["outcome"] for one in found] == ["exact"] * len(receipt["quotes"])


def test_work_that_takes_too_long_is_given_up() -> None:
    progress = _until(time.monotonic() + 60, 60)
    progress("documents", 1, 2)
    with pytest.raises(HttpFault, match="longer than 60 s"):
        _until(time.monotonic() - 1, 60)("documents", 2, 2)


def test_without_watched_receipts_there_is_a_clear_error(client: TestClient) -> None:
    response = client.get("/receipts/stale")
    assert (response.status_code, error_of(response)["code"]) == (404, "not-watched")
