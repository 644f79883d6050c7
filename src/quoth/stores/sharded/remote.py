"""A sharded index whose shards are elsewhere: all are asked at once, and what does not answer is named.

Threads look for new generations and for shards that are back, so that no question waits for either.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from quoth.errors import IndexFault, IndexUnwritable, NoIndex, PartLost, PartMissing, QuothError
from quoth.protocols import Embedder, Progress
from quoth.stores.embedded.shards import Layout
from quoth.stores.places import open_place
from quoth.stores.sharded import listing, manifest
from quoth.stores.sharded.kept import Kept
from quoth.stores.sharded.manifest import Cluster
from quoth.stores.sharded.presence import Presence
from quoth.stores.sharded.reader import ShardedReader
from quoth.stores.sharded.remote_shard import RemoteShard, Transport
from quoth.stores.sharded.shard import shard_name
from quoth.types import IndexInfo, Known, ShardState, SplitDocument

_Given = TypeVar("_Given")
_AGAIN_SECONDS = 5.0
"""After which a generation that could not be opened is tried again."""
_KEPT_BYTES = 256 * 2**20
_MOST_THREADS = 256
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Serving:
    """One generation, and who answers for it."""

    cluster: Cluster
    version: str
    shards: tuple[RemoteShard, ...]
    presence: Presence
    checked: set[int]
    """The places whose shard was compared with the manifest. What has not been is never put into service."""


class RemoteStore:
    """See `protocols.RemoteShards`. It is written by `quoth cluster ingest`.

    Where a shard does not answer, a question goes on without it, and its reader says so. `strict` has it fail instead,
    and stays with the generation that it began with. The first question waits `first_seconds` for shards to be opened;
    where it is strict, for as long as it takes.
    """

    kind = "embedded"  # the scores are the same

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
        self._place = open_place(place)
        self._transport = transport
        self._layout = layout
        self._strict = strict
        self._first_seconds = first_seconds
        self._poll_seconds = poll_seconds
        self._lock = threading.Lock()
        self._loading = threading.Lock()
        self._serving: _Serving | None = None
        self._pool: ThreadPoolExecutor | None = None
        self._stop = threading.Event()
        self._refused: tuple[str, float] | None = None
        self._trouble = ""

    @property
    def place(self) -> str:
        return self._place.uri

    def size(self) -> int:
        """Bytes of the shards, as they were published."""
        with suppress(NoIndex):
            return sum(file.size for entry in self._current().cluster.shards for file in entry.files.values())
        return 0

    def published(self) -> float | None:
        """When the manifest was written; object storage is not asked."""
        with suppress(OSError):
            return (self._place.folder / manifest.NAME).stat().st_mtime if self._place.folder else None
        return None

    @contextmanager
    def read(self) -> Iterator[ShardedReader]:
        serving = self._current()
        missing = {} if self._strict else serving.presence.missing()
        there = [None if place in missing else shard for place, shard in enumerate(serving.shards)]
        entries = [shard.entry for shard in there if shard is not None]
        if not entries:
            raise PartMissing("every shard", next(iter(missing.values()), "there is none"))
        evidence = sum(entry.evidence for entry in entries)
        held = replace(  # what is counted is counted of the same parts; the digest names what was published
            serving.cluster.info,
            documents=sum(entry.documents for entry in entries),
            sentences=sum(entry.sentences for entry in entries),
        )
        yield ShardedReader(
            there,
            held,
            evidence=evidence,
            terms=sum(entry.terms for entry in entries),
            lots=self._layout.shards(evidence),
            each=self._at_once,
        )

    def known(self) -> Mapping[str, Known]:
        try:
            cluster = self._current().cluster
        except NoIndex:
            return {}
        return listing.read_all(self._place, cluster.shards)

    def write(
        self,
        put: Iterable[SplitDocument],
        *,
        remove: Collection[str],
        embedder: Embedder,
        profile: tuple[str, str],
        progress: Progress | None,
    ) -> IndexInfo:
        raise IndexUnwritable(
            f"the index at {self._place.uri} is served by a cluster, and is not written through it",
            hint="Use quoth cluster ingest.",
        )

    def close(self) -> None:
        with self._lock:
            self._stop.set()
            self._stop = threading.Event()
            pool, self._pool, self._serving = self._pool, None, None
        if pool is not None:
            pool.shutdown(wait=False, cancel_futures=True)

    @property
    def trouble(self) -> str:
        """Why what is published may not be what is in service, for operators; empty where it is."""
        return self._trouble

    def states(self) -> tuple[ShardState, ...]:
        """How each shard does; nothing before the first question."""
        with self._lock:
            serving = self._serving
        return () if serving is None else serving.presence.states()

    # Asking

    def _at_once(self, ask: Callable[[int], _Given], shards: Sequence[int]) -> list[_Given]:
        """Ask several, the last one by the thread that calls. All are waited for: each has its own time limit.

        So whoever begins anew knows every shard that did not answer, and not only the first.
        """
        pool = self._workers()
        asked: list[Future[_Given]] = [pool.submit(ask, shard) for shard in shards[:-1]]
        last: list[_Given] = []
        lost: PartLost | None = None
        try:
            last += [ask(shard) for shard in shards[-1:]]
        except PartLost as error:
            lost = error
        given = []
        for one in asked:
            try:
                given.append(one.result())
            except PartLost as error:
                lost = lost or error
        if lost is not None:
            raise lost
        return [*given, *last]

    def _workers(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(_MOST_THREADS, thread_name_prefix="asking")
            return self._pool

    # Generations

    def _current(self) -> _Serving:
        with self._lock:
            if self._serving is not None:
                return self._serving
        with self._loading:  # one thread asks the shards, and the others wait for what it finds
            with self._lock:
                if self._serving is not None:
                    return self._serving
                stop = self._stop
            serving = self._begun()
            with self._lock:
                self._serving = serving
            if not self._strict:
                for watch in (self._watch_shards, self._watch_generations):
                    threading.Thread(target=watch, args=(stop,), name=watch.__name__, daemon=True).start()
            return serving

    def _begun(self) -> _Serving:
        """The first generation. Where it must be whole, all shards are waited for.

        Otherwise no longer than a question can wait: the others are missing until they are open.
        """
        cluster, version = manifest.versioned(self._place)
        serving = self._made(cluster, version)
        opening = self._opening(serving)
        _, late = wait(opening, None if self._strict else self._first_seconds)
        for place, one in enumerate(opening):
            if one in late:
                serving.presence.lost(place, f"it has not been opened within {self._first_seconds:g} s")
            elif not self._strict and (error := one.exception()) is not None:
                serving.presence.lost(place, f"{type(error).__name__}: {error}")
        if self._strict:
            _raise_first(opening)
        return serving

    def _made(self, cluster: Cluster, version: str) -> _Serving:
        presence = Presence(len(cluster.shards))
        kept = Kept(_KEPT_BYTES)
        shards = tuple(
            RemoteShard(place, entry, cluster.info, transport=self._transport, presence=presence, kept=kept)
            for place, entry in enumerate(cluster.shards)
        )
        return _Serving(cluster, version, shards, presence, set())

    def _opening(self, serving: _Serving) -> list[Future[PartLost | None]]:
        """Have every shard opened where it is hosted. It may take minutes, in threads that no question needs."""
        return [
            _in_thread(partial(self._opened, serving, place), name=f"opening {shard_name(place, len(serving.shards))}")
            for place in range(len(serving.shards))
        ]

    def _opened(self, serving: _Serving, place: int) -> PartLost | None:
        """Have one opened and compare it with the manifest: nothing of it is in an answer before. Gives its fault."""
        try:
            info = serving.shards[place].ask("info")
            alone = replace(serving.cluster, shards=(serving.cluster.shards[place],))
            manifest.check(self._place.uri, alone, [info])
        except PartLost as lost:
            return lost
        except IndexFault as fault:
            serving.presence.lost(place, str(fault))
            return PartLost(shard_name(place, len(serving.shards)), str(fault))
        serving.checked.add(place)
        serving.presence.back(place)
        return None

    # Watching

    def _watch_shards(self, stop: threading.Event) -> None:
        """Until `stop`. One that hangs does not hold up the others."""
        asking: set[tuple[str, int]] = set()
        while not stop.wait(self._poll_seconds):
            with self._lock:
                serving = self._serving
            if serving is None:
                return
            for place in serving.presence.due():
                if (serving.version, place) not in asking:
                    asking.add((serving.version, place))
                    _in_thread(partial(self._look_after, serving, place, asking), name="looking after a shard")

    def _look_after(self, serving: _Serving, place: int, asking: set[tuple[str, int]]) -> None:
        try:
            if place not in serving.checked:
                self._opened(serving, place)
                return
            serving.shards[place].ask("ping")
            serving.presence.back(place)
        except PartLost:
            pass  # it has been noted
        finally:
            asking.discard((serving.version, place))

    def _watch_generations(self, stop: threading.Event) -> None:
        """Until `stop`. To open one takes as long as it takes, and shards are looked after meanwhile."""
        while not stop.wait(self._poll_seconds):
            try:
                self._look_for_newer(stop)
            except Exception as error:  # whatever it is, the next look may find it gone
                if not stop.is_set():
                    self._complain(f"the manifest of the index at {self._place.uri} cannot be looked at: {error}")

    def _look_for_newer(self, stop: threading.Event) -> None:
        """Open a new generation, and only then put it into service; questions under way end in the one before."""
        with self._lock:
            serving = self._serving
        found = self._place.get(manifest.NAME)
        if serving is None:
            return
        if found is None:
            self._complain(f"there is no index at {self._place.uri} any more; the last generation stays in service")
            return
        content, version = found
        if version == serving.version:
            self._trouble = ""
            return
        if self._refused is not None and self._refused[0] == version and time.monotonic() < self._refused[1]:
            return
        try:
            newer = self._made(manifest.parsed(content, self._place.uri), version)
            opening = self._opening(newer)
            wait(opening)
            _raise_first(opening)
        except QuothError as fault:
            self._refused = version, time.monotonic() + _AGAIN_SECONDS
            self._complain(f"a new generation cannot be opened, and the one before stays in service: {fault}")
            return
        with self._lock:
            if stop.is_set():
                return
            self._serving = newer
        self._trouble = ""
        _log.warning("generation %d is in service", newer.cluster.info.generation)

    def _complain(self, trouble: str) -> None:
        if trouble != self._trouble:  # once, not with every look
            self._trouble = trouble
            _log.error("%s", trouble)


def _raise_first(opening: Sequence[Future[PartLost | None]]) -> None:
    for one in opening:
        if (lost := one.result()) is not None:
            raise lost


def _in_thread(work: Callable[[], _Given], *, name: str) -> Future[_Given]:
    """Work that may wait for long: in a thread that nobody else waits for, and that does not keep the program alive."""
    result: Future[_Given] = Future()

    def run() -> None:
        try:
            result.set_result(work())
        except BaseException as error:
            result.set_exception(error)

    threading.Thread(target=run, name=name, daemon=True).start()
    return result
