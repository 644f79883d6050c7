"""Several embedded indexes in one folder, read as one."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NoReturn

from quoth.errors import IndexDamaged, IndexMismatch, IndexUnwritable, NoIndex, SettingsError
from quoth.stores.embedded import EmbeddedStore
from quoth.stores.embedded.generations import Layout
from quoth.stores.locations import open_location
from quoth.stores.sharded import cluster_manifest as manifest
from quoth.stores.sharded.cluster_manifest import ClusterManifest, ShardEntry
from quoth.stores.sharded.local_shard import LocalShard
from quoth.stores.sharded.shard_copies import ShardCopy, fetch_shard, remove_unused
from quoth.stores.sharded.shard_protocol import AskShards, ask_in_turn
from quoth.stores.sharded.sharded_reader import ShardedReader
from quoth.types import StoredDocument

_FRESH_SECONDS = 5.0
"""How long a manifest in object storage is taken for the newest."""


class ShardedStore:
    """See `protocols.Store`. It is written by writing its shards and publishing them; see `build`.

    Shards in object storage are copied into `cache` when they are opened. `each` asks several shards. For
    `faiss_threshold` and `smallest_partition` see `Layout`.
    """

    kind = "embedded"  # the scores are the same
    _unwritable = (
        "is made of shards, and is not written as a whole",
        "Use quoth cluster ingest, or ingest into a folder that holds no shards.",
    )

    def __init__(
        self,
        location: Path | str,
        *,
        cache: Path | None = None,
        faiss_threshold: int = 200_000,
        smallest_partition: int = 4096,
        each: AskShards = ask_in_turn,
    ) -> None:
        self._location = open_location(location)
        self._cache = cache
        self._layout = Layout(faiss_threshold, smallest_partition)
        self._each = each
        self._lock = threading.Lock()
        self._stores: dict[str, _CachedShard] = {}
        self._tidied: int | None = None
        self._cached: _CachedManifest | None = None

    @property
    def location(self) -> str:
        return self._location.uri

    def size(self) -> int:
        """Return the bytes of the shards when they were published."""
        with suppress(NoIndex):
            return self._cluster().size
        return 0

    def published(self) -> float | None:
        """Return when the manifest was written; None for object storage."""
        with suppress(OSError):
            return (self._location.folder / manifest.NAME).stat().st_mtime if self._location.folder else None
        return None

    @contextmanager
    def read(self) -> Iterator[ShardedReader]:
        with ExitStack() as stack:
            cluster, shards = self._opened(stack)
            yield ShardedReader(
                shards,
                cluster.info,
                evidence=cluster.evidence,
                terms=cluster.terms,
                partitions=self._layout.partitions(cluster.evidence),
                each=self._each,
            )

    def stored_documents(self) -> Mapping[str, StoredDocument]:
        try:
            cluster = self._cluster()
        except NoIndex:
            return {}
        return manifest.read_listings(self._location, cluster.shards)

    def write(self, *_: object, **__: object) -> NoReturn:
        why, hint = self._unwritable
        raise IndexUnwritable(f"the index at {self._location.uri} {why}", hint=hint)

    def close(self) -> None:
        with self._lock:
            for opened in self._stores.values():
                opened.store.close()
            self._stores.clear()

    def _opened(self, stack: ExitStack) -> tuple[ClusterManifest, list[LocalShard]]:
        """Open all shards of the published manifest."""
        cluster = self._cluster()
        while True:
            with ExitStack() as attempt:
                try:
                    shards = [self._entered(entry, attempt) for entry in cluster.shards]
                    manifest.check(self._location.uri, cluster, [shard.reader.info for shard in shards])
                except (IndexMismatch, IndexDamaged):
                    newer = manifest.read(self._location)
                    if newer == cluster:
                        raise
                    cluster = newer  # it was published while we opened it
                    continue
                stack.push(attempt.pop_all())
                self._drop_others(cluster)
                return cluster, shards

    def _cluster(self) -> ClusterManifest:
        """Return the published manifest. In object storage it is not read for every question."""
        with self._lock:
            cached = self._cached
        if cached is not None and self._location.folder is None and time.monotonic() < cached.until:
            return cached.cluster
        found = self._location.get(manifest.NAME)
        if found is None:
            raise NoIndex(self._location.uri)
        content, version = found
        if cached is not None and cached.version == version:
            cluster = cached.cluster
        else:
            cluster = manifest.parsed(content, self._location.uri)
        with self._lock:
            self._cached = _CachedManifest(version, cluster, time.monotonic() + _FRESH_SECONDS)
        return cluster

    def _entered(self, entry: ShardEntry, stack: ExitStack) -> LocalShard:
        """Open a shard; `stack` closes it."""
        with self._lock:
            if entry.folder not in self._stores:
                copy = self._local(entry)
                self._stores[entry.folder] = _CachedShard(copy, EmbeddedStore(copy.folder, **asdict(self._layout)))
            opened = self._stores[entry.folder]
            opened.readers += 1
        stack.callback(self._leave, opened)
        try:
            return LocalShard(stack.enter_context(opened.store.read()), entry.terms)
        except NoIndex as error:
            raise IndexDamaged(
                f"the shard {entry.folder} of the index at {self._location.uri} is missing", hint=manifest.PUBLISH
            ) from error

    def _leave(self, opened: _CachedShard) -> None:
        with self._lock:
            opened.readers -= 1

    def _drop_others(self, cluster: ClusterManifest) -> None:
        """Close the shards of before that nobody reads any more, and remove their copies."""
        keep = {entry.folder for entry in cluster.shards}
        with self._lock:
            others = [name for name, opened in self._stores.items() if name not in keep and not opened.readers]
            for name in others:
                self._stores.pop(name).store.close()
            if not others and self._tidied == cluster.info.generation:
                return
            self._tidied = cluster.info.generation
        if self._cache is not None:
            remove_unused(self._location, cache=self._cache, keep=keep)

    def _local(self, entry: ShardEntry) -> ShardCopy:
        """Return the shard on this machine. In a folder it is opened as any index is, which looks for damage itself."""
        if self._location.folder is not None:
            return ShardCopy(self._location.folder / entry.folder, None)
        if self._cache is None:
            raise SettingsError("shards in object storage need a folder to be copied to", hint="Please report this.")
        return fetch_shard(self._location, entry, cache=self._cache)


@dataclass(slots=True)
class _CachedShard:
    """An open shard, and how many readers use it now."""

    copy: ShardCopy
    store: EmbeddedStore
    readers: int = 0


@dataclass(frozen=True, slots=True)
class _CachedManifest:
    """A manifest, and until when it counts as the newest."""

    version: str
    cluster: ClusterManifest
    until: float
