"""What a cluster costs: figures for docs/scale.md, as ratios to the plain commands on the same machine.

    python tools/cluster_speed.py serving INDEX QUESTIONS --shards 1 2 4 8

takes an embedded index and a file of questions, writes the index into shards, and asks the plain service and the one on
Ray the same questions over HTTP, one at a time. It prints a table in Markdown.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from quoth.stores.embedded import EmbeddedStore  # noqa: E402
from stores.replay import ReplayEmbedder, documents_of  # noqa: E402 - it is beside us, and in no package
from stores.shards import write_shards  # noqa: E402

PROGRAM = Path(sys.executable).with_name("quoth")
PATIENCE = 300


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of each question, the first time and again, and the calls to shards for each of them."""

    first: list[float]
    again: list[float]
    calls_first: float
    calls_again: float
    started: float


def serving(arguments: argparse.Namespace) -> None:
    questions = [json.loads(line)["question"] for line in arguments.questions.read_text().splitlines() if line.strip()]
    rows: list[tuple[str, Times]] = []
    with tempfile.TemporaryDirectory() as folder:
        rows.append(("`quoth serve`", _measured(["--index", str(arguments.index)], Path(folder), questions)))
        for shards in arguments.shards:
            place = Path(folder) / f"{shards}-shards"
            _write(arguments.index, place, shards)
            name = f"`--cluster`, {shards} shard{'s' if shards > 1 else ''}"
            rows.append((name, _measured(["--cluster", str(place)], Path(folder), questions)))
    plain = rows[0][1]
    print("| service | p50 | p95 | p50 again | p95 again | calls to shards | again | starts in |")
    print("|---|---|---|---|---|---|---|---|")
    for name, times in rows:
        print(
            f"| {name} | {_cell(times.first, plain.first, 50)} | {_cell(times.first, plain.first, 95)} "
            f"| {_cell(times.again, plain.again, 50)} | {_cell(times.again, plain.again, 95)} "
            f"| {times.calls_first:.1f} | {times.calls_again:.1f} | {times.started:.0f} s |",
            flush=True,
        )


def _cell(times: Sequence[float], base: Sequence[float], share: int) -> str:
    here, there = _percentile(times, share), _percentile(base, share)
    return f"{1000 * here:.0f} ms ({here / there:.1f}x)"


def _percentile(times: Sequence[float], share: int) -> float:
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, len(ordered) * share // 100)]


def _write(index: Path, place: Path, shards: int) -> None:
    one = EmbeddedStore(index)
    with one.read() as reader:
        profile = (reader.info.profile_name, reader.info.profile_source)
    write_shards(
        place, documents_of(one), shards=shards, embedder=ReplayEmbedder(index), profile=profile, progress=None
    )


def _measured(options: Sequence[str], folder: Path, questions: Sequence[str]) -> Times:
    began = time.perf_counter()
    with _served(options, folder) as url, httpx.Client(base_url=url, timeout=PATIENCE) as client:
        while client.get("/readyz").status_code != 200:
            time.sleep(0.1)
        started = time.perf_counter() - began
        for _ in range(3):  # the model and the connections are warm; the words of the questions are new
            client.post("/answer", json={"question": "Is anybody there?"}).raise_for_status()
        before = _calls(client)
        first = [_asked(client, question) for question in questions]
        between = _calls(client)
        again = [_asked(client, question) for question in questions]
        after = _calls(client)
    count = len(questions)
    return Times(first, again, (between - before) / count, (after - between) / count, started)


def _asked(client: httpx.Client, question: str) -> float:
    began = time.perf_counter()
    answer = client.post("/answer", json={"question": question}).raise_for_status()
    seconds = time.perf_counter() - began
    if lacked := [part for part in answer.json()["run_notes"]["degraded"] if part.startswith("shard ")]:
        sys.exit(f"{question!r} was answered without {', '.join(lacked)}: the times are not of whole answers")
    return seconds


def _calls(client: httpx.Client) -> float:
    lines = client.get("/metrics").text.splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith("quoth_shard_calls_total{"))


@contextmanager
def _served(options: Sequence[str], folder: Path) -> Iterator[str]:
    log = folder / "service.log"
    state = ("--set", f"service.state={folder / 'state'}")
    command = [str(PROGRAM), "serve", *options, "--no-auth", "--port", "0", *state]
    with log.open("wb") as err:
        program = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=err, env={**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
        )
        try:
            while " on http://" not in log.read_text():
                if program.poll() is not None:
                    sys.exit(log.read_text())
                time.sleep(0.1)
            yield log.read_text().partition(" on ")[2].split()[0]
        finally:
            program.send_signal(signal.SIGTERM)
            program.wait(PATIENCE)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("serving", help="p50 and p95 of a question over HTTP, by number of shards")
    one.add_argument("index", type=Path, help="an embedded index")
    one.add_argument("questions", type=Path, help="JSONL with a `question` in each line")
    one.add_argument("--shards", type=int, nargs="+", default=[1, 2, 4, 8])
    one.set_defaults(run=serving)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
