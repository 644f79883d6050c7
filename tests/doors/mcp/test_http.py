"""Who is let in over HTTP, and what everyone else is told."""

from __future__ import annotations

import json
import signal
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client

from quoth.http.guard.api_keys import ApiKey, KeyFile, KeyScope

from ..command_line import HASH, PATIENCE, failed, run
from ..small_corpus import CANOLA, SmallCorpus
from .serving import Served, called, http, over_http, talk_to

LIST = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
ACCEPTED = {"Accept": "application/json, text/event-stream"}


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("state")


@pytest.fixture(scope="module")
def guarded(small: SmallCorpus, state: Path) -> Iterator[Served]:
    """A server on every address of the machine, which nobody can enter without a key."""
    KeyFile(state / "keys.json").add("first", scopes={KeyScope.READ}, per_minute=None)
    variables = {**HASH, "QUOTH_SERVICE_STATE": str(state), "QUOTH_SERVICE_MAX_BODY_KB": "64"}
    with http(small.index, "--host", "0.0.0.0", "--allowed-host", "docs.example", variables=variables) as server:  # noqa: S104
        yield Served(server.url.replace("0.0.0.0", "127.0.0.1"), server.program, server.talk)  # noqa: S104


def new_key(state: Path, *, per_minute: int | None = 0) -> tuple[ApiKey, str]:
    return KeyFile(state / "keys.json").add("agent", scopes={KeyScope.READ}, per_minute=per_minute)


def post(url: str, *, token: str | None, body: object = LIST, **headers: str) -> httpx2.Response:
    bearer = {} if token is None else {"Authorization": f"Bearer {token}"}
    with httpx2.Client(timeout=PATIENCE, trust_env=False) as client:
        return client.post(url, json=body, headers={**ACCEPTED, **bearer, **headers})


def refusal(answer: httpx2.Response) -> dict[str, Any]:
    error: dict[str, Any] = answer.json()["error"]
    assert set(error) == {"code", "message", "hint"}
    return error


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_key_opens(guarded: Served, state: Path, mode: str) -> None:
    async def work(client: Client) -> None:
        answer = await called(client, "ask", question="How deep should canola be sown into moist soil?")
        assert answer["final_answer"].startswith(CANOLA)

    talk_to(lambda: over_http(guarded.url, token=new_key(state)[1], mode=mode), work)


@pytest.mark.parametrize(
    "header",
    [
        None,
        b"Bearer",
        b"Bearer quoth_00000000_" + b"x" * 43,
        "Bearer Ünfug".encode("latin-1"),
        b"Basic " + b"y" * 5_000,
    ],
    ids=["none", "empty", "unknown", "odd", "another way"],
)
def test_nobody_enters_without_a_key(guarded: Served, header: bytes | None) -> None:
    headers = {name.encode(): value.encode() for name, value in ACCEPTED.items()}
    if header is not None:
        headers[b"Authorization"] = header
    with httpx2.Client(timeout=PATIENCE, trust_env=False) as client:
        answer = client.post(guarded.url, json=LIST, headers=headers)

    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert refusal(answer)["code"] == "key"
    assert "quoth keys add" in refusal(answer)["hint"]


def test_a_key_may_come_in_the_other_header(guarded: Served, state: Path) -> None:
    assert post(guarded.url, token=None, **{"X-Api-Key": new_key(state)[1]}).status_code == 200


def test_a_key_that_comes_twice_is_none(guarded: Served, state: Path) -> None:
    bearer = ("Authorization", f"Bearer {new_key(state)[1]}")
    with httpx2.Client(timeout=PATIENCE, trust_env=False) as client:
        answer = client.post(guarded.url, json=LIST, headers=[*ACCEPTED.items(), bearer, bearer])

    assert (answer.status_code, refusal(answer)["code"]) == (401, "key")


def test_it_says_nothing_of_its_server_and_takes_no_endless_head(guarded: Served) -> None:
    assert "server" not in post(guarded.url, token=None).headers
    address = ("127.0.0.1", int(guarded.url.split(":")[2].partition("/")[0]))
    with socket.create_connection(address, timeout=PATIENCE) as connection:
        got = b""
        with suppress(ConnectionError):
            connection.sendall(b"POST /mcp HTTP/1.1\r\nHost: a\r\n" + 2**17 * b"X: a\r\n")
            while piece := connection.recv(2**16):
                got += piece
    assert got[:12] in {b"HTTP/1.1 400", b""}  # closed while much was still on its way, which drops the answer


def test_limits_are_counted_in_the_home_that_a_path_names(small: SmallCorpus, tmp_path: Path) -> None:
    _, token = new_key(tmp_path / "state", per_minute=1)
    variables = {**HASH, "HOME": str(tmp_path), "QUOTH_SERVICE_STATE": "~/state"}
    with http(small.index, variables=variables) as server:
        assert post(server.url, token=token).status_code == 200
    assert (tmp_path / "state" / "rates.db").exists()


def test_a_revoked_key_is_turned_away_at_once(guarded: Served, state: Path) -> None:
    key, token = new_key(state)
    assert post(guarded.url, token=token).status_code == 200
    KeyFile(state / "keys.json").revoke(key.id)

    assert post(guarded.url, token=token).status_code == 401


def test_a_key_is_held_to_its_rate(guarded: Served, state: Path) -> None:
    _, token = new_key(state, per_minute=1)
    assert post(guarded.url, token=token).status_code == 200
    again = post(guarded.url, token=token)

    assert (again.status_code, refusal(again)["code"]) == (429, "rate-limit")
    assert 1 <= int(again.headers["retry-after"]) <= 60


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "docs.example"}, 200),
        ({"Host": "docs.example:8443", "Origin": "https://docs.example"}, 200),
        ({"Host": "evil.example"}, 421),
        ({"Origin": "https://evil.example"}, 403),
    ],
)
def test_a_page_of_another_site_cannot_use_us(
    guarded: Served, state: Path, headers: dict[str, str], status: int
) -> None:
    assert post(guarded.url, token=new_key(state)[1], **headers).status_code == status


def test_a_body_that_is_too_large_is_not_read(guarded: Served, state: Path) -> None:
    body = {**LIST, "params": {"cursor": "x" * 70_000}}

    assert post(guarded.url, token=new_key(state)[1], body=body).status_code == 413


def test_only_post_is_taken(guarded: Served, state: Path) -> None:
    headers = {**ACCEPTED, "Authorization": f"Bearer {new_key(state)[1]}"}
    with httpx2.Client(timeout=PATIENCE, trust_env=False) as client:
        answer = client.get(guarded.url, headers=headers)

    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


def test_what_is_no_message_is_refused_without_a_trace(guarded: Served, state: Path) -> None:
    token = new_key(state)[1]
    bodies: list[object] = [[], {}, {"jsonrpc": "2.0", "id": 1, "method": "documents/burn"}, "text"]
    for body in bodies:
        answer = post(guarded.url, token=token, body=body)
        assert 400 <= answer.status_code < 500 or "error" in json.loads(answer.text), answer.text
        assert "Traceback" not in answer.text
    assert post(guarded.url, token=token).status_code == 200
    assert not any("Traceback" in line for line in guarded.talk)


def test_without_auth_no_other_machine_is_let_in(small: SmallCorpus) -> None:
    refused = run("mcp", "--index", small.index, "--http", "--no-auth", "--host", "0.0.0.0", "--port", "0")  # noqa: S104

    assert failed(refused, "without keys the service would answer anyone", "quoth keys add")


def test_without_a_key_in_force_it_does_not_start(small: SmallCorpus, tmp_path: Path) -> None:
    variables = {**HASH, "QUOTH_SERVICE_STATE": str(tmp_path)}
    key, _ = new_key(tmp_path)
    KeyFile(tmp_path / "keys.json").revoke(key.id)
    refused = run("mcp", "--index", small.index, "--http", "--host", "::", "--port", "0", variables=variables)

    assert failed(refused, "there is no key in", "quoth keys add")


def test_a_port_that_is_taken_is_named(small: SmallCorpus) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        refused = run("mcp", "--index", small.index, "--http", "--no-auth", "--port", port)

    assert failed(refused, f"cannot listen on 127.0.0.1, port {port}", "--port")


def test_it_ends_when_it_is_told_to(small: SmallCorpus, tmp_path: Path) -> None:
    new_key(tmp_path / "state")
    variables = {**HASH, "QUOTH_SERVICE_STATE": str(tmp_path / "state")}
    with http(small.index, variables=variables) as server:
        assert post(server.url, token=None).status_code == 401
        server.program.send_signal(signal.SIGTERM)
        server.program.wait(PATIENCE)
        assert server.program.stdout is not None
        assert server.program.stdout.read() == b""
        with pytest.raises(httpx2.ConnectError):
            post(server.url, token=None)
    assert not any("Traceback" in line for line in server.talk)
