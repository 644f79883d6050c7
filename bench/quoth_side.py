"""Quoth's side of the benchmark, in processes of its own.

    quoth_side.py export --index DIR --out DIR       what is searched, with its vectors, for the reference
    quoth_side.py serve --index DIR                  answer over a pipe
    quoth_side.py throughput DOCS --work DIR         ingest against the bare model, in turns

It runs in the environment of the project; the reference has one of its own.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from serving import Reply, serve

from quoth import Quoth
from quoth.documents.files import find_files
from quoth.documents.ingest import ingest
from quoth.domain.profile import load_profile
from quoth.output.render import json_line, outcome_json
from quoth.overrides import NO_OVERRIDES
from quoth.settings import Settings
from quoth.wiring import open_embedder, open_store

PROFILE = "agriculture"


def export(index: Path, out: Path) -> dict[str, Any]:
    """Write every sentence that can be evidence, as it is indexed, and its vector; say what the index holds."""
    counts: dict[str, int] = {}
    vectors = []
    with open_store(index, Settings().store).read() as reader, (out / "sentences.jsonl").open("wb") as file:
        for document in reader.documents():
            kept = [sentence for sentence in reader.sentences(document.id) if sentence.kind.evidence]
            counts[document.id] = len(kept)
            vectors.append(reader.vectors(document.id))
            for sentence in kept:
                file.write((json_line({"id": sentence.id, "text": sentence.search_text}) + "\n").encode())
    np.save(out / "vectors.npy", np.concatenate(vectors))
    return {"sentences": sum(counts.values()), "documents": counts}


def answerer(index: Path) -> Quoth:
    """An open index with everything loaded, as it is after the first question."""
    quoth = Quoth.open(index)
    quoth.ask("What is this about?")
    return quoth


def serve_index(index: Path) -> None:
    quoth = answerer(index)

    def answer(question: str, _: Mapping[str, Any]) -> Reply:
        asked = quoth.explain(question)
        return json_line(outcome_json(asked.outcome)), [one.sentence.id for one in asked.trace.ranked]

    serve(answer)


class Recorder:
    """Stands in for the session of an embedder and keeps what it was given."""

    def __init__(self, session: Any) -> None:  # noqa: ANN401 - onnxruntime has no types
        self.session = session
        self.batches: list[tuple[list[str], dict[str, Any]]] = []

    def run(self, outputs: list[str], inputs: dict[str, Any]) -> Any:  # noqa: ANN401
        self.batches.append((outputs, inputs))
        return self.session.run(outputs, inputs)


def throughput(docs: Path, work: Path, *, rounds: int) -> dict[str, Any]:
    """Seconds of `ingest` into a fresh index, and of the bare session on the batches that this ingest made, by turns.

    The session gets its batches tokenised, as many at once as the embedder runs: nothing but the model is timed.
    """
    profile = load_profile(PROFILE)
    settings = NO_OVERRIDES.over(profile.settings, profile=profile.name)
    embedder: Any = open_embedder(settings.embedding)
    embedder.embed(["a sentence to warm up the model with"] * 64)
    model = embedder._model
    recorder = Recorder(model._session)

    def ingest_once(number: int) -> float:
        began = time.perf_counter()
        ingest(
            find_files([docs]),
            store=open_store(work / f"index-{number}", settings.store),
            embedder=embedder,
            profile=profile,
            settings=settings.ingest,
            prune=False,
            progress=None,
        )
        return time.perf_counter() - began

    def bare_once() -> float:
        began = time.perf_counter()
        with ThreadPoolExecutor(model.callers) as pool:
            for _ in pool.map(lambda batch: recorder.session.run(*batch), recorder.batches):
                pass
        return time.perf_counter() - began

    model._session = recorder
    ingests, bares = [ingest_once(0)], [bare_once()]
    model._session = recorder.session
    for number in range(1, rounds):
        if number % 2:
            bares.append(bare_once())
            ingests.append(ingest_once(number))
        else:
            ingests.append(ingest_once(number))
            bares.append(bare_once())
    embedded = sum(len(inputs["input_ids"]) for _, inputs in recorder.batches)
    return {"embedded": embedded, "ingest_seconds": ingests, "bare_seconds": bares}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Quoth's side of the benchmark.")
    commands = parser.add_subparsers(dest="command", required=True)
    exporter = commands.add_parser("export")
    exporter.add_argument("--index", type=Path, required=True)
    exporter.add_argument("--out", type=Path, required=True)
    commands.add_parser("serve").add_argument("--index", type=Path, required=True)
    measurer = commands.add_parser("throughput")
    measurer.add_argument("docs", type=Path)
    measurer.add_argument("--work", type=Path, required=True)
    measurer.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args(arguments)

    match options.command:
        case "export":
            print(json.dumps(export(options.index, options.out)))
        case "serve":
            serve_index(options.index)
        case "throughput":
            print(json.dumps(throughput(options.docs, options.work, rounds=options.rounds)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
