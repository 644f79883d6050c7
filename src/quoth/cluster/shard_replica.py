"""The replicas of Ray Serve: a shard, the router over all of them, and the calls between the two.

Importing this does not import Ray.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from starlette.types import ASGIApp

from quoth.cluster.remote_shard import SLOW
from quoth.cluster.remote_store import RemoteStore
from quoth.cluster.shard_host import ShardHost, Version, layout_of, version_of
from quoth.errors import IndexFault, QuothError, ShardLost
from quoth.http.service import ServeOptions
from quoth.stores.embedded.generations import Layout
from quoth.stores.locations import open_location
from quoth.stores.sharded import cluster_manifest as manifest
from quoth.stores.sharded.cluster_manifest import ShardEntry
from quoth.stores.sharded.sharded_store import remove_unused
from quoth.wiring import default_cache_dir

_OPEN_SECONDS = 600.0
"""Time limit for opening a shard, including the copy from object storage."""
_ATTEMPTS = 2
"""In the time of one call: if a replica dies, another can answer. A replica that is too slow is not asked again:
that would add to its load."""
_PAUSE_SECONDS = 0.05
_TURN_SECONDS = 0.005
"""How long a call waits for the direct call before it, which is about what a call through Serve costs more."""
_AGAIN_SECONDS = 1.0
"""A replica that could not be called directly, or could not be found, is looked for again after this time."""
_POLL_SECONDS = 5.0
"""A router that finds a new generation earlier has its shards open it."""
_BUCKETS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0]
_log = logging.getLogger("ray.serve")


@dataclass(frozen=True, slots=True)
class ShardReply:
    """The reply of a replica: a result, the reason of a refusal, or that it does not know the shard's entry."""

    kind: Literal["given", "refused", "unknown"]
    value: Any


class ShardReplica:
    """Hosts shard `number` of an index with `hosts` replicas, and every `hosts`-th after it if there are more by now.

    Threads may share it.
    """

    def __init__(self, index: str, number: int, hosts: int, *, cache: Path, layout: Layout) -> None:
        self._place = open_location(index)
        self._number = number
        self._hosts = hosts
        self._cache = cache
        self._host = ShardHost(index, cache=cache, layout=layout)
        self._version = ""
        self._current: tuple[ShardEntry, ...] = ()
        self._folders: frozenset[str] = frozenset()

    def call(self, version: Version, method: str, args: Sequence[Any]) -> ShardReply:
        """Call a shard that is open here; the reply is `unknown` if it is not."""
        entry = self._host.entry(version)
        return ShardReply("unknown", None) if entry is None else self.call_entry(entry, method, args)

    def call_entry(self, entry: ShardEntry, method: str, args: Sequence[Any]) -> ShardReply:
        """Call a shard, and open it first if need be."""
        try:
            return ShardReply("given", self._host.call(entry, method, args))
        except QuothError as error:
            return ShardReply("refused", str(error))
        except Exception as error:  # the other shards can answer without this one
            _log.exception("shard %d cannot answer", self._number + 1)
            return ShardReply("refused", f"{type(error).__name__}: {error}")

    def check_health(self) -> None:
        """Raise if no open shard can be read. Shards that cannot be opened do not count: no restart helps."""
        self._host.check()

    def open_published(self) -> None:
        """Open the generation that is published now. If that fails, calls to it say why."""
        try:
            found = self._place.get(manifest.NAME)
            if found is not None and found[1] != self._version:
                self._open(*found)
            if self._current and self._host.close_idle(self._current):
                remove_unused(self._place, cache=self._cache, keep=self._folders)
        except QuothError as error:
            _log.error("shard %d cannot be opened: %s", self._number + 1, error)
        except Exception:  # a fault of this machine, which may be gone next time
            _log.exception("shard %d cannot be opened", self._number + 1)

    def close(self) -> None:
        self._host.close()

    def _open(self, content: bytes, version: str) -> None:
        cluster = manifest.parsed(content, self._place.uri)
        own = cluster.shards[self._number :: self._hosts]
        for entry in own:
            self._host.call(entry, "ping", ())
        self._version, self._current = version, own
        self._folders = frozenset(entry.folder for entry in cluster.shards)
        remove_unused(self._place, cache=self._cache, keep=self._folders)


class HandleTransport:
    """Calls shards through Serve handles, or past them; see `remote_shard.Transport`.

    There is a handle for each shard that the index had when the service began.
    """

    def __init__(self, handles: Sequence[Any], *, seconds: float) -> None:
        self._handles = handles
        self._direct = [DirectCalls(handle) for handle in handles]
        self._seconds = seconds

    def __call__(self, number: int, entry: ShardEntry, method: str, args: tuple[Any, ...]) -> Any:  # noqa: ANN401
        handle = self._handles[number % len(self._handles)]
        seconds = _OPEN_SECONDS if method in SLOW else self._seconds
        end = time.monotonic() + seconds
        # The whole entry is sent once, to a replica that has not opened it.
        asked = version_of(entry), method, args
        direct = self._direct[number % len(self._handles)]
        reply = None if method in SLOW else direct.call(f"shard {number + 1}", end, *asked)
        if reply is None:
            reply = self._sent(number, seconds, end, handle.call, *asked)
        if reply.kind == "unknown":
            reply = self._sent(number, seconds, end, handle.call_entry, entry, method, args)
        if reply.kind == "refused":
            raise IndexFault(str(reply.value))
        return reply.value

    @staticmethod
    def _sent(number: int, seconds: float, end: float, method: Any, *args: object) -> ShardReply:  # noqa: ANN401 - of a handle
        from grpc import RpcError  # type: ignore[import-untyped]
        from ray.exceptions import RayError
        from ray.serve.exceptions import RayServeException

        why = late = f"it did not answer within {seconds:g} s"
        for _ in range(_ATTEMPTS):
            left = end - time.monotonic()
            if left <= 0:
                break
            response = method.remote(*args)
            try:
                return cast("ShardReply", response.result(timeout_s=left))
            except TimeoutError as error:
                response.cancel()
                raise ShardLost(f"shard {number + 1}", late) from error
            except (RayError, RayServeException, RpcError) as error:
                lines = [line.strip() for line in str(error).splitlines() if line.strip()]
                why = f"{type(error).__name__}: {lines[-1][:200]}" if lines else type(error).__name__
                time.sleep(min(_PAUSE_SECONDS, seconds))  # for Serve to notice that it is gone
        raise ShardLost(f"shard {number + 1}", why)


class DirectCalls:
    """Calls to a replica of a shard as Ray calls any actor, which costs a quarter of a call through Serve.

    They run in the event loop of the replica, one at a time from each router, and the replica begins nothing else
    meanwhile, checks of its health included. Other calls of the router go through Serve, which shares them out among
    the replicas, and counts them to know when it takes more.
    """

    def __init__(self, handle: Any) -> None:  # noqa: ANN401 - of Serve's
        self._handle = handle
        self._running = threading.Lock()
        self._actor: Any = None
        self._again_at = 0.0

    def call(self, shard: str, end: float, *args: object) -> ShardReply | None:
        """Return the reply, or None if the call must go through Serve. Raise `ShardLost` if it takes beyond `end`."""
        from ray import get
        from ray.exceptions import GetTimeoutError, RayError

        if time.monotonic() < self._again_at or not self._running.acquire(timeout=_TURN_SECONDS):
            return None
        try:
            if self._actor is None:
                self._actor = self._found(end)
            if self._actor is None:
                return None
            left = max(0.0, end - time.monotonic())
            return cast("ShardReply", get(self._actor.__ray_call__.remote(_call_here, *args), timeout=left))
        except GetTimeoutError as error:
            self._forget()
            raise ShardLost(shard, "it did not answer in time") from error
        except RayError:  # it is gone; Serve knows others
            self._forget()
            return None
        finally:
            self._running.release()

    def _found(self, end: float) -> Any:  # noqa: ANN401 - a handle of Ray's
        """Return the replica that Serve chooses now; None if it has none."""
        try:
            return self._handle.actor.remote().result(timeout_s=max(0.0, end - time.monotonic()))
        except Exception as error:  # whatever it is, the call through Serve will tell
            _log.debug("no replica is known: %s", error)
            self._forget()
            return None

    def _forget(self) -> None:
        self._actor, self._again_at = None, time.monotonic() + _AGAIN_SECONDS


_here: ShardReplica | None = None
"""The replica of this process."""


def _call_here(_: object, version: Version, method: str, args: Sequence[Any]) -> ShardReply:
    """Run a direct call in the process of a replica. Ray passes it the actor, which is Serve's."""
    return ShardReply("unknown", None) if _here is None else _here.call(version, method, args)


class ShardDeployment(ShardReplica):
    """A `ShardReplica` with metrics. It looks for new generations itself, to open them before the first call."""

    def __init__(self, plan: ServeOptions, number: int, hosts: int) -> None:
        from ray.serve import metrics

        layout = layout_of(plan.overrides.without_profile().store)
        super().__init__(plan.index, number, hosts, cache=default_cache_dir(), layout=layout)
        self._calls = metrics.Counter("quoth_shard_host_calls", description="What was asked.", tag_keys=("shard",))
        self._faults = metrics.Counter(
            "quoth_shard_host_faults", description="What could not be answered.", tag_keys=("shard",)
        )
        self._seconds = metrics.Histogram(
            "quoth_shard_host_seconds", description="How long it took.", boundaries=_BUCKETS, tag_keys=("shard",)
        )
        for metric in (self._calls, self._faults, self._seconds):
            metric.set_default_tags({"shard": str(number + 1)})  # a dict of its own: Serve adds tags to it
        self.open_published()
        global _here  # noqa: PLW0603 - a direct call finds the process, and not this value
        _here = self
        threading.Thread(target=self._watch, name="watching the manifest", daemon=True).start()

    def actor(self) -> Any:  # noqa: ANN401 - a handle of Ray's
        """Return what `DirectCalls` calls."""
        from ray import get_runtime_context

        return get_runtime_context().current_actor

    def call_entry(self, entry: ShardEntry, method: str, args: Sequence[Any]) -> ShardReply:
        started = time.perf_counter()
        reply = super().call_entry(entry, method, args)
        self._calls.inc()
        self._seconds.observe(time.perf_counter() - started)
        if reply.kind == "refused":
            self._faults.inc()
        return reply

    def _watch(self) -> None:
        while True:
            time.sleep(_POLL_SECONDS)
            self.open_published()


class Router:
    """The HTTP service of `quoth serve`, over the shards behind these handles."""

    def __init__(self, plan: ServeOptions, *shards: Any) -> None:  # noqa: ANN401 - handles of Serve's
        from quoth.http import logs

        logs.set_up()
        self._plan = plan
        seconds = plan.settings.shard_seconds
        layout = layout_of(plan.overrides.without_profile().store)
        transport = HandleTransport(shards, seconds=seconds)
        self._store = RemoteStore(plan.index, transport, layout=layout, first_seconds=seconds)

    def __serve_build_asgi_app__(self) -> ASGIApp:
        from quoth.http.app import make_app

        return make_app(self._plan, cluster=self._store)
