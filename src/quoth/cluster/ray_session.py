"""Connect to a Ray cluster, check that its nodes are alike, wait for its tasks, and disconnect."""

from __future__ import annotations

import fcntl
import logging
import os
import platform
import shutil
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, suppress
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

from quoth import __version__
from quoth.errors import ClusterFault, MissingExtra, QuothError
from quoth.machine import available_cores
from quoth.stores.locations import Location

AGAIN = "Run the same command again: what was embedded is kept. The logs of Ray say more."
_T = TypeVar("_T")
_REACH_SECONDS = 5.0
_NODE_SECONDS = 60.0
"""A node's first process starts within seconds, and within a minute on a busy node."""
_LONG_WAIT_SECONDS = 60.0
_STDERR = 2
_OURS = "quoth.lock"
"""A file in the folder of a session that we started, locked for as long as we live."""
_QUIET: Mapping[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
_log = logging.getLogger(__name__)


@contextmanager
def connected(address: str | None) -> Iterator[None]:
    """Connect to the cluster at `address` (`host:port`, or `auto` for this machine's); None starts a local cluster.

    Raises `ClusterFault` when it cannot be reached, or when a node runs other versions than this process.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # send no usage data unless the user asks for it
    # Ray reports every failed task whose result nobody fetched; after the first failure we fetch no more.
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")
    # Ray reports repeated work on standard output, which is for data. It reads this variable on import.
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")
    # A cluster that we start waits this long for its listeners; after Ray's 5 s a busy machine would begin again.
    os.environ.setdefault("RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S", f"{_NODE_SECONDS:.0f}")
    ray = _ray()
    if address is None:
        _start(ray)
    else:
        _join(ray, address)
    try:
        check_nodes()
        yield
    finally:
        # Ray's C++ code and threads complain about unfinished work when the cluster goes.
        with native_stderr_silenced(), Path(os.devnull).open("w", encoding="utf-8") as null, redirect_stderr(null):
            ray.shutdown()


def check_nodes() -> None:
    """Raise `ClusterFault` for the first node that runs other versions than this process."""
    here = versions()
    for node, there in _on_each_node(versions):
        if there != here:
            raise ClusterFault(
                f"node {node} of the cluster runs {there}, and here it is {here}",
                hint="Install the same versions of Quoth and Python on every node.",
            )


def check_sees(location: Location, name: str) -> None:
    """Write a file `name`, which must not exist, and raise `ClusterFault` for the first node that cannot read it."""
    location.put(name, b"", over=None)
    try:
        for node, why in _on_each_node(_why_unseen, location, name):
            if why is not None:
                raise ClusterFault(
                    f"node {node} of the cluster does not see what is written to {location.uri}: {why}",
                    hint="Give every node the same folder, or the same credentials; or use object storage.",
                )
    finally:
        with suppress(QuothError):
            location.remove([name])


def _why_unseen(location: Location, name: str) -> str | None:
    """Return why this node cannot read the file, or None if it can. Runs on each node."""
    try:
        return None if location.get(name) is not None else "it is another folder there"
    except QuothError as error:
        return str(error)


def _on_each_node(function: Callable[..., _T], *args: object) -> Iterator[tuple[str, _T]]:
    """Call a function on every node; yield node ids with results."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    ray = _ray()
    task = ray.remote(function)
    results = {
        node: task.options(
            num_cpus=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False), max_retries=0
        ).remote(*args)
        for node in alive()
    }
    for node, result in results.items():
        try:
            value: _T = ray.get(result, timeout=_NODE_SECONDS)
        except ray.exceptions.GetTimeoutError as error:
            raise ClusterFault(
                f"node {node} of the cluster does not answer", hint="Look at its log, or take it out of the cluster."
            ) from error
        except ray.exceptions.RayError as error:
            raise ClusterFault(
                f"node {node} of the cluster cannot run Quoth: {last_line(error)}",
                hint="Install the same 'quoth[ray]' on every node, in the Python that Ray runs in.",
            ) from error
        yield node, value


def versions() -> str:
    """Return what must be the same on every node, because nodes exchange pickled Python objects."""
    return f"Quoth {__version__} on Python {platform.python_version()}"


def alive() -> Mapping[str, Mapping[str, Any]]:
    """Return the nodes that are up, by id, as Ray describes them."""
    return {node["NodeID"]: node for node in _ray().nodes() if node["Alive"]}


def cpus() -> int:
    """Return how many CPUs the nodes have together, at least 1."""
    return max(1, int(sum(node["Resources"].get("CPU", 0) for node in alive().values())))


@contextmanager
def ray_errors_translated() -> Iterator[None]:
    """Raise a `ClusterFault` with the last line of any error of Ray's."""
    from ray.exceptions import RayError

    try:
        yield
    except RayError as error:
        raise ClusterFault(f"the cluster could not finish: {last_line(error)}", hint=AGAIN) from error


def fetch(task: Any) -> Any:  # noqa: ANN401 - a reference of Ray's, and what it stands for
    """Return the result of a task. Raise a `QuothError` as the task raised it, and any other error as Ray does."""
    from ray import get
    from ray.exceptions import RayTaskError

    try:
        return get(task)
    except RayTaskError as error:
        if isinstance(error.cause, QuothError):
            raise error.cause from error
        raise


def wait_for_some(tasks: list[Any]) -> Sequence[Any]:
    """Wait for at least one task, and return the finished tasks, and those that have yielded something new.

    Ray accepts tasks silently when no CPU is free, so a long wait is explained in the log.
    """
    import ray

    done, _ = ray.wait(tasks, num_returns=1, timeout=_LONG_WAIT_SECONDS, fetch_local=False)
    if not done:
        _warn_once()
        done, _ = ray.wait(tasks, num_returns=1, fetch_local=False)
    return cast("Sequence[Any]", done)


@cache
def _warn_once() -> None:
    _log.warning(
        "nothing has come back for %.0f s: the cluster may have no free CPU; see `ray status`", _LONG_WAIT_SECONDS
    )


def last_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1][:300] if lines else type(error).__name__


@contextmanager
def native_stderr_silenced() -> Iterator[None]:
    """Let only Python write to standard error, not C++ libraries; Ray's libraries keep their own logs."""
    stderr = sys.stderr
    is_real = False
    with suppress(OSError, ValueError):  # it may be no file, as in a test
        is_real = stderr is not None and stderr.fileno() == _STDERR
    if not is_real:
        yield
        return
    stderr.flush()
    copy = os.dup(_STDERR)
    with open(os.devnull, "wb") as null:  # noqa: PTH123 - no path of ours
        os.dup2(null.fileno(), _STDERR)
    sys.stderr = os.fdopen(copy, "w", encoding=stderr.encoding, errors=stderr.errors, buffering=1)
    try:
        yield
    finally:
        aside, sys.stderr = sys.stderr, stderr
        aside.flush()
        os.dup2(copy, _STDERR)
        aside.close()


def _start(ray: Any) -> None:  # noqa: ANN401 - a module
    """Start a cluster of this machine; a busy machine, on which Ray's 30 s were not enough, gets more tries."""
    for is_last in (False, False, True):
        try:
            with native_stderr_silenced():
                started = ray.init(address="local", num_cpus=available_cores(), include_dashboard=False, **_QUIET)
        except Exception as error:  # Ray raises a plain one when a process of its own is late
            with native_stderr_silenced():
                ray.shutdown()
            if is_last or "timed out" not in str(error):
                raise ClusterFault(
                    f"Ray cannot be started on this machine: {last_line(error)}",
                    hint="Check the room in memory and under /tmp, or give the --address of a cluster.",
                ) from error
        else:
            with suppress(OSError):  # it is only about room on the disk
                _replace_dead_sessions(Path(started.address_info["session_dir"]))
            return


def _replace_dead_sessions(own: Path) -> None:
    """Mark this session as ours, and remove the folders of earlier ones: Ray ends its processes, and keeps each folder.

    The logs of the last session stay until the next one starts. The kernel unlocks the mark of a killed process.
    """
    mark = os.open(own / f"{_OURS}.new", os.O_RDWR | os.O_CREAT, 0o600)  # open for as long as this process lives
    fcntl.flock(mark, fcntl.LOCK_EX)
    (own / f"{_OURS}.new").rename(own / _OURS)  # only now, so that nobody finds it unlocked
    for failed in set(own.parent.glob(f"session_*_{os.getpid()}")) - {own}:  # a start that came too late
        shutil.rmtree(failed)
    for other in own.parent.glob(f"session_*/{_OURS}"):
        if other.parent.is_symlink() or other.parent == own:
            continue
        with suppress(OSError), other.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(other.parent)


def _join(ray: Any, address: str) -> None:  # noqa: ANN401 - a module
    _check_reachable(address)
    try:
        with native_stderr_silenced():
            ray.init(address=address, **_QUIET)
    except (ConnectionError, TimeoutError) as error:
        raise _unreachable(address, last_line(error)) from error
    except (RuntimeError, ValueError) as error:  # other versions (Ray prints a table), or a missing token
        raise ClusterFault(
            f"cannot join the Ray cluster at {address}: {' '.join(str(error).split())[:400]}",
            hint="Use the cluster's versions of Ray and Python here, and its RAY_AUTH_TOKEN if it has one.",
        ) from error


def _check_reachable(address: str) -> None:
    """Fail at once if nobody listens there: Ray itself would try for half a minute."""
    if address == "auto":
        return
    host, _, port = address.rpartition(":")
    if "://" in address or not host or not port.isdigit():
        raise ClusterFault(
            f"{address} is no address of a Ray cluster", hint="Give the head node as host:port, such as 10.0.0.5:6379."
        )
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=_REACH_SECONDS):
            pass
    except (OSError, OverflowError) as error:
        raise _unreachable(address, str(error)) from error


def _unreachable(address: str, why: str) -> ClusterFault:
    return ClusterFault(
        f"the Ray cluster at {address} cannot be reached: {why}",
        hint="Check --address (or RAY_ADDRESS), that `ray status` works there, and RAY_AUTH_TOKEN where the cluster "
        "has one; without an address, Quoth starts one here.",
    )


def _ray() -> Any:  # noqa: ANN401 - a module
    try:
        import ray
    except ImportError as error:
        raise MissingExtra("a cluster", "ray") from error
    return ray
