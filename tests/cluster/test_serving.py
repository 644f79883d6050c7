"""`quoth serve --cluster` as users start it, on a Ray of its own."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from doors.command_line import PATIENCE, PROGRAM, environment, failed, finish, run, start
from quoth.library import Quoth
from quoth.stores.embedded import EmbeddedStore
from stores.replay import documents_of

from .remote_shards import HASH, QUESTIONS, corpus, plain, rewritten, shards_of, wait_for

VARIABLES = {
    "QUOTH_EMBEDDING_MODEL_NAME": "hash",
    "QUOTH_RERANK_KIND": "late",
    "QUOTH_CACHE_RESULT_SECONDS": "0",
    "QUOTH_RETRIEVAL_CANDIDATES": "6",
}


@dataclass(frozen=True)
class Served:
    program: subprocess.Popen[bytes]
    url: str

    def ask(self, question: str) -> httpx.Response:
        return httpx.post(f"{self.url}/answer", json={"question": question}, timeout=60)

    def degraded(self, question: str) -> list[str]:
        """Return the shards that an answer names as missing; all of them where none could be asked."""
        answer = self.ask(question)
        if answer.status_code == 503:
            return ["every shard"]
        assert answer.status_code == 200, answer.text
        return [one for one in answer.json()["run_notes"]["degraded"] if one != "evidence"]


@contextmanager
def served(place: Path, state: Path, *options: str) -> Iterator[Served]:
    log = state / "err.txt"
    with log.open("wb") as err:
        program = subprocess.Popen(
            [
                PROGRAM,
                *("serve", "--cluster", str(place), "--no-auth", "--port", "0", *options),
                *("--set", f"service.state={state}"),
            ],
            stdout=subprocess.DEVNULL,
            stderr=err,
            env=environment({**VARIABLES, "RAY_USAGE_STATS_ENABLED": "0"}),
        )
        try:
            wait_for(lambda: b" on http://" in log.read_bytes() or program.poll() is not None)
            assert program.poll() is None, log.read_text()
            url = log.read_text().partition(" on ")[2].split()[0]
            yield Served(program, url)
            program.send_signal(signal.SIGTERM)
            assert program.wait(timeout=PATIENCE) == 0, log.read_text()
        finally:
            program.kill()
            program.wait()


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> EmbeddedStore:
    return corpus(tmp_path_factory.mktemp("corpus"))


def descendants(pid: int, title: str) -> list[int]:
    """The processes below `pid` whose title holds these words."""
    parents: dict[int, int] = {}
    titles: dict[int, str] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            titles[int(folder.name)] = (folder / "cmdline").read_text()
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue

    def is_below(one: int) -> bool:
        while one in parents and one != pid:
            one = parents[one]
        return one == pid

    return [one for one, words in titles.items() if title in words and one != pid and is_below(one)]


def test_a_service_on_ray_from_beginning_to_end(one: EmbeddedStore, tmp_path: Path) -> None:
    place = tmp_path / "shards"
    shards_of(one, place, shards=2)
    asked = {
        question: run("ask", question, "--index", one.location, "--json", variables=VARIABLES).text.rstrip("\n")
        for question in QUESTIONS
    }
    with served(place, tmp_path, "--shard-seconds", "5") as service:
        wait_for_answers(service, asked)
        batch = httpx.post(
            f"{service.url}/answer/batch", json={"questions": [{"question": one} for one in QUESTIONS]}, timeout=60
        )
        assert [line.partition(", ")[2] for line in batch.text.splitlines()] == [
            answer.partition(", ")[2] for answer in asked.values()
        ]
        text = httpx.get(f"{service.url}/documents/flax.md/text", timeout=60).text
        assert text.startswith("# Flax")
        ready = httpx.get(f"{service.url}/readyz", timeout=60).json()
        assert (ready["ready"], ready["degraded"]) == (True, [])
        said = httpx.get(f"{service.url}/metrics", timeout=60).text
        assert 'quoth_shard_up{shard="shard 2 of 2"} 1.0' in said

        _check_a_shard_that_hangs(service, asked)
        _check_a_shard_that_dies(service, asked)
        _check_a_new_generation(service, one, place)
        _check_a_damaged_generation(service, one, place)
        below = descendants(service.program.pid, "ray")
    wait_for(lambda: not any(Path(f"/proc/{pid}").exists() for pid in below))


def wait_for_answers(service: Served, expected: dict[str, str]) -> None:
    """Wait until each answer is as expected: on a busy machine a shard may miss its deadline, and is named for it."""
    wait_for(lambda: all(service.ask(question).text == answer for question, answer in expected.items()))


def _check_a_shard_that_hangs(service: Served, asked: dict[str, str]) -> None:
    (hung,) = descendants(service.program.pid, "ServeReplica:quoth:shard-1")
    os.kill(hung, signal.SIGSTOP)
    try:
        wait_for(lambda: all(service.degraded(question) == ["shard 1 of 2"] for question in QUESTIONS[2:4]))
        assert httpx.get(f"{service.url}/readyz", timeout=60).json()["degraded"] == ["shard 1 of 2"]
    finally:
        os.kill(hung, signal.SIGCONT)
    wait_for_answers(service, asked)


def _check_a_shard_that_dies(service: Served, asked: dict[str, str]) -> None:
    (dead,) = descendants(service.program.pid, "ServeReplica:quoth:shard-2")
    os.kill(dead, signal.SIGKILL)
    assert service.degraded(QUESTIONS[2]) in (["shard 2 of 2"], [])  # it may be there again already
    wait_for_answers(service, asked)


def _check_a_new_generation(service: Served, one: EmbeddedStore, place: Path) -> None:
    less = rewritten(
        one, place.parent / "less", [document for document in documents_of(one) if document.document.id != "canola.md"]
    )
    before, after = (plain(Quoth(store, HASH).ask(QUESTIONS[0]), notes=True) for store in (one, less))
    seen: list[str] = []
    wrong: list[str] = []
    stop = threading.Event()

    def asking() -> None:
        while not stop.is_set():
            answer = service.ask(QUESTIONS[0])
            (seen if answer.status_code == 200 and answer.text in (before, after) else wrong).append(answer.text)

    threads = [threading.Thread(target=asking) for _ in range(2)]
    for thread in threads:
        thread.start()
    wait_for(lambda: len(seen) > 2)
    shards_of(one, place, shards=3, prefix="newer", without=["canola.md"])
    wait_for(lambda: bool(wrong) or after in seen)
    wait_for(lambda: bool(wrong) or seen[-4:] == [after] * 4)
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert {*seen} == {before, after}


def _check_a_damaged_generation(service: Served, one: EmbeddedStore, place: Path) -> None:
    """Nobody is restarted for it, and the generation before answers."""
    before = service.ask(QUESTIONS[0]).text
    replicas = descendants(service.program.pid, "ServeReplica:quoth:shard")
    aside = place.parent / "aside"
    shards_of(one, aside, shards=2, prefix="damaged")
    broken = next(path for path in sorted((aside / "damaged-001").rglob("*")) if path.is_file())
    broken.write_bytes(b"x" + broken.read_bytes()[1:])
    for name in ("damaged-000", "damaged-001"):
        shutil.copytree(aside / name, place / name)
    shutil.copy(aside / "cluster.json", place / "cluster.json")
    wait_for(lambda: httpx.get(f"{service.url}/readyz", timeout=60).json()["notes"] != [])
    threading.Event().wait(8)  # in which Serve asks each replica how it does
    assert service.ask(QUESTIONS[0]).text == before
    assert descendants(service.program.pid, "ServeReplica:quoth:shard") == replicas


# What is wrong is said before anything is started


def refused(*arguments: str) -> str:
    ran = run("serve", *arguments, "--no-auth", "--port", "0", variables=VARIABLES)
    assert failed(ran), ran.talk
    return ran.talk


def test_options_that_make_no_sense_together_are_refused(one: EmbeddedStore, tmp_path: Path) -> None:
    shards_of(one, tmp_path, shards=2)
    here = str(tmp_path)
    assert "--index cannot be given with --cluster" in refused("--cluster", here, "--index", here)
    assert "--workers cannot" in refused("--cluster", here, "--workers", "2")
    assert "--replicas is for an index that is served on Ray" in refused("--index", here, "--replicas", "2")
    assert "--shard-seconds is for" in refused("--index", here, "--shard-seconds", "2")
    assert "3 replicas, and at most 2" in refused("--cluster", here, "--replicas", "3", "--max-replicas", "2")


def test_an_index_that_cannot_be_served_is_refused(one: EmbeddedStore, tmp_path: Path) -> None:
    assert "there is no index" in refused("--cluster", str(tmp_path / "no"))
    place = tmp_path / "shards"
    names = shards_of(one, place, shards=2)
    database = place / names[1] / "quoth.db"
    content = database.read_bytes()
    database.unlink()
    assert f"lacks {names[1]}" in refused("--cluster", str(place))
    database.write_bytes(content)
    other = run("serve", "--cluster", place, "--no-auth", "--port", "0", variables={})
    assert failed(other, "the index was made with")
    (place / names[1]).rename(place / "elsewhere")
    assert f"lacks the shard {names[1]}" in refused("--cluster", str(place))


def test_a_cluster_that_cannot_be_reached_is_refused(one: EmbeddedStore, tmp_path: Path) -> None:
    shards_of(one, tmp_path, shards=2)
    given = ("serve", "--cluster", tmp_path, "--no-auth", "--port", "0", "--address", "127.0.0.1:1")
    ran = finish(start(*given, variables=VARIABLES))
    assert failed(ran, "the Ray cluster at 127.0.0.1:1 cannot be reached"), ran.talk
