"""Haystack: hybrid retrieval, a similarity ranker, a threshold.

Why so: this is the pipeline of Haystack's own tutorial on hybrid retrieval (BM25 and embeddings, joined, then ranked
by a cross-encoder). `DocumentSplitter` can split by sentence and records where each begins, which is the unit asked
for here; its rules for joining sentences are off, because they made texts of 5,000 characters where quotation marks
do not pair. The ranker's scores are sigmoids, so the threshold is the even chance, .5; Haystack documents
`score_threshold` and leaves its value to the user. The in-memory store is saved to disk and loaded, as documented.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from haystack import Document, Pipeline
from haystack.components.joiners import DocumentJoiner
from haystack.components.preprocessors import DocumentSplitter
from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
from haystack.components.writers import DocumentWriter
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack_integrations.components.embedders.sentence_transformers import (
    SentenceTransformersDocumentEmbedder,
    SentenceTransformersTextEmbedder,
)
from haystack_integrations.components.rankers.sentence_transformers import SentenceTransformersSimilarityRanker
from peer import Reply, Text, read, run

THRESHOLD = 0.5


class Haystack:
    def __init__(self, index: Path, models: Path) -> None:
        self.index = index
        self.models = models

    def check(self) -> None: ...

    def ingest(self, folder: Path, documents: Sequence[str]) -> int:
        store = InMemoryDocumentStore(embedding_similarity_function="cosine")
        pipeline = Pipeline()
        pipeline.add_component("splitter", DocumentSplitter(split_by="sentence", split_length=1, use_split_rules=False))
        pipeline.add_component("embedder", SentenceTransformersDocumentEmbedder(model=str(self.models / "embedder")))
        pipeline.add_component("writer", DocumentWriter(store))
        pipeline.connect("splitter", "embedder")
        pipeline.connect("embedder", "writer")
        files = [Document(content=read(folder / name), meta={"name": name}) for name in documents]
        pipeline.run({"splitter": {"documents": files}})
        self.index.mkdir(parents=True, exist_ok=True)
        store.save_to_disk(str(self.index / "store.json"))
        return int(store.count_documents())

    def open(self) -> None:
        store = InMemoryDocumentStore.load_from_disk(str(self.index / "store.json"))
        self.pipeline = Pipeline()
        self.pipeline.add_component("embedder", SentenceTransformersTextEmbedder(model=str(self.models / "embedder")))
        self.pipeline.add_component("dense", InMemoryEmbeddingRetriever(store))
        self.pipeline.add_component("bm25", InMemoryBM25Retriever(store))
        self.pipeline.add_component("joiner", DocumentJoiner())
        ranker = SentenceTransformersSimilarityRanker(model=str(self.models / "reranker"), top_k=6)
        self.pipeline.add_component("ranker", ranker)
        self.pipeline.connect("embedder", "dense")
        self.pipeline.connect("dense", "joiner")
        self.pipeline.connect("bm25", "joiner")
        self.pipeline.connect("joiner", "ranker")

    def ask(self, question: str) -> Reply:
        asked = {"embedder": {"text": question}, "bm25": {"query": question}, "ranker": {"query": question}}
        found = self.pipeline.run(asked)["ranker"]["documents"]
        texts = []
        for one in found:
            start = one.meta["split_idx_start"]
            texts.append(Text(one.content, one.meta["name"], start, start + len(one.content), one.score))
        kept = [text for text in texts if (text.score or 0) >= THRESHOLD]
        return Reply(kept, [] if kept else texts, texts[0].score if texts else None)


if __name__ == "__main__":
    raise SystemExit(run(Haystack))
