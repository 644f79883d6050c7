"""The service on Ray Serve, for as long as somebody wants it: what is wrong is found before it is said to serve."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
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


@contextmanager
def deployed(serving: ServingPlan, cluster: Cluster, *, host: str, port: int, everywhere: bool) -> Iterator[None]:
    """Deployed while the block runs, and taken away after it. `everywhere`: every node listens."""
    from ray import serve

    logging.getLogger("ray.serve").setLevel(logging.WARNING)  # it speaks of itself
    others = [name for name in _applications(serve) if name != _APP]
    try:
        serve.start(
            proxy_location="EveryNode" if everywhere else "HeadOnly",
            http_options={"host": host, "port": port},
            logging_config={"enable_access_log": False, "log_level": "WARNING"},
        )
        try:
            serve.run(application(serving), name=_APP, route_prefix="/")
        except RuntimeError as error:  # Serve's word for a replica that cannot start
            raise ClusterFault(
                f"the service cannot be started on the cluster: {str(error).splitlines()[0]}",
                hint="See the logs of Ray Serve on its nodes.",
            ) from error
        _check_shards(serving, cluster)
        _check_listening(host, port)
        yield
    finally:
        if others:
            serve.delete(_APP)
        else:
            serve.shutdown()  # type: ignore[no-untyped-call]


def _check_listening(host: str, port: int) -> None:
    """A Serve that runs on the cluster already listens where it was told to then, and nobody can tell it otherwise."""
    end = time.monotonic() + _LISTEN_SECONDS
    while True:
        try:
            with socket.create_connection((_ANY.get(host, host), port), timeout=_LISTEN_SECONDS):
                return
        except OSError as error:
            if time.monotonic() > end:
                raise ClusterFault(
                    f"nobody listens on {host}, port {port}: Ray Serve may run there already, on another port",
                    hint="Give --host and --port as it was started with, or end it with `serve shutdown`.",
                ) from error
            time.sleep(0.2)


def _applications(serve: Any) -> list[str]:  # noqa: ANN401 - a module
    return list(serve.status().applications)


def _check_shards(serving: ServingPlan, cluster: Cluster) -> None:
    """Have every shard opened where it is hosted; the first that cannot be is an error."""
    from ray import serve

    handles = [serve.get_deployment_handle(shard_deployment_name(one), _APP) for one in range(serving.shards)]
    transport = HandleTransport(handles, seconds=serving.plan.settings.shard_seconds)

    def opened(place: int) -> None:
        try:
            transport(place, cluster.shards[place], "info", ())
        except PartLost as lost:
            raise ClusterFault(
                f"shard {place + 1} of {serving.shards} does not answer: {lost.why}",
                hint="See the logs of Ray Serve on its nodes.",
            ) from lost
        except IndexFault as fault:
            raise IndexDamaged(str(fault), hint="Publish the index anew, or ingest again.") from fault

    with ThreadPoolExecutor(min(32, serving.shards)) as pool:
        list(pool.map(opened, range(serving.shards)))
