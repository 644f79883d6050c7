"""Plain BM25, by bm25s.

Why so: bm25s is the fastest BM25 in Python, and its first example is followed: English stop words out, words stemmed,
the index saved to a folder. It has no splitter, so sentences end where a person would end them in one line of code,
and the places are that line's. There is no threshold: whatever shares a word is returned.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import bm25s
import Stemmer
from peer import Reply, Text, read, run

SENTENCE = re.compile(r"\S.*?(?:[.!?](?=\s)|$)", re.MULTILINE)


class PlainBm25:
    def __init__(self, index: Path, models: Path) -> None:
        self.index = index
        self.stemmer = Stemmer.Stemmer("english")

    def check(self) -> None: ...

    def ingest(self, folder: Path, documents: Sequence[str]) -> int:
        units = [
            {"document": name, "start": found.start(), "end": found.end(), "text": found.group()}
            for name in documents
            for found in SENTENCE.finditer(read(folder / name))
        ]
        words = bm25s.tokenize([unit["text"] for unit in units], stopwords="en", stemmer=self.stemmer)
        retriever = bm25s.BM25()
        retriever.index(words)
        retriever.save(str(self.index))
        (self.index / "units.json").write_text(json.dumps(units), encoding="utf-8")
        return len(units)

    def open(self) -> None:
        self.retriever = bm25s.BM25.load(str(self.index))
        self.units = json.loads(read(self.index / "units.json"))

    def ask(self, question: str) -> Reply:
        words = bm25s.tokenize(question, stopwords="en", stemmer=self.stemmer, show_progress=False)
        places, scores = self.retriever.retrieve(words, k=min(6, len(self.units)), show_progress=False)
        found = [(self.units[int(place)], float(score)) for place, score in zip(places[0], scores[0], strict=True)]
        texts = [Text(**unit, score=score) for unit, score in found if score > 0]
        return Reply(texts, [], float(scores[0][0]))


if __name__ == "__main__":
    raise SystemExit(run(PlainBm25))
