"""Set labels in an index of shards: the manifest says which take the place of those in a shard.

So the files of a shard never change, and one atomic write publishes all new labels or none. The next version of a shard
has them in itself (see `cluster.shard_writer`).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from quoth.errors import CorpusError
from quoth.stores.embedded.visible_documents import LabelChanges
from quoth.stores.locations import Location
from quoth.stores.sharded import cluster_manifest as manifest
from quoth.stores.sharded.shard_protocol import assign
from quoth.types import labels_of


def relabel_shards(location: Location, labels: Mapping[str, Collection[str]]) -> None:
    """Replace the labels of documents by id; raise `CorpusError` if one does not exist, and then replace none."""
    with manifest.publishing(location):
        cluster, version = manifest.versioned(location)
        shards = list(cluster.shards)
        by_shard: dict[int, dict[str, tuple[str, ...]]] = {}
        for doc_id, own in sorted(labels.items()):
            by_shard.setdefault(assign(doc_id, len(shards)), {})[doc_id] = labels_of(own)
        for number, changed in by_shard.items():
            entry = shards[number]
            unknown = sorted(changed.keys() - manifest.read_listing(location, entry).keys())
            if unknown:
                raise CorpusError(f"the index holds no document '{unknown[0]}'", hint="quoth docs lists the ids.")
            changes = LabelChanges(entry.labels.revision + 1, {**entry.labels.labels, **changed})
            shards[number] = replace(entry, labels=changes)
        if by_shard:
            manifest.write(location, replace(cluster, shards=tuple(shards)), over=version)
