from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .command_line import failed, run
from .small_corpus import CANOLA, HALVORSEN, WHEAT, SmallCorpus


@pytest.fixture
def questions(small: SmallCorpus, tmp_path: Path) -> Path:
    """Two answerable questions, one that is declined, and one that cannot be asked."""
    lines = [
        _labelled("canola", CANOLA, small, doc_id="canola.md"),
        _labelled("wheat", WHEAT, small, doc_id="wheat.md"),
        {"id": "halvorsen", "question": HALVORSEN, "answerable": False, "gold": []},
        {**_labelled("crash", WHEAT, small, doc_id="wheat.md"), "question": "?!"},
    ]
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


def _labelled(id_: str, sentence: str, small: SmallCorpus, *, doc_id: str) -> dict[str, Any]:
    start = small.source(doc_id).index(sentence)
    gold = {"doc_id": doc_id, "start": start, "end": start + len(sentence), "text": sentence}
    return {"id": id_, "question": sentence, "answerable": True, "gold": [gold]}


def _value(evaluation: dict[str, Any], key: str) -> object:
    return evaluation["measures"][key]["value"]


def test_a_set_is_asked_and_measured(small: SmallCorpus, questions: Path) -> None:
    found = run("eval", questions, "--index", small.index, "--json").object

    assert (found["questions"], found["answerable"], found["without_result"]) == (4, 3, 1)
    assert _value(found, "hit@1") == pytest.approx(2 / 3, abs=1e-6)
    assert _value(found, "recall_fused") == pytest.approx(2 / 3, abs=1e-6)
    assert _value(found, "false_answer_rate") == 0.0
    assert found["measures"]["hit@1"].keys() >= {"value", "low", "high", "counted"}
    assert [one["fault"] for one in found["results"] if one["id"] == "crash"] == ["question: the question has no words"]


def test_the_summary_shows_values_intervals_and_notes(small: SmallCorpus, questions: Path) -> None:
    ran = run("eval", questions, "--index", small.index)

    assert (ran.code, ran.talk) == (0, "")
    assert ran.lines[0] == "4 questions: 3 answerable, 1 not"
    assert any(line.split()[:2] == ["hit@1", "0.667"] for line in ran.lines)
    assert "note: 1 of 4 questions have no result and count as wrong" in ran.text


def test_two_evaluations_of_the_same_run_are_identical(small: SmallCorpus, questions: Path, tmp_path: Path) -> None:
    lines = tmp_path / "run.jsonl"
    run("batch", questions, "-o", lines, "--index", small.index)
    for name in ("a", "b"):
        files = ("--save", tmp_path / f"{name}.json", "--report", tmp_path / f"{name}.html")
        assert run("eval", questions, "--run", lines, "--index", small.index, *files).code == 0
    live = [run("eval", questions, "--index", small.index, "--json").data for _ in range(2)]

    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    assert live[0] == live[1]


def test_a_run_is_judged_by_its_lines_and_a_missing_one_is_wrong(
    small: SmallCorpus, questions: Path, tmp_path: Path
) -> None:
    lines = tmp_path / "run.jsonl"
    run("batch", questions, "-o", lines, "--index", small.index)
    lines.write_text(lines.read_text(encoding="utf-8").split("\n", 1)[1], encoding="utf-8")
    found = run("eval", questions, "--run", lines, "--index", small.index, "--json").object

    assert found["without_result"] == 2
    assert _value(found, "hit@1") == pytest.approx(1 / 3, abs=1e-6)
    assert "recall by stage" in found["absent"]
    assert found["measures"]["citations_exact"]["value"] < 1.0


def test_without_an_index_a_run_is_judged_but_not_sliced_again(
    small: SmallCorpus, questions: Path, tmp_path: Path
) -> None:
    lines = tmp_path / "run.jsonl"
    run("batch", questions, "-o", lines, "--index", small.index)
    ran = run("eval", questions, "--run", lines, "--index", tmp_path / "absent", "--json")

    assert ran.code == 0
    assert "there is no index" in ran.talk
    assert "citations_exact" in ran.object["absent"]


def test_a_saved_evaluation_is_what_json_prints_and_can_be_evaluated_again(
    small: SmallCorpus, questions: Path, tmp_path: Path
) -> None:
    saved = tmp_path / "saved.json"
    printed = run("eval", questions, "--index", small.index, "--json", "--save", saved)
    again = run("eval", questions, "--run", saved, "--json")

    assert saved.read_bytes() == printed.data == again.data


def test_a_limit_takes_the_first_questions(small: SmallCorpus, questions: Path) -> None:
    found = run("eval", questions, "--index", small.index, "--json", "--limit", "2").object

    assert [one["id"] for one in found["results"]] == ["canola", "wheat"]
    assert _value(found, "hit@1") == 1.0


def test_two_settings_are_compared(small: SmallCorpus, questions: Path, tmp_path: Path) -> None:
    before, after = tmp_path / "before.json", tmp_path / "after.json"
    run("eval", questions, "--index", small.index, "--save", before)
    run("eval", questions, "--index", small.index, "--save", after, "--limit", "3")
    ran = run("eval", "--compare", before, after)
    found = run("eval", "--compare", before, after, "--json").object

    assert ran.code == 0
    assert "only in A, so wrong in the other: crash" in ran.text
    assert found["only_first"] == ["crash"]
    assert found["differences"]["hit@1"]["difference"]["value"] == 0.0


def test_two_runs_are_compared_on_their_questions(small: SmallCorpus, questions: Path, tmp_path: Path) -> None:
    lines, fewer = tmp_path / "run.jsonl", tmp_path / "fewer.jsonl"
    run("batch", questions, "-o", lines, "--index", small.index)
    fewer.write_text(lines.read_text(encoding="utf-8").split("\n", 1)[1], encoding="utf-8")
    found = run("eval", questions, "--compare", lines, fewer, "--index", small.index, "--json").object

    assert found["differences"]["hit@1"]["sign_test"] == {"first": 1, "second": 0, "p": 1.0}


def test_the_wrong_index_is_noticed(small: SmallCorpus, questions: Path) -> None:
    moved = questions.read_text(encoding="utf-8").replace("wheat.md", "barley.md")
    questions.write_text(moved, encoding="utf-8")
    found = run("eval", questions, "--index", small.index, "--json").object

    assert "the index lacks 1 documents that hold gold, such as barley.md" in found["notes"]


def test_mistakes_are_said_with_a_hint(small: SmallCorpus, questions: Path, tmp_path: Path) -> None:
    at = ("--index", small.index)

    assert failed(run("eval", tmp_path / "absent.jsonl", *at), "cannot read", "JSONL")
    assert failed(run("eval", questions, "--index", tmp_path / "absent"), "there is no index")
    assert failed(run("eval", questions, "--report", questions, *at), "is read as well")
    assert failed(run("eval", questions, "--report", tmp_path / "no" / "r.html", *at), "cannot write")
    assert failed(run("eval", questions, "--run", questions, *at), "holds no result")
    assert failed(run("eval", "--compare", questions, questions), "no complete evaluation", "--save")


@pytest.mark.parametrize("arguments", [(), ("--compare", "a.json"), ("--compare", "a", "b", "--report", "r.html")])
def test_wrong_usage_ends_with_2(arguments: tuple[str, ...]) -> None:
    assert run("eval", *arguments).code == 2


def test_help_shows_an_example() -> None:
    ran = run("eval", "--help")

    assert ran.code == 0
    assert "quoth eval questions.jsonl --report report.html" in " ".join(ran.text.split())
