from __future__ import annotations

import asyncio
import email.utils
import logging
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

pytest.importorskip("httpx", reason="httpx is not installed")

from fake_openai import FakeOpenAI
from quoth.errors import MissingExtra, ProviderFault, SettingsError
from quoth.models.openai_api import ApiService, OpenAiApi, RefusedRequest, RequestLimits, retry_after

KEY = "sk-very-secret-0123456789"
BODY = {"model": "m", "input": ["sow canola"]}
LIMITS = RequestLimits(seconds=5.0, whole=None, retries=2, reply_bytes=1_000_000)


def service(base_url: str) -> ApiService:
    return ApiService("the model", base_url, section="llm", model_setting="llm.model", key_variable="SOME_KEY")


class Waits(list[float]):
    """Stands in for sleep: it notes the seconds and goes on at once."""

    def __call__(self, seconds: float) -> None:
        self.append(seconds)


@pytest.fixture
def server() -> Iterator[FakeOpenAI]:
    with FakeOpenAI() as running:
        yield running


@pytest.fixture
def waits() -> Waits:
    return Waits()


@pytest.fixture
def api(server: FakeOpenAI, waits: Waits) -> OpenAiApi:
    return OpenAiApi(service(server.base_url), key=KEY, sleep=waits)


def fault_of(api: OpenAiApi, limits: RequestLimits = LIMITS, path: str = "/embeddings") -> ProviderFault:
    with pytest.raises(ProviderFault) as raised:
        api.post(path, BODY, limits=limits)
    assert raised.value.hint
    return raised.value


@contextmanager
def raw_server(reply: bytes, *, times: int = 3) -> Iterator[str]:
    """Answers each of the next `times` connections with the same bytes; gives the address."""

    def serve() -> None:
        for _ in range(times):
            try:
                connection, _address = listener.accept()
            except OSError:
                return
            with connection:
                asked = b""
                while not asked.endswith(b"}"):  # all of it: to close on unread bytes would lose the reply
                    asked += connection.recv(100_000)
                connection.sendall(reply)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()


def test_an_object_goes_out_and_one_comes_back(server: FakeOpenAI, api: OpenAiApi) -> None:
    reply, attempts = api.post("/embeddings", BODY, limits=LIMITS)

    assert (len(reply["data"]), attempts) == (1, 1)
    assert server.last.body == BODY
    assert server.last.headers["authorization"] == f"Bearer {KEY}"
    assert server.last.headers["content-type"] == "application/json"


@pytest.mark.parametrize("ending", ["", "/", "//"])
def test_a_slash_at_the_end_of_the_address_does_not_matter(server: FakeOpenAI, ending: str) -> None:
    api = OpenAiApi(service(server.base_url + ending), key=None)

    api.post("/embeddings", BODY, limits=LIMITS)

    assert server.last.path == "/v1/embeddings"


@pytest.mark.parametrize("key", [None, "", " \n"])
def test_without_a_key_no_authorisation_is_sent(server: FakeOpenAI, key: str | None) -> None:
    OpenAiApi(service(server.base_url), key=key).post("/embeddings", BODY, limits=LIMITS)

    assert "authorization" not in server.last.headers


def test_a_key_that_was_read_with_its_line_end_is_sent_without(server: FakeOpenAI) -> None:
    OpenAiApi(service(server.base_url), key=KEY + "\n").post("/embeddings", BODY, limits=LIMITS)

    assert server.last.headers["authorization"] == f"Bearer {KEY}"


def test_text_that_cannot_be_encoded_is_sent_all_the_same(server: FakeOpenAI, api: OpenAiApi) -> None:
    api.post("/embeddings", {"model": "m", "input": ["half \ud800 of a pair, Eskişehir 😀"]}, limits=LIMITS)

    assert server.last.body["input"] == ["half ? of a pair, Eskişehir 😀"]


def test_the_connection_is_used_again(server: FakeOpenAI, api: OpenAiApi) -> None:
    for _ in range(3):
        api.post("/embeddings", BODY, limits=LIMITS)

    assert len([thread for thread in threading.enumerate() if "process_request_thread" in thread.name]) == 1


def test_threads_share_a_client(server: FakeOpenAI, api: OpenAiApi) -> None:
    with ThreadPoolExecutor(8) as pool:
        replies = list(pool.map(lambda _: api.post("/embeddings", BODY, limits=LIMITS), range(32)))

    assert len({str(reply) for reply, _ in replies}) == 1
    assert server.count == 32


def test_it_can_be_used_where_an_event_loop_is_running(api: OpenAiApi) -> None:
    async def ask() -> int:
        return api.post("/embeddings", BODY, limits=LIMITS)[1]

    assert asyncio.run(ask()) == 1


def test_a_process_ends_at_once_and_leaves_nothing_open(server: FakeOpenAI) -> None:
    program = f"""
from quoth.models.openai_api import RequestLimits, OpenAiApi, ApiService
api = OpenAiApi(ApiService("the model", {server.base_url!r}, "llm", "llm.model", "SOME_KEY"), key=None)
api.post("/embeddings", {BODY!r}, limits=RequestLimits(10.0, None, 0, 1_000_000))
"""
    command = [sys.executable, "-W", "always::ResourceWarning", "-c", program]
    result = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)

    assert (result.returncode, result.stderr) == (0, "")


# What is tried again


def test_faults_that_pass_are_tried_again_with_growing_waits(server: FakeOpenAI, api: OpenAiApi, waits: Waits) -> None:
    server.behave("flaky:3", status=503)

    _, attempts = api.post("/embeddings", BODY, limits=RequestLimits(5.0, None, retries=3, reply_bytes=1_000_000))

    assert attempts == server.count == 4
    assert waits == [0.5, 1.0, 2.0]


@pytest.mark.parametrize("status", [408, 409, 425, 429, 500, 502, 503, 529])
def test_the_number_of_attempts_is_bounded(server: FakeOpenAI, api: OpenAiApi, waits: Waits, status: int) -> None:
    server.behave(f"status:{status}")

    fault = fault_of(api)

    assert isinstance(fault, RefusedRequest)
    assert (fault.status, fault.attempts, server.count) == (status, 3, 3)
    assert str(status) in str(fault)
    assert "3 attempts" in str(fault)
    assert waits == [0.5, 1.0]


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 413, 422])
def test_a_request_that_is_wrong_is_not_sent_twice(
    server: FakeOpenAI, api: OpenAiApi, waits: Waits, status: int
) -> None:
    server.behave(f"status:{status}")

    assert str(status) in str(fault_of(api))
    assert server.count == 1
    assert waits == []


def test_the_server_says_how_long_to_wait(server: FakeOpenAI, api: OpenAiApi, waits: Waits) -> None:
    server.behave("flaky:1", status=429, retry_after="7")

    assert api.post("/embeddings", BODY, limits=LIMITS)[1] == 2
    assert waits == [7.0]


def test_it_may_say_so_with_a_date(server: FakeOpenAI, api: OpenAiApi, waits: Waits) -> None:
    server.behave("flaky:1", status=429, retry_after=email.utils.formatdate(time.time() + 20, usegmt=True))

    api.post("/embeddings", BODY, limits=LIMITS)

    assert len(waits) == 1
    assert 10 < waits[0] <= 20


def test_nobody_is_made_to_wait_for_a_day(server: FakeOpenAI, api: OpenAiApi, waits: Waits) -> None:
    server.behave("flaky:1", status=503, retry_after="86400")

    api.post("/embeddings", BODY, limits=LIMITS)

    assert waits == [60.0]


def test_a_wait_past_the_deadline_is_not_begun(server: FakeOpenAI, api: OpenAiApi, waits: Waits) -> None:
    server.behave("status:429", retry_after="30")

    fault = fault_of(api, RequestLimits(seconds=5.0, whole=5.0, retries=5, reply_bytes=1_000_000))

    assert "429" in str(fault)
    assert (server.count, waits) == (1, [])


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        ("2.5", 2.5),
        ("Thu, 01 Jan 1970 00:01:00 GMT", 50.0),
        ("Thu, 01 Jan 1970 00:00:01 GMT", 0.0),
        (None, None),
        ("", None),
        ("soon", None),
        ("-3", None),
        ("5 minutes", None),
        ("1e999", None),
        ("nan", None),
        ("²", None),
        ("Thu, 99 Jan 1970 00:00:00 GMT", None),
    ],
)
def test_retry_after_is_read_in_both_forms(value: str | None, seconds: float | None) -> None:
    assert retry_after(value, now=10.0) == seconds


# What takes too long or too much


@pytest.mark.parametrize("mode", ["slow", "drip", "drip_headers"])
def test_a_request_ends_in_time_whatever_the_server_does(server: FakeOpenAI, api: OpenAiApi, mode: str) -> None:
    server.behave(mode, seconds=30 if mode == "slow" else 0.02)  # the drip as a whole would take many seconds
    began = time.monotonic()

    fault = fault_of(api, RequestLimits(seconds=0.3, whole=None, retries=0, reply_bytes=1_000_000))

    assert time.monotonic() - began < 30
    assert "within 0.3 s" in str(fault)
    assert "llm.seconds" in fault.hint


def test_the_whole_time_covers_the_retries(server: FakeOpenAI) -> None:
    server.behave("slow", seconds=30)
    api = OpenAiApi(service(server.base_url), key=None)
    began = time.monotonic()

    fault_of(api, RequestLimits(seconds=0.4, whole=0.4, retries=10, reply_bytes=1_000_000))

    assert time.monotonic() - began < 30
    assert server.count <= 1  # a busy machine may not even send it in time


def test_a_slow_request_is_tried_again_where_only_each_is_bounded(
    server: FakeOpenAI, api: OpenAiApi, waits: Waits
) -> None:
    server.behave("slow", seconds=30)

    fault = fault_of(api, RequestLimits(seconds=0.1, whole=None, retries=2, reply_bytes=1_000_000))

    assert "3 attempts" in str(fault)
    assert waits == [0.5, 1.0]


def test_a_client_works_after_a_request_that_was_cut_off(server: FakeOpenAI, api: OpenAiApi) -> None:
    server.behave("drip", seconds=0.02)
    fault_of(api, RequestLimits(seconds=0.2, whole=None, retries=0, reply_bytes=1_000_000))
    server.behave("ok")

    assert api.post("/embeddings", BODY, limits=LIMITS)[1] == 1


def test_a_reply_without_end_is_cut_off(server: FakeOpenAI, api: OpenAiApi) -> None:
    server.behave("huge")

    fault = fault_of(api, RequestLimits(seconds=5.0, whole=None, retries=2, reply_bytes=100_000))

    assert "more than 100000 bytes" in str(fault)
    assert server.count == 1


# What is not a good reply


@pytest.mark.parametrize(
    "content",
    [
        b"<html>Bad day.</html>",
        b"",
        b"[]",
        b"null",
        b'{"data": NaN}',
        b'{"data": [1, 2',
        b"\xff\xfe{}",
        b"[" * 100_000,
        b'{"n": ' + b"9" * 5_000 + b"}",
    ],
    ids=lambda content: content[:12].decode("latin-1"),
)
def test_a_reply_that_is_not_a_json_object_is_a_fault(content: bytes) -> None:
    with raw_server(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + content) as url:
        fault = fault_of(OpenAiApi(service(url), key=None))

    assert "JSON object" in str(fault)
    assert "llm.base_url" in fault.hint


def test_a_compressed_reply_that_nobody_asked_for_is_not_expanded() -> None:
    with raw_server(b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}") as url:
        assert "JSON object" in str(fault_of(OpenAiApi(service(url), key=None)))


def test_what_is_no_http_at_all_is_a_fault(waits: Waits) -> None:
    with raw_server(b"220 mail.example ESMTP\r\n") as url:
        fault = fault_of(OpenAiApi(service(url), key=None, sleep=waits))

    assert "cannot be reached" in str(fault)
    assert len(waits) == 2


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(server: FakeOpenAI, api: OpenAiApi, status: int) -> None:
    server.behave(f"status:{status}")

    fault = fault_of(api)

    assert "redirect" in str(fault)
    assert "llm.base_url" in fault.hint
    assert server.count == 1


def test_a_server_that_hangs_up_is_tried_again(server: FakeOpenAI, api: OpenAiApi, waits: Waits) -> None:
    server.behave("down")

    fault = fault_of(api)

    assert "cannot be reached" in str(fault)
    assert "llm.base_url" in fault.hint
    assert (server.count, waits) == (3, [0.5, 1.0])


def test_a_closed_port_is_a_fault(waits: Waits) -> None:
    with FakeOpenAI() as server:
        gone = server.base_url

    fault = fault_of(OpenAiApi(service(gone), key=KEY, sleep=waits))

    assert f"the model at {gone} cannot be reached" in str(fault)
    assert "(3 attempts)" in str(fault)


def test_a_host_that_is_no_name_is_a_fault(waits: Waits) -> None:
    assert "cannot be reached" in str(fault_of(OpenAiApi(service(f"http://{'a' * 70}.invalid"), key=None, sleep=waits)))


def test_a_server_that_restarts_is_found_again(waits: Waits) -> None:
    with FakeOpenAI() as first:
        port = first.port
        api = OpenAiApi(service(first.base_url), key=None, sleep=waits)
        api.post("/embeddings", BODY, limits=LIMITS)
    with FakeOpenAI(port=port):
        assert api.post("/embeddings", BODY, limits=LIMITS)[0]["data"]


# What the reader of a fault is told


@pytest.mark.parametrize(
    ("status", "hint"),
    [
        (401, "SOME_KEY"),
        (403, "SOME_KEY"),
        (404, "llm.model"),
        (404, "llm.base_url"),
        (429, "quota"),
        (500, "llm.base_url"),
    ],
)
def test_the_hint_names_what_to_change(server: FakeOpenAI, api: OpenAiApi, status: int, hint: str) -> None:
    server.behave(f"status:{status}")

    assert hint in fault_of(api).hint


def test_a_missing_key_is_told_as_such() -> None:
    with FakeOpenAI(key=KEY) as server:
        assert fault_of(OpenAiApi(service(server.base_url), key=None)).hint == "No key was sent: set SOME_KEY."


def test_the_servers_own_words_are_shown_in_one_short_line() -> None:
    said = b'{"error": {"message": "no\\u001b[31m such\\nmodel ' + b"x" * 1_000 + b'"}}'
    with raw_server(b"HTTP/1.1 400 Bad\r\nContent-Length: %d\r\n\r\n%s" % (len(said), said)) as url:
        message = str(fault_of(OpenAiApi(service(url), key=None)))

    assert "status 400: no [31m such model xxx" in message
    assert message.isprintable()
    assert len(message) < 300


@pytest.mark.parametrize("status", [400, 401, 403, 404, 418, 429, 500])
@pytest.mark.parametrize("key", [KEY, 'odd"key\\with/marks'])
def test_a_key_that_the_server_repeats_is_not_shown(status: int, key: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    echo = '{"error": {"message": "wrong key ' + key.replace("\\", "\\\\").replace('"', '\\"') + ' or so"}}'
    with raw_server(f"HTTP/1.1 {status} No\r\nContent-Length: {len(echo)}\r\n\r\n{echo}".encode(), times=3) as url:
        api = OpenAiApi(service(url), key=key, sleep=Waits())
        fault = fault_of(api)

    told = [str(fault), repr(fault), fault.hint, repr(api), repr(vars(api)), caplog.text]
    told += traceback.format_exception(fault)
    assert not any(key in one for one in told)


@pytest.mark.parametrize("key", ["two\nlines", "clé", "nul\0l", "\N{ZERO WIDTH SPACE}sk"])
def test_a_key_that_no_header_can_hold_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(SettingsError, match="SOME_KEY") as raised:
        OpenAiApi(service("http://127.0.0.1:9/v1"), key=key)

    assert not any(key in one for one in traceback.format_exception(raised.value))
    assert raised.value.__cause__ is None


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:8089/v1",
        "ftp://host/v1",
        "https://",
        "http://user:pass@host/v1",
        "http://h/v1?key=1",
        "http://[::1",
    ],
)
def test_an_address_that_cannot_be_one_is_refused_at_once(url: str) -> None:
    with pytest.raises(SettingsError, match=r"llm\.base_url") as raised:
        OpenAiApi(service(url), key=None)

    assert "pass" not in str(raised.value)


def test_a_proxy_that_cannot_be_used_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", "nonsense://host")

    with pytest.raises(SettingsError, match="proxy") as raised:
        OpenAiApi(service("http://127.0.0.1:9/v1"), key=KEY)

    assert "NO_PROXY" in raised.value.hint


def test_without_httpx_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)

    with pytest.raises(MissingExtra, match="the optional extra 'http'"):
        OpenAiApi(service("http://127.0.0.1:9/v1"), key=None)


def test_a_client_that_is_forgotten_lets_go_of_its_connections(server: FakeOpenAI) -> None:
    OpenAiApi(service(server.base_url), key=None).post("/embeddings", BODY, limits=LIMITS)
    deadline = time.monotonic() + 10
    while any("process_request_thread" in thread.name for thread in threading.enumerate()):
        assert time.monotonic() < deadline, "the server still has a connection"
        time.sleep(0.01)
