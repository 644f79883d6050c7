"""`verify`: an exact run passes, and of a tampered one exactly the tampered citation is named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .command_line import Ran, failed, run
from .small_corpus import CANOLA, HALVORSEN, WHEAT, SmallCorpus

Change = Callable[[dict[str, Any]], None]


@pytest.fixture
def results(small: SmallCorpus, tmp_path: Path) -> list[dict[str, Any]]:
    """Two answers and an abstention with its nearest evidence."""
    questions = f"{CANOLA}\n{WHEAT}\n{HALVORSEN}\n"
    return run("batch", "-", "--index", small.index, stdin=questions.encode()).objects


def _verify(results: list[dict[str, Any]], folder: Path, *arguments: str | Path) -> Ran:
    run_file = folder / "run.jsonl"
    lines = (json.dumps(result, ensure_ascii=False) + "\n" for result in results)
    run_file.write_text("".join(lines), encoding="utf-8")
    return run("verify", run_file, *arguments)


def test_a_run_as_it_was_written_is_exact(small: SmallCorpus, results: list[dict[str, Any]], tmp_path: Path) -> None:
    by_index = _verify(results, tmp_path, "--index", small.index)
    by_files = _verify(results, tmp_path, "--root", small.folder)

    assert (by_index.code, by_index.talk) == (0, "")
    assert by_files == by_index
    count = int(by_index.text.split()[0])
    assert count >= 3
    assert by_index.text == f"{count} of {count} citations are exact\n"


def _change_text(citation: dict[str, Any]) -> None:
    citation["text"] = citation["text"].replace("2.5", "25")


def _shift(citation: dict[str, Any]) -> None:
    citation["start"] += 1
    citation["end"] += 1


def _point_past_the_end(citation: dict[str, Any]) -> None:
    citation["end"] = 1_000_000


def _turn_around(citation: dict[str, Any]) -> None:
    citation["start"], citation["end"] = citation["end"], citation["start"]


def _move_elsewhere(citation: dict[str, Any]) -> None:
    citation["doc_id"] = "../fields.yaml"


def _highlight_more(citation: dict[str, Any]) -> None:
    citation["highlights"] = [[citation["start"], citation["end"] + 1]]


def _drop_offsets(citation: dict[str, Any]) -> None:
    del citation["start"]


@pytest.mark.parametrize("against", ["index", "root"])
@pytest.mark.parametrize(
    ("tamper", "why"),
    [
        (_change_text, "the document says 'Sow canola at 2.5 cm"),
        (_shift, "the document says 'ow canola"),
        (_point_past_the_end, "outside the document"),
        (_turn_around, "outside the document"),
        (_move_elsewhere, "no such document"),
        (_highlight_more, "its highlights are no parts of it"),
        (_drop_offsets, "no doc_id, start, end and text"),
    ],
)
def test_the_tampered_citation_is_named_and_no_other(
    small: SmallCorpus, results: list[dict[str, Any]], tmp_path: Path, *, against: str, tamper: Change, why: str
) -> None:
    citation = results[0]["answer_sentences"][0]
    tamper(citation)
    results[0]["final_answer"] = "\n".join(str(one.get("text")) for one in results[0]["answer_sentences"])
    place = {"index": ("--index", small.index), "root": ("--root", small.folder)}[against]

    ran = _verify(results, tmp_path, *place, "--json")

    assert ran.code == 1
    (line,) = ran.talk.splitlines()
    assert line.startswith(f"question 1: {citation['doc_id']}[{citation.get('start')}:{citation['end']}]: ")
    assert why in line
    (failure,) = ran.object["failures"]
    assert (failure["question_id"], failure["doc_id"], failure["end"]) == ("1", citation["doc_id"], citation["end"])


def test_tampering_with_a_lead_or_what_is_only_near_is_found_too(
    small: SmallCorpus, results: list[dict[str, Any]], tmp_path: Path
) -> None:
    results[2]["nearest"][0]["text"] += " Never."
    results[1]["answer_sentences"][0]["lead"] = {"text": "Stage", "start": 0, "end": 5}
    results[0]["see_also"] = [results[2]["nearest"][1] | {"text": "Sow canola whenever you like."}]

    ran = _verify(results, tmp_path, "--index", small.index)

    assert ran.code == 1
    assert [line.split(":")[0] for line in ran.talk.splitlines()] == ["question 1", "question 2", "question 3"]


def test_a_source_file_that_changed_or_went_fails_only_its_own_citations(
    own: SmallCorpus, results: list[dict[str, Any]], tmp_path: Path
) -> None:
    def failures() -> set[str]:
        ran = _verify(results, tmp_path, "--root", own.folder, "--json")
        assert ran.code == (1 if ran.object["failures"] else 0)
        return {one["doc_id"] for one in ran.object["failures"]}

    assert failures() == set()
    changed = own.source("canola.md").replace("# Canola", "# Rapeseed")
    (own.folder / "canola.md").write_bytes(changed.encode())
    assert failures() == {"canola.md"}
    (own.folder / "wheat.md").unlink()
    assert failures() == {"canola.md", "wheat.md"}
    assert _verify(results, tmp_path, "--index", own.index).code == 0


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b'{"question_id": "1"\n', "line 1 is not JSON"),
        (b"[]\n", "line 1 is no result"),
        (b'\n{"answer_sentences": 5}\n', "line 2 is no result"),
        (b'{"nearest": ["text"]}\n', "line 1 is no result"),
        (b'{"answer_sentences": [{"lead": 5}]}\n', "line 1 is no result"),
        (b"\xff\xfe\n", "cannot read"),
    ],
)
def test_a_file_that_is_no_run_is_an_error(small: SmallCorpus, tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "run.jsonl").write_bytes(content)

    assert failed(run("verify", tmp_path / "run.jsonl", "--index", small.index), message)


def test_the_index_itself_is_verified_whole_or_by_a_sample(small: SmallCorpus, tmp_path: Path) -> None:
    (tmp_path / ".quoth").symlink_to(small.index)
    sentences = run("status", "--index", small.index, "--json").object["sentences"]

    whole = run("verify", folder=tmp_path)
    bare = run("verify", "--index", "--sample", "200", folder=tmp_path)
    few = run("verify", "--sample", "3", "--index", folder=tmp_path)
    against_files = run("verify", "--index", small.index, "--root", small.folder, "--sample", "200")

    assert {ran.code for ran in (whole, bare, few, against_files)} == {0}
    assert int(whole.text.split()[0]) >= sentences
    assert int(bare.text.split()[0]) >= sentences
    assert int(few.text.split()[0]) >= 3
    assert against_files == bare


def test_a_sample_is_the_same_for_the_same_seed(small: SmallCorpus) -> None:
    sample = ("verify", "--index", small.index, "--sample", "4", "--json")

    assert run(*sample) == run(*sample)
    assert run(*sample, "--seed", "7").code == 0


def test_an_index_whose_sources_changed_is_named(own: SmallCorpus) -> None:
    (own.folder / "wheat.md").write_bytes(b"Sow nothing.\n")

    ran = run("verify", "--index", own.index, "--root", own.folder)

    assert ran.code == 1
    assert "wheat.md" in ran.talk
    assert "canola.md" not in ran.talk
