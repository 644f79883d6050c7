"""`quoth serve --cluster` on three nodes of which one is killed."""

from __future__ import annotations

import os
from pathlib import Path

import httpx
import pytest

from doors.command_line import failed, finish, start
from quoth.library import Quoth
from quoth.stores.embedded import EmbeddedStore

from .remote_shards import HASH, QUESTIONS, corpus, plain, shards_of
from .test_serving import VARIABLES, Served, descendants, served, wait_for_answers
from .three_nodes import ThreeNodes


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> EmbeddedStore:
    return corpus(tmp_path_factory.mktemp("corpus"))


def test_a_node_that_is_killed_costs_no_answer(one: EmbeddedStore, tmp_path: Path, cluster: ThreeNodes) -> None:
    """Only what was on its way through it is sent again. Another service is refused meanwhile, and ends nothing.

    What an earlier command has left that was killed is ended first.
    """
    place = tmp_path / "shards"
    shards_of(one, place, shards=2)
    expected = {question: plain(Quoth(one, HASH).ask(question), notes=True) for question in QUESTIONS}
    options = ("--address", cluster.address, "--replicas", "2", "--shard-seconds", "5")
    _serve_and_be_killed(place, tmp_path, *options[:2])
    with served(place, tmp_path, *options) as service:
        again = start("serve", "--cluster", place, "--no-auth", *options[:2], variables=VARIABLES)
        answers: list[tuple[str, str]] = []
        repeated: list[str] = []
        for number in range(60):
            if number == 20:
                assert failed(finish(again), "an index is served on this cluster already")
                cluster.kill(_with_a_shard(cluster))
            question = QUESTIONS[number % len(QUESTIONS)]
            answers.append((question, _answered(service, question, repeated)))
        whole = [(question, answer) for question, answer in answers if answer == expected[question]]
        named = [answer for question, answer in answers if answer != expected[question]]
        assert all('"degraded": ["shard ' in answer for answer in named)  # nothing is left out in silence
        assert len(whole) > 40
        assert len(repeated) <= 2 * len(cluster.nodes()), repeated  # each node that listens may have had one under way
        wait_for_answers(service, expected)


def _serve_and_be_killed(place: Path, state: Path, *options: str) -> None:
    with pytest.raises(AssertionError), served(place, state, *options) as service:  # it did not end as it should
        service.program.kill()
        service.program.wait()
        assert service.ask(QUESTIONS[0]).status_code == 200  # the cluster serves on, without anybody to end it


def _with_a_shard(cluster: ThreeNodes) -> int:
    """The number of a node, not the first, that holds a replica of a shard. Nodes are numbered as they were started."""
    parents = {int(_stat(pid)[1]) for pid in descendants(os.getpid(), "ServeReplica:quoth:shard")}
    started = sorted(descendants(os.getpid(), "raylet/raylet"), key=lambda pid: int(_stat(pid)[19]))
    numbers = dict(zip(started, cluster.nodes(), strict=True))
    return next(number for pid, number in numbers.items() if pid in parents and number > 0)


def _stat(pid: int) -> list[str]:
    """What the kernel says of a process, after its name: its state, its parent, …"""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _answered(service: Served, question: str, repeated: list[str]) -> str:
    """As a client asks that has heard of nodes that fail: what was on its way through one is sent again, and noted."""
    for _ in range(3):
        try:
            answer = service.ask(question)
        except httpx.TransportError as error:
            repeated.append(str(error))
            continue
        if answer.status_code == 200:
            return answer.text
        assert answer.status_code in {500, 503}, answer.text
        repeated.append(answer.text)
    raise AssertionError(f"it was never answered: {repeated}")
