"""What is derived from SQLite for one generation: built aside, loaded on first use, rebuilt when damaged."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from quoth.errors import IndexBusy, IndexDamaged, IndexUnwritable
from quoth.stores.embedded import dense, generations, lexical, schema
from quoth.stores.embedded.faults import reading, replaced, unwritable, writing

_log = logging.getLogger(__name__)
_Part = TypeVar("_Part")


def build(
    connection: sqlite3.Connection, place: Path, *, generation: int, dimension: int, faiss_threshold: int
) -> None:
    """Write the directory of `generation` from what `connection` sees, and put it in its place."""
    with writing(place), generations.aside(place) as folder:
        dense.build(connection, folder, dimension=dimension, faiss_threshold=faiss_threshold)
        try:
            lexical.build(connection, folder)
        except ValueError as error:  # tantivy wraps what the system said
            raise unwritable(place, error) from error
        generations.seal(folder)
        generations.put_in_place(folder, place, generation)


class Derived:
    """The derived indexes of one generation of one database, shared by every reader of it."""

    def __init__(self, place: Path, generation: int, *, database: schema.FileIdentity) -> None:
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
                self._dense = self._load(dense.DenseIndex, rebuild)
            return self._dense

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
