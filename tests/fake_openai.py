"""A small real server that speaks OpenAI's protocol on this machine, and misbehaves on request.

For tests and for trials by hand, without a key and without a network. Its embeddings come from hashing, so that texts
that share words are near; its judgements from the words that a question and a passage share.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import socket
import sys
import threading
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import FrameType
from typing import Any, Self

from quoth.models.hash_embedder import HashEmbedder

MODES: Mapping[str, str] = {
    "ok": "answers as it should",
    "slow": "answers after `seconds`",
    "drip": "sends one byte of its reply each `seconds`",
    "drip_headers": "does so from the first byte of the headers on",
    "garbage": "answers with something that is not JSON",
    "wrong_json": "leaves out the last row or id, names an unknown one and gives scores above 1",
    "rude": "puts chatter around its judgement, and the embeddings into a list of their own",
    "refuses": "declines to judge or to embed",
    "cut": "stops in the middle of its judgement, for length",
    "bare": "judges with an array instead of an object",
    "fenced": "puts its judgement into a ```json fence",
    "says": "judges with `text`, whatever that is",
    "replies": "sends `text` as the whole body of its reply",
    "no_format": "refuses a request that holds a response_format",
    "down": "closes the connection without a word",
    "huge": "never stops sending",
    "status": "answers with `status` (also `status:429`), and with `retry_after` where given",
    "flaky": "answers with `status` for the next `times` requests (also `flaky:2`), then as it should",
    "wrong_dimension": "gives vectors of one number too many",
    "unnormalised": "gives vectors three times too long",
    "shuffled": "gives vectors in another order, with the right index each",
}

_WORD = re.compile(r"\w+")
_MOST_BODY = 64 * 1024 * 1024
_KEPT = 100
"""Requests that are kept to be looked at."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """One of `MODES`, with what that mode needs."""

    mode: str = "ok"
    seconds: float = 0.05
    status: int = 500
    times: int = 0
    retry_after: str | None = None
    text: str = ""

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise ValueError(f"there is no mode '{self.mode}'; there are: {', '.join(MODES)}")

    @classmethod
    def named(cls, name: str, **values: Any) -> Behaviour:  # noqa: ANN401 - the fields of this class
        """A behaviour by name, as `slow`, `status:429` or `flaky:2`."""
        mode, _, number = name.partition(":")
        if number:
            if mode not in {"status", "flaky"} or not number.isdecimal():
                raise ValueError(f"'{name}' is no mode; a number goes with status and flaky, as in status:429")
            values["status" if mode == "status" else "times"] = int(number)
        try:
            return cls(mode, **values)
        except TypeError:
            raise ValueError(f"a mode takes seconds, status, times, retry_after and text, not {values}") from None


@dataclass(frozen=True, slots=True)
class Received:
    """A request as it came; the names of headers in lower case."""

    path: str
    headers: Mapping[str, str]
    body: Any


class FakeOpenAI:
    """The server, running between `with` and the end of its block; `base_url` is what a client is given."""

    def __init__(
        self,
        behaviour: Behaviour | str = "ok",
        *,
        port: int = 0,
        dimension: int = 64,
        key: str | None = None,
    ) -> None:
        """`dimension` is for requests that ask for none; with a `key`, all that do not send it are refused."""
        self.dimension = dimension
        self.key = key
        self.stopping = threading.Event()
        self._behaviour = Behaviour.named(behaviour) if isinstance(behaviour, str) else behaviour
        self._lock = threading.Lock()
        self._received: deque[Received] = deque(maxlen=_KEPT)
        self._count = 0
        self._wanted_port = port

    def __enter__(self) -> Self:
        self.stopping.clear()
        self._server = _Server(self._wanted_port, self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), name="fake-openai")
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._server.hang_up()
        self._server.server_close()  # waits for the threads of the connections
        self._thread.join()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def behave(self, behaviour: Behaviour | str, **values: Any) -> None:  # noqa: ANN401 - the fields of `Behaviour`
        """Answer in this way from now on: `behave("slow", seconds=3)`."""
        changed = Behaviour.named(behaviour, **values) if isinstance(behaviour, str) else behaviour
        with self._lock:
            self._behaviour = changed

    @property
    def count(self) -> int:
        """How many requests came for embeddings or judgements."""
        return self._count

    @property
    def received(self) -> tuple[Received, ...]:
        """The last of those requests, the newest at the end."""
        with self._lock:
            return tuple(self._received)

    @property
    def last(self) -> Received:
        return self.received[-1]

    def take(self, request: Received) -> Behaviour:
        """Note a request, and say how it is to be answered."""
        with self._lock:
            self._count += 1
            self._received.append(request)
            now = self._behaviour
            if now.mode != "flaky":
                return now
            if now.times == 0:
                return Behaviour()
            self._behaviour = replace(now, times=now.times - 1)
            return replace(now, mode="status")


class _Server(ThreadingHTTPServer):
    """Knows its open connections, so that a client that keeps one open cannot keep the server from ending."""

    daemon_threads = False
    fake: FakeOpenAI

    def __init__(self, port: int, fake: FakeOpenAI) -> None:
        self.fake = fake
        self._open: set[socket.socket] = set()
        self._guard = threading.Lock()
        super().__init__(("127.0.0.1", port), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:  # noqa: ANN401 - as in the base class
        with self._guard:
            self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:  # noqa: ANN401
        with self._guard:
            self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        with self._guard:
            for connection in self._open:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:  # noqa: ANN401
        """A client that goes away in the middle is no news here; all else is."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, ANN401 - as in the base class
        """Say nothing: headers may hold keys, and tests read stderr."""

    def do_GET(self) -> None:
        if self.path == "/healthz":
            self._send(200, {"status": "ok"})
        elif self.path == "/v1/models":
            models = [{"id": name, "object": "model", "owned_by": "quoth"} for name in ("fake-judge", "fake-embedding")]
            self._send(200, {"object": "list", "data": models})
        else:
            self._send(404, _error(f"there is nothing at {self.path}"))

    def do_POST(self) -> None:
        length = self.headers.get("Content-Length", "")
        if not length.isdecimal() or int(length) > _MOST_BODY:
            self.close_connection = True
            self._send(413, _error("the body has no length, or too much of it"))
            return
        try:
            body = json.loads(self.rfile.read(int(length)))
        except ValueError:
            self._send(400, _error("the body is not JSON"))
            return
        if not isinstance(body, dict):
            self._send(400, _error("the body must be an object"))
        elif self.path == "/behave":
            self._change(body)
        elif self.path in {"/v1/embeddings", "/v1/chat/completions"}:
            headers = {name.lower(): value for name, value in self.headers.items()}
            behaviour = self.server.fake.take(Received(self.path, headers, body))
            if self.server.fake.key is not None and headers.get("authorization") != f"Bearer {self.server.fake.key}":
                self._send(401, _error(f"incorrect key: {headers.get('authorization', 'none')}"))
            else:
                self._behave(behaviour, body)
        else:
            self._send(404, _error(f"there is nothing at {self.path}"))

    def _change(self, body: dict[str, Any]) -> None:
        try:
            self.server.fake.behave(str(body.pop("mode", "ok")), **body)
        except (ValueError, TypeError) as error:
            self._send(400, _error(str(error)))
        else:
            self._send(200, {"status": "ok"})

    def _behave(self, behaviour: Behaviour, body: dict[str, Any]) -> None:
        match behaviour.mode:
            case "down":
                self.close_connection = True
            case "status":
                self._send(behaviour.status, _error("told to fail"), retry_after=behaviour.retry_after)
            case "no_format" if "response_format" in body:
                self._send(400, _error("response_format is not supported by this model"))
            case "garbage":
                self._send_text("<html>Bad day.</html>")
            case "replies":
                self._send_text(behaviour.text)
            case "huge":
                self._write_without_end()
            case "slow":
                self.server.fake.stopping.wait(behaviour.seconds)
                self._answer(behaviour, body)
            case _:
                self._answer(behaviour, body)

    def _answer(self, behaviour: Behaviour, body: dict[str, Any]) -> None:
        try:
            if self.path == "/v1/embeddings":
                reply: object = _embeddings(body, behaviour.mode, dimension=self.server.fake.dimension)
            else:
                reply = _completion(body, behaviour)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            self._send(400, _error(f"the request is not what it should be: {error}"))
            return
        content = json.dumps(reply).encode()
        head = _head(200, "application/json", length=len(content))
        if behaviour.mode == "drip":
            self._write(head)
            self._drip(content, behaviour.seconds)
        elif behaviour.mode == "drip_headers":
            self._drip(head + content, behaviour.seconds)
        else:
            self._write(head + content)

    def _send(self, status: int, reply: object, *, retry_after: str | None = None) -> None:
        more = {} if retry_after is None else {"Retry-After": retry_after}
        if 300 <= status < 400:
            more["Location"] = f"{self.server.fake.base_url}/elsewhere"
        content = json.dumps(reply).encode()
        self._write(_head(status, "application/json", length=len(content), **more) + content)

    def _send_text(self, text: str) -> None:
        content = text.encode()
        self._write(_head(200, "text/plain", length=len(content)) + content)

    def _drip(self, content: bytes, pause: float) -> None:
        for byte in content:
            if self.server.fake.stopping.wait(pause):
                return
            self._write(bytes([byte]))

    def _write_without_end(self) -> None:
        self.close_connection = True
        self._write(_head(200, "application/json", length=None) + b'{"data": [')
        while not self.server.fake.stopping.is_set():
            self._write(b"0.5, " * 10_000)

    def _write(self, content: bytes) -> None:
        self.wfile.write(content)
        self.wfile.flush()


def _head(status: int, kind: str, *, length: int | None, **more: str) -> bytes:
    lines = [f"HTTP/1.1 {status} {'OK' if status == 200 else 'Told So'}", f"Content-Type: {kind}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in more.items()]
    lines.append("Connection: close" if length is None else f"Content-Length: {length}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _error(message: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", "param": None, "code": None}}


def _embeddings(body: Mapping[str, Any], mode: str, *, dimension: int) -> object:
    texts = [body["input"]] if isinstance(body["input"], str) else list(body["input"])
    if not texts or not all(isinstance(text, str) and text.strip() for text in texts):
        raise ValueError("input must hold texts, none of them empty")
    size = int(body.get("dimensions", dimension)) + (mode == "wrong_dimension")
    vectors = HashEmbedder(dimension=size).embed(texts) * (3.0 if mode == "unnormalised" else 1.0)
    data = [
        {"object": "embedding", "index": index, "embedding": [float(number) for number in vector]}
        for index, vector in enumerate(vectors)
    ]
    if mode == "wrong_json":
        del data[-1]
    if mode == "shuffled":
        data.reverse()
    if mode == "refuses":
        return _error("declined")
    tokens = sum(map(_count, texts))
    reply = {"object": "list", "model": body["model"], "data": data, "usage": {"prompt_tokens": tokens}}
    return [reply] if mode == "rude" else reply


def _completion(body: Mapping[str, Any], behaviour: Behaviour) -> dict[str, Any]:
    asked = json.loads(body["messages"][-1]["content"])
    judged = list(_judged(asked["question"], asked["passages"]))
    if behaviour.mode == "wrong_json":
        judged = [{**one, "relevance_score": 1.7} for one in judged[:-1]] + [{**judged[-1], "chunk_id": "p999"}]
    content: str | None = json.dumps(judged if behaviour.mode == "bare" else {"judgements": judged})
    match behaviour.mode:
        case "rude":
            content = f"Sure! Here you are:\n{content}\nIs there anything else?"
        case "fenced":
            content = f"```json\n{content}\n```"
        case "cut":
            content = (content or "")[:20]
        case "says":
            content = behaviour.text
        case "refuses":
            content = None
    refusal = "I would rather not." if behaviour.mode == "refuses" else None
    used = {"prompt_tokens": _count(body["messages"][-1]["content"]), "completion_tokens": _count(content or "")}
    return {
        "id": "fake",
        "object": "chat.completion",
        "model": body["model"],
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content, "refusal": refusal},
                "finish_reason": "length" if behaviour.mode == "cut" else "stop",
            }
        ],
        "usage": {**used, "total_tokens": sum(used.values())},
    }


def _judged(question: str, passages: Sequence[Mapping[str, str]]) -> Iterator[dict[str, Any]]:
    """The share of the question's words that each passage holds."""
    wanted = set(_WORD.findall(question.lower()))
    for passage in passages:
        shared = wanted & set(_WORD.findall(passage["text"].lower()))
        score = round(len(shared) / len(wanted), 4) if wanted else 0.0
        reasoning = f"It holds {len(shared)} of the question's {len(wanted)} words."
        yield {"chunk_id": passage["chunk_id"], "relevance_score": score, "reasoning": reasoning}


def _count(text: str) -> int:
    return len(_WORD.findall(text))


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(
        prog="python tests/fake_openai.py",
        description="Serve a fake of OpenAI's API on this machine, for trials without a key.",
        epilog="modes:\n"
        + "\n".join(f"  {name:16} {text}" for name, text in MODES.items())
        + "\n\nexample:\n  python tests/fake_openai.py --port 8089 --mode ok\n"
        '  curl -d \'{"mode": "slow", "seconds": 3}\' http://127.0.0.1:8089/behave',
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--port", type=int, default=8089, help="0 takes a free one (default: 8089)")
    parser.add_argument("--mode", default="ok", help="how to answer at first (default: ok)")
    parser.add_argument("--seconds", type=float, default=1.0, help="for slow and drip (default: 1)")
    parser.add_argument(
        "--dimension", type=int, default=64, help="of embeddings, where none is asked for (default: 64)"
    )
    given = parser.parse_args(arguments)
    stop = threading.Event()

    def end(_signal: int, _frame: FrameType | None) -> None:
        stop.set()

    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, end)
    with ExitStack() as running:
        try:
            behaviour = Behaviour.named(given.mode, seconds=given.seconds)
            server = running.enter_context(FakeOpenAI(behaviour, port=given.port, dimension=given.dimension))
        except ValueError as error:
            parser.error(str(error))
        except (OSError, OverflowError) as error:
            sys.stderr.write(f"cannot listen on port {given.port}: {error}\n")
            return 1
        sys.stderr.write(f"a fake of OpenAI's API is at {server.base_url} (mode {given.mode}); Ctrl-C ends it\n")
        sys.stderr.flush()
        stop.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
