"""FAISS: an inverted file of 8-bit vectors for each shard proposes, the stored vectors decide."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import faiss
import numpy as np
from numpy.typing import NDArray

from quoth.stores.embedded.dense import Piece, Positions, Split, near_best
from quoth.stores.embedded.rows import unpack
from quoth.types import Vectors

_BATCH = 65_536
_TRAINING_PER_LIST = 40  # the least that FAISS takes without complaint; training is most of the time

# Lists hold about sqrt(n) / 4 vectors of a shard. Of the 50 nearest among vectors of real sentences with noise, one
# list in 16 held 96% (124,000 vectors) to 99.4% (a million), one in 8 98.5% to 99.7%, and one in 6 99% to 99.7% for
# half as much time again. More rounds of training than these 4 found no more.
_LISTS = 4
_ROUNDS = 4
_PROBED_SHARE = 8
_PROBED_AT_LEAST = 16
_RESCORED = 4  # times the asked number, to make up for what 8 bits lose

# Up to this many allowed vectors it is cheaper, and exact, to score them all.
_FEW = 50_000


def build(stored: NDArray[np.float16], path: Path) -> None:
    """Train on an even sample and write the index; the same vectors always give the same index."""
    count, dimension = stored.shape
    lists = max(1, min(_LISTS * math.isqrt(count), count // 40))
    quantizer = faiss.IndexFlatIP(dimension)
    kind = faiss.ScalarQuantizer.QT_8bit
    index = faiss.IndexIVFScalarQuantizer(quantizer, dimension, lists, kind, faiss.METRIC_INNER_PRODUCT)
    index.cp.niter = _ROUNDS
    step = max(1, count // (_TRAINING_PER_LIST * lists))
    index.train(unpack(stored[::step]))
    for start in range(0, count, _BATCH):
        index.add(unpack(stored[start : start + _BATCH]))
    # FAISS writes in place and does not sync; the caller does, and renames.
    path.write_bytes(faiss.serialize_index(index).tobytes())


def load(path: Path) -> faiss.Index:
    return faiss.read_index(str(path))


class FaissSearch:
    """Approximate neighbours from every shard, rescored exactly from the memory-mapped vectors."""

    def __init__(self, pieces: Sequence[Piece], split: Split) -> None:
        self._pieces = pieces
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
        for place, piece in enumerate(self._pieces):
            index = piece.faiss
            if index is None:  # a shard without evidence
                continue
            selector = None
            if allowed is not None:
                held = np.zeros(index.ntotal, dtype=np.bool_)
                held[self._split.within(allowed, place)] = True
                selector = faiss.IDSelectorBitmap(np.packbits(held, bitorder="little"))  # type: ignore[arg-type, call-arg]
            probed = max(_PROBED_AT_LEAST, index.nlist // _PROBED_SHARE)
            settings = faiss.SearchParametersIVF(nprobe=probed, sel=selector)  # type: ignore[call-arg]
            scores, found = index.search(query[None, :], min(wanted, index.ntotal), params=settings)
            proposed = found[0] >= 0
            yield scores[0][proposed], found[0][proposed] + self._split.starts[place]

    def _exactly(self, query: Vectors, count: int, allowed: Positions) -> Positions:
        blocks = (allowed[start : start + _BATCH] for start in range(0, len(allowed), _BATCH))
        cosines = np.concatenate([self._split.take(block) @ query for block in blocks])
        return allowed[near_best(cosines, count)]
