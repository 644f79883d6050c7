"""One cluster for all tests that want it: they come first and one after the other, and then it is ended."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from .three_nodes import ThreeNodes, three_nodes

# Ray's workers give way to all other processes, so that beside other tests they would hardly ever have their turn.
os.environ.update({"RAY_worker_niceness": "0"})

_HERE = Path(__file__).parent
_running: dict[ThreeNodes, ExitStack] = {}
"""The cluster of this process, where there is one, and how it is ended."""


@pytest.fixture
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ThreeNodes]:
    """Three nodes, of which all but the first may be killed: they are replaced after the test."""
    if not _running:
        with ExitStack() as stack:
            lock = stack.enter_context((tmp_path_factory.getbasetemp().parent / "three-nodes.lock").open("w"))
            fcntl.flock(lock, fcntl.LOCK_EX)  # another process that wants one waits: they are large
            started = stack.enter_context(three_nodes())
            _running[started] = stack.pop_all()
    (nodes,) = _running
    yield nodes
    for _ in range(3 - len(nodes.nodes())):
        nodes.add()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: not _wants(item))


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    if nextitem is None or not _wants(nextitem):
        _end()


def pytest_sessionfinish() -> None:
    _end()


def _wants(item: pytest.Item) -> bool:
    return isinstance(item, pytest.Function) and "cluster" in item.fixturenames and item.path.parent == _HERE


def _end() -> None:
    while _running:
        _running.popitem()[1].close()
