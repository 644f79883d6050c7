from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest

from .command_line import Ran, failed, finish, run, start
from .small_corpus import CANOLA, FILES, HALVORSEN, WHEAT, SmallCorpus


def _batch(small: SmallCorpus, content: bytes | str, *arguments: str | Path) -> Ran:
    stdin = content if isinstance(content, bytes) else content.encode("utf-8")
    return run("batch", "-", "--index", small.index, *arguments, stdin=stdin)


def _jsonl(*questions: object) -> str:
    return "".join(json.dumps(question, ensure_ascii=False) + "\n" for question in questions)


def test_text_and_jsonl_from_a_file_or_standard_input_give_the_same(small: SmallCorpus, tmp_path: Path) -> None:
    text = f"{CANOLA}\n{WHEAT}\n{HALVORSEN}\n"
    jsonl = _jsonl(*({"id": str(number), "question": one} for number, one in enumerate(text.splitlines(), 1)))
    (tmp_path / "questions.txt").write_text(text, encoding="utf-8")
    (tmp_path / "questions.jsonl").write_text(jsonl, encoding="utf-8")

    ways = [
        _batch(small, text),
        _batch(small, jsonl),
        run("batch", tmp_path / "questions.txt", "--index", small.index),
        run("batch", tmp_path / "questions.jsonl", "--index", small.index),
    ]

    assert {(ran.code, ran.talk) for ran in ways} == {(0, "")}
    assert len({ran.data for ran in ways}) == 1
    assert [one["abstained"] for one in ways[0].objects] == [False, False, True]


def test_blank_lines_windows_newlines_and_a_byte_order_mark_are_no_questions(small: SmallCorpus) -> None:
    ran = _batch(small, f"\ufeff{CANOLA}\r\n\r\n   \r\n{WHEAT}")

    assert ran.code == 0
    assert [(one["question_id"], one["question"]) for one in ran.objects] == [("1", CANOLA), ("4", WHEAT)]


def test_an_empty_input_gives_an_empty_output(small: SmallCorpus) -> None:
    assert _batch(small, "") == Ran(0, b"", "")


def test_answers_can_be_written_to_a_file(small: SmallCorpus, tmp_path: Path) -> None:
    ran = _batch(small, CANOLA, "-o", tmp_path / "run.jsonl")

    assert ran == Ran(0, b"", "")
    assert (tmp_path / "run.jsonl").read_bytes() == _batch(small, CANOLA).data


def test_a_question_may_name_its_documents_and_filters(small: SmallCorpus) -> None:
    asked = "Sow wheat or canola at cm into soil"
    ran = _batch(
        small,
        _jsonl(
            {"id": "scope", "question": asked, "doc_scope": ["wheat.md"]},
            {"id": "two", "question": asked, "doc_scope": ["wheat.md", "canola.md"]},
            {"id": "facet", "question": asked, "filters": {"crop": "canola"}},
            {"id": "tags", "question": asked, "filters": {"tags": {"crop": ["canola"]}}},
            {"id": "type", "question": asked, "filters": {"document_type": ["guide", "rule"]}},
            {"id": 7, "question": asked, "doc_scope": ["rules.md"], "filters": {"crop": "wheat"}},
        ),
        "--set",
        "decision.abstain=false",
        "--set",
        "selection.min_share=0",
    )

    assert ran.code == 0
    documents = {
        one["question_id"]: {citation["doc_id"] for citation in one["answer_sentences"]} for one in ran.objects
    }
    assert documents["scope"] == {"wheat.md"}
    assert documents["two"] == {"wheat.md", "canola.md"}
    assert documents["facet"] == documents["tags"] == {"canola.md"}
    assert documents["type"] <= {"canola.md", "rules.md"}
    assert documents["7"] == set()


@pytest.mark.parametrize("workers", ["1", "4"])
def test_a_result_is_what_ask_gives(small: SmallCorpus, workers: str) -> None:
    questions = [CANOLA, WHEAT, HALVORSEN, "Aerate the bin every week.", "Is durum exempt?"]

    batch = _batch(small, "\n".join(questions), "--workers", workers)

    for number, (line, question) in enumerate(zip(batch.lines, questions, strict=True), 1):
        asked = run("ask", question, "--index", small.index, "--json").text
        named = asked.replace('"question_id": "1"', f'"question_id": "{number}"', 1)
        # The number of threads is a setting and shows in the digest of the settings, and nowhere else.
        assert _without_settings(line) == _without_settings(named.rstrip("\n"))


def _without_settings(line: str) -> str:
    digest = json.loads(line)["run_notes"]["settings"]
    return line.replace(f'"settings": "{digest}"', "")


def test_a_thousand_questions_keep_their_order_with_several_workers(small: SmallCorpus) -> None:
    kinds = (CANOLA, WHEAT, "?", HALVORSEN)
    questions = [f"{kinds[number % 4]} {number}" if number % 4 != 2 else WHEAT for number in range(1000)]

    ran = _batch(small, "\n".join(questions), "--workers", "4")

    assert (ran.code, ran.talk) == (0, "")
    assert [one["question"] for one in ran.objects] == questions
    assert [one["question_id"] for one in ran.objects] == [str(number) for number in range(1, 1001)]


def test_an_answer_comes_while_the_next_question_is_awaited(small: SmallCorpus) -> None:
    program = start("batch", "-", "--index", small.index, "--workers", "4")
    assert program.stdin is not None
    assert program.stdout is not None

    for number, question in enumerate([CANOLA, WHEAT, HALVORSEN], 1):
        program.stdin.write(f"{question}\n".encode())
        program.stdin.flush()
        # Reading here would hang for ever if the answer waited for more questions.
        answered = json.loads(program.stdout.readline())
        assert (answered["question_id"], answered["question"]) == (str(number), question)

    assert finish(program) == Ran(0, b"", "")


def test_ctrl_c_leaves_complete_lines(small: SmallCorpus) -> None:
    program = start("batch", "-", "--index", small.index)
    assert program.stdin is not None
    assert program.stdout is not None
    program.stdin.write(f"{CANOLA}\n{WHEAT}\n{HALVORSEN}\n".encode())
    program.stdin.flush()
    first = program.stdout.readline()

    program.send_signal(signal.SIGINT)
    written = first + program.stdout.read()
    ran = finish(program)

    assert ran.code == 130
    assert ran.talk == "interrupted: the answers written so far are complete lines\n"
    assert written.endswith(b"\n")
    assert [json.loads(line)["question_id"] for line in written.splitlines()] == ["1", "2", "3"][: written.count(b"\n")]


BROKEN_LINES = (
    ('{"question": "How deep?"', "it is not JSON"),
    ("How deep?", "it is not JSON"),
    ('["How deep?"]', 'no "question" text'),
    ('{"id": "x"}', 'no "question" text'),
    ('{"question": 5}', 'no "question" text'),
    ('{"question": "How deep?", "doc_scope": 5}', '"doc_scope" must be'),
    ('{"question": "How deep?", "filters": []}', None),
    ('{"question": "How deep?", "filters": ["crop"]}', '"filters" must be an object'),
    ('{"question": "How deep?", "filters": {"is_binding": "yes"}}', '"filters.is_binding" must be'),
    ("[" * 100_000, "it is n"),
)


@pytest.mark.parametrize(("line", "why"), BROKEN_LINES, ids=range(len(BROKEN_LINES)))
def test_a_line_that_cannot_be_read_is_named_and_the_others_are_answered(
    small: SmallCorpus, line: str, why: str | None
) -> None:
    good = [{"id": "a", "question": CANOLA}, {"id": "b", "question": WHEAT}]

    ran = _batch(small, _jsonl(good[0]) + "\n" + line + "\n" + _jsonl(good[1]))

    if why is None:  # an empty list filters nothing
        assert (ran.code, len(ran.objects)) == (0, 3)
        return
    assert ran.code == 1
    assert [one["question_id"] for one in ran.objects] == ["a", "b"]
    (problem,) = ran.talk.splitlines()
    assert problem.startswith("line 3: ")
    assert why in problem


def test_a_question_that_cannot_be_asked_is_named_and_the_others_are_answered(small: SmallCorpus) -> None:
    too_long = "canola " * 1000

    ran = _batch(small, f"{CANOLA}\n?!\n{too_long}\n{WHEAT}\n", "--workers", "2")

    assert ran.code == 1
    assert [one["question_id"] for one in ran.objects] == ["1", "4"]
    empty, long = ran.talk.splitlines()
    assert empty == "question 2: the question has no words"
    assert long.startswith("question 3: the question has ")


def test_bytes_that_are_not_utf8_spoil_only_their_own_line(small: SmallCorpus) -> None:
    ran = _batch(small, f"{CANOLA}\n".encode() + b"Sow wheat at \xff\xfe cm?\n" + WHEAT.encode())

    assert [one["question"] for one in ran.objects][0::2] == [CANOLA, WHEAT]
    assert ran.lines[1].isprintable()


def test_a_file_that_cannot_be_read_or_written_is_an_error(small: SmallCorpus, tmp_path: Path) -> None:
    assert failed(run("batch", tmp_path / "none.txt", "--index", small.index), "cannot read", "No such file")
    assert failed(run("batch", tmp_path, "--index", small.index), "cannot read", "Is a directory")
    below_a_file = small.folder / "wheat.md" / "run.jsonl"
    assert failed(_batch(small, CANOLA, "-o", below_a_file), "cannot write", "Choose another file with -o")
    assert (small.folder / "wheat.md").read_bytes() == str(FILES["wheat.md"]).encode()


def test_an_error_of_the_index_stops_the_batch_at_once(own: SmallCorpus) -> None:
    (own.index / "quoth.db").write_bytes(b"This is no database.\n" * 500)

    program = start("batch", "-", "--index", own.index, stdout=subprocess.PIPE)

    assert failed(finish(program, f"{CANOLA}\n".encode() * 100), str(own.index))


def test_the_questions_are_never_overwritten_by_the_answers(small: SmallCorpus, tmp_path: Path) -> None:
    questions = tmp_path / "questions.txt"
    questions.write_text(CANOLA, encoding="utf-8")

    ran = run("batch", questions, "--index", small.index, "-o", questions)

    assert (ran.code, questions.read_text(encoding="utf-8")) == (1, CANOLA)
    assert "holds the questions" in ran.talk


def test_a_wrong_setting_is_said_before_an_old_run_is_overwritten(small: SmallCorpus, tmp_path: Path) -> None:
    (tmp_path / "run.jsonl").write_text("old\n", encoding="utf-8")

    ran = _batch(small, CANOLA, "-o", tmp_path / "run.jsonl", "--set", "selection.max_sentence=3")

    assert (ran.code, (tmp_path / "run.jsonl").read_text(encoding="utf-8")) == (1, "old\n")
