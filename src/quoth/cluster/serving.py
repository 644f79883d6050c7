"""Serve a sharded index on Ray Serve: a deployment for each shard, and one for the HTTP service over them.

The service is checked before it is announced, and taken away at the end.

`app` is what a Serve config names: `import_path: quoth.cluster.serving:app`.
"""

from __future__ import annotations

import logging
import os
import socket
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from quoth.cluster.ray_session import alive
from quoth.cluster.shard_replica import HandleTransport, Router, ShardDeployment
from quoth.errors import ClusterFault, IndexDamaged, IndexFault, SettingsError, ShardLost
from quoth.http.service import ServeOptions
from quoth.overrides import Overrides, environment_settings
from quoth.stores.locations import open_location
from quoth.stores.sharded import cluster_manifest as manifest
from quoth.stores.sharded.cluster_manifest import ClusterManifest
from quoth.wiring import engine_for

ROUTER = "router"
_CPUS = 0.1
"""What a replica reserves, as Ray counts CPUs. A shard needs memory; a small index fits on a small machine."""
_ACTOR = {
    "num_cpus": _CPUS,
    "runtime_env": {
        "env_vars": {
            # Replicas call each other directly; they authenticate only with Ray's token. A Ray that does not know this
            # variable sends calls through its object store, which is slower and otherwise the same.
            "RAY_SERVE_USE_GRPC_BY_DEFAULT": "1",
            "RAY_SERVE_REPLICA_GRPC_MAX_MESSAGE_LENGTH": str(2**31 - 1),  # for the text of a large document
        }
    },
}
_SHARD_CALLS = 32
"""Calls that a replica of a shard takes at once; more wait, or go to another."""
_BUSY_CALLS = 4
"""Calls at once for which autoscaling gives a shard another replica."""
_HEALTH_CHECK_SECONDS, _HUNG_SECONDS = 5.0, 10.0
"""How often Serve checks the health of a replica, and after how long without an answer it replaces it."""
_SENTENCE_BYTES = 1_300
"""Memory that a shard takes for each sentence, roughly; docs/scale.md has the measurements."""
_APP = "quoth"
_SERVING_JOB = "quoth-serving-job"
"""The key under which the cluster keeps the id of the job that serves, which is a command of ours."""
_LISTEN_SECONDS = 60.0
_ANY = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - nothing is bound
"""Addresses that stand for all interfaces of a machine, and the one to connect to instead."""


@dataclass(frozen=True, slots=True)
class ServingPlan:
    """What to serve, with how many replicas. `sentences` are counts, by shard.

    `spread`: no two replicas of a shard on one node. `sized`: Ray places replicas by the memory they need.
    """

    plan: ServeOptions
    sentences: tuple[int, ...]
    replicas: int
    max_replicas: int
    spread: bool
    sized: bool

    @property
    def shards(self) -> int:
        return len(self.sentences)

    def memory(self, number: int) -> int:
        """Return roughly how many bytes a replica of this shard needs beyond an empty process."""
        return _SENTENCE_BYTES * self.sentences[number]


def serving_plan(
    cluster: str, overrides: Overrides, *, replicas: int, max_replicas: int | None, auth: bool
) -> ServingPlan:
    """Return a plan that is neither `spread` nor `sized`.

    Raise `SettingsError` for impossible numbers, and `IndexFault` if no index is published."""
    most = replicas if max_replicas is None else max_replicas
    if not 1 <= replicas <= most:
        raise SettingsError(
            f"{replicas} replicas, and at most {most} of them, cannot be",
            hint="Give --replicas of 1 or more, and --max-replicas that is no less.",
        )
    place = open_location(cluster)
    plan = ServeOptions(index=place.uri, overrides=_with_absolute_paths(overrides), profile=None, auth=auth)
    sentences = tuple(entry.sentences for entry in manifest.read(place).shards)
    return ServingPlan(plan, sentences, replicas, most, spread=False, sized=False)


def app(args: Mapping[str, Any]) -> Any:  # noqa: ANN401 - an Application of Serve's
    """Build the application from a Serve config: `cluster`, and optionally `replicas`, `max_replicas` and `settings`.

    `settings` are sections of settings, as in `quoth.yaml`; `QUOTH_…` environment variables override them. Clients
    always need a key, because Serve listens on more than this machine. Replicas of a shard are put on different nodes,
    each with enough memory.
    """
    known = {"cluster", "replicas", "max_replicas", "settings"}
    if unknown := sorted(set(args) - known):
        raise SettingsError(f"unknown argument '{unknown[0]}'", hint=f"There are: {', '.join(sorted(known))}.")
    if "cluster" not in args:
        raise SettingsError("the argument 'cluster' is missing", hint="Give the address of the index: s3://…")
    replicas = _number("replicas", args.get("replicas", 1))
    most = args.get("max_replicas")
    overrides = Overrides(file=args.get("settings") or {}, environment=environment_settings(os.environ), flags={})
    overrides.without_profile()  # raises for wrong settings now
    most = None if most is None else _number("max_replicas", most)
    plan = serving_plan(str(args["cluster"]), overrides, replicas=replicas, max_replicas=most, auth=True)
    return application(replace(plan, spread=replicas > 1, sized=True))


def application(serving: ServingPlan) -> Any:  # noqa: ANN401 - an Application of Serve's
    """Return the deployments `shard-1` … `shard-N` and `router`. This is the first to import Ray."""
    from ray import serve

    deployment: Any = serve.deployment  # what it returns is not typed
    service = serving.plan.settings
    health = {"health_check_period_s": _HEALTH_CHECK_SECONDS, "health_check_timeout_s": _HUNG_SECONDS}
    shards = [
        deployment(ShardDeployment)
        .options(
            name=shard_deployment_name(number),
            max_ongoing_requests=_SHARD_CALLS,
            ray_actor_options={**_ACTOR, "memory": serving.memory(number)} if serving.sized else _ACTOR,
            logging_config={"enable_access_log": False},
            **health,
            **_scaled(serving, busy=_BUSY_CALLS),
        )
        .bind(serving.plan, number, serving.shards)
        for number in range(serving.shards)
    ]
    return (
        deployment(serve.ingress()(Router))
        .options(
            name=ROUTER,
            max_ongoing_requests=service.threads + service.queue + _SHARD_CALLS,  # the service itself refuses the rest
            ray_actor_options=_ACTOR,
            logging_config={"enable_access_log": False},  # it writes its own
            graceful_shutdown_timeout_s=service.grace_seconds,
            **health,
            **_scaled(serving, busy=service.threads),
        )
        .bind(serving.plan, *shards)
    )


def shard_deployment_name(number: int) -> str:
    return f"shard-{number + 1}"


def nodes_for_replicas() -> int:
    """Return how many nodes can hold a replica now."""
    return sum(1 for node in alive().values() if node["Resources"].get("CPU", 0) >= _CPUS)


def has_memory(serving: ServingPlan) -> bool:
    """Return whether the nodes have memory for the shards: if not, Ray would wait for more nodes."""
    nodes = sorted(int(node["Resources"].get("memory", 0)) for node in alive().values())
    needed = sorted(serving.memory(number) for number in range(serving.shards) for _ in range(serving.replicas))
    return needed[-1] <= nodes[-1] and 2 * sum(needed) <= sum(nodes)


def _scaled(serving: ServingPlan, *, busy: int) -> dict[str, Any]:
    apart = {"max_replicas_per_node": 1} if serving.spread else {}
    if serving.max_replicas == serving.replicas:
        return {"num_replicas": serving.replicas, **apart}
    scaling = {"min_replicas": serving.replicas, "max_replicas": serving.max_replicas, "target_ongoing_requests": busy}
    return {"autoscaling_config": scaling, **apart}


def _with_absolute_paths(overrides: Overrides) -> Overrides:
    """Make relative paths absolute: workers run in other folders."""
    service = overrides.without_profile().service
    paths = {"service.state": str(Path(service.state).expanduser().absolute())}
    if service.keys is not None:
        paths["service.keys"] = str(Path(service.keys).expanduser().absolute())
    return replace(overrides, flags={**overrides.flags, **paths})


def _number(name: str, value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise SettingsError(f"{name} is {value!r}", hint="Give a whole number.")


# The service from beginning to end


def checked(plan: ServeOptions) -> ClusterManifest:
    """Return the published index; raise if a file that it names is missing, or the settings do not fit it."""
    place = open_location(plan.index)
    cluster = manifest.read(place)
    for entry in cluster.shards:
        existing = set(place.names(entry.folder))
        if absent := [name for name in entry.inside if name not in existing]:
            what = absent[0] if existing.intersection(entry.inside) else f"the shard {entry.folder}"
            raise IndexDamaged(
                f"the index at {place.uri} lacks {what}, which its manifest names", hint=manifest.PUBLISH
            )
    engine_for(cluster.info, plan.overrides, store="embedded")
    return cluster


def check_running(host: str, port: int) -> int | None:
    """Return the port of a Serve that runs already, or None. What a command that was killed has left is ended first.

    Raises `ClusterFault` if that listens elsewhere, or serves an index already.
    """
    from ray import serve
    from ray.serve.context import _get_global_client  # there is no public way to learn where it listens

    client = _get_global_client(raise_if_no_controller_running=False)
    if client is None:
        return None
    if _APP in serve.status().applications and _is_abandoned():
        _take_away(with_serve=True)
        return check_running(host, port)
    if _APP in serve.status().applications:
        raise ClusterFault(
            "an index is served on this cluster already",
            hint="Stop the command that serves it, or end its service with `serve shutdown`.",
        )
    its_host, its_port = str(client.http_config.host), int(client.http_config.port)
    if its_host != host or port not in (0, its_port):  # which cannot be changed
        raise ClusterFault(
            f"Ray Serve runs on this cluster already, and listens on {its_host}, port {its_port}",
            hint=f"Give --host {its_host} --port {its_port}, or end it with `serve shutdown`.",
        )
    return its_port


@contextmanager
def deployed(
    serving: ServingPlan, cluster: ClusterManifest, *, host: str, port: int, everywhere: bool
) -> Iterator[None]:
    """Deploy the service, and take it away after the block. `everywhere`: every node listens."""
    from ray import serve
    from ray.exceptions import RayActorError
    from ray.serve.exceptions import RayServeException

    logging.getLogger("ray.serve").setLevel(logging.WARNING)  # it logs much about itself
    ran = check_running(host, port) is not None
    try:
        # Serve replaces a listener that is slow to start; `_check_listening` below waits for the new one.
        with suppress(RayActorError):
            serve.start(
                proxy_location="EveryNode" if everywhere else "HeadOnly",
                http_options={"host": host, "port": port},
                logging_config={"enable_access_log": False, "log_level": "WARNING"},
            )
        _sign()
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
        _take_away(with_serve=not ran)


def _take_away(*, with_serve: bool) -> None:
    """End the application, and Serve with it where nothing else is served."""
    from ray import serve

    applications = set(serve.status().applications)
    if with_serve and applications <= {_APP}:
        serve.shutdown()  # type: ignore[no-untyped-call]
    elif _APP in applications:
        serve.delete(_APP)


def _sign() -> None:
    """Note in the cluster which command serves: deployments outlive one that is killed."""
    import ray
    from ray.experimental.internal_kv import _internal_kv_put

    _internal_kv_put(_SERVING_JOB, ray.get_runtime_context().get_job_id(), overwrite=True)


def _is_abandoned() -> bool:
    """Return whether the command that serves is gone. What a Serve config deployed has no command, and is not."""
    from ray._private.state import jobs  # the public way needs the dashboard
    from ray.experimental.internal_kv import _internal_kv_get

    serving = _internal_kv_get(_SERVING_JOB)
    known: list[dict[str, Any]] = jobs()  # type: ignore[no-untyped-call]
    return serving is not None and any(job["JobID"] == serving.decode() and job["IsDead"] for job in known)


def _check_listening(host: str, port: int) -> None:
    """Raise `ClusterFault` if nothing listens there: Serve does not report that it cannot."""
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


def _check_shards(serving: ServingPlan, cluster: ClusterManifest) -> None:
    """Have every shard opened by its replica; raise for the first that cannot be, or that is of another index."""
    from ray import serve

    handles = [serve.get_deployment_handle(shard_deployment_name(number), _APP) for number in range(serving.shards)]
    transport = HandleTransport(handles, seconds=serving.plan.settings.shard_seconds)

    def check(number: int) -> None:
        try:
            info = transport(number, cluster.shards[number], "info", ())
        except ShardLost as lost:
            raise ClusterFault(
                f"shard {number + 1} of {serving.shards} does not answer: {lost.why}",
                hint="See the logs of Ray Serve on its nodes.",
            ) from lost
        except IndexFault as fault:
            raise IndexDamaged(str(fault), hint=manifest.PUBLISH) from fault
        manifest.check(serving.plan.index, replace(cluster, shards=(cluster.shards[number],)), [info])

    with ThreadPoolExecutor(min(32, serving.shards)) as pool:
        list(pool.map(check, range(serving.shards)))
