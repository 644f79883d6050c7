"""The steps of an ingest on a cluster, one after the other in this process: no cluster is needed for that."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from quoth.cluster import embedded_batches as parts
from quoth.cluster.embedded_batches import EmbeddedBatch, EmbeddedRuns, IngestTarget, PendingBatch
from quoth.cluster.embedding_pipeline import EmbedBatches, FileGroup, FileToRead, GroupReport, ReadFiles
from quoth.cluster.shard_writer import ShardPlan, WrittenShard, write_shard
from quoth.documents.files import find_files
from quoth.domain.profile import load_profile
from quoth.settings import EmbeddingSettings, Settings
from quoth.stores.locations import Location
from quoth.stores.sharded import assign
from quoth.stores.sharded.cluster_manifest import ShardEntry
from quoth.wiring import open_embedder

HASH = EmbeddingSettings(model_name="hash")
MODEL = open_embedder(HASH).identity


def target(place: Location, *, shards: int) -> IngestTarget:
    settings = Settings(embedding=HASH)
    return IngestTarget(place, parts.work_key(MODEL, shards), shards, MODEL, load_profile("general"), settings)


@dataclass(frozen=True, slots=True)
class Went:
    """What became of the files: fingerprints by id, the batches, and the reports on the groups."""

    documents: dict[str, str]
    kept: EmbeddedRuns
    parts: tuple[EmbeddedBatch, ...]
    looked: tuple[GroupReport, ...]


def group(
    corpus: Path,
    shard: int,
    *,
    shards: int,
    known: Mapping[str, str] | None = None,
    kept: EmbeddedRuns | None = None,
    stated: Mapping[str, tuple[str, ...]] | None = None,
) -> FileGroup:
    files = [file for file in find_files([corpus]).files if assign(file.doc_id, shards) == shard]
    embedded = kept or EmbeddedRuns()
    wanted = [
        FileToRead(
            file,
            (known or {}).get(file.doc_id),
            embedded.missing(file.doc_id),
            (stated or {}).get(file.doc_id, ()),
        )
        for file in files
    ]
    return FileGroup(shard, tuple(wanted))


def read_and_embedded(
    place: Location, groups: Sequence[FileGroup], *, shards: int, kept: EmbeddedRuns | None = None
) -> Went:
    """Read the groups and write their batches."""
    made_with = target(place, shards=shards)
    readers, embedders = ReadFiles(made_with), EmbedBatches(made_with)
    pieces = kept or EmbeddedRuns()
    written: list[EmbeddedBatch] = []
    looked: list[GroupReport] = []
    for one in groups:
        for step in readers.read(one):
            if isinstance(step, PendingBatch):
                written.append(embedders.embed(step))
                pieces.add(written[-1])
            else:
                looked.append(step)
    documents = dict(pair for report in looked for pair in report.changed)
    return Went(documents, pieces, tuple(written), tuple(looked))


def shard_of(
    place: Location,
    went: Went,
    shard: int,
    *,
    shards: int,
    before: ShardEntry | None = None,
    remove: Collection[str] = (),
) -> WrittenShard:
    mine = {doc_id: one for doc_id, one in went.documents.items() if assign(doc_id, shards) == shard}
    labels = {doc_id: own for report in went.looked for doc_id, own in report.labels if assign(doc_id, shards) == shard}
    plan = ShardPlan(shard, before, went.kept.documents(mine), tuple(remove), labels)
    return write_shard(target(place, shards=shards), plan)
