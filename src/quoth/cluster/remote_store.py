"""A sharded index whose shards are in other processes: all are called at once, and missing ones are named.

Threads look for new generations and for shards that answer again, so that no question waits for either.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from quoth.cluster.remote_shard import RemoteShard, ReplyCache, Transport
from quoth.errors import IndexFault, IndexUnwritable, QuothError, ShardLost, ShardMissing
from quoth.stores.embedded.generations import Layout
from quoth.stores.sharded import ShardedStore
from quoth.stores.sharded import cluster_manifest as manifest
from quoth.stores.sharded.cluster_manifest import ClusterManifest
from quoth.stores.sharded.sharded_reader import ShardedReader
from quoth.stores.sharded.visible_reader import VisibleWhole, visible_whole
from quoth.types import EVERYTHING, Access, ShardState

_T = TypeVar("_T")
_AGAIN_SECONDS = 5.0
"""A generation that could not be opened is tried again after this time."""
_CACHE_BYTES = 256 * 2**20
_WHOLE = 2_000
"""Bytes that the description of what is visible takes in the cache, roughly."""
_MOST_WORDS, _FEWEST_WORDS = 500_000, 2_000
"""Words whose counts are kept: so many of all shards together, some 150 bytes each, and at least so many of each."""
_MOST_THREADS = 256
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Generation:
    """A generation of the index, its shards, and the cache of what they reply."""

    cluster: ClusterManifest
    version: str
    shards: tuple[RemoteShard, ...]
    cache: ReplyCache


class RemoteStore(ShardedStore):
    """Implements `protocols.RemoteShards`.

    If a shard does not answer, a question goes on without it, and the reader names it. A `strict` store raises instead,
    and stays with its first generation. The first question waits `first_seconds` for the shards to be opened, or
    without limit if the store is strict.
    """

    _unwritable = ("is served by a cluster, and is not written through it", "Use quoth cluster ingest.")

    def __init__(
        self,
        place: Path | str,
        transport: Transport,
        *,
        layout: Layout,
        strict: bool = False,
        first_seconds: float = 3.0,
        poll_seconds: float = 1.0,
    ) -> None:
        super().__init__(place, **asdict(layout))
        self._transport = transport
        self._strict = strict
        self._first_seconds = first_seconds
        self._poll_seconds = poll_seconds
        self._loading = threading.Lock()
        self._serving: _Generation | None = None
        self._pool = _new_pool()
        self._stop = threading.Event()
        self._refused: tuple[str, float] | None = None
        self.trouble = ""
        """A message for operators when the published generation may not be in service; empty if it is."""

    @contextmanager
    def read(self, access: Access = EVERYTHING) -> Iterator[ShardedReader]:
        serving = self._current()
        if access.labels is not None:
            yield self._limited(serving, access)
            return
        shards = self._answering(serving)
        entries = [shard.entry for shard in shards if shard is not None]
        evidence = sum(entry.evidence for entry in entries)
        held = replace(  # the counts are of the shards that answer; the digest is of what was published
            serving.cluster.info,
            documents=sum(entry.documents for entry in entries),
            sentences=sum(entry.sentences for entry in entries),
        )
        yield ShardedReader(
            shards,
            held,
            evidence=evidence,
            terms=sum(entry.terms for entry in entries),
            partitions=self._layout.partitions(evidence),
            each=self._at_once,
        )

    def relabel(self, labels: Mapping[str, Collection[str]]) -> None:
        why, _ = self._unwritable
        hint = "Use quoth access set with the folder of the index: the cluster follows within seconds."
        raise IndexUnwritable(f"the index at {self._location.uri} {why}", hint=hint)

    def _answering(self, serving: _Generation, lost: Collection[str] = ()) -> list[RemoteShard | None]:
        """Return the shards, None for each that does not answer or is `lost`; `ShardMissing` if none is left."""
        shards = [
            shard if self._strict or (shard.health.lost_at is None and shard.health.name not in lost) else None
            for shard in serving.shards
        ]
        if not any(shards):
            raise ShardMissing("every shard", serving.shards[0].health.why)
        return shards

    def _limited(self, serving: _Generation, access: Access) -> ShardedReader:
        """Return what `access` sees of the shards that answer, described as an index of just that."""
        lost: set[str] = set()
        while True:
            shards = self._answering(serving, lost)
            try:
                return self._visible(serving, shards, access)
            except ShardLost as error:
                if self._strict:
                    raise
                lost.add(error.shard)

    def _visible(self, serving: _Generation, shards: Sequence[RemoteShard | None], access: Access) -> ShardedReader:
        # One call to each shard before any question: so a label that is taken back holds from this question on.
        seen = self._at_once_each(shards, lambda shard: shard.seen_by(access))
        key = "whole", tuple(shard and shard.limited for shard in seen)
        whole: VisibleWhole | None = serving.cache.get(key)
        if whole is None:
            views = self._at_once_each(seen, RemoteShard.view)
            whole = visible_whole([view for view in views if view is not None], serving.cluster.info)
            serving.cache.put(key, whole, size=_WHOLE)
        return ShardedReader(
            seen,
            whole.info,
            evidence=whole.evidence,
            terms=whole.terms,
            partitions=self._layout.partitions(whole.evidence),
            each=self._at_once,
        )

    def _at_once_each(self, shards: Sequence[RemoteShard | None], ask: Callable[[RemoteShard], _T]) -> list[_T | None]:
        """Call every shard that is there; the replies have the places of the shards."""
        present = {number: shard for number, shard in enumerate(shards) if shard is not None}
        replies = dict(zip(present, self._at_once(lambda number: ask(present[number]), list(present)), strict=True))
        return [replies.get(number) for number in range(len(shards))]

    def close(self) -> None:
        with self._lock:
            self._stop.set()
            self._stop = threading.Event()
            pool, self._pool, self._serving = self._pool, _new_pool(), None
        pool.shutdown(wait=False, cancel_futures=True)

    def states(self) -> tuple[ShardState, ...]:
        """Return the state of each shard; nothing before the first question."""
        with self._lock:
            serving = self._serving
        return () if serving is None else tuple(shard.health.state() for shard in serving.shards)

    # Calls

    def _at_once(self, ask: Callable[[int], _T], shards: Sequence[int]) -> list[_T]:
        """Call several shards, the last one in this thread. Wait for all: each call has its own time limit.

        So a caller that retries knows every shard that did not answer, and not only the first.
        """

        def attempt(shard: int) -> _T | ShardLost:
            try:
                return ask(shard)
            except ShardLost as lost:
                return lost

        others = self._pool.map(attempt, shards[:-1])
        last = [attempt(shard) for shard in shards[-1:]]
        replies = []
        for reply in (*others, *last):
            if isinstance(reply, ShardLost):
                raise reply
            replies.append(reply)
        return replies

    # Generations

    def _cluster(self) -> ClusterManifest:
        return self._current().cluster

    def _current(self) -> _Generation:
        with self._lock:
            if self._serving is not None:
                return self._serving
        with self._loading:  # one thread opens the shards, and the others wait for it
            with self._lock:
                if self._serving is not None:
                    return self._serving
                stop = self._stop
            serving = self._open_first()
            with self._lock:
                self._serving = serving
            if not self._strict:
                for watch in (self._watch_shards, self._watch_generations):
                    threading.Thread(target=watch, args=(stop,), name=watch.__name__, daemon=True).start()
            return serving

    def _open_first(self) -> _Generation:
        """Open the first generation. A strict store waits for all shards.

        Otherwise the wait is as long as a question can take, and late shards are missing until they are open.
        """
        serving = self._generation(*manifest.versioned(self._location))
        opening = self._open_shards(serving, seconds=None if self._strict else self._first_seconds)
        if self._strict:
            _raise_first(opening)
        for shard, future in zip(serving.shards, opening, strict=True):
            if not future.done():
                shard.health.lost(f"it has not been opened within {self._first_seconds:g} s")
            elif (error := future.exception()) is not None and not isinstance(error, ShardLost):
                shard.health.lost(f"{type(error).__name__}: {error}")
        return serving

    def _generation(self, cluster: ClusterManifest, version: str) -> _Generation:
        cache = ReplyCache(_CACHE_BYTES)
        shards = tuple(
            RemoteShard(number, cluster, transport=self._transport, cache=cache)
            for number in range(len(cluster.shards))
        )
        return _Generation(cluster, version, shards, cache)

    def _open_shards(self, serving: _Generation, *, seconds: float | None) -> list[Future[None]]:
        """Have every shard opened by its host, and wait at most so long. Threads that no question needs go on."""
        opening = [
            _in_thread(partial(self._open_shard, serving, shard), name=f"opening {shard.health.name}")
            for shard in serving.shards
        ]
        wait(opening, seconds)
        return opening

    def _open_shard(self, serving: _Generation, shard: RemoteShard) -> None:
        """Have a shard opened and compare it with the manifest before it takes part; raise `ShardLost` if it cannot."""
        try:
            info = shard.call("info")
            manifest.check(self._location.uri, replace(serving.cluster, shards=(shard.entry,)), [info])
            shard.words = shard.call("words", max(_FEWEST_WORDS, _MOST_WORDS // len(serving.shards)))
        except ShardLost:
            raise  # `call` has noted it
        except IndexFault as fault:
            raise shard.health.lost(str(fault)) from fault
        shard.checked = True
        shard.health.back()

    # Watching

    def _watch_shards(self, stop: threading.Event) -> None:
        """Check shards until `stop`. A shard that hangs does not hold up the others."""
        checking: dict[RemoteShard, Future[None]] = {}
        while not stop.wait(self._poll_seconds):
            with self._lock:
                serving = self._serving
            if serving is None:
                return
            checking = {shard: check for shard, check in checking.items() if not check.done()}
            for shard in serving.shards:
                if shard not in checking and shard.health.due():
                    checking[shard] = _in_thread(partial(self._check_shard, serving, shard), name="checking a shard")

    def _check_shard(self, serving: _Generation, shard: RemoteShard) -> None:
        with suppress(ShardLost):  # it is noted, and checked again later
            if shard.checked:
                shard.call("ping")
                shard.health.back()
            else:
                self._open_shard(serving, shard)

    def _watch_generations(self, stop: threading.Event) -> None:
        """Look for new generations until `stop`. Opening one may take long; shards are checked meanwhile."""
        while not stop.wait(self._poll_seconds):
            try:
                self._look_for_newer(stop)
            except Exception as error:  # whatever it is, it may be gone next time
                if not stop.is_set():
                    self._complain(f"the manifest of the index at {self._location.uri} cannot be looked at: {error}")

    def _look_for_newer(self, stop: threading.Event) -> None:
        """Open a new generation, and only then put it into service; running questions finish in the previous one."""
        with self._lock:
            serving = self._serving
        found = self._location.get(manifest.NAME)
        if serving is None:
            return
        if found is None:
            self._complain(f"there is no index at {self._location.uri} any more; the last generation stays in service")
            return
        content, version = found
        if version == serving.version:
            self.trouble = ""
            return
        if self._refused is not None and self._refused[0] == version and time.monotonic() < self._refused[1]:
            return
        try:
            newer = self._generation(manifest.parsed(content, self._location.uri), version)
            _raise_first(self._open_shards(newer, seconds=None))
        except QuothError as fault:
            self._refused = version, time.monotonic() + _AGAIN_SECONDS
            self._complain(f"a new generation cannot be opened, and the one before stays in service: {fault}")
            return
        with self._lock:
            if stop.is_set():
                return
            self._serving = newer
        self.trouble = ""
        _log.warning("generation %d is in service", newer.cluster.info.generation)

    def _complain(self, trouble: str) -> None:
        if trouble != self.trouble:  # once, not every time
            self.trouble = trouble
            _log.error("%s", trouble)


def _new_pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix="asking")


def _raise_first(opening: Sequence[Future[None]]) -> None:
    for future in opening:
        future.result()


def _in_thread(work: Callable[[], _T], *, name: str) -> Future[_T]:
    """Run `work`, which may take long, in a daemon thread of its own."""
    result: Future[_T] = Future()

    def run() -> None:
        try:
            result.set_result(work())
        except BaseException as error:
            result.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return result
