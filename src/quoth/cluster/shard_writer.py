"""Write a shard from its previous version and the embedded batches of its new documents.

A new version of a shard gets a folder of its own, so that readers of the previous one are not disturbed. A finished
shard is recorded under `work/`, so that an ingest that is run again does not write it twice.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path, PurePosixPath

import msgspec
import numpy as np

from quoth.cluster import embedded_batches as batches
from quoth.cluster.embedded_batches import WORK, DocumentRuns, EmbeddedBatch, EmbeddedRun, IngestTarget
from quoth.documents.ingest_report import CheckedSupersession, checked_supersessions
from quoth.documents.split_document import split_document
from quoth.errors import IndexDamaged, ModelError
from quoth.protocols import Progress
from quoth.stores.database_rows import embedding_key
from quoth.stores.disk_faults import writing
from quoth.stores.embedded import EmbeddedStore, generations
from quoth.stores.locations import FileDigest, Location, VersionConflict, digest_file, put_idempotent
from quoth.stores.sharded import cluster_manifest as manifest
from quoth.stores.sharded.cluster_manifest import PUBLISH, ShardEntry, replaced_of
from quoth.stores.sharded.sharded_store import missing_file
from quoth.types import IndexInfo, ModelIdentity, QuestionTokens, SplitDocument, Vectors


@dataclass(frozen=True, slots=True)
class ShardPlan:
    """How to write a shard. `before` is its previous version; `documents` are in the order of the batches.

    `labels` are those that files state now, of documents to write and of others.
    """

    number: int
    before: ShardEntry | None
    documents: tuple[DocumentRuns, ...]
    remove: tuple[str, ...]
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class WrittenShard:
    """A shard in its place, its description, and which of its documents have successors."""

    entry: ShardEntry
    info: IndexInfo
    replaced: Mapping[str, tuple[CheckedSupersession, ...]]


def write_shard(target: IngestTarget, plan: ShardPlan) -> WrittenShard:
    """Write a shard, unless an earlier run has."""
    location = target.location
    record = f"{WORK}/{target.key}/made/{_digest(target, plan)}.json"
    if (earlier := _recorded(location, record)) is not None:
        return earlier
    folder = f"shard-{plan.number:03d}-{os.urandom(4).hex()}"
    with _scratch(target) as home:
        superseded = _write_index(target, plan, home / folder)
        entry, info, stored = manifest.describe_shard(home, folder)
        manifest.check_assignment(stored, folder, number=plan.number, shards=target.shards)
        _move_into_place(location, entry, home)
    put_idempotent(location, entry.listing, manifest.listing_bytes(stored), over=None)
    if superseded:
        content = batches.json_bytes(superseded)
        put_idempotent(location, replaced_of(folder), content, over=None)
        entry = replace(entry, files={**entry.files, replaced_of(folder): _file(content)})
    written = WrittenShard(entry, info, superseded)
    try:
        put_idempotent(location, record, batches.json_bytes(written), over=None)
    except VersionConflict:  # the task ran twice, and the other was quicker
        return _recorded(location, record) or written
    return written


def read_replaced(location: Location, entry: ShardEntry) -> dict[str, tuple[CheckedSupersession, ...]]:
    """Return which documents of a shard have successors; raise `IndexDamaged` if the file is not what was written."""
    name = replaced_of(entry.folder)
    if name not in entry.files:
        return {}
    found = location.get(name)
    if found is None or _file(found[0]) != entry.files[name]:
        raise IndexDamaged(f"{location.uri}/{name} is missing or is not what was written", hint=PUBLISH)
    return msgspec.json.decode(found[0], type=dict[str, tuple[CheckedSupersession, ...]])


def _recorded(location: Location, record: str) -> WrittenShard | None:
    """Return the shard that an earlier run, or another attempt, has written; None if there is none."""
    written = batches.read_json(location, record, WrittenShard)
    if written is not None and missing_file(location, written.entry) is not None:  # it was removed since
        location.remove([record])
        return None
    return written


def _file(content: bytes) -> FileDigest:
    return FileDigest(len(content), hashlib.sha256(content).hexdigest())


def _write_index(target: IngestTarget, plan: ShardPlan, folder: Path) -> dict[str, tuple[CheckedSupersession, ...]]:
    """Bring the index in `folder` up to date, and keep only its newest generation there."""
    if plan.before is not None:
        _restore(target.location, plan.before, folder)

    @lru_cache(maxsize=1)  # one batch in memory at a time
    def runs_of(name: str, file: FileDigest) -> tuple[EmbeddedRun, ...]:
        return batches.read(target.location, name, file, target.model)

    def labelled(split: SplitDocument) -> SplitDocument:
        return replace(split, access=plan.labels.get(split.document.id, split.access))

    def run_at(batch: EmbeddedBatch, index: int) -> EmbeddedRun:
        return runs_of(batch.name, batch.file)[index]

    first_runs = (run_at(*document.runs[0]) for document in plan.documents)
    runs = (run_at(*place) for document in plan.documents for place in document.runs)
    with closing(EmbeddedStore(folder, faiss_threshold=target.settings.store.faiss_threshold)) as store:
        if plan.before is not None and plan.before.labels.labels:
            store.relabel(plan.before.labels.labels)
        info = store.write(
            (labelled(split_document(batches.unpack_document(run.document), target.profile)) for run in first_runs),
            remove=plan.remove,
            embedder=PrecomputedEmbedder(target.model, runs),
            profile=(target.profile.name, target.profile.source),
            progress=None,
            labels=plan.labels,
        )
        with store.read() as reader:
            superseded = checked_supersessions(reader)
    with writing(folder):
        generations.clean(folder, keep={info.generation})
    return superseded


class PrecomputedEmbedder:
    """Returns vectors that were computed before. `runs` hold them in the order of the texts.

    Some are skipped: the index asks for no vector of a text that it holds or has just asked for.
    """

    has_tokens = False

    def __init__(self, identity: ModelIdentity, runs: Iterator[EmbeddedRun]) -> None:
        self.identity = identity
        self._rows = (
            (key, vector, tokens)
            for run in runs
            for key, vector, tokens in zip(run.keys, run.vectors, run.tokens, strict=True)
        )

    def embed_tokens(self, texts: Sequence[str], *, progress: Progress | None = None) -> tuple[Vectors, list[bytes]]:
        vectors = np.empty((len(texts), self.identity.dimension), dtype=np.float32)
        tokens = []
        for row, text in enumerate(texts):
            wanted = embedding_key(self.identity, text)
            found = next(((vector, codes) for key, vector, codes in self._rows if key == wanted), None)
            if found is None:
                raise ModelError(
                    "a sentence was embedded with other words than it has now",
                    hint="Install the same version of Quoth on every node, then run the same command again.",
                )
            vectors[row] = found[0]
            tokens.append(found[1])
        return vectors, tokens

    def embed_question(self, text: str) -> tuple[Vectors, QuestionTokens | None]:
        raise ModelError("no question is embedded while a shard is written", hint="Please report this.")


@contextmanager
def _scratch(target: IngestTarget) -> Iterator[Path]:
    """Yield a folder to build a shard in: beside the others, to be renamed, or on this node, to be uploaded."""
    beside = target.location.folder
    if beside is None:
        with tempfile.TemporaryDirectory(prefix="quoth-shard-") as temporary:
            yield Path(temporary)
        return
    home = beside / WORK / target.key / "building" / os.urandom(4).hex()
    with writing(beside):
        home.mkdir(parents=True)
    try:
        yield home
    finally:
        shutil.rmtree(home, ignore_errors=True)


def _restore(location: Location, entry: ShardEntry, folder: Path) -> None:
    """Copy the previous version of a shard, and compare it with its entry."""
    for name, expected in entry.inside.items():
        target = folder / PurePosixPath(name).relative_to(entry.folder)
        with writing(folder):
            try:
                location.download(name, target)
                found = digest_file(target)
            except FileNotFoundError:
                found = None
        if found != expected:
            raise IndexDamaged(f"{location.uri}/{name} is missing or is not what was written", hint=PUBLISH)


def _move_into_place(location: Location, entry: ShardEntry, home: Path) -> None:
    """Move or upload a shard that was built in `home`."""
    if location.folder is not None:
        with writing(location.folder):
            for path in (home / entry.folder).rglob("*"):  # locks, and what SQLite keeps beside its file
                if path.is_file() and path.relative_to(home).as_posix() not in entry.files:
                    path.unlink()
            (home / entry.folder).rename(location.folder / entry.folder)
        return
    for name in entry.inside:
        location.upload(home / name, name)


def _digest(target: IngestTarget, plan: ShardPlan) -> str:
    before: list[object] | None = None
    if plan.before is not None:
        before = [plan.before.folder, plan.before.digest]
        if plan.before.labels.labels:
            before.append(plan.before.labels.revision)
    labels = sorted(plan.labels.items())
    documents = [[document.doc_id, document.fingerprint] for document in plan.documents]
    content = [
        plan.number,
        before,
        sorted(documents),
        sorted(plan.remove),
        labels,
        target.profile.name,
        target.profile.source,
    ]
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:32]
