"""What is derived from SQLite for one generation: built aside, loaded on first use, rebuilt when damaged."""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from quoth.errors import IndexDamaged, IndexUnwritable
from quoth.stores.embedded import dense, generations, lexical
from quoth.stores.embedded.faults import unwritable, writing

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
    """The derived indexes of one generation, shared by every reader of it."""

    def __init__(self, place: Path, generation: int) -> None:
        self._place = place
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
            return load(self._folder)
        except generations.PartDamaged as damage:
            _log.warning("rebuilding the search indexes from the database: %s", damage)
            try:
                with writing(self._place), generations.writer_lock(self._place):
                    return self._reload(load, rebuild)
            except (IndexUnwritable, generations.PartDamaged) as error:
                raise IndexDamaged(
                    f"the search indexes at {self._folder} are damaged and could not be rebuilt: {error}",
                    hint="Run the command once where the index directory can be written, or ingest again.",
                ) from damage

    def _reload(self, load: Callable[[Path], _Part], rebuild: Callable[[], None]) -> _Part:
        try:
            return load(self._folder)  # another process may have rebuilt it while we waited for the lock
        except generations.PartDamaged:
            rebuild()
            self._holder = generations.hold(self._folder)
            return load(self._folder)
