"""A Ray cluster to work on: joined or started, its nodes found to be alike, and left again."""

from __future__ import annotations

import logging
import os
import platform
import socket
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from quoth import __version__
from quoth.cluster.faults import last_line
from quoth.cluster.quiet import native_talk_aside
from quoth.errors import ClusterFault, MissingExtra, QuothError
from quoth.machine import available_cores
from quoth.stores.places import Place

_T = TypeVar("_T")
_REACH_SECONDS = 5.0
_LOOK_SECONDS = 60.0
"""A node's first process starts within seconds, and within a minute where it is busy."""


@dataclass(frozen=True, slots=True)
class Versions:
    """What must be the same on every node: values go to and fro between them as Python objects."""

    quoth: str
    python: str

    def __str__(self) -> str:
        return f"Quoth {self.quoth} on Python {self.python}"


@contextmanager
def connected(address: str | None) -> Iterator[None]:
    """Work on the cluster at `address` (`host:port`, or `auto` for the one of this machine); None starts one here.

    `ClusterFault` where it cannot be reached, or where a node runs other versions than we do.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is told to anybody unless the user wants it
    # Ray tells on the standard output, which is for data, what it does again; it reads this when it is imported.
    os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")
    ray = _ray()
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if address is None:
        _start(ray, quiet)
    else:
        _join(ray, address, quiet)
    try:
        check_nodes()
        yield
    finally:
        # What is still under way complains that the cluster is gone, in C++ and in threads of Ray's.
        with native_talk_aside(), Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stderr(nowhere):
            ray.shutdown()


def check_nodes() -> None:
    """`ClusterFault` names the first node that cannot do our work."""
    here = versions()
    for node, there in _on_each(versions):
        if there != here:
            raise ClusterFault(
                f"node {node} of the cluster runs {there}, and here it is {here}",
                hint="Install the same versions of Quoth and Python on every node.",
            )


def check_sees(place: Place, name: str) -> None:
    """`ClusterFault` names the first node that does not find what is written to `place`; `name` is free there."""
    place.put(name, b"", over=None)
    try:
        for node, why in _on_each(_why_unseen, place, name):
            if why is not None:
                raise ClusterFault(
                    f"node {node} of the cluster does not see what is written to {place.uri}: {why}",
                    hint="Give every node the same folder, or the same credentials; or use object storage.",
                )
    finally:
        with suppress(QuothError):
            place.remove([name])


def _why_unseen(place: Place, name: str) -> str | None:
    """On a node."""
    try:
        return None if place.get(name) is not None else "it is another folder there"
    except QuothError as error:
        return str(error)


def _on_each(function: Callable[..., _T], *args: object) -> Iterator[tuple[str, _T]]:
    """What a function gives on every node."""
    ray = _ray()
    asked = {node: _look_at(node, function, args) for node in alive()}
    for node, found in asked.items():
        try:
            there: _T = ray.get(found, timeout=_LOOK_SECONDS)
        except ray.exceptions.GetTimeoutError as error:
            raise ClusterFault(
                f"node {node} of the cluster does not answer", hint="Look at its log, or take it out of the cluster."
            ) from error
        except ray.exceptions.RayError as error:
            raise ClusterFault(
                f"node {node} of the cluster cannot run Quoth: {last_line(error)}",
                hint="Install the same 'quoth[ray]' on every node, in the Python that Ray runs in.",
            ) from error
        yield node, there


def versions() -> Versions:
    return Versions(quoth=__version__, python=platform.python_version())


def alive() -> Mapping[str, Mapping[str, Any]]:
    """The nodes that are up, by id."""
    return {node["NodeID"]: node for node in _ray().nodes() if node["Alive"]}


def _look_at(node: str, function: Callable[..., object], args: Sequence[object]) -> Any:  # noqa: ANN401 - a reference of Ray's
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    there = NodeAffinitySchedulingStrategy(node, soft=False)
    return _ray().remote(function).options(num_cpus=0, scheduling_strategy=there, max_retries=0).remote(*args)


def _start(ray: Any, quiet: Mapping[str, Any]) -> None:  # noqa: ANN401 - a module
    try:
        with native_talk_aside():
            ray.init(address="local", num_cpus=available_cores(), include_dashboard=False, **quiet)
    except (OSError, RuntimeError, ValueError) as error:
        raise ClusterFault(
            f"Ray cannot be started on this machine: {last_line(error)}",
            hint="Check the room in memory and under /tmp, or give the --address of a cluster.",
        ) from error


def _join(ray: Any, address: str, quiet: Mapping[str, Any]) -> None:  # noqa: ANN401 - a module
    _check_reachable(address)
    try:
        with native_talk_aside():
            ray.init(address=address, **quiet)
    except (ConnectionError, TimeoutError) as error:
        raise _unreachable(address, last_line(error)) from error
    except (RuntimeError, ValueError) as error:  # Ray's word for other versions, and for a missing token
        raise ClusterFault(
            f"cannot join the Ray cluster at {address}: {_in_one_line(error)}",
            hint="Use the cluster's versions of Ray and Python here, and its RAY_AUTH_TOKEN if it has one.",
        ) from error


def _check_reachable(address: str) -> None:
    """At once where nobody listens: Ray itself would try for half a minute."""
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


def _in_one_line(error: BaseException) -> str:
    """All of it, where the last line alone does not tell: of other versions Ray makes a table."""
    return " ".join(str(error).split())[:400]


def _ray() -> Any:  # noqa: ANN401 - a module
    try:
        import ray
    except ImportError as error:
        raise MissingExtra("a cluster", "ray") from error
    return ray
