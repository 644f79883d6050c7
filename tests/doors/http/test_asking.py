"""Answers, batches, passages and verification over HTTP: the same as on the command line, whatever is asked."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from starlette.testclient import TestClient
from starlette.types import Message

from quoth.errors import SettingsError
from quoth.http.app import make_app
from quoth.http.http_faults import HttpFault
from quoth.http.request_gate import RequestGate
from quoth.http.service import Service

from ..command_line import PATIENCE, run
from ..small_corpus import CANOLA, HALVORSEN, WHEAT, SmallCorpus
from .serving import begun, call, error_of, json_bytes, opened, plan, sends

SCHEMAS = Path(__file__).parents[3] / "src" / "quoth" / "output" / "schemas"
DEPTH = "Do we sow canola at 2.5 cm into moist soil?"
QUESTIONS = [
    DEPTH,
    HALVORSEN,
    "When is burning straw forbidden?",
    "Which crop did Napoleon grow in 1804?",
    "how\tdeep \N{EN DASH} is canola\u00a0sown\N{FULLWIDTH QUESTION MARK}",
    "Wann wird Weizen gesät? \N{EAR OF RICE}",
    "canola \x00 moist soil",
    "\u202ecanola\u202c soil",
    "e\u0301 canola " + 100 * "\u0301",
]
JSONL = {"Content-Type": "application/jsonl"}


@pytest.fixture(scope="module")
def client(small: SmallCorpus, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with opened(plan(small.index, tmp_path_factory.mktemp("state"), max_batch=50)) as one:
        yield one


def fits(value: object, schema: str) -> None:
    Draft202012Validator(json.loads((SCHEMAS / schema).read_text("utf-8"))).validate(value)


def lines_of(body: bytes | str) -> list[dict[str, Any]]:
    text = body.decode("utf-8") if isinstance(body, bytes) else body
    assert text.endswith("\n")
    return [json.loads(line) for line in text.removesuffix("\n").split("\n")]


# Answers


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_answer_is_the_one_of_the_command_line_byte_for_byte(
    client: TestClient, small: SmallCorpus, question: str
) -> None:
    asked = client.post("/answer", content=json_bytes({"question": question}), headers=_JSON)
    told = run("ask", question, "--json", "--index", small.index)
    assert (asked.status_code, told.code) == (200, 0)
    assert asked.content + b"\n" == told.data
    assert asked.headers["content-type"] == "application/json"
    fits(asked.json(), "answer.schema.json")


_JSON = {"Content-Type": "application/json"}


def test_every_stage_is_there_for_who_asks_why(client: TestClient, small: SmallCorpus) -> None:
    asked = client.post("/answer", json={"question": DEPTH, "why": True})
    told = run("ask", DEPTH, "--json", "--why", "--index", small.index)
    assert asked.content + b"\n" == told.data
    assert "trace" in asked.json()
    assert "trace" not in client.post("/answer", json={"question": DEPTH, "why": False}).json()


def test_an_answer_cites_the_source_exactly(client: TestClient, small: SmallCorpus) -> None:
    answer = client.post("/answer", json={"question": DEPTH, "id": "q-7"}).json()
    assert answer["question_id"] == "q-7"
    assert answer["final_answer"].startswith(CANOLA)
    for one in answer["answer_sentences"]:
        text = client.get(f"/documents/{one['doc_id']}/text").content.decode("utf-8")
        assert text[one["start"] : one["end"]] == one["text"]


def test_a_follow_up_is_answered_as_what_it_means(client: TestClient) -> None:
    meant = "Why do we sow canola at 2.5 cm into moist soil?"
    leaning = client.post("/answer", json={"question": "why?", "previous": [DEPTH], "why": True}).json()
    whole = client.post("/answer", json={"question": meant, "previous": [DEPTH], "why": True}).json()

    fits(leaning, "answer.schema.json")
    assert (leaning["question"], leaning.pop("understood")) == ("why?", meant)
    assert "understood" not in whole
    assert leaning == whole | {"question": "why?"}


def test_a_batch_takes_follow_ups_too(client: TestClient) -> None:
    asked = client.post("/answer/batch", json={"questions": [{"question": "why?", "previous": [DEPTH]}]})

    assert [line["understood"] for line in lines_of(asked.content)] == [
        "Why do we sow canola at 2.5 cm into moist soil?"
    ]


def test_a_talk_has_an_end(client: TestClient) -> None:
    assert client.post("/answer", json={"question": "why?", "previous": [DEPTH] * 20}).status_code == 200
    refused = client.post("/answer", json={"question": "why?", "previous": [DEPTH] * 21})
    assert (refused.status_code, error_of(refused)["code"]) == (422, "body")


def test_filters_say_where_to_look(client: TestClient) -> None:
    def cited(**more: object) -> set[str]:
        answer = client.post("/answer", json={"question": "How deep is it sown?", **more}).json()
        return {one["doc_id"] for one in answer["answer_sentences"] + answer["nearest"]}

    assert cited(doc_scope=["wheat.md"]) == {"wheat.md"}
    assert cited(filters={"doc_id": "canola.md"}) == {"canola.md"}
    assert cited(filters={"doc_id": ["canola.md", "rules.md"]}) == {"canola.md", "rules.md"}
    assert cited(filters={"document_type": "guide"}) == {"canola.md"}
    assert cited(filters={"document_type": ["rule"]}) == {"rules.md"}
    assert cited(filters={"tags": {"crop": "wheat"}}) == {"wheat.md", "notes/windows.txt"}
    assert cited(filters={"doc_id": "none.md"}) == set()
    assert cited(filters={"document_type": "none"}) == set()
    assert client.post("/answer", json={"question": DEPTH, "filters": {"as_of": "2022-04-01"}}).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b"\xff\xfe{}",
        b'"text"',
        b"NaN",
        b'{"question": NaN}',
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b'{"question": ' + b"9" * 5_000 + b"}",
        b"{}",
        b'{"question": ""}',
        b'{"question": " \\t"}',
        b'{"question": "?!"}',
        b'{"question": 7}',
        b'{"question": null}',
        b'{"question": ["How deep?"]}',
        b'{"question": "How deep?", "other": 1}',
        b'{"question": "How deep?", "why": "yes"}',
        b'{"question": "How deep?", "why": 1}',
        b'{"question": "How deep?", "id": 7}',
        b'{"question": "How deep?", "doc_scope": "canola.md"}',
        b'{"question": "How deep?", "doc_scope": [1]}',
        b'{"question": "How deep?", "filters": []}',
        b'{"question": "How deep?", "filters": {"crop": "canola"}}',
        b'{"question": "How deep?", "filters": {"is_binding": "true"}}',
        b'{"question": "How deep?", "filters": {"as_of": "yesterday"}}',
        b'{"question": "How deep?", "filters": {"as_of": "2022-02-30"}}',
        b'{"question": "How deep?", "filters": {"tags": {"crop": 7}}}',
        b'{"question": "How deep?", "\\ud800": 1}',
        json_bytes({"question": 4_001 * "a"}),
        json_bytes({"question": "How deep?", "id": 201 * "a"}),
    ],
)
def test_what_is_no_question_is_refused_with_a_hint(client: TestClient, body: bytes) -> None:
    for path in ("/answer", "/retrieve"):
        sent = body.replace(b'"question"', b'"query"') if path == "/retrieve" else body
        refused = client.post(path, content=sent, headers=_JSON)
        assert refused.status_code in {400, 422}, (path, refused.text)
        assert error_of(refused)["hint"]


def test_a_question_of_four_thousand_characters_is_the_longest(client: TestClient) -> None:
    longest = ("canola " * 600)[:4_000]
    assert client.post("/answer", json={"question": longest}).status_code == 200
    refused = client.post("/answer", json={"question": longest + "x"})
    assert (refused.status_code, error_of(refused)["code"]) == (422, "question")
    assert "4,001" in error_of(refused)["message"]


def test_an_unknown_facet_is_no_failure(client: TestClient) -> None:
    answered = client.post("/answer", json={"question": DEPTH, "filters": {"tags": {"colour": "red"}}})
    assert answered.status_code in {200, 422}


# Batches


def test_a_batch_answers_in_order_each_as_if_it_were_alone(client: TestClient) -> None:
    questions = [{"question": text, "id": f"n{number}"} for number, text in enumerate(3 * QUESTIONS)]
    alone = [client.post("/answer", content=json_bytes(one), headers=_JSON).content + b"\n" for one in questions]
    content = b"\n".join(json_bytes(one) for one in questions)
    for kind in ("application/jsonl", "application/x-ndjson", "text/plain; charset=utf-8", "Application/JSONL"):
        streamed = client.post("/answer/batch", content=content, headers={"Content-Type": kind})
        assert streamed.status_code == 200
        assert streamed.headers["content-type"].startswith("application/jsonl")
        assert streamed.content == b"".join(alone)
    assert client.post("/answer/batch", json={"questions": questions}).content == b"".join(alone)


def test_half_a_character_is_refused_in_json_and_read_in_lines_as_on_the_command_line(
    client: TestClient, small: SmallCorpus
) -> None:
    half = "canola \ud800 moist soil"
    for path, name in (("/answer", "question"), ("/retrieve", "query"), ("/webhook/arc-retrieval", "query")):
        refused = client.post(path, content=json_bytes({name: half}), headers=_JSON)
        assert (refused.status_code, error_of(refused)["code"]) == (422, "body")
    streamed = client.post("/answer/batch", content=json_bytes({"question": half}), headers=JSONL)
    assert streamed.content == run("ask", half, "--json", "--index", small.index).data


def test_plain_lines_are_questions_too(client: TestClient) -> None:
    text = f"\ufeff{DEPTH}\r\n\r\n   \n{HALVORSEN}"
    streamed = client.post("/answer/batch", content=text.encode(), headers={"Content-Type": "text/plain"})
    first, second = lines_of(streamed.content)
    assert (first["question_id"], first["question"], first["abstained"]) == ("1", DEPTH, False)
    assert (second["question_id"], second["question"], second["abstained"]) == ("4", HALVORSEN, True)


def test_a_line_that_is_no_question_has_its_error_in_its_place(client: TestClient) -> None:
    lines = [
        json.dumps({"question": DEPTH, "id": "a"}),
        "{not json",
        json.dumps({"question": 7}),
        json.dumps({"id": "b"}),
        json.dumps({"question": "?", "id": "c"}),
        json.dumps({"question": 4_001 * "a", "id": "d"}),
        json.dumps({"question": DEPTH, "filters": {"as_of": "never"}}),
        "[" * 20_000,
        json.dumps({"question": DEPTH, "id": "e"}),
    ]
    streamed = client.post("/answer/batch", content="\n".join(lines).encode(), headers=JSONL)
    found = lines_of(streamed.content)
    assert [one["question_id"] for one in found] == ["a", "2", "3", "4", "c", "d", "7", "8", "e"]
    assert ["error" in one for one in found] == [False, True, True, True, True, True, True, True, False]
    for one in found[1:-1]:
        assert set(one["error"]) == {"code", "message", "hint"}


@pytest.mark.parametrize(
    ("kind", "body", "status", "code"),
    [
        ("application/jsonl", b"", 422, "question"),
        ("application/jsonl", b"\n \n", 422, "question"),
        ("application/json", b"", 422, "body"),
        ("application/json", b'{"questions": []}', 422, "body"),
        ("application/json", b'{"questions": [{"question": "How deep?", "x": 1}]}', 422, "body"),
        ("application/json", b'{"questions": [{"question": "\\ud800"}]}', 422, "body"),
        ("application/json", b"[" * 100_000, 422, "body"),
        ("application/json", b'{"question": "How deep?"}', 422, "body"),
        ("application/json", json_bytes({"questions": 51 * [{"question": "How deep?"}]}), 413, "too-large"),
        ("application/jsonl", b"How deep?\n" * 51, 413, "too-large"),
        ("application/jsonl", b"\xff", 400, "body"),
        ("application/xml", b"<q/>", 415, "content-type"),
        ("", b"How deep?", 415, "content-type"),
        ("multipart/form-data; boundary=x", b"--x--", 415, "content-type"),
    ],
)
def test_a_batch_that_cannot_be_read_is_refused_whole(
    client: TestClient, kind: str, body: bytes, status: int, code: str
) -> None:
    refused = client.post("/answer/batch", content=body, headers={"Content-Type": kind})
    assert (refused.status_code, error_of(refused)["code"]) == (status, code)


def test_no_more_is_answered_than_is_read(small: SmallCorpus, tmp_path: Path) -> None:
    """A reader that stops reading stops the work; one that is gone ends it, and gives its place back."""
    content = b"\n".join(json_bytes({"question": f"{DEPTH} {number}"}) for number in range(40))

    async def main() -> None:
        gate = make_app(plan(small.index, tmp_path / "state"))
        assert isinstance(gate, RequestGate)
        service = gate.service
        assert isinstance(service, Service)
        async with begun(gate) as app:
            reading, gone, read = asyncio.Event(), asyncio.Event(), 0
            first = sends(content)

            async def receive() -> Message:
                if not body_sent:
                    body_sent.append(True)
                    return await first()
                await gone.wait()
                return {"type": "http.disconnect"}

            async def send(message: Message) -> None:
                nonlocal read
                if message.get("body"):
                    read += 1
                    if read == 3:
                        await reading.wait()  # as a server does while the client does not take what it was sent

            body_sent: list[bool] = []
            batch = asyncio.create_task(call(app, "POST", "/answer/batch", receive=receive, send=send, headers=JSONL))
            while read < 3 or service.pool.running or service.pool.waiting:
                await asyncio.sleep(0.01)
            for _ in range(20):
                await asyncio.sleep(0.01)
            assert read == 3
            assert (service.pool.running, service.batches) == (0, 1)
            gone.set()
            await batch
            assert (read, service.batches) == (3, 0)
            assert (service.pool.running, service.pool.waiting) == (0, 0)

    asyncio.run(main())


def test_only_so_many_batches_are_answered_at_once(small: SmallCorpus, tmp_path: Path) -> None:
    async def main() -> None:
        gate = make_app(plan(small.index, tmp_path / "state"))
        assert isinstance(gate, RequestGate)
        assert isinstance(gate.service, Service)
        async with begun(gate) as app:
            content, go_on = json_bytes({"question": DEPTH}), asyncio.Event()

            async def send(message: Message) -> None:
                await go_on.wait()

            batches = [
                asyncio.create_task(
                    call(app, "POST", "/answer/batch", receive=sends(content), send=send, headers=JSONL)
                )
                for _ in range(8)
            ]
            while gate.service.batches < 8:
                await asyncio.sleep(0.01)
            refused = await call(app, "POST", "/answer/batch", receive=sends(content), headers=JSONL)
            assert refused.status == 503
            assert int(refused.headers["retry-after"]) >= 1
            go_on.set()
            assert [(await one).status for one in batches] == 8 * [200]
            assert gate.service.batches == 0

    asyncio.run(main())


def test_a_busy_service_sends_away_whom_it_cannot_serve(small: SmallCorpus, tmp_path: Path) -> None:
    async def main() -> None:
        gate = make_app(plan(small.index, tmp_path / "state", threads=1, queue=3))
        assert isinstance(gate, RequestGate)
        async with begun(gate) as app:
            asked = [
                call(app, "POST", "/answer", receive=sends(json_bytes({"question": DEPTH})), headers=_JSON)
                for _ in range(60)
            ]
            ended = await asyncio.gather(*asked)
            statuses = [one.status for one in ended]
            assert set(statuses) == {200, 503}
            assert statuses.count(200) >= 4
            busy = next(one for one in ended if one.status == 503)
            assert json.loads(busy.body)["error"]["code"] == "busy"
            assert 1 <= int(busy.headers["retry-after"]) <= 30
            assert (gate.service.pool.running, gate.service.pool.waiting) == (0, 0)

    asyncio.run(main())


@pytest.mark.parametrize(("method", "path"), [("POST", "/answer"), ("POST", "/verify"), ("GET", "/documents")])
def test_a_client_that_is_gone_leaves_the_queue_and_one_that_stays_is_told_the_time(
    small: SmallCorpus, tmp_path: Path, method: str, path: str
) -> None:
    body = {"/answer": json_bytes({"question": DEPTH}), "/verify": b'{"answer_sentences": []}'}.get(path, b"")

    async def main() -> None:
        gate = make_app(plan(small.index, tmp_path / "state", threads=1, seconds=2))
        assert isinstance(gate, RequestGate)
        async with begun(gate) as app:
            desk, release = gate.service.pool, threading.Event()
            blocked = asyncio.create_task(desk.run(lambda: release.wait(PATIENCE), patient=True))
            while not desk.running:
                await asyncio.sleep(0.01)
            messages = [{"type": "http.request", "body": body, "more_body": False}]

            async def leaving() -> Message:
                return messages.pop() if messages else {"type": "http.disconnect"}

            gone = await call(app, method, path, receive=leaving, headers=_JSON)
            assert gone.status == 499
            assert (desk.running, desk.waiting) == (1, 0)
            late = await call(app, method, path, receive=sends(body), headers=_JSON)
            assert (late.status, json.loads(late.body)["error"]["code"]) == (504, "timeout")
            release.set()
            with suppress(HttpFault):
                await blocked
            desk._seconds = PATIENCE
            served = await call(app, method, path, receive=sends(body), headers=_JSON)
            assert served.status == 200

    asyncio.run(main())


# Passages


@pytest.mark.parametrize("query", QUESTIONS)
def test_the_hook_finds_what_retrieve_finds(client: TestClient, small: SmallCorpus, query: str) -> None:
    body = json_bytes({"query": query, "match_count": 3})
    found = client.post("/retrieve", content=body, headers=_JSON)
    hooked = client.post("/webhook/arc-retrieval", content=body, headers=_JSON)
    assert (found.status_code, hooked.status_code) == (200, 200)
    assert found.content == hooked.content
    fits(found.json(), "retrieval.schema.json")
    told = run("retrieve", query, "--json", "--index", small.index, "--set", "context.max=3")
    assert found.json()["passages"] == told.object["passages"]


def test_passages_can_be_filtered_and_counted(client: TestClient) -> None:
    def found(**more: object) -> list[str]:
        answer = client.post("/retrieve", json={"query": f"{WHEAT} {CANOLA}", **more})
        assert answer.status_code == 200, answer.text
        return [one["doc_id"] for one in answer.json()["passages"]]

    assert found() == ["canola.md", "wheat.md"]
    assert found(document_types=["guide"]) == ["canola.md"]
    assert found(filters={"document_type": "guide"}) == ["canola.md"]
    assert found(doc_scope=["wheat.md"]) == ["wheat.md"]
    assert found(match_count=1) == ["canola.md"]
    assert found(match_count=1.0) == ["canola.md"]
    twice = {"query": DEPTH, "document_types": ["guide"], "filters": {"document_type": "rule"}}
    assert error_of(client.post("/retrieve", json=twice))["code"] == "question"
    for count in (0, 101, -1, 1.5, "3", True):
        refused = client.post("/webhook/arc-retrieval", json={"query": DEPTH, "match_count": count})
        assert refused.status_code == 422, count


def test_the_path_of_the_webhook_is_a_setting(small: SmallCorpus, tmp_path: Path) -> None:
    body = {"query": CANOLA, "match_count": 1}
    with opened(plan(small.index, tmp_path / "state", webhook="/hooks/passages")) as client:
        found = client.post("/hooks/passages", json=body)
        assert found.content == client.post("/retrieve", json=body).content
        assert client.post("/webhook/arc-retrieval", json=body).status_code == 404
        schema = client.get("/openapi.json").json()["paths"]["/hooks/passages"]["post"]["responses"]["200"]["content"]
        assert schema["application/json"]["schema"] == {"$ref": "#/components/schemas/Retrieval"}
    with opened(plan(small.index, tmp_path / "state", webhook="")) as client:
        assert not [path for path in client.get("/openapi.json").json()["paths"] if "hook" in path]
    with pytest.raises(SettingsError, match="'hooks' is not a path"):
        make_app(plan(small.index, tmp_path / "state", webhook="hooks"))


# Verification


def test_an_answer_of_ours_holds(client: TestClient) -> None:
    answers = [client.post("/answer", json={"question": text}).json() for text in (DEPTH, HALVORSEN, WHEAT)]
    for one in answers:
        verified = client.post("/verify", json=one).json()
        assert (verified["verified"], verified["failures"]) == (True, [])
        cited = one["answer_sentences"] + one["nearest"] + one["see_also"]
        leads = [each for each in cited if each["lead"]]
        assert verified["citations"] == len(cited) + len(leads)
    together = client.post("/verify", json={"results": answers}).json()
    assert together["verified"] is True
    assert together["citations"] == sum(client.post("/verify", json=one).json()["citations"] for one in answers)


def test_a_citation_that_was_touched_does_not_hold(client: TestClient) -> None:
    answer = client.post("/answer", json={"question": DEPTH, "id": "q"}).json()
    sentence = answer["answer_sentences"][0]
    length = len(sentence["text"])
    lead = {"start": 0, "end": 3, "text": "no!"}
    for change in (
        {"text": sentence["text"].replace("2.5", "25")},
        {"start": sentence["start"] + 1},
        {"end": sentence["end"] - 1},
        {"start": -length},
        {"end": 10**12},
        {"start": sentence["end"], "end": sentence["start"]},
        {"doc_id": "wheat.md"},
        {"doc_id": "none.md"},
        {"doc_id": "\x00"},
        {"lead": lead},
    ):
        changed = {**answer, "answer_sentences": [{**sentence, **change}], "final_answer": sentence["text"]}
        if "text" in change:
            changed["final_answer"] = change["text"]
        verified = client.post("/verify", json=changed)
        assert verified.status_code == 200, verified.text
        assert verified.json()["verified"] is False, change
        assert verified.json()["failures"][0]["question_id"] == "q"
        assert verified.json()["failures"][0]["why"]


def test_an_answer_that_says_more_than_it_cites_does_not_hold(client: TestClient) -> None:
    answer = client.post("/answer", json={"question": DEPTH}).json()
    assert client.post("/verify", json={**answer, "final_answer": "Sow deep."}).json()["verified"] is False
    assert client.post("/verify", json={**answer, "abstained": True}).json()["verified"] is False


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"result": []},
        {"results": None},
        {"results": [{}]},
        {"results": [{"answers": []}]},
        {"answer_sentences": [], "conflicts": [{"statements": [{}]}]},
        {"answer_sentences": None},
        {"answer_sentences": [{}]},
        {"answer_sentences": [{"doc_id": "canola.md", "start": "0", "end": 3, "text": "Sow"}]},
        {"answer_sentences": [{"doc_id": "canola.md", "start": 0.5, "end": 3, "text": "Sow"}]},
        {"answer_sentences": [{"doc_id": "canola.md", "start": 0, "end": 3, "text": "Sow", "lead": {}}]},
        [],
    ],
)
def test_what_is_no_answer_does_not_pass_for_verified(client: TestClient, body: object) -> None:
    assert error_of(client.post("/verify", json=body))["code"] == "body"


@pytest.mark.parametrize("beside", ["answer_sentences", "nearest", "see_also", "conflicts"])
def test_one_answer_beside_several_is_refused(client: TestClient, beside: str) -> None:
    response = client.post("/verify", json={"results": [{"answer_sentences": []}], beside: []})

    assert (response.status_code, error_of(response)["code"]) == (422, "ambiguous")


def test_the_lines_of_a_batch_can_be_verified_together(client: TestClient) -> None:
    content = f"{DEPTH}\n?\n{HALVORSEN}\n".encode()
    lines = lines_of(client.post("/answer/batch", content=content, headers={"Content-Type": "text/plain"}).content)
    verified = client.post("/verify", json={"results": lines}).json()
    assert verified["verified"] is True
    assert verified["citations"] > 0


def test_nothing_is_not_verified(client: TestClient) -> None:
    nothing = {"verified": False, "citations": 0, "failures": []}
    bodies: list[dict[str, Any]] = [
        {"results": []},
        {"answer_sentences": []},
        {"results": [{"error": {}}]},
        {"error": {}},
    ]
    for body in bodies:
        assert client.post("/verify", json=body).json() == nothing, body
    abstention = {"abstained": True, "answer_sentences": [], "nearest": [], "final_answer": ""}
    assert client.post("/verify", json=abstention).json() == nothing
    assert client.post("/verify", json={"results": [abstention]}).json() == {**nothing, "verified": True}


def test_the_sides_of_a_conflict_are_verified(client: TestClient) -> None:
    answer = client.post("/answer", json={"question": DEPTH}).json()
    side = {name: answer["answer_sentences"][0][name] for name in ("doc_id", "start", "end", "text")}
    before = client.post("/verify", json=answer).json()["citations"]
    answer["conflicts"] = [{"kind": "number", "statements": [side, side]}]
    held = client.post("/verify", json=answer).json()
    assert (held["verified"], held["citations"]) == (True, before + 2)

    answer["conflicts"] = [{"kind": "number", "statements": [side, {**side, "text": "Sow it deep."}]}]
    touched = client.post("/verify", json=answer).json()
    assert (touched["verified"], len(touched["failures"])) == (False, 1)


def test_a_citation_without_a_question_has_an_empty_id(client: TestClient) -> None:
    body = {"answer_sentences": [{"doc_id": "none.md", "start": 0, "end": 3, "text": "Sow"}]}
    assert [one["question_id"] for one in client.post("/verify", json=body).json()["failures"]] == [""]
