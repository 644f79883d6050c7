"""Vectors: exact search in memory, or FAISS with exact rescoring once there are many.

vectors.npy    float16, one row for each evidence sentence, in the order of rows
rows.npy       int64, the sentence row of each
documents.npy  int64, the document row of each
faiss.index    only where there are many vectors and FAISS is installed
"""

from __future__ import annotations

import logging
import sqlite3
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from quoth.stores.embedded import generations
from quoth.stores.embedded.rows import unpack
from quoth.types import Vectors

Positions: TypeAlias = NDArray[np.int64]
"""Places in the vector file, ascending."""

_VECTORS, _ROWS, _DOCUMENTS, _FAISS = "vectors.npy", "rows.npy", "documents.npy", "faiss.index"

_log = logging.getLogger(__name__)


def build(connection: sqlite3.Connection, folder: Path, *, dimension: int, faiss_threshold: int) -> None:
    """Write the vectors of every evidence sentence into `folder`."""
    places = connection.execute("SELECT row, document FROM sentences WHERE embedding IS NOT NULL ORDER BY row")
    pairs = np.array(places.fetchall(), dtype=np.int64).reshape(-1, 2)
    np.save(folder / _ROWS, np.ascontiguousarray(pairs[:, 0]))
    np.save(folder / _DOCUMENTS, np.ascontiguousarray(pairs[:, 1]))
    _write_vectors(connection, folder / _VECTORS, shape=(len(pairs), dimension))
    if len(pairs) > max(faiss_threshold, 1):
        if find_spec("faiss") is None:
            _log.warning("%d vectors: pip install 'quoth[faiss]' and ingest again for faster search", len(pairs))
        else:
            from quoth.stores.embedded import approximate

            approximate.build(np.load(folder / _VECTORS, mmap_mode="r"), folder / _FAISS)


def _write_vectors(connection: sqlite3.Connection, path: Path, *, shape: tuple[int, int]) -> None:
    # Written as it is read, so that memory does not grow with the corpus.
    blobs = connection.execute(
        "SELECT e.vector FROM sentences s JOIN embeddings e ON e.id = s.embedding ORDER BY s.row"
    )
    with path.open("wb") as file:
        header = {"descr": "<f2", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        while batch := blobs.fetchmany(4096):
            file.write(b"".join(blob for (blob,) in batch))


class Search(Protocol):
    """The vectors of one generation, by position."""

    def nearest(self, query: Vectors, count: int, allowed: Positions | None) -> Positions:
        """Positions that include the `count` nearest among `allowed` (None: all), and near ties."""
        ...

    def take(self, positions: Positions) -> Vectors: ...


class DenseIndex:
    """One generation's vectors with the rows they belong to. Safe to share between threads."""

    def __init__(self, folder: Path) -> None:
        for part in (_ROWS, _DOCUMENTS, _VECTORS):
            generations.check(folder, part)
        self.rows: Positions = np.load(folder / _ROWS)
        self.documents: Positions = np.load(folder / _DOCUMENTS)
        self._search = _open_search(folder)

    def top(self, query: Vectors, count: int, allowed: Positions | None) -> Positions:
        """Positions of the `count` nearest, best first; equal cosines (to six decimals) by row."""
        if count <= 0 or len(self.rows) == 0 or (allowed is not None and len(allowed) == 0):
            return np.empty(0, dtype=np.int64)
        near = self._search.nearest(query, count, allowed)
        order = np.lexsort((near, -cosines(query, self.take(near))))
        return near[order[:count]]

    def take(self, positions: Positions) -> Vectors:
        return self._search.take(positions)

    def positions(self, sentence_rows: NDArray[np.int64]) -> Positions:
        """Where these rows are; every one must be an evidence sentence."""
        return np.searchsorted(self.rows, sentence_rows)


def cosines(query: Vectors, vectors: Vectors) -> NDArray[np.float64]:
    """Rounded to six decimals and computed in double precision: the same whichever way led here."""
    # Not `@`: for so few vectors, waking the threads of the linear algebra library takes longer than the sums.
    exact: NDArray[np.float64] = np.einsum("ij,j->i", vectors, query, dtype=np.float64)
    return np.round(exact, 6) + 0.0  # no negative zero


def _open_search(folder: Path) -> Search:
    stored = np.load(folder / _VECTORS, mmap_mode="r")
    if not generations.has(folder, _FAISS):
        return ExactSearch(stored)
    if find_spec("faiss") is None:
        _log.warning("the index holds a FAISS part, but FAISS is not installed: pip install 'quoth[faiss]'")
        return ExactSearch(stored)
    from quoth.stores.embedded import approximate

    generations.check(folder, _FAISS)
    return approximate.FaissSearch(folder / _FAISS, stored)


class ExactSearch:
    """Every cosine, each time: a matrix product that takes milliseconds up to some hundred thousand vectors."""

    def __init__(self, stored: NDArray[np.float16]) -> None:
        # By columns, because that product is twice as fast; block by block, to hold no second copy meanwhile.
        self._matrix: Vectors = np.empty(stored.shape, dtype=np.float32, order="F")
        for start in range(0, len(stored), 1024):
            self._matrix[start : start + 1024] = unpack(stored[start : start + 1024])

    def nearest(self, query: Vectors, count: int, allowed: Positions | None) -> Positions:
        if allowed is not None and len(allowed) < len(self._matrix) // 16:  # one document, say
            return allowed[near_best(self.take(allowed) @ query, count)]
        cosines = self._matrix @ query
        return near_best(cosines, count) if allowed is None else allowed[near_best(cosines[allowed], count)]

    def take(self, positions: Positions) -> Vectors:
        return np.ascontiguousarray(self._matrix[positions])


def near_best(cosines: NDArray[np.float32], count: int) -> Positions:
    """Positions of the `count` best and of everything within rounding of the last of them."""
    if len(cosines) <= count:
        return np.arange(len(cosines))
    least = np.partition(cosines, len(cosines) - count)[len(cosines) - count]
    return np.flatnonzero(cosines >= least - 1e-5)
