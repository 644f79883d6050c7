"""One write: stage the documents, embed what is new, then publish everything in one transaction.

SQLite lets one transaction write at a time, and vectors must be durable long before the documents are published. So
documents wait in a database of their own (`staging.db`, which nobody needs after a crash), each chunk of vectors
commits by itself, and the last transaction moves the documents over, builds the derived indexes from what it sees, and
names the new generation. Its commit is the moment of publication.
"""

# ruff: noqa: S608  only constant names are put into SQL; values are always bound

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from quoth.errors import IndexMismatch, ModelError
from quoth.protocols import Embedder, Progress
from quoth.stores.embedded import derived, rows, schema, staging
from quoth.stores.embedded.faults import writing
from quoth.stores.embedded.shards import Layout
from quoth.types import IndexInfo, ModelIdentity, SplitDocument

_CHUNK = 4096  # texts: enough to sort by length well, few enough to lose little when interrupted


class Write:
    """The state of one write; `run` does it all."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        place: Path,
        *,
        embedder: Embedder,
        profile: tuple[str, str],
        progress: Progress | None,
        layout: Layout,
    ) -> None:
        self._connection = connection
        self._place = place
        self._embedder = embedder
        self._model = embedder.identity
        self._profile = profile
        self._progress = progress
        self._layout = layout
        with writing(place):
            self._old = schema.read_info(connection, place)

    def run(self, put: Iterable[SplitDocument], remove: Collection[str]) -> IndexInfo:
        with staging.attached(self._connection, self._place):
            changed = self._stage(put, remove)
            self._check_model()
            if self._old is not None and not changed and self._described_alike(self._old):
                return self._old
            self._embed_missing()
            return self._publish()

    def _stage(self, put: Iterable[SplitDocument], remove: Collection[str]) -> bool:
        """Set the documents aside; say whether any of this changes the index."""
        with writing(self._place):
            known = schema.read_known(self._connection)
        other_model = self._old is not None and self._old.model != self._model
        seen = set()
        moved: dict[str, str] = {}
        for split in put:
            doc_id = split.document.id
            before = known.get(doc_id)
            seen.add(doc_id)
            moved.pop(doc_id, None)
            with self._transaction():
                staging.take_back(self._connection, doc_id)  # the last version of a document counts
                if other_model or before is None or before.fingerprint != split.fingerprint:
                    staging.put(self._connection, split, model=self._model)
                elif before.root != split.root:
                    moved[doc_id] = split.root
        with self._transaction():
            gone = [(doc_id,) for doc_id in sorted(known.keys() & set(remove) - seen)]
            self._connection.executemany("INSERT INTO staging.removed VALUES (?)", gone)
            # Where a document was found is no part of the index's identity: that needs no new generation.
            places = ((root, doc_id) for doc_id, root in moved.items())
            self._connection.executemany("UPDATE main.documents SET root = ? WHERE id = ?", places)
            (staged,) = self._connection.execute("SELECT count(*) FROM staging.documents").fetchone()
        return bool(staged or gone)

    def _check_model(self) -> None:
        """Vectors of two models never mix, so another model must bring every document anew."""
        if self._old is None or self._old.model == self._model:
            return
        (kept,) = self._connection.execute(
            f"SELECT count(*) FROM documents WHERE id NOT IN ({staging.LEAVING})"
        ).fetchone()
        if kept:
            raise IndexMismatch(
                f"the index at {self._place} was made with {_named(self._old.model)}, not {_named(self._model)}",
                hint="Ingest into another directory (--index), or remove this one first.",
            )

    def _described_alike(self, old: IndexInfo) -> bool:
        return (old.model, old.profile_name, old.profile_source) == (self._model, *self._profile)

    def _embed_missing(self) -> None:
        with self._transaction():
            self._connection.execute(
                "INSERT INTO staging.missing SELECT min(row), key FROM staging.sentences "
                "WHERE key IS NOT NULL AND key NOT IN (SELECT key FROM embeddings) GROUP BY key"
            )
            (total,) = self._connection.execute("SELECT count(*) FROM staging.missing").fetchone()
        done = last = 0
        while done < total:
            with writing(self._place):
                found = self._connection.execute(
                    "SELECT m.sentence, m.key, s.text, s.lead_start, s.lead_stop, s.lead_text FROM staging.missing m "
                    "JOIN staging.sentences s ON s.row = m.sentence WHERE m.sentence > ? ORDER BY m.sentence LIMIT ?",
                    (last, _CHUNK),
                ).fetchall()
            vectors, tokens = self._embed(list(rows.search_texts(row[2:] for row in found)), done=done, total=total)
            with self._transaction():
                (newest,) = self._connection.execute("SELECT coalesce(max(id), 0) FROM embeddings").fetchone()
                self._connection.executemany(
                    "INSERT INTO embeddings (key, vector, tokens) VALUES (?, ?, ?)",
                    ((row[1], vector.tobytes(), one) for row, vector, one in zip(found, vectors, tokens, strict=True)),
                )
                self._connection.execute("INSERT INTO loose SELECT id FROM embeddings WHERE id > ?", (newest,))
            done += len(found)
            last = found[-1][0]

    def _embed(self, texts: list[str], *, done: int, total: int) -> tuple[NDArray[np.float16], list[bytes]]:
        def overall(what: str, here: int, _: int) -> None:
            if self._progress is not None:
                self._progress(what, done + here, total)

        vectors, tokens = self._embedder.embed_tokens(texts, progress=overall)
        wanted = (len(texts), self._model.dimension)
        if vectors.shape != wanted or not np.isfinite(vectors).all():
            raise ModelError(
                f"{self._model.name} gave vectors of shape {vectors.shape} or not finite, where {wanted} was due",
                hint="Check the model's files; nothing was published.",
            )
        return vectors.astype(np.float16), tokens

    def _publish(self) -> IndexInfo:
        generation = self._old.generation + 1 if self._old else 1
        self._tell("indexing", 0, 0)  # not inside the transaction: what a listener raises is not the index's fault
        with self._transaction():
            staging.publish(self._connection)
            info = schema.describe(self._connection, generation=generation, model=self._model, profile=self._profile)
            derived.build(
                self._connection,
                self._place,
                generation=generation,
                dimension=self._model.dimension,
                layout=self._layout,
                previous=self._old.generation if self._old else None,
            )
            schema.write_info(self._connection, info)
        self._tell("indexing", info.sentences, info.sentences)
        return info

    def _tell(self, what: str, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(what, done, total)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with writing(self._place):
            self._connection.execute("BEGIN")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
                raise


def _named(model: ModelIdentity) -> str:
    return f"{model.name} ({model.revision}, {model.precision}, {model.dimension} dimensions)"
