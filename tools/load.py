"""Load a real service on loopback, and measure what it bears.

    python tools/load.py clients --index INDEX [--questions FILE] [--workers 2]   # 1, 8, 64 and 256 clients
    python tools/load.py beyond  --index INDEX      # more clients than the queue takes: who is sent away, and how
    python tools/load.py memory  --index INDEX [--requests 50000]   # does it grow?
    python tools/load.py kill    --index INDEX      # kill -9 of a process under load
    python tools/load.py ingest  --index INDEX      # uploads and a new generation under load
    python tools/load.py size    --index INDEX [--index INDEX …]    # for the sizing table of docs/deployment.md

The service is `quoth serve` as a user starts it, on a copy of the index where it is written to; the clients keep their
connections. The cache of question vectors is off, so that a question that was asked before costs as much as a new one.
Clients and service share the machine's cores: ratios mean more than figures.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SAMPLE = Path(__file__).parent.parent / "examples" / "agriculture" / "questions.jsonl"
CLIENTS = (1, 8, 64, 256)
SECONDS = 20.0


@dataclass
class Seen:
    """What clients saw."""

    seconds: list[float] = field(default_factory=list)
    statuses: Counter[str] = field(default_factory=Counter)
    taken: float = 0.0

    def percentile(self, share: float) -> float:
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")

    @property
    def rate(self) -> float:
        """Answers a second: who was sent away got none."""
        return self.statuses["200"] / self.taken


@dataclass(frozen=True)
class Served:
    port: int
    program: subprocess.Popen[bytes]

    def children(self) -> list[int]:
        found = subprocess.run(["pgrep", "-P", str(self.program.pid)], capture_output=True, text=True, check=False)
        mine = [int(one) for one in found.stdout.split()]
        return [one for one in mine if b"resource_tracker" not in _command(one)]

    def memory(self) -> int:
        """Bytes that are this service's alone, of all its processes."""
        return sum(_private(one) for one in [self.program.pid, *self.children()])


def _command(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""


def _private(process: int) -> int:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) * 1024


@contextmanager
def served(index: Path, *, workers: int, settings: Sequence[str] = ()) -> Iterator[Served]:
    """A service of our own, ready to answer."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="quoth-load-") as state, Path(state, "log").open("wb") as log:
        command = [sys.executable, "-c", "from quoth.cli import main; main()", "serve", "--no-auth"]
        command += ["--index", str(index), "--port", str(port), "--workers", str(workers)]
        for one in ("cache.memory_mb=0", f"service.state={state}", *settings):
            command += ["--set", one]
        program = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            _await_ready(port, program, Path(log.name))
            yield Served(port, program)
        finally:
            program.send_signal(signal.SIGTERM)
            program.wait(60)


def _await_ready(port: int, program: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until and program.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/readyz", timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise SystemExit(f"the service did not become ready:\n{log.read_text()[-2000:]}")


async def client(port: int, bodies: Sequence[bytes], seen: Seen, *, until: float, most: int, first: int) -> None:
    """Ask one question after the other over one connection, made anew when it breaks."""
    connection: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
    for number in range(first, first + most):
        if time.monotonic() >= until:
            break
        body = bodies[number % len(bodies)]
        started = time.perf_counter()
        try:
            if connection is None:
                connection = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", port), 10)
            reader, writer = connection
            writer.write(
                b"POST /answer HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\ncontent-length: "
                + str(len(body)).encode()
                + b"\r\n\r\n"
                + body
            )
            status = await asyncio.wait_for(_response(reader), 60)
        except (OSError, EOFError, TimeoutError) as error:
            seen.statuses[type(error).__name__] += 1
            if connection is not None:
                connection[1].close()
            connection = None
            continue
        seen.statuses[status] += 1
        if status == "200":
            seen.seconds.append(time.perf_counter() - started)
        elif status == "503":
            await asyncio.sleep(0.5)  # less than it was told to wait, which is a second or more
    if connection is not None:
        connection[1].close()


async def _response(reader: asyncio.StreamReader) -> str:
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    length = next(int(line.split(":")[1]) for line in lines if line.lower().startswith("content-length"))
    await reader.readexactly(length)
    return lines[0].split()[1]


async def load(port: int, bodies: Sequence[bytes], *, clients: int, seconds: float, most: int = 10**9) -> Seen:
    seen = Seen()
    started = time.monotonic()
    each = max(1, most // clients)
    await asyncio.gather(
        *(client(port, bodies, seen, until=started + seconds, most=each, first=number * 7) for number in range(clients))
    )
    seen.taken = time.monotonic() - started
    return seen


def questions(path: Path) -> list[bytes]:
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    return [json.dumps({"question": one["question"]}).encode() for one in lines]


def clients(index: Path, bodies: Sequence[bytes], workers: int) -> None:
    print(f"{index.name}, {workers} processes; a queue of 1,000, so that nobody is sent away")
    print(" clients  answers/s  to one   p50 ms   p95 ms   p99 ms p50 to one  seen")
    with served(index, workers=workers, settings=["service.queue=1000", "service.seconds=60"]) as service:
        asyncio.run(load(service.port, bodies, clients=4, seconds=5))  # warm
        alone = None
        for many in CLIENTS:
            seen = asyncio.run(load(service.port, bodies, clients=many, seconds=SECONDS))
            alone = alone or seen
            middle = seen.percentile(0.5)
            print(
                f"{many:8} {seen.rate:10.1f} {seen.rate / alone.rate:7.2f} {1000 * middle:8.1f} "
                f"{1000 * seen.percentile(0.95):8.1f} {1000 * seen.percentile(0.99):8.1f} "
                f"{middle / alone.percentile(0.5):10.1f}  {dict(seen.statuses)}",
                flush=True,
            )


def beyond(index: Path, bodies: Sequence[bytes], workers: int) -> None:
    print(
        f"{index.name}, {workers} processes; a queue of 16 each, 256 clients that come again sooner than they were told"
    )
    with served(index, workers=workers, settings=["service.queue=16"]) as service:
        usual = asyncio.run(load(service.port, bodies, clients=8, seconds=SECONDS))
        seen = asyncio.run(load(service.port, bodies, clients=256, seconds=SECONDS))
        print(
            f"8 clients: {usual.rate:.1f} answers/s, p95 {1000 * usual.percentile(0.95):.0f} ms, {dict(usual.statuses)}"
        )
        print(
            f"256 clients: {seen.rate:.1f} answers/s, p95 {1000 * seen.percentile(0.95):.0f} ms, {dict(seen.statuses)}"
        )


def memory(index: Path, bodies: Sequence[bytes], workers: int, requests: int) -> None:
    print(f"{index.name}, {workers} processes, 64 clients, {requests:,} requests, queue of 16 each")
    with served(index, workers=workers, settings=["service.queue=16"]) as service:
        done = 0
        statuses: Counter[str] = Counter()
        print(f"{'requests':>9} {'memory MB':>10}", flush=True)
        print(f"{0:9} {service.memory() / 1e6:10.0f}", flush=True)
        while done < requests:
            seen = asyncio.run(load(service.port, bodies, clients=64, seconds=3600, most=requests // 10))
            done += sum(seen.statuses.values())
            statuses += seen.statuses
            print(f"{done:9} {service.memory() / 1e6:10.0f}   {dict(seen.statuses)}", flush=True)
        print(f"in all {dict(statuses)}")


async def _with(task: asyncio.Future[Seen], doing: asyncio.Future[None]) -> Seen:
    await doing
    return await task


def kill(index: Path, bodies: Sequence[bytes], workers: int) -> None:
    print(f"{index.name}, {workers} processes, 16 clients; kill -9 of a process after 5, 10 and 15 s")

    async def killing(service: Served) -> Seen:
        async def do() -> None:
            for _ in range(3):
                await asyncio.sleep(5)
                os.kill(service.children()[-1], signal.SIGKILL)

        running = asyncio.ensure_future(load(service.port, bodies, clients=16, seconds=SECONDS + 5))
        return await _with(running, asyncio.ensure_future(do()))

    with served(index, workers=workers) as service:
        before = set(service.children())
        seen = asyncio.run(killing(service))
        failed = sum(count for status, count in seen.statuses.items() if status != "200")
        print(f"{sum(seen.statuses.values())} requests, {failed} failed: {dict(seen.statuses)}")
        print(f"processes alive: {len(service.children())}, of which new: {len(set(service.children()) - before)}")


def ingest(index: Path, bodies: Sequence[bytes], workers: int) -> None:
    print(f"{index.name} (a copy), {workers} processes, 8 clients; ten uploads meanwhile")

    def put(port: int, number: int) -> None:
        text = f"# Note {number}\n\nThe load note {number} was written for this run alone.\n".encode()
        address = f"http://127.0.0.1:{port}/documents/load/note-{number}.md"
        asked = urllib.request.Request(address, data=text, method="PUT")
        with urllib.request.urlopen(asked, timeout=30):  # noqa: S310 - our own, on loopback
            pass

    async def writing(service: Served) -> Seen:
        async def do() -> None:
            for number in range(10):
                await asyncio.sleep(1)
                await asyncio.to_thread(put, service.port, number)

        running = asyncio.ensure_future(load(service.port, bodies, clients=8, seconds=SECONDS))
        return await _with(running, asyncio.ensure_future(do()))

    with tempfile.TemporaryDirectory(prefix="quoth-load-index-") as folder:
        copy = Path(folder, "index")
        shutil.copytree(index, copy)
        with served(copy, workers=workers) as service:
            usual = asyncio.run(load(service.port, bodies, clients=8, seconds=SECONDS))
            seen = asyncio.run(writing(service))
            jobs = _jobs(service.port)
            until = time.monotonic() + 120
            while any(one["finished"] is None for one in jobs) and time.monotonic() < until:
                time.sleep(0.5)
                jobs = _jobs(service.port)
    print(f"alone:   {usual.rate:.1f} answers/s, p95 {1000 * usual.percentile(0.95):.0f} ms, {dict(usual.statuses)}")
    print(f"writing: {seen.rate:.1f} answers/s, p95 {1000 * seen.percentile(0.95):.0f} ms, {dict(seen.statuses)}")
    print(f"jobs: {dict(Counter(one['state'] for one in jobs))}")


def _jobs(port: int) -> list[dict[str, Any]]:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/jobs", timeout=30) as found:
        listed: list[dict[str, Any]] = json.load(found)["jobs"]
    return listed


def size(indexes: Sequence[Path], bodies: Sequence[bytes], workers: int) -> None:
    print(
        "| sentences | disk | memory of a process | answers a minute, one client | eight clients | p95, eight clients |"
    )
    print("|---|---|---|---|---|---|")
    for index in indexes:
        disk = sum(path.stat().st_size for path in index.rglob("*") if path.is_file())
        with served(index, workers=workers) as service:
            facets = json.load(urllib.request.urlopen(f"http://127.0.0.1:{service.port}/facets", timeout=30))
            asyncio.run(load(service.port, bodies, clients=8, seconds=5))
            alone = asyncio.run(load(service.port, bodies, clients=1, seconds=SECONDS))
            eight = asyncio.run(load(service.port, bodies, clients=8, seconds=SECONDS))
            used = statistics.mean(map(_private, service.children() or [service.program.pid]))
        print(
            f"| {facets['sentences']:,} | {disk / 1e6:,.0f} MB | {used / 1e6:,.0f} MB | {60 * alone.rate:,.0f} "
            f"| {60 * eight.rate:,.0f} | {1000 * eight.percentile(0.95):,.0f} ms |",
            flush=True,
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["clients", "beyond", "memory", "kill", "ingest", "size"])
    parser.add_argument("--index", type=Path, action="append", required=True)
    parser.add_argument("--questions", type=Path, default=SAMPLE)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--requests", type=int, default=50_000)
    given = parser.parse_args()
    bodies = questions(given.questions)
    index = given.index[0]
    match given.what:
        case "clients":
            clients(index, bodies, given.workers)
        case "beyond":
            beyond(index, bodies, given.workers)
        case "memory":
            memory(index, bodies, given.workers, given.requests)
        case "kill":
            kill(index, bodies, given.workers)
        case "ingest":
            ingest(index, bodies, given.workers)
        case "size":
            size(given.index, bodies, given.workers)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
