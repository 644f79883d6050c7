"""What a cluster costs: figures for docs/scale.md, as ratios to the plain commands on the same machine.

    python tools/cluster_speed.py serving INDEX QUESTIONS --shards 1 2 4 8
    python tools/cluster_speed.py serving INDEX QUESTIONS --shards 4 --beside ../before/src
    python tools/cluster_speed.py calls

The first two take an embedded index and a file of questions, write the index into shards, and ask the plain service
and the one on Ray the same questions over HTTP, one at a time, each question of one service after the other. With
`--beside` the clusters of another source tree are asked as well. The processor's time is that of the service with all
processes that it started, while it answers. The last compares a call through Ray Serve with a direct one. Each prints
a table in Markdown.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx

ROOT = Path(__file__).resolve().parents[1]
HERE = ROOT / "src"
sys.path.insert(0, str(ROOT / "tests"))

from quoth.stores.embedded import EmbeddedStore  # noqa: E402
from stores.replay import ReplayEmbedder, documents_of  # noqa: E402 - it is beside us, and in no package
from stores.shards import write_shards  # noqa: E402

PROGRAM = Path(sys.executable).with_name("quoth")
PATIENCE = 300
CALLS = "quoth_shard_calls_total{"


@dataclass
class Service:
    """A running service, and the seconds of each question, by the clock and by the processor, first and again."""

    name: str
    client: httpx.Client
    process: int
    started: float
    calls: list[float] = field(default_factory=list)
    clock: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))
    processor: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))

    def ask(self, question: str, *, again: bool) -> None:
        used, began = processor_seconds(self.process), time.perf_counter()
        answer = self.client.post("/answer", json={"question": question}).raise_for_status()
        self.clock[again].append(time.perf_counter() - began)
        self.processor[again].append(processor_seconds(self.process) - used)
        if lacked := [part for part in answer.json()["run_notes"]["degraded"] if part.startswith("shard ")]:
            sys.exit(f"{question!r} was answered without {', '.join(lacked)}: the times are not of whole answers")

    def count_calls(self) -> None:
        """Note how many calls to shards there were until now."""
        lines = self.client.get("/metrics").text.splitlines()
        self.calls.append(sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(CALLS)))


def serving(arguments: argparse.Namespace) -> None:
    questions = [json.loads(line)["question"] for line in arguments.questions.read_text().splitlines() if line.strip()]
    questions = questions[: arguments.limit]
    trees = [HERE, *([arguments.beside] if arguments.beside else [])]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        services = [_started("`quoth serve`", ["--index", str(arguments.index)], Path(folder), HERE, stack)]
        for shards in arguments.shards:
            place = Path(folder) / f"{shards}-shards"
            _write(arguments.index, place, shards)
            for tree in trees:
                name = f"`--cluster`, {shards} shard{'s' if shards > 1 else ''}"
                name += "" if tree == HERE else f", of {tree}"
                services.append(_started(name, ["--cluster", str(place)], Path(folder), tree, stack))
        for service in services:
            service.count_calls()
        for again in (False, True):
            for question in questions:
                for service in services:
                    service.ask(question, again=again)
            for service in services:
                service.count_calls()
        _print_table(services, len(questions))


def _started(name: str, options: Sequence[str], folder: Path, tree: Path, stack: ExitStack) -> Service:
    began = time.perf_counter()
    url, process = stack.enter_context(_served(options, folder, tree))
    client = stack.enter_context(httpx.Client(base_url=url, timeout=PATIENCE))
    while client.get("/readyz").status_code != 200:
        time.sleep(0.1)
    service = Service(name, client, process, time.perf_counter() - began)
    for _ in range(3):  # the model and the connections are warm; the words of the questions are new
        client.post("/answer", json={"question": "Is anybody there?"}).raise_for_status()
    return service


def _print_table(services: Sequence[Service], count: int) -> None:
    print("| service | p50 | p95 | p50 again | p95 again | processor p50 | calls to shards | again | starts in |")
    print("|---|---|---|---|---|---|---|---|---|")
    plain = services[0]
    for service in services:
        cells = [
            _cell(service.clock[again], plain.clock[again], share) for again in (False, True) for share in (50, 95)
        ]
        cells.append(_cell(service.processor[0], plain.processor[0], 50))
        cells += [f"{(after - before) / count:.1f}" for before, after in pairwise(service.calls)]
        print(f"| {service.name} | {' | '.join(cells)} | {service.started:.0f} s |", flush=True)


def calls(arguments: argparse.Namespace) -> None:
    """Ask four replicas at once for a kilobyte, from another replica, as a router asks shards."""
    import ray
    from ray import serve

    from quoth.cluster.serving import _ACTOR

    class Shard:
        def actor(self) -> Any:  # noqa: ANN401 - of Ray's
            return ray.get_runtime_context().current_actor

        def call(self, _: object) -> bytes:
            return bytes(1000)

    class Router:
        def __init__(self, *shards: Any) -> None:  # noqa: ANN401 - of Ray's
            self._shards = shards

        def rounds(self, count: int, direct: bool) -> None:
            actors = [shard.actor.remote().result() for shard in self._shards] if direct else []
            for _ in range(count):
                if direct:
                    ray.get([actor.__ray_call__.remote(lambda _, given: bytes(1000), 1) for actor in actors])
                else:
                    for asked in [shard.call.remote(1) for shard in self._shards]:
                        asked.result()

    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level=logging.ERROR)
    serve.start(proxy_location="Disabled", logging_config={"log_level": "WARNING"})
    deployment: Any = serve.deployment  # what it returns is not typed
    shards = [deployment(Shard).options(name=f"shard-{n}", ray_actor_options=_ACTOR).bind() for n in range(4)]
    router = serve.run(deployment(Router).options(ray_actor_options=_ACTOR).bind(*shards))
    ways: dict[str, tuple[list[float], list[float]]] = {"through Serve": ([], []), "direct": ([], [])}
    for _ in range(arguments.turns):
        for way, (clock, processor) in ways.items():
            used, began = processor_seconds(os.getpid()), time.perf_counter()
            router.rounds.remote(arguments.rounds, way == "direct").result()
            clock.append((time.perf_counter() - began) / arguments.rounds)
            processor.append((processor_seconds(os.getpid()) - used) / arguments.rounds / len(shards))
    print("| a call to each of four shards | all four, by the clock | processor, for each |\n|---|---|---|")
    first = ways["through Serve"]
    for way, (clock, processor) in ways.items():
        print(f"| {way} | {_cell(clock, first[0], 50)} | {_cell(processor, first[1], 50)} |")
    serve.shutdown()  # type: ignore[no-untyped-call]
    ray.shutdown()


def _cell(times: Sequence[float], base: Sequence[float], share: int) -> str:
    here, there = _percentile(times, share), _percentile(base, share)
    return f"{1000 * here:.{0 if here > 0.01 else 1}f} ms ({here / there:.{1 if here >= there else 2}f}x)"


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


def processor_seconds(process: int) -> float:
    """Return what a process and all its descendants that run now have taken of the processor."""
    taken: dict[int, tuple[int, int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has just ended
            fields = stat.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
            taken[int(stat.parent.name)] = int(fields[1]), int(fields[11]) + int(fields[12])
    ours = {process}
    while more := {number for number, (parent, _) in taken.items() if parent in ours} - ours:
        ours |= more
    return sum(taken[number][1] for number in ours if number in taken) / os.sysconf("SC_CLK_TCK")


@contextmanager
def _served(options: Sequence[str], folder: Path, tree: Path) -> Iterator[tuple[str, int]]:
    log = Path(tempfile.mkdtemp(dir=folder)) / "service.log"
    state = ("--set", f"service.state={log.parent / 'state'}")
    command = [str(PROGRAM), "serve", *options, "--no-auth", "--port", "0", *state]
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "PYTHONPATH": str(tree.resolve())}
    with log.open("wb") as err:
        program = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=err, env=environment)
        try:
            while " on http://" not in log.read_text():
                if program.poll() is not None:
                    sys.exit(log.read_text())
                time.sleep(0.1)
            yield log.read_text().partition(" on ")[2].split()[0], program.pid
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
    one.add_argument("--limit", type=int, help="only so many questions")
    one.add_argument(
        "--beside", type=Path, metavar="SRC", help="another source tree, whose clusters are asked by turns"
    )
    one.set_defaults(run=serving)
    two = commands.add_parser("calls", help="what a call to a shard takes, through Serve and past it")
    two.add_argument("--rounds", type=int, default=200)
    two.add_argument("--turns", type=int, default=3)
    two.set_defaults(run=calls)
    arguments = parser.parse_args()
    arguments.run(arguments)


if __name__ == "__main__":
    main()
