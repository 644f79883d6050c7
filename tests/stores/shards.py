"""A sharded store that can be written, for the contract that every store keeps, and pairs of indexes to compare."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from quoth.errors import IndexDamaged
from quoth.protocols import Embedder, Progress
from quoth.stores.embedded import EmbeddedStore
from quoth.stores.locations import open_location
from quoth.stores.sharded import ShardedStore, assign, cluster_manifest
from quoth.stores.sharded.cluster_manifest import (
    ClusterManifest,
    ShardEntry,
    check_assignment,
    combine_shards,
    describe_shard,
)
from quoth.types import Candidates, IndexInfo, Refusals, SplitDocument, StoredDocument

from .fakes import PROFILE, HashEmbedder

SHARDS = 3


class WrittenShards(ShardedStore):
    """Writes into each shard, and then publishes them. Nobody may read meanwhile."""

    def write(  # type: ignore[override]
        self,
        put: Iterable[SplitDocument],
        *,
        remove: Collection[str],
        embedder: Embedder,
        profile: tuple[str, str],
        progress: Progress | None,
        refusals: Refusals | None = None,
        labels: Mapping[str, tuple[str, ...]] | None = None,
    ) -> IndexInfo:
        documents = list(put)
        place = Path(self.location)
        before, _ = published(place)
        for entry in before.shards if before else ():
            EmbeddedStore(place / entry.folder).relabel(entry.labels.labels)
        for number, folder in enumerate(folders(SHARDS)):
            EmbeddedStore(place / folder).write(
                [one for one in documents if assign(one.document.id, SHARDS) == number],
                remove=[one for one in remove if assign(one, SHARDS) == number],
                embedder=embedder,
                profile=profile,
                progress=progress,
                labels={one: own for one, own in (labels or {}).items() if assign(one, SHARDS) == number},
            )
        return publish(place, folders(SHARDS))


def both(
    place: Path, documents: Sequence[SplitDocument], *, shards: int, smallest_partition: int
) -> tuple[EmbeddedStore, ShardedStore]:
    """One index of the documents, and one of several shards."""
    one = EmbeddedStore(place / "one", smallest_partition=smallest_partition)
    one.write(documents, remove=(), embedder=HashEmbedder(), profile=PROFILE, progress=None)
    write_shards(
        place / "several",
        documents,
        shards=shards,
        embedder=HashEmbedder(),
        profile=PROFILE,
        progress=None,
        smallest_partition=smallest_partition,
    )
    return one, ShardedStore(place / "several", smallest_partition=smallest_partition)


def described(found: Candidates) -> list[tuple[object, ...]]:
    """Everything about the candidates but their vectors, fit to be compared."""
    return [(one.sentence, one.lexical, one.dense, one.found_by, one.tokens) for one in found.items]


def write_shards(
    location: Path,
    documents: Iterable[SplitDocument],
    *,
    shards: int,
    embedder: Embedder,
    profile: tuple[str, str],
    progress: Progress | None,
    smallest_partition: int = 4096,
) -> IndexInfo:
    """Put `documents` into so many shards at `location`, and publish them. All are held in memory meanwhile."""
    parts: list[list[SplitDocument]] = [[] for _ in range(shards)]
    for document in documents:
        parts[assign(document.document.id, shards)].append(document)
    for folder, part in zip(folders(shards), parts, strict=True):
        store = EmbeddedStore(location / folder, smallest_partition=smallest_partition)
        store.write(part, remove=(), embedder=embedder, profile=profile, progress=progress)
        store.close()
    return publish(location, folders(shards))


def folders(shards: int) -> tuple[str, ...]:
    """The usual names of so many shards."""
    return tuple(f"shard-{number:03d}" for number in range(shards))


def publish(location: Path, named: Sequence[str]) -> IndexInfo:
    """Make one index of the embedded indexes in these folders of `location`, in the order of their numbers.

    `IndexMismatch` where a document is not in the shard that it is assigned to, or the shards are not alike. Where
    nothing changed, nothing is published.
    """
    home = open_location(location)
    before, version = published(location)
    entries: list[ShardEntry] = []
    infos: list[IndexInfo] = []
    held: list[Mapping[str, StoredDocument]] = []
    for number, folder in enumerate(named):
        entry, info, known = describe_shard(location, folder)
        check_assignment(known, folder, number=number, shards=len(named))
        if before is None or entry not in before.shards:
            told = home.get(entry.listing)
            home.put(entry.listing, cluster_manifest.listing_bytes(known), over=told[1] if told else None)
        entries.append(entry)
        infos.append(info)
        held.append(known)
    same = before is not None and [one.digest for one in before.shards] == [one.digest for one in entries]
    generation = before.info.generation if before else 0
    cluster = combine_shards(entries, infos, held, generation=generation if same else generation + 1, settings={})
    cluster_manifest.check(home.uri, cluster, infos)
    if before is not None and before.shards == cluster.shards:
        return before.info
    cluster_manifest.write(home, cluster, over=version)
    return cluster.info


def published(location: Path) -> tuple[ClusterManifest | None, str | None]:
    """What is published now, and its version; None where that is nothing, or cannot be read."""
    home = open_location(location)
    found = home.get(cluster_manifest.NAME)
    if found is None:
        return None, None
    try:
        return cluster_manifest.parsed(found[0], home.uri), found[1]
    except IndexDamaged:
        return None, found[1]
