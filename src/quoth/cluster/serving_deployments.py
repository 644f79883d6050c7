"""What runs in the replicas of Serve. Only `serving` imports this, when a cluster is wanted."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from ray import serve
from ray.serve import metrics
from starlette.types import ASGIApp

from quoth.cluster.handles import HandleTransport, Said
from quoth.cluster.hosting import Hosting
from quoth.interfaces.http import logs
from quoth.interfaces.http.app import make_app
from quoth.interfaces.http.service import Plan
from quoth.stores.embedded.shards import Layout
from quoth.stores.sharded.host import Version
from quoth.stores.sharded.manifest import ShardEntry
from quoth.stores.sharded.remote import RemoteStore
from quoth.wiring import default_cache_dir

_POLL_SECONDS = 5.0
"""A router that is quicker has its shards open what it finds."""
_SMALLEST_SHARD = 4096
"""Of an index's own parts, as every store has it that nobody told otherwise."""
_BUCKETS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0]


class Shard:
    """A replica of a shard: see `Hosting`. A new generation is opened before anybody asks for it, if we are quicker."""

    def __init__(self, plan: Plan, place: int, hosts: int) -> None:
        self._hosting = Hosting(plan.index, place, hosts, cache=default_cache_dir(), layout=layout_of(plan))
        self._calls = metrics.Counter("quoth_shard_host_calls", description="What was asked.", tag_keys=("shard",))
        self._faults = metrics.Counter(
            "quoth_shard_host_faults", description="What could not be answered.", tag_keys=("shard",)
        )
        self._seconds = metrics.Histogram(
            "quoth_shard_host_seconds", description="How long it took.", boundaries=_BUCKETS, tag_keys=("shard",)
        )
        for one in (self._calls, self._faults, self._seconds):
            one.set_default_tags({"shard": str(place + 1)})  # Serve writes its own into what it is given
        self._hosting.look()
        threading.Thread(target=self._watch, name="watching the manifest", daemon=True).start()

    def ask(self, key: Version, method: str, args: Sequence[Any]) -> Said:
        return self._counted(lambda: self._hosting.ask(key, method, args))

    def ask_of(self, entry: ShardEntry, method: str, args: Sequence[Any]) -> Said:
        return self._counted(lambda: self._hosting.ask_of(entry, method, args))

    def check_health(self) -> None:
        self._hosting.check()

    def _counted(self, work: Callable[[], Said]) -> Said:
        started = time.perf_counter()
        said = work()
        if said.kind != "unknown":
            self._calls.inc()
            self._seconds.observe(time.perf_counter() - started)
        if said.kind == "refused":
            self._faults.inc()
        return said

    def _watch(self) -> None:
        while True:
            time.sleep(_POLL_SECONDS)
            self._hosting.look()


class Router:
    """The HTTP service, as `quoth serve` has it, over the shards behind these handles."""

    def __init__(self, plan: Plan, *shards: Any) -> None:  # noqa: ANN401 - handles of Serve's
        logs.set_up()
        self._plan = plan
        seconds = plan.settings.shard_seconds
        transport = HandleTransport(shards, seconds=seconds)
        self._store = RemoteStore(plan.index, transport, layout=layout_of(plan), first_seconds=seconds)

    def __serve_build_asgi_app__(self) -> ASGIApp:
        return make_app(self._plan, cluster=self._store)


def layout_of(plan: Plan) -> Layout:
    return Layout(plan.overrides.over({}, profile="none").store.faiss_threshold, _SMALLEST_SHARD)


def shard_deployment() -> Any:  # noqa: ANN401 - a Deployment of Serve's
    return serve.deployment(Shard)


def router_deployment() -> Any:  # noqa: ANN401
    return serve.deployment(serve.ingress()(Router))
