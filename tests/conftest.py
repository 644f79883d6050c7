"""How the tests are run: parts that must be there, and the order in which processes take them.

Where every part must be there (QUOTH_TEST_PARTS=required), a test that skips for want of one fails.
"""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Generator, Iterator

import hypothesis
import pytest
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

pytest_plugins = ["stores.object_storage"]  # places of either kind

# A busy machine is slow, which is no failure of a property.
hypothesis.settings.register_profile("quoth", deadline=None)
hypothesis.settings.load_profile("quoth")

# Several workers share the cores, and programs that they start: a thread that waits for work must not spin for it.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

# The console takes its width from here when it is imported, by whichever test comes first.
os.environ["COLUMNS"] = "200"
# The terminal speaks English, wherever the tests run.
os.environ.pop("LC_ALL", None)
os.environ["LC_MESSAGES"] = "C"

_REQUIRED = os.environ.get("QUOTH_TEST_PARTS") == "required"

_SHARED = {
    "tests/cluster/test_batch.py": "Ray",
    "tests/cluster/test_ingest.py": "Ray",
    "tests/cluster/test_serving_nodes.py": "Ray",
    "tests/cluster/test_three_nodes.py": "Ray",
}
"""Files whose tests run in one process, because they share something that is slow to start."""
_SLOWEST = (
    "Ray",
    "tests/cluster/test_serving.py",
    "tests/end_to_end/test_large_file.py",
    "tests/end_to_end/test_hostile.py",
    "tests/doors/http/test_schemathesis.py",
    "tests/doors/web",
    "tests/tools/test_stress.py",
    "tests/stores/test_sharded_samples.py",
    "tests/end_to_end",
    "tests/documents",
    "tests/doors/http",
    "tests/stores",
    "tests/cluster",
    "tests/tools",
    "tests/test_examples.py",
)
"""What is begun first, so that no process is left with it in the end; folders stand for their files."""

# A shell that starts us in the background has us ignore Ctrl-C, and programs that tests start would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _group(nodeid: str) -> str:
    """Return what one process runs as a whole: a file, or several that share something."""
    file = nodeid.partition("::")[0]
    return "tests/doors/web" if file.startswith("tests/doors/web/") else _SHARED.get(file, file)


def _rank(nodeid: str) -> int:
    group = _group(nodeid)
    ranks = (rank for rank, slow in enumerate(_SLOWEST) if group == slow or group.startswith(f"{slow}/"))
    return next(ranks, len(_SLOWEST))


class _GroupScheduling(LoadScopeScheduling):  # type: ignore[misc]  # it has no types
    """Give a process that has nothing left to do the next group: what a file shares is made once."""

    def _split_scope(self, nodeid: str) -> str:
        return _group(nodeid)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> _GroupScheduling:
    config.option.loadscopereorder = False  # the order is that of the collection, see below
    return _GroupScheduling(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Leave what collection makes, which stays until the end, out of the search for garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: _rank(item.nodeid))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
    if _REQUIRED and report.skipped and "is not installed" in reason:
        report.outcome = "failed"
        report.longrepr = f"{reason}: this run must not skip for want of a part"
    return report


@pytest.fixture(scope="session")
def database_url() -> Iterator[str]:
    """A database for the tests that ask for one; the server starts on the first use."""
    pytest.importorskip("psycopg", reason="psycopg is not installed")
    from stores.postgres_server import running_server

    with running_server() as url:
        yield url


@pytest.fixture
def schema(database_url: str) -> Iterator[str]:
    """The name of a schema that is dropped afterwards."""
    from stores.postgres_server import drop_schema, new_schema

    name = new_schema()
    yield name
    drop_schema(database_url, name)
