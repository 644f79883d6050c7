"""Vector search over the partitions of a generation: exact, or with FAISS.

FAISS keeps an inverted file of 8-bit vectors for each partition, which proposes; the stored vectors decide.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from quoth.stores.database_rows import unit_vectors
from quoth.types import Vectors

_BATCH = 65_536
_TRAINING_PER_LIST = 40  # the least that FAISS takes without complaint; training is most of the time

# Lists hold about sqrt(n) / 4 vectors of a partition. Of the 50 nearest among vectors of real sentences with noise, one
# list in 16 held 96% (124,000 vectors) to 99.4% (a million), one in 8 98.5% to 99.7%, and one in 6 99% to 99.7% for
# half as much time again. More rounds of training than these 4 found no more.
_LISTS = 4
_ROUNDS = 4
_PROBED_SHARE = 8
_PROBED_AT_LEAST = 16
_RESCORED = 4  # times the asked number, to make up for what 8 bits lose

# Up to this many allowed vectors it is cheaper, and exact, to score them all.
_FEW = 50_000

Positions: TypeAlias = NDArray[np.int64]
"""Offsets into the vectors of a generation, counted through all partitions."""


@dataclass(frozen=True, slots=True, eq=False)
class PartitionVectors:
    """The loaded files of one partition. `stored` is memory-mapped; `faiss` is None if it is unused or empty."""

    rows: Positions
    documents: Positions
    tags: NDArray[np.int64]
    stored: NDArray[np.float16]
    faiss: Any | None


class PartitionOffsets:
    """The first position of each partition."""

    def __init__(self, partitions: Sequence[PartitionVectors]) -> None:
        self._partitions = partitions
        self.starts: Positions = np.cumsum([0, *(len(partition.rows) for partition in partitions)], dtype=np.int64)
        self.total = int(self.starts[-1])

    def within(self, positions: Positions, number: int) -> Positions:
        """Return the positions inside a partition, counted from its start. `positions` must be ascending."""
        first, last = np.searchsorted(positions, self.starts[number : number + 2])
        inside: Positions = positions[first:last] - self.starts[number]
        return inside

    def take(self, positions: Positions) -> Vectors:
        order = np.argsort(positions, kind="stable")
        ascending = positions[order]
        stored = [partition.stored[self.within(ascending, number)] for number, partition in enumerate(self._partitions)]
        taken = np.empty((len(positions), stored[0].shape[1]), dtype=np.float32)
        taken[order] = unit_vectors(np.concatenate(stored))
        return taken


class NearestSearch(Protocol):
    def nearest(self, query: Vectors, count: int, allowed: Positions | None) -> Positions:
        """Return positions that include the `count` nearest among `allowed` (ascending; None: all), and near ties."""


class ExactSearch:
    """Computes every cosine, which takes milliseconds for up to some hundred thousand vectors."""

    def __init__(self, partitions: Sequence[PartitionVectors], split: PartitionOffsets) -> None:
        # By columns, because that product is twice as fast; block by block, to hold no second copy meanwhile; in one
        # matrix, because on a busy machine each call of the linear algebra library may wait for its own threads.
        self._matrix: Vectors = np.empty((split.total, partitions[0].stored.shape[1]), dtype=np.float32, order="F")
        self._split = split
        for start, partition in zip(split.starts, partitions, strict=False):
            for first in range(0, len(partition.stored), 1024):
                block = unit_vectors(partition.stored[first : first + 1024])
                self._matrix[start + first : start + first + len(block)] = block

    def nearest(self, query: Vectors, count: int, allowed: Positions | None) -> Positions:
        if allowed is not None and len(allowed) < self._split.total // 16:  # one document, say
            return allowed[near_best(self._split.take(allowed) @ query, count)]
        cosines = self._matrix @ query
        return near_best(cosines, count) if allowed is None else allowed[near_best(cosines[allowed], count)]


def near_best(cosines: NDArray[np.float32], count: int) -> Positions:
    """Return the positions of the `count` best, and of all within rounding of the last of these."""
    if len(cosines) <= count:
        return np.arange(len(cosines))
    least = np.partition(cosines, len(cosines) - count)[len(cosines) - count]
    return np.flatnonzero(cosines >= least - 1e-5)


def build_faiss(stored: NDArray[np.float16], path: Path) -> None:
    """Train on an even sample and write the index; the same vectors always give the same index."""
    import faiss

    count, dimension = stored.shape
    lists = max(1, min(_LISTS * math.isqrt(count), count // 40))
    quantizer = faiss.IndexFlatIP(dimension)
    kind = faiss.ScalarQuantizer.QT_8bit
    index = faiss.IndexIVFScalarQuantizer(quantizer, dimension, lists, kind, faiss.METRIC_INNER_PRODUCT)
    index.cp.niter = _ROUNDS
    step = max(1, count // (_TRAINING_PER_LIST * lists))
    index.train(unit_vectors(stored[::step]))
    for start in range(0, count, _BATCH):
        index.add(unit_vectors(stored[start : start + _BATCH]))
    # FAISS writes in number and does not sync; the caller does, and renames.
    path.write_bytes(faiss.serialize_index(index).tobytes())


class FaissSearch:
    """Finds approximate neighbours in every partition, and rescores them from the stored vectors."""

    def __init__(self, partitions: Sequence[PartitionVectors], split: PartitionOffsets) -> None:
        self._partitions = partitions
        self._split = split

    def nearest(self, query: Vectors, count: int, allowed: Positions | None) -> Positions:
        if allowed is not None and len(allowed) <= _FEW:
            return self._exactly(query, count, allowed)
        found = list(self._proposed(query, _RESCORED * count, allowed))
        scores = np.concatenate([scores for scores, _ in found])
        positions = np.concatenate([positions for _, positions in found])
        if len(positions) < min(count, self._split.total if allowed is None else len(allowed)):
            # The probed lists held too few: nothing may be missing, so score everything allowed.
            return self._exactly(query, count, np.arange(self._split.total) if allowed is None else allowed)
        best = np.lexsort((positions, -scores))[: _RESCORED * count]
        return np.sort(positions[best])

    def _proposed(
        self, query: Vectors, wanted: int, allowed: Positions | None
    ) -> Iterator[tuple[NDArray[np.float32], Positions]]:
        import faiss

        for number, partition in enumerate(self._partitions):
            index = partition.faiss
            if index is None:  # a partition without evidence
                continue
            selector = None
            if allowed is not None:
                held = np.zeros(index.ntotal, dtype=np.bool_)
                held[self._split.within(allowed, number)] = True
                selector = faiss.IDSelectorBitmap(np.packbits(held, bitorder="little"))  # type: ignore[arg-type, call-arg]
            probed = max(_PROBED_AT_LEAST, index.nlist // _PROBED_SHARE)
            settings = faiss.SearchParametersIVF(nprobe=probed, sel=selector)  # type: ignore[call-arg]
            scores, found = index.search(query[None, :], min(wanted, index.ntotal), params=settings)
            proposed = found[0] >= 0
            yield scores[0][proposed], found[0][proposed] + self._split.starts[number]

    def _exactly(self, query: Vectors, count: int, allowed: Positions) -> Positions:
        blocks = (allowed[start : start + _BATCH] for start in range(0, len(allowed), _BATCH))
        cosines = np.concatenate([self._split.take(block) @ query for block in blocks])
        return allowed[near_best(cosines, count)]
