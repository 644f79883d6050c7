"""A sharded store that can be written, for the contract that every store keeps, and pairs of indexes to compare."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from quoth.protocols import Embedder, Progress
from quoth.stores.embedded import EmbeddedStore
from quoth.stores.sharded import ShardedStore, assign, publish, write_shards
from quoth.stores.sharded.build import folders
from quoth.types import Candidates, IndexInfo, SplitDocument

from .fakes import PROFILE, HashEmbedder

SHARDS = 3


class WrittenShards(ShardedStore):
    """Writes into each shard, and then publishes them. Nobody may read meanwhile."""

    def write(
        self,
        put: Iterable[SplitDocument],
        *,
        remove: Collection[str],
        embedder: Embedder,
        profile: tuple[str, str],
        progress: Progress | None,
    ) -> IndexInfo:
        documents = list(put)
        place = Path(self.place)
        for number, folder in enumerate(folders(SHARDS)):
            EmbeddedStore(place / folder).write(
                [one for one in documents if assign(one.document.id, SHARDS) == number],
                remove=[one for one in remove if assign(one, SHARDS) == number],
                embedder=embedder,
                profile=profile,
                progress=progress,
            )
        return publish(place, folders(SHARDS))


def both(
    place: Path, documents: Sequence[SplitDocument], *, shards: int, smallest_shard: int
) -> tuple[EmbeddedStore, ShardedStore]:
    """One index of the documents, and one of several shards."""
    one = EmbeddedStore(place / "one", smallest_shard=smallest_shard)
    one.write(documents, remove=(), embedder=HashEmbedder(), profile=PROFILE, progress=None)
    write_shards(
        place / "several",
        documents,
        shards=shards,
        embedder=HashEmbedder(),
        profile=PROFILE,
        progress=None,
        smallest_shard=smallest_shard,
    )
    return one, ShardedStore(place / "several", smallest_shard=smallest_shard)


def described(found: Candidates) -> list[tuple[object, ...]]:
    """Everything about the candidates but their vectors, fit to be compared."""
    return [(one.sentence, one.lexical, one.dense, one.found_by, one.tokens) for one in found.items]
