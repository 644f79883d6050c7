"""Going on behind the answers that a file holds, wherever the run before was killed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quoth.cluster.batch_output import (
    AnswerFile,
    AnswerOrigin,
    BatchReport,
    skip_answered,
)
from quoth.errors import QuestionError, QuothError
from quoth.output.render import json_line
from quoth.search.question_files import UnreadableLine
from quoth.types import NO_FILTERS, Question

ORIGIN = AnswerOrigin("an index", "settings")
Asked = Sequence[Question | UnreadableLine]


def check(question: Question) -> None:
    if not any(character.isalnum() for character in question.text):
        raise QuestionError("it has no words")


def line(question: Question, origin: AnswerOrigin = ORIGIN) -> str:
    notes = {"index": origin.index, "settings": origin.settings}
    return json_line({"question_id": question.id, "question": question.text, "run_notes": notes}) + "\n"


def run(asked: Asked, path: Path, *, most: int | None = None) -> BatchReport:
    """A run that answers as many questions as it may."""
    left = iter(asked)
    with AnswerFile(path) as file:
        kept = skip_answered(left, file, origin=ORIGIN, check=check)
        problems = list(kept.problems)
        for one in left:
            if most == 0:
                break
            if isinstance(one, UnreadableLine):
                problems.append(f"line {one.number}: {one.why}")
                continue
            try:
                check(one)
            except QuestionError as error:
                problems.append(f"question {one.id}: {error}")
                continue
            file.write([(one, line(one))])
            most = None if most is None else most - 1
        file.finish()
    return BatchReport(kept.kept, 0, tuple(problems))


def filters_of(path: Path) -> Path:
    return path.with_name(f"{path.name}.filters")


questions = st.builds(
    Question,
    id=st.sampled_from(["1", "2", "é", '"']),
    text=st.sampled_from(["How deep?", "How deep?", "?!", "", "wie tief\n?", "\udcff odd", "Ü \u2028 ü"]),
    filters=st.sampled_from([NO_FILTERS, replace(NO_FILTERS, doc_ids=("a.md",))]),
)
asked_lists = st.lists(questions | st.builds(UnreadableLine, st.integers(1, 9), st.just("it is not JSON")), max_size=8)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(asked=asked_lists, data=st.data())
def test_a_run_that_was_cut_anywhere_is_completed_to_the_same_bytes(
    asked: Asked, data: st.DataObject, tmp_path: Path
) -> None:
    path, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"
    path.unlink(missing_ok=True)
    whole = run(asked, path)
    content = path.read_bytes()
    for _ in range(2):  # the run that goes on may be killed as well
        filters_of(cut).unlink(missing_ok=True)
        if filters_of(path).exists():  # it tells of more answers than were written
            filters_of(cut).write_bytes(filters_of(path).read_bytes())
        cut.write_bytes(content[: data.draw(st.integers(0, len(content)), label="cut")])
        run(asked, cut, most=data.draw(st.integers(0, 3), label="answered"))
        assert content.startswith(cut.read_bytes())

    resumed = run(asked, cut)

    assert cut.read_bytes() == content
    assert resumed.problems == whole.problems
    assert run(asked, cut) == BatchReport(content.count(b"\n"), 0, whole.problems)
    assert cut.read_bytes() == content


FIRST, SECOND = Question("1", "How deep?", NO_FILTERS), Question("2", "How wide?", NO_FILTERS)

REFUSED = {
    "another index": (line(FIRST, AnswerOrigin("another", "settings")), "from another index"),
    "other settings": (line(FIRST, AnswerOrigin("an index", "others")), "other settings"),
    "other questions": (line(SECOND), "line 1 is about question 2, and it should be about question 1"),
    "another text": (line(Question("1", "How high?", NO_FILTERS)), "should be about question 1"),
    "another order": (line(SECOND) + line(FIRST), "should be about question 1"),
    "more than asked": (line(FIRST) + line(SECOND) + line(FIRST), "more answers than there are questions: line 3"),
    "no JSON": ("my notes\n", "line 1 of"),
    "other JSON": ('{"question_id": "1"}\n', "line 1 of"),
    "no object": ("5\n" + line(FIRST), "line 1 of"),
    "an end that is not ours": (line(FIRST) + "my notes", "ends with something"),
    "only an end that is not ours": ("my notes", "ends with something"),
}


@pytest.mark.parametrize(("content", "why"), REFUSED.values(), ids=REFUSED)
def test_a_file_of_something_else_is_refused_and_left_as_it_is(content: str, why: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(content, encoding="utf-8")

    with pytest.raises(QuothError, match=why) as caught:
        run([FIRST, SECOND], path)

    assert "Choose another file with -o" in caught.value.hint
    assert path.read_text(encoding="utf-8") == content


def test_more_questions_at_the_end_are_answered_behind_the_others(tmp_path: Path) -> None:
    run([FIRST], tmp_path / "run.jsonl")

    assert run([FIRST, SECOND], tmp_path / "run.jsonl").kept == 1
    assert (tmp_path / "run.jsonl").read_text(encoding="utf-8") == line(FIRST) + line(SECOND)


SCOPED = replace(FIRST, filters=replace(NO_FILTERS, doc_ids=("a.md",)))
DATED = replace(FIRST, filters=replace(NO_FILTERS, as_of="2026-01-01"))


@pytest.mark.parametrize(("was", "is_now"), [(SCOPED, DATED), (SCOPED, FIRST), (FIRST, SCOPED)])
@pytest.mark.parametrize("end", ["killed", "finished"])
def test_an_answer_to_other_filters_is_not_kept(was: Question, is_now: Question, end: str, tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    run([SECOND, was], path)
    content = path.read_bytes()
    if end == "killed":
        path.write_bytes(content + b'{"question_id": "3')

    with pytest.raises(QuothError, match=r"line 2 of .* answers question 1 with other filters") as caught:
        run([SECOND, is_now], path)

    assert "Choose another file with -o" in caught.value.hint
    assert path.read_bytes().startswith(content)
    assert run([SECOND, was], path).kept == 2
    assert path.read_bytes() == content


def test_filters_of_answers_that_were_never_written_are_forgotten(tmp_path: Path) -> None:
    """They are told before the answers are; then the process was killed, and the user changed the question."""
    path = tmp_path / "run.jsonl"
    run([SCOPED, SCOPED], path)
    path.write_bytes(path.read_bytes()[: len(line(SCOPED)) + 20])

    assert run([SCOPED, DATED], path).kept == 1
    assert run([SCOPED, DATED], path).kept == 2
    path.unlink()
    assert run([FIRST], path).kept == 0
    assert run([FIRST], path).kept == 1
    assert [one.name for one in tmp_path.iterdir()] == ["run.jsonl"]


def test_a_file_of_filters_that_was_changed_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    run([SCOPED], path)
    (tmp_path / "run.jsonl.filters").write_text("?\n", encoding="utf-8")

    with pytest.raises(QuothError, match=r"run\.jsonl\.filters, which belongs to the answers, cannot be used"):
        run([SCOPED], path)


def test_what_a_file_holds_is_compared_a_line_at_a_time(tmp_path: Path) -> None:
    """The first difference is found when only so much of both was read."""
    path = tmp_path / "run.jsonl"
    path.write_text(line(FIRST) + line(FIRST) + line(SECOND), encoding="utf-8")

    def endless() -> Iterator[Question]:
        yield FIRST
        while True:
            yield SECOND

    with AnswerFile(path) as file, pytest.raises(QuothError, match="line 2 is about question 1"):
        skip_answered(endless(), file, origin=ORIGIN, check=check)


def test_two_runs_never_write_one_file(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with AnswerFile(path) as first, AnswerFile(path) as second:
        first.write([(FIRST, line(FIRST))])
        with pytest.raises(QuothError, match="another run is writing"):
            second.write([(FIRST, line(FIRST))])
        with pytest.raises(QuothError, match="another run is writing"):
            AnswerFile(path)

    assert path.read_text(encoding="utf-8") == line(FIRST)


def test_a_file_is_not_made_before_there_is_something_to_write(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with AnswerFile(path):
        assert not path.exists()
    with AnswerFile(path) as file:
        file.finish()
    assert path.read_bytes() == b""


def test_a_folder_or_a_place_without_rights_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(QuothError, match="cannot write"):
        AnswerFile(tmp_path)
    with pytest.raises(QuothError, match=r"cannot write .*: there is no folder"):
        AnswerFile(tmp_path / "none" / "run.jsonl")
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "nowhere" / "run.jsonl")
    with pytest.raises(QuothError, match="a link that leads nowhere"):
        AnswerFile(tmp_path / "link.jsonl")


def test_a_pipe_or_device_takes_answers_and_holds_none(tmp_path: Path) -> None:
    assert run([FIRST], Path("/dev/null")).kept == 0
    assert run([FIRST], Path("/dev/null")).kept == 0
