"""A real cluster of three nodes, one of which is killed in the middle of the work: nothing is lost, no byte differs."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from doors.command_line import HASH, PATIENCE, failed, finish, run, start
from doors.small_corpus import CANOLA, HALVORSEN, WHEAT, SmallCorpus, ingest_small_corpus
from quoth.cluster.batch_driver import CHUNK
from quoth.stores.embedded import EmbeddedStore
from stores.replay import ReplayEmbedder, documents_of
from stores.shards import write_shards

from .three_nodes import ThreeNodes

KINDS = (CANOLA, WHEAT, HALVORSEN, "?!", "Is durum exempt?", "Aerate the bin every week.")
HANGING = """\
import time
from pathlib import Path
from quoth.library import Quoth

ask, out = Quoth.ask, Path({out!r})

def hanging(self, question, **rest):
    if out.exists() and out.stat().st_size:
        Path({hangs!r}).touch()
        time.sleep(3600)
    return ask(self, question, **rest)

Quoth.ask = hanging
"""
"""A node that runs this answers no more questions once the output has a line, and makes the file `hangs`."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Questions, the index in shards that they are asked, and what `quoth batch` writes and says about them."""

    questions: Path
    shards: Path
    lines: bytes
    problems: str

    @property
    def count(self) -> int:
        return self.lines.count(b"\n")


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> SmallCorpus:
    return ingest_small_corpus(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def shards(corpus: SmallCorpus) -> Path:
    return _sharded(corpus.index)


@pytest.fixture(scope="module")
def asked(corpus: SmallCorpus, shards: Path) -> Asked:
    questions = corpus.folder.parent / "questions.jsonl"
    lines = [json.dumps({"id": f"q{at}", "question": f"{KINDS[at % 6]}{' ?' * (at % 5)}"}) for at in range(20 * CHUNK)]
    lines[40] = "no question"
    questions.write_text("\n".join(lines) + "\n", encoding="utf-8")
    plain = run("batch", questions, "--index", corpus.index)
    return Asked(questions, shards, plain.data, plain.talk)


def _sharded(index: Path) -> Path:
    """The same documents in four shards."""
    place = index.with_name("shards")
    store = EmbeddedStore(index)
    with store.read() as reader:
        profile = reader.info.profile_name, reader.info.profile_source
    documents = documents_of(store)
    write_shards(place, documents, shards=4, embedder=ReplayEmbedder(index), profile=profile, progress=None)
    store.close()
    return place


def _batch(asked: Asked, cluster: ThreeNodes, out: Path, *arguments: str) -> subprocess.Popen[bytes]:
    words = ("cluster", "batch", asked.questions, "-o", out, "--index", asked.shards, "--address", cluster.address)
    return start(*words, "--workers", "3", *arguments)


@contextmanager
def _in_the_middle(asked: Asked, cluster: ThreeNodes, out: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Yield a batch that has written answers while the last node holds questions that it will never answer."""
    hangs = out.with_name("hangs")
    with cluster.altered(HANGING.format(out=str(out), hangs=str(hangs)), cluster.nodes()[-1]):
        program = _batch(asked, cluster, out, *arguments)
        end = time.monotonic() + PATIENCE
        while not hangs.exists():
            assert program.poll() is None, finish(program).talk
            assert time.monotonic() < end, "it hangs elsewhere"
            time.sleep(0.02)
        yield program


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n")


@pytest.mark.parametrize("placement", ["whole", "spread"])
def test_a_batch_survives_a_node(placement: str, cluster: ThreeNodes, asked: Asked, tmp_path: Path) -> None:
    out = tmp_path / "run.jsonl"
    with _in_the_middle(asked, cluster, out, "--placement", placement) as program:
        cluster.kill(cluster.nodes()[-1])
        ran = finish(program)

    assert (ran.code, ran.talk) == (1, asked.problems)
    assert out.read_bytes() == asked.lines


def test_a_shard_is_called_directly_as_long_as_its_replica_answers(cluster: ThreeNodes, shards: Path) -> None:
    """What cannot be called so gives None, and then goes through Serve."""
    words = [sys.executable, "-W", "ignore", "-m", "cluster.direct_child", str(shards), cluster.address]
    tests = Path(__file__).parents[1]
    ran = subprocess.run(words, check=False, cwd=tests, capture_output=True, text=True, timeout=PATIENCE)

    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout) == {
        "twice": ["given True", "given True"],
        "found": 1,
        "not open": "unknown None",
        "meanwhile": None,
        "late": "shard 1 of the index cannot be asked now: it did not answer in time",
        "right after": None,
        "later": "given True",
        "dead": None,
    }


def test_a_batch_goes_on_where_it_was_killed(cluster: ThreeNodes, asked: Asked, tmp_path: Path) -> None:
    out = tmp_path / "run.jsonl"
    with _in_the_middle(asked, cluster, out) as program:
        program.kill()
        finish(program)
    held = _lines(out)
    ran = finish(_batch(asked, cluster, out))

    assert 0 < held < asked.count
    assert (ran.code, out.read_bytes()) == (1, asked.lines)
    assert ran.talk == f"{out} held {held:,} answers, {asked.count - held:,} were added\n{asked.problems}"


def test_nobody_at_the_address_is_said_at_once(asked: Asked, tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        port = taken.getsockname()[1]
        words = ("-o", tmp_path / "run.jsonl", "--index", asked.shards, "--address", f"127.0.0.1:{port}")
        ran = run("cluster", "batch", asked.questions, *words)

    assert failed(ran, f"the Ray cluster at 127.0.0.1:{port} cannot be reached", "--address")
    assert not (tmp_path / "run.jsonl").exists()


def test_a_node_with_another_version_of_quoth_is_named(cluster: ThreeNodes, asked: Asked, tmp_path: Path) -> None:
    with cluster.altered("import quoth\nquoth.__version__ = '0.0.7'\n", cluster.nodes()[-1]):
        ran = finish(_batch(asked, cluster, tmp_path / "run.jsonl"))

    assert failed(ran, "runs Quoth 0.0.7", "Install the same versions")
    assert not (tmp_path / "run.jsonl").exists()


def test_another_version_of_ray_is_refused(cluster: ThreeNodes, asked: Asked, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import ray\nray.__version__ = '1.0.0'\n", encoding="utf-8")
    variables = {**HASH, "PYTHONPATH": str(tmp_path)}
    words = ("cluster", "batch", asked.questions, "-o", tmp_path / "run.jsonl", "--index", asked.shards)

    ran = finish(start(*words, "--address", cluster.address, variables=variables))

    assert failed(ran, "cannot join the Ray cluster", "Use the cluster's versions of Ray")
    assert not (tmp_path / "run.jsonl").exists()
