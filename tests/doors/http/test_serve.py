"""`quoth serve` as the program that operators start, stop, kill and update."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import httpx
import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from quoth.http.listening import BoundedConnection

from .. import local_http
from ..command_line import PATIENCE, Ran, failed, finish, run, start
from ..small_corpus import CANOLA, SmallCorpus
from .serving import Program, bearer, children, is_alive, new_key, serving, wait_for

ASKED = {"question": "Do we sow canola at 2.5 cm into moist soil?"}
OPEN = ("--no-auth",)


def ask(program: Program, question: str = ASKED["question"]) -> httpx.Response:
    return program.send("POST", "/answer", json={"question": question})


def count(program: Program, series: str) -> float:
    """What a series has counted, over all processes."""
    text = program.send("GET", "/metrics").text
    return sum(float(value) for value in re.findall(rf"^{re.escape(series)} (\S+)$", text, re.MULTILINE))


# Starting


def not_started(*arguments: str | Path) -> Ran:
    """How `quoth serve` ends when it refuses to; in this process, as a new one takes far longer than the check."""

    def serve(*_: object, **__: object) -> None:
        raise AssertionError("it serves")

    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    with pytest.MonkeyPatch.context() as patch:
        # Which it sets, for its own process.
        patch.setenv("PROMETHEUS_MULTIPROC_DIR", os.environ.get("PROMETHEUS_MULTIPROC_DIR", ""))
        patch.setattr("quoth.http.app.serve", serve)
        try:
            return run("serve", *arguments)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--no-auth", "--host", "0.0.0.0"), ("without keys", "0.0.0.0", "quoth keys add")),  # noqa: S104 - refused
        ((), ("there is no key", "quoth keys add")),
        (("--no-auth", "--set", "service.uploads=false", "--index", "nowhere"), ("no index",)),
    ],
)
def test_what_would_let_in_everybody_or_nobody_is_not_started(
    small: SmallCorpus, tmp_path: Path, options: tuple[str, ...], words: tuple[str, ...]
) -> None:
    state = ("--set", f"service.state={tmp_path}")
    ran = not_started("--port", "0", "--index", small.index, *state, *options)
    assert failed(ran, *words), ran.talk


def test_a_port_that_is_taken_is_said_so(small: SmallCorpus, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        for workers in ("1", "2"):
            state = ("--set", f"service.state={tmp_path}", "--workers", workers)
            ran = not_started("--no-auth", "--port", port, "--index", small.index, *state)
            assert failed(ran, "cannot listen", port, "--port"), ran.talk


@pytest.mark.parametrize(
    ("name", "workers"), [("file", "2"), ("file/below", "1"), ("/proc/quoth", "1"), ("damaged", "1")]
)
def test_a_state_that_cannot_be_written_is_said_so(small: SmallCorpus, tmp_path: Path, name: str, workers: str) -> None:
    (tmp_path / "file").write_text("a file where a folder should be", encoding="utf-8")
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "service.db").write_bytes(b"damaged " * 1_000)
    place = tmp_path / name
    options = ("--set", f"service.state={place}", "--workers", workers)
    ran = not_started("--no-auth", "--port", "0", "--index", small.index, *options)
    said = ran.talk.partition("error: ")[2]
    assert ran.code == 1, ran.talk
    assert said.startswith(f"the folder of the service's state {place} cannot be written: "), ran.talk
    assert "\nhint: Set service.state" in said
    assert "Traceback" not in ran.talk


def test_processes_that_cannot_start_are_not_started_for_ever(small: SmallCorpus, tmp_path: Path) -> None:
    """Whatever was checked before: here nothing was."""
    (tmp_path / "state").write_text("a file where a folder should be", encoding="utf-8")
    program = f"""\
from quoth.http import app
from quoth.http.listening import listen
from quoth.http.service import ServeOptions
from quoth.overrides import Overrides
flags = {{"service.state": {str(tmp_path / "state")!r}, "embedding.model_name": "hash", "rerank.kind": "late"}}
given = Overrides({{}}, {{}}, flags)
options = ServeOptions(index={str(small.index)!r}, overrides=given, profile=None, auth=False)
with listen("127.0.0.1", 0) as (sockets, _):
    app.serve(options, sockets, workers=2)
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=PATIENCE, check=False)
    assert ran.returncode == 1
    assert b"the service cannot start" in ran.stderr
    assert b"cannot start" in ran.stderr.partition(b"Traceback")[0]  # its own log says why


def test_a_service_with_keys_asks_for_them_and_when_idle_stops_at_once(small: SmallCorpus, tmp_path: Path) -> None:
    _, token = new_key(tmp_path / "state")
    with serving(small.index, tmp_path / "state", folder=tmp_path) as program:
        program.wait_until_ready()
        assert ask(program).status_code == 401
        answered = program.send("POST", "/answer", json=ASKED, headers=bearer(token))
        assert answered.json()["final_answer"] == CANOLA
        assert "server" not in answered.headers
        with local_http.client() as kept_alive:
            assert kept_alive.get(f"{program.url}/healthz").status_code == 200
            program.process.terminate()
            assert program.process.wait(PATIENCE) == 0
    assert list(program.folder.iterdir()) == []  # it leaves nothing
    assert token not in "".join(program.talk)
    told = [json.loads(line) for line in program.talk if line.startswith("{")]
    assert len(told) >= 4
    assert all(line.startswith(("{", "Serving ")) for line in program.talk)  # and no traceback


# Stopping


@pytest.mark.parametrize(("number", "workers"), [(signal.SIGTERM, 1), (signal.SIGINT, 1), (signal.SIGTERM, 2)])
def test_what_is_under_way_is_finished_before_it_stops(
    small: SmallCorpus, tmp_path: Path, number: signal.Signals, workers: int
) -> None:
    questions = "\n".join(f"{ASKED['question']} {one}" for one in range(200))
    with serving(small.index, tmp_path / "state", *OPEN, "--workers", str(workers), folder=tmp_path) as program:
        program.wait_until_ready()
        with ThreadPoolExecutor(8) as clients, local_http.client() as reader:
            kind = {"Content-Type": "text/plain"}
            with reader.stream("POST", f"{program.url}/answer/batch", content=questions, headers=kind) as streamed:
                lines = streamed.iter_lines()
                first = next(lines)
                answers = [clients.submit(ask, program) for _ in range(8)]
                wait_for(lambda: count(program, "quoth_requests_running") or all(one.done() for one in answers))
                program.process.send_signal(number)
                rest = list(lines)
            assert len([first, *rest]) == 200
            assert [json.loads(line)["question_id"] for line in (first, *rest)] == [str(n) for n in range(1, 201)]
            statuses = [one.result().status_code for one in answers if one.exception() is None]
            assert set(statuses) <= {200}
            refused = [type(one.exception()) for one in answers if one.exception() is not None]
            assert set(refused) <= {httpx.ConnectError}  # came when nobody listened any more; none was cut off
        assert program.process.wait(PATIENCE) == 0
        assert list(program.folder.iterdir()) == []
        with pytest.raises(httpx.ConnectError):
            ask(program)


# Living on


def test_an_index_that_changes_is_followed_and_one_that_is_damaged_is_not_ready(
    own: SmallCorpus, tmp_path: Path
) -> None:
    """Without a restart in between."""
    with serving(own.index, tmp_path / "state", *OPEN, folder=tmp_path) as program:
        program.wait_until_ready()
        _follows_new_generations(program, own)
        for file in own.index.glob("quoth.db*"):
            file.write_bytes(b"damaged " * 4_096)
        program.wait_until_ready(503)
        said = program.send("GET", "/readyz").json()
        assert (said["ready"], said["checks"]["index"]) == (False, False)
        refused = ask(program)
        assert (refused.status_code, set(refused.json())) == (503, {"error"})
        assert str(tmp_path) not in refused.text
        assert program.send("GET", "/healthz").status_code == 200
        assert program.send("GET", "/metrics").status_code == 200
    ran = finish(start("serve", "--no-auth", "--port", "0", "--index", own.index))
    assert failed(ran), ran.talk


def _follows_new_generations(program: Program, own: SmallCorpus) -> None:
    question = "At which depth do we sow lupins into sandy loam?"
    before = ask(program, question).json()
    lupins = "# Lupins\n\nWe sow lupins at a depth of 3 cm into sandy loam.\n"
    (own.folder / "lupins.md").write_text(lupins, "utf-8")
    assert run("ingest", own.folder, "--index", own.index).code == 0
    after = ask(program, question).json()
    documents = program.send("GET", "/documents").json()
    (own.folder / "lupins.md").unlink()
    assert run("ingest", own.folder, "--index", own.index, "--prune").code == 0
    again = ask(program, question).json()
    assert "lupins" not in before["final_answer"]
    assert after["final_answer"] == "We sow lupins at a depth of 3 cm into sandy loam."
    assert after["run_notes"]["index"] != before["run_notes"]["index"]
    assert "lupins.md" in [one["doc_id"] for one in documents["documents"]]
    assert (again["answer_sentences"], again["abstained"]) == (before["answer_sentences"], before["abstained"])


def test_a_worker_that_is_killed_is_replaced_while_the_other_goes_on(small: SmallCorpus, tmp_path: Path) -> None:
    with serving(small.index, tmp_path / "state", *OPEN, "--workers", "2", folder=tmp_path) as program:
        program.wait_until_ready()
        first = children(program.process.pid)
        assert len(first) == 2
        for _ in range(40):
            ask(program)
        series = 'quoth_http_requests_total{method="POST",route="/answer",status="200"}'
        wait_for(lambda: count(program, series) == 40)  # one is counted when its answer is already on its way
        killed = first[0]
        os.kill(killed, signal.SIGKILL)
        wait_for(lambda: not is_alive(killed))
        assert _answered(program)  # the other is there
        wait_for(lambda: len(now := children(program.process.pid)) == 2 and killed not in now)
        wait_for(lambda: _processes(program) - set(first), lambda: f"{first}, {_processes(program)}")
        wait_for(lambda: count(program, series) >= 41)  # what the dead one counted is not lost
        assert count(program, "quoth_requests_running") >= 0
        assert not list(program.folder.glob(f"quoth-metrics-*/gauge_live*_{killed}.db"))
        program.process.terminate()
        assert program.process.wait(PATIENCE) == 0
    assert list(program.folder.iterdir()) == []


def _processes(program: Program) -> set[object]:
    with ThreadPoolExecutor(8) as clients:  # one after the other might all go to the same process
        assert all(clients.map(_answered, [program] * 8))
    return {line["process"] for line in program.logged("request") if line["route"] == "/answer"}


def _answered(program: Program) -> bool:
    try:
        return ask(program).status_code == 200
    except httpx.TransportError:  # the connection had been given to the one that was killed
        return ask(program).status_code == 200


# Hostile clients


def test_what_is_no_request_is_refused_and_harms_nobody(small: SmallCorpus, tmp_path: Path) -> None:
    here, kind = b"Host: 127.0.0.1\r\n", b"Content-Type: application/json\r\n"
    post = b"POST /answer HTTP/1.1\r\n" + here + kind
    refused = {
        b"\x00\x01 garbage\r\n\r\n": b"400",
        b"GET / HTTP/9.9\r\n" + here + b"\r\n": b"400",
        post + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n": b"400",
        post + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n12345": b"400",
        post + b"Content-Length: -5\r\n\r\n12345": b"400",
        post + b"Transfer-Encoding: chunked\r\n\r\nZZ\r\n": b"400",
        post + b"Content-Length: 99999999\r\n\r\nxx": b"413",
        post + b"Transfer-Encoding: chunked\r\n\r\nFFFFFFFF\r\n" + 1_200_000 * b"x": b"413",
        b"CONNECT evil.example:443 HTTP/1.1\r\n" + here + b"\r\n": b"400",
        b"GET / HTTP/1.1\r\n" + here + b"X: " + 2**21 * b"a": b"400",
        b"GET / HTTP/1.1\r\n" + here + 2**17 * b"X: a\r\n": b"400",
    }
    with serving(small.index, tmp_path / "state", *OPEN, folder=tmp_path) as program:
        program.wait_until_ready()
        for sent, status in refused.items():
            got = _raw(program, sent)
            cut_off = len(sent) > 2**17 and not got  # closed while much was still on its way, which drops the answer
            assert got.startswith(b"HTTP/1.1 " + status) or cut_off, sent[:100]
        health = b"GET /healthz HTTP/1.1\r\n" + here
        pipelined = _raw(program, health + b"\r\n" + health + b"Connection: close\r\n\r\n")
        assert pipelined.count(b"HTTP/1.1 200") == 2
        head = _raw(program, b"HEAD /documents HTTP/1.1\r\n" + here + b"Connection: close\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200")
        assert head.endswith(b"\r\n\r\n")
        assert ask(program).status_code == 200
    assert not program.logged("a request failed")


def _raw(program: Program, sent: bytes) -> bytes:
    """What comes back until the server closes the connection."""
    address = ("127.0.0.1", int(program.url.rpartition(":")[2]))
    with socket.create_connection(address, timeout=PATIENCE) as connection:
        with suppress(ConnectionError):
            connection.sendall(sent)
        got = b""
        with suppress(ConnectionError):
            while piece := connection.recv(2**16):
                got += piece
        return got


def test_a_connection_that_never_sends_a_request_is_closed() -> None:
    class Quick(BoundedConnection):
        head_seconds = 0.2

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 204, "headers": []})
        await send({"type": "http.response.body", "body": b""})

    async def main() -> None:
        config = uvicorn.Config(app, http=Quick, ws="none", lifespan="off", log_config=None, timeout_keep_alive=60)
        server = uvicorn.Server(config)
        with socket.create_server(("127.0.0.1", 0)) as listening:
            port = listening.getsockname()[1]
            serves = asyncio.create_task(server._serve([listening]))
            for sent in (b"", b"GET / HTT", b"GET / HTTP/1.1\r\nHost: a\r\nX"):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(sent)
                assert await asyncio.wait_for(reader.read(), PATIENCE) == b""
                writer.close()
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            for _ in range(3):  # one that asks again and again is kept
                writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
                assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 204")
                await asyncio.sleep(0.25)
            writer.write(b"GET / HTTP/1.1\r\n")
            assert await asyncio.wait_for(reader.read(), PATIENCE) == b""
            writer.close()
            server.should_exit = True
            await serves

    asyncio.run(main())


# Readiness


def test_a_service_without_an_index_is_ready_after_the_first_upload(tmp_path: Path) -> None:
    with serving(tmp_path / "index", tmp_path / "state", *OPEN, folder=tmp_path) as program:
        program.wait_until_ready(503)
        said = program.send("GET", "/readyz").json()
        assert (said["ready"], said["checks"]["store"], said["checks"]["index"]) == (False, True, False)
        assert program.send("GET", "/healthz").status_code == 200
        refused = ask(program)
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "no-index")
        assert str(tmp_path) not in refused.text
        assert int(refused.headers["retry-after"]) >= 1
        text = f"# Canola\n\n{CANOLA}\n"
        accepted = program.send("PUT", "/documents/canola.md", content=text)
        assert accepted.status_code == 202
        program.wait_until_ready(200)
        assert ask(program).json()["final_answer"] == CANOLA
        assert program.send("GET", accepted.headers["location"]).json()["state"] == "done"
