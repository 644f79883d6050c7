"""Vectors of the database: found by the id of their embedding, whatever was freed and taken before."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.errors import IndexDamaged
from quoth.stores.embedded import EmbeddedStore, sqlite_schema, vector_blocks

from .contract import write
from .fakes import HashEmbedder, numbered, split


def vector(number: int, *, dimension: int = 4) -> bytes:
    return np.full(dimension, number, dtype="<f2").tobytes()


class Kept:
    """A database of embeddings whose vectors are their keys."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self.connection = connection
        self.held: dict[int, int] = {}
        connection.executescript(sqlite_schema._SCHEMA.read_text(encoding="utf-8"))

    def add(self, keys: range, *, dimension: int = 4) -> None:
        ids = vector_blocks.take_ids(self.connection, len(keys), size=2 * dimension)
        assert ids == sorted(set(ids) - self.held.keys())
        rows = ((number, str(key), b"") for number, key in zip(ids, keys, strict=True))
        self.connection.executemany("INSERT INTO embeddings VALUES (?, ?, ?)", rows)
        made = ((number, vector(key, dimension=dimension)) for number, key in zip(ids, keys, strict=True))
        vector_blocks.put(self.connection, made)
        self.held |= dict(zip(ids, keys, strict=True))

    def remove(self, ids: list[int]) -> None:
        self.connection.executemany("DELETE FROM embeddings WHERE id = ?", ((number,) for number in ids))
        vector_blocks.free_ids(self.connection, ids)
        for number in ids:
            del self.held[number]

    def bytes(self) -> int:
        (size,) = self.connection.execute("SELECT coalesce(sum(length(vectors)), 0) FROM vectors").fetchone()
        return int(size)

    def check(self, wanted: list[int], *, dimension: int = 4) -> None:
        found = vector_blocks.read(self.connection, np.array(wanted, dtype=np.int64), dimension=dimension)
        assert found.tobytes() == b"".join(vector(self.held[number], dimension=dimension) for number in wanted)


@given(seed=st.integers(0, 99), steps=st.lists(st.tuples(st.booleans(), st.integers(1, 60)), max_size=8))
def test_every_vector_is_found_after_any_changes(seed: int, steps: list[tuple[bool, int]]) -> None:
    drawn = random.Random(seed)  # noqa: S311
    with closing(sqlite3.connect(":memory:")) as connection:
        kept = Kept(connection)
        for number, (adds, count) in enumerate(steps):
            if adds:
                kept.add(range(number * 100, number * 100 + count))
            else:
                kept.remove(drawn.sample(sorted(kept.held), min(count, len(kept.held))))
            kept.check(drawn.sample(sorted(kept.held), len(kept.held)))
            kept.check(drawn.sample(sorted(kept.held), len(kept.held) // 9))


def test_the_room_of_removed_vectors_is_used_again() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        kept = Kept(connection)
        kept.add(range(1000))
        before = kept.bytes()
        for turn in range(5):
            kept.remove(sorted(kept.held)[turn::7])
            first = 1000 * (turn + 1)
            kept.add(range(first, first + 1000 - len(kept.held)))
        assert kept.bytes() == before
        kept.remove(sorted(kept.held))
        assert kept.bytes() == 0


def test_vectors_of_two_models_lie_apart() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        kept = Kept(connection)
        kept.add(range(30))
        kept.remove([3, 4, 5])
        kept.add(range(100, 110), dimension=6)
        kept.check([number for number, key in kept.held.items() if key >= 100], dimension=6)
        kept.check([number for number, key in kept.held.items() if key < 100])


def test_a_missing_vector_is_damage() -> None:
    with closing(sqlite3.connect(":memory:")) as connection:
        kept = Kept(connection)
        kept.add(range(30))
        with pytest.raises(IndexDamaged, match="lacks vectors"):
            vector_blocks.read(connection, np.array([1, 400]), dimension=4)


def test_an_index_can_change_to_a_model_of_another_dimension(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path)
    write(store, [numbered("a.md", 50)])
    other = HashEmbedder(name="other", dimension=24)
    write(store, [numbered("a.md", 50), split("b.md", "One more.")], embedder=other)

    with store.read() as reader:
        assert reader.vectors("a.md").shape == (50, 24)
        expected = other.embed([sentence.search_text for sentence in reader.sentences("a.md")])
        assert np.abs(reader.vectors("a.md") - expected).max() < 0.001
