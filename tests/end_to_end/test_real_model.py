"""The whole program with the real model on the sample guides."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from doors.command_line import MINILM, Ran, finish, run, start

from .samples import EXAMPLES

QUESTIONS = EXAMPLES / "agriculture" / "questions.jsonl"


def _batch(index: Path, *arguments: str) -> Ran:
    return run("batch", QUESTIONS, "--index", index, *arguments, variables=MINILM)


@pytest.fixture(scope="module")
def batch(agriculture: Path) -> Ran:
    """What four workers answer."""
    return _batch(agriculture, "--workers", "4")


def test_two_runs_are_byte_identical_with_any_number_of_workers(agriculture: Path, batch: Ran) -> None:
    assert (batch.code, batch.talk) == (0, "")
    assert _batch(agriculture, "--workers", "4") == batch
    assert _batch(agriculture, "--workers", "1", "--set", "embedding.threads=1") == batch


def test_another_process_gives_the_same_bytes(agriculture: Path, batch: Ran) -> None:
    assert finish(start("batch", QUESTIONS, "--index", agriculture, "--workers", "2", variables=MINILM)) == batch


def test_a_batch_gives_what_ask_gives(agriculture: Path, batch: Ran) -> None:
    questions = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    by_id = {result["question_id"]: line for line in batch.lines for result in [json.loads(line)]}

    for question in questions[:3] + questions[-3:]:
        ask = ("ask", question["question"], "--index", agriculture, "--json")
        asked = run(*ask, variables=MINILM).text
        named = asked.replace('"question_id": "1"', f'"question_id": "{question["id"]}"', 1)
        assert by_id[question["id"]] + "\n" == named


def test_an_index_made_in_another_order_of_folders_gives_the_same_answers(agriculture: Path, tmp_path: Path) -> None:
    # Two documents, first together and then one after the other, with the vectors made in other batches.
    names = ["canola/guide.md", "wheat/guide.md"]
    for name in names:
        (tmp_path / "guides" / name).parent.mkdir(parents=True)
        (tmp_path / "guides" / name).write_bytes((EXAMPLES / "agriculture" / name).read_bytes())
    profile = ("--profile", "agriculture")
    run("ingest", tmp_path / "guides", "--index", tmp_path / "together", *profile, variables=MINILM)
    (tmp_path / "guides" / "canola").rename(tmp_path / "canola")
    run("ingest", tmp_path / "guides", "--index", tmp_path / "apart", *profile, variables=MINILM)
    (tmp_path / "canola").rename(tmp_path / "guides" / "canola")
    run("ingest", tmp_path / "guides", "--index", tmp_path / "apart", *profile, variables=MINILM)

    ask = ("ask", "How deep is canola sown, and how deep is wheat?", "--json", "--index")
    together, apart = (run(*ask, tmp_path / name, variables=MINILM) for name in ("together", "apart"))

    assert together.object["answer_sentences"]
    assert apart == together


def test_a_run_verifies_against_the_index_and_against_the_files(agriculture: Path, tmp_path: Path) -> None:
    _batch(agriculture, "-o", str(tmp_path / "run.jsonl"))

    by_index = run("verify", tmp_path / "run.jsonl", "--index", agriculture)
    by_files = run("verify", tmp_path / "run.jsonl", "--root", EXAMPLES / "agriculture")

    assert (by_index.code, by_index.talk) == (0, "")
    assert by_files == by_index


def test_the_demo_answers_two_questions_and_declines_the_third(agriculture: Path) -> None:
    # `--index` keeps the demo's index: over one that holds the same guides already, nothing is embedded again.
    ran = run("demo", "--index", agriculture, variables=MINILM)

    assert ran.code == 0
    assert "Canola grows best at pH 6.0-7.0." in ran.text
    assert ran.text.count("No answer.") == 1
    assert "No answer." in ran.text[ran.text.index("Halvorsen") :]
