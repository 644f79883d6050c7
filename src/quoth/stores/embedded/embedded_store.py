"""An index in one directory, for one machine: many readers, one writer."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from weakref import WeakValueDictionary

from quoth.errors import CorpusError, NoIndex
from quoth.protocols import Embedder, Progress, Reader
from quoth.stores.disk_faults import FileIdentity, connect_readonly, identify, reading, writing
from quoth.stores.embedded import generations
from quoth.stores.embedded import sqlite_schema as schema
from quoth.stores.embedded.derived_indexes import DerivedIndexes
from quoth.stores.embedded.embedded_reader import EmbeddedReader
from quoth.stores.embedded.embedded_writer import EmbeddedWriter
from quoth.stores.embedded.generations import Layout
from quoth.stores.embedded.visible_documents import (
    NO_CHANGES,
    LabelChanges,
    LabelledDocument,
    LabelledDocuments,
    VisibleDocuments,
    visible_info,
)
from quoth.types import (
    EVERYTHING,
    Access,
    IndexInfo,
    Refusals,
    Refused,
    SplitDocument,
    StoredDocument,
)


@dataclass(frozen=True, slots=True)
class _Borrowed:
    """A connection, and the file it has open. If it is not `lasting`, it cannot see later generations."""

    connection: sqlite3.Connection
    database: FileIdentity
    lasting: bool


class EmbeddedStore:
    """See `protocols.Store`. For `faiss_threshold` and `smallest_partition` see `Layout`."""

    kind = "embedded"

    def __init__(self, location: Path | str, *, faiss_threshold: int = 200_000, smallest_partition: int = 4096) -> None:
        self._location = Path(location)
        self._database_file = self._location / schema.DATABASE
        self._layout = Layout(faiss_threshold, smallest_partition)
        self._lock = threading.Lock()
        self._database: FileIdentity | None = None
        self._idle: list[_Borrowed] = []
        self._latest: DerivedIndexes | None = None
        self._labelled: LabelledDocuments | None = None
        self._loaded: WeakValueDictionary[tuple[FileIdentity, int, str], DerivedIndexes] = WeakValueDictionary()

    @property
    def location(self) -> str:
        return str(self._location)

    def size(self) -> int:
        """Return the bytes of all files in the folder; a file that a writer removes meanwhile is not counted."""
        total = 0
        for inside, _, names in os.walk(self._location):
            for name in names:
                with suppress(FileNotFoundError):
                    total += Path(inside, name).stat().st_size
        return total

    def published(self) -> float | None:
        """Return when the directory of the generation was made; rebuilding damaged indexes makes it younger."""
        with self._snapshot() as (_, info):
            if info is not None:
                with suppress(OSError):
                    return generations.directory(self._location, info.generation).stat().st_mtime
        return None

    @contextmanager
    def read(self, access: Access = EVERYTHING) -> Iterator[Reader]:
        with self.read_part(access) as reader:
            if reader.visible is None:
                yield reader
                return
            if reader.visible.everything:
                yield replace(reader, info=visible_info(reader.info, (reader.visible,)))
                return
            from quoth.stores.sharded.visible_reader import visible_part  # it builds on this package

            yield visible_part(reader, self._layout)

    @contextmanager
    def read_part(self, access: Access = EVERYTHING, changes: LabelChanges = NO_CHANGES) -> Iterator[EmbeddedReader]:
        """Open the current generation as one shard of an index; see `EmbeddedReader.visible` for limited access."""
        with self._snapshot() as (loan, info):
            if info is None:
                raise NoIndex(str(self._location))
            indexes = self._indexes(loan.database, info)
            visible = None if access.labels is None else self._visible(loan, info, access, changes)
            yield EmbeddedReader(loan.connection, info, self._location, indexes, self._layout, visible, changes)

    def relabel(self, labels: Mapping[str, Collection[str]]) -> None:
        with self._snapshot() as (loan, info), reading(self._location):
            if info is None:
                raise NoIndex(str(self._location))
            old = not schema.has_labels(loan.connection)
        with writing(self._location), ExitStack() as stack:
            # A label must be taken back at once, even while an ingest embeds: the lock of SQLite is enough. Only an
            # index of an earlier version is changed first.
            if old:
                stack.enter_context(generations.writer_lock(self._location))
            connection = stack.enter_context(closing(schema.connect_writer(self._location)))
            connection.execute("BEGIN IMMEDIATE")
            unknown = schema.set_labels(connection, labels, stated=False)
            connection.execute("ROLLBACK" if unknown else "COMMIT")
        if unknown:
            raise CorpusError(f"the index holds no document '{unknown[0]}'", hint="quoth docs lists the ids.")

    def _visible(self, loan: _Borrowed, info: IndexInfo, access: Access, changes: LabelChanges) -> VisibleDocuments:
        """Return what `access` sees of this generation, with the labels that the transaction sees."""
        with reading(self._location):
            revision = schema.label_revision(loan.connection)
        key = (loan.database, info.generation, info.digest, revision, changes.revision)
        with self._lock:
            labelled = self._labelled
        if labelled is None or labelled.key != key:
            with reading(self._location):
                found = schema.read_labelled_documents(loan.connection)
            documents = [LabelledDocument(*row) for row in found]
            documents = [
                document._replace(access=changes.labels.get(document.id, document.access)) for document in documents
            ]
            labelled = LabelledDocuments(key, documents, revision=revision)
            with self._lock:
                self._labelled = labelled
        return labelled.seen_by(access)

    def stored_documents(self) -> Mapping[str, StoredDocument]:
        with suppress(NoIndex), self._snapshot() as (loan, info), reading(self._location):
            return schema.read_stored_documents(loan.connection) if info else {}
        return {}

    def refused_files(self) -> tuple[tuple[str, Refused], ...]:
        with suppress(NoIndex), self._snapshot() as (loan, info), reading(self._location):
            return schema.read_refused_files(loan.connection) if info else ()
        return ()

    def write(
        self,
        put: Iterable[SplitDocument],
        *,
        remove: Collection[str],
        embedder: Embedder,
        profile: tuple[str, str],
        progress: Progress | None,
        refusals: Refusals | None = None,
        labels: Mapping[str, tuple[str, ...]] | None = None,
    ) -> IndexInfo:
        with ExitStack() as stack:
            with writing(self._location):
                generations.home(self._location).mkdir(parents=True, exist_ok=True)
                stack.enter_context(generations.writer_lock(self._location))
                connection = stack.enter_context(closing(schema.connect_writer(self._location)))
                published = schema.read_info(connection, self._location)
                current = published.generation if published else 0
                generations.clean(self._location, keep={current})  # slow readers may have used the previous generation
                if published:
                    schema.bring_up_to_date(connection, published)
            writer = EmbeddedWriter(
                old=published,
                embedder=embedder,
                profile=profile,
                progress=progress,
                connection=connection,
                folder=self._location,
                layout=self._layout,
            )
            try:
                info = writer.run(put, remove, refusals, labels)
            except BaseException:
                self._clean_after_failure(connection)
                raise
            schema.merge_log(connection)
            return info

    def _clean_after_failure(self, connection: sqlite3.Connection) -> None:
        # Ask the database: an interrupt can arrive just after the commit, and then the new generation is in service.
        with suppress(OSError, sqlite3.Error):
            published = schema.read_info(connection, self._location)
            current = published.generation if published else 0
            generations.clean(self._location, keep={current - 1, current})

    def close(self) -> None:
        with self._lock:
            self._forget()

    @contextmanager
    def _snapshot(self) -> Iterator[tuple[_Borrowed, IndexInfo | None]]:
        """A connection inside a read transaction, with what it sees; None when nothing has been published."""
        with reading(self._location):
            loan = self._borrow()
        try:
            with reading(self._location):
                loan.connection.execute("BEGIN")
                info = schema.read_info(loan.connection, self._location)
            yield loan, info
        finally:
            with suppress(sqlite3.Error):
                loan.connection.execute("ROLLBACK")
            self._give_back(loan)

    def _borrow(self) -> _Borrowed:
        while True:
            with self._lock:
                database = self._current_database()
                if self._idle:
                    return self._idle.pop()
            connection, lasting = connect_readonly(self._database_file, timeout=10)
            with ExitStack() as stack:
                stack.callback(connection.close)
                if identify(self._database_file) == database:  # else somebody replaced the index meanwhile
                    stack.pop_all()
                    return _Borrowed(connection, database, lasting)

    def _give_back(self, loan: _Borrowed) -> None:
        with self._lock:
            if loan.lasting and loan.database == self._database:
                self._idle.append(loan)
                return
        loan.connection.close()

    def _current_database(self) -> FileIdentity:
        """Return the identity of the database; forget what was loaded from another one before."""
        database = identify(self._database_file)
        if database is None:
            raise NoIndex(str(self._location))
        if database != self._database:
            self._forget()
            self._database = database
        return database

    def _indexes(self, database: FileIdentity, info: IndexInfo) -> DerivedIndexes:
        """Return the shared indexes of a generation; the latest stay loaded between reads."""
        # The key needs the digest: where connections do not last, a new file may reuse the inode of the old file.
        key = (database, info.generation, info.digest)
        with self._lock:
            indexes = self._loaded.get(key)
            if indexes is None:
                before = self._latest if database == self._database else None
                indexes = DerivedIndexes(self._location, info.generation, database=database, before=before)
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
        self._labelled = None
        self._database = None
