"""How documents are dealt out over the shards of a generation, so that a small change rebuilds a small part.

What is derived from a shard depends on its own documents alone, and a document's shard on its id and on how large the
index is. So an index that was updated is the same, byte for byte in its answers, as one that was built afresh from the
same documents; and a shard whose documents did not change is taken over as it is.
"""

from __future__ import annotations

import hashlib
import json
import logging
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec

from quoth.stores.embedded.rows import Row
from quoth.text.terms import ANALYSIS_VERSION

FOLDER = "shards"
_VERSION = 1  # raise it when the files of a shard come to hold something else


_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Layout:
    """`smallest_shard` sentences are never divided; more than `faiss_threshold` vectors are searched through FAISS."""

    faiss_threshold: int
    smallest_shard: int

    def shards(self, sentences: int) -> int:
        """Two for the first doubling, and then twice as many for four times the sentences.

        Every further shard costs each question some time, and saves some of the time of a small update.
        """
        return 1 << ((sentences // self.smallest_shard).bit_length() // 2)


@dataclass(frozen=True, slots=True)
class Shard:
    """`documents` are their rows, by id. Shards of one key hold the same."""

    number: int
    key: str
    documents: tuple[int, ...]
    faiss: bool

    @property
    def folder(self) -> str:
        return f"{FOLDER}/{self.number:03d}"


def deal(connection: sqlite3.Connection, layout: Layout) -> tuple[Shard, ...]:
    """The shards of what `connection` sees."""
    (sentences,) = connection.execute("SELECT count(*) FROM sentences WHERE embedding IS NOT NULL").fetchone()
    dealt: list[list[tuple[str, int, str]]] = [[] for _ in range(layout.shards(sentences))]
    for doc_id, row, fingerprint in connection.execute("SELECT id, row, fingerprint FROM documents ORDER BY id"):
        dealt[lot(doc_id) % len(dealt)].append((doc_id, row, fingerprint))
    many = sentences > max(layout.faiss_threshold, 1)
    faiss = many and find_spec("faiss") is not None
    if many and not faiss:
        _log.warning("%d vectors: pip install 'quoth[faiss]' and ingest again for faster search", sentences)
    return tuple(
        Shard(
            number,
            _key([_makers(with_faiss=faiss), number, len(dealt), documents]),
            tuple(row for _, row, _ in documents),
            faiss,
        )
        for number, documents in enumerate(dealt)
    )


def evidence(connection: sqlite3.Connection, shard: Shard, *, columns: str, join: str) -> Iterator[Row]:
    """Columns of each sentence `s` of the shard that can be evidence: by document id, then in reading order."""
    # One document at a time: each is a short run of rows, and no long list is ever held.
    sql = (
        f"SELECT {columns} FROM sentences s {join} WHERE s.document = ? AND s.embedding IS NOT NULL ORDER BY s.ordinal"  # noqa: S608
    )
    for document in shard.documents:
        yield from connection.execute(sql, (document,))


def lot(doc_id: str) -> int:
    """What decides the shard of a document: its remainder by their number."""
    return int.from_bytes(hashlib.sha256(doc_id.encode()).digest()[:8], "big")


def _key(content: object) -> str:
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()


@cache
def _makers(*, with_faiss: bool) -> str:
    """What makes the files of a shard. Parts made by two versions of it must not be searched together."""
    made = [_VERSION, ANALYSIS_VERSION, version("tantivy")]
    if with_faiss:
        import faiss

        made.append(faiss.__version__)
    return _key(made)
