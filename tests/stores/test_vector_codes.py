"""Codes of vectors: they depend on their vector alone, and propose what is near."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.stores.embedded import EmbeddedStore
from quoth.stores.embedded.vector_codes import CodeScan, encode
from quoth.types import Vectors

from .contract import write
from .fakes import HashEmbedder, split


def unit(count: int, *, dimension: int, seed: int) -> Vectors:
    """Vectors of some topics, with most of their length in few dimensions, as those of real models have it."""
    drawn = np.random.default_rng(seed)
    spread = drawn.exponential(size=dimension)
    topics = drawn.standard_normal((count // 40 + 1, dimension))
    vectors = (topics[drawn.integers(len(topics), size=count)] + drawn.standard_normal((count, dimension))) * spread
    made: Vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    return made


@given(dimension=st.sampled_from([8, 32, 100, 384]), count=st.integers(1, 40), seed=st.integers(0, 9))
def test_a_code_depends_on_its_vector_alone(dimension: int, count: int, seed: int) -> None:
    vectors = unit(count, dimension=dimension, seed=seed)
    together = encode(vectors)

    assert together.shape == (count, -(-dimension // 64) * 16)
    assert all(np.array_equal(encode(vectors[number : number + 1])[0], together[number]) for number in range(count))


@pytest.mark.parametrize("dimension", [100, 384])
def test_few_proposals_hold_the_nearest(dimension: int) -> None:
    pytest.importorskip("faiss")
    vectors = unit(20_000, dimension=dimension, seed=1)
    scan = CodeScan([encode(vectors[:7_000]), encode(vectors[7_000:])])

    found = 0
    for query in unit(20, dimension=dimension, seed=1)[:20]:
        nearest = np.argsort(-(vectors @ query))[:50]
        found += len(set(scan.best(query, 400)[1].tolist()) & set(nearest.tolist()))
    assert found / 1000 >= 0.95


def test_no_more_is_proposed_than_there_is() -> None:
    pytest.importorskip("faiss")
    vectors = unit(3, dimension=32, seed=1)

    assert sorted(CodeScan([encode(vectors)]).best(vectors[0], 10)[1].tolist()) == [0, 1, 2]


def test_among_vectors_that_are_nearly_alike_what_is_found_is_as_near(tmp_path: Path) -> None:
    pytest.importorskip("faiss")
    drawn = np.random.default_rng(1)
    topics = drawn.standard_normal((4, 32)) * 8
    vectors = topics[drawn.integers(4, size=3_000)] + drawn.standard_normal((3_000, 32))

    class Alike(HashEmbedder):
        def _vector(self, text: str) -> Vectors:
            number = int(text.split()[1])
            made: Vectors = (vectors[number] / np.linalg.norm(vectors[number])).astype(np.float32)
            return made

    store = EmbeddedStore(tmp_path, faiss_threshold=2)
    write(store, [split("a.md", *(f"Sentence {number} of many." for number in range(3_000)))], embedder=Alike())
    with store.read_part() as reader:
        for number in range(0, 3_000, 500):
            query = reader.vectors("a.md")[number]
            _, found = reader.dense.nearest(query, 20, None, reader.tables)
            _, best = reader.dense.nearest(query, 20, np.arange(3_000), reader.tables, exactly=True)
            assert found[0] == best[0] == 1
            assert found[19] >= best[19] - 0.005
