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
from quoth.stores.embedded import derived, rows, schema
from quoth.stores.embedded.faults import writing
from quoth.types import IndexInfo, ModelIdentity, SplitDocument

_CHUNK = 4096  # texts: enough to sort by length well, few enough to lose little when interrupted
_STAGING = "staging.db"

_STAGING_SCHEMA = f"""
CREATE TABLE staging.documents (number INTEGER PRIMARY KEY, {rows.DOCUMENT_COLUMNS});
CREATE UNIQUE INDEX staging.documents_by_id ON documents (id);
CREATE TABLE staging.sentences (row INTEGER PRIMARY KEY, document INTEGER NOT NULL, {rows.SENTENCE_COLUMNS}, key BLOB);
CREATE INDEX staging.sentences_by_document ON sentences (document);
CREATE TABLE staging.removed (id TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE staging.missing (sentence INTEGER PRIMARY KEY, key BLOB NOT NULL);
"""


_LEAVING = "SELECT id FROM staging.documents UNION ALL SELECT id FROM staging.removed"


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
        faiss_threshold: int,
    ) -> None:
        self._connection = connection
        self._place = place
        self._embedder = embedder
        self._model = embedder.identity
        self._profile = profile
        self._progress = progress
        self._faiss_threshold = faiss_threshold
        with writing(place):
            self._old = schema.read_info(connection, place)

    def run(self, put: Iterable[SplitDocument], remove: Collection[str]) -> IndexInfo:
        with self._staging():
            changed = self._stage(put, remove)
            self._check_model()
            if self._old is not None and not changed and self._described_alike(self._old):
                return self._old
            self._embed_missing()
            return self._publish()

    @contextmanager
    def _staging(self) -> Iterator[None]:
        with writing(self._place):
            discard_staging(self._place)
            self._connection.execute("ATTACH ? AS staging", (str(self._place / _STAGING),))
        try:
            with writing(self._place):
                self._connection.execute("PRAGMA staging.journal_mode = OFF")
                self._connection.execute("PRAGMA staging.synchronous = OFF")
                self._connection.executescript(_STAGING_SCHEMA)
            yield
        finally:
            with suppress(sqlite3.Error):  # the error that led here says more
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                self._connection.execute("DETACH staging")
            discard_staging(self._place)

    def _stage(self, put: Iterable[SplitDocument], remove: Collection[str]) -> bool:
        """Set the documents aside; say whether any of this changes the index."""
        with writing(self._place):
            known = dict(self._connection.execute("SELECT id, fingerprint FROM documents"))
        other_model = self._old is not None and self._old.model != self._model
        seen = set()
        for split in put:
            seen.add(split.document.id)
            with self._transaction():
                self._unstage(split.document.id)  # the last version of a document counts
                if other_model or known.get(split.document.id) != split.fingerprint:
                    self._stage_document(split)
        with self._transaction():
            gone = [(doc_id,) for doc_id in sorted(known.keys() & set(remove) - seen)]
            self._connection.executemany("INSERT INTO staging.removed VALUES (?)", gone)
            (staged,) = self._connection.execute("SELECT count(*) FROM staging.documents").fetchone()
        return bool(staged or gone)

    def _unstage(self, doc_id: str) -> None:
        number = "(SELECT number FROM staging.documents WHERE id = ?)"
        self._connection.execute(f"DELETE FROM staging.sentences WHERE document = {number}", (doc_id,))
        self._connection.execute("DELETE FROM staging.documents WHERE id = ?", (doc_id,))

    def _stage_document(self, split: SplitDocument) -> None:
        values = rows.document_row(split)
        added = self._connection.execute(
            f"INSERT INTO staging.documents ({rows.DOCUMENT_COLUMNS}) VALUES ({_marks(len(values))})", values
        )
        sentences = (
            (
                added.lastrowid,
                *rows.sentence_row(ordinal, sentence),
                rows.embedding_key(self._model, sentence.search_text) if sentence.kind.evidence else None,
            )
            for ordinal, sentence in enumerate(split.sentences)
        )
        self._connection.executemany(
            f"INSERT INTO staging.sentences (document, {rows.SENTENCE_COLUMNS}, key) VALUES ({_marks(13)})", sentences
        )

    def _check_model(self) -> None:
        """Vectors of two models never mix, so another model must bring every document anew."""
        if self._old is None or self._old.model == self._model:
            return
        (kept,) = self._connection.execute(f"SELECT count(*) FROM documents WHERE id NOT IN ({_LEAVING})").fetchone()
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
                self._connection.executemany(
                    "INSERT INTO embeddings (key, vector, tokens) VALUES (?, ?, ?)",
                    ((row[1], vector.tobytes(), one) for row, vector, one in zip(found, vectors, tokens, strict=True)),
                )
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
            self._move_staged()
            info = schema.describe(self._connection, generation=generation, model=self._model, profile=self._profile)
            derived.build(
                self._connection,
                self._place,
                generation=generation,
                dimension=self._model.dimension,
                faiss_threshold=self._faiss_threshold,
            )
            schema.write_info(self._connection, info)
        self._tell("indexing", info.sentences, info.sentences)
        return info

    def _move_staged(self) -> None:
        execute = self._connection.execute
        execute(f"DELETE FROM documents WHERE id IN ({_LEAVING})")
        execute(
            f"INSERT INTO documents ({rows.DOCUMENT_COLUMNS}) "
            f"SELECT {rows.DOCUMENT_COLUMNS} FROM staging.documents ORDER BY number"
        )
        (last,) = execute("SELECT coalesce(max(row), 0) FROM sentences").fetchone()
        columns = ", ".join(f"s.{column}" for column in rows.SENTENCE_COLUMNS.split(", "))
        execute(
            f"INSERT INTO sentences (document, {rows.SENTENCE_COLUMNS}, embedding) SELECT d.row, {columns}, e.id "
            "FROM staging.sentences s JOIN staging.documents t ON t.number = s.document "
            "JOIN main.documents d ON d.id = t.id LEFT JOIN embeddings e ON e.key = s.key ORDER BY t.number, s.ordinal"
        )
        tagged = (
            "FROM main.sentences s, json_each(s.tags) facet, json_each(facet.value) value WHERE s.row > ? "
            "AND s.tags <> '{}'"
        )
        execute(f"INSERT OR IGNORE INTO tags (facet, value) SELECT DISTINCT facet.key, value.value {tagged}", (last,))
        execute(
            "INSERT OR IGNORE INTO sentence_tags SELECT s.row, "
            f"(SELECT id FROM tags t WHERE t.facet = facet.key AND t.value = value.value) {tagged}",
            (last,),
        )
        execute(
            "DELETE FROM embeddings WHERE NOT EXISTS (SELECT 1 FROM main.sentences WHERE embedding = embeddings.id)"
        )

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


def discard_staging(place: Path) -> None:
    for path in place.glob(_STAGING + "*"):
        path.unlink(missing_ok=True)


def _marks(count: int) -> str:
    return ", ".join("?" * count)


def _named(model: ModelIdentity) -> str:
    return f"{model.name} ({model.revision}, {model.precision}, {model.dimension} dimensions)"
