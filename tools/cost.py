"""Measure what a sentence costs - to read, embed, write, keep and search - and write the cost model of docs/scale.md.

    nice python tools/cost.py rates --origin INDEX --corpus FOLDER [--work DIR]
    nice python tools/cost.py sizes --origin INDEX [--sentences 10000 50000 ...] [--root ../shared/eval] [--work DIR]
    python tools/cost.py tables [--work DIR] [--vcpu-hour 0.04] [--gpu-hour 0.60] [--gpu-speed 40] [--write]

INDEX is an index of real documents, made by `quoth ingest` from FOLDER. `rates` measures reading, splitting and
embedding on one core, and what INDEX keeps for a sentence. `sizes` fills indexes with its sentences, jittered (see
scale.py), and measures writing, room, memory, and questions; every size has a process of its own, and they are asked in
turn, twenty questions at a time, so that their ratios mean something on a busy machine. Both leave their figures in
DIR; `tables` makes the tables from them. Rates are per second of a processor and not per second of a clock.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from cost_tables import Assumptions, write_tables
from quoth.documents.changes import changed_documents
from quoth.documents.files import find_files
from quoth.documents.ingest_report import FileOutcomes
from quoth.domain.profile import load_profile
from quoth.evaluation.labelled_questions import read_labelled
from quoth.library import Quoth
from quoth.models.weights import find_weights
from quoth.overrides import Overrides
from quoth.protocols import Progress
from quoth.settings import EmbeddingSettings, IngestSettings, StoreSettings
from quoth.stores.embedded import EmbeddedStore
from quoth.types import Query, SplitDocument, Vectors
from quoth.wiring import open_embedder, open_store
from scale import Origin, StandIn, documents, questions, read_origin, sizes, watched

ROOT = Path(__file__).resolve().parents[1]
SETS = ("agriculture", "contracts", "encyclopedia", "irrigation", "nda")
EMBEDDED = 2_000
"""Sentences that are embedded in each round."""
ROUNDS = 3
ASKED = 160
AT_ONCE = 20
ONE_THREAD = Overrides({}, {}, {"embedding.threads": "1", "cache.memory_mb": "0"})


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["rates", "sizes", "tables"])
    parser.add_argument("--origin", type=Path, help="an index of real documents")
    parser.add_argument("--corpus", type=Path, help="the folder it was made from")
    parser.add_argument("--root", type=Path, default=ROOT.parent / "shared" / "eval", help="sets of questions")
    parser.add_argument("--sentences", type=int, nargs="+", default=[10_000, 50_000, 200_000, 500_000, 1_000_000])
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "quoth-cost")
    parser.add_argument("--built", action="store_true", help="only ask: the indexes are there already")
    parser.add_argument("--vcpu-hour", type=float, default=0.04, help="dollars")
    parser.add_argument("--gpu-hour", type=float, default=0.60, help="dollars")
    parser.add_argument("--gpu-speed", type=float, default=40.0, help="a GPU in cores; assumed, not measured")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/scale.md")
    options = parser.parse_args()
    options.work.mkdir(parents=True, exist_ok=True)
    if options.what == "rates":
        _keep(options.work / "rates.json", rates(options.origin, options.corpus))
    elif options.what == "sizes":
        _sizes(options)
    else:
        assumed = Assumptions(options.vcpu_hour, options.gpu_hour, options.gpu_speed)
        found = {name: json.loads((options.work / f"{name}.json").read_text()) for name in ("rates", "built", "asked")}
        print(write_tables(found, assumed, page=ROOT / "docs" / "scale.md" if options.write else None))
    return 0


def _keep(path: Path, figures: dict[str, Any]) -> None:
    path.write_text(json.dumps(figures, indent=1) + "\n")
    print(path.read_text(), flush=True)


def rates(origin: Path, corpus: Path) -> dict[str, Any]:
    """What one core does in a second, and what is kept for a sentence."""
    return {"read": _read(corpus), "embed": _embed(origin), "bytes": _bytes(origin)}


def _read(corpus: Path) -> dict[str, float]:
    """Reading, extracting, splitting and tagging, without a store; of plain text, for that is what `corpus` holds."""
    files = find_files([corpus])
    reading = changed_documents(
        files,
        stored={},
        outcomes=FileOutcomes(files, {}, prune=False),
        profile=load_profile("general"),
        settings=IngestSettings(workers=1),
        profile_changed=False,
        progress=None,
    )
    begun, documents, sentences, characters = _processor(), 0, 0, 0
    with closing(reading) as read:
        for one in read:
            documents += 1
            sentences += len(one.sentences)
            characters += len(one.document.text)
    taken = _processor() - begun
    return {
        "documents": documents,
        "sentences": sentences,
        "megabytes": characters / 1e6,
        "seconds": taken,
        "documents_a_second": documents / taken,
        "sentences_a_second": sentences / taken,
    }


def _processor() -> float:
    """Seconds of a processor that this process and those it has ended have used."""
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def _embed(origin: Path) -> dict[str, Any]:
    """Rounds of both ways in turn; the median of each."""
    texts = _texts(origin)
    embedder: Any = open_embedder(EmbeddingSettings(threads=1))
    embedder.embed(texts[:64])
    seconds: dict[str, list[float]] = {"vectors": [], "with_tokens": []}
    step = max(1, len(texts) // EMBEDDED)
    for first in range(ROUNDS):
        sample = texts[first::step][:EMBEDDED]
        for name, act in (("vectors", embedder.embed), ("with_tokens", embedder.embed_tokens)):
            begun = time.process_time()
            act(sample)
            seconds[name].append((time.process_time() - begun) / len(sample))
    lengths = np.array(_lengths(texts[::step][:EMBEDDED]))
    return {
        "sentences": ROUNDS * EMBEDDED,
        "tokens": {f"p{share}": int(np.percentile(lengths, share)) for share in (10, 50, 90, 99)}
        | {"mean": float(lengths.mean())},
        "vectors_a_second": 1 / statistics.median(seconds["vectors"]),
        "with_tokens_a_second": 1 / statistics.median(seconds["with_tokens"]),
        "spread": [1 / one for one in sorted(seconds["with_tokens"])],
    }


def _texts(origin: Path) -> list[str]:
    with open_store(origin, StoreSettings()).read() as reader:
        return [one.search_text for document in reader.documents() for one in reader.sentences(document.id)]


def _lengths(texts: Sequence[str]) -> list[int]:
    from tokenizers import Tokenizer

    weights = find_weights("all-MiniLM-L6-v2", path=None, allow_download=False)
    tokenizer = Tokenizer.from_file(str(weights.tokenizer))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return [len(one.ids) for one in tokenizer.encode_batch_fast(list(texts))]


def _bytes(origin: Path) -> dict[str, float]:
    """What an index keeps for a sentence, in bytes: by content in the database, by file outside it."""
    with closing(sqlite3.connect(f"{(origin / 'quoth.db').absolute().as_uri()}?mode=ro", uri=True)) as connection:
        (count,) = connection.execute("SELECT count(*) FROM sentences").fetchone()
        embeddings, tokens = connection.execute("SELECT count(*), sum(length(tokens)) FROM embeddings").fetchone()
        (vectors,) = connection.execute("SELECT sum(length(vectors)) FROM vectors").fetchone()
        (texts,) = connection.execute("SELECT sum(length(CAST(text AS BLOB))) FROM texts").fetchone()
        pages, page, free = (
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size", "freelist_count")
        )
    folder = max((origin / "generations").iterdir())
    files = {path: path.stat().st_size for path in folder.rglob("*") if path.is_file()}
    lexical = sum(size for path, size in files.items() if "lexical" in path.parts)
    database = (pages - free) * page
    return {
        "sentences": count,
        "different": embeddings,
        "vectors": vectors / count,
        "tokens": tokens / count,
        "documents": texts / count,
        "rest": (database - vectors - tokens - texts) / count,
        "order": (sum(files.values()) - lexical) / count,
        "full_text": lexical / count,
        "all": (database + sum(files.values())) / count,
    }


class _Clocked(StandIn):
    """Counts the processor's time that it takes itself, which is none of the store's."""

    def embed_tokens(self, texts: Sequence[str], *, progress: Progress | None = None) -> tuple[Vectors, list[bytes]]:
        begun = time.process_time()
        found = super().embed_tokens(texts, progress=progress)
        self.processor = getattr(self, "processor", 0.0) + time.process_time() - begun
        return found


def _sizes(options: argparse.Namespace) -> None:
    origin = read_origin(options.origin)
    kept = options.work / "built.json"
    if not options.built:
        built = json.loads(kept.read_text()) if kept.exists() else {}
        for sentences in options.sentences:
            built[str(sentences)] = _built(origin, sentences, options.work / f"size-{sentences}")
            _keep(kept, built)
    asked = [query for _, query in questions(origin, range(2 * 10**8, 2 * 10**8 + ASKED))]
    del origin
    _keep(options.work / "asked.json", _asked(options, asked))


def _built(origin: Origin, sentences: int, place: Path) -> dict[str, Any]:
    """Fill an index, and tell what the store itself took for it."""
    shutil.rmtree(place, ignore_errors=True)
    profile = load_profile("general")
    store = EmbeddedStore(place, faiss_threshold=StoreSettings().faiss_threshold)
    embedder = _Clocked(origin)
    made = [0.0]
    begun = time.process_time()
    with watched(place) as peaks:
        store.write(
            _clocked(documents(origin, sentences), made),
            remove=(),
            embedder=embedder,
            profile=(profile.name, profile.source),
            progress=None,
        )
    taken = time.process_time() - begun - embedder.processor - made[0]
    parts = sizes(place)
    return {
        "seconds": taken,
        "sentences_a_second": sentences / taken,
        "peak_private_mb": peaks["private"],
        "peak_disk_mb": peaks["disk"],
        "disk_mb": parts,
        "disk_bytes": store.size(),
    }


def _clocked(put: Iterable[SplitDocument], made: list[float]) -> Iterator[SplitDocument]:
    walk = iter(put)
    while True:
        begun = time.process_time()
        one = next(walk, None)
        made[0] += time.process_time() - begun
        if one is None:
            return
        yield one


def _asked(options: argparse.Namespace, queries: Sequence[Query]) -> dict[str, Any]:
    """Every size in a process of its own; the same questions to all of them in turn."""
    texts = _questions(options.root)
    spawn = multiprocessing.get_context("spawn")
    running = []
    for sentences in options.sentences:
        here, there = spawn.Pipe()
        place = options.work / f"size-{sentences}"
        process = spawn.Process(target=_answer, args=(place, texts, list(queries), there), daemon=True)
        process.start()
        there.close()
        running.append((sentences, process, here))
    for _, _, connection in running:  # to warm up
        connection.send(0)
        connection.recv()
    times: dict[int, dict[str, list[float]]] = {sentences: {"whole": [], "search": []} for sentences, *_ in running}
    for first in range(0, ASKED, AT_ONCE):
        for sentences, _, connection in running:
            connection.send(first)
            for name, seconds in connection.recv().items():
                times[sentences][name] += seconds
    memory = {}
    for sentences, process, connection in running:
        connection.send(None)
        memory[sentences] = connection.recv()
        process.join()
    return {
        str(sentences): {
            name: dict(zip(("p50", "p95"), np.quantile(times[sentences][name], [0.5, 0.95]) * 1000, strict=True))
            for name in ("whole", "search")
        }
        | {"memory_mb": memory[sentences], "questions": len(times[sentences]["whole"])}
        for sentences, *_ in running
    }


def _questions(root: Path) -> list[str]:
    """Real questions of every set, as many of each."""
    found = [read_labelled(root / name / "questions.jsonl") for name in SETS if (root / name).is_dir()]
    each = -(-ASKED // len(found))
    return [item.question.text for one in found for item in one[:: len(one) // each][:each]][:ASKED]


def _answer(place: Path, texts: Sequence[str], queries: Sequence[Query], connection: Connection) -> None:
    """A process that answers questions from one index, and tells how long each took and what memory it holds."""
    os.environ["OMP_NUM_THREADS"] = "1"
    open_embedder(EmbeddingSettings(threads=1)).embed_question("ready")
    before = _memory()
    store = open_store(place, StoreSettings())
    asking = Quoth(store, ONE_THREAD)
    while (first := connection.recv()) is not None:
        taken: dict[str, list[float]] = {"whole": [], "search": []}
        for number in range(first, min(first + AT_ONCE, len(texts))):
            begun = time.perf_counter()
            asking.ask(texts[number])
            between = time.perf_counter()
            with store.read() as reader:
                reader.search(queries[number])
            taken["whole"].append(between - begun)
            taken["search"].append(time.perf_counter() - between)
        connection.send(taken)
    after = _memory()
    connection.send({name: after[name] - before[name] for name in after} | {"model": before["private"]})


def _memory() -> dict[str, float]:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    found = {line.split(":")[0]: int(line.split()[1]) / 1024 for line in lines if line.startswith("Rss")}
    return {"private": found["RssAnon"], "mapped": found["RssFile"]}


if __name__ == "__main__":
    sys.exit(main())
