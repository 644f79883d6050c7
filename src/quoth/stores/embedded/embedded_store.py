"""An index in one directory, for one machine: many readers, one writer."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from weakref import WeakValueDictionary

from quoth.errors import NoIndex
from quoth.protocols import Embedder, Progress
from quoth.stores.embedded import generations, schema
from quoth.stores.embedded.derived import Derived
from quoth.stores.embedded.faults import reading, writing
from quoth.stores.embedded.reader import EmbeddedReader
from quoth.stores.embedded.shards import Layout
from quoth.stores.embedded.writer import Write
from quoth.types import IndexInfo, Known, SplitDocument


@dataclass(frozen=True, slots=True)
class _Loan:
    """A connection with the file it is open on. One that is not `lasting` would not see later generations."""

    connection: sqlite3.Connection
    database: schema.FileIdentity
    lasting: bool


class EmbeddedStore:
    """See `protocols.Store`. What `faiss_threshold` and `smallest_shard` mean is said at `Layout`."""

    kind = "embedded"

    def __init__(self, place: Path | str, *, faiss_threshold: int = 200_000, smallest_shard: int = 4096) -> None:
        self._place = Path(place)
        self._layout = Layout(faiss_threshold, smallest_shard)
        self._lock = threading.Lock()
        self._database: schema.FileIdentity | None = None
        self._idle: list[_Loan] = []
        self._latest: Derived | None = None
        self._loaded: WeakValueDictionary[tuple[schema.FileIdentity, int, str], Derived] = WeakValueDictionary()

    @property
    def place(self) -> str:
        return str(self._place)

    def size(self) -> int:
        """Bytes of the files below the folder; a file that a writer removes meanwhile counts for nothing."""
        total = 0
        for inside, _, names in os.walk(self._place):
            for name in names:
                with suppress(FileNotFoundError):
                    total += Path(inside, name).stat().st_size
        return total

    def published(self) -> float | None:
        """When the directory of the generation was made; a part that was rebuilt since makes it younger."""
        with self._snapshot() as (_, info):
            if info is None:
                return None
            with suppress(OSError):
                return generations.directory(self._place, info.generation).stat().st_mtime
        return None

    @contextmanager
    def read(self) -> Iterator[EmbeddedReader]:
        with self._snapshot() as (loan, info):
            if info is None:
                raise NoIndex(str(self._place))
            yield EmbeddedReader(
                loan.connection,
                info,
                place=self._place,
                indexes=self._indexes(loan.database, info),
                layout=self._layout,
            )

    def known(self) -> Mapping[str, Known]:
        try:
            with self._snapshot() as (loan, info), reading(self._place):
                return schema.read_known(loan.connection) if info else {}
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
                layout=self._layout,
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
    def _snapshot(self) -> Iterator[tuple[_Loan, IndexInfo | None]]:
        """A connection inside a read transaction, with what it sees; None when nothing has been published."""
        with reading(self._place):
            loan = self._borrow()
        try:
            with reading(self._place):
                loan.connection.execute("BEGIN")
                info = schema.read_info(loan.connection, self._place)
            yield loan, info
        finally:
            with suppress(sqlite3.Error):
                loan.connection.execute("ROLLBACK")
            self._give_back(loan)

    def _borrow(self) -> _Loan:
        while True:
            with self._lock:
                database = self._current_database()
                if self._idle:
                    return self._idle.pop()
            connection, lasting = schema.connect_reader(self._place)
            with ExitStack() as stack:
                stack.callback(connection.close)
                if schema.identify(self._place) == database:  # or the index was made anew before we opened it
                    stack.pop_all()
                    return _Loan(connection, database, lasting)

    def _give_back(self, loan: _Loan) -> None:
        with self._lock:
            if loan.lasting and loan.database == self._database:
                self._idle.append(loan)
                return
        loan.connection.close()

    def _current_database(self) -> schema.FileIdentity:
        """The database at our place; nothing is kept of one that was there before."""
        database = schema.identify(self._place)
        if database is None:
            raise NoIndex(str(self._place))
        if database != self._database:
            self._forget()
            self._database = database
        return database

    def _indexes(self, database: schema.FileIdentity, info: IndexInfo) -> Derived:
        """The derived indexes of a generation, shared; the latest stay loaded between reads."""
        # The digest: where connections do not last, a new file may get the inode of the one before.
        key = (database, info.generation, info.digest)
        with self._lock:
            indexes = self._loaded.get(key)
            if indexes is None:
                before = self._latest if database == self._database else None
                indexes = Derived(self._place, info.generation, database=database, before=before)
                self._loaded[key] = indexes
            newest = max(generation for file, generation, _ in self._loaded if file == database)
            if database == self._database and info.generation == newest:
                self._latest = indexes
            return indexes

    def _forget(self) -> None:
        for loan in self._idle:
            loan.connection.close()
        self._idle.clear()
        self._loaded.clear()
        self._latest = None
        self._database = None
