"""The steps of an ingest on a cluster, one after the other in this process: no cluster is needed for that."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from quoth.cluster import parts
from quoth.cluster.parts import Lot, Part
from quoth.cluster.pieces import Pieces
from quoth.cluster.pipeline import Asked, Embedders, Group, Looked, Readers, Task
from quoth.cluster.shards import Made, Plan, Whole, made
from quoth.corpus.load import find_files
from quoth.profiles import load_profile
from quoth.settings import EmbeddingSettings, IngestSettings
from quoth.stores.places import Place
from quoth.stores.sharded import assign
from quoth.stores.sharded.manifest import ShardEntry
from quoth.wiring import open_embedder

HASH = EmbeddingSettings(model_name="hash")
MODEL = open_embedder(HASH).identity


def task(place: Place, *, shards: int) -> Task:
    return Task(place, parts.work_key(MODEL, shards), MODEL, load_profile("general"), IngestSettings(), HASH)


def whole(place: Place, *, shards: int) -> Whole:
    one = task(place, shards=shards)
    return Whole(place, one.key, shards, MODEL, one.profile, faiss_threshold=200_000)


@dataclass(frozen=True, slots=True)
class Went:
    """What came of the files: fingerprints by id, the parts, and what was said."""

    documents: dict[str, str]
    kept: Pieces
    parts: tuple[Part, ...]
    looked: tuple[Looked, ...]


def group(
    corpus: Path,
    shard: int,
    *,
    shards: int,
    known: Mapping[str, str] | None = None,
    kept: Pieces | None = None,
) -> Group:
    files = [file for file in find_files([corpus]).files if assign(file.doc_id, shards) == shard]
    none = Pieces()
    return Group(
        shard, tuple(Asked(file, (known or {}).get(file.doc_id), *(kept or none).done(file.doc_id)) for file in files)
    )


def read_and_embedded(place: Place, groups: Sequence[Group], *, shards: int, kept: Pieces | None = None) -> Went:
    """Read the groups and keep their parts."""
    told = task(place, shards=shards)
    readers, embedders = Readers(told), Embedders(told)
    pieces = kept or Pieces()
    written: list[Part] = []
    looked: list[Looked] = []
    for one in groups:
        for step in readers.read(one):
            if isinstance(step, Lot):
                written.append(embedders.kept(step))
                pieces.add(written[-1])
            else:
                looked.append(step)
    documents = dict(pair for one in looked for pair in (*one.resumed, *one.fresh))
    return Went(documents, pieces, tuple(written), tuple(looked))


def shard_of(
    place: Place, went: Went, shard: int, *, shards: int, before: ShardEntry | None = None, remove: Collection[str] = ()
) -> Made:
    mine = {doc_id: one for doc_id, one in went.documents.items() if assign(doc_id, shards) == shard}
    named, put = went.kept.plan(mine)
    return made(whole(place, shards=shards), Plan(shard, before, named, put, tuple(remove)))
