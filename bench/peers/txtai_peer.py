"""txtai: a hybrid index, reranked by a cross-encoder.

Why so: `hybrid=True` and `content=True` are its documented hybrid search. Its extractor needs a question-answering or
a language model, neither of which the weights at hand are; without one, its `Reranker` with a cross-encoder is what
orders the extracts, and `minscore` of the extractor, .5, is applied to them as it would. `Segmentation` splits into
sentences; cleaning is off, because it changes the text. txtai keeps no places, so it claims none.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from peer import Reply, Text, read, run
from txtai import Embeddings
from txtai.pipeline import Reranker, Segmentation, Similarity

THRESHOLD = 0.5


class Txtai:
    def __init__(self, index: Path, models: Path) -> None:
        self.index = index
        self.models = models

    def check(self) -> None: ...

    def ingest(self, folder: Path, documents: Sequence[str]) -> int:
        segment = Segmentation(sentences=True, cleantext=False)
        embeddings = Embeddings(path=str(self.models / "embedder"), hybrid=True, content=True)
        for_each = ((name, segment(read(folder / name))) for name in documents)
        embeddings.index((f"{name}#{number}", text) for name, texts in for_each for number, text in enumerate(texts))
        embeddings.save(str(self.index))
        return int(embeddings.count())

    def open(self) -> None:
        self.embeddings = Embeddings()
        self.embeddings.load(str(self.index))
        self.rerank = Reranker(self.embeddings, Similarity(str(self.models / "reranker"), crossencode=True))

    def ask(self, question: str) -> Reply:
        found = self.rerank(question, limit=6)
        texts = [Text(one["text"], one["id"].rpartition("#")[0], None, None, float(one["score"])) for one in found]
        kept = [text for text in texts if (text.score or 0) >= THRESHOLD]
        return Reply(kept, [] if kept else texts, texts[0].score if texts else None)


if __name__ == "__main__":
    raise SystemExit(run(Txtai))
