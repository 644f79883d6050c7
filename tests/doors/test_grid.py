from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from .command_line import PATIENCE, Ran, failed, finish, run, start
from .small_corpus import CANOLA, HALVORSEN, WHEAT, SmallCorpus

QUESTIONS = f"{CANOLA}\n{WHEAT}\n{HALVORSEN}\n"
DOCUMENTS = ["canola.md", "notes/windows.txt", "rules.md", "wheat.md"]


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    path = tmp_path / "questions.txt"
    path.write_text(QUESTIONS, encoding="utf-8")
    return path


def _grid(small: SmallCorpus, questions: Path, output: Path, *arguments: str) -> Ran:
    return run("grid", questions, "--index", small.index, "-o", output, *arguments)


def _lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_cell_is_what_ask_gives_of_its_document(small: SmallCorpus, questions: Path, tmp_path: Path) -> None:
    ran = _grid(small, questions, tmp_path / "grid.jsonl")

    cells = _lines(tmp_path / "grid.jsonl")
    assert (ran.code, ran.data) == (0, b"")
    assert [(cell["doc_id"], cell["question_id"]) for cell in cells] == [
        (doc_id, number) for doc_id in DOCUMENTS for number in "123"
    ]
    for cell in cells:
        question, doc_id = str(cell["question"]), str(cell["doc_id"])
        asked = run("ask", question, "--index", small.index, "--doc", doc_id, "--json").object
        assert {**asked, "question_id": cell["question_id"]} == {
            name: value for name, value in cell.items() if name not in {"doc_id", "cell"}
        }
        assert cell["cell"] == ("not stated" if asked["abstained"] else "stated")
    assert {cell["cell"] for cell in cells} == {"stated", "not stated"}


def test_every_quote_of_a_grid_can_be_verified(small: SmallCorpus, questions: Path, tmp_path: Path) -> None:
    assert _grid(small, questions, tmp_path / "grid.jsonl").code == 0

    verified = run("verify", tmp_path / "grid.jsonl", "--index", small.index)

    assert (verified.code, "citations are exact" in verified.text + verified.talk) == (0, True)


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "xlsx", "html"])
def test_the_same_grid_has_the_same_bytes(small: SmallCorpus, questions: Path, tmp_path: Path, *, suffix: str) -> None:
    once, again = tmp_path / f"once.{suffix}", tmp_path / f"again.{suffix}"

    assert _grid(small, questions, once, "--workers", "1").code == 0
    assert _grid(small, questions, again, "--workers", "3").code == 0

    assert once.read_bytes() == again.read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {"questions.txt", once.name, again.name}


def test_a_table_has_a_row_for_each_document_and_a_column_for_each_question(
    small: SmallCorpus, questions: Path, tmp_path: Path
) -> None:
    assert _grid(small, questions, tmp_path / "grid.csv").code == 0

    head, *rows = csv.reader(io.StringIO((tmp_path / "grid.csv").read_text(encoding="utf-8-sig"), newline=""))
    assert head == ["document", "title", *QUESTIONS.splitlines()]
    assert [row[0] for row in rows] == DOCUMENTS
    start = small.source("canola.md").index(CANOLA)
    quote, place = rows[0][2].rsplit("\n", 1)
    assert quote == CANOLA
    assert place.startswith(f"[characters {start}-{start + len(CANOLA)}, confidence 0.")
    assert rows[0][4].startswith("not stated\nnearest: ")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--docs", "wheat.md"], ["wheat.md"]),
        (["--docs", "*.md"], ["canola.md", "rules.md", "wheat.md"]),
        (["--docs", "w*", "--docs", "notes/*", "--docs", "wheat.md"], ["notes/windows.txt", "wheat.md"]),
        (["--type", "guide"], ["canola.md"]),
        (["--docs", "*.md", "--type", "guide", "--type", "rule"], ["canola.md", "rules.md"]),
    ],
    ids=str,
)
def test_ids_globs_and_types_choose_the_documents(
    small: SmallCorpus, questions: Path, tmp_path: Path, *, arguments: list[str], expected: list[str]
) -> None:
    assert _grid(small, questions, tmp_path / "grid.jsonl", *arguments).code == 0

    assert sorted({str(cell["doc_id"]) for cell in _lines(tmp_path / "grid.jsonl")}) == expected


def test_a_question_keeps_its_own_filters_and_scope(small: SmallCorpus, tmp_path: Path) -> None:
    asked = [
        {"id": "all", "question": CANOLA},
        {"id": "scope", "question": CANOLA, "doc_scope": ["canola.md", "wheat.md"]},
        {"id": "facet", "question": CANOLA, "filters": {"crop": "wheat"}},
    ]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, asked)), encoding="utf-8")

    assert _grid(small, tmp_path / "q.jsonl", tmp_path / "grid.jsonl").code == 0
    assert _grid(small, tmp_path / "q.jsonl", tmp_path / "grid.csv").code == 0

    cells = {(cell["doc_id"], cell["question_id"]): cell for cell in _lines(tmp_path / "grid.jsonl")}
    assert sorted(str(doc_id) for doc_id, question in cells if question == "scope") == ["canola.md", "wheat.md"]
    assert (cells["canola.md", "all"]["cell"], cells["canola.md", "facet"]["cell"]) == ("stated", "not stated")
    _, *rows = csv.reader(io.StringIO((tmp_path / "grid.csv").read_text(encoding="utf-8-sig"), newline=""))
    assert [row[3] == "" for row in rows] == [False, True, True, False]


def test_wrong_usage_is_told_before_anything_is_asked(small: SmallCorpus, questions: Path, tmp_path: Path) -> None:
    assert failed(_grid(small, questions, tmp_path / "grid.pdf"), "grid.pdf", ".html, .csv, .xlsx, .jsonl")
    assert failed(_grid(small, questions, tmp_path / "g.csv", "--docs", "rye.md"), "no document 'rye.md'")
    assert failed(_grid(small, questions, tmp_path / "g.csv", "--type", "song"), "no document is asked")
    assert failed(_grid(small, questions, tmp_path / "none" / "g.csv"), "cannot write", "No such file")
    (tmp_path / "empty.txt").write_text("\n\n", encoding="utf-8")
    assert failed(_grid(small, tmp_path / "empty.txt", tmp_path / "g.csv"), "there is no question")
    (tmp_path / "twice.jsonl").write_text('{"id": 1, "question": "a?"}\n{"id": 1, "question": "b?"}', encoding="utf-8")
    assert failed(_grid(small, tmp_path / "twice.jsonl", tmp_path / "g.csv"), "two questions have the id '1'")
    (tmp_path / "q.csv").write_text(QUESTIONS, encoding="utf-8")
    assert failed(_grid(small, tmp_path / "q.csv", tmp_path / "q.csv"), "holds the questions")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty.txt", "q.csv", "questions.txt", "twice.jsonl"]


def test_a_question_that_cannot_be_asked_is_named_and_the_others_are_asked(small: SmallCorpus, tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text(f"{CANOLA}\n?!\n{WHEAT}\n", encoding="utf-8")

    ran = _grid(small, tmp_path / "q.txt", tmp_path / "grid.jsonl")

    assert (ran.code, ran.talk.splitlines()[-1]) == (1, "question 2: the question has no words")
    assert {cell["question_id"] for cell in _lines(tmp_path / "grid.jsonl")} == {"1", "3"}


MANY = "".join(f"Sow wheat at {number} cm in October?\n" for number in range(1, 401))


def _stop(small: SmallCorpus, many: Path, output: Path, number: signal.Signals) -> Ran:
    """Start a grid of 1,600 cells and stop it when some of them are done."""
    program = start("grid", many, "--index", small.index, "-o", output, "--workers", "2")
    journal = output.with_name(f"{output.name}.part")
    for _ in range(PATIENCE * 100):
        if journal.exists() and journal.read_bytes().count(b"\n") > 60:
            break
        assert program.poll() is None, program.communicate()
        time.sleep(0.01)
    program.send_signal(number)
    return finish(program)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)], ids=["kill -9", "ctrl-c"]
)
def test_a_grid_that_was_stopped_goes_on_and_has_the_bytes_of_an_undisturbed_one(
    small: SmallCorpus, tmp_path: Path, *, number: signal.Signals, code: int
) -> None:
    many = tmp_path / "many.txt"
    many.write_text(MANY, encoding="utf-8")
    output = tmp_path / "grid.jsonl"

    stopped = _stop(small, many, output, number)
    journal = tmp_path / "grid.jsonl.part"
    kept = journal.read_bytes().count(b"\n") - 1
    with journal.open("ab") as file:
        file.write(b'{"doc_id": "canola.md", "cell": "sta')  # as if it was killed while it wrote a line
    assert (stopped.code, output.exists()) == (code, False)
    assert ("run the same command to go on" in stopped.talk) == (code == 130)

    resumed = _grid(small, many, output)
    undisturbed = _grid(small, many, tmp_path / "undisturbed.jsonl")

    assert (resumed.code, undisturbed.code) == (0, 0)
    assert resumed.talk.startswith(f"going on: {kept:,} cells are done\n")
    assert 60 <= kept < 1600
    assert output.read_bytes() == (tmp_path / "undisturbed.jsonl").read_bytes()
    assert not journal.exists()


@pytest.mark.parametrize("changed", ["index", "settings", "questions", "documents"])
def test_cells_made_for_something_else_are_not_taken_over(own: SmallCorpus, tmp_path: Path, *, changed: str) -> None:
    many, output = tmp_path / "many.txt", tmp_path / "grid.jsonl"
    many.write_text(MANY, encoding="utf-8")
    _stop(own, many, output, signal.SIGKILL)
    arguments: list[str] = []
    match changed:
        case "index":
            (own.folder / "wheat.md").write_text("Sow wheat at 5 cm in October.", encoding="utf-8")
            assert run("ingest", own.folder, "--index", own.index).code == 0
        case "settings":
            arguments = ["--set", "selection.max_sentences=2"]
        case "questions":
            many.write_text(f"{WHEAT}\n{MANY}", encoding="utf-8")
        case "documents":
            arguments = ["--docs", "wheat.md"]

    resumed = _grid(own, many, output, *arguments)
    fresh = _grid(own, many, tmp_path / "fresh.jsonl", *arguments)

    assert (resumed.code, fresh.code) == (0, 0)
    assert resumed.talk.startswith("starting anew: ")
    assert changed in resumed.talk.partition("changed since")[0]
    assert output.read_bytes() == (tmp_path / "fresh.jsonl").read_bytes()


def test_a_cell_that_was_changed_in_the_journal_is_not_written(small: SmallCorpus, tmp_path: Path) -> None:
    many, output = tmp_path / "many.txt", tmp_path / "grid.jsonl"
    many.write_text(MANY, encoding="utf-8")
    _stop(small, many, output, signal.SIGKILL)
    journal = tmp_path / "grid.jsonl.part"
    content = journal.read_text(encoding="utf-8")
    assert "moist soil" in content
    journal.write_text(content.replace("moist soil", "moist clay"), encoding="utf-8")

    ran = _grid(small, many, output)

    assert ran.code == 1
    assert "canola.md[54:91] does not match the source text" in ran.talk
    assert f"hint: Remove {journal}, and run it again." in ran.talk
    assert not output.exists()


def test_a_foreign_file_in_the_place_of_the_journal_is_left_alone(
    small: SmallCorpus, questions: Path, tmp_path: Path
) -> None:
    (tmp_path / "grid.csv.part").write_text("my notes\n", encoding="utf-8")

    assert failed(_grid(small, questions, tmp_path / "grid.csv"), "no journal of quoth grid", "Move it away")
    assert (tmp_path / "grid.csv.part").read_text(encoding="utf-8") == "my notes\n"


def test_two_runs_do_not_write_the_same_grid(small: SmallCorpus, tmp_path: Path) -> None:
    many, output = tmp_path / "many.txt", tmp_path / "grid.jsonl"
    many.write_text(MANY, encoding="utf-8")
    program = start("grid", many, "--index", small.index, "-o", output, stdout=subprocess.DEVNULL)
    journal = tmp_path / "grid.jsonl.part"
    while not journal.exists() or not journal.stat().st_size:
        assert program.poll() is None
        time.sleep(0.01)
    os.kill(program.pid, signal.SIGSTOP)
    second = _grid(small, many, output)
    os.kill(program.pid, signal.SIGCONT)

    assert failed(second, "another run is writing")
    assert finish(program).code == 0
    assert len(_lines(output)) == 1600
