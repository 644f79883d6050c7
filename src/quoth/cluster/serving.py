"""Sharded serving on Ray Serve: deployments that host shards, and one that is the HTTP service over them.

`app` is what a Serve config names: `import_path: quoth.cluster.serving:app`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from quoth.cluster.nodes import alive
from quoth.errors import SettingsError
from quoth.interfaces.http.service import Plan
from quoth.settings import Overrides, environment_settings
from quoth.stores.places import open_place
from quoth.stores.sharded import manifest

ROUTER = "router"
_CPUS = 0.1
"""Of a core, as Ray counts: what a shard needs is memory, and all shards of a small index fit on a small machine."""
_ACTOR = {
    "num_cpus": _CPUS,
    "runtime_env": {
        "env_vars": {
            # Straight from replica to replica; only with Ray's token are they asked who they are. A Ray that does not
            # know this variable takes calls through its object store, which is slower and no different otherwise.
            "RAY_SERVE_USE_GRPC_BY_DEFAULT": "1",
            "RAY_SERVE_REPLICA_GRPC_MAX_MESSAGE_LENGTH": str(2**31 - 1),  # for the text of a large document
        }
    },
}
_SHARD_CALLS = 32
"""At once in one replica of a shard; more wait, or go to another."""
_BUSY_CALLS = 4
"""At which a shard gets another replica, where it may."""
_LOOK_SECONDS, _HANGS_SECONDS = 5.0, 10.0
"""How often Serve asks a replica for its health, and after how long without an answer it is replaced."""
_SENTENCE_BYTES = 1_300
"""Of memory that a shard takes for each of its sentences, about; docs/scale.md has the measurements."""


@dataclass(frozen=True, slots=True)
class ServingPlan:
    """What is served, and how often. `sentences` are those of each shard; `sized` has Ray place them by their memory.

    `spread`: no two replicas of a shard on one node.
    """

    plan: Plan
    sentences: tuple[int, ...]
    replicas: int
    max_replicas: int
    spread: bool
    sized: bool

    @property
    def shards(self) -> int:
        return len(self.sentences)

    def memory(self, place: int) -> int:
        """What a replica of this shard takes, about; a process takes some more, whatever it hosts."""
        return _SENTENCE_BYTES * self.sentences[place]


def serving_plan(
    cluster: str,
    overrides: Overrides,
    *,
    replicas: int,
    max_replicas: int | None,
    auth: bool,
    spread: bool,
    sized: bool,
) -> ServingPlan:
    """`SettingsError` for numbers that cannot be; `IndexFault` where no index is published."""
    most = replicas if max_replicas is None else max_replicas
    if not 1 <= replicas <= most:
        raise SettingsError(
            f"{replicas} replicas, and at most {most} of them, cannot be",
            hint="Give --replicas of 1 or more, and --max-replicas that is no less.",
        )
    place = open_place(cluster)
    plan = Plan(index=place.uri, overrides=_here(overrides), profile=None, auth=auth)
    sentences = tuple(entry.sentences for entry in manifest.read(place).shards)
    return ServingPlan(plan, sentences, replicas, most, spread, sized)


def app(args: Mapping[str, Any]) -> Any:  # noqa: ANN401 - an Application of Serve's
    """For Serve configs: `cluster` is needed; `replicas`, `max_replicas` and `settings` may be given.

    `settings` are sections of settings, as in `quoth.yaml`; `QUOTH_…` variables of the environment come over them. Keys
    are always asked for: Serve listens where it is told to, which is not for this machine alone. Replicas of a shard
    are put on different nodes, and each on one that has the memory for it.
    """
    known = {"cluster", "replicas", "max_replicas", "settings"}
    if unknown := sorted(set(args) - known):
        raise SettingsError(f"unknown argument '{unknown[0]}'", hint=f"There are: {', '.join(sorted(known))}.")
    if "cluster" not in args:
        raise SettingsError("the argument 'cluster' is missing", hint="Give the address of the index: s3://…")
    replicas = _number("replicas", args.get("replicas", 1))
    most = args.get("max_replicas")
    overrides = Overrides(file=args.get("settings") or {}, environment=environment_settings(os.environ), flags={})
    overrides.over({}, profile="none")  # what is wrong with them is said now
    return application(
        serving_plan(
            str(args["cluster"]),
            overrides,
            replicas=replicas,
            max_replicas=None if most is None else _number("max_replicas", most),
            auth=True,
            spread=replicas > 1,
            sized=True,
        )
    )


def application(serving: ServingPlan) -> Any:  # noqa: ANN401 - an Application of Serve's
    """The deployments `shard-1` … `shard-N` and `router`. Here Ray is imported first."""
    from quoth.cluster.serving_deployments import router_deployment, shard_deployment

    service = serving.plan.settings
    health = {"health_check_period_s": _LOOK_SECONDS, "health_check_timeout_s": _HANGS_SECONDS}
    shards = [
        shard_deployment()
        .options(
            name=shard_deployment_name(place),
            max_ongoing_requests=_SHARD_CALLS,
            ray_actor_options={**_ACTOR, "memory": serving.memory(place)} if serving.sized else _ACTOR,
            logging_config={"enable_access_log": False},
            **health,
            **_scaled(serving, busy=_BUSY_CALLS),
        )
        .bind(serving.plan, place, serving.shards)
        for place in range(serving.shards)
    ]
    return (
        router_deployment()
        .options(
            name=ROUTER,
            max_ongoing_requests=service.threads + service.queue + _SHARD_CALLS,  # the service sends away itself
            ray_actor_options=_ACTOR,
            logging_config={"enable_access_log": False},  # it writes its own
            graceful_shutdown_timeout_s=service.grace_seconds,
            **health,
            **_scaled(serving, busy=service.threads),
        )
        .bind(serving.plan, *shards)
    )


def shard_deployment_name(place: int) -> str:
    return f"shard-{place + 1}"


def nodes_for_replicas() -> int:
    """How many nodes can hold a replica now."""
    return sum(1 for node in alive().values() if node["Resources"].get("CPU", 0) >= _CPUS)


def has_memory(serving: ServingPlan) -> bool:
    """Whether the nodes that there are have the memory that the shards take: else Ray would wait for others."""
    nodes = sorted(int(node["Resources"].get("memory", 0)) for node in alive().values())
    needed = sorted(serving.memory(place) for place in range(serving.shards) for _ in range(serving.replicas))
    return needed[-1] <= nodes[-1] and 2 * sum(needed) <= sum(nodes)


def _scaled(serving: ServingPlan, *, busy: int) -> dict[str, Any]:
    apart = {"max_replicas_per_node": 1} if serving.spread else {}
    if serving.max_replicas == serving.replicas:
        return {"num_replicas": serving.replicas, **apart}
    scaling = {
        "min_replicas": serving.replicas,
        "max_replicas": serving.max_replicas,
        "target_ongoing_requests": busy,
    }
    return {"autoscaling_config": scaling, **apart}


def _here(overrides: Overrides) -> Overrides:
    """Relative paths are meant from where the command was given; workers are elsewhere."""
    service = overrides.over({}, profile="none").service
    paths = {"service.state": str(Path(service.state).expanduser().absolute())}
    if service.keys is not None:
        paths["service.keys"] = str(Path(service.keys).expanduser().absolute())
    return replace(overrides, flags={**overrides.flags, **paths})


def _number(name: str, value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    raise SettingsError(f"{name} is {value!r}", hint="Give a whole number.")
