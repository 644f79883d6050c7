"""Vector search: exact in memory, or FAISS with exact rescoring for many vectors. Each partition has these files:

vectors.npy    float16, one row for each evidence sentence: by document id, then in reading order
rows.npy       int64, the sentence row of each
documents.npy  int64, the document row of each
tags.npy       int64, pairs of a position in this partition and the id of a tag that the sentence there has
faiss.index    only where there are many vectors and FAISS is installed

A position is an offset into these files, counted through all partitions.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quoth.errors import IndexMismatch
from quoth.stores.database_rows import Row, RowLimits
from quoth.stores.embedded import generations
from quoth.stores.embedded.generations import Partition, evidence, partition_folder
from quoth.stores.embedded.vector_search import (
    ExactSearch,
    FaissSearch,
    NearestSearch,
    PartitionOffsets,
    PartitionVectors,
    Positions,
    build_faiss,
)
from quoth.types import Candidate, Candidates, Vectors

_VECTORS, _ROWS, _DOCUMENTS, _TAGS, _FAISS = "vectors.npy", "rows.npy", "documents.npy", "tags.npy", "faiss.index"
_BATCH = 4096

_log = logging.getLogger(__name__)


def build(connection: sqlite3.Connection, partition: Partition, folder: Path, *, dimension: int) -> int:
    """Write the vectors of the partition's evidence sentences into `folder`; return how many there are."""
    folder.mkdir(parents=True)
    pairs = _pairs(evidence(connection, partition, columns="s.row, s.document", join=""))
    np.save(folder / _ROWS, np.ascontiguousarray(pairs[:, 0]))
    np.save(folder / _DOCUMENTS, np.ascontiguousarray(pairs[:, 1]))
    tagged = evidence(connection, partition, columns="s.row, t.tag", join="JOIN sentence_tags t ON t.sentence = s.row")
    tags = _pairs(tagged)
    by_row = np.argsort(pairs[:, 0])
    tags[:, 0] = by_row[np.searchsorted(pairs[:, 0], tags[:, 0], sorter=by_row)]
    np.save(folder / _TAGS, tags)
    _write_vectors(connection, partition, folder / _VECTORS, shape=(len(pairs), dimension))
    if partition.faiss and len(pairs):
        build_faiss(np.load(folder / _VECTORS, mmap_mode="r"), folder / _FAISS)
    return len(pairs)


def _pairs(found: Iterable[Row]) -> NDArray[np.int64]:
    return np.fromiter((number for pair in found for number in pair), dtype=np.int64).reshape(-1, 2)


def _write_vectors(connection: sqlite3.Connection, partition: Partition, path: Path, *, shape: tuple[int, int]) -> None:
    # Written as it is read, so that memory does not grow with the corpus.
    blobs = evidence(connection, partition, columns="e.vector", join="JOIN embeddings e ON e.id = s.embedding")
    with path.open("wb") as file:
        header = {"descr": "<f2", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        while batch := list(islice(blobs, _BATCH)):
            file.write(b"".join(blob for (blob,) in batch))


class DenseIndex:
    """The vectors of one generation, each with its sentence row. Threads may share it.

    `loaded` are partitions that another generation has in memory, by their key.
    """

    def __init__(self, folder: Path, *, loaded: Mapping[str, PartitionVectors]) -> None:
        manifest = generations.manifest(folder)
        fresh = tuple(partition_folder(new.number) + "/" for new in manifest.partitions if new.key not in loaded)
        generations.check(folder, {name: entry for name, entry in manifest.files.items() if name.startswith(fresh)})
        with_faiss = _can_use_faiss(manifest)
        self.partitions = {
            partition.key: loaded.get(partition.key)
            or _load(folder / partition_folder(partition.number), partition.sentences, with_faiss=with_faiss)
            for partition in manifest.partitions
        }
        partitions = tuple(self.partitions.values())
        self._split = PartitionOffsets(partitions)
        self.take = self._split.take
        self.rows: Positions = np.concatenate([partition.rows for partition in partitions])
        self.documents: Positions = np.concatenate([partition.documents for partition in partitions])
        self._by_row = np.argsort(self.rows)
        search = FaissSearch if with_faiss else ExactSearch
        self._search: NearestSearch = search(partitions, self._split)

    def top(self, query: Vectors, count: int, allowed: Positions | None) -> Positions:
        """Return the positions of the `count` nearest, best first; equal cosines (to six decimals) by position."""
        return self.nearest(query, count, allowed)[0][: max(0, count)]

    def nearest(self, query: Vectors, count: int, allowed: Positions | None) -> tuple[Positions, NDArray[np.float64]]:
        """Return positions and cosines of the `count` nearest and of all ties with the last, ordered as `top`."""
        if count <= 0 or len(self.rows) == 0 or (allowed is not None and len(allowed) == 0):
            return np.empty(0, dtype=np.int64), np.empty(0)
        near = self._search.nearest(query, count, allowed)
        found = cosines(query, self.take(near))
        order = np.lexsort((near, -found))
        order = order[found[order] >= found[order[:count][-1]]]
        return near[order], found[order]

    def allowed(self, limits: RowLimits) -> Positions | None:
        """Return the positions of the sentences within `limits`, ascending; None means all."""
        if limits.anywhere:
            return None
        mask = np.ones(len(self.rows), dtype=np.bool_)
        if limits.documents is not None:
            mask &= np.isin(self.documents, np.fromiter(limits.documents, dtype=np.int64))
        for wanted in limits.tags:
            tagged = np.zeros(len(self.rows), dtype=np.bool_)
            for start, partition in zip(self._split.starts, self.partitions.values(), strict=False):
                tagged[start + partition.tags[np.isin(partition.tags[:, 1], list(wanted)), 0]] = True
            mask &= tagged
        return np.flatnonzero(mask)

    def positions(self, sentence_rows: NDArray[np.int64]) -> Positions:
        """Return the positions of these rows, which must all be evidence sentences."""
        return self._by_row[np.searchsorted(self.rows, sentence_rows, sorter=self._by_row)]


def cosines(query: Vectors, vectors: Vectors) -> NDArray[np.float64]:
    """Return cosines in double precision, rounded to six decimals, so that every search gives the same."""
    # Not `@`: for so few vectors, waking the threads of the linear algebra library takes longer than the sums.
    exact: NDArray[np.float64] = np.einsum("ij,j->i", vectors, query, dtype=np.float64)
    return np.round(exact, 6) + 0.0  # no negative zero


def checked_vector(vector: Vectors | None, dimension: int) -> Vectors | None:
    """Return the vector of a question in single precision; `IndexMismatch` if it has another dimension."""
    if vector is None:
        return None
    if vector.shape != (dimension,):
        raise IndexMismatch(
            f"a vector of shape {vector.shape} cannot be searched among {dimension} dimensions",
            hint="Ask with the model that the index was made with; quoth status names it.",
        )
    return vector.astype(np.float32, copy=False)  # another type would copy the whole matrix to match


def sorted_candidates(items: Sequence[Candidate], vectors: Vectors) -> Candidates:
    """Order candidates, and the vector of each, by sentence id."""
    order = sorted(range(len(items)), key=lambda number: items[number].sentence.id)
    return Candidates(tuple(items[number] for number in order), vectors[order])


def _can_use_faiss(manifest: generations.GenerationManifest) -> bool:
    built = any(name.endswith(f"/{_FAISS}") for name in manifest.files)
    if built and find_spec("faiss") is None:
        _log.warning("the index holds a FAISS part, but FAISS is not installed: pip install 'quoth[faiss]'")
        return False
    return built


def _load(folder: Path, sentences: int, *, with_faiss: bool) -> PartitionVectors:
    stored = np.load(folder / _VECTORS, mmap_mode="r") if sentences else np.load(folder / _VECTORS)
    index = None
    if with_faiss and sentences:
        import faiss

        index = faiss.read_index(str(folder / _FAISS))
    rows, documents, tags = (np.load(folder / name) for name in (_ROWS, _DOCUMENTS, _TAGS))
    return PartitionVectors(rows, documents, tags, stored, index)
