"""What the routes of one process share, and how it begins and ends."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import sqlite3
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ParamSpec, TypeVar

from fastapi import Request

from quoth.errors import IndexFault, NoIndex, QuothError, SettingsError
from quoth.ingest import IngestReport
from quoth.interfaces.guard.access import keys_path, rates_path
from quoth.interfaces.guard.admission import Admission
from quoth.interfaces.guard.audit import AuditLog
from quoth.interfaces.guard.keys import KeyFile
from quoth.interfaces.guard.rates import Rates
from quoth.interfaces.http import logs, metrics
from quoth.interfaces.http.aside import Look, in_thread
from quoth.interfaces.http.desk import Desk
from quoth.interfaces.http.jobs import Job, Jobs
from quoth.interfaces.http.library import Library
from quoth.interfaces.http.marks import Marks
from quoth.interfaces.http.originals import Originals
from quoth.interfaces.http.runner import Runner
from quoth.interfaces.http.traces import Traces, open_traces
from quoth.interfaces.python import Quoth, ingest_named
from quoth.profile import Profile
from quoth.profiles import DEFAULT_PROFILE, load_profile, parse_profile
from quoth.protocols import Progress, Reader, RemoteShards
from quoth.settings import Overrides, ServiceSettings
from quoth.types import DocumentInfo
from quoth.wiring import open_cache, open_store

_Result = TypeVar("_Result")
_Given = ParamSpec("_Given")
_FILES, _AUDIT, _JOBS = "files", "audit.jsonl", "service.db"
_JOB_SECONDS = 5.0
"""How long a stop waits for a job; one that is cut off is taken up again."""
_LOOK_SECONDS = 3.0
"""How long operators' tools wait for the store; what takes longer could serve nobody either."""
_FRESH_SECONDS = 1.0
_LOAD_SECONDS = 1.0
"""How long a look waits for the first loading of the model, which takes much longer where it must be read anew."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """The documents of one generation, listed once."""

    digest: str
    documents: tuple[DocumentInfo, ...]
    by_id: Mapping[str, DocumentInfo]
    types: tuple[tuple[str, int], ...]
    missing: tuple[str, ...]
    """The parts of the index whose documents are not among these."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What `quoth serve` was told: the same for each of its processes."""

    index: str
    overrides: Overrides
    profile: str | None
    """For an index that is not there yet."""
    auth: bool

    @property
    def settings(self) -> ServiceSettings:
        """Of the service; no profile has a say in these."""
        return self.overrides.over({}, profile="none").service

    @property
    def state(self) -> Path:
        return Path(self.settings.state).expanduser()

    @property
    def keys(self) -> Path:
        return keys_path(self.settings)


class Service:
    """`cluster` is the index where its shards are elsewhere; it takes no uploads."""

    def __init__(self, plan: Plan, cluster: RemoteShards | None = None) -> None:
        self.plan = plan
        self.settings = plan.settings
        self.cluster = cluster
        store = cluster or open_store(plan.index, plan.overrides.over({}, profile="none").store)
        self.quoth = Quoth(store, plan.overrides)
        self.originals = Originals(store)
        self.keys = KeyFile(plan.keys) if plan.auth else None
        self.rates = Rates(rates_path(self.settings))
        self.admission = (
            None if self.keys is None else Admission(self.keys, self.rates, per_minute=self.settings.per_minute)
        )
        self.marks = Marks(plan.state / "labelled.jsonl")
        self.traces: Traces = open_traces(on=self.settings.traces)
        self.readiness = Look(
            self._readiness, name="readiness", fresh_seconds=_FRESH_SECONDS, patience_seconds=_LOOK_SECONDS
        )
        self.index_values = Look(self._index_values, name="values", fresh_seconds=0, patience_seconds=_LOOK_SECONDS)
        self._trouble = ""
        self._loaded = threading.Event()
        self._aside = ThreadPoolExecutor(4, thread_name_prefix="aside")
        self._store = store
        self._caches = metrics.CacheCounts()
        self._catalogue: Catalogue | None = None
        self.batches = 0
        self._desk: Desk | None = None
        self.writing = Writing(plan) if self.settings.uploads and cluster is None else None

    @property
    def desk(self) -> Desk:
        if self._desk is None:
            raise RuntimeError("the service has not begun")
        return self._desk

    async def begin(self) -> None:
        """Load the model behind the first requests: a process that is not ready says so."""
        self._desk = Desk(
            threads=self.settings.threads,
            queue=self.settings.queue,
            seconds=self.settings.seconds,
            changed=metrics.count_requests,
        )
        self._loading = in_thread(self._load_first, name="loading")
        if self.writing is not None:
            self.writing.runner.start()

    async def end(self) -> None:
        await asyncio.wait({self._loading}, timeout=self.settings.grace_seconds)
        await asyncio.gather(self.readiness.end(), self.index_values.end())
        if self.writing is not None:
            await self.run_aside(self.writing.runner.stop, min(_JOB_SECONDS, self.settings.grace_seconds))
        self.desk.close()
        self._aside.shutdown(wait=False, cancel_futures=True)
        if self.admission is not None:
            self.admission.close()
        self.rates.close()
        self.traces.close()
        self._store.close()

    async def run(self, request: Request, work: Callable[[], _Result]) -> _Result:
        """Do blocking work for a request whose body has been read, when its turn comes."""
        return await self.desk.run(work, is_gone=request.is_disconnected)

    async def run_aside(self, work: Callable[_Given, _Result], *args: _Given.args, **kwargs: _Given.kwargs) -> _Result:
        """Do what takes a moment and asks nothing of the index: notes of jobs, pieces of an upload."""
        bound = partial(copy_context().run, work, *args, **kwargs)
        return await asyncio.get_running_loop().run_in_executor(self._aside, bound)

    def catalogue(self) -> Catalogue:
        listed = self.quoth.read(self._listed)
        if not listed.missing:
            self._catalogue = listed
        return listed

    def _listed(self, reader: Reader) -> Catalogue:
        digest, kept = reader.info.digest, self._catalogue
        if kept is not None and kept.digest == digest:
            return kept
        documents = reader.documents()
        types = Counter(one.metadata.document_type for one in documents if one.metadata.document_type)
        by_id = {one.id: one for one in documents}
        return Catalogue(digest, documents, by_id, tuple(sorted(types.items())), reader.missing)

    def described(self, doc_id: str) -> DocumentInfo | None:
        """What is known of a document; `PartMissing` where it would be in a part that cannot be asked now."""
        listed = self.catalogue()
        found = listed.by_id.get(doc_id)
        if found is None and listed.missing:  # a part may be back by now: of one state of the index alone it is true
            return self.quoth.read(partial(_described, doc_id))
        return found

    def version(self) -> str:
        """Of what the index holds and where it came from; the digest alone does not tell of a folder that was moved."""
        info = self.quoth.info
        return f"{info.generation}/{info.digest}"

    def profile(self) -> Profile:
        """Of the index; of the index that the first upload would make where there is none."""
        try:
            return parse_profile(self.quoth.info.profile_source)
        except NoIndex:
            return load_profile(self.plan.profile or DEFAULT_PROFILE)

    def count_caches(self) -> None:
        engine = self.quoth.loaded
        cache = open_cache(engine.settings.cache) if engine else None
        if cache is not None:
            self._caches.update(cache.counts)

    def _index_values(self) -> Mapping[str, float]:
        """What there is to say about the index, for the metrics; nothing where there is none."""
        try:
            info, published = self.quoth.info, self.quoth.published()
            age = {} if published is None else {"age_seconds": max(0.0, time.time() - published)}
            return {"documents": info.documents, "sentences": info.sentences, "bytes": self.quoth.size(), **age}
        except QuothError:
            return {}

    def _readiness(self) -> dict[str, bool]:
        """What a question needs. `store` is whether it answers, even that it holds nothing yet."""
        checks = {"store": False, "index": False, "model": False}
        try:
            self.quoth.read(partial(_search_is_open, checks))
            checks["index"] = True
            # Each time: the index may have been replaced by one that was made with another model.
            checks["model"] = self._loaded.wait(_LOAD_SECONDS) and self._load()
        except NoIndex:
            checks["store"] = True
        except IndexFault as error:
            self._complain(error)
        return checks

    def degraded(self) -> list[str]:
        """The shards that do not answer now."""
        return [] if self.cluster is None else [one.name for one in self.cluster.states() if not one.up]

    def notes(self) -> list[str]:
        """What operators should know, and answers do not say; why it is so is in the log."""
        if self.cluster is None or not self.cluster.trouble:
            return []
        return ["what is published could not be taken into service at the last look: the generation before answers"]

    def _load_first(self) -> None:
        try:
            self._load()
        finally:
            self._loaded.set()

    def _load(self) -> bool:
        """Whether the model that the index needs is there now."""
        try:
            self.quoth.prepare()
        except QuothError as error:
            self._complain(error)
            return False
        self._trouble = ""
        return True

    def _complain(self, error: QuothError) -> None:
        if str(error) != self._trouble:  # once, not for every look
            self._trouble = str(error)
            logs.log("not ready", level=logging.WARNING, code=error.code, message=str(error), hint=error.hint)


def _described(doc_id: str, reader: Reader) -> DocumentInfo | None:
    found = reader.documents([doc_id])
    if not found:
        reader.document(doc_id)  # which says so where it would be in a part that is missing
    return found[0] if found else None


def _search_is_open(checks: dict[str, bool], reader: Reader) -> None:
    checks["store"] = True
    reader.frequencies(["a"])  # opens what a search needs, which may be damaged


def check_state(plan: Plan) -> None:
    """`SettingsError` where uploads could not be kept: said when the service starts, and not by every job."""
    if not plan.settings.uploads:
        return
    try:
        plan.state.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=plan.state):
            pass
        for name in (_JOBS, _AUDIT, _FILES):
            if (plan.state / name).exists() and not os.access(plan.state / name, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(plan.state / name))
        Writing(plan)
    except (OSError, sqlite3.Error) as error:
        why = ((isinstance(error, OSError) and error.strerror) or str(error)).lower()
        raise SettingsError(
            f"the folder of the service's state {plan.state} cannot be written: {why}",
            hint="Set service.state to a folder that can, or service.uploads=false.",
        ) from error


class Writing:
    """What uploads need."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        plan.state.mkdir(mode=0o700, parents=True, exist_ok=True)  # documents, and who changed them
        self.library = Library(plan.state / _FILES)
        self.audit = AuditLog(plan.state / _AUDIT)
        self.jobs = Jobs(plan.state / _JOBS)
        self.runner = Runner(self.jobs, self.library, ingest=self._ingest, remove=self._remove, ended=self._ended)

    def _ended(self, job: Job, error: Mapping[str, str] | None) -> None:
        outcome = "failed" if error else "done"
        self.audit.record(action=job.kind.value, doc_id=job.doc_id, job=job.id, outcome=outcome, error=error)

    def _ingest(self, doc_ids: Sequence[str], progress: Progress) -> IngestReport:
        plan = self._plan
        return ingest_named(
            self.library.folder,
            doc_ids,
            plan.index,
            profile=plan.profile,
            overrides=plan.overrides,
            progress=progress,
        )

    def _remove(self, doc_ids: Sequence[str]) -> Collection[str]:
        store = open_store(self._plan.index, self._plan.overrides.over({}, profile="none").store)
        try:
            quoth = Quoth(store, self._plan.overrides)
            held = {info.id for info in quoth.documents()}
            if there := [doc_id for doc_id in doc_ids if doc_id in held]:
                quoth.remove(*there)
            return [doc_id for doc_id in doc_ids if doc_id not in held]
        finally:
            store.close()
