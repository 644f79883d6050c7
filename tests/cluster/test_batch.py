"""`quoth cluster batch`, once on a Ray that it starts itself: the same lines as `quoth batch`, and how it fails."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from doors.command_line import PATIENCE, Ran, failed, finish, run, start
from doors.small_corpus import CANOLA, HALVORSEN, WHEAT, SmallCorpus, ingest_small_corpus
from quoth.cluster.batch_driver import CHUNK

from .three_nodes import ThreeNodes

DEADLY = """\
import os
from quoth.library import Quoth

ask = Quoth.ask

def deadly(self, question, **rest):
    if "Halvorsen" in question.text:
        os._exit(1)
    return ask(self, question, **rest)

Quoth.ask = deadly
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> SmallCorpus:
    return ingest_small_corpus(tmp_path_factory.mktemp("small"))


def _on_cluster(*arguments: str | Path, stdin: str = "") -> Ran:
    program = start("cluster", "batch", *arguments, "--workers", "2")
    return finish(program, stdin.encode())


def _started(out: Path, index: Path, cluster: ThreeNodes) -> subprocess.Popen[bytes]:
    words = ("cluster", "batch", "-", "-o", out, "--index", index, "--workers", "1", "--address", cluster.address)
    return start(*words)


def test_lines_and_words_are_those_of_the_plain_command(small: SmallCorpus) -> None:
    kinds = (CANOLA, "?!", WHEAT, HALVORSEN, "no question", "Sow wheat \udcff")
    questions = [json.dumps({"question": kinds[at % 6], "filters": {"crop": "wheat"}}) for at in range(40)]
    questions[20] = "[]"
    given = "\n".join(questions) + "\n"

    plain = run("batch", "-", "--index", small.index, stdin=given.encode())

    assert plain.code == 1
    assert _on_cluster("-", "--index", small.index, stdin=given) == plain


def test_questions_that_kill_their_process_fail_by_name_and_the_next_run_goes_on_there(
    small: SmallCorpus, cluster: ThreeNodes, tmp_path: Path
) -> None:
    questions, out = tmp_path / "questions.txt", tmp_path / "run.jsonl"
    lines = [CANOLA] * (2 * CHUNK) + [HALVORSEN] + [WHEAT] * CHUNK
    questions.write_text("\n".join(lines), encoding="utf-8")
    words = (questions, "-o", out, "--index", small.index, "--retries", "1")

    with cluster.altered(DEADLY, *cluster.nodes()):
        ran = _on_cluster(*words, "--address", cluster.address)

    assert failed(ran, f"question {2 * CHUNK + 1} and those right after it could not be answered", "goes on there")
    assert out.read_bytes().count(b"\n") == 2 * CHUNK
    again = _on_cluster(*words, "--address", cluster.address)
    assert again == Ran(0, b"", f"{out} held {2 * CHUNK} answers, {CHUNK + 1} were added\n")
    assert out.read_bytes() == run("batch", questions, "--index", small.index).data
    # When all is answered, no cluster is started: there is none at this address.
    done = _on_cluster(*words, "--address", "127.0.0.1:1")
    assert done == Ran(0, b"", f"{out} held {len(lines)} answers: all questions are answered\n")


def test_an_index_that_changes_in_the_middle_is_never_mixed_with_what_it_was(
    small: SmallCorpus, cluster: ThreeNodes, tmp_path: Path
) -> None:
    shutil.copytree(small.folder.parent, tmp_path / "own")
    index, out = tmp_path / "own" / "index", tmp_path / "run.jsonl"
    program = _started(out, index, cluster)
    assert program.stdin is not None
    program.stdin.write((f"{CANOLA}\n" * 2 * CHUNK).encode())
    program.stdin.flush()
    end = time.monotonic() + PATIENCE
    while not out.exists() or out.read_bytes().count(b"\n") < CHUNK:
        assert program.poll() is None, finish(program)
        assert time.monotonic() < end, "it hangs"
        time.sleep(0.02)

    (tmp_path / "own" / "fields" / "rye.md").write_text("Sow rye at 3 cm.\n", encoding="utf-8")
    assert run("ingest", tmp_path / "own" / "fields", "--index", index, "-q").code == 0
    ran = finish(program, (f"{WHEAT}\n" * 2 * CHUNK).encode())

    assert failed(ran, "was changed during the run", "another -o")
    written = [json.loads(line) for line in out.read_bytes().splitlines()]
    assert len({one["run_notes"]["index"] for one in written}) == 1
    again = _on_cluster("-", "-o", out, "--index", index, stdin=f"{CANOLA}\n")
    assert failed(again, "from another index, or from before it changed")


def test_ctrl_c_leaves_complete_lines_and_says_how_to_go_on(
    small: SmallCorpus, cluster: ThreeNodes, tmp_path: Path
) -> None:
    out = tmp_path / "run.jsonl"
    program = _started(out, small.index, cluster)
    assert program.stdin is not None
    program.stdin.write((f"{CANOLA}\n" * 3 * CHUNK).encode())
    program.stdin.flush()
    end = time.monotonic() + PATIENCE
    while not out.exists() or b"\n" not in out.read_bytes():
        assert program.poll() is None, finish(program)
        assert time.monotonic() < end, "it hangs"
        time.sleep(0.02)

    program.send_signal(signal.SIGINT)
    ran = finish(program)

    assert ran.code == 130
    assert ran.talk == (
        "interrupted: the answers written so far are complete lines; the same command goes on behind them\n"
    )
    assert out.read_bytes().endswith(b"\n")


def test_an_index_without_shards_cannot_be_spread(small: SmallCorpus) -> None:
    ran = run("cluster", "batch", "-", "--index", small.index, "--placement", "spread", stdin=CANOLA.encode())

    assert failed(ran, "has no shards that could be spread", "quoth cluster ingest")
