"""What the commands of a cluster cost beside the plain ones, and what a kill costs: figures for docs/scale.md.

    python tools/cluster_runs.py same CORPUS QUESTIONS       one index against four shards, answer by answer
    python tools/cluster_runs.py ingest CORPUS               wall time against `quoth ingest`
    python tools/cluster_runs.py start CORPUS [--beside SRC] how soon an ingest reads, of two source trees by turns
    python tools/cluster_runs.py batch INDEX QUESTIONS       questions a second against `quoth batch`
    python tools/cluster_runs.py recovery INDEX QUESTIONS    three nodes here, one of which is killed in the middle

Each prints a table in Markdown. CORPUS is a folder of documents, INDEX an embedded index, QUESTIONS a JSONL file.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from cluster.three_nodes import ThreeNodes, three_nodes  # noqa: E402 - it is beside us, and in no package
from quoth.stores.embedded import EmbeddedStore  # noqa: E402
from stores.replay import ReplayEmbedder, documents_of  # noqa: E402
from stores.shards import write_shards  # noqa: E402

PROGRAM = str(Path(sys.executable).with_name("quoth"))
STARTING = """
import os, sys, time
from pathlib import Path
from cluster_speed import processor_seconds
began = time.monotonic()
from quoth.cluster import ingest_driver
from quoth.overrides import NO_OVERRIDES
seen = {}

def note(stage):
    seen.setdefault(stage, (time.monotonic() - began, processor_seconds(os.getpid())))

check = ingest_driver.check_sees
ingest_driver.check_sees = lambda *given: (note("started"), check(*given))
job = ingest_driver.ClusterIngest(
    paths=(Path(sys.argv[1]),), output=sys.argv[2], shards=4, profile=None, prune=False, overrides=NO_OVERRIDES,
    address=None, workers=None, gpus_per_worker=0,
)
ingest_driver.ingest(job, progress=lambda what, done, total: note(what))
print(*(f"{seen[stage][kind]:.1f}" for kind in (0, 1) for stage in ("started", "reading")))
"""
"""Ingests as `quoth cluster ingest` does, and notes when the cluster runs and when the first file was read."""


@dataclass(frozen=True, slots=True)
class Run:
    """Seconds in all, seconds to the first line of output, and lines a second after it."""

    seconds: float
    to_first: float
    rate: float
    output: bytes


def same(arguments: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        one, four = arguments.index or Path(scratch, "one"), Path(scratch, "four")
        profile = ("--profile", arguments.profile)
        if arguments.index:
            _write(one, four, 4)
        else:
            _timed("ingest", arguments.corpus, "--index", one, *profile)
            _timed("cluster", "ingest", arguments.corpus, "--output", four, "--shards", "4", *profile)
        plain = _batch(Path(scratch, "1.jsonl"), "batch", arguments.questions, "--index", one).output.splitlines()
        sharded = _batch(Path(scratch, "4.jsonl"), "batch", arguments.questions, "--index", four).output.splitlines()
    equal = sum(a == b for a, b in zip(plain, sharded, strict=True))
    print(f"| questions | the same bytes from 4 shards as from 1 |\n|---|---|\n| {len(plain)} | {equal} |")


def ingest(arguments: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as scratch:
        started = _ray_start()
        plain = _timed("ingest", arguments.corpus, "--index", Path(scratch, "one"))
        again = _timed("ingest", arguments.corpus, "--index", Path(scratch, "one"))
        words = ("cluster", "ingest", arguments.corpus, "--output", Path(scratch, "four"), "--shards", "4")
        cluster = _timed(*words)
        cluster_again = _timed(*words)
    print("| ingest | in all | without Ray's start | again, with nothing to do |\n|---|---|---|---|")
    print(f"| `quoth ingest` | {plain:.0f} s | | {again:.0f} s |")
    print(
        f"| `quoth cluster ingest --shards 4` | {cluster:.0f} s ({cluster / plain:.2f}x) "
        f"| {cluster - started:.0f} s ({(cluster - started) / plain:.2f}x) | {cluster_again:.0f} s |"
    )


def start(arguments: argparse.Namespace) -> None:
    trees = [ROOT / "src", *([arguments.beside] if arguments.beside else [])]
    print(
        "| seconds | clock: Ray runs | first file read | processor: Ray runs | first file read |\n|---|---|---|---|---|"
    )
    for tree in trees * arguments.turns:
        with tempfile.TemporaryDirectory() as scratch:
            words = [sys.executable, "-W", "ignore", "-c", STARTING, str(arguments.corpus), str(Path(scratch, "four"))]
            path = os.pathsep.join([str(tree.resolve()), str(Path(__file__).resolve().parent)])
            ran = subprocess.run(
                words, check=True, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}
            )
        print(f"| `{tree}` | {ran.stdout.strip().replace(' ', ' | ')} |", flush=True)


def batch(arguments: argparse.Namespace) -> None:
    rows: list[tuple[str, Run]] = []
    with tempfile.TemporaryDirectory() as scratch:
        out = Path(scratch, "run.jsonl")
        questions, workers = arguments.questions, ("--workers", "2")
        for shards in (1, 4):
            place = Path(scratch, f"{shards}")
            _write(arguments.index, place, shards)
            name = f"{shards} shard{'s' if shards > 1 else ''}"
            rows.append((f"`quoth batch`, {name}", _batch(out, "batch", questions, "--index", place, *workers)))
            for placement in ("whole", "spread"):
                words = ("cluster", "batch", questions, "--index", place, *workers, "--placement", placement)
                rows.append((f"`quoth cluster batch --placement {placement}`, {name}", _batch(out, *words)))
    if len({run.output for _, run in rows}) != 1:
        sys.exit("the outputs differ")
    plain = rows[0][1]
    print("| batch | in all | to the first answer | answers a second after it |\n|---|---|---|---|")
    for name, run in rows:
        print(
            f"| {name} | {run.seconds:.0f} s ({run.seconds / plain.seconds:.2f}x) | {run.to_first:.0f} s "
            f"| {run.rate:.1f} ({run.rate / plain.rate:.2f}x) |"
        )


def recovery(arguments: argparse.Namespace) -> None:
    print("| batch on three nodes | in all | longest time without a new answer |\n|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as scratch, three_nodes() as cluster:
        place = Path(scratch, "four")
        _write(arguments.index, place, 4)
        for placement in ("whole", "spread"):
            on = ("--address", cluster.address, "--workers", "2", "--placement", placement)
            words = ("cluster", "batch", arguments.questions, "--index", place, *on)
            outputs = set()
            for kill in (False, True):
                out = Path(scratch, f"{placement}-{kill}.jsonl")
                seconds, longest = _watched(out, cluster if kill else None, *words)
                outputs.add(out.read_bytes())
                what = "a node killed in the middle" if kill else "nothing killed"
                print(f"| `{placement}`, {what} | {seconds:.0f} s | {longest:.1f} s |", flush=True)
            if len(outputs) != 1:
                sys.exit("the outputs differ")
            cluster.add()


def _watched(out: Path, cluster: ThreeNodes | None, *words: str | Path) -> tuple[float, float]:
    """Seconds in all, and the longest pause between two looks that found more lines, from the first line on."""
    began = time.monotonic()
    program = subprocess.Popen([PROGRAM, *map(str, words), "-o", str(out), "--quiet"])
    lines, since, longest = 0, began, 0.0
    while program.poll() is None:
        found = _lines(out)
        now = time.monotonic()
        if found > lines:
            longest = max(longest, now - since if lines else 0.0)
            lines, since = found, now
            if cluster is not None and lines > 30:
                cluster.kill(cluster.nodes()[-1])
                cluster = None
        time.sleep(0.02)
    if program.returncode:
        sys.exit(f"{' '.join(map(str, words))} failed")
    return time.monotonic() - began, longest


def _batch(out: Path, *words: str | Path) -> Run:
    out.unlink(missing_ok=True)
    began = time.monotonic()
    program = subprocess.Popen([PROGRAM, *map(str, words), "-o", str(out), "--quiet"])
    first: tuple[float, int] | None = None
    last = began, 0
    while program.poll() is None:
        lines, now = _lines(out), time.monotonic()
        if lines and first is None:
            first = now, lines
        if lines > last[1]:
            last = now, lines
        time.sleep(0.02)
    seconds = time.monotonic() - began
    if program.returncode or first is None:
        sys.exit(f"{' '.join(map(str, words))} failed")
    content = out.read_bytes()
    rate = (last[1] - first[1]) / max(1e-9, last[0] - first[0])
    return Run(seconds, first[0] - began, rate, content)


def _timed(*words: str | Path) -> float:
    began = time.monotonic()
    subprocess.run([PROGRAM, *map(str, words), "--quiet"], check=True)
    return time.monotonic() - began


def _ray_start() -> float:
    """How long it takes until a cluster that was started here can be worked on."""
    code = "import time\nfrom quoth.cluster.ray_session import connected\nbegan = time.monotonic()\n"
    code += "with connected(None):\n    print(time.monotonic() - began)\n"
    ran = subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, capture_output=True, text=True)
    return float(ran.stdout.split()[-1])


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def _write(index: Path, place: Path, shards: int) -> None:
    one = EmbeddedStore(index)
    with one.read() as reader:
        profile = (reader.info.profile_name, reader.info.profile_source)
    write_shards(
        place, documents_of(one), shards=shards, embedder=ReplayEmbedder(index), profile=profile, progress=None
    )


def main(given: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    for run, paths in ((same, ("corpus", "questions")), (ingest, ("corpus",)), (start, ("corpus",))):
        one = commands.add_parser(run.__name__)
        one.set_defaults(run=run)
        for name in paths:
            one.add_argument(name, type=Path)
        one.add_argument("--profile", default="general")
        if run is same:
            one.add_argument("--index", type=Path, help="of the corpus; its vectors are taken, and nothing is embedded")
        if run is start:
            one.add_argument("--beside", type=Path, metavar="SRC", help="another source tree")
            one.add_argument("--turns", type=int, default=2, help="how often each is measured")
    for run in (batch, recovery):
        one = commands.add_parser(run.__name__)
        one.set_defaults(run=run)
        one.add_argument("index", type=Path)
        one.add_argument("questions", type=Path)
    arguments = parser.parse_args(given)
    arguments.run(arguments)


if __name__ == "__main__":
    main()
