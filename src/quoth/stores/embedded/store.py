"""An index in one directory, for one machine: many readers, one writer."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from weakref import WeakValueDictionary

from quoth.errors import NoIndex
from quoth.protocols import Embedder, Progress
from quoth.stores.embedded import generations, schema
from quoth.stores.embedded.derived import Derived
from quoth.stores.embedded.faults import reading, writing
from quoth.stores.embedded.reader import EmbeddedReader
from quoth.stores.embedded.writer import Write
from quoth.types import IndexInfo, SplitDocument


class EmbeddedStore:
    """See `protocols.Store`. More than `faiss_threshold` vectors are searched through FAISS."""

    def __init__(self, place: Path | str, *, faiss_threshold: int = 200_000) -> None:
        self._place = Path(place)
        self._faiss_threshold = faiss_threshold
        self._lock = threading.Lock()
        self._database: tuple[int, ...] | None = None
        self._idle: list[sqlite3.Connection] = []
        self._latest: Derived | None = None
        self._loaded: WeakValueDictionary[int, Derived] = WeakValueDictionary()

    @contextmanager
    def read(self) -> Iterator[EmbeddedReader]:
        with self._snapshot() as (connection, info):
            if info is None:
                raise NoIndex(str(self._place))
            yield EmbeddedReader(
                connection,
                info,
                place=self._place,
                indexes=self._indexes(info.generation),
                faiss_threshold=self._faiss_threshold,
            )

    def fingerprints(self) -> Mapping[str, str]:
        try:
            with self._snapshot() as (connection, info), reading(self._place):
                return dict(connection.execute("SELECT id, fingerprint FROM documents")) if info else {}
        except NoIndex:
            return {}

    def write(
        self,
        put: Iterable[SplitDocument],
        *,
        remove: Collection[str],
        embedder: Embedder,
        profile: tuple[str, str],
        progress: Progress | None,
    ) -> IndexInfo:
        with ExitStack() as stack:
            with writing(self._place):
                generations.home(self._place).mkdir(parents=True, exist_ok=True)
                stack.enter_context(generations.writer_lock(self._place))
                connection = stack.enter_context(closing(schema.connect_writer(self._place)))
                published = schema.read_info(connection, self._place)
                current = published.generation if published else 0
                generations.clean(self._place, keep={current})  # the one before was kept for slow readers
            write = Write(
                connection,
                self._place,
                embedder=embedder,
                profile=profile,
                progress=progress,
                faiss_threshold=self._faiss_threshold,
            )
            try:
                info = write.run(put, remove)
            except BaseException:
                self._clean_after_failure(connection)
                raise
            schema.merge_log(connection)
            return info

    def _clean_after_failure(self, connection: sqlite3.Connection) -> None:
        # Ask the database: an interrupt can arrive just after the commit, and then the new generation is in service.
        with suppress(OSError, sqlite3.Error):
            published = schema.read_info(connection, self._place)
            current = published.generation if published else 0
            generations.clean(self._place, keep={current - 1, current})

    def close(self) -> None:
        """Let go of files and memory. The store can be used again."""
        with self._lock:
            self._forget()

    @contextmanager
    def _snapshot(self) -> Iterator[tuple[sqlite3.Connection, IndexInfo | None]]:
        """A connection inside a read transaction, with what it sees; None when nothing has been published."""
        with reading(self._place):
            connection, lasting = self._borrow()
        try:
            with reading(self._place):
                connection.execute("BEGIN")
                info = schema.read_info(connection, self._place)
            yield connection, info
        finally:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            self._give_back(connection, lasting=lasting)

    def _borrow(self) -> tuple[sqlite3.Connection, bool]:
        try:
            file = (self._place / schema.DATABASE).stat()
        except (FileNotFoundError, NotADirectoryError):
            raise NoIndex(str(self._place)) from None
        # A process may fork, and an index may be removed and made again: neither may go on with what was open before.
        database = (os.getpid(), file.st_dev, file.st_ino)
        with self._lock:
            if database != self._database:
                self._forget()
                self._database = database
            if self._idle:
                return self._idle.pop(), True
        return schema.connect_reader(self._place)

    def _give_back(self, connection: sqlite3.Connection, *, lasting: bool) -> None:
        with self._lock:
            if lasting and self._database is not None:
                self._idle.append(connection)
                return
        connection.close()

    def _indexes(self, generation: int) -> Derived:
        """The derived indexes of a generation, shared; the latest stay loaded between reads."""
        with self._lock:
            indexes = self._loaded.get(generation)
            if indexes is None:
                indexes = self._loaded[generation] = Derived(self._place, generation)
            if generation >= max(self._loaded):
                self._latest = indexes
            return indexes

    def _forget(self) -> None:
        for connection in self._idle:
            connection.close()
        self._idle.clear()
        self._loaded.clear()
        self._latest = None
        self._database = None
