"""Two bits for each dimension of a vector, compared with every vector of an index to propose the nearest.

A vector is turned by a fixed rotation, after which its numbers spread alike whatever the model, and each is rounded to
the best four levels of a normal distribution. Nothing is trained, so a code depends on its vector alone: not on the
other vectors, and not on how they are divided. FAISS looks all codes up in a small table for each question (its "fast
scan" of product quantizers, with two dimensions for four bits).
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from quoth.machine import available_cores
from quoth.types import Vectors

Codes: TypeAlias = NDArray[np.uint8]
"""A row for each vector: four dimensions a byte."""

_TURNED_TOGETHER = 64
"""Dimensions of one step of the rotation; vectors are padded with zeros to a multiple of it."""
_ROUNDS = 2
"""After two steps, with the dimensions dealt out between them, each number depends on all dimensions."""

_WORTH_TWO_CORES = 2_000_000
"""Vectors: the codes of fewer are compared in the time that another thread may wait for a core."""

# The best four levels for a normal distribution of variance 1, and the bounds between them (Lloyd and Max).
_LEVELS = np.array([-1.5104, -0.4528, 0.4528, 1.5104], dtype=np.float32)
_BOUND = np.float32(0.9816)


def encode(vectors: Vectors) -> Codes:
    """Return the codes of unit vectors."""
    turned = _turned(vectors)
    bound = _BOUND / np.float32(np.sqrt(turned.shape[1]))
    levels = (turned > -bound).view(np.uint8) + (turned > 0).view(np.uint8) + (turned > bound).view(np.uint8)
    pairs = levels[:, 0::2] | levels[:, 1::2] << 2
    return (pairs[:, 0::2] | pairs[:, 1::2] << 4).astype(np.uint8, copy=False)


def _turned(vectors: Vectors) -> Vectors:
    """Rotate rows: signs, then a Hadamard transform of each run of dimensions, twice.

    Sums of two numbers, in a fixed order, give the same bits on every machine.
    """
    count, dimension = vectors.shape
    runs = -(-dimension // _TURNED_TOGETHER)
    padded = runs * _TURNED_TOGETHER
    turned: Vectors = np.zeros((count, padded), dtype=np.float32)
    turned[:, :dimension] = vectors
    for number in range(_ROUNDS):
        turned *= _signs(padded, number)
        # Whole rows are added, each of one dimension in all runs.
        mixed = np.ascontiguousarray(turned.reshape(count * runs, _TURNED_TOGETHER).T)
        step = 1
        while step < _TURNED_TOGETHER:
            halves = mixed.reshape(_TURNED_TOGETHER // (2 * step), 2, step, count * runs)
            mixed = np.stack([halves[:, 0] + halves[:, 1], halves[:, 0] - halves[:, 1]], axis=1)
            step *= 2
        dealt = mixed.reshape(_TURNED_TOGETHER, count, runs).transpose(1, 0, 2)
        turned = dealt.reshape(count, padded) / np.float32(np.sqrt(_TURNED_TOGETHER))
    return turned


def _signs(dimension: int, number: int) -> Vectors:
    """Return ones with signs that look random, the same for ever: multiples of an odd number, by their high bit."""
    mixed = (np.arange(dimension, dtype=np.uint64) + np.uint64(1 + number * dimension)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    signs: Vectors = np.where(mixed >> np.uint64(63), np.float32(1), np.float32(-1)).astype(np.float32)
    return signs


_MARGIN = 0.6
"""Nearly twice the usual error of the difference of two scores, for one dimension: 2 bits lose 12% of the square."""


class CodeScan:
    """All codes of an index in memory. Threads may share it. `parts` follow each other in the order of positions."""

    def __init__(self, parts: Sequence[Codes]) -> None:
        codes = np.concatenate(parts)
        # Always two halves, so that what is found does not depend on the number of cores.
        self._middle = len(codes) // 2
        self._halves = [_fast_scan(codes[: self._middle]), _fast_scan(codes[self._middle :])]
        self.total = len(codes)
        self._dimension = codes.shape[1] * 4
        shared = self.total >= _WORTH_TWO_CORES and available_cores() > 1
        self._second_core = ThreadPoolExecutor(1, thread_name_prefix="codes") if shared else None

    @property
    def margin(self) -> float:
        """How far two scores are apart, usually, when their order is that of the cosines."""
        return _MARGIN / float(np.sqrt(self._dimension))

    def best(self, query: Vectors, count: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Return scores and positions of the `count` best or of all, best first; equal ones by position."""
        turned = _turned(query[None, :])
        rest: Future[Any] | None = None
        if self._second_core is not None:
            rest = self._second_core.submit(_searched, self._halves[1], turned, count)
        scores, found = _searched(self._halves[0], turned, count)
        if rest is None or rest.cancel():  # it has not begun: no core was free
            more_scores, more = _searched(self._halves[1], turned, count)
        else:
            more_scores, more = rest.result()
        scores, found = np.concatenate([scores, more_scores]), np.concatenate([found, more + self._middle])
        order = np.lexsort((found, -scores))[:count]
        return scores[order], found[order]


def _searched(index: Any, turned: Vectors, count: int) -> tuple[NDArray[np.float32], NDArray[np.int64]]:  # noqa: ANN401
    if index.ntotal == 0:
        return np.empty(0, dtype=np.float32), np.empty(0, dtype=np.int64)
    scores, found = index.search(turned, min(count, index.ntotal))
    held = found[0] >= 0
    return scores[0][held], found[0][held]


def _fast_scan(codes: Codes) -> Any:  # noqa: ANN401 - a type of FAISS, which is optional
    import faiss

    dimension = codes.shape[1] * 4
    plain = faiss.IndexPQ(dimension, dimension // 2, 4, faiss.METRIC_INNER_PRODUCT)
    levels = _LEVELS / np.float32(np.sqrt(dimension))
    pairs = np.stack([np.tile(levels, 4), np.repeat(levels, 4)], axis=1)
    faiss.copy_array_to_vector(np.tile(pairs.ravel(), dimension // 2), plain.pq.centroids)
    faiss.copy_array_to_vector(np.ascontiguousarray(codes).ravel(), plain.codes)
    plain.is_trained = True
    plain.ntotal = len(codes)
    return faiss.IndexPQFastScan(plain)  # type: ignore[arg-type]
