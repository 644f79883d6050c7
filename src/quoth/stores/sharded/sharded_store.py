"""Several embedded indexes at one location, read as one; each is on this machine, in place or as a verified copy."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import threading
import time
import weakref
from collections.abc import Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NoReturn

from quoth.errors import IndexDamaged, IndexMismatch, IndexUnwritable, NoIndex, SettingsError
from quoth.stores.disk_faults import reading, writing
from quoth.stores.embedded import EmbeddedStore
from quoth.stores.embedded.generations import Layout
from quoth.stores.locations import FileDigest, Location, digest_file, open_location
from quoth.stores.sharded import cluster_manifest as manifest
from quoth.stores.sharded.cluster_manifest import PUBLISH, ClusterManifest, ShardEntry
from quoth.stores.sharded.local_shard import LocalShard
from quoth.stores.sharded.shard_labels import relabel_shards
from quoth.stores.sharded.shard_protocol import AskShards, ask_in_turn
from quoth.stores.sharded.sharded_reader import ShardedReader
from quoth.stores.sharded.visible_reader import visible_shards
from quoth.types import EVERYTHING, Access, Refused, StoredDocument

_FRESH_SECONDS = 5.0
"""How long a manifest in object storage is taken for the newest."""
_ATTEMPTS = 100
_PAUSE = 0.1
"""Seconds between attempts to have a copy alone: who only looks holds it for less, who reads it perhaps for ever."""


class ShardedStore:
    """See `protocols.Store`. It is written by writing its shards and publishing them; see `build`.

    Shards in object storage are copied into `cache` when they are opened. `each` asks several shards. For
    `faiss_threshold` and `smallest_partition` see `Layout`.
    """

    kind = "embedded"  # the scores are the same
    _unwritable = (
        "is made of shards, and is not written as a whole",
        "Use quoth cluster ingest, or ingest into a folder that holds no shards.",
    )

    def __init__(
        self,
        location: Path | str,
        *,
        cache: Path | None = None,
        faiss_threshold: int = 200_000,
        smallest_partition: int = 4096,
        each: AskShards = ask_in_turn,
    ) -> None:
        self._location = open_location(location)
        self._cache = cache
        self._layout = Layout(faiss_threshold, smallest_partition)
        self._each = each
        self._lock = threading.Lock()
        self._stores: dict[str, _CachedShard] = {}
        self._tidied: int | None = None
        self._cached: _CachedManifest | None = None

    @property
    def location(self) -> str:
        return self._location.uri

    def size(self) -> int:
        """Return the bytes of the shards when they were published."""
        with suppress(NoIndex):
            return self._cluster().size
        return 0

    def published(self) -> float | None:
        """Return when the manifest was written; None for object storage."""
        with suppress(OSError):
            return (self._location.folder / manifest.NAME).stat().st_mtime if self._location.folder else None
        return None

    @contextmanager
    def read(self, access: Access = EVERYTHING) -> Iterator[ShardedReader]:
        with ExitStack() as stack:
            cluster, shards = self._opened(stack, access)
            if access.labels is not None:
                yield visible_shards(shards, cluster.info, layout=self._layout, each=self._each)
                return
            yield ShardedReader(
                shards,
                cluster.info,
                evidence=cluster.evidence,
                terms=cluster.terms,
                partitions=self._layout.partitions(cluster.evidence),
                each=self._each,
            )

    def stored_documents(self) -> Mapping[str, StoredDocument]:
        try:
            cluster = self._cluster()
        except NoIndex:
            return {}
        return manifest.read_listings(self._location, cluster.shards)

    def refused_files(self) -> tuple[tuple[str, Refused], ...]:
        return ()  # the ingest of a cluster reports them, and no shard holds what is about the whole

    def write(self, *_: object, **__: object) -> NoReturn:
        why, hint = self._unwritable
        raise IndexUnwritable(f"the index at {self._location.uri} {why}", hint=hint)

    def close(self) -> None:
        with self._lock:
            for opened in self._stores.values():
                opened.store.close()
            self._stores.clear()

    def relabel(self, labels: Mapping[str, Collection[str]]) -> None:
        if self._location.folder is None:
            raise IndexUnwritable(
                f"labels cannot be set in object storage: those of {self._location.uri} come from the files",
                hint="Change corpus.yaml and run quoth cluster ingest again: only what changed is written.",
            )
        relabel_shards(self._location, labels)

    def _opened(self, stack: ExitStack, access: Access) -> tuple[ClusterManifest, list[LocalShard]]:
        """Open all shards of the published manifest."""
        cluster = self._cluster()
        while True:
            with ExitStack() as attempt:
                try:
                    shards = [self._entered(entry, attempt, access) for entry in cluster.shards]
                    manifest.check(self._location.uri, cluster, [shard.reader.info for shard in shards])
                except (IndexMismatch, IndexDamaged):
                    newer = manifest.read(self._location)
                    if newer == cluster:
                        raise
                    cluster = newer  # it was published while we opened it
                    continue
                stack.push(attempt.pop_all())
                self._drop_others(cluster)
                return cluster, shards

    def _cluster(self) -> ClusterManifest:
        """Return the published manifest. In object storage it is not read for every question."""
        with self._lock:
            cached = self._cached
        if cached is not None and self._location.folder is None and time.monotonic() < cached.until:
            return cached.cluster
        found = self._location.get(manifest.NAME)
        if found is None:
            raise NoIndex(self._location.uri)
        content, version = found
        if cached is not None and cached.version == version:
            cluster = cached.cluster
        else:
            cluster = manifest.parsed(content, self._location.uri)
        with self._lock:
            self._cached = _CachedManifest(version, cluster, time.monotonic() + _FRESH_SECONDS)
        return cluster

    def _entered(self, entry: ShardEntry, stack: ExitStack, access: Access) -> LocalShard:
        """Open a shard; `stack` closes it."""
        with self._lock:
            if entry.folder not in self._stores:
                copy = self._local(entry)
                self._stores[entry.folder] = _CachedShard(copy, EmbeddedStore(copy.folder, **asdict(self._layout)))
            opened = self._stores[entry.folder]
            opened.readers += 1
        stack.callback(self._leave, opened)
        try:
            return LocalShard(stack.enter_context(opened.store.read_part(access, entry.labels)), entry.terms)
        except NoIndex as error:
            raise IndexDamaged(
                f"the shard {entry.folder} of the index at {self._location.uri} is missing", hint=PUBLISH
            ) from error

    def _leave(self, opened: _CachedShard) -> None:
        with self._lock:
            opened.readers -= 1

    def _drop_others(self, cluster: ClusterManifest) -> None:
        """Close the shards of before that nobody reads any more, and remove their copies."""
        keep = {entry.folder for entry in cluster.shards}
        with self._lock:
            others = [name for name, opened in self._stores.items() if name not in keep and not opened.readers]
            for name in others:
                self._stores.pop(name).store.close()
            if not others and self._tidied == cluster.info.generation:
                return
            self._tidied = cluster.info.generation
        if self._cache is not None:
            remove_unused(self._location, cache=self._cache, keep=keep)

    def _local(self, entry: ShardEntry) -> ShardCopy:
        """Return the shard on this machine. In a folder it is opened as any index is, which looks for damage itself."""
        if self._location.folder is not None:
            return ShardCopy(self._location.folder / entry.folder, None)
        if self._cache is None:
            raise SettingsError("shards in object storage need a folder to be copied to", hint="Please report this.")
        return fetch_shard(self._location, entry, cache=self._cache)


@dataclass(slots=True)
class _CachedShard:
    """An open shard, and how many readers use it now."""

    copy: ShardCopy
    store: EmbeddedStore
    readers: int = 0


@dataclass(frozen=True, slots=True)
class _CachedManifest:
    """A manifest, and until when it counts as the newest."""

    version: str
    cluster: ClusterManifest
    until: float


class ShardCopy:
    """A shard's folder. A copy is kept for as long as this value lives."""

    def __init__(self, folder: Path, hold: int | None) -> None:
        self.folder = folder
        if hold is not None:
            weakref.finalize(self, os.close, hold)


def fetch_shard(location: Location, entry: ShardEntry, *, cache: Path) -> ShardCopy:
    """Return the shard on this machine; `IndexDamaged` names a file that differs from the manifest.

    Every file of a folder is read and compared, and so is every file of a new copy. For an existing copy only the sizes
    are compared; an incomplete copy is made again, unless somebody reads it.
    """
    if location.folder is not None:
        for name, expected in entry.inside.items():
            with reading(location.folder):
                _check(location, name, location.folder / name, expected)
        return ShardCopy(location.folder / entry.folder, None)
    home = _home(location, cache)
    with writing(home):
        home.mkdir(parents=True, exist_ok=True)
        hold = os.open(home / f"{entry.folder}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    try:
        _held(location, entry, home, hold)
    except BaseException:
        os.close(hold)
        raise
    return ShardCopy(home / entry.folder, hold)


def _held(location: Location, entry: ShardEntry, home: Path, hold: int) -> None:
    """Take a shared lock on a complete copy. Making or removing a copy takes an exclusive lock."""
    for _ in range(_ATTEMPTS):
        fcntl.flock(hold, fcntl.LOCK_SH)  # waits for another process that fetches the same shard
        if _incomplete(home, entry) is None:
            return
        fcntl.flock(hold, fcntl.LOCK_UN)
        try:
            fcntl.flock(hold, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:  # another looks as we do, or was first
            time.sleep(_PAUSE)
            continue
        if _incomplete(home, entry) is not None:
            _fetch(location, entry, home)
        # The lock cannot be changed to a shared one at once: somebody may tidy up between, so we look again.
    raise IndexDamaged(
        f"the copy of {location.uri}/{entry.folder} in {home} is damaged, and another process reads it",
        hint=f"End that process, or remove {home / entry.folder}, and try again.",
    )


def _incomplete(folder: Path, entry: ShardEntry) -> str | None:
    """Return a file of a shard in `folder` that is missing or has another size; None if the shard is complete."""
    for name, file in entry.inside.items():
        with suppress(OSError):
            if (folder / name).stat().st_size == file.size:
                continue
        return name
    return None


def missing_file(location: Location, entry: ShardEntry) -> str | None:
    """Return a file of the shard that is missing, or in a folder has another size; None if all seem to be there."""
    if location.folder is not None:
        return _incomplete(location.folder, entry)
    names = set(location.names(entry.folder))
    return next((name for name in entry.inside if name not in names), None)


def check_present(location: Location, entry: ShardEntry) -> None:
    """Raise `IndexDamaged` if a file is missing. Nothing is read."""
    if (name := missing_file(location, entry)) is not None:
        raise IndexDamaged(f"{location.uri}/{name} is missing or is not what was written", hint=PUBLISH)


def remove_unused(location: Location, *, cache: Path, keep: Collection[str]) -> None:
    """Remove the copies of other shards of this location that nobody holds."""
    home = _home(location, cache)
    if location.folder is not None or not home.is_dir():
        return
    for lock in home.glob("*.lock"):
        folder = home / lock.stem
        if lock.stem in keep:
            continue
        with suppress(OSError):
            descriptor = os.open(lock, os.O_RDWR | os.O_CLOEXEC)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)  # the lock's file stays: another may be waiting for it
            finally:
                os.close(descriptor)


def _fetch(location: Location, entry: ShardEntry, home: Path) -> None:
    aside = home / f".{entry.folder}"
    shutil.rmtree(aside, ignore_errors=True)
    try:
        for name, expected in entry.inside.items():
            with writing(home):
                _check(location, name, aside / name, expected, download=True)
        with writing(home):
            shutil.rmtree(home / entry.folder, ignore_errors=True)  # an incomplete copy
            (aside / entry.folder).rename(home / entry.folder)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _home(location: Location, cache: Path) -> Path:
    return cache / "shards" / hashlib.sha256(location.uri.encode()).hexdigest()[:16]


def _check(location: Location, name: str, path: Path, expected: FileDigest, *, download: bool = False) -> None:
    """Raise `IndexDamaged` unless the file at `path`, perhaps downloaded first, is what the manifest says of `name`."""
    try:
        if download:
            location.download(name, path)
        found = digest_file(path)
    except (FileNotFoundError, NotADirectoryError):
        problem = f"the index at {location.uri} lacks {name}, which its manifest names"
        raise IndexDamaged(problem, hint=PUBLISH) from None
    if found != expected:
        raise IndexDamaged(f"{location.uri}/{name} is not what was written", hint=PUBLISH)
