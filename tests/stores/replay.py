"""The documents and vectors of an index, to be written again into others without a model."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np

from quoth.protocols import Progress
from quoth.stores.database_rows import embedding_key
from quoth.stores.embedded import EmbeddedStore, vector_blocks
from quoth.stores.embedded import sqlite_schema as schema
from quoth.types import SplitDocument, Vectors


class ReplayEmbedder:
    """Gives each text the vector and the codes that an embedded index keeps of it, to the bit."""

    def __init__(self, place: Path) -> None:
        with EmbeddedStore(place).read() as reader:
            self.identity = reader.info.model
        self.has_tokens = True
        self._database = f"{(place / schema.DATABASE).absolute().as_uri()}?mode=ro"

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        return self.embed_tokens(texts, progress=progress)[0]

    def embed_tokens(self, texts: Sequence[str], *, progress: Progress | None = None) -> tuple[Vectors, list[bytes]]:
        keys = [embedding_key(self.identity, text) for text in texts]
        with closing(sqlite3.connect(self._database, uri=True)) as connection:
            found = [
                connection.execute("SELECT id, tokens FROM embeddings WHERE key = ?", (key,)).fetchone() for key in keys
            ]
            ids = np.array([number for number, _ in found], dtype=np.int64)
            vectors = vector_blocks.read(connection, ids, dimension=self.identity.dimension)
        if progress is not None:
            progress("embedding", len(texts), len(texts))
        return vectors.astype(np.float32), [tokens for _, tokens in found]

    def embed_question(self, text: str) -> tuple[Vectors, None]:
        raise NotImplementedError(f"no vector is kept of a question: {text}")


def documents_of(store: EmbeddedStore) -> Iterator[SplitDocument]:
    """Every document as it was written."""
    known = store.stored_documents()
    with store.read() as reader:
        for listed in reader.documents():
            document = reader.document(listed.id)
            assert document is not None
            pages = (reader.page(listed.id, number + 1) for number in range(listed.pages))
            yield SplitDocument(
                document,
                tuple(reader.sentences(listed.id)),
                reader.passages(listed.id),
                tuple(page for page in pages if page is not None),
                known[listed.id].root,
                known[listed.id].fingerprint,
                listed.reading,
            )
