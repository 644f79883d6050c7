"""What both sides of the benchmark share: questions over a pipe, timed where they are answered. No dependencies."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

Reply: TypeAlias = tuple[str, list[str]]
"""The answer as one line of JSON, and the ids of the sentences that were ranked, best first."""

Answer: TypeAlias = Callable[[str, Mapping[str, Any]], Reply]


def serve(answer: Answer) -> None:
    """Answer every line of stdin until it ends; `{"memory": true}` asks for the resident memory instead."""
    _reply({"ready": True})
    for line in sys.stdin:
        request = json.loads(line)
        if request.get("memory"):
            _reply(memory())
            continue
        cpu, began = time.process_time(), time.perf_counter()
        text, ranked = answer(request["question"], request)
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        _reply({"seconds": seconds, "cpu_seconds": cpu, "line": text, "ranked": ranked})


def memory() -> dict[str, int]:
    """Bytes of this process: resident now (of which backed by files) and at the most."""
    found = {}
    for line in Path("/proc/self/status").read_bytes().decode().splitlines():
        name, _, value = line.partition(":")
        if name in {"VmRSS", "VmHWM", "RssFile"}:
            found[name] = int(value.split()[0]) * 1024
    return found


def _reply(value: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(value) + "\n")
    sys.stdout.flush()
