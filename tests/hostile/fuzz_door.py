"""What a door of Quoth is for fuzzing, and the time and memory that one input may take."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from random import Random
from types import FrameType
from typing import Any, Protocol

SECONDS = 20.0
MEMORY_MB = 2_048


@dataclass(frozen=True, slots=True)
class Tried:
    """What became of one input: whether it was taken or refused as it should be, and what went wrong."""

    data: bytes
    taken: bool
    wrong: tuple[str, ...] = ()


class Door(Protocol):
    """A way into Quoth. `share` is how many of its inputs are tried for one of the slowest door."""

    name: str
    share: int

    def try_one(self, random: Random) -> Tried:
        """Make an input and try it. Raise only what is a finding by itself."""


class TooSlow(Exception):
    pass


@contextmanager
def limited(seconds: float = SECONDS, *, waiting: bool = False) -> Iterator[None]:
    """Raise `TooSlow` in the block after this time of the processor, which is the same on a busy machine.

    With `waiting`, for another process, the time of the clock counts.
    """

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise TooSlow(f"it took more than {seconds:g} seconds")

    timer, number = (signal.ITIMER_REAL, signal.SIGALRM) if waiting else (signal.ITIMER_PROF, signal.SIGPROF)
    before = signal.signal(number, stop)
    signal.setitimer(timer, seconds)
    try:
        yield
    finally:
        signal.setitimer(timer, 0)
        signal.signal(number, before)


def limit_memory(megabytes: int = MEMORY_MB) -> None:
    """Let this process take so much more than it has now; beyond that a `MemoryError` is raised."""
    with open("/proc/self/statm") as file:  # noqa: PTH123 - no file
        now = int(file.read().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (now + megabytes * 2**20, hard))


def inexact(result: object, texts: Mapping[str, str]) -> Iterator[str]:
    """Say which quotes in a JSON result are not what the documents say. A quote has a document, a place and a text."""
    match result:
        case {"doc_id": str(doc_id), "start": int(start), "end": int(end), "text": str(quote)}:
            if texts.get(doc_id, "")[start:end] != quote:
                yield f"{doc_id}:{start}-{end} is quoted as {quote[:60]!r}"
    inner: Sequence[Any] = (
        [*result.values()] if isinstance(result, dict) else result if isinstance(result, list) else []
    )
    for item in inner:
        yield from inexact(item, texts)
