"""Work for processes of their own; this module imports little, so that they start quickly."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TypeVar

from quoth.http.guard.access import Rates
from quoth.http.guard.api_keys import KeyFile, KeyScope
from quoth.http.jobs import AuditLog

PATIENCE = 120
"""Seconds after which processes count as hanging."""

T = TypeVar("T")


def side_by_side(work: Callable[[Path, str], T], path: Path, names: Sequence[str]) -> list[T]:
    """The work done for each name by a process of its own, all starting at one moment."""
    with ProcessPoolExecutor(len(names), mp_context=get_context("spawn")) as pool:
        started = [pool.submit(_when_all_are_there, work, path, name, names) for name in names]
        return [one.result(PATIENCE) for one in started]


def _when_all_are_there(work: Callable[[Path, str], T], path: Path, name: str, names: Sequence[str]) -> T:
    places = [path.parent.parent / f"{path.name}-{one}-is-there" for one in names]
    places[names.index(name)].touch()
    give_up = time.monotonic() + PATIENCE
    while not all(place.exists() for place in places) and time.monotonic() < give_up:
        pass  # a sleep would let them start one after the other
    return work(path, name)


def add_ten_keys(path: Path, name: str) -> list[str]:
    """The tokens of ten new keys."""
    return [KeyFile(path).add(f"{name} {number}", scopes={KeyScope.READ}, per_minute=None)[1] for number in range(10)]


def stopped_clock() -> float:
    return 1_700_000_000.0


def take_a_thousand(path: Path, name: str) -> int:
    """How many of 1,000 requests at one moment are granted under a limit of 6,000, whose burst is 1,000."""
    rates = Rates(path, clock=stopped_clock)
    try:
        return granted(rates.take("shared", 6_000).granted for _ in range(1_000))
    finally:
        rates.close()


def granted(answers: Iterable[bool]) -> int:
    return sum(answers)


def record_fifty(path: Path, name: str) -> None:
    for number in range(50):
        AuditLog(path).record(key=name, number=number, filling="x" * 3_000)
