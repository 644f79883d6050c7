"""A view of an index that answers as an index of the visible documents alone would, byte for byte.

It merges shards of which each finds visible sentences only, by the statistics of the visible documents: the merge of a
sharded index already scores by other statistics than those of any tantivy. An embedded index is one such shard.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from quoth.stores.embedded.embedded_reader import EmbeddedReader
from quoth.stores.embedded.generations import Layout
from quoth.stores.embedded.visible_documents import LabelledDocument, described, visible_info
from quoth.stores.sharded.local_shard import LocalShard
from quoth.stores.sharded.shard_protocol import AskShards, ask_in_turn
from quoth.stores.sharded.sharded_reader import ShardedReader
from quoth.types import IndexInfo


def visible_part(reader: EmbeddedReader, layout: Layout) -> ShardedReader:
    """Return what a limited reader of an embedded index sees."""
    shard = LocalShard(reader, reader.evidence().all_terms)
    return visible_shards([shard], reader.info, layout=layout, each=ask_in_turn)


def visible_shards(shards: Sequence[LocalShard], info: IndexInfo, *, layout: Layout, each: AskShards) -> ShardedReader:
    """Return what limited readers of shards see together. `info` describes the whole index."""
    visible = tuple(shard.reader.visible for shard in shards if shard.reader.visible is not None)
    counted = [shard.reader.evidence() for shard in shards]
    evidence = sum(counts.sentences for counts in counted)
    return ShardedReader(
        shards,
        visible_info(info, visible),
        evidence=evidence,
        terms=sum(counts.terms for counts in counted),
        partitions=layout.partitions(evidence),
        each=each,
    )


@dataclass(frozen=True, slots=True)
class ShardView:
    """The visible documents of a shard; their `evidence` sentences have `terms` terms together."""

    documents: tuple[LabelledDocument, ...]
    evidence: int
    terms: int


def shard_view(reader: EmbeddedReader) -> ShardView:
    """Return what a limited reader of a shard sees, for whoever puts the shards together elsewhere."""
    if reader.visible is None:
        raise ValueError("the reader is not limited")
    counts = reader.evidence()
    return ShardView(reader.visible.documents, counts.sentences, counts.terms)


@dataclass(frozen=True, slots=True)
class VisibleWhole:
    """What is visible in several shards together, described as one index of it."""

    info: IndexInfo
    evidence: int
    terms: int


def visible_whole(views: Sequence[ShardView], info: IndexInfo) -> VisibleWhole:
    """Put the views of shards together. `info` describes the whole index."""
    shown = [document for view in views for document in view.documents]
    evidence, terms = sum(view.evidence for view in views), sum(view.terms for view in views)
    return VisibleWhole(described(info, shown), evidence, terms)
