"""LangChain: the ensemble retriever, reranked by a cross-encoder.

Why so: `EnsembleRetriever` over BM25 and a FAISS store is its documented hybrid search, and `CrossEncoderReranker`
behind `ContextualCompressionRetriever` its documented reranking on this machine. `NLTKTextSplitter` with
`use_span_tokenize` and `add_start_index` gives sentences with their places; a chunk size of one keeps it from joining
them. BM25 gets the words of NLTK in lower case, after the example in its documentation. Neither gives out a score, so
that it cannot refuse.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path

from langchain_classic.retrievers import ContextualCompressionRetriever, EnsembleRetriever
from langchain_classic.retrievers.document_compressors import CrossEncoderReranker
from langchain_community.cross_encoders import HuggingFaceCrossEncoder
from langchain_community.retrievers import BM25Retriever
from langchain_community.vectorstores import FAISS
from langchain_core.documents import Document
from langchain_huggingface import HuggingFaceEmbeddings
from langchain_text_splitters import NLTKTextSplitter
from nltk.tokenize import word_tokenize
from peer import Reply, Text, read, run


def words(text: str) -> list[str]:
    return list(word_tokenize(text.lower()))


class LangChain:
    def __init__(self, index: Path, models: Path) -> None:
        self.index = index
        self.models = models
        self.embeddings = HuggingFaceEmbeddings(model_name=str(models / "embedder"))

    def check(self) -> None: ...

    def ingest(self, folder: Path, documents: Sequence[str]) -> int:
        splitter = NLTKTextSplitter(
            separator="", use_span_tokenize=True, chunk_size=1, chunk_overlap=0, add_start_index=True
        )
        files = [Document(page_content=read(folder / name), metadata={"source": name}) for name in documents]
        sentences = splitter.split_documents(files)
        FAISS.from_documents(sentences, self.embeddings).save_local(str(self.index))
        bm25 = BM25Retriever.from_documents(sentences, k=10, preprocess_func=words)
        (self.index / "bm25.pickle").write_bytes(pickle.dumps(bm25))
        return len(sentences)

    def open(self) -> None:
        store = FAISS.load_local(str(self.index), self.embeddings, allow_dangerous_deserialization=True)
        bm25 = pickle.loads((self.index / "bm25.pickle").read_bytes())  # noqa: S301 - written by `ingest`
        both = EnsembleRetriever(retrievers=[bm25, store.as_retriever(search_kwargs={"k": 10})], weights=[0.5, 0.5])
        reranker = CrossEncoderReranker(
            model=HuggingFaceCrossEncoder(model_name=str(self.models / "reranker")), top_n=6
        )
        self.retriever = ContextualCompressionRetriever(base_compressor=reranker, base_retriever=both)

    def ask(self, question: str) -> Reply:
        texts = []
        for found in self.retriever.invoke(question):
            start = found.metadata["start_index"]
            end = start + len(found.page_content)
            texts.append(Text(found.page_content, found.metadata["source"], start, end, None))
        return Reply(texts, [], None)


if __name__ == "__main__":
    raise SystemExit(run(LangChain))
