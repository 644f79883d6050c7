"""The nearest vectors: few candidates hold all the best, and two cores find what one finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from quoth.errors import ModelError
from quoth.stores.database_rows import unit_vectors
from quoth.stores.embedded import dense_index
from quoth.stores.embedded.dense_index import CodeSearch, ExactSearch, PartitionVectors, checked_vector, near_best
from quoth.types import Vectors


@given(seed=st.integers(0, 99), size=st.integers(1, 3_000), count=st.integers(1, 20), steps=st.integers(1, 500))
def test_the_best_of_groups_leave_out_none_of_the_best(seed: int, size: int, count: int, steps: int) -> None:
    cosines = (np.random.default_rng(seed).integers(0, steps, size) / steps).astype(np.float32)
    found = near_best(cosines, count)

    least = np.sort(cosines)[-min(count, size)]
    assert found.tolist() == [at for at, cosine in enumerate(cosines) if cosine >= least - 1e-5]


class Stored:
    """The vectors that embeddings have, as `DocumentTables` gives them."""

    dimension = 8

    def __init__(self, size: int) -> None:
        self._stored = np.random.default_rng(1).standard_normal((size, 8)).astype(np.float16)

    def vectors(self, embeddings: NDArray[np.int64]) -> NDArray[np.float16]:
        return self._stored[embeddings]


def partition(first: int, size: int) -> PartitionVectors:
    rows = np.arange(first, first + size)
    return PartitionVectors(rows, np.zeros(size, dtype=np.int64), rows, np.empty((0, 2), dtype=np.int64), None, None)


def test_two_cores_find_what_one_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    stored: Any = Stored(3_570)
    partitions = [partition(0, 1_500), partition(1_500, 70), partition(1_570, 2_000)]
    query = np.random.default_rng(4).standard_normal(8).astype(np.float32)
    monkeypatch.setattr(dense_index, "available_cores", lambda: 2)
    alone = ExactSearch(partitions, stored)
    monkeypatch.setattr(dense_index, "_WORTH_TWO_CORES", 0)
    together = ExactSearch(partitions, stored)

    def take(positions: NDArray[np.int64]) -> Vectors:
        return together.take(positions, stored)

    found = together.nearest(query, 50, None, take)
    assert len(found) >= 50
    assert found.tolist() == alone.nearest(query, 50, None, take).tolist()
    assert np.array_equal(together.take(found, stored), unit_vectors(stored.vectors(found)))


def test_a_vector_that_is_no_number_is_refused() -> None:
    with pytest.raises(ModelError, match="no number"):
        checked_vector(np.full(8, np.nan, dtype=np.float32), 8)


@pytest.mark.parametrize("allowed", [None, np.arange(0, 30_000, 2)])
def test_a_vector_without_a_direction_is_compared_with_all(allowed: NDArray[np.int64] | None) -> None:
    pytest.importorskip("faiss")
    stored: Any = Stored(30_000)
    search = CodeSearch([partition(0, 30_000)], stored)

    def take(positions: NDArray[np.int64]) -> Vectors:
        return search.take(positions, stored)

    found = search.nearest(np.zeros(8, dtype=np.float32), 50, allowed, take)
    assert set(found.tolist()) <= set(range(30_000) if allowed is None else allowed.tolist())
