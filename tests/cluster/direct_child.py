"""Calls a shard directly, and prints the results as JSON: python direct_child.py PLACE ADDRESS"""

from __future__ import annotations

import json
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import ray
from ray.exceptions import RayActorError

from quoth.cluster import shard_replica
from quoth.cluster.shard_host import version_of
from quoth.cluster.shard_replica import DirectCalls, ShardReplica
from quoth.errors import ShardLost
from quoth.stores.locations import open_location
from quoth.stores.sharded import cluster_manifest as manifest

from .remote_shards import LAYOUT


class Replica:
    """An actor with an event loop, as those of Serve are."""

    def __init__(self, place: str, cache: Any, layout: Any) -> None:  # noqa: ANN401
        shard_replica._here = ShardReplica(place, 0, 1, cache=cache, layout=layout)
        shard_replica._here.open_published()

    async def pause(self, begun: Path, seconds: float) -> None:
        begun.touch()
        time.sleep(seconds)  # nothing else runs meanwhile, as when a replica hangs

    async def ping(self) -> None:
        """Do nothing."""


class Handle:
    """Finds the replica, as a handle of Serve's does; there may be none."""

    def __init__(self, actor: Any) -> None:  # noqa: ANN401
        self.found = 0
        self._actor = actor

    @property
    def actor(self) -> Any:  # noqa: ANN401
        return SimpleNamespace(remote=lambda: SimpleNamespace(result=self._result))

    def _result(self, timeout_s: float) -> Any:  # noqa: ANN401
        self.found += 1
        return self._actor


def pause(actor: Any, begun: Path) -> None:  # noqa: ANN401
    """Make the actor hang for three seconds; return when it does, since calls need not begin in their order."""
    actor.pause.remote(begun, 3.0)
    while not begun.exists():
        time.sleep(0.001)


def wait_until_dead(actor: Any) -> None:  # noqa: ANN401
    """Wait until calls to the actor fail: what ends it only asks for its end."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            ray.get(actor.ping.remote())
        except RayActorError:
            return


def main() -> None:
    place, address = sys.argv[1:]
    ray.init(address=address, log_to_driver=False)
    entry = manifest.read(open_location(place)).shards[0]
    cache = Path(place) / "cache"
    actor: Any = ray.remote(Replica).options(num_cpus=0, max_concurrency=8).remote(place, cache, LAYOUT)
    handle = Handle(actor)
    calls = DirectCalls(handle)

    def call(seconds: float = 60.0, *, generation: int = entry.generation) -> str | None:
        version = (*version_of(entry)[:1], generation, *version_of(entry)[2:])
        try:
            reply = calls.call("shard 1", time.monotonic() + seconds, version, "info", ())
        except ShardLost as lost:
            return str(lost)
        return None if reply is None else f"{reply.kind} {reply.value and reply.value.digest == entry.digest}"

    results: dict[str, object] = {"twice": [call(), call()], "found": handle.found, "not open": call(generation=77)}
    pause(actor, Path(place) / "first-pause")
    waiting = threading.Thread(target=call)
    waiting.start()
    while not calls._running.locked():
        time.sleep(0.001)
    results["meanwhile"] = call()
    waiting.join()
    pause(actor, Path(place) / "second-pause")
    results["late"] = call(0.5)
    results["right after"] = call()
    time.sleep(shard_replica._AGAIN_SECONDS)
    results["later"] = call()
    ray.kill(actor)
    wait_until_dead(actor)
    results["dead"] = call()
    print(json.dumps(results), flush=True)  # noqa: T201 - that is what it is for


if __name__ == "__main__":
    main()
