"""What is derived from SQLite for one generation: built aside, loaded on first use, rebuilt when damaged."""

from __future__ import annotations

import logging
import shutil
import sqlite3
import threading
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TypeVar

from quoth.errors import IndexBusy, IndexDamaged, IndexUnwritable
from quoth.stores.embedded import dense, generations, lexical, schema
from quoth.stores.embedded.dense import Piece
from quoth.stores.embedded.faults import reading, replaced, unwritable, writing
from quoth.stores.embedded.shards import Layout, Shard, deal

_log = logging.getLogger(__name__)
_Part = TypeVar("_Part")


def build(
    connection: sqlite3.Connection,
    place: Path,
    *,
    generation: int,
    dimension: int,
    layout: Layout,
    previous: int | None,
) -> None:
    """Write the directory of `generation` from what `connection` sees, and put it in its place.

    Shards that are the same in the `previous` generation are taken over from there.
    """
    with writing(place), generations.aside(place) as folder:
        old = None if previous is None else _Old(generations.directory(place, previous))
        records: list[generations.ShardRecord] = []
        sealed: dict[str, generations.Entry] = {}
        for shard in deal(connection, layout):
            record = None if old is None else old.take_over(shard, folder, sealed)
            records.append(record or _build_shard(connection, shard, folder, dimension=dimension))
        lexical.compose([segment for record in records for segment in record.segments], folder)
        generations.seal(folder, shards=records, sealed=sealed)
        generations.put_in_place(folder, place, generation)


def _build_shard(
    connection: sqlite3.Connection, shard: Shard, folder: Path, *, dimension: int
) -> generations.ShardRecord:
    sentences = dense.build(connection, shard, folder / shard.folder, dimension=dimension)
    try:
        segments = lexical.build(connection, shard, folder)
    except ValueError as error:  # tantivy wraps what the system said
        raise unwritable(folder.parent.parent, error) from error
    return generations.ShardRecord(shard.number, shard.key, sentences, segments)


class _Old:
    """A generation to take shards over from."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        try:
            self._manifest = generations.manifest(folder)
        except generations.PartDamaged:
            self._manifest = generations.Manifest({}, ())

    def take_over(
        self, shard: Shard, folder: Path, sealed: dict[str, generations.Entry]
    ) -> generations.ShardRecord | None:
        """Link the files of `shard` into `folder` and note them in `sealed`; None where it is not there as it is."""
        record = next((record for record in self._manifest.shards if record.key == shard.key), None)
        if record is None:
            return None
        names = (f"{shard.folder}/", *(lexical.place_of(segment) for segment in record.segments))
        parts = {name: entry for name, entry in self._manifest.parts.items() if name.startswith(names)}
        try:
            sealed |= generations.take_over(self._folder, folder, parts)
        except OSError as error:
            _log.warning("building a part of the search indexes anew: %s", error)
            for name in parts:
                (folder / name).unlink(missing_ok=True)
            shutil.rmtree(folder / shard.folder, ignore_errors=True)
            return None
        return record


class Derived:
    """The derived indexes of one generation of one database, shared by every reader of it.

    `before` are those of an earlier generation: what is the same in both is not loaded again.
    """

    def __init__(self, place: Path, generation: int, *, database: schema.FileIdentity, before: Derived | None) -> None:
        self._known: Mapping[str, Piece] = before.pieces if before else {}
        self._place = place
        self._database = database
        self._folder = generations.directory(place, generation)
        self._holder = generations.hold(self._folder)
        self._lock = threading.Lock()
        self._lexical: lexical.LexicalIndex | None = None
        self._dense: dense.DenseIndex | None = None

    def lexical(self, rebuild: Callable[[], None]) -> lexical.LexicalIndex:
        with self._lock:
            if self._lexical is None:
                self._lexical = self._load(lexical.LexicalIndex, rebuild)
            return self._lexical

    def dense(self, rebuild: Callable[[], None]) -> dense.DenseIndex:
        with self._lock:
            if self._dense is None:
                self._dense = self._load(partial(dense.DenseIndex, known=self._known), rebuild)
                self._known = {}
            return self._dense

    @property
    def pieces(self) -> Mapping[str, Piece]:
        """What is in memory of the vectors, by the keys of the shards."""
        return self._dense.pieces if self._dense else self._known

    def _load(self, load: Callable[[Path], _Part], rebuild: Callable[[], None]) -> _Part:
        try:
            part = load(self._folder)
        except generations.PartDamaged as damage:
            self._check_place()
            _log.warning("rebuilding the search indexes from the database: %s", damage)
            part = self._rebuilt(load, rebuild, damage=damage)
        self._check_place()  # afterwards: a database that is still there was there while its indexes were loaded
        return part

    def _check_place(self) -> None:
        """Another index may have come to the same place, with a generation of the same number."""
        with reading(self._place):
            if schema.identify(self._place) != self._database:
                raise replaced(self._place)

    def _rebuilt(
        self, load: Callable[[Path], _Part], rebuild: Callable[[], None], *, damage: generations.PartDamaged
    ) -> _Part:
        try:
            with writing(self._place), generations.writer_lock(self._place):
                self._check_place()  # or we would write into another's index
                return self._reload(load, rebuild)
        except IndexBusy as busy:
            raise IndexBusy(
                f"{busy}; the damaged search indexes at {self._folder} cannot be rebuilt meanwhile",
                hint="Ask again when it has finished; this index cannot be searched before.",
            ) from damage
        except (IndexUnwritable, generations.PartDamaged) as error:
            raise IndexDamaged(
                f"the search indexes at {self._folder} are damaged and could not be rebuilt: {error}",
                hint="Run the command once where the index directory can be written, or ingest again.",
            ) from damage

    def _reload(self, load: Callable[[Path], _Part], rebuild: Callable[[], None]) -> _Part:
        try:
            return load(self._folder)  # another process may have rebuilt it just before we got the lock
        except generations.PartDamaged:
            rebuild()
            self._holder = generations.hold(self._folder)
            return load(self._folder)
