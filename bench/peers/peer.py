"""What the adapters of `make compare` share: one protocol of JSON lines, spoken by every tool in its own environment.

    ADAPTER.py serve --index DIR --models DIR            requests on stdin, one reply a line on stdout
    ADAPTER.py ask QUESTION --index DIR --models DIR     load the index, answer once, end

Requests are `{"do": "check"}`, `{"do": "ingest", "folder", "documents"}`, `{"do": "open"}`, `{"do": "ask", "question"}`
and `{"do": "memory"}`. Nothing but the standard library is needed here.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol


class Unavailable(Exception):
    """The tool cannot do its job on this machine; the message says why."""


@dataclass(frozen=True)
class Text:
    """A text that the tool returned, with the place that the tool itself claims: half-open, None where it claims none.

    `unit` is that of the claim: `codepoint` or `byte`. `score` is the tool's own, None where it has none.
    """

    text: str
    document: str | None
    start: int | None
    end: int | None
    score: float | None
    unit: str = "codepoint"


@dataclass(frozen=True)
class Reply:
    """The answer: texts in the tool's order, none when it declines; then `nearest` are those it held back.

    `score` is what the tool says of the best it found, above its threshold or not; None where it gives no score.
    """

    texts: list[Text]
    nearest: list[Text]
    score: float | None


class Tool(Protocol):
    """A tool with an index in a folder of its own. `models` holds `embedder`, `reranker` and `nltk_data`."""

    def __init__(self, index: Path, models: Path) -> None: ...

    def check(self) -> None:
        """Raise `Unavailable` when this machine lacks what the tool needs."""

    def ingest(self, folder: Path, documents: Sequence[str]) -> int:
        """Index these files of the folder, save the index, and return the number of units that are searched."""

    def open(self) -> None:
        """Load the saved index and the models."""

    def ask(self, question: str) -> Reply: ...


def read(path: Path) -> str:
    """Return a text file as it is: text mode would rewrite line ends and move every offset after them."""
    return path.read_bytes().decode("utf-8")


def run(make: type[Tool]) -> int:
    """Speak the protocol for a tool."""
    parser = argparse.ArgumentParser(description="An adapter of `make compare`.")
    commands = parser.add_subparsers(dest="command", required=True)
    asker = commands.add_parser("ask")
    asker.add_argument("question")
    for command in (asker, commands.add_parser("serve")):
        command.add_argument("--index", type=Path, required=True)
        command.add_argument("--models", type=Path, required=True)
    options = parser.parse_args()
    # Replies have a descriptor of their own: what a library prints must not get in between.
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    tool = make(options.index, options.models)
    if options.command == "ask":
        tool.open()
        _write(replies, asdict(tool.ask(options.question)))
        return 0
    for line in sys.stdin:
        request = json.loads(line)
        began = time.perf_counter()
        try:
            reply = _done(tool, request)
        except Unavailable as error:
            reply = {"unavailable": str(error)}
        _write(replies, {**reply, "seconds": time.perf_counter() - began})
    return 0


def _done(tool: Tool, request: dict[str, Any]) -> dict[str, Any]:
    match request["do"]:
        case "check":
            tool.check()
        case "ingest":
            return {"units": tool.ingest(Path(request["folder"]), request["documents"])}
        case "open":
            tool.open()
        case "ask":
            return asdict(tool.ask(request["question"]))
        case "memory":
            return _memory()
    return {}


def _memory() -> dict[str, Any]:
    """Return the bytes of this process: resident now, and at the most."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    found = {name: value for name, _, value in (line.partition(":") for line in lines)}
    return {name: int(found[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM")}


def _write(replies: Any, value: dict[str, Any]) -> None:  # noqa: ANN401 - a text stream
    replies.write(json.dumps(value) + "\n")
    replies.flush()
