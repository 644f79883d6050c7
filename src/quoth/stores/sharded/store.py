"""Several embedded indexes in one folder, read as one."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from quoth.errors import IndexDamaged, IndexMismatch, IndexUnwritable, NoIndex
from quoth.protocols import Embedder, Progress
from quoth.stores.embedded import EmbeddedStore
from quoth.stores.embedded.reader import EmbeddedReader
from quoth.stores.embedded.shards import Layout
from quoth.stores.sharded import manifest
from quoth.stores.sharded.local import LocalShard
from quoth.stores.sharded.manifest import Cluster
from quoth.stores.sharded.reader import ShardedReader
from quoth.stores.sharded.shard import Each, in_turn
from quoth.types import IndexInfo, Known, SplitDocument


class ShardedStore:
    """See `protocols.Store`. It is written by writing its shards and publishing them; see `build`.

    `each` asks several shards; what `faiss_threshold` and `smallest_shard` mean is said at `Layout`.
    """

    kind = "embedded"  # the scores are the same

    def __init__(
        self,
        place: Path | str,
        *,
        faiss_threshold: int = 200_000,
        smallest_shard: int = 4096,
        each: Each = in_turn,
    ) -> None:
        self._place = Path(place)
        self._layout = Layout(faiss_threshold, smallest_shard)
        self._each = each
        self._lock = threading.Lock()
        self._stores: dict[str, EmbeddedStore] = {}

    @property
    def place(self) -> str:
        return str(self._place)

    def size(self) -> int:
        """Bytes of the shards and of the file that names them."""
        with suppress(NoIndex):
            cluster = manifest.read(self._place)
            own = (self._place / manifest.NAME).stat().st_size
            return own + sum(self._shard(entry.folder).size() for entry in cluster.shards)
        return 0

    def published(self) -> float | None:
        with suppress(OSError):
            return (self._place / manifest.NAME).stat().st_mtime
        return None

    @contextmanager
    def read(self) -> Iterator[ShardedReader]:
        with ExitStack() as stack:
            cluster, readers = self._opened(stack)
            yield ShardedReader(
                [
                    LocalShard(reader, self._place / entry.folder, terms=entry.terms)
                    for entry, reader in zip(cluster.shards, readers, strict=True)
                ],
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
        return {
            doc_id: known for entry in cluster.shards for doc_id, known in self._shard(entry.folder).known().items()
        }

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
            f"the index at {self._place} is made of shards, and cannot be written as a whole",
            hint="Ingest into a folder that holds no shards, or make the shards anew.",
        )

    def close(self) -> None:
        with self._lock:
            for store in self._stores.values():
                store.close()
            self._stores.clear()

    def _opened(self, stack: ExitStack) -> tuple[Cluster, list[EmbeddedReader]]:
        """The published shards, all as they were published."""
        cluster = manifest.read(self._place)
        while True:
            with ExitStack() as attempt:
                try:
                    readers = [self._entered(entry.folder, attempt) for entry in cluster.shards]
                    manifest.check(self._place, cluster, [reader.info for reader in readers])
                except (IndexMismatch, IndexDamaged):
                    newer = manifest.read(self._place)
                    if newer == cluster:
                        raise
                    cluster = newer  # it was published while we opened it
                    continue
                stack.push(attempt.pop_all())
                return cluster, readers

    def _entered(self, folder: str, stack: ExitStack) -> EmbeddedReader:
        try:
            return stack.enter_context(self._shard(folder).read())
        except NoIndex as error:
            raise IndexDamaged(
                f"the shard {folder} of the index at {self._place} is missing", hint=manifest.PUBLISH
            ) from error

    def _shard(self, folder: str) -> EmbeddedStore:
        with self._lock:
            if folder not in self._stores:
                self._stores[folder] = EmbeddedStore(
                    self._place / folder,
                    faiss_threshold=self._layout.faiss_threshold,
                    smallest_shard=self._layout.smallest_shard,
                )
            return self._stores[folder]
