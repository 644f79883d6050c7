"""Bring an index of shards up to date with files, on a cluster.

A pipeline reads the files and embeds their sentences in batches, which it stores (see `embedding_pipeline` and
`embedded_batches`). Then each shard that changed is written (see `shard_writer`), and last the manifest, which
publishes them. An interrupted run leaves the published index as it was; the next run goes on from the stored batches.
"""

from __future__ import annotations

import math
import os
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath

from quoth.cluster import embedded_batches
from quoth.cluster import embedding_pipeline as pipeline
from quoth.cluster import index_lock as lock
from quoth.cluster.embedded_batches import WORK, EmbeddedBatch, EmbeddedRuns, IngestTarget
from quoth.cluster.embedding_pipeline import FileGroup, FileToRead, GroupReport
from quoth.cluster.ray_session import alive, check_sees, connected, cpus, fetch, ray_errors_translated, wait_for_some
from quoth.cluster.shard_writer import ShardPlan, WrittenShard, read_replaced, write_shard
from quoth.documents.changes import unread_under_new_profile
from quoth.documents.files import CorpusFiles, check_files, find_files, none_readable
from quoth.documents.ingest import profile_changed
from quoth.documents.ingest_report import FileOutcomes, IngestReport
from quoth.domain.profile import DEFAULT_PROFILE, Profile, load_profile, parse_profile
from quoth.errors import ClusterFault, IndexMismatch, NoIndex, QuothError, SettingsError, UnreadableFile
from quoth.overrides import Overrides
from quoth.protocols import Progress
from quoth.settings import EmbeddingSettings
from quoth.stores.embedded.sqlite_schema import DATABASE
from quoth.stores.locations import Location, open_location
from quoth.stores.sharded import assign
from quoth.stores.sharded import cluster_manifest as manifest
from quoth.stores.sharded.cluster_manifest import ClusterManifest
from quoth.stores.sharded.sharded_store import check_present
from quoth.types import IndexInfo, ModelIdentity, StoredDocument, primary_language
from quoth.wiring import for_documents, for_index, open_embedder

_DEFAULT_SHARDS = 4
_MOST_FILES = 64
"""In a group, whose report comes back as a whole."""
_ATTEMPTS = 3
"""How often writing a shard is repeated when its process dies."""
_SHARD_FILE = re.compile(r"(shard-\d{3,}-[0-9a-f]{8})[./]")
_HALF_WRITTEN = re.compile(r"\.(cluster\.json|shard-\d{3,}-[0-9a-f]{8}\.[a-z.]+)\.\d+-[0-9a-f]{8}")


@dataclass(frozen=True, slots=True)
class ClusterIngest:
    """What to ingest, and how. `shards` None: as many as the index has; `workers` None: one for each CPU."""

    paths: tuple[Path, ...]
    output: str
    shards: int | None
    profile: str | None
    prune: bool
    overrides: Overrides
    address: str | None
    workers: int | None
    gpus_per_worker: float


def ingest(job: ClusterIngest, *, progress: Progress | None) -> IngestReport:
    """Bring the index at `job.output` up to date with the files under `job.paths`, on a cluster."""
    # Processes of the cluster run in other folders.
    job = replace(job, paths=tuple(path.absolute() for path in job.paths))
    corpus = find_files(job.paths)
    check_files(corpus)
    location = open_location(job.output)
    with lock.held(location) as still_held:
        published = PublishedShards(location)
        run = _IngestRun(job, published, corpus, progress)
        with connected(job.address):
            check_sees(location, f"{WORK}/seen-{os.urandom(4).hex()}")
            run.read()
            if not run.changed and published.manifest is not None:
                run.clean_work(published.stored)
                return run.report(published.manifest.info, published.shards)
            shards = run.write()
        return run.publish(shards, still_held)


class PublishedShards:
    """What an ingest starts from. `manifest` is None if nothing is published yet."""

    def __init__(self, location: Location) -> None:
        self.location = location
        if location.folder is not None and (location.folder / DATABASE).exists():
            raise IndexMismatch(
                f"{location.uri} holds an index that is not made of shards", hint="Give another folder with --output."
            )
        self.manifest: ClusterManifest | None = None
        self.version: str | None = None
        with suppress(NoIndex):
            self.manifest, self.version = manifest.versioned(location)
        self.shards = () if self.manifest is None else tuple(self._shards(self.manifest))
        self.stored = manifest.read_listings(location, (shard.entry for shard in self.shards))

    def _shards(self, cluster: ClusterManifest) -> Iterator[WrittenShard]:
        for entry in cluster.shards:  # unchanged shards too: they are published again with the others
            check_present(self.location, entry)
            info = replace(
                cluster.info,
                generation=entry.generation,
                digest=entry.digest,
                documents=entry.documents,
                sentences=entry.sentences,
            )
            yield WrittenShard(entry, info, read_replaced(self.location, entry))


def _target(job: ClusterIngest, published: PublishedShards) -> IngestTarget:
    """Return what the new generation is made with; raise if that does not fit the published one."""
    location, before = published.location, published.manifest
    shards = _number_of_shards(before, job.shards, location)
    profile = _profile(before, job.profile)
    settings = job.overrides.over(profile.settings, profile=profile.name)
    # A new index across machines takes what --language says: no document is read before its model is known.
    languages = [primary_language(settings.ingest.language)]
    given = settings.embedding
    chosen = for_index(given, before.info.model) if before else for_documents(given, languages)[0]
    settings = replace(settings, embedding=chosen)
    # Only the identity of the model is needed here, and that does not depend on the device.
    model = open_embedder(replace(settings.embedding, device="cpu")).identity
    if before is not None and before.info.model != model:
        raise IndexMismatch(
            f"the index at {location.uri} was made with {_named(before.info.model)}, not {_named(model)}",
            hint="Set embedding.model_name to the index's model, or give another --output.",
        )
    settings = replace(settings, embedding=_for_workers(settings.embedding, job.gpus_per_worker))
    return IngestTarget(location, embedded_batches.work_key(model, shards), shards, model, profile, settings)


def _number_of_shards(before: ClusterManifest | None, shards: int | None, location: Location) -> int:
    if before is None:
        return shards or _DEFAULT_SHARDS
    if shards not in {None, len(before.shards)}:
        raise SettingsError(
            f"the index at {location.uri} has {len(before.shards)} shards, not {shards}",
            hint=f"Leave --shards {shards} out, or give another --output to make a new index.",
        )
    return len(before.shards)


def _profile(before: ClusterManifest | None, profile: str | None) -> Profile:
    if profile:
        return load_profile(profile)
    return parse_profile(before.info.profile_source) if before else load_profile(DEFAULT_PROFILE)


def _named(model: ModelIdentity) -> str:
    return f"{model.name} ({model.revision}, {model.precision}, {model.dimension} dimensions)"


def _for_workers(embedding: EmbeddingSettings, gpus: float) -> EmbeddingSettings:
    return replace(
        embedding,
        threads=1,
        device="cuda" if gpus else embedding.device,
        path=embedding.path and str(Path(embedding.path).absolute()),
    )


class _IngestRun:
    """An ingest: `read` the files, `write` the shards, `publish` them."""

    def __init__(
        self, job: ClusterIngest, published: PublishedShards, corpus: CorpusFiles, progress: Progress | None
    ) -> None:
        self._job = job
        self._published = published
        self._target = _target(job, published)
        self._corpus = corpus
        self._notify: Progress = progress or (lambda what, done, total: None)
        self._outcomes = FileOutcomes(corpus, published.stored, prune=job.prune)
        self._profile_changed = profile_changed(
            published.manifest.info if published.manifest else None,
            self._target.profile,
            published.stored,
            covered={file.doc_id for file in corpus.files}.union(self._outcomes.gone if job.prune else ()),
        )
        self._embedded = EmbeddedRuns()
        self._earlier: list[EmbeddedBatch] = []
        self._changed: dict[str, str] = {}
        """The fingerprints of the documents to write, by id."""
        self._labels: dict[str, tuple[str, ...]] = {}
        """The labels that the files of documents state, of those to write and of those that stated others before."""

    @property
    def changed(self) -> bool:
        """Whether any shard must be written."""
        return bool(self._changed or self._labels or self._outcomes.leaving or self._profile_changed)

    def read(self) -> None:
        """Have every file read and new text embedded. Publishes nothing."""
        for batch in embedded_batches.find_all(self._target.location, self._target.key):
            self._earlier.append(batch)
            self._embedded.add(batch)
        for doc_id, error in sorted(self._embed().items()):
            if self._profile_changed and doc_id in self._published.stored:
                raise unread_under_new_profile(error)
            self._outcomes.refuse(error, doc_id=doc_id)
        self._outcomes.labels |= {
            doc_id: labels for doc_id, labels in sorted(self._labels.items()) if doc_id not in self._changed
        }
        for doc_id in sorted(self._changed):
            self._outcomes.take(self._embedded.file(doc_id, self._changed[doc_id]))
        if self._published.manifest is None and not self._changed:
            raise none_readable(self._outcomes.refused)

    def write(self) -> tuple[WrittenShard, ...]:
        """Write the changed shards on the cluster; return all shards by number."""
        import ray

        task = ray.remote(write_shard).options(num_cpus=1, max_retries=_ATTEMPTS, scheduling_strategy="SPREAD")
        shards = dict(enumerate(self._published.shards))
        with ray_errors_translated():
            waiting = {task.remote(self._target, plan): plan.number for plan in self._plans()}
            total = len(waiting)
            while waiting:
                self._notify("indexing", total - len(waiting), total)
                for ready in wait_for_some(list(waiting)):
                    shards[waiting.pop(ready)] = fetch(ready)
        self._notify("indexing", total, total)
        return tuple(shards[number] for number in range(self._target.shards))

    def publish(self, shards: Sequence[WrittenShard], still_held: Callable[[], None]) -> IngestReport:
        """Publish the shards together as the new generation, and remove what is not needed any more."""
        location, before = self._target.location, self._published
        entries, infos = [shard.entry for shard in shards], [shard.info for shard in shards]
        listings = [manifest.read_listing(location, entry) for entry in entries]
        embedding = asdict(self._target.settings.embedding)
        cluster = manifest.combine_shards(
            entries,
            infos,
            listings,
            generation=before.manifest.info.generation + 1 if before.manifest else 1,
            settings={
                "embedding": {name: embedding[name] for name in ("provider", "model_name", "dimension")},
                "ingest": asdict(self._target.settings.ingest),
            },
        )
        manifest.check(location.uri, cluster, infos)
        still_held()
        with manifest.publishing(location):
            manifest.write(location, cluster, over=before.version)
        self.clean_work({doc_id: stored for listing in listings for doc_id, stored in listing.items()})
        _remove_old(location, keep={shard.entry.folder for shard in (*shards, *before.shards)})
        return self.report(cluster.info, shards)

    def report(self, info: IndexInfo, shards: Sequence[WrittenShard]) -> IngestReport:
        superseded = {doc_id: found for shard in shards for doc_id, found in shard.replaced.items()}
        ids = (self._published.stored.keys() | self._changed.keys()) - set(self._outcomes.leaving)
        return self._outcomes.report(info, superseded=superseded, ids=ids)

    def clean_work(self, stored: Mapping[str, StoredDocument]) -> None:
        """Remove the batches that led to an index of these documents.

        A batch that an ingest of other files left stays while it holds a document that is not in the index.
        """
        covered = {file.doc_id for file in self._corpus.files}
        location = self._target.location
        others = {
            batch.name
            for batch in self._earlier
            for run in batch.runs
            if (doc_id := run.file.doc_id) not in covered
            and (doc_id not in stored or stored[doc_id].fingerprint != run.fingerprint)
        }
        location.remove(
            [name for name in location.names(WORK) if str(PurePosixPath(name).with_suffix("")) not in others]
        )
        if location.folder is not None and not others:
            shutil.rmtree(location.folder / WORK, ignore_errors=True)  # folders without files

    def _groups(self, workers: int) -> Iterator[FileGroup]:
        """Group the files by shard, because a batch holds one shard's documents; small groups keep all workers busy."""
        by_shard: dict[int, list[FileToRead]] = defaultdict(list)
        for file in self._corpus.files:
            indexed = self._published.stored.get(file.doc_id)
            # A name that is not Unicode cannot be hashed; the reader refuses it.
            shard = assign(file.doc_id.encode(errors="replace").decode(), self._target.shards)
            missing = self._embedded.missing(file.doc_id)
            fingerprint, stated = (indexed.fingerprint, indexed.stated_access) if indexed else (None, ())
            by_shard[shard].append(FileToRead(file, fingerprint, missing, stated))
        most = max(1, min(_MOST_FILES, math.ceil(len(self._corpus.files) / (4 * workers))))
        for shard, files in sorted(by_shard.items()):
            for start in range(0, len(files), most):
                yield FileGroup(shard, tuple(files[start : start + most]))

    def _embed(self) -> dict[str, UnreadableFile]:
        """Run the pipeline, and note its results; return the errors of files that cannot be read, by document."""
        workers, gpus = self._job.workers or cpus(), self._job.gpus_per_worker
        _check_gpus(gpus)
        files = sentences = 0
        refused: dict[str, UnreadableFile] = {}
        results = pipeline.run(self._target, tuple(self._groups(workers)), workers=workers, gpus=gpus)
        with ray_errors_translated(), closing(results):
            for result in results:
                match result:
                    case QuothError():
                        raise result
                    case EmbeddedBatch():
                        self._embedded.add(result)
                        sentences += result.sentences
                        self._notify("embedding", sentences, 0)
                    case GroupReport():
                        files += result.files
                        self._outcomes.unchanged += result.unchanged
                        self._changed.update(result.changed)
                        self._labels.update(result.labels)
                        refused.update(result.refused)
                        self._notify("reading", files, len(self._corpus.files))
        return refused

    def _plans(self) -> Iterator[ShardPlan]:
        """Yield a plan for each shard that must be written."""
        shards, published = self._target.shards, self._published.shards
        changed: dict[int, dict[str, str]] = defaultdict(dict)
        remove: dict[int, list[str]] = defaultdict(list)
        labels: dict[int, dict[str, tuple[str, ...]]] = defaultdict(dict)
        for doc_id, stated in sorted(self._labels.items()):
            labels[assign(doc_id, shards)][doc_id] = stated
        for doc_id, fingerprint in self._changed.items():
            changed[assign(doc_id, shards)][doc_id] = fingerprint
        for doc_id in self._outcomes.leaving:
            remove[assign(doc_id, shards)].append(doc_id)
        for number in range(shards):
            before = published[number].entry if published else None
            if before is None or self._profile_changed or changed[number] or remove[number] or labels[number]:
                documents = self._embedded.documents(changed[number])
                yield ShardPlan(number, before, documents, tuple(sorted(remove[number])), labels[number])


def _check_gpus(wanted: float) -> None:
    """Raise `ClusterFault` if no node has so many: Ray would wait for one to join."""
    if wanted and not any(node["Resources"].get("GPU", 0) >= wanted for node in alive().values()):
        raise ClusterFault(
            f"no node of the cluster has {wanted:g} GPUs", hint="Leave --gpus-per-worker out, or add nodes with GPUs."
        )


def _remove_old(location: Location, *, keep: Collection[str]) -> None:
    """Remove earlier shards, and the half-written files of processes that were killed."""
    old = []
    for name in location.names(""):
        shard = _SHARD_FILE.match(name)
        if (shard and shard[1] not in keep) or _HALF_WRITTEN.fullmatch(name):
            old.append(name)
    location.remove(old)
