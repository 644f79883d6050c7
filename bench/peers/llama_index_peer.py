"""LlamaIndex: a fusion retriever, a reranker, citation nodes.

Why so: BM25 and vectors by reciprocal rank fusion, then a cross-encoder, are its documented hybrid, and
`CitationQueryEngine` its documented way to cite. One sentence is a node (`SentenceWindowNodeParser`), the unit asked
for here. The engine's citation nodes number the text and drop its place, so the nodes behind them are taken, which
have it. No language model is used: the engine gets the mock that comes with the package, and questions are not
rewritten. Texts below .5, the even chance of the reranker, are held back, as by `SimilarityPostprocessor`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from llama_index.core import Document, Settings, StorageContext, VectorStoreIndex, load_index_from_storage
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import SentenceWindowNodeParser
from llama_index.core.query_engine import CitationQueryEngine
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.retrievers.fusion_retriever import FUSION_MODES
from llama_index.core.schema import NodeWithScore, QueryBundle, TextNode
from llama_index.embeddings.huggingface import HuggingFaceEmbedding
from llama_index.postprocessor.sbert_rerank import SentenceTransformerRerank
from llama_index.retrievers.bm25 import BM25Retriever
from peer import Reply, Text, read, run

THRESHOLD = 0.5


class LlamaIndex:
    def __init__(self, index: Path, models: Path) -> None:
        self.index = index
        self.models = models
        Settings.llm = MockLLM()
        Settings.embed_model = HuggingFaceEmbedding(model_name=str(models / "embedder"))

    def check(self) -> None: ...

    def ingest(self, folder: Path, documents: Sequence[str]) -> int:
        files = [Document(text=read(folder / name), doc_id=name) for name in documents]
        nodes = SentenceWindowNodeParser.from_defaults().get_nodes_from_documents(files)
        VectorStoreIndex(nodes).storage_context.persist(str(self.index))
        BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=10).persist(str(self.index / "bm25"))
        return len(nodes)

    def open(self) -> None:
        index = load_index_from_storage(StorageContext.from_defaults(persist_dir=str(self.index)))
        retriever = QueryFusionRetriever(
            [index.as_retriever(similarity_top_k=10), BM25Retriever.from_persist_dir(str(self.index / "bm25"))],
            similarity_top_k=20,
            num_queries=1,
            mode=FUSION_MODES.RECIPROCAL_RANK,
            use_async=False,
        )
        reranker = SentenceTransformerRerank(model=str(self.models / "reranker"), top_n=6)
        self.engine = CitationQueryEngine.from_args(index, retriever=retriever, node_postprocessors=[reranker])

    def ask(self, question: str) -> Reply:
        found = [_text(one) for one in self.engine.retrieve(QueryBundle(question))]
        kept = [text for text in found if (text.score or 0) >= THRESHOLD]
        return Reply(kept, [] if kept else found, found[0].score if found else None)


def _text(found: NodeWithScore) -> Text:
    node = found.node
    assert isinstance(node, TextNode)  # noqa: S101 - the splitter makes no other
    return Text(node.text, node.ref_doc_id, node.start_char_idx, node.end_char_idx, found.get_score())


if __name__ == "__main__":
    raise SystemExit(run(LlamaIndex))
