"""The vectors of the database, 21 in a row of the table: the id of an embedding says where its vector is."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from quoth.errors import IndexDamaged

_TOGETHER = 21
"""Of 384 dimensions, so many fill a page of 16 KB."""


def read(connection: sqlite3.Connection, embeddings: NDArray[np.int64], *, dimension: int) -> NDArray[np.float16]:
    """Return the vectors of these embeddings, in the same order."""
    blocks, which = np.unique(embeddings // _TOGETHER, return_inverse=True)
    if len(embeddings) < 4 * len(blocks):
        return unpacked(_scattered(connection, embeddings.tolist(), dimension), (len(embeddings), dimension))
    sql = "SELECT vectors FROM vectors WHERE block IN (SELECT value FROM json_each(?)) ORDER BY block"
    found = [blob for (blob,) in connection.execute(sql, (json.dumps(blocks.tolist()),))]
    stored = unpacked(found, (len(blocks) * _TOGETHER, dimension))
    vectors: NDArray[np.float16] = stored[which * _TOGETHER + embeddings % _TOGETHER]
    return vectors


def _scattered(connection: sqlite3.Connection, embeddings: Sequence[int], dimension: int) -> list[bytes]:
    """Read each vector by itself, where little of what lies beside it is wanted."""
    size = dimension * 2
    sql = (
        f"SELECT j.key, substr(v.vectors, 1 + {size} * (j.value % {_TOGETHER}), {size}) FROM json_each(?) j "  # noqa: S608 - numbers
        f"CROSS JOIN vectors v ON v.block = j.value / {_TOGETHER}"
    )
    return [blob for _, blob in sorted(connection.execute(sql, (json.dumps(embeddings),)))]


def unpacked(blobs: Sequence[bytes], shape: tuple[int, int]) -> NDArray[np.float16]:
    """Return the rows in `blobs`; `IndexDamaged` if there are others than expected."""
    stored = np.frombuffer(b"".join(blobs), dtype="<f2")
    if len(stored) != shape[0] * shape[1]:
        raise IndexDamaged("the database of the index lacks vectors that it lists", hint="Ingest into a new index.")
    return stored.reshape(shape)


def put(connection: sqlite3.Connection, vectors: Iterable[tuple[int, bytes]]) -> None:
    """Store the vectors of embeddings, ordered by id, within the open transaction."""
    for block, together in groupby(vectors, key=lambda pair: pair[0] // _TOGETHER):
        pairs = list(together)
        size = len(pairs[0][1])
        found = connection.execute("SELECT vectors FROM vectors WHERE block = ?", (block,)).fetchone()
        stored = bytearray(found[0] if found else size * _TOGETHER)
        for embedding, vector in pairs:
            start = embedding % _TOGETHER * size
            stored[start : start + size] = vector
        connection.execute("INSERT OR REPLACE INTO vectors VALUES (?, ?)", (block, bytes(stored)))


def take_ids(connection: sqlite3.Connection, count: int, *, size: int) -> list[int]:
    """Return ids for new embeddings with vectors of `size` bytes, ascending: free ones first, then new ones.

    Vectors of two sizes never share a row of the table: an interrupted write of another model may have left some.
    """
    length = size * _TOGETHER
    free = connection.execute(
        f"SELECT f.id FROM free_ids f JOIN vectors v ON v.block = f.id / {_TOGETHER} "  # noqa: S608 - a number
        "WHERE length(v.vectors) = ? ORDER BY f.id LIMIT ?",
        (length, count),
    )
    taken = [number for (number,) in free]
    connection.executemany("DELETE FROM free_ids WHERE id = ?", ((number,) for number in taken))
    (newest,) = connection.execute(
        "SELECT max(coalesce((SELECT max(id) FROM embeddings), 0), coalesce((SELECT max(id) FROM free_ids), 0))"
    ).fetchone()
    first = max(newest, taken[-1] if taken else 0) + 1
    held = connection.execute("SELECT length(vectors) FROM vectors WHERE block = ?", (first // _TOGETHER,)).fetchone()
    if held not in (None, (length,)):
        first = (first // _TOGETHER + 1) * _TOGETHER
    return [*taken, *range(first, first + count - len(taken))]


def free_ids(connection: sqlite3.Connection, embeddings: Sequence[int]) -> None:
    """Take back the ids of removed embeddings, and drop the rows that hold no other vector."""
    connection.executemany("INSERT INTO free_ids VALUES (?)", ((number,) for number in embeddings))
    for block in sorted({number // _TOGETHER for number in embeddings}):
        bounds = (block * _TOGETHER, (block + 1) * _TOGETHER - 1)
        used = connection.execute("SELECT 1 FROM embeddings WHERE id BETWEEN ? AND ? LIMIT 1", bounds).fetchone()
        if used is None:
            connection.execute("DELETE FROM vectors WHERE block = ?", (block,))
            connection.execute("DELETE FROM free_ids WHERE id BETWEEN ? AND ?", bounds)
