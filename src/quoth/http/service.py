"""What the routes of one process share, and how it starts and stops."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import sqlite3
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from fastapi import Request

from quoth.documents.ingest_report import IngestReport
from quoth.domain.profile import DEFAULT_PROFILE, Profile, load_profile, parse_profile
from quoth.errors import IndexFault, NoIndex, QuothError, SettingsError
from quoth.http import logs, telemetry
from quoth.http.blocking_work import BoundedPool, CachedProbe, in_thread
from quoth.http.document_catalog import DocumentCatalog, DocumentListing
from quoth.http.grid_jobs import GridJobs
from quoth.http.guard.access import AccessControl
from quoth.http.guard.askers import ANYBODY, NOBODY, Asker, asker_in
from quoth.http.guard.index_access import IndexAccess
from quoth.http.http_faults import no_document
from quoth.http.job_runner import AUDIT, FILES, JOBS, JobRunner
from quoth.http.originals import Originals
from quoth.http.read_log import ReadLog
from quoth.http.shared_uploads import SharedContent
from quoth.library import Quoth, ingest_named
from quoth.overrides import Overrides
from quoth.protocols import Progress, Reader, RemoteShards, Store
from quoth.settings import ServiceSettings
from quoth.types import DocumentInfo
from quoth.wiring import job_database, open_cache, open_store

_Result = TypeVar("_Result")
_JOB_SECONDS = 5.0
"""How long a stop waits for a job; a job that is cut off is done again after the next start."""
_PROBE_SECONDS = 3.0
"""How long `/readyz` and `/metrics` wait for the store."""
_MOST_PROBES = 16
_FRESH_SECONDS = 1.0
_LOAD_SECONDS = 1.0
"""How long a readiness probe waits for the first loading of the model, which may take much longer."""


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """The options of `quoth serve`, the same for each of its processes."""

    index: str
    overrides: Overrides
    profile: str | None
    """For an index that does not exist yet."""
    auth: bool

    @property
    def settings(self) -> ServiceSettings:
        return self.overrides.without_profile().service

    @property
    def state(self) -> Path:
        return Path(self.settings.state).expanduser()


@dataclass(frozen=True, slots=True)
class SharedWork:
    """What the services of several corpora share in one process: its threads, and what counts or traces their work."""

    pool: BoundedPool
    cache_counts: telemetry.CacheCounts
    traces: telemetry.Traces

    def close(self) -> None:
        self.pool.close()
        self.traces.close()


def shared_work(settings: ServiceSettings) -> SharedWork:
    pool = BoundedPool(
        threads=settings.threads,
        queue=settings.queue,
        seconds=settings.seconds,
        changed=telemetry.count_requests,
    )
    return SharedWork(pool, telemetry.CacheCounts(), telemetry.open_traces(on=settings.traces))


class Service:
    """The index, keys, queues and jobs of one process. An index on a `cluster` takes no uploads.

    With `shared` it is one corpus of several: it uses those threads, leaves them open at its end, and refuses everybody
    in the same words.
    """

    def __init__(
        self, options: ServeOptions, cluster: RemoteShards | None = None, *, shared: SharedWork | None = None
    ) -> None:
        self.options = options
        self.settings = options.settings
        self.cluster = cluster
        self._store = cluster or open_store(options.index, options.overrides.without_profile().store)
        self.quoth = Quoth(self._store, options.overrides)
        self.accesses = IndexAccess(self.quoth)
        database = job_database(self._store)
        self.originals = Originals(self._store, None if database is None else SharedContent(database))
        settings = options.overrides.without_profile()
        self.access = AccessControl(settings, discreet=shared is not None) if options.auth else None
        self.question_paths = frozenset({"/answer", "/find", "/retrieve", self.settings.webhook or "/retrieve"})
        self.reads = ReadLog(options.state, settings.audit) if settings.audit.reads else None
        self.readiness = CachedProbe(
            self._readiness, name="readiness", fresh_seconds=_FRESH_SECONDS, timeout_seconds=_PROBE_SECONDS
        )
        self._value_probes: dict[frozenset[str] | None, CachedProbe[Mapping[str, float]]] = {}
        self._last_warning = ""
        self._corpus = logs.CORPUS.get()
        self._loaded = threading.Event()
        self.catalog = DocumentCatalog(self.quoth)
        self.batches = 0
        work = shared or shared_work(self.settings)
        self._shares = shared is not None
        self.pool, self.traces, self._cache_counts = work.pool, work.traces, work.cache_counts
        self.grids = GridJobs(options.state / "grids", self.quoth, self.accesses)
        self.uploads = open_uploads(options, self._store) if self.settings.uploads and cluster is None else None

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve until the block ends. The model is loaded in the background; until it is, `/readyz` says so."""
        loading = in_thread(self._load, name="loading")
        if self.uploads is not None:
            self.uploads.start()
        self.grids.start()
        if self.reads is not None:
            self.reads.start()
        try:
            yield
        finally:
            await asyncio.wait({loading}, timeout=self.settings.grace_seconds)
            await self._end()

    async def _end(self) -> None:
        await asyncio.gather(self.readiness.end(), *(probe.end() for probe in self._value_probes.values()))
        patience = min(_JOB_SECONDS, self.settings.grace_seconds)
        if self.uploads is not None:
            await asyncio.to_thread(self.uploads.stop, patience)
        await asyncio.to_thread(self.grids.stop, patience)
        if not self._shares:
            self.pool.close()
        self.originals.close()
        if self.reads is not None:
            await asyncio.to_thread(self.reads.close)
        if self.access is not None:
            self.access.close()
        if not self._shares:
            self.traces.close()
        self._store.close()

    def seen(self, request: Request) -> Quoth:
        """Return the index as the asker of a request may see it. It may read the store: call it in a thread."""
        return self.quoth.seen_by(self.accesses.of(asker_of(request)))

    def listing(self, request: Request) -> DocumentListing:
        """Return the documents that the asker of a request may see."""
        return self.catalog.seen_by(self.accesses.of(asker_of(request))).listing()

    async def run(self, request: Request, work: Callable[[], _Result]) -> _Result:
        """Run blocking work in the pool, for a request whose body has been read."""
        return await self.pool.run(work, is_gone=request.is_disconnected)

    def described(self, request: Request, doc_id: str) -> DocumentInfo:
        """Return a document's description; raise `HttpFault` or `ShardMissing` if there is none, or none now.

        A document that the asker may not see counts as absent.
        """

        def describe(reader: Reader) -> DocumentInfo:
            for info in reader.documents([doc_id]):
                if info.id == doc_id:
                    return info
            reader.document(doc_id)  # raises if a missing shard would hold it
            raise no_document(doc_id)

        return self.seen(request).read(describe)

    def profile(self) -> Profile:
        """Return the profile of the index; without an index, the profile that the first upload would use."""
        try:
            return parse_profile(self.quoth.info.profile_source)
        except NoIndex:
            return load_profile(self.options.profile or DEFAULT_PROFILE)

    def count_caches(self) -> None:
        engine = self.quoth.loaded
        cache = open_cache(engine.settings.cache) if engine else None
        if cache is not None:
            self._cache_counts.update(cache.counts)

    async def index_values(self, asker: Asker) -> Mapping[str, float]:
        """Return the metrics of the index for an asker; empty if there is none, or if it takes too long.

        Metrics that are open to all are those of the whole index.
        """
        who = ANYBODY if asker == NOBODY else asker
        probe = self._value_probes.get(who.labels)
        if probe is None:
            if len(self._value_probes) >= _MOST_PROBES:
                await asyncio.gather(*(old.end() for old in self._value_probes.values()))
                self._value_probes.clear()
            probe = self._value_probes[who.labels] = CachedProbe(
                lambda: self._index_values(who), name="values", fresh_seconds=0, timeout_seconds=_PROBE_SECONDS
            )
        return await probe() or {}

    def _index_values(self, asker: Asker) -> Mapping[str, float]:
        """Return the metrics of the index for an asker; size and age only if they see all of it."""
        try:
            info, published = self.quoth.info, self.quoth.published()
            if asker.labels is not None:
                seen = self.quoth.seen_by(self.accesses.of(asker)).info
                if seen.documents < info.documents:
                    return {"documents": seen.documents, "sentences": seen.sentences}
            age = {} if published is None else {"age_seconds": max(0.0, time.time() - published)}
            return {"documents": info.documents, "sentences": info.sentences, "bytes": self.quoth.size(), **age}
        except QuothError:
            return {}

    def _readiness(self) -> dict[str, bool]:
        """Check what a question needs. `store` is true if the store responds, even if it holds no index."""
        checks = {"store": False, "index": False, "model": False}

        def search(reader: Reader) -> None:
            checks["store"] = True
            reader.frequencies(["a"])  # opens the files that a search needs, which may be damaged

        try:
            self.quoth.read(search)
            checks["index"] = True
            # Check the model each time: the index may have been replaced by one made with another model.
            checks["model"] = self._loaded.wait(_LOAD_SECONDS) and self._load()
        except NoIndex:
            checks["store"] = True
        except IndexFault as error:
            self._warn(error)
        return checks

    def _load(self) -> bool:
        """Load the model that the index needs; return whether that worked."""
        try:
            self.quoth.prepare()
        except QuothError as error:
            self._warn(error)
            return False
        finally:
            self._loaded.set()
        self._last_warning = ""
        return True

    def _warn(self, error: QuothError) -> None:
        if str(error) != self._last_warning:  # log it once, not for every probe
            self._last_warning = str(error)
            logs.CORPUS.set(self._corpus)  # the thread of a probe knows of no request
            logs.log("not ready", level=logging.WARNING, code=error.code, message=str(error), hint=error.hint)


def asker_of(request: Request) -> Asker:
    return asker_in(request.scope)


def check_state(options: ServeOptions) -> None:
    """Raise `SettingsError` if uploads could not be kept, so that the start fails rather than every job."""
    if not options.settings.uploads:
        return
    state = options.state
    try:
        state.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=state):
            pass
        for name in (JOBS, AUDIT, FILES):
            if (state / name).exists() and not os.access(state / name, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(state / name))
        with closing(open_store(options.index, options.overrides.without_profile().store)) as store:
            open_uploads(options, store)
    except (OSError, sqlite3.Error) as error:
        why = ((isinstance(error, OSError) and error.strerror) or str(error)).lower()
        raise SettingsError(
            f"the folder of the service's state {state} cannot be written: {why}",
            hint="Set service.state to a folder that can, or service.uploads=false.",
        ) from error


def open_uploads(options: ServeOptions, store: Store) -> JobRunner:
    """Return the jobs and files behind uploads, to be done and written to the index of the options in `store`."""
    given = options.overrides

    def ingest(doc_ids: Sequence[str], progress: Progress) -> IngestReport:
        files = uploads.files
        report = ingest_named(
            files.path,
            doc_ids,
            options.index,
            profile=options.profile,
            overrides=given,
            progress=progress,
            root=files.root,
        )
        # A remark on another document would tell an uploader whether there is one that they may not see.
        all_seen = Quoth(store, given).holder_of(()).unlabelled and not any(
            stored.access for stored in store.stored_documents().values()
        )
        return report if all_seen else replace(report, notes=report.file_notes)

    def remove(doc_ids: Sequence[str]) -> Collection[str]:
        quoth = Quoth(store, given)
        held = {info.id for info in quoth.read(lambda reader: reader.documents(doc_ids))}
        if held:
            quoth.remove(*sorted(held))
        return set(doc_ids) - held

    uploads = JobRunner(
        options.state, ingest=ingest, remove=remove, shared=job_database(store), stored=store.stored_documents
    )
    return uploads
