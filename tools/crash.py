"""Kill an ingest at random moments, and check after each kill that nothing was lost.

    python tools/crash.py [--kills 200] [--seed 1] [--documents 60]

A small corpus is indexed, then changed: sentences edited, documents added and removed. The update is started again and
again, each time on a copy of the index, and killed (SIGKILL) at a random moment; every fourth kill hits a first ingest,
where there was no index before, and every fifth comes while the new generation is being published. After each kill the
index must open, pass SQLite's own check, and answer a fixed list of questions exactly as before or exactly as after the
update, to the last byte of the JSON; and the same command, run again, must finish the work and give exactly the answers
of an update that nobody disturbed. Prints how many kills hit which phase and what was found. The shipped `hash`
embedder stands in for a model.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import random
import shutil
import sqlite3
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.context import ForkServerContext, ForkServerProcess
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any

from quoth import Quoth
from quoth.errors import NoIndex
from quoth.output.render import json_line, outcome_json

HASH = {"embedding.model_name": "hash", "rerank.kind": "late"}
PHASES = ("starting", "reading", "staging", "embedding", "building", "publishing", "published")
QUESTIONS = (
    "How deep is canola sown?",
    "When is wheat sown in field 7?",
    "What does rye need?",
    "How much lime does field 12 need?",
    "Which crop follows barley?",
)
_PRELOADED = (
    "quoth.cli.indexing",
    "quoth.documents.ingest",
    "quoth.wiring",
    "quoth.models.hash_embedder",
    "faiss",
    "typer._adapters",
    "nupunkt",
)
_CROPS = ("canola", "wheat", "rye", "barley", "oats", "flax")
_FACTS = ("is sown at {0} cm", "needs {0} kg of lime", "follows field {0}", "is sown on day {0}", "likes a pH of {0}.5")


def text(number: int, *, version: int, sentences: int) -> str:
    """A document; in another version one sentence in ten is another."""
    lines = [f"# Field {number}"]
    for place in range(sentences):
        changed = version if (place + number) % 10 == 0 else 0
        drawn = random.Random(f"{number} {place} {changed}")
        fact = drawn.choice(_FACTS).format(drawn.randint(1, 40))
        lines.append(f"{drawn.choice(_CROPS).capitalize()} in field {number} {fact}.")
    return "\n\n".join(lines) + "\n"


def make_corpus(folder: Path, numbers: Sequence[int], *, version: int) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for number in numbers:
        (folder / f"{number:03d}.md").write_text(text(number, version=version, sentences=20), encoding="utf-8")
    return folder


def answers(index: Path) -> list[str] | None:
    """The JSON of every answer; None when there is no index."""
    try:
        opened = Quoth.open(index, settings=HASH)
    except NoIndex:
        return None
    return [json_line(outcome_json(opened.ask(question))) for question in QUESTIONS]


def healthy(index: Path) -> bool:
    database = index / "quoth.db"
    if not database.exists():
        return True
    connection = sqlite3.connect(database)
    try:
        whole = connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return whole and connection.execute("PRAGMA foreign_key_check").fetchall() == []
    finally:
        connection.close()


def ingest(corpus: Path, index: Path, phase: Synchronized[int]) -> None:
    """The command itself, in a process of its own; `phase` tells how far it has come."""
    from quoth.cli import main
    from quoth.models.hash_embedder import HashEmbedder

    def notice(event: str, arguments: tuple[Any, ...]) -> None:
        name = str(arguments[0]) if arguments else ""
        if event == "sqlite3.connect" and name.endswith("quoth.db"):
            phase.value = max(phase.value, PHASES.index("reading"))
        elif event == "open" and name.endswith("writer.lock"):
            phase.value = max(phase.value, PHASES.index("staging"))
        elif event == "os.mkdir" and name.endswith(".building"):
            phase.value = PHASES.index("building")
        elif event == "os.rename" and name.endswith(".building"):
            phase.value = PHASES.index("publishing")
        elif event == "os.remove" and "staging.db" in name and phase.value == PHASES.index("publishing"):
            phase.value = PHASES.index("published")

    class Noticed(HashEmbedder):
        def embed_tokens(self, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401
            phase.value = PHASES.index("embedding")
            return super().embed_tokens(*arguments, **options)

    import quoth.models.hash_embedder

    quoth.models.hash_embedder.HashEmbedder = Noticed  # type: ignore[misc]
    sys.addaudithook(notice)
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    arguments = ["ingest", str(corpus), "--prune", "--index", str(index), "--set", "embedding.model_name=hash"]
    sys.argv = ["quoth", *arguments]
    main()


@dataclass(frozen=True, slots=True)
class Case:
    """An ingest to be killed: from an index (None: from nothing) to the answers of an undisturbed one."""

    name: str
    start: Path | None
    corpus: Path
    before: list[str] | None
    after: list[str]
    seconds: float


class Runs:
    def __init__(self, work: Path) -> None:
        self.work = work
        # A clean process forks each run, with everything imported: most kills would hit Python starting up otherwise.
        self._context: ForkServerContext = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([*_PRELOADED, __name__])

    def copy(self, start: Path | None) -> Path:
        target = self.work / "copy"
        shutil.rmtree(target, ignore_errors=True)
        if start is not None:
            shutil.copytree(start, target)
        return target

    def begin(self, corpus: Path, index: Path) -> tuple[ForkServerProcess, Synchronized[int]]:
        phase = self._context.Value("i", 0)
        process = self._context.Process(target=ingest, args=(corpus, index, phase))
        process.start()
        return process, phase

    def finish(self, corpus: Path, index: Path) -> float:
        """Let it run; return the seconds from the moment at which it came to the index."""
        process, phase = self.begin(corpus, index)
        self._await("reading", process, phase)
        begun = time.perf_counter()
        process.join()
        if process.exitcode != 0:
            raise RuntimeError(f"ingest ended with {process.exitcode}")
        return time.perf_counter() - begun

    def _await(self, wanted: str, process: ForkServerProcess, phase: Synchronized[int]) -> None:
        while phase.value < PHASES.index(wanted) and process.is_alive():
            time.sleep(0.0005)

    def case(self, name: str, start: Path | None, corpus: Path) -> Case:
        """Run it undisturbed, a few times for its duration."""
        seconds = statistics.median(self.finish(corpus, self.copy(start)) for _ in range(3))
        after = answers(self.work / "copy")
        if after is None:
            raise RuntimeError("an undisturbed ingest made no index")
        return Case(name, start, corpus, None if start is None else answers(start), after, seconds)

    def kill(self, case: Case, *, since: str, seconds: float) -> tuple[str, str]:
        """Kill one run so many seconds after it came to a phase; return the phase then, and what was found."""
        index = self.copy(case.start)
        process, phase = self.begin(case.corpus, index)
        self._await(since, process, phase)
        process.join(seconds)
        process.kill()
        process.join()
        reached = PHASES[phase.value] if process.exitcode else "finished"
        if not healthy(index):
            return reached, "DAMAGED DATABASE"
        found = answers(index)
        if found not in (case.before, case.after):
            return reached, "NEITHER BEFORE NOR AFTER"
        self.finish(case.corpus, index)
        if answers(index) != case.after:
            return reached, "NOT FINISHED BY THE NEXT INGEST"
        left = [path.name for path in index.iterdir() if path.name.startswith("staging")]
        left += [path.name for path in (index / "generations").iterdir() if path.name.startswith(".")]
        return reached, "LEFT BEHIND " + " ".join(left) if left else "before" if found == case.before else "after"


def crash(work: Path, *, kills: int, seed: int, documents: int) -> Counter[tuple[str, str, str]]:
    """How often each (ingest, phase, finding) was seen."""
    runs = Runs(work)
    corpus = make_corpus(work / "corpus", range(documents), version=0)
    runs.finish(corpus, work / "index")
    make_corpus(corpus, range(documents // 6, documents + documents // 6), version=1)
    cases = [runs.case("update", work / "index", corpus), runs.case("first ingest", None, corpus)]
    seconds = {case.name: case.seconds for case in cases}
    drawn = random.Random(seed)
    tally: Counter[tuple[str, str, str]] = Counter()
    for number in range(kills):
        case = cases[number % 4 == 3]
        if number % 5 == 4:  # publishing is over in a moment, so that hardly any would hit it by chance
            hit = runs.kill(case, since="publishing", seconds=drawn.random() * 0.03)
        else:
            hit = runs.kill(case, since="reading", seconds=seconds[case.name] * (number + drawn.random()) / kills)
            if hit[0] == "finished":  # the machine is faster than it was
                seconds[case.name] *= 0.85
        tally[(case.name, *hit)] += 1
    return tally


def harmless(finding: str) -> bool:
    return finding in ("before", "after")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--documents", type=int, default=60)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="quoth-crash-") as work:
        tally = crash(Path(work), kills=options.kills, seed=options.seed, documents=options.documents)
    order = (*PHASES, "finished")
    for (name, phase, finding), count in sorted(
        tally.items(), key=lambda one: (one[0][0], order.index(one[0][1]), one)
    ):
        print(f"{count:5}  {name:12}  killed while {phase:10}  found: {finding}")
    bad = sum(count for (_, _, finding), count in tally.items() if not harmless(finding))
    print(f"{tally.total()} kills, {bad} with harm")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
