"""Answer many questions on a cluster: read, sent out and written a few at a time, in order, and never twice.

Each chunk of questions is a task of Ray's, which places it, and does it again elsewhere when its node dies. They are
tasks and no actors: none waits for the room that a lost node had, and a node that joins later gets its part.
"""

from __future__ import annotations

import os
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from quoth.cluster.batch_hosts import Hosts, fits_everywhere, start_hosts
from quoth.cluster.batch_output import AnswerFile, Kept, Origin, Output, pass_over, unaskable, unreadable
from quoth.cluster.batch_plan import Batch, Placement
from quoth.cluster.batch_worker import Job, Unaskable, answer
from quoth.cluster.faults import some_done
from quoth.cluster.nodes import alive, connected
from quoth.cluster.quiet import native_talk_aside
from quoth.errors import ClusterFault, PartMissing, QuothError, SettingsError
from quoth.profiles import parse_profile
from quoth.protocols import Progress
from quoth.questions import UnreadableLine
from quoth.retrieve.question import analyse
from quoth.settings import Overrides
from quoth.stores.places import open_place
from quoth.stores.sharded import ShardedStore, manifest
from quoth.types import IndexInfo, Question
from quoth.wiring import open_store

CHUNK = 16
"""Questions in a task: few are lost when it is done again, and sending them takes no time beside answering them."""
_AHEAD = 2
"""Tasks for each processor, so that none waits for us; and chunks that may wait for one before them to be written."""


@dataclass(frozen=True, slots=True)
class Report:
    """`kept` were in the file before, `answered` came to it; `problems` are in the order of the questions."""

    kept: int
    answered: int
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Index:
    """Where it is, in words that every node understands; `cluster` where it is made of shards."""

    place: str
    info: IndexInfo
    cluster: manifest.Cluster | None


@dataclass(frozen=True, slots=True)
class _Chunk:
    asked: tuple[Question | UnreadableLine, ...]

    @property
    def questions(self) -> tuple[Question, ...]:
        return tuple(one for one in self.asked if isinstance(one, Question))


def answer_all(
    asked: Iterator[Question | UnreadableLine],
    output: Output,
    batch: Batch,
    *,
    total: int,
    progress: Progress | None,
) -> Report:
    """Write the line of every question to `output`, behind those that a file of answers holds already.

    `ClusterFault` names the first question of a chunk that could not be answered; all before it are written then.
    """
    index = _found(batch)
    kept = _pass_over(asked, output, index.info, batch.overrides)
    chunks = _chunks(asked)
    first = next(chunks, None)
    desk = _Desk(output, [*kept.problems], progress, done=kept.answers + len(kept.problems), total=total)
    if first is not None:
        with _undisturbed(), connected(batch.address):
            for chunk, answers in _in_order(chain([first], chunks), batch, index):
                desk.take(chunk, answers)
    if isinstance(output, AnswerFile):
        output.finish()
    return Report(kept.answers, desk.answered, tuple(desk.problems))


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Ray tells of every process that dies, on standard output too, where the answers may go."""
    with native_talk_aside(), Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        yield


class _Desk:
    """Takes the answers in their order, writes them, and remembers what could not be asked."""

    def __init__(
        self, output: Output, problems: list[str], progress: Progress | None, *, done: int, total: int
    ) -> None:
        self.answered = 0
        self.problems = problems
        self._output = output
        self._progress = progress
        self._done = done
        self._total = total

    def take(self, chunk: _Chunk, answers: tuple[str | Unaskable, ...]) -> None:
        left, lines = iter(answers), []
        for one in chunk.asked:
            if isinstance(one, UnreadableLine):
                self.problems.append(unreadable(one))
            elif isinstance(found := next(left), Unaskable):
                self.problems.append(unaskable(one, found.why))
            else:
                lines.append((one, found + "\n"))
        self._output.write(lines)
        self.answered += len(lines)
        self._done += len(chunk.asked)
        if self._progress:
            self._progress("answering", self._done, self._total)


def _found(batch: Batch) -> _Index:
    """What the index says about itself. Shards are not opened for that: they may be large, and far away."""
    store = open_store(batch.index, batch.overrides.over({}, profile="none").store)
    if isinstance(store, ShardedStore):
        cluster = manifest.read(open_place(store.place))
        return _Index(store.place, cluster.info, cluster)
    if batch.placement is Placement.SPREAD:
        raise SettingsError(
            f"the index at {store.place} has no shards that could be spread",
            hint="Leave --placement out, or make shards with quoth cluster ingest.",
        )
    with closing(store), store.read() as reader:
        place = batch.index if "://" in batch.index else str(Path(batch.index).absolute())
        return _Index(place, reader.info, None)


def _pass_over(
    asked: Iterator[Question | UnreadableLine], output: Output, info: IndexInfo, overrides: Overrides
) -> Kept:
    profile = parse_profile(info.profile_source)
    settings = overrides.over(profile.settings, profile=profile.name)
    if not isinstance(output, AnswerFile):
        return Kept(0, ())

    def check(question: Question) -> None:
        analyse(question, profile=profile, settings=settings.retrieval)

    origin = Origin(info.digest, settings.digest)
    return pass_over(
        asked, output.lines(), filters=output.filters(), origin=origin, check=check, place=str(output.path)
    )


def _chunks(asked: Iterator[Question | UnreadableLine]) -> Iterator[_Chunk]:
    while some := tuple(islice(asked, CHUNK)):
        yield _Chunk(some)


def _in_order(
    chunks: Iterator[_Chunk], batch: Batch, index: _Index
) -> Iterator[tuple[_Chunk, tuple[str | Unaskable, ...]]]:
    """Each chunk with its answers. Only so many are under way, or wait for one before them, however many there are."""
    send = _sender(batch, index)
    waiting: deque[tuple[_Chunk, Any]] = deque()
    given: dict[Any, Any] = {}
    under_way: set[Any] = set()

    def settle() -> Iterator[tuple[_Chunk, tuple[str | Unaskable, ...]]]:
        for task in some_done(list(under_way)):
            under_way.remove(task)
            given[task] = _outcome(task)  # at once: a node that dies takes with it what was not fetched
        while waiting and waiting[0][1] in given:
            chunk, task = waiting.popleft()
            yield chunk, _checked(chunk, given.pop(task))

    for chunk in chunks:
        while len(under_way) >= (most := _most(batch)) or len(waiting) >= _AHEAD * most:
            yield from settle()
        task = send(chunk.questions)
        under_way.add(task)
        waiting.append((chunk, task))
    while waiting:
        yield from settle()


def _sender(batch: Batch, index: _Index) -> Callable[[tuple[Question, ...]], Any]:
    """What gives questions to the cluster."""
    import ray

    # One question at a time in each process, of which there is one for each processor.
    overrides = replace(batch.overrides, flags={"embedding.threads": "1", **batch.overrides.flags})
    job = Job(
        uuid.uuid4().hex, index.place, index.info.digest, overrides, folder=str(Path.cwd()), hosts=_hosts(batch, index)
    )
    task = ray.remote(answer).options(
        num_cpus=1, max_retries=batch.retries, scheduling_strategy="SPREAD", name="quoth batch"
    )
    return lambda questions: task.remote(job, questions)


def _hosts(batch: Batch, index: _Index) -> Hosts:
    """Those of the shards, where they are not opened by everybody."""
    cluster, placement = index.cluster, batch.placement
    if cluster is None or placement is Placement.WHOLE or (placement is Placement.AUTO and fits_everywhere(cluster)):
        return ()
    settings = batch.overrides.over({}, profile="none").store
    return start_hosts(index.place, cluster, settings, retries=batch.retries)


def _most(batch: Batch) -> int:
    """How many tasks may be under way; nodes come and go."""
    if batch.workers is not None:
        return batch.workers
    return max(1, _AHEAD * int(sum(node["Resources"].get("CPU", 0) for node in alive().values())))


def _outcome(task: Any) -> Any:  # noqa: ANN401 - a reference of Ray's, and what it stands for
    """What a task gave, or how it failed: that is said when all before it are written."""
    import ray

    try:
        return ray.get(task)
    except ray.exceptions.RayError as error:
        return error


def _checked(chunk: _Chunk, outcome: tuple[str | Unaskable, ...] | Exception) -> tuple[str | Unaskable, ...]:
    if isinstance(outcome, QuothError) and not isinstance(outcome, PartMissing):
        raise outcome
    if isinstance(outcome, Exception):
        named = next((one.id for one in chunk.questions), "")
        why = next((line.strip() for line in str(outcome).splitlines() if line.strip()), type(outcome).__name__)
        raise ClusterFault(
            f"question {named} and those right after it could not be answered: {why[:300]}",
            hint="The answers before it are written; the same command goes on there. Fewer --workers need less memory.",
        ) from outcome
    return outcome
