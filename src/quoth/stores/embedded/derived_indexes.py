"""The search indexes of a generation, derived from SQLite: built aside, loaded on first use, rebuilt when damaged."""

from __future__ import annotations

import json
import logging
import shutil
import sqlite3
import threading
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeVar

from quoth.errors import IndexBusy, IndexDamaged, IndexUnwritable
from quoth.stores.disk_faults import FileIdentity, identify, reading, replaced, unwritable, writing
from quoth.stores.embedded import dense_index as dense
from quoth.stores.embedded import generations
from quoth.stores.embedded import lexical_index as lexical
from quoth.stores.embedded.dense_index import PartitionVectors
from quoth.stores.embedded.document_tables import DocumentTables
from quoth.stores.embedded.generations import (
    DerivedFileDamaged,
    FileEntry,
    GenerationManifest,
    Layout,
    Partition,
    PartitionRecord,
    TagIds,
    document_languages,
    partition_documents,
)
from quoth.stores.embedded.sqlite_schema import DATABASE
from quoth.types import IndexInfo

_log = logging.getLogger(__name__)
_Index = TypeVar("_Index")


def build(
    connection: sqlite3.Connection,
    tables: DocumentTables,
    location: Path,
    info: IndexInfo,
    *,
    layout: Layout,
    previous: int,
) -> None:
    """Write the directory of a generation from what `connection` sees, and rename it to its final name.

    Partitions that are the same in the `previous` generation, if there is one, are taken over from there.
    """
    with writing(location), generations.aside(location) as folder:
        old = generations.directory(location, previous)
        try:
            before = generations.manifest(old)
        except DerivedFileDamaged:  # or there is none
            before = GenerationManifest(old, {}, ())
        records: list[PartitionRecord] = []
        sealed: dict[str, FileEntry] = {}
        languages = document_languages(connection, info)
        tag_ids = _tag_ids(connection)
        for partition in partition_documents(connection, layout, languages=languages):
            record = _take_over(partition, folder, before=before, sealed=sealed)
            records.append(record or _build_partition(tables, partition, folder, tag_ids=tag_ids, languages=languages))
        lexical.compose([segment for record in records for segment in record.segments], folder)
        generations.seal(folder, partitions=records, sealed=sealed)
        generations.put_in_place(folder, location, info.generation)


def _build_partition(
    tables: DocumentTables, partition: Partition, folder: Path, *, tag_ids: TagIds, languages: Mapping[int, str]
) -> PartitionRecord:
    sentences = dense.build(tables, partition, folder / partition.folder, tag_ids=tag_ids)
    try:
        segments = lexical.build(tables, partition, folder, tag_ids=tag_ids, languages=languages)
    except ValueError as error:  # tantivy wraps the error of the operating system
        raise unwritable(folder.parent.parent, error) from error
    return PartitionRecord(partition.number, partition.key, sentences, segments)


def _tag_ids(connection: sqlite3.Connection) -> TagIds:
    found = connection.execute("SELECT facet, value, id FROM tags")
    ids = {(facet, value): number for facet, value, number in found}

    @lru_cache(maxsize=4096)
    def of(stored: str) -> tuple[int, ...]:
        named = ((facet, value) for facet, values in json.loads(stored).items() for value in values)
        # SQLite cuts a value at U+0000, so that such a tag has no id, and no filter finds it.
        return tuple(number for tag in dict.fromkeys(named) if (number := ids.get(tag)) is not None)

    return of


def _take_over(
    partition: Partition, folder: Path, *, before: GenerationManifest, sealed: dict[str, FileEntry]
) -> PartitionRecord | None:
    """Link the files of `partition` into `folder` and add them to `sealed`; None if the old generation lacks it."""
    record = next((record for record in before.partitions if record.key == partition.key), None)
    if record is None:
        return None
    names = (f"{partition.folder}/", *(lexical.file_prefix(segment) for segment in record.segments))
    files = {name: entry for name, entry in before.files.items() if name.startswith(names)}
    try:
        sealed |= generations.take_over(before.folder, folder, files)
    except OSError as error:
        _log.warning("building a part of the search indexes anew: %s", error)
        for name in files:
            (folder / name).unlink(missing_ok=True)
        shutil.rmtree(folder / partition.folder, ignore_errors=True)
        return None
    return record


class DerivedIndexes:
    """The derived indexes of one generation, shared by all its readers.

    `before` are the indexes of an earlier generation; partitions that both share are not loaded again.
    """

    def __init__(
        self, location: Path, generation: int, *, database: FileIdentity, before: DerivedIndexes | None
    ) -> None:
        self._loaded: Mapping[str, PartitionVectors] = before.partitions if before else {}
        self._location = location
        self._database = database
        self._folder = generations.directory(location, generation)
        self._holder = generations.hold(self._folder)
        self._lock = threading.Lock()
        self._lexical: lexical.LexicalIndex | None = None
        self._dense: dense.DenseIndex | None = None

    def lexical(self, rebuild: Callable[[], None]) -> lexical.LexicalIndex:
        with self._lock:
            if self._lexical is None:
                self._lexical = self._load(lexical.LexicalIndex, rebuild)
            return self._lexical

    def dense(self, tables: DocumentTables, rebuild: Callable[[], None]) -> dense.DenseIndex:
        with self._lock:
            if self._dense is None:
                self._dense = self._load(partial(dense.DenseIndex, tables=tables, loaded=self._loaded), rebuild)
                self._loaded = {}
            return self._dense

    @property
    def partitions(self) -> Mapping[str, PartitionVectors]:
        """The vectors in memory, by the key of their partition."""
        return self._dense.partitions if self._dense else self._loaded

    def _load(self, load: Callable[[Path], _Index], rebuild: Callable[[], None]) -> _Index:
        try:
            index = load(self._folder)
        except DerivedFileDamaged as damage:
            self._check_location()
            _log.warning("rebuilding the search indexes from the database: %s", damage)
            index = self._rebuilt(load, rebuild, damage=damage)
        self._check_location()  # afterwards: a database that is still there was there while its indexes were loaded
        return index

    def _check_location(self) -> None:
        """Raise if another index has replaced this one, perhaps with a generation of the same number."""
        with reading(self._location):
            if identify(self._location / DATABASE) != self._database:
                raise replaced(self._location)

    def _rebuilt(
        self, load: Callable[[Path], _Index], rebuild: Callable[[], None], *, damage: DerivedFileDamaged
    ) -> _Index:
        try:
            with writing(self._location), generations.writer_lock(self._location):
                self._check_location()  # or we would write into another's index
                return self._reload(load, rebuild)
        except IndexBusy as busy:
            raise IndexBusy(
                f"{busy}; the damaged search indexes at {self._folder} cannot be rebuilt meanwhile",
                hint="Ask again when it has finished; this index cannot be searched before.",
            ) from damage
        except (IndexUnwritable, DerivedFileDamaged) as error:
            raise IndexDamaged(
                f"the search indexes at {self._folder} are damaged and could not be rebuilt: {error}",
                hint="Run the command once where the index directory can be written, or ingest again.",
            ) from damage

    def _reload(self, load: Callable[[Path], _Index], rebuild: Callable[[], None]) -> _Index:
        try:
            return load(self._folder)  # another process may have rebuilt it just before we got the lock
        except DerivedFileDamaged:
            rebuild()
            self._holder = generations.hold(self._folder)
            return load(self._folder)
