"""What runs in the replicas of Serve. Only `serving` imports this, when a cluster is wanted."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from ray import serve
from ray.serve import metrics
from starlette.types import ASGIApp

from quoth.cluster.handles import Entry, HandleTransport, Said, key_of
from quoth.errors import QuothError
from quoth.interfaces.http import logs
from quoth.interfaces.http.app import make_app
from quoth.interfaces.http.service import Plan
from quoth.stores.embedded.shards import Layout
from quoth.stores.places import open_place
from quoth.stores.sharded import manifest
from quoth.stores.sharded.fetched import tidy
from quoth.stores.sharded.host import ShardHost
from quoth.stores.sharded.manifest import ShardEntry
from quoth.stores.sharded.remote import RemoteStore
from quoth.wiring import default_cache_dir

_POLL_SECONDS = 1.0
_KNOWN = 256
"""Entries that a replica remembers: those of a few generations, however many shards it hosts."""
_SMALLEST_SHARD = 4096
"""Of an index's own parts, as every store has it that nobody told otherwise."""
_BUCKETS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0]
_log = logging.getLogger("ray.serve")


class Shard:
    """Hosts the shards of one place among `hosts`: one, unless the index has more of them by now.

    A new generation is opened as soon as it is published, before anybody asks for it.
    """

    def __init__(self, plan: Plan, place: int, hosts: int) -> None:
        self._home = open_place(plan.index)
        self._place = place
        self._hosts = hosts
        self._host = ShardHost(plan.index, cache=default_cache_dir(), layout=layout_of(plan))
        self._entries: OrderedDict[Entry, ShardEntry] = OrderedDict()
        self._lock = threading.Lock()
        self._version = ""
        self._calls = metrics.Counter("quoth_shard_host_calls", description="What was asked.", tag_keys=("shard",))
        self._faults = metrics.Counter(
            "quoth_shard_host_faults", description="What could not be answered.", tag_keys=("shard",)
        )
        self._seconds = metrics.Histogram(
            "quoth_shard_host_seconds", description="How long it took.", boundaries=_BUCKETS, tag_keys=("shard",)
        )
        for one in (self._calls, self._faults, self._seconds):
            one.set_default_tags({"shard": str(place + 1)})  # Serve writes its own into what it is given
        self._look()
        threading.Thread(target=self._watch, name="watching the manifest", daemon=True).start()

    def ask(self, key: Entry, method: str, args: Sequence[Any]) -> Said:
        """Nothing is said (`unknown`) of a shard that this replica has not been told of."""
        with self._lock:
            entry = self._entries.get(key)
        return Said("unknown", None) if entry is None else self._answered(entry, method, args)

    def ask_of(self, entry: ShardEntry, method: str, args: Sequence[Any]) -> Said:
        self._note(entry)
        return self._answered(entry, method, args)

    def check_health(self) -> None:
        """Whether what was opened can be read; what cannot be opened is told to whoever asks, and no restart helps."""
        with self._lock:
            newest = next(reversed(self._entries.values()), None)
        if newest is not None:
            self._host.call(newest, "ping", ())

    def _answered(self, entry: ShardEntry, method: str, args: Sequence[Any]) -> Said:
        started = time.perf_counter()
        self._calls.inc()
        try:
            return Said("given", self._host.call(entry, method, args))
        except QuothError as error:
            self._faults.inc()
            return Said("refused", str(error))
        finally:
            self._seconds.observe(time.perf_counter() - started)

    def _watch(self) -> None:
        while True:
            time.sleep(_POLL_SECONDS)
            try:
                self._look()
            except Exception:
                _log.exception("the manifest cannot be looked at")

    def _look(self) -> None:
        """Open what is published now; where that fails, whoever asks for it is told why."""
        try:
            cluster, version = manifest.versioned(self._home)
            if version == self._version:
                return
            for entry in cluster.shards[self._place :: self._hosts]:
                self._host.call(entry, "ping", ())
                self._note(entry)
            self._version = version
            tidy(self._home, cache=default_cache_dir(), keep={entry.folder for entry in cluster.shards})
        except QuothError as error:
            _log.error("shard %d cannot be opened: %s", self._place + 1, error)

    def _note(self, entry: ShardEntry) -> None:
        with self._lock:
            self._entries[key_of(entry)] = entry
            self._entries.move_to_end(key_of(entry))
            while len(self._entries) > _KNOWN:
                self._entries.popitem(last=False)


class Router:
    """The HTTP service, as `quoth serve` has it, over the shards behind these handles."""

    def __init__(self, plan: Plan, *shards: Any) -> None:  # noqa: ANN401 - handles of Serve's
        logs.set_up()
        self._plan = plan
        transport = HandleTransport(shards, seconds=plan.settings.shard_seconds)
        self._store = RemoteStore(plan.index, transport, layout=layout_of(plan))

    def __serve_build_asgi_app__(self) -> ASGIApp:
        return make_app(self._plan, cluster=self._store)


def layout_of(plan: Plan) -> Layout:
    return Layout(plan.overrides.over({}, profile="none").store.faiss_threshold, _SMALLEST_SHARD)


def shard_deployment() -> Any:  # noqa: ANN401 - a Deployment of Serve's
    return serve.deployment(Shard)


def router_deployment() -> Any:  # noqa: ANN401
    return serve.deployment(serve.ingress()(Router))
