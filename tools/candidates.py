"""Measure what embedding model, headings and deeper pools do for the answers that are among the candidates.

    python tools/candidates.py [SET ...] [--model FOLDER --query-prefix TEXT] [--limit 300] [--root ../shared/eval]

Late interaction and the reader can only choose from what full text and embeddings bring. Each set is embedded with the
shipped model and with `--model`, with and without the two innermost headings in front of each sentence. Recall counts
the gold among the best 10 and 50 of the embeddings alone, and in the pool: the best 50 of full text with the best 50 of
the embeddings, or the best 100 of each. The time is that of embedding a thousand sentences.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from quoth.evaluation.labelled_questions import DocumentSpan, LabelledQuestion, first_ranks, read_labelled, recall
from quoth.library import Quoth, ingest_paths
from quoth.overrides import NO_OVERRIDES
from quoth.protocols import Embedder
from quoth.settings import EmbeddingSettings, StoreSettings
from quoth.types import Sentence
from quoth.wiring import open_embedder, open_store

ROOT = Path(__file__).resolve().parents[1]
PROFILES = {"agriculture": "agriculture", "irrigation": "agriculture"}
HEADINGS = 2
DEEPEST = 100
COLUMNS = ("embeddings, 10", "embeddings, 50", "pool of 50", "pool of 100")


@dataclass(frozen=True)
class Prepared:
    """A set: its answerable questions, its sentences, and the best of full text for each question."""

    name: str
    items: tuple[LabelledQuestion, ...]
    sentences: tuple[Sentence, ...]
    lexical: tuple[tuple[DocumentSpan, ...], ...]


def main() -> int:
    options = _options()
    embedders = {"shipped": open_embedder(EmbeddingSettings())}
    if options.model:
        own = EmbeddingSettings(
            path=str(options.model), model_name=options.model.name, query_prefix=options.query_prefix
        )
        embedders[options.model.name] = open_embedder(own)
    print(f"| set | embedded with | {' | '.join(COLUMNS)} | s / 1,000 |")
    print("|---|---|" + "---|" * (len(COLUMNS) + 1))
    for name in options.sets:
        prepared = _prepare(name, options)
        for model, embedder in embedders.items():
            for headings in (0, HEADINGS):
                label = f"{model}, headings" if headings else model
                figures, seconds = _measure(prepared, embedder, headings=headings)
                cells = " | ".join(f"{figure:.3f}" for figure in figures)
                print(f"| {name} | {label} | {cells} | {seconds:.1f} |", flush=True)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=["irrigation", "encyclopedia", "nda", "contracts"])
    parser.add_argument("--root", type=Path, default=ROOT.parent / "shared" / "eval")
    parser.add_argument("--indexes", type=Path, default=Path(tempfile.gettempdir()) / "quoth-measure")
    parser.add_argument("--limit", type=int, default=300, help="only so many answerable questions of each set")
    parser.add_argument("--model", type=Path, help="a folder with another embedding model")
    parser.add_argument("--query-prefix", help="what this model wants in front of a question")
    return parser.parse_args()


def _prepare(name: str, options: argparse.Namespace) -> Prepared:
    folder, index = options.root / name, options.indexes / name
    ingest_paths([folder / "docs"], index, profile=PROFILES.get(name, "general"), overrides=NO_OVERRIDES)
    answerable = [item for item in read_labelled(folder / "questions.jsonl") if item.gold]
    items = tuple(answerable[:: max(1, len(answerable) // options.limit)][: options.limit])
    with open_store(index, StoreSettings()).read() as reader:
        sentences = tuple(
            sentence
            for document in reader.documents()
            for sentence in reader.sentences(document.id)
            if sentence.kind.evidence
        )
    values = {"retrieval.mode": "lexical", "retrieval.candidates": DEEPEST, "rerank.kind": "none", "cache.memory_mb": 0}
    quoth = Quoth.open(index, settings=values)
    lexical = tuple(
        tuple(_place(ranked.sentence) for ranked in quoth.explain(item.question).trace.fused) for item in items
    )
    return Prepared(name, items, sentences, lexical)


def _measure(prepared: Prepared, embedder: Embedder, *, headings: int) -> tuple[list[float], float]:
    """Return the recall in each of `COLUMNS`, and the seconds for a thousand sentences."""
    texts = [_embedded_text(sentence, headings) for sentence in prepared.sentences]
    begin = time.perf_counter()
    vectors, _ = embedder.embed_tokens(texts)
    seconds = time.perf_counter() - begin
    found = []
    documents = np.array([sentence.doc_id for sentence in prepared.sentences])
    for item, lexical in zip(prepared.items, prepared.lexical, strict=True):
        question, _ = embedder.embed_question(item.question.text)
        scope = item.question.filters.doc_ids
        inside = np.flatnonzero(np.isin(documents, scope)) if scope else np.arange(len(documents))
        order = np.argsort(-(vectors[inside] @ question.reshape(-1)), kind="stable")[:DEEPEST]
        dense = [_place(prepared.sentences[at]) for at in inside[order]]
        found.append([_recall(places, item) for places in (dense[:10], dense[:50], *_pools(lexical, dense))])
    return list(np.mean(found, axis=0)), 1000 * seconds / len(texts)


def _embedded_text(sentence: Sentence, headings: int) -> str:
    above = sentence.section[-headings:] if headings else ()
    return "\n".join((*above, sentence.search_text))


def _pools(lexical: Sequence[DocumentSpan], dense: Sequence[DocumentSpan]) -> list[list[DocumentSpan]]:
    return [[*lexical[:depth], *dense[:depth]] for depth in (50, DEEPEST)]


def _recall(places: Sequence[DocumentSpan], item: LabelledQuestion) -> float:
    return recall(first_ranks(places, item.gold), item)


def _place(sentence: Sentence) -> DocumentSpan:
    return sentence.doc_id, sentence.quote.span


if __name__ == "__main__":
    sys.exit(main())
