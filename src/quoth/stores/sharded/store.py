"""Several embedded indexes in one folder, read as one."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from quoth.errors import IndexDamaged, IndexMismatch, IndexUnwritable, NoIndex, SettingsError
from quoth.protocols import Embedder, Progress
from quoth.stores.embedded import EmbeddedStore
from quoth.stores.embedded.shards import Layout
from quoth.stores.places import open_place
from quoth.stores.sharded import listing, manifest
from quoth.stores.sharded.fetched import Fetched, fetched, tidy
from quoth.stores.sharded.local import LocalShard
from quoth.stores.sharded.manifest import Cluster, ShardEntry
from quoth.stores.sharded.reader import ShardedReader
from quoth.stores.sharded.shard import Each, in_turn
from quoth.types import IndexInfo, Known, SplitDocument

_FRESH_SECONDS = 5.0
"""How long a manifest in object storage is taken for the newest."""


class ShardedStore:
    """See `protocols.Store`. It is written by writing its shards and publishing them; see `build`.

    Shards in object storage are copied into `cache` when they are opened. `each` asks several shards; what
    `faiss_threshold` and `smallest_shard` mean is said at `Layout`.
    """

    kind = "embedded"  # the scores are the same

    def __init__(
        self,
        place: Path | str,
        *,
        cache: Path | None = None,
        faiss_threshold: int = 200_000,
        smallest_shard: int = 4096,
        each: Each = in_turn,
    ) -> None:
        self._place = open_place(place)
        self._cache = cache
        self._layout = Layout(faiss_threshold, smallest_shard)
        self._each = each
        self._lock = threading.Lock()
        self._stores: dict[str, _Open] = {}
        self._tidied: int | None = None
        self._kept: _Kept | None = None

    @property
    def place(self) -> str:
        return self._place.uri

    def size(self) -> int:
        """Bytes of the shards, as they were published."""
        with suppress(NoIndex):
            return sum(file.size for entry in self._cluster().shards for file in entry.files.values())
        return 0

    def published(self) -> float | None:
        """When the manifest was written; object storage is not asked."""
        with suppress(OSError):
            return (self._place.folder / manifest.NAME).stat().st_mtime if self._place.folder else None
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
                lots=self._layout.shards(cluster.evidence),
                each=self._each,
            )

    def known(self) -> Mapping[str, Known]:
        try:
            cluster = manifest.read(self._place)
        except NoIndex:
            return {}
        return listing.read_all(self._place, cluster.shards)

    def write(
        self,
        put: Iterable[SplitDocument],
        *,
        remove: Collection[str],
        embedder: Embedder,
        profile: tuple[str, str],
        progress: Progress | None,
    ) -> IndexInfo:
        raise IndexUnwritable(
            f"the index at {self._place.uri} is made of shards, and is not written as a whole",
            hint="Use quoth cluster ingest, or ingest into a folder that holds no shards.",
        )

    def close(self) -> None:
        with self._lock:
            for one in self._stores.values():
                one.store.close()
            self._stores.clear()

    def _opened(self, stack: ExitStack) -> tuple[Cluster, list[LocalShard]]:
        """The published shards, all as they were published."""
        cluster = self._cluster()
        while True:
            with ExitStack() as attempt:
                try:
                    shards = [self._entered(entry, attempt) for entry in cluster.shards]
                    manifest.check(self._place.uri, cluster, [shard.reader.info for shard in shards])
                except (IndexMismatch, IndexDamaged):
                    newer = manifest.read(self._place)
                    if newer == cluster:
                        raise
                    cluster = newer  # it was published while we opened it
                    continue
                stack.push(attempt.pop_all())
                self._drop_others(cluster)
                return cluster, shards

    def _cluster(self) -> Cluster:
        """What is published. A manifest in object storage is not asked for with every question."""
        with self._lock:
            kept = self._kept
        if kept is not None and self._place.folder is None and time.monotonic() < kept.until:
            return kept.cluster
        found = self._place.get(manifest.NAME)
        if found is None:
            raise NoIndex(self._place.uri)
        cluster = kept.cluster if kept and kept.version == found[1] else manifest.parsed(found[0], self._place.uri)
        with self._lock:
            self._kept = _Kept(found[1], cluster, time.monotonic() + _FRESH_SECONDS)
        return cluster

    def _entered(self, entry: ShardEntry, stack: ExitStack) -> LocalShard:
        opened = stack.enter_context(self._shard(entry))
        try:
            return LocalShard(stack.enter_context(opened.store.read()), opened.copy.folder, terms=entry.terms)
        except NoIndex as error:
            raise IndexDamaged(
                f"the shard {entry.folder} of the index at {self._place.uri} is missing", hint=manifest.PUBLISH
            ) from error

    @contextmanager
    def _shard(self, entry: ShardEntry) -> Iterator[_Open]:
        """A shard that is open, and not closed for the time of this."""
        with self._lock:
            if entry.folder not in self._stores:
                copy = self._local(entry)
                store = EmbeddedStore(
                    copy.folder,
                    faiss_threshold=self._layout.faiss_threshold,
                    smallest_shard=self._layout.smallest_shard,
                )
                self._stores[entry.folder] = _Open(copy, store)
            opened = self._stores[entry.folder]
            opened.readers += 1
        try:
            yield opened
        finally:
            with self._lock:
                opened.readers -= 1

    def _drop_others(self, cluster: Cluster) -> None:
        """Close the shards of before that nobody reads any more, and remove their copies."""
        keep = {entry.folder for entry in cluster.shards}
        with self._lock:
            others = [name for name, one in self._stores.items() if name not in keep and not one.readers]
            for name in others:
                self._stores.pop(name).store.close()
            if not others and self._tidied == cluster.info.generation:
                return
            self._tidied = cluster.info.generation
        if self._cache is not None:
            tidy(self._place, cache=self._cache, keep=keep)

    def _local(self, entry: ShardEntry) -> Fetched:
        """A shard in a folder is opened as any index is, which looks for damage itself where that takes no time."""
        if self._place.folder is not None:
            return Fetched(self._place.folder / entry.folder, None)
        if self._cache is None:
            raise SettingsError("shards in object storage need a folder to be copied to", hint="Please report this.")
        return fetched(self._place, entry, cache=self._cache)


@dataclass(slots=True)
class _Open:
    """A shard that was opened, and how many read it now."""

    copy: Fetched
    store: EmbeddedStore
    readers: int = 0


@dataclass(frozen=True, slots=True)
class _Kept:
    """A manifest that was read, and until when it is taken for the newest."""

    version: str
    cluster: Cluster
    until: float
