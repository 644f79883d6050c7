"""The predecessor's stack: sentence-transformers, a FAISS `IndexFlatIP` and `rank_bm25`, as `make bench` has it.

Why so: it asks `bench/reference.py`, with its fusion, its variety and its six sentences, unchanged. Here it also
splits and embeds by itself: sentences end where one line of code finds a full stop, as such programs do. It has no
threshold.
"""

from __future__ import annotations

import json
import pickle
import re
import sys
from collections.abc import Sequence
from pathlib import Path

import faiss
from peer import Reply, Text, read, run
from rank_bm25 import BM25Okapi

sys.path.append(str(Path(__file__).parents[1]))
import reference

SENTENCE = re.compile(r"\S.*?(?:[.!?](?=\s)|$)", re.MULTILINE)


class Predecessor:
    def __init__(self, index: Path, models: Path) -> None:
        self.index = index

    def check(self) -> None: ...

    def ingest(self, folder: Path, documents: Sequence[str]) -> int:
        units = [
            {"id": str(found.start()), "document": name, "start": found.start(), "end": found.end()}
            | {"text": found.group()}
            for name in documents
            for found in SENTENCE.finditer(read(folder / name))
        ]
        texts = [str(unit["text"]) for unit in units]
        vectors = reference.open_model().encode(texts, batch_size=32, normalize_embeddings=True)
        index = faiss.IndexFlatIP(vectors.shape[1])
        index.add(vectors)
        self.index.mkdir(parents=True, exist_ok=True)
        faiss.write_index(index, str(self.index / "vectors.faiss"))
        (self.index / "sentences.json").write_bytes(json.dumps(units).encode())
        bm25 = BM25Okapi([reference.tokenise(text) for text in texts])
        (self.index / "bm25.pickle").write_bytes(pickle.dumps(bm25))
        return len(units)

    def open(self) -> None:
        self.reference = reference.Reference(self.index)

    def ask(self, question: str) -> Reply:
        found = json.loads(self.reference.answer(question, {})[0])["sentences"]
        texts = [Text(one["text"], one["document"], one["start"], one["end"], one["score"]) for one in found]
        return Reply(texts, [], texts[0].score if texts else None)


if __name__ == "__main__":
    raise SystemExit(run(Predecessor))
