from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from .command_line import failed, run, write_files

OLD = """\
# Lease

The rent of the flat is 1,200 euros, due on the third day.

Pets are not allowed in the flat.

One parking space in the garage belongs to the flat.
"""
NEW = """\
# Lease

The rent of the flat is 1,350 euros, due on the first day.

Pets are not allowed
in the flat.

The tenant may sublet a room with written consent.
"""
QUESTIONS = (
    "The rent of the flat is euros, due on the day.\n"
    "Pets are not allowed in the flat.\n"
    "One parking space in the garage belongs to the flat.\n"
    "The tenant may sublet a room with written consent.\n"
    "Who repairs the heating on Mars?\n"
)


@pytest.fixture(scope="module")
def leases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("leases")
    write_files(place / "docs", {"2023.md": OLD, "2024.md": NEW})
    (place / "questions.txt").write_text(QUESTIONS, encoding="utf-8")
    assert run("ingest", place / "docs", "--index", place / "index").code == 0
    return place


def _compare(leases: Path, *arguments: str) -> list[dict[str, Any]]:
    ran = run("compare-documents", *arguments, leases / "questions.txt", "--index", leases / "index", "--json")
    assert (ran.code, ran.talk) == (0, "")
    return ran.objects


def test_each_question_is_same_changed_or_in_one_version_only(leases: Path) -> None:
    changes = _compare(leases, "2023.md", "2024.md")

    assert [change["change"] for change in changes] == ["changed", "same", "only in A", "only in B", "in neither"]
    for change in changes:
        for side, text in (("a", OLD), ("b", NEW)):
            for quote in filter(None, (change[side]["quote"], change[side]["nearest"])):
                assert text[quote["start"] : quote["end"]] == quote["text"]
    reversed_changes = [change["change"] for change in _compare(leases, "2024.md", "2023.md")]
    assert reversed_changes == ["changed", "same", "only in B", "only in A", "in neither"]


def test_a_change_is_told_word_by_word(leases: Path) -> None:
    rent = _compare(leases, "2023*", "2024*")[0]

    assert [(edit["op"], edit["a"], edit["b"]) for edit in rent["edits"]] == [
        ("equal", "The rent of the flat is", "The rent of the flat is"),
        ("replace", "1,200", "1,350"),
        ("equal", "euros, due on the", "euros, due on the"),
        ("replace", "third", "first"),
        ("equal", "day.", "day."),
    ]
    ran = run("compare-documents", "2023.md", "2024.md", leases / "questions.txt", "--index", leases / "index")
    assert "The rent of the flat is [-1,200-] {+1,350+} euros, due on the [-third-] {+first+} day." in ran.text
    assert ran.text.endswith("1 same, 1 changed, 1 only in A, 1 only in B, 1 in neither\n")


def test_a_version_that_holds_the_words_states_them_even_if_its_own_cell_quotes_others(tmp_path: Path) -> None:
    write_files(
        tmp_path / "docs",
        {"a.md": "Sow canola at 2 cm.\n", "b.md": "Sow canola at 2 cm.\n\nSow canola at 3 cm into moist soil.\n"},
    )
    (tmp_path / "q.txt").write_text("Sow canola at cm into moist soil.\n", encoding="utf-8")
    assert run("ingest", tmp_path / "docs", "--index", tmp_path / "index").code == 0

    (change,) = run(
        *("compare-documents", "a.md", "b.md", tmp_path / "q.txt", "--index", tmp_path / "index", "--json"),
        *("--set", "decision.abstain=false"),
    ).objects

    assert (change["change"], change["a_in_b"], change["b_in_a"]) == ("changed", True, False)


def test_a_document_compared_with_itself_is_the_same(leases: Path) -> None:
    kinds = [change["change"] for change in _compare(leases, "2023.md", "2023.md")]

    assert kinds == ["same", "same", "same", "in neither", "in neither"]


def test_a_glob_must_name_one_document(leases: Path) -> None:
    arguments = (leases / "questions.txt", "--index", leases / "index")

    assert failed(run("compare-documents", "*.md", "2024.md", *arguments), "names 2 documents: 2023.md, 2024.md")
    assert failed(run("compare-documents", "2023.md", "2025.md", *arguments), "no document '2025.md'")


def test_a_version_that_was_replaced_is_asked_as_of_its_own_day(tmp_path: Path) -> None:
    fields = "document_type: ccr\nis_binding: true\n"
    old = (
        f"---\n{fields}effective_date: 2009-06-01\nsuperseded_by: new.md\n---\n\nA fence shall not exceed five feet.\n"
    )
    new = f"---\n{fields}effective_date: 2022-04-01\n---\n\nA fence shall not exceed six feet.\n"
    write_files(tmp_path / "docs", {"old.md": old, "new.md": new})
    (tmp_path / "q.txt").write_text("A fence shall not exceed how many feet?\n", encoding="utf-8")
    index = tmp_path / "index"
    assert run("ingest", tmp_path / "docs", "--profile", "governance", "--index", index).code == 0

    (change,) = run("compare-documents", "old.md", "new.md", tmp_path / "q.txt", "--index", index, "--json").objects
    assert run("grid", tmp_path / "q.txt", "--index", index, "-o", tmp_path / "g.jsonl").code == 0
    cells = [json.loads(line) for line in (tmp_path / "g.jsonl").read_text(encoding="utf-8").splitlines()]

    assert change["change"] == "changed"
    assert [(edit["a"], edit["b"]) for edit in change["edits"] if edit["op"] != "equal"] == [("five", "six")]
    assert [(cell["doc_id"], cell["cell"]) for cell in cells] == [("new.md", "stated"), ("old.md", "superseded")]
    assert cells[1]["answer_sentences"][0]["text"] == "A fence shall not exceed five feet."
