"""Sharded indexes in pieces, and a transport in this process whose shards can be made to fail."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from doors.command_line import run, write_files
from quoth.cluster.remote_store import RemoteStore
from quoth.cluster.shard_host import ShardHost
from quoth.errors import ShardLost
from quoth.library import Quoth
from quoth.output.render import json_line, outcome_json
from quoth.overrides import Overrides
from quoth.stores.embedded import EmbeddedStore
from quoth.stores.embedded.generations import Layout
from quoth.stores.sharded import assign
from quoth.stores.sharded.cluster_manifest import ShardEntry
from quoth.types import Outcome, SplitDocument
from stores.replay import ReplayEmbedder, documents_of
from stores.shards import publish

LAYOUT = Layout(200_000, 4096)
HASH = Overrides(
    {
        "embedding": {"model_name": "hash"},
        "rerank": {"kind": "late"},
        "cache": {"result_seconds": 0},
        "retrieval": {"candidates": 6},
    },
    {},
    {},
)
"""With so few candidates, shards have to be asked for exact scores as well."""
PATIENCE = 60
"""Seconds after which what is waited for counts as never coming."""
LONGEST_WAIT = 300
"""The same for what a busy machine needs minutes for, such as the start of Ray."""
CROPS = ("canola", "wheat", "barley", "oats", "peas", "lentils", "flax", "corn", "soy", "rye", "hemp", "mustard")
QUESTIONS = (
    "Sow canola at 2.0 cm into moist soil?",
    "Sow flax at 5.0 cm into moist soil, and harvest flax in week 36?",
    "Harvest rye in week 39?",
    "What does Halvorsen say about peas?",
    "Which crop is stored below 15 degrees?",
)


def corpus(place: Path) -> EmbeddedStore:
    """An index of a dozen short documents that all speak of the same things."""
    files: dict[str, bytes | str] = {
        f"{crop}.md": (
            f"# {crop.capitalize()}\n\nSow {crop} at {2 + number / 2} cm into moist soil. "
            f"However, sow {crop} deeper when it is dry. The field is rolled after seeding.\n\n"
            f"Harvest {crop} in week {30 + number}. Store {crop} below {10 + number} degrees.\n"
        )
        for number, crop in enumerate(CROPS)
    }
    folder = write_files(place / "fields", files)
    ran = run("ingest", folder, "--index", place / "one", "--profile", "general")
    assert ran.code == 0, ran.talk
    return EmbeddedStore(place / "one")


def shards_of(
    one: EmbeddedStore, place: Path, *, shards: int, prefix: str = "shard", without: Sequence[str] = ()
) -> list[str]:
    """Write the documents of an index into shards of a new generation, and publish it."""
    documents = [document for document in documents_of(one) if document.document.id not in without]
    names = [f"{prefix}-{number:03d}" for number in range(shards)]
    for number, name in enumerate(names):
        rewritten(one, place / name, [one for one in documents if assign(one.document.id, shards) == number])
    publish(place, names)
    return names


def rewritten(one: EmbeddedStore, place: Path, documents: Sequence[SplitDocument]) -> EmbeddedStore:
    """An index of some of the documents of another."""
    with one.read() as reader:
        profile = (reader.info.profile_name, reader.info.profile_source)
    written = EmbeddedStore(place)
    written.write(documents, remove=(), embedder=ReplayEmbedder(Path(one.location)), profile=profile, progress=None)
    written.close()
    return written


def without_shard(one: EmbeddedStore, place: Path, *, shard: int, shards: int) -> EmbeddedStore:
    """One index of the documents that are in the other shards."""
    rest = [document for document in documents_of(one) if assign(document.document.id, shards) != shard]
    return rewritten(one, place, rest)


@dataclass
class Wires:
    """A transport. What `faults` says is done before a call, or instead of it; every call is noted."""

    place: Path
    hosts: int
    seconds: float = PATIENCE
    layout: Layout = LAYOUT
    faults: dict[int, Callable[[str], None]] = field(default_factory=dict)
    calls: list[tuple[int, str]] = field(default_factory=list)
    failed: list[tuple[int, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._shards = [
            ShardHost(str(self.place), cache=self.place / "cache", layout=self.layout) for _ in range(self.hosts)
        ]
        self._pool = ThreadPoolExecutor(32)

    def __call__(self, number: int, entry: ShardEntry, method: str, args: tuple[Any, ...]) -> Any:  # noqa: ANN401
        host = number % self.hosts
        self.calls.append((number, args[1] if method == "limited" else method))
        answer = self._pool.submit(self._answered, host, entry, method, args)
        try:
            return answer.result(timeout=self.seconds)
        except TimeoutError as error:
            self.failed.append((number, method))
            raise ShardLost(f"shard {number + 1}", "it did not answer in time") from error
        except ConnectionError as error:
            self.failed.append((number, method))
            raise ShardLost(f"shard {number + 1}", str(error)) from error

    def _answered(self, host: int, entry: ShardEntry, method: str, args: tuple[Any, ...]) -> Any:  # noqa: ANN401
        if (fault := self.faults.get(host)) is not None:
            fault(args[1] if method == "limited" else method)
        return self._shards[host].call(entry, method, args)

    def close(self) -> None:
        self._pool.shutdown()
        for one in self._shards:
            one.close()


def dies_at(*methods: str) -> Callable[[str], None]:
    """From the first of these calls on nothing is answered any more."""
    dead = threading.Event()

    def fault(method: str) -> None:
        if method in methods or not methods:
            dead.set()
        if dead.is_set():
            raise ConnectionError("its process is gone")

    return fault


def waits_at(*methods: str) -> tuple[Callable[[str], None], threading.Event]:
    """These calls are answered when the event is set."""
    go_on = threading.Event()

    def fault(method: str) -> None:
        if method in methods:
            go_on.wait(PATIENCE)

    return fault, go_on


def late_at(method: str) -> Callable[[str], None]:
    """From this call on no answer comes in time, however long that is."""
    slow = threading.Event()

    def fault(called: str) -> None:
        if called == method:
            slow.set()
        if slow.is_set():
            raise TimeoutError

    return fault


@contextmanager
def remote(
    wires: Wires, *, strict: bool = False, overrides: Overrides = HASH, first_seconds: float = PATIENCE
) -> Iterator[tuple[Quoth, RemoteStore]]:
    store = RemoteStore(
        wires.place, wires, layout=LAYOUT, strict=strict, first_seconds=first_seconds, poll_seconds=0.05
    )
    try:
        yield Quoth(store, overrides), store
    finally:
        store.close()
        wires.close()


def plain(outcome: Outcome, *, notes: bool) -> str:
    """An outcome as bytes; without `notes` that of parts of an index can be compared with that of a smaller one."""
    shown = outcome_json(outcome)
    if not notes:
        for name in ("degraded", "warnings", "index"):
            del shown["run_notes"][name]
    return json_line(shown)


def wait_for(is_so: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(20 * LONGEST_WAIT):
        if is_so():
            return
        pause.wait(0.05)
    raise AssertionError("it never came")
