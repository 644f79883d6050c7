"""Bring an index of shards up to date with files, on a cluster.

Files are read and their sentences embedded by a pipeline that keeps what it made (see `pipeline` and `parts`); then
each shard that changed is written (see `shards`); and at last the manifest, which is the moment of publication. A run
that was interrupted leaves the published index as it was, and the next one goes on from what was kept.
"""

from __future__ import annotations

import math
import os
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from quoth.cluster import parts, pipeline
from quoth.cluster.faults import AGAIN, on_the_cluster, some_done
from quoth.cluster.nodes import alive, check_sees, connected
from quoth.cluster.parts import WORK, Part
from quoth.cluster.pieces import Pieces
from quoth.cluster.pipeline import Asked, Group, Looked, Task
from quoth.cluster.shards import Made, Plan, Whole, made_or_failed, read_replaced
from quoth.cluster.state import State
from quoth.corpus.changes import unread_under_another
from quoth.corpus.load import Found, find_files
from quoth.corpus.tally import Tally, gone
from quoth.errors import ClusterFault, QuothError, UnreadableFile
from quoth.ingest import IngestReport, check_found, none_read, profile_changed, with_successors
from quoth.protocols import Progress
from quoth.settings import Overrides, Settings
from quoth.stores.places import Place, open_place
from quoth.stores.sharded import assign, build, listing, lock, manifest
from quoth.stores.sharded.manifest import Cluster, ShardEntry
from quoth.types import IndexInfo, Known

_MOST_FILES = 64
"""Of one group: what is said of the files of a group comes back at once."""
_ATTEMPTS = 3
"""How often writing a shard is begun anew when its process dies."""
_OURS = re.compile(r"(shard-\d{3,}-[0-9a-f]{8})[./]")
_HALF_WRITTEN = re.compile(r"\.(cluster\.json|shard-\d{3,}-[0-9a-f]{8}\.[a-z.]+)\.\d+-[0-9a-f]{8}")


@dataclass(frozen=True, slots=True)
class ClusterIngest:
    """What is to be done. `shards` None: as many as the index has; `workers` None: one for each CPU of the cluster."""

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
    # Processes of the cluster run in folders of their own.
    job = replace(job, paths=tuple(path.absolute() for path in job.paths))
    found = find_files(job.paths)
    check_found(found)
    place = open_place(job.output)
    with lock.held(place) as still_held:
        state = State(place, shards=job.shards, profile=job.profile, overrides=job.overrides)
        run = _Run(state, job, found, progress)
        with connected(job.address):
            check_sees(place, f"{WORK}/seen-{os.urandom(4).hex()}")
            run.read()
            if not run.changed and state.before is not None:
                run.clean_work(state.known)
                return run.report(state.before.info, ())
            made = run.write()
        return run.publish(made, still_held)


class _Run:
    """One ingest: `read` the files, `write` the shards, `publish` them."""

    def __init__(self, state: State, job: ClusterIngest, found: Found, progress: Progress | None) -> None:
        self._state = state
        self._job = job
        self._found = found
        self._progress = progress
        ids = {file.doc_id for file in found.files}
        # What lies in a folder that could not be looked into is not gone.
        self._gone = () if found.closed else gone(state.known, ids, job.paths)
        self._profile_changed = state.before is not None and profile_changed(
            state.before.info, state.known, state.profile, found=ids | set(self._gone) if job.prune else ids
        )
        self._tally = Tally(state.known, gone=self._gone, prune=job.prune)
        for error in found.closed:
            self._tally.refuse(error, kept=False)
        self._kept = Pieces()
        self._earlier: list[Part] = []
        self._put: dict[str, str] = {}

    @property
    def changed(self) -> bool:
        """Whether any shard is to be written."""
        return bool(self._put or self._tally.leaving or self._profile_changed)

    def read(self) -> None:
        """Have every file read and what is new embedded; nothing is published."""
        state = self._state
        for part in parts.find_all(state.place, state.key):
            self._earlier.append(part)
            self._kept.add(part)
        workers = self._job.workers or _cpus()
        _check_gpus(self._job.gpus_per_worker)
        task = Task(
            state.place,
            state.key,
            state.model,
            state.profile,
            state.settings.ingest,
            replace(
                state.settings.embedding,
                threads=1,
                device="cuda" if self._job.gpus_per_worker else state.settings.embedding.device,
                path=state.settings.embedding.path and str(Path(state.settings.embedding.path).absolute()),
            ),
        )
        unread: list[pipeline.Unread] = []
        groups = tuple(self._groups(workers))
        with (
            on_the_cluster(),
            closing(pipeline.run(task, groups, workers=workers, gpus=self._job.gpus_per_worker)) as told,
        ):
            for looked in self._collected(told):
                self._tally.unchanged += looked.unchanged
                self._put.update((*looked.resumed, *looked.fresh))
                unread += looked.unread
        self._refuse(unread)
        for doc_id in sorted(self._put):
            self._tally.take(self._kept.taken(doc_id, self._put[doc_id]))
        if state.before is None and not self._put:
            raise none_read(self._tally.refused)

    def write(self) -> tuple[Made | None, ...]:
        """Have the shards that changed written; None for one that stays as it is."""
        import ray

        state = self._state
        whole = Whole(
            state.place,
            state.key,
            state.shards,
            state.model,
            state.profile,
            state.settings.store.faiss_threshold,
        )
        plans = {plan.number: plan for plan in self._plans()}
        task = ray.remote(made_or_failed).options(num_cpus=1, max_retries=_ATTEMPTS, scheduling_strategy="SPREAD")
        made: dict[int, Made] = {}
        with on_the_cluster():
            waiting = {task.remote(whole, plan): number for number, plan in plans.items()}
            while waiting:
                self._tell("indexing", len(made), len(plans))
                for ready in some_done(list(waiting)):
                    one: Made | QuothError = ray.get(ready)
                    if isinstance(one, QuothError):
                        raise one
                    made[waiting.pop(ready)] = one
        self._tell("indexing", len(made), len(plans))
        return tuple(made.get(number) for number in range(state.shards))

    def publish(self, made: Sequence[Made | None], still_held: Callable[[], None]) -> IngestReport:
        """Name the shards together as the new generation, and clear away what nobody needs any more."""
        state = self._state
        entries, infos, known = [], [], []
        for number, one in enumerate(made):
            entry = one.entry if one else state.entries[number]
            entries.append(entry)
            infos.append(one.info if one else _info(state.before, entry))
            known.append(listing.read(state.place, entry) if one else state.known_by_shard[number])
        generation = state.before.info.generation + 1 if state.before else 1
        cluster = build.whole(entries, infos, known, generation=generation, settings=_described(state.settings))
        manifest.check(state.place.uri, cluster, infos)
        still_held()
        manifest.write(state.place, cluster, over=state.version)
        self.clean_work({doc_id: one for shard in known for doc_id, one in shard.items()})
        _clean(state.place, keep={entry.folder for entry in (*entries, *state.entries)})
        return self.report(cluster.info, made)

    def report(self, info: IndexInfo, made: Sequence[Made | None]) -> IngestReport:
        tally, state = self._tally, self._state
        leaving = set(tally.leaving)
        replaced = {
            doc_id: some
            for number, one in enumerate(made or [None] * state.shards)
            for doc_id, some in (one.replaced if one else read_replaced(state.place, state.entries[number])).items()
        }
        return IngestReport(
            info=info,
            written=tuple(tally.written),
            unchanged=tally.unchanged,
            refused=tuple(tally.refused),
            converted=tally.converted,
            notes=with_successors(tally.notes, replaced, (state.known.keys() | self._put.keys()) - leaving),
            ignored=dict(self._found.ignored),
            renamed=tally.renamed,
            removed=tuple(doc_id for doc_id in self._gone if doc_id in leaving and doc_id not in tally.renamed),
            gone=tuple(doc_id for doc_id in self._gone if doc_id not in leaving),
        )

    def clean_work(self, known: Mapping[str, Known]) -> None:
        """Remove what was kept on the way to the index that knows these.

        A part stays that another ingest left, one of other files, while it holds a document that is not in the index.
        """
        looked_at = {file.doc_id for file in self._found.files}
        place = self._state.place
        others = {
            part.name
            for part in self._earlier
            for piece in part.pieces
            if (doc_id := piece.taken.doc_id) not in looked_at
            and (doc_id not in known or known[doc_id].fingerprint != piece.fingerprint)
        }
        place.remove([name for name in place.names(WORK) if str(PurePosixPath(name).with_suffix("")) not in others])
        if place.folder is not None and not others:
            shutil.rmtree(place.folder / WORK, ignore_errors=True)  # folders without files

    def _groups(self, workers: int) -> Iterator[Group]:
        """The files by shard, so that a part holds documents of one, and in small groups, so that none is idle."""
        state = self._state
        by_shard: dict[int, list[Asked]] = defaultdict(list)
        for file in self._found.files:
            known = state.known.get(file.doc_id)
            done, of = self._kept.done(file.doc_id)
            asked = Asked(file, known.fingerprint if known else None, done, of)
            by_shard[assign(_name(file.doc_id), state.shards)].append(asked)
        most = max(1, min(_MOST_FILES, math.ceil(len(self._found.files) / (4 * workers))))
        for shard, files in sorted(by_shard.items()):
            for start in range(0, len(files), most):
                yield Group(shard, tuple(files[start : start + most]))

    def _collected(self, told: Iterator[pipeline.Told]) -> Iterator[Looked]:
        files = sentences = 0
        for one in told:
            match one:
                case QuothError():
                    raise one
                case Part():
                    self._kept.add(one)
                    sentences += one.sentences
                    self._tell("embedding", sentences, 0)
                case Looked():
                    files += one.files
                    self._tell("reading", files, len(self._found.files))
                    yield one

    def _refuse(self, unread: Sequence[pipeline.Unread]) -> None:
        for one in sorted(unread, key=lambda one: one.doc_id):
            error = UnreadableFile(one.path, one.why, hint=one.hint)
            if self._profile_changed and one.doc_id in self._state.known:
                raise unread_under_another(error)
            self._tally.refuse(error, kept=one.doc_id in self._state.known)

    def _plans(self) -> Iterator[Plan]:
        """What becomes of each shard that does not stay as it is."""
        state = self._state
        put: dict[int, list[str]] = defaultdict(list)
        remove: dict[int, list[str]] = defaultdict(list)
        for doc_id in self._put:
            put[assign(doc_id, state.shards)].append(doc_id)
        for doc_id in self._tally.leaving:
            remove[assign(doc_id, state.shards)].append(doc_id)
        for number in range(state.shards):
            before = state.entries[number] if state.entries else None
            if before is None or self._profile_changed or put[number] or remove[number]:
                wanted = {doc_id: self._put[doc_id] for doc_id in put[number]}
                named, documents = self._kept.plan(wanted)
                yield Plan(number, before, named, documents, tuple(sorted(remove[number])))

    def _tell(self, what: str, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(what, done, total)


def _check_gpus(wanted: float) -> None:
    """`ClusterFault` at once where no node has them: Ray would wait for one to come."""
    if wanted and not any(node["Resources"].get("GPU", 0) >= wanted for node in alive().values()):
        raise ClusterFault(
            f"no node of the cluster has {wanted:g} GPUs", hint="Leave --gpus-per-worker out, or add nodes with GPUs."
        )


def _cpus() -> int:
    return max(1, int(sum(node["Resources"].get("CPU", 0) for node in alive().values())))


def _clean(place: Place, *, keep: Collection[str]) -> None:
    """Remove the shards of before, and what a process that was killed left while it wrote."""
    doomed = []
    for name in place.names(""):
        ours = _OURS.match(name)
        if (ours and ours[1] not in keep) or _HALF_WRITTEN.fullmatch(name):
            doomed.append(name)
    place.remove(doomed)


def _info(before: Cluster | None, entry: ShardEntry) -> IndexInfo:
    """What a shard that stays says about itself."""
    if before is None:
        raise ClusterFault(f"the shard {entry.folder} was not written", hint=AGAIN)
    return replace(
        before.info,
        generation=entry.generation,
        digest=entry.digest,
        documents=entry.documents,
        sentences=entry.sentences,
    )


def _described(settings: Settings) -> dict[str, Any]:
    """What the documents were read and embedded with, for people."""
    embedding = asdict(settings.embedding)
    return {
        "embedding": {name: embedding[name] for name in ("provider", "model_name", "dimension")},
        "ingest": asdict(settings.ingest),
    }


def _name(doc_id: str) -> str:
    """An id that can be hashed: a name that is no Unicode will be refused, but by whoever reads it."""
    return doc_id.encode(errors="replace").decode()
