"""Shards in processes of their own, one for each: for an index that is too large for every node to open all of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from quoth.cluster.nodes import alive
from quoth.errors import PartLost, QuothError
from quoth.settings import StoreSettings
from quoth.stores.embedded.shards import Layout
from quoth.stores.sharded.host import ShardHost
from quoth.stores.sharded.manifest import Cluster, ShardEntry
from quoth.stores.sharded.remote import RemoteStore
from quoth.stores.sharded.shard import shard_name
from quoth.wiring import default_cache_dir

Hosts: TypeAlias = tuple[Any, ...]
"""Handles of actors, in the order of the shards."""

_SMALLEST_SHARD = 4096
_SHARE = 4
"""An index takes at most this part of a node's memory where every node opens all of it."""
_AT_ONCE = 8
"""Questions that a host looks for at the same time."""


class _Host:
    """An actor. It opens its shard when it is first asked, so that a failure is an answer and no death."""

    def __init__(self, place: str, layout: Layout) -> None:
        self._host = ShardHost(place, cache=default_cache_dir(), layout=layout)

    def call(self, entry: ShardEntry, method: str, args: Sequence[Any]) -> Any:  # noqa: ANN401 - as the method gives
        try:
            return self._host.call(entry, method, args)
        except QuothError as error:
            return error


def fits_everywhere(cluster: Cluster) -> bool:
    """Whether even the smallest node has room for all shards."""
    size = sum(file.size for shard in cluster.shards for file in shard.files.values())
    smallest: float = min(node["Resources"].get("memory", 0) for node in alive().values())
    return _SHARE * size <= smallest


def start_hosts(place: str, cluster: Cluster, settings: StoreSettings, *, retries: int) -> Hosts:
    """Ray starts them again elsewhere as often as they die, and asks again so many times what they were asked."""
    import ray

    host = ray.remote(_Host).options(
        num_cpus=0,  # they work while those who ask them wait
        scheduling_strategy="SPREAD",
        max_restarts=-1,
        max_task_retries=retries,
        max_concurrency=_AT_ONCE,
    )
    return tuple(host.remote(place, _layout(settings)) for _ in cluster.shards)


def hosted_store(index: str, hosts: Hosts, settings: StoreSettings) -> RemoteStore:
    """The index whose shards these hosts have open. A question is answered from all of them or not at all."""
    import ray

    def ask(place: int, entry: ShardEntry, method: str, args: tuple[Any, ...]) -> Any:  # noqa: ANN401 - as the method gives
        try:
            given = ray.get(hosts[place].call.remote(entry, method, args))
        except ray.exceptions.RayError as error:
            raise PartLost(shard_name(place, len(hosts)), type(error).__name__) from error
        if isinstance(given, QuothError):
            raise given
        return given

    return RemoteStore(index, ask, layout=_layout(settings), strict=True)


def _layout(settings: StoreSettings) -> Layout:
    return Layout(settings.faiss_threshold, _SMALLEST_SHARD)
