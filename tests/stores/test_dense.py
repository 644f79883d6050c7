"""The nearest vectors: few candidates hold all the best, and two cores find what one finds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.stores.embedded import dense_index
from quoth.stores.embedded.dense_index import ExactSearch, PartitionOffsets, PartitionVectors, near_best


@given(seed=st.integers(0, 99), size=st.integers(1, 3_000), count=st.integers(1, 20), steps=st.integers(1, 500))
def test_the_best_of_groups_leave_out_none_of_the_best(seed: int, size: int, count: int, steps: int) -> None:
    cosines = (np.random.default_rng(seed).integers(0, steps, size) / steps).astype(np.float32)
    found = near_best(cosines, count)

    least = np.sort(cosines)[-min(count, size)]
    assert found.tolist() == [at for at, cosine in enumerate(cosines) if cosine >= least - 1e-5]


def partition(size: int, *, seed: int) -> PartitionVectors:
    stored = np.random.default_rng(seed).standard_normal((size, 8)).astype(np.float16)
    empty = np.empty((0, 2), dtype=np.int64)
    return PartitionVectors(np.arange(size), np.zeros(size, dtype=np.int64), empty, stored, None, None)


def test_two_cores_find_what_one_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    partitions = [partition(1_500, seed=1), partition(70, seed=2), partition(2_000, seed=3)]
    split = PartitionOffsets(partitions)
    query = np.random.default_rng(4).standard_normal(8).astype(np.float32)
    monkeypatch.setattr(dense_index, "available_cores", lambda: 2)
    alone = ExactSearch(partitions, split)
    monkeypatch.setattr(dense_index, "_WORTH_TWO_CORES", 0)
    together = ExactSearch(partitions, split)

    found = together.nearest(query, 50, None)
    assert len(found) >= 50
    assert found.tolist() == alone.nearest(query, 50, None).tolist()
    assert split.take(found)[0].tolist() == together._matrix[found[0]].tolist()
