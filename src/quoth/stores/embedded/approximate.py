"""FAISS: an inverted file of 8-bit vectors proposes, the stored vectors decide."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import faiss
import numpy as np
from numpy.typing import NDArray

from quoth.stores.embedded.dense import Positions, near_best
from quoth.stores.embedded.rows import unpack
from quoth.types import Vectors

_BATCH = 65_536
_TRAINING_PER_LIST = 40  # the least that FAISS takes without complaint; training is most of the time

# Lists hold about sqrt(n) / 4 vectors. On 200,000 clustered vectors, one list in 32 held 99.5% of the 50 nearest, and
# one in 16 99.8%: real vectors are less tidy, so the latter.
_PROBED_SHARE = 16
_PROBED_AT_LEAST = 16
_RESCORED = 4  # times the asked number, to make up for what 8 bits lose

# Up to this many allowed vectors it is cheaper, and exact, to score them all.
_FEW = 50_000


def build(stored: NDArray[np.float16], path: Path) -> None:
    """Train on an even sample and write the index."""
    count, dimension = stored.shape
    lists = max(1, min(4 * math.isqrt(count), count // 40))
    quantizer = faiss.IndexFlatIP(dimension)
    kind = faiss.ScalarQuantizer.QT_8bit
    index = faiss.IndexIVFScalarQuantizer(quantizer, dimension, lists, kind, faiss.METRIC_INNER_PRODUCT)
    step = max(1, count // (_TRAINING_PER_LIST * lists))
    index.train(unpack(stored[::step]))
    for start in range(0, count, _BATCH):
        index.add(unpack(stored[start : start + _BATCH]))
    # FAISS writes in place and does not sync; the caller does, and renames.
    path.write_bytes(faiss.serialize_index(index).tobytes())


class FaissSearch:
    """Approximate neighbours, rescored exactly from the memory-mapped vectors."""

    def __init__(self, path: Path, stored: NDArray[np.float16]) -> None:
        index: Any = faiss.read_index(str(path))
        self._index = index
        self._probed = max(_PROBED_AT_LEAST, index.nlist // _PROBED_SHARE)
        self._stored = stored

    def nearest(self, query: Vectors, count: int, allowed: Positions | None) -> Positions:
        if allowed is not None and len(allowed) <= _FEW:
            return self._exactly(query, count, allowed)
        wanted = min(_RESCORED * count, len(self._stored))
        selector = None if allowed is None else faiss.IDSelectorBatch(allowed)
        settings = faiss.SearchParametersIVF(nprobe=self._probed, sel=selector)  # type: ignore[call-arg]
        _, found = self._index.search(query[None, :], wanted, params=settings)
        proposed: Positions = np.sort(found[0][found[0] >= 0])
        if len(proposed) < min(count, len(self._stored) if allowed is None else len(allowed)):
            # The probed lists held too few: nothing may be missing, so score everything allowed.
            return self._exactly(query, count, np.arange(len(self._stored)) if allowed is None else allowed)
        return proposed

    def take(self, positions: Positions) -> Vectors:
        return unpack(self._stored[positions])

    def _exactly(self, query: Vectors, count: int, allowed: Positions) -> Positions:
        blocks = (allowed[start : start + _BATCH] for start in range(0, len(allowed), _BATCH))
        cosines = np.concatenate([self.take(block) @ query for block in blocks])
        return allowed[near_best(cosines, count)]
