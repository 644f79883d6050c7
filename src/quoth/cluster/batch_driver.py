"""Answer many questions on a cluster: read, send and write them a chunk at a time, in order, and none twice.

Each chunk of questions is a Ray task. Ray places it, and repeats it elsewhere when its node dies. Tasks suit this
better than actors: none waits for a slot on a lost node, and a node that joins later gets work.
"""

from __future__ import annotations

import os
import uuid
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, TypeAlias

from quoth.cluster import batch_output
from quoth.cluster.batch_output import AnswerFile, AnswerOrigin, BatchPlan, BatchReport, Placement, StandardOutput
from quoth.cluster.ray_session import alive, connected, cpus, fetch, native_stderr_silenced, wait_for_some
from quoth.cluster.remote_store import RemoteStore
from quoth.cluster.shard_host import ShardHost, layout_of
from quoth.domain.profile import parse_profile
from quoth.errors import ClusterFault, IndexMismatch, QuestionError, QuothError, SettingsError, ShardLost, ShardMissing
from quoth.library import Quoth
from quoth.output.render import json_line, outcome_json
from quoth.overrides import Overrides
from quoth.protocols import Progress
from quoth.search.question_analysis import analyse
from quoth.search.question_files import UnreadableLine
from quoth.stores.embedded.generations import Layout
from quoth.stores.locations import open_location
from quoth.stores.sharded import ShardedStore
from quoth.stores.sharded import cluster_manifest as manifest
from quoth.stores.sharded.cluster_manifest import ClusterManifest, ShardEntry
from quoth.stores.sharded.shard_protocol import shard_name
from quoth.types import IndexInfo, Question
from quoth.wiring import open_store

CHUNK = 16
"""Questions in a task: few enough to repeat, and enough that sending them costs little beside answering them."""
_AHEAD = 2
"""Tasks for each CPU, so that none is idle; and how many chunks for each task may wait for an earlier one."""

Hosts: TypeAlias = tuple[Any, ...]
"""Actor handles of `ShardHost`, in the order of the shards."""
_MEMORY_SHARE = 4
"""Every node opens the whole index if that takes at most a quarter of the node's memory."""
_CALLS_AT_ONCE = 8


_Chunk: TypeAlias = tuple[Question | UnreadableLine, ...]
_Answers: TypeAlias = tuple[str | QuestionError, ...]
"""For each line of a chunk the answer as a line of JSON, or why there is none."""


@dataclass(frozen=True, slots=True)
class _BatchIndex:
    """`place` is an address that every node understands; `cluster` is None for an index without shards."""

    place: str
    info: IndexInfo
    cluster: ClusterManifest | None


def answer_all(
    lines: Iterator[Question | UnreadableLine],
    output: AnswerFile | StandardOutput,
    plan: BatchPlan,
    *,
    total: int,
    progress: Progress | None,
) -> BatchReport:
    """Write a line to `output` for every question that it does not answer yet.

    Raises `ClusterFault` for the first chunk that cannot be answered, after writing all answers before it.
    """
    index = _describe_index(plan)
    existing = _skip_answered(lines, output, index.info, plan.overrides)
    chunks = iter(lambda: tuple(islice(lines, CHUNK)), ())
    first = next(chunks, None)
    problems, answered = [*existing.problems], 0
    done = existing.kept + len(problems)
    if first is not None:
        with _stdout_silenced(), connected(plan.address):
            for chunk, answers in _answers_in_order(chain([first], chunks), plan, index):
                written = list(_written(chunk, answers))
                output.write(written)
                answered += len(written)
                problems += [str(refused) for refused in answers if isinstance(refused, QuestionError)]
                done += len(chunk)
                if progress is not None:
                    progress("answering", done, total)
    if isinstance(output, AnswerFile):
        output.finish()
    return BatchReport(existing.kept, answered, tuple(problems))


@contextmanager
def _stdout_silenced() -> Iterator[None]:
    """Drop what Ray prints about processes that die: standard output may be where the answers go."""
    with native_stderr_silenced(), Path(os.devnull).open("w", encoding="utf-8") as null, redirect_stdout(null):
        yield


def _written(chunk: _Chunk, answers: _Answers) -> Iterator[tuple[Question, str]]:
    """Yield the questions that have an answer, each with its line."""
    for asked, line in zip(chunk, answers, strict=True):
        if isinstance(asked, Question) and isinstance(line, str):
            yield asked, f"{line}\n"


def _describe_index(plan: BatchPlan) -> _BatchIndex:
    """Read what the index says about itself. Shards are not opened for that: they may be large, and far away."""
    store = open_store(plan.index, plan.overrides.without_profile().store)
    if isinstance(store, ShardedStore):
        cluster = manifest.read(open_location(store.location))
        return _BatchIndex(store.location, cluster.info, cluster)
    if plan.placement is Placement.SPREAD:
        raise SettingsError(
            f"the index at {store.location} has no shards that could be spread",
            hint="Leave --placement out, or make shards with quoth cluster ingest.",
        )
    with closing(store), store.read() as reader:
        place = plan.index if "://" in plan.index else str(Path(plan.index).absolute())
        return _BatchIndex(place, reader.info, None)


def _skip_answered(
    lines: Iterator[Question | UnreadableLine],
    output: AnswerFile | StandardOutput,
    info: IndexInfo,
    overrides: Overrides,
) -> BatchReport:
    profile = parse_profile(info.profile_source)
    settings = overrides.over(profile.settings, profile=profile.name)
    if not isinstance(output, AnswerFile):
        return BatchReport(0, 0, ())

    def check(question: Question) -> None:
        analyse(question, profile=profile, settings=settings.retrieval)

    origin = AnswerOrigin(info.digest, settings.digest)
    return batch_output.skip_answered(lines, output, origin=origin, check=check)


def _answers_in_order(
    chunks: Iterator[_Chunk], plan: BatchPlan, index: _BatchIndex
) -> Iterator[tuple[_Chunk, _Answers]]:
    """Yield each chunk with its answers. The number of chunks in flight, or waiting for an earlier one, is bounded."""
    send = _sender(plan, index)
    waiting: deque[tuple[_Chunk, Any]] = deque()
    results: dict[Any, Any] = {}
    in_flight: set[Any] = set()

    def settle() -> Iterator[tuple[_Chunk, _Answers]]:
        for task in wait_for_some(list(in_flight)):
            in_flight.remove(task)
            results[task] = _result(task)  # at once: a node that dies takes unfetched results with it
        while waiting and waiting[0][1] in results:
            chunk, task = waiting.popleft()
            yield chunk, _checked(chunk, results.pop(task))

    for chunk in chunks:
        while len(in_flight) >= (most := plan.workers or _AHEAD * cpus()) or len(waiting) >= _AHEAD * most:
            yield from settle()
        task = send(chunk)
        in_flight.add(task)
        waiting.append((chunk, task))
    while waiting:
        yield from settle()


def _sender(plan: BatchPlan, index: _BatchIndex) -> Callable[[_Chunk], Any]:
    """Return a function that submits a chunk to the cluster and returns the Ray task."""
    import ray

    # One question at a time in each process, and one process for each CPU.
    overrides = replace(plan.overrides, flags={"embedding.threads": "1", **plan.overrides.flags})
    hosts = _start_hosts(plan, index)
    job = BatchJob(uuid.uuid4().hex, index.place, index.info.digest, overrides, folder=str(Path.cwd()), hosts=hosts)
    task = ray.remote(answer).options(
        num_cpus=1, max_retries=plan.retries, scheduling_strategy="SPREAD", name="quoth batch"
    )
    return lambda chunk: task.remote(job, chunk)


def _start_hosts(plan: BatchPlan, index: _BatchIndex) -> Hosts:
    """Start an actor for each shard, unless every process opens all of them.

    Ray restarts an actor elsewhere if it dies, and repeats a call.
    """
    import ray

    cluster, placement = index.cluster, plan.placement
    if cluster is None or placement is Placement.WHOLE:
        return ()
    smallest: float = min(node["Resources"].get("memory", 0) for node in alive().values())
    if placement is Placement.AUTO and _MEMORY_SHARE * cluster.size <= smallest:
        return ()
    host = ray.remote(ShardHost).options(
        num_cpus=0,  # they work while their callers wait
        scheduling_strategy="SPREAD",
        max_restarts=-1,
        max_task_retries=plan.retries,
        max_concurrency=_CALLS_AT_ONCE,
    )
    layout = layout_of(plan.overrides.without_profile().store)
    return tuple(host.remote(index.place, cache=None, layout=layout) for _ in cluster.shards)


def _result(task: Any) -> Any:  # noqa: ANN401 - a reference of Ray's, and what it stands for
    """Return what a task gave, or its error, which is raised when all answers before it are written."""
    import ray

    try:
        return fetch(task)
    except (QuothError, ray.exceptions.RayError) as error:
        return error


def _checked(chunk: _Chunk, result: _Answers | Exception) -> _Answers:
    if isinstance(result, QuothError) and not isinstance(result, ShardMissing):
        raise result
    if isinstance(result, Exception):
        first = next((line.id for line in chunk if isinstance(line, Question)), "")
        why = next((line.strip() for line in str(result).splitlines() if line.strip()), type(result).__name__)
        raise ClusterFault(
            f"question {first} and those right after it could not be answered: {why[:300]}",
            hint="The answers before it are written; the same command goes on there. Fewer --workers need less memory.",
        ) from result
    return result


# In the processes of the cluster


@dataclass(frozen=True, slots=True)
class BatchJob:
    """What every process of a batch gets. Relative paths in the settings start in `folder`.

    If there are `hosts`, one for each shard, they are searched and the index is not opened here.
    """

    id: str
    index: str
    digest: str
    overrides: Overrides
    folder: str
    hosts: Hosts


_opened: dict[str, Quoth] = {}
"""By job id. A Ray process works for one driver, and so for one job."""


def answer(job: BatchJob, chunk: _Chunk) -> _Answers:
    quoth = _opened.get(job.id) or _open(job)
    return tuple(_answer_line(quoth, asked, job) for asked in chunk)


def _open(job: BatchJob) -> Quoth:
    with suppress(OSError):  # a node that does not see this folder may not need it
        os.chdir(job.folder)
    settings = job.overrides.without_profile().store
    store = _hosted_store(job, layout_of(settings)) if job.hosts else open_store(job.index, settings)
    quoth = Quoth(store, job.overrides)
    quoth.prepare()
    _opened[job.id] = quoth
    return quoth


def _answer_line(quoth: Quoth, asked: Question | UnreadableLine, job: BatchJob) -> str | QuestionError:
    if isinstance(asked, UnreadableLine):
        return QuestionError(f"line {asked.number}: {asked.why}")
    try:
        outcome = quoth.ask(asked)
    except QuestionError as error:
        return QuestionError(f"question {asked.id}: {error}")
    if outcome.notes.index != job.digest:  # a file of answers is about one version of the index
        raise IndexMismatch(
            f"the index at {quoth.location} was changed during the run",
            hint="Answer all questions anew, with another -o; the answers so far are about the index as it was.",
        )
    return json_line(outcome_json(outcome))


def _hosted_store(job: BatchJob, layout: Layout) -> RemoteStore:
    """Return the index whose shards these hosts have open. It answers from all of them or not at all."""
    import ray

    def call(number: int, entry: ShardEntry, method: str, args: tuple[Any, ...]) -> Any:  # noqa: ANN401 - as the method gives
        try:
            return fetch(job.hosts[number].call.remote(entry, method, args))
        except ray.exceptions.RayError as error:
            raise ShardLost(shard_name(number, len(job.hosts)), type(error).__name__) from error

    return RemoteStore(job.index, call, layout=layout, strict=True)
