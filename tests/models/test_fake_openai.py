from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import fake_openai
from fake_openai import MODES, Behaviour, FakeOpenAI

PROGRAM = [sys.executable, fake_openai.__file__]


def talk(port: int, method: str, path: str, body: object = None, **headers: str) -> tuple[int, dict[str, str], Any]:
    """The status, the headers and the JSON of a reply."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        reply = connection.getresponse()
        return reply.status, dict(reply.headers), json.loads(reply.read())
    finally:
        connection.close()


def embed(port: int, texts: list[str], **more: Any) -> Any:  # noqa: ANN401
    status, _, reply = talk(port, "POST", "/v1/embeddings", {"model": "m", "input": texts, **more})
    assert status == 200
    return reply


def test_texts_that_share_words_are_near() -> None:
    with FakeOpenAI() as server:
        reply = embed(server.port, ["sow canola seed", "sow canola seed deep", "fences need approval"], dimensions=256)

    question, answer, other = (np.array(entry["embedding"]) for entry in reply["data"])
    assert question @ answer > 0.7
    assert question @ other < 0.3
    assert len(question) == 256


def test_it_says_which_models_it_has_and_that_it_is_well() -> None:
    with FakeOpenAI() as server:
        assert talk(server.port, "GET", "/healthz")[2] == {"status": "ok"}
        assert talk(server.port, "GET", "/v1/models")[2]["data"][0]["object"] == "model"
        assert server.count == 0


def test_it_keeps_what_it_was_sent() -> None:
    with FakeOpenAI() as server:
        for n in range(3):
            talk(
                server.port, "POST", "/v1/embeddings", {"model": "m", "input": [f"text {n}"]}, Authorization="Bearer k"
            )

        assert server.count == 3
        assert server.last.body["input"] == ["text 2"]
        assert server.last.headers["authorization"] == "Bearer k"
        assert [request.body["input"] for request in server.received] == [["text 0"], ["text 1"], ["text 2"]]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/embeddings", {"model": "m", "input": [""]}, 400),
        ("/v1/embeddings", {"model": "m", "input": []}, 400),
        ("/v1/embeddings", {"model": "m"}, 400),
        ("/v1/embeddings", [], 400),
        ("/v1/chat/completions", {"model": "m", "messages": []}, 400),
        ("/v1/chat/completions", {"model": "m", "messages": [{"content": "not JSON"}]}, 400),
        ("/v1/nothing", {}, 404),
        ("/behave", {"mode": "odd"}, 400),
        ("/behave", {"mode": "slow", "hours": 3}, 400),
        ("/behave", {"mode": "slow:3"}, 400),
    ],
)
def test_a_wrong_request_is_refused_in_openais_shape(path: str, body: object, status: int) -> None:
    with FakeOpenAI() as server:
        found, _, reply = talk(server.port, "POST", path, body)

    assert found == status
    assert isinstance(reply["error"]["message"], str)


def test_with_a_key_others_are_refused() -> None:
    body = {"model": "m", "input": ["a"]}
    with FakeOpenAI(key="right") as server:
        assert talk(server.port, "POST", "/v1/embeddings", body)[0] == 401
        assert talk(server.port, "POST", "/v1/embeddings", body, Authorization="Bearer wrong")[0] == 401
        assert talk(server.port, "POST", "/v1/embeddings", body, Authorization="Bearer right")[0] == 200


def test_its_behaviour_can_be_changed_while_it_runs() -> None:
    body = {"model": "m", "input": ["a"]}
    with FakeOpenAI("status:503") as server:
        assert talk(server.port, "POST", "/v1/embeddings", body)[0] == 503
        server.behave("status:429", retry_after="2")
        status, headers, _ = talk(server.port, "POST", "/v1/embeddings", body)
        assert (status, headers["Retry-After"]) == (429, "2")
        assert talk(server.port, "POST", "/behave", {"mode": "flaky:2", "status": 500})[0] == 200
        assert [talk(server.port, "POST", "/v1/embeddings", body)[0] for _ in range(4)] == [500, 500, 200, 200]
        server.behave(Behaviour("slow", seconds=0.01))
        assert talk(server.port, "POST", "/v1/embeddings", body)[0] == 200


@pytest.mark.parametrize("name", ["odd", "slow:3", "status:x", "status:-1", ""])
def test_a_mode_must_exist(name: str) -> None:
    with pytest.raises(ValueError, match="mode"):
        Behaviour.named(name)


@pytest.mark.parametrize("mode", ["slow", "drip", "drip_headers", "huge", "ok"])
def test_it_ends_although_clients_hang_on(mode: str) -> None:
    before = set(threading.enumerate())
    with FakeOpenAI(Behaviour(mode, seconds=60)) as server:
        waiting = socket.create_connection(("127.0.0.1", server.port))
        body = b'{"model": "m", "input": ["a"]}'
        waiting.sendall(b"POST /v1/embeddings HTTP/1.1\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
        while server.count == 0:
            assert waiting.fileno() >= 0
        idle = socket.create_connection(("127.0.0.1", server.port))

    assert set(threading.enumerate()) == before
    with pytest.raises(OSError, match=r"refused|reset"):
        socket.create_connection(("127.0.0.1", server.port))
    waiting.close()
    idle.close()


def test_it_runs_as_a_program_until_it_is_ended() -> None:
    with subprocess.Popen([*PROGRAM, "--port", "0", "--mode", "status:418"], stderr=subprocess.PIPE, text=True) as run:
        try:
            assert run.stderr is not None
            line = run.stderr.readline()
            port = int(line.split("127.0.0.1:")[1].split("/")[0])
            assert "(mode status:418)" in line
            assert talk(port, "POST", "/v1/embeddings", {"model": "m", "input": ["a"]})[0] == 418
            os.kill(run.pid, signal.SIGTERM)
            assert run.wait(timeout=20) == 0
            assert run.stderr.read() == ""
        finally:
            run.kill()


def test_its_help_names_every_mode_and_shows_an_example() -> None:
    shown = subprocess.run([*PROGRAM, "--help"], capture_output=True, text=True, check=True).stdout

    assert all(name in shown for name in MODES)
    assert "python tests/fake_openai.py --port 8089 --mode ok" in shown


def test_wrong_usage_is_told() -> None:
    wrong = subprocess.run([*PROGRAM, "--mode", "odd"], capture_output=True, text=True, check=False)
    with FakeOpenAI() as server:
        taken = subprocess.run([*PROGRAM, "--port", str(server.port)], capture_output=True, text=True, check=False)

    assert (wrong.returncode, taken.returncode) == (2, 1)
    assert "there is no mode 'odd'" in wrong.stderr
    assert taken.stderr.startswith(f"cannot listen on port {server.port}: ")
