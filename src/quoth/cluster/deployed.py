"""The service on Ray Serve, for as long as somebody wants it: what is wrong is found before it is said to serve."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from quoth.cluster.handles import HandleTransport
from quoth.cluster.serving import ServingPlan, application, shard_deployment_name
from quoth.errors import ClusterFault, IndexDamaged, IndexFault, PartLost
from quoth.interfaces.http.service import Plan
from quoth.stores.places import open_place
from quoth.stores.sharded import manifest
from quoth.stores.sharded.manifest import Cluster
from quoth.wiring import engine_for

_APP = "quoth"
_LISTEN_SECONDS = 15.0
_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - nothing is bound
"""Addresses that stand for all of a machine, and how it calls itself."""


def checked(plan: Plan) -> Cluster:
    """The index that is published, with all the files that it names, and settings that fit it."""
    place = open_place(plan.index)
    cluster = manifest.read(place)
    for entry in cluster.shards:
        there = set(place.names(entry.folder))
        inside = [name for name in entry.files if name != entry.listing]
        for name in inside:
            if name not in there:
                what = f"the shard {entry.folder}" if not there & set(inside) else name
                raise IndexDamaged(
                    f"the index at {place.uri} lacks {what}, which its manifest names", hint=manifest.PUBLISH
                )
    engine_for(cluster.info, plan.overrides, store="embedded")
    return cluster


def running_at() -> tuple[str, int] | None:
    """Where Ray Serve listens on this cluster; None where it does not run yet."""
    from ray.serve.context import _get_global_client  # nothing that is public says it

    client = _get_global_client(raise_if_no_controller_running=False)
    return None if client is None else (str(client.http_config.host), int(client.http_config.port))


def check_running(host: str, port: int) -> int | None:
    """The port of a Serve that runs already; None where none does. `ClusterFault` where we cannot go along with it."""
    from ray import serve

    running = running_at()
    if running is None:
        return None
    if _APP in _applications(serve):
        raise ClusterFault(
            "an index is served on this cluster already",
            hint="Stop the command that serves it, or end its service with `serve shutdown`.",
        )
    if running[0] != host or port not in (0, running[1]):  # nobody can tell it otherwise
        raise ClusterFault(
            f"Ray Serve runs on this cluster already, and listens on {running[0]}, port {running[1]}",
            hint=f"Give --host {running[0]} --port {running[1]}, or end it with `serve shutdown`.",
        )
    return running[1]


@contextmanager
def deployed(serving: ServingPlan, cluster: Cluster, *, host: str, port: int, everywhere: bool) -> Iterator[None]:
    """Deployed while the block runs, and taken away after it. `everywhere`: every node listens."""
    from ray import serve
    from ray.serve.exceptions import RayServeException

    logging.getLogger("ray.serve").setLevel(logging.WARNING)  # it speaks of itself
    ran = check_running(host, port) is not None
    try:
        serve.start(
            proxy_location="EveryNode" if everywhere else "HeadOnly",
            http_options={"host": host, "port": port},
            logging_config={"enable_access_log": False, "log_level": "WARNING"},
        )
        try:
            serve.run(application(serving), name=_APP, route_prefix="/")
        except (RuntimeError, RayServeException) as error:  # a replica that cannot start, or a path that is taken
            raise ClusterFault(
                f"the service cannot be started on the cluster: {str(error).splitlines()[0]}",
                hint="See the logs of Ray Serve on its nodes.",
            ) from error
        _check_shards(serving, cluster)
        _check_listening(host, port)
        yield
    finally:
        there = set(_applications(serve))
        if not ran and there <= {_APP}:
            serve.shutdown()  # type: ignore[no-untyped-call]
        elif _APP in there:
            serve.delete(_APP)


def _check_listening(host: str, port: int) -> None:
    """Serve says nothing where it cannot listen."""
    end = time.monotonic() + _LISTEN_SECONDS
    while True:
        try:
            with socket.create_connection((_ANY.get(host, host), port), timeout=_LISTEN_SECONDS):
                return
        except OSError as error:
            if time.monotonic() > end:
                raise ClusterFault(
                    f"nobody listens on {host}, port {port}",
                    hint="See the logs of Ray Serve on its nodes: it may be no address of theirs.",
                ) from error
            time.sleep(0.2)


def _applications(serve: Any) -> list[str]:  # noqa: ANN401 - a module
    return list(serve.status().applications)


def _check_shards(serving: ServingPlan, cluster: Cluster) -> None:
    """Have every shard opened where it is hosted; the first that cannot be, or is of another index, is an error."""
    from ray import serve

    handles = [serve.get_deployment_handle(shard_deployment_name(one), _APP) for one in range(serving.shards)]
    transport = HandleTransport(handles, seconds=serving.plan.settings.shard_seconds)

    def opened(place: int) -> None:
        try:
            info = transport(place, cluster.shards[place], "info", ())
        except PartLost as lost:
            raise ClusterFault(
                f"shard {place + 1} of {serving.shards} does not answer: {lost.why}",
                hint="See the logs of Ray Serve on its nodes.",
            ) from lost
        except IndexFault as fault:
            raise IndexDamaged(str(fault), hint=manifest.PUBLISH) from fault
        manifest.check(serving.plan.index, replace(cluster, shards=(cluster.shards[place],)), [info])

    with ThreadPoolExecutor(min(32, serving.shards)) as pool:
        list(pool.map(opened, range(serving.shards)))
