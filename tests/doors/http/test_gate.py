"""What every request passes: keys, limits, ids, headers, other sites, errors and the log."""

from __future__ import annotations

import asyncio
import io
import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from quoth.http import logs
from quoth.http.app import make_app
from quoth.http.guard.api_keys import KeyFile, KeyScope
from quoth.http.request_gate import PAGE_POLICY, RequestGate
from quoth.http.service import Service

from ..small_corpus import SmallCorpus
from .serving import HERE, bearer, begun, call, error_of, json_bytes, new_key, opened, plan, sends

ASKED = {"question": "How deep is canola sown?"}
SECURITY = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}


class Lines:
    """What the service logs, as its operator finds it."""

    def __init__(self) -> None:
        self.stream = io.StringIO()

    @property
    def text(self) -> str:
        return self.stream.getvalue()

    def of(self, event: str) -> list[dict[str, Any]]:
        return [line for line in map(json.loads, self.text.splitlines()) if line["event"] == event]


@pytest.fixture
def lines() -> Iterator[Lines]:
    kept = Lines()
    handler = logging.StreamHandler(kept.stream)
    handler.setFormatter(logs.JsonFormatter())
    level = logs.LOG.level
    logs.LOG.addHandler(handler)
    logs.LOG.setLevel(logging.INFO)
    yield kept
    logs.LOG.removeHandler(handler)
    logs.LOG.setLevel(level)


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def free(small: SmallCorpus, state: Path) -> Iterator[TestClient]:
    """A client of a service without keys."""
    with opened(plan(small.index, state, max_body_kb=64)) as client:
        yield client


@pytest.fixture
def locked(small: SmallCorpus, state: Path) -> Iterator[TestClient]:
    """A client, without a key, of a service that asks for one; not on this machine, where that makes no difference."""
    with opened(plan(small.index, state, auth=True), base_url="https://quoth.example") as client:
        yield client


# Keys


def test_a_key_opens_the_service_in_either_header(locked: TestClient, state: Path) -> None:
    _, token = new_key(state)
    for headers in (bearer(token), {"Authorization": f"bearer  {token}"}, {"X-Api-Key": token}):
        assert locked.post("/answer", json=ASKED, headers=headers).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer"},
        {"Authorization": "Bearer quoth_00000000_" + 43 * "a"},
        {"Authorization": "Basic dXNlcjpwYXNz"},
        {"X-Api-Key": "ä" * 40},
        {"X-Api-Key": ""},
        {"Authorization": "Bearer " + 60_000 * "x"},
    ],
)
def test_without_a_key_that_is_known_nobody_gets_in(locked: TestClient, headers: dict[str, str]) -> None:
    encoded = {name.encode(): value.encode("latin-1") for name, value in headers.items()}
    for method, path in (("POST", "/answer"), ("GET", "/documents"), ("GET", "/metrics"), ("GET", "/nowhere")):
        response = locked.request(method, path, headers=encoded)
        assert (response.status_code, error_of(response)["code"]) == (401, "key")
        assert response.headers["www-authenticate"] == "Bearer"
        assert "quoth keys add" in error_of(response)["hint"]


def test_what_says_nothing_of_the_documents_is_open(locked: TestClient) -> None:
    for path in ("/", "/web/app.js", "/favicon.ico", "/healthz", "/health", "/readyz", "/openapi.json"):
        assert locked.get(path).status_code == 200, path
    for path in ("/web/../documents", "/web/%2e%2e/documents", "/healthz/", "/web"):
        assert locked.get(path).status_code in {401, 404}, path


def test_metrics_can_be_opened(small: SmallCorpus, state: Path) -> None:
    with opened(plan(small.index, state, auth=True, open_metrics=True)) as client:
        assert client.get("/metrics").status_code == 200
        assert client.get("/documents").status_code == 401


def test_a_key_that_is_revoked_or_made_acts_at_once(locked: TestClient, state: Path) -> None:
    key, token = new_key(state)
    assert locked.get("/facets", headers=bearer(token)).status_code == 200
    KeyFile(state / "keys.json").revoke(key.id)
    assert locked.get("/facets", headers=bearer(token)).status_code == 401
    _, other = new_key(state)
    assert locked.get("/facets", headers=bearer(other)).status_code == 200


def test_a_damaged_file_of_keys_opens_to_nobody(locked: TestClient, state: Path) -> None:
    _, token = new_key(state)
    (state / "keys.json").write_text("{", encoding="utf-8")
    assert locked.get("/facets", headers=bearer(token)).status_code == 401
    assert locked.get("/healthz").status_code == 200


def test_a_key_for_reading_writes_nothing(locked: TestClient, state: Path) -> None:
    _, reader = new_key(state)
    _, writer = new_key(state, KeyScope.WRITE)
    for method in ("PUT", "DELETE", "PATCH"):
        refused = locked.request(method, "/documents/new.md", headers=bearer(reader))
        assert (refused.status_code, error_of(refused)["code"]) == (403, "scope")
    assert locked.delete("/documents/none.md", headers=bearer(writer)).status_code == 404
    assert locked.get("/facets", headers=bearer(writer)).status_code == 200


# Limits


def test_a_key_has_its_own_limit_and_is_told_of_it(locked: TestClient, state: Path) -> None:
    _, token = new_key(state, per_minute=3)
    answers = [locked.get("/facets", headers=bearer(token)) for _ in range(5)]

    assert [one.status_code for one in answers] == [200, 200, 200, 429, 429]
    assert [one.headers["ratelimit-limit"] for one in answers] == 5 * ["3"]
    assert [one.headers["ratelimit-remaining"] for one in answers[:3]] == ["2", "1", "0"]
    assert 0 < int(answers[2].headers["ratelimit-reset"]) <= 60
    assert error_of(answers[3])["code"] == "rate-limit"
    assert 1 <= int(answers[3].headers["retry-after"]) <= 60
    _, other = new_key(state, per_minute=3)
    assert locked.get("/facets", headers=bearer(other)).status_code == 200
    assert "ratelimit-limit" not in locked.get("/healthz").headers


def test_the_limit_of_the_service_is_for_keys_without_one_and_can_be_none(small: SmallCorpus, state: Path) -> None:
    _, token = new_key(state)
    _, boundless = new_key(state, per_minute=0)
    with opened(plan(small.index, state, auth=True, per_minute=2)) as client:
        assert [client.get("/facets", headers=bearer(token)).status_code for _ in range(3)] == [200, 200, 429]
        answers = [client.get("/facets", headers=bearer(boundless)) for _ in range(4)]
    assert {one.status_code for one in answers} == {200}
    assert "ratelimit-limit" not in answers[0].headers


def test_a_body_that_is_too_large_is_refused_before_it_is_read(free: TestClient) -> None:
    body = json_bytes({"question": 70_000 * "x"})
    declared = free.post("/answer", content=body, headers={"Content-Type": "application/json"})
    assert (declared.status_code, error_of(declared)["code"]) == (413, "too-large")
    assert "64 KB" in error_of(declared)["message"]
    assert declared.headers["connection"] == "close"

    pieces = (body[at : at + 1_000] for at in range(0, len(body), 1_000))
    chunked = free.post("/answer", content=pieces, headers={"Content-Type": "application/json"})
    assert (chunked.status_code, error_of(chunked)["code"]) == (413, "too-large")
    assert chunked.headers["connection"] == "close"


def test_a_connection_is_not_kept_for_a_body_that_nobody_reads(locked: TestClient, small: SmallCorpus) -> None:
    """Nor is it cut off in the middle of what is sent, where that is little."""

    async def stays_away() -> Message:
        await asyncio.Event().wait()
        raise AssertionError

    async def ask(app: ASGIApp) -> None:
        for declared in ({"content-length": "999999"}, {"transfer-encoding": "chunked"}):
            refused = await call(app, "POST", "/answer", receive=stays_away, headers=declared)
            assert (refused.status, refused.headers["connection"]) == (401, "close")
        slow = await call(app, "POST", "/answer", receive=stays_away, headers={"content-length": "9"})
        assert (slow.status, slow.headers["connection"]) == (401, "close")
        waits = {"content-length": "9", "expect": "100-continue"}
        told = await call(app, "POST", "/answer", receive=stays_away, headers=waits)
        assert (told.status, told.headers["connection"]) == (401, "close")
        quick = await call(app, "POST", "/answer", receive=sends(b"1234", b"56789"), headers={"content-length": "9"})
        none = await call(app, "POST", "/answer", receive=stays_away)
        for one in (quick, none):
            assert one.status == 401
            assert "connection" not in one.headers

    asyncio.run(ask(locked.app))


def test_a_key_that_comes_twice_is_none(locked: TestClient, state: Path) -> None:
    _, token = new_key(state)
    for name, value in (("Authorization", f"Bearer {token}"), ("X-Api-Key", token)):
        refused = locked.get("/facets", headers=[(name, value), (name, value)])
        assert (refused.status_code, error_of(refused)["code"]) == (401, "key")


@pytest.mark.parametrize("length", ["²", "-1", "1e9", "", 400 * "9", "0x10"])
def test_a_length_that_is_no_number_harms_nobody(small: SmallCorpus, state: Path, length: str) -> None:
    async def ask() -> None:
        async with begun(make_app(plan(small.index, state))) as app:
            headers = {"content-type": "application/json", "content-length": length}
            answered = await call(app, "POST", "/answer", receive=sends(json_bytes(ASKED)), headers=headers)
            assert answered.status == (413 if len(length) > 99 else 200)

    asyncio.run(ask())


def test_a_client_that_pauses_too_long_is_sent_away(small: SmallCorpus, state: Path) -> None:
    async def pausing() -> Message:
        if pieces:
            return {"type": "http.request", "body": pieces.pop(), "more_body": True}
        await asyncio.Event().wait()
        raise AssertionError

    async def ask() -> None:
        async with begun(make_app(plan(small.index, state), slow_seconds=0.05)) as app:
            headers = {"content-type": "application/json"}
            answered = await call(app, "POST", "/answer", receive=pausing, headers=headers)
            assert (answered.status, json.loads(answered.body)["error"]["code"]) == (408, "slow")
            assert answered.headers["connection"] == "close"
            # One that has sent everything may wait for its answer as long as it takes.
            calm = await call(app, "POST", "/answer", receive=sends(json_bytes(ASKED)), headers=headers)
            assert calm.status == 200

    pieces = [b'{"question": ']
    asyncio.run(ask())


def test_a_client_that_is_gone_in_the_middle_is_no_failure(small: SmallCorpus, state: Path, lines: Lines) -> None:
    async def leaving() -> Message:
        if pieces:
            return {"type": "http.request", "body": pieces.pop(), "more_body": True}
        return {"type": "http.disconnect"}

    async def ask() -> None:
        async with begun(make_app(plan(small.index, state))) as app:
            await call(app, "POST", "/answer/batch", receive=leaving, headers={"content-type": "application/jsonl"})

    pieces = [b'{"question": ']
    asyncio.run(ask())
    (told,) = lines.of("request")
    assert told["status"] == 499
    assert not lines.of("a request failed")


# Ids and headers


def test_a_request_keeps_its_id_or_gets_one(free: TestClient) -> None:
    assert free.get("/healthz", headers={"X-Request-Id": "a-1.B_2"}).headers["x-request-id"] == "a-1.B_2"
    made = {free.get("/healthz").headers["x-request-id"] for _ in range(20)}
    assert len(made) == 20
    for strange in ("", "a b", 65 * "a", "a\tb", "ä", '"}{"'):
        encoded = {b"X-Request-Id": strange.encode("latin-1")}
        assert free.get("/healthz", headers=encoded).headers["x-request-id"] != strange


def test_every_response_is_guarded(free: TestClient, locked: TestClient) -> None:
    responses = {
        "an answer": free.post("/answer", json=ASKED),
        "a stream": free.post("/answer/batch", json={"questions": [ASKED]}),
        "a wrong body": free.post("/answer", json={}),
        "no route": free.get("/nowhere"),
        "no method": free.get("/answer"),
        "no file": free.get("/web/none.js"),
        "no document": free.get("/documents/none.md"),
        "no key": locked.get("/documents"),
        "too large": free.post("/answer", content=70_000 * b"x"),
        "another site": free.get("/healthz", headers={"Origin": "https://evil.example"}),
        "the page": free.get("/"),
        "a script": free.get("/web/app.js"),
        "not modified": free.get("/web/app.js", headers={"If-None-Match": free.get("/web/app.js").headers["etag"]}),
        "a head": free.head("/healthz"),
        "metrics": free.get("/metrics"),
        "the description": free.get("/openapi.json"),
    }
    for name, response in responses.items():
        got = {header: response.headers.get(header) for header in SECURITY}
        assert got == SECURITY, name
        assert response.headers["x-request-id"], name
        assert "server" not in response.headers, name
        policy = response.headers["content-security-policy"]
        page = name in {"the page", "a script", "not modified"}
        assert policy == (PAGE_POLICY if page else "default-src 'none'; frame-ancestors 'none'; sandbox"), name
        assert response.headers["cache-control"] == ("no-cache" if page else "no-store"), name
    assert responses["not modified"].status_code == 304


def test_the_page_runs_nothing_but_its_own_files() -> None:
    assert "default-src 'none'" in PAGE_POLICY
    assert "script-src 'self';" in PAGE_POLICY
    assert "unsafe" not in PAGE_POLICY


# Other sites


def test_other_sites_may_not_read_answers_by_default(free: TestClient, locked: TestClient, state: Path) -> None:
    _, token = new_key(state)
    origin = {"Origin": "https://site.example"}
    answered = locked.post("/answer", json=ASKED, headers={**bearer(token), **origin})
    assert answered.status_code == 200
    asked = {**origin, "Access-Control-Request-Method": "POST"}
    for response in (answered, locked.options("/answer", headers=asked), free.options("/answer", headers=asked)):
        assert not [name for name in response.headers if name.startswith("access-control-")]


def test_a_listed_site_may_ask(small: SmallCorpus, state: Path) -> None:
    _, token = new_key(state)
    listed = {"Origin": "https://site.example"}
    with opened(plan(small.index, state, auth=True, cors="https://site.example https://other.example")) as client:
        preflight = client.options(
            "/documents/a.md",
            headers={
                **listed,
                "Access-Control-Request-Method": "PUT",
                "Access-Control-Request-Headers": "authorization, content-type",
            },
        )
        answered = client.post("/answer", json=ASKED, headers={**bearer(token), **listed})
        refused = client.post("/answer", json=ASKED, headers=listed)
        foreign = client.post("/answer", json=ASKED, headers={**bearer(token), "Origin": "https://evil.example"})
        evil = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
        turned_away = client.options("/answer", headers=evil)

    assert preflight.status_code == 204
    assert preflight.headers["access-control-allow-origin"] == "https://site.example"
    assert "PUT" in preflight.headers["access-control-allow-methods"]
    assert "authorization" in preflight.headers["access-control-allow-headers"].lower()
    assert preflight.headers["x-request-id"]
    assert preflight.headers["x-content-type-options"] == "nosniff"
    for response, status in ((answered, 200), (refused, 401)):  # a page must be able to read why it was refused
        assert response.status_code == status
        assert response.headers["access-control-allow-origin"] == "https://site.example"
        assert "X-Request-Id" in response.headers["access-control-expose-headers"]
        assert "Origin" in response.headers["vary"]
    assert "access-control-allow-origin" not in foreign.headers
    assert turned_away.status_code == 401
    assert "access-control-allow-origin" not in turned_away.headers
    assert "access-control-allow-credentials" not in answered.headers


def test_without_keys_only_this_machine_is_answered(free: TestClient) -> None:
    for host in ("127.0.0.1:8080", "localhost", "LOCALHOST:1", "[::1]:8080", "127.1.2.3"):
        assert free.get("/facets", headers={"Host": host}).status_code == 200, host
    for host in (
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:8080",
        "10.0.0.1",
        "",
        "127.0.0.1@x",
    ):
        for path in ("/facets", "/", "/healthz"):
            refused = free.get(path, headers={"Host": host})
            assert (refused.status_code, error_of(refused)["code"]) == (421, "host"), host


def test_without_keys_no_other_page_may_ask(free: TestClient) -> None:
    for origin in (HERE, HERE.replace("http", "https")):
        assert free.post("/answer", json=ASKED, headers={"Origin": origin}).status_code == 200
    for origin in ("https://evil.example", "null", "http://127.0.0.1:9", "http://127.0.0.1:8080.evil.example", ""):
        refused = free.post("/answer", json=ASKED, headers={"Origin": origin})
        assert (refused.status_code, error_of(refused)["code"]) == (403, "origin"), origin


def test_without_keys_a_second_host_or_origin_does_not_get_by(free: TestClient) -> None:
    for headers in (
        [("Host", "127.0.0.1"), ("Host", "evil.example")],
        [("Host", "127.0.0.1"), ("Origin", "http://127.0.0.1"), ("Origin", "https://evil.example")],
    ):
        assert free.get("/facets", headers=headers).status_code in {403, 421}


def test_without_keys_a_simple_form_of_another_page_is_not_taken(free: TestClient) -> None:
    """A browser sends these without asking first, and old ones without an origin."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        refused = free.post("/answer", content=json_bytes(ASKED), headers={"Content-Type": kind})
        assert refused.status_code in {415, 422}, kind


# Methods and paths


def test_head_is_get_without_the_body(free: TestClient) -> None:
    for path in ("/healthz", "/documents", "/web/app.js", "/", "/documents/none.md"):
        got, head = free.get(path), free.head(path)
        assert (head.status_code, head.content) == (got.status_code, b"")
        assert head.headers.get("content-length") == got.headers.get("content-length")


def test_a_method_that_there_is_not_is_told_which_there_are(free: TestClient) -> None:
    allowed = {
        "/answer": "POST",
        "/facets": "GET, HEAD",
        "/documents/a.md": "DELETE, GET, HEAD, PUT",
        "/web/app.js": "GET, HEAD",
    }
    for path, methods in allowed.items():
        for method in ("PATCH", "OPTIONS", "TRACE", "BREW"):
            refused = free.request(method, path)
            assert (refused.status_code, error_of(refused)["code"]) == (405, "method"), (method, path)
            assert refused.headers["allow"] == methods, path


@pytest.mark.parametrize(
    "path",
    [
        "/web/../../../../../etc/passwd",
        "/web/%2e%2e/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "/web/..%2f..%2f..%2f..%2fetc%2fpasswd",
        "/web/%252e%252e/etc/passwd",
        "/web//etc/passwd",
        "/web/..\\..\\etc\\passwd",
        "/web/app.js%00.css",
        "/web/%ff%fe",
        "/web/" + 5_000 * "a",
        "/web/.",
        "/documents/..%2f..%2fetc%2fpasswd/original",
        "/documents/%2fetc%2fpasswd/text",
        "/documents/%00/text",
        "/documents/%ed%a0%80",
        "/jobs/..%2f..",
        "/%",
    ],
)
def test_no_path_leads_out(free: TestClient, path: str) -> None:
    response = free.get(path)
    assert response.status_code == 404, path
    error_of(response)


def test_who_asks_for_a_part_of_a_file_gets_the_whole(free: TestClient) -> None:
    whole = free.get("/web/app.js").content
    for part in ("bytes=0-3", "bytes=5-1", "bytes=zzz", "bytes=99999999-"):
        response = free.get("/web/app.js", headers={"Range": part})
        assert (response.status_code, response.content) == (200, whole)


# Failures


def test_a_failure_that_nobody_foresaw_tells_clients_nothing(small: SmallCorpus, state: Path, lines: Lines) -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        raise RuntimeError("the secret of the house")

    async def broken_later(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError("the secret of the house")

    async def ask() -> None:
        service = Service(plan(small.index, state))
        async with service.running():
            gate = RequestGate(broken, service, slow_seconds=1)
            answered = await call(gate, "GET", "/", receive=sends(b""), headers={"x-request-id": "r-1"})
            assert answered.status == 500
            assert json.loads(answered.body)["error"]["code"] == "internal"
            assert b"secret" not in answered.body
            assert b"Traceback" not in answered.body
            assert b"r-1" in answered.body
            assert answered.headers["x-request-id"] == "r-1"
            begun_already = await call(
                RequestGate(broken_later, service, slow_seconds=1), "GET", "/", receive=sends(b"")
            )
            assert [one["type"] for one in begun_already.sent] == ["http.response.start"]

    asyncio.run(ask())
    told = lines.of("a request failed")
    assert len(told) == 2
    assert told[0]["request_id"] == "r-1"
    assert "the secret of the house" in told[0]["trace"]


def test_a_route_that_fails_says_so_in_the_one_shape(small: SmallCorpus, state: Path, lines: Lines) -> None:
    def broken() -> None:
        raise RuntimeError("the secret of the house")

    gate = make_app(plan(small.index, state))
    assert isinstance(gate, RequestGate)
    assert isinstance(gate.app, FastAPI)
    gate.app.add_api_route("/broken", broken)
    with TestClient(gate, base_url=HERE) as client:
        answered = client.get("/broken", headers={"X-Request-Id": "r-2"})
    assert answered.status_code == 500
    assert error_of(answered)["code"] == "internal"
    assert "r-2" in error_of(answered)["hint"]
    assert "secret" not in answered.text
    assert len(lines.of("a request failed")) == 1


def test_a_websocket_is_closed(small: SmallCorpus, state: Path) -> None:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def ask() -> None:
        await make_app(plan(small.index, state))({"type": "websocket", "path": "/"}, sends(), send)

    asyncio.run(ask())
    assert [one["type"] for one in sent] == ["websocket.close"]


# The log


def test_a_request_is_one_line_of_json(free: TestClient, lines: Lines) -> None:
    free.post("/answer", json=ASKED, headers={"X-Request-Id": "abc"})
    (line,) = lines.text.splitlines()
    told = json.loads(line)
    expected = {"event": "request", "method": "POST", "path": "/answer", "route": "/answer", "status": 200}
    assert expected.items() <= told.items()
    assert told["request_id"] == "abc"
    assert told["bytes"] > 100
    assert told["milliseconds"] > 0
    assert "question" not in told


def test_nothing_hostile_breaks_a_line(free: TestClient, lines: Lines) -> None:
    paths = ["/a%0a{%22event%22:1}", "/b%0d%0a", "/c%e2%80%a8%c2%85", "/d%ed%a0%80", "/e%00%1b[31m", "/f%22%7d"]
    for path in paths:
        free.get(path)
    found = lines.text.splitlines()
    assert len(found) == len(paths)
    assert [json.loads(line)["event"] for line in found] == len(paths) * ["request"]
    assert json.loads(found[0])["path"] == '/a\n{"event":1}'


def test_a_question_is_logged_only_where_the_operator_chose_so(small: SmallCorpus, state: Path, lines: Lines) -> None:
    asked = {"question": "Why \ud800 does\ncanola\u2028 grow?"}
    with opened(plan(small.index, state)) as client:
        client.post("/retrieve", json={"query": "A private matter of canola"})
        client.post("/answer", json={"question": "A private matter of canola"})
        client.post("/answer", json={"question": "A private matter", "filters": {"as_of": "private"}})
    assert "private" not in lines.text
    with opened(plan(small.index, state, log_questions=True)) as client:
        client.post("/retrieve", json={"query": "canola\nin\u2028lines?"})
        client.post("/answer/batch", content=json_bytes(asked), headers={"Content-Type": "application/jsonl"})
    told = lines.of("request")
    assert told[3]["question"] == "canola\nin\u2028lines?"
    assert len(lines.text.splitlines()) == 5


def test_no_key_is_ever_logged(locked: TestClient, state: Path, lines: Lines) -> None:
    key, token = new_key(state)
    wrong = "quoth_00000000_" + 43 * "w"
    locked.get("/facets", headers=bearer(token))
    locked.get("/facets", headers={"X-Api-Key": token})
    locked.get(f"/facets?key={token}", headers=bearer(token))
    locked.get("/facets", headers=bearer(wrong))
    locked.delete("/documents/a.md", headers=bearer(token))
    assert [line["key"] for line in lines.of("request")] == [key.id, key.id, key.id, None, key.id]
    assert token not in lines.text
    assert token[15:] not in lines.text
    assert wrong not in lines.text
