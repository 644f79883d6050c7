"""Vectors: exact search in memory, or FAISS with exact rescoring once there are many. Of each shard:

vectors.npy    float16, one row for each evidence sentence: by document id, then in reading order
rows.npy       int64, the sentence row of each
documents.npy  int64, the document row of each
tags.npy       int64, pairs of a place in this shard and the id of a tag that the sentence there has
faiss.index    only where there are many vectors and FAISS is installed

A position is a place in these files, counted through all shards.
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from quoth.stores.embedded import generations
from quoth.stores.embedded.limits import Limits
from quoth.stores.embedded.rows import Row, unpack
from quoth.stores.embedded.shards import FOLDER, Shard, evidence
from quoth.types import Vectors

Positions: TypeAlias = NDArray[np.int64]

_VECTORS, _ROWS, _DOCUMENTS, _TAGS, _FAISS = "vectors.npy", "rows.npy", "documents.npy", "tags.npy", "faiss.index"
_BATCH = 4096

_log = logging.getLogger(__name__)


def build(connection: sqlite3.Connection, shard: Shard, folder: Path, *, dimension: int) -> int:
    """Write the vectors of the shard's evidence sentences into `folder`; return how many there are."""
    folder.mkdir(parents=True)
    pairs = _pairs(evidence(connection, shard, columns="s.row, s.document", join=""))
    np.save(folder / _ROWS, np.ascontiguousarray(pairs[:, 0]))
    np.save(folder / _DOCUMENTS, np.ascontiguousarray(pairs[:, 1]))
    tagged = evidence(connection, shard, columns="s.row, t.tag", join="JOIN sentence_tags t ON t.sentence = s.row")
    tags = _pairs(tagged)
    by_row = np.argsort(pairs[:, 0])
    tags[:, 0] = by_row[np.searchsorted(pairs[:, 0], tags[:, 0], sorter=by_row)]
    np.save(folder / _TAGS, tags)
    _write_vectors(connection, shard, folder / _VECTORS, shape=(len(pairs), dimension))
    if shard.faiss and len(pairs):
        from quoth.stores.embedded import approximate

        approximate.build(np.load(folder / _VECTORS, mmap_mode="r"), folder / _FAISS)
    return len(pairs)


def _pairs(found: Iterable[Row]) -> NDArray[np.int64]:
    return np.fromiter((number for pair in found for number in pair), dtype=np.int64).reshape(-1, 2)


def _write_vectors(connection: sqlite3.Connection, shard: Shard, path: Path, *, shape: tuple[int, int]) -> None:
    # Written as it is read, so that memory does not grow with the corpus.
    blobs = evidence(connection, shard, columns="e.vector", join="JOIN embeddings e ON e.id = s.embedding")
    with path.open("wb") as file:
        header = {"descr": "<f2", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(file, header)
        while batch := list(islice(blobs, _BATCH)):
            file.write(b"".join(blob for (blob,) in batch))


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """What is loaded of one shard. `stored` is memory-mapped; `faiss` is None where it is not used or is empty."""

    rows: Positions
    documents: Positions
    tags: NDArray[np.int64]
    stored: NDArray[np.float16]
    faiss: Any | None


class Split:
    """Which positions are in which piece."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self._pieces = pieces
        self.starts: Positions = np.cumsum([0, *(len(piece.rows) for piece in pieces)], dtype=np.int64)
        self.total = int(self.starts[-1])

    def within(self, positions: Positions, place: int) -> Positions:
        """Those of ascending `positions` that are in one piece, counted from its start."""
        first, last = np.searchsorted(positions, self.starts[place : place + 2])
        inside: Positions = positions[first:last] - self.starts[place]
        return inside

    def take(self, positions: Positions) -> Vectors:
        order = np.argsort(positions, kind="stable")
        ascending = positions[order]
        stored = [piece.stored[self.within(ascending, place)] for place, piece in enumerate(self._pieces)]
        taken = np.empty((len(positions), stored[0].shape[1]), dtype=np.float32)
        taken[order] = unpack(np.concatenate(stored))
        return taken


class Search(Protocol):
    def nearest(self, query: Vectors, count: int, allowed: Positions | None) -> Positions:
        """Positions that include the `count` nearest among `allowed` (ascending; None: all), and near ties."""
        ...


class DenseIndex:
    """One generation's vectors with the rows they belong to. Safe to share between threads.

    `known` are pieces of another generation, by the key of their shard, which need not be loaded again.
    """

    def __init__(self, folder: Path, *, known: Mapping[str, Piece]) -> None:
        manifest = generations.manifest(folder)
        fresh = tuple(f"{FOLDER}/{shard.number:03d}/" for shard in manifest.shards if shard.key not in known)
        generations.check(folder, {name: part for name, part in manifest.parts.items() if name.startswith(fresh)})
        with_faiss = _can_use_faiss(manifest)
        self.pieces = {
            shard.key: known.get(shard.key)
            or _load(folder / FOLDER / f"{shard.number:03d}", shard.sentences, with_faiss=with_faiss)
            for shard in manifest.shards
        }
        pieces = tuple(self.pieces.values())
        self._split = Split(pieces)
        self.rows: Positions = np.concatenate([piece.rows for piece in pieces])
        self.documents: Positions = np.concatenate([piece.documents for piece in pieces])
        self._by_row = np.argsort(self.rows)
        self._search: Search
        if with_faiss:
            from quoth.stores.embedded import approximate

            self._search = approximate.FaissSearch(pieces, self._split)
        else:
            self._search = ExactSearch(pieces, self._split)

    def top(self, query: Vectors, count: int, allowed: Positions | None) -> Positions:
        """Positions of the `count` nearest, best first; equal cosines (to six decimals) by position."""
        return self.nearest(query, count, allowed)[0][: max(0, count)]

    def nearest(self, query: Vectors, count: int, allowed: Positions | None) -> tuple[Positions, NDArray[np.float64]]:
        """The `count` nearest and all that are as near as the last of them: positions and cosines, ordered as `top`."""
        if count <= 0 or len(self.rows) == 0 or (allowed is not None and len(allowed) == 0):
            return np.empty(0, dtype=np.int64), np.empty(0)
        near = self._search.nearest(query, count, allowed)
        found = cosines(query, self.take(near))
        order = np.lexsort((near, -found))
        order = order[found[order] >= found[order[:count][-1]]]
        return near[order], found[order]

    def take(self, positions: Positions) -> Vectors:
        return self._split.take(positions)

    def allowed(self, limits: Limits) -> Positions | None:
        """Positions of the sentences within `limits`, ascending; None means all."""
        if limits.anywhere:
            return None
        mask = np.ones(len(self.rows), dtype=np.bool_)
        if limits.documents is not None:
            mask &= np.isin(self.documents, np.fromiter(limits.documents, dtype=np.int64))
        for wanted in limits.tags:
            mask &= self._tagged(np.fromiter(wanted, dtype=np.int64))
        return np.flatnonzero(mask)

    def _tagged(self, wanted: NDArray[np.int64]) -> NDArray[np.bool_]:
        mask = np.zeros(len(self.rows), dtype=np.bool_)
        for start, piece in zip(self._split.starts, self.pieces.values(), strict=False):
            mask[start + piece.tags[np.isin(piece.tags[:, 1], wanted), 0]] = True
        return mask

    def positions(self, sentence_rows: NDArray[np.int64]) -> Positions:
        """Where these rows are; every one must be an evidence sentence."""
        return self._by_row[np.searchsorted(self.rows, sentence_rows, sorter=self._by_row)]


def cosines(query: Vectors, vectors: Vectors) -> NDArray[np.float64]:
    """Rounded to six decimals and computed in double precision: the same whichever way led here."""
    # Not `@`: for so few vectors, waking the threads of the linear algebra library takes longer than the sums.
    exact: NDArray[np.float64] = np.einsum("ij,j->i", vectors, query, dtype=np.float64)
    return np.round(exact, 6) + 0.0  # no negative zero


def _can_use_faiss(manifest: generations.Manifest) -> bool:
    if not any(name.endswith(f"/{_FAISS}") for name in manifest.parts):
        return False
    if find_spec("faiss") is None:
        _log.warning("the index holds a FAISS part, but FAISS is not installed: pip install 'quoth[faiss]'")
        return False
    return True


def _load(folder: Path, sentences: int, *, with_faiss: bool) -> Piece:
    stored = np.load(folder / _VECTORS, mmap_mode="r") if sentences else np.load(folder / _VECTORS)
    index = None
    if with_faiss and sentences:
        from quoth.stores.embedded import approximate

        index = approximate.load(folder / _FAISS)
    rows, documents, tags = (np.load(folder / name) for name in (_ROWS, _DOCUMENTS, _TAGS))
    return Piece(rows, documents, tags, stored, index)


class ExactSearch:
    """Every cosine, each time: a matrix product that takes milliseconds up to some hundred thousand vectors."""

    def __init__(self, pieces: Sequence[Piece], split: Split) -> None:
        # By columns, because that product is twice as fast; block by block, to hold no second copy meanwhile; in one
        # matrix, because on a busy machine each call of the linear algebra library may wait for its own threads.
        self._matrix: Vectors = np.empty((split.total, pieces[0].stored.shape[1]), dtype=np.float32, order="F")
        self._split = split
        for start, piece in zip(split.starts, pieces, strict=False):
            for first in range(0, len(piece.stored), 1024):
                block = unpack(piece.stored[first : first + 1024])
                self._matrix[start + first : start + first + len(block)] = block

    def nearest(self, query: Vectors, count: int, allowed: Positions | None) -> Positions:
        if allowed is not None and len(allowed) < self._split.total // 16:  # one document, say
            return allowed[near_best(self._split.take(allowed) @ query, count)]
        cosines = self._matrix @ query
        return near_best(cosines, count) if allowed is None else allowed[near_best(cosines[allowed], count)]


def near_best(cosines: NDArray[np.float32], count: int) -> Positions:
    """Positions of the `count` best and of everything within rounding of the last of them."""
    if len(cosines) <= count:
        return np.arange(len(cosines))
    least = np.partition(cosines, len(cosines) - count)[len(cosines) - count]
    return np.flatnonzero(cosines >= least - 1e-5)
