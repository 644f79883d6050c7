"""verbatim-rag, without a key: its index with dense vectors, a reranker, and its span extractor on this machine.

Why so: it is the tool closest to Quoth, and its README promises the whole pipeline without a language model: then
`ModelSpanExtractor` marks the spans, with its published threshold. That model comes from the hub alone, so the row is
measured where it is in the cache (`hf download KRLabsOrg/verbatim-rag-modern-bert-v2`) and marked elsewhere. Milvus
Lite has no full text, so that the dense index and the reranker, both documented, do the search; the template is the
static one, the only one that asks no language model. Its places are within a chunk, not within the file: it claims
none here.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from huggingface_hub import snapshot_download
from huggingface_hub.errors import LocalEntryNotFoundError
from peer import Reply, Text, Unavailable, read, run
from verbatim_core.extractors import ModelSpanExtractor
from verbatim_rag import VerbatimIndex, VerbatimRAG
from verbatim_rag.embedding_providers import SentenceTransformersProvider
from verbatim_rag.rerankers import SentenceTransformersReranker
from verbatim_rag.schema import DocumentSchema
from verbatim_rag.vector_stores import LocalMilvusStore

EXTRACTOR = os.environ.get("VERBATIM_MODEL", ModelSpanExtractor.DEFAULT_MODEL)


class VerbatimRag:
    def __init__(self, index: Path, models: Path) -> None:
        self.index = index
        self.models = models

    def check(self) -> None:
        if not Path(EXTRACTOR).is_dir():
            try:
                snapshot_download(EXTRACTOR, local_files_only=True)
            except LocalEntryNotFoundError:
                raise Unavailable(f"the model of its extractor, {EXTRACTOR}, is not on this machine") from None

    def ingest(self, folder: Path, documents: Sequence[str]) -> int:
        index = self._index()
        index.add_documents([DocumentSchema(id=name, title=name, content=read(folder / name)) for name in documents])
        return len(documents)

    def open(self) -> None:
        self.rag = VerbatimRAG(
            self._index(),
            extractor=ModelSpanExtractor(EXTRACTOR, device="cpu"),
            reranker=SentenceTransformersReranker(str(self.models / "reranker")),
            template_mode="static",
        )

    def ask(self, question: str) -> Reply:
        found = self.rag.query(question).documents
        texts = [Text(span.text, one.title, None, None, None) for one in found for span in one.highlights]
        return Reply(texts, [], None)

    def _index(self) -> VerbatimIndex:
        self.index.mkdir(parents=True, exist_ok=True)
        store = LocalMilvusStore(str(self.index / "index.db"), enable_sparse=False)
        return VerbatimIndex(store, dense_provider=SentenceTransformersProvider(str(self.models / "embedder")))


if __name__ == "__main__":
    raise SystemExit(run(VerbatimRag))
