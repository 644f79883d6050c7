"""Marks: what readers say of answers becomes labelled questions, and none is lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from quoth.evaluation.labelled_questions import gold_problems, read_labelled
from quoth.http.guard.api_keys import KeyFile, KeyScope
from quoth.http.http_faults import HttpFault
from quoth.http.mark_routes import MarkFile, mark_id

from ..command_line import PATIENCE, run
from ..small_corpus import CANOLA, HALVORSEN, WHEAT, SmallCorpus
from .uploading import Uploads, plan, python, serving

ANSWERED = "Sow canola at what depth into moist soil?"


@pytest.fixture
def marking(small: SmallCorpus, tmp_path: Path) -> Iterator[Uploads]:
    with serving(plan(small.index, tmp_path / "state")) as found:
        yield found


def mark(uploads: Uploads, question: str, verdict: str, **more: Any) -> dict[str, Any]:  # noqa: ANN401
    response = uploads.client.post("/marks", json={"question": question, "verdict": verdict, **more})
    assert response.status_code == 201, response.text
    found: dict[str, Any] = response.json()
    return found


def place(corpus: SmallCorpus, doc_id: str, text: str) -> dict[str, Any]:
    start = corpus.source(doc_id).index(text)
    return {"doc_id": doc_id, "start": start, "end": start + len(text)}


def stored(uploads: Uploads) -> list[dict[str, Any]]:
    path = uploads.state / "labelled.jsonl"
    return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def test_a_right_answer_is_stored_with_its_sentences_as_gold(marking: Uploads, small: SmallCorpus) -> None:
    reply = mark(marking, ANSWERED, "right")

    assert reply == {"id": reply["id"], "stored": True, "labelled": 1, "note": None}
    (line,) = stored(marking)
    assert (line["id"], line["question"], line["answerable"]) == (reply["id"], ANSWERED, True)
    assert place(small, "canola.md", CANOLA) | {"text": CANOLA} in line["gold"]


def test_a_wrong_answer_should_not_have_been_given(marking: Uploads) -> None:
    mark(marking, ANSWERED, "wrong")

    assert [(line["answerable"], line["gold"]) for line in stored(marking)] == [(False, [])]


def test_a_wrong_answer_can_be_put_right(marking: Uploads, small: SmallCorpus) -> None:
    gold = place(small, "wheat.md", WHEAT)
    mark(marking, ANSWERED, "wrong", gold=[gold])

    assert [(line["answerable"], line["gold"]) for line in stored(marking)] == [(True, [gold | {"text": WHEAT}])]


def test_an_abstention_that_is_right_is_no_question_to_answer(marking: Uploads) -> None:
    mark(marking, HALVORSEN, "right")

    assert [(line["answerable"], line["gold"]) for line in stored(marking)] == [(False, [])]


def test_an_abstention_that_is_wrong_is_stored_only_with_what_answers(marking: Uploads, small: SmallCorpus) -> None:
    reply = mark(marking, HALVORSEN, "wrong")
    assert (reply["stored"], reply["labelled"]) == (False, 0)
    assert reply["note"]
    assert stored(marking) == []
    gold = place(small, "canola.md", CANOLA)
    reply = mark(marking, HALVORSEN, "wrong", gold=[gold])

    assert (reply["stored"], reply["labelled"]) == (True, 1)
    assert [line["gold"] for line in stored(marking)] == [[gold | {"text": CANOLA}]]


def test_the_same_question_again_takes_the_place_of_the_first(marking: Uploads) -> None:
    first = mark(marking, ANSWERED, "right")
    mark(marking, HALVORSEN, "right")
    again = mark(marking, ANSWERED, "wrong")

    assert (again["id"], again["labelled"]) == (first["id"], 2)
    assert [(line["question"], line["answerable"]) for line in stored(marking)] == [
        (ANSWERED, False),
        (HALVORSEN, False),
    ]


def test_the_same_question_in_other_documents_is_another(marking: Uploads) -> None:
    ways: list[dict[str, Any]] = [
        {},
        {"doc_scope": ["canola.md"]},
        {"doc_scope": ["wheat.md", "canola.md"]},
        {"filters": {"document_type": "guide"}},
        {"filters": {"tags": {"crop": ["canola"]}}},
        {"filters": {"doc_id": ["canola.md"], "as_of": "2024-01-01"}},
    ]
    ids = {mark(marking, ANSWERED, "right", **way)["id"] for way in ways}

    assert len(ids) == len(ways)
    assert mark(marking, ANSWERED, "right", doc_scope=["canola.md", "wheat.md"])["labelled"] == len(ways)
    items = read_labelled(marking.state / "labelled.jsonl")
    assert [item.question.filters.doc_ids for item in items] == [
        (),
        ("canola.md",),
        ("canola.md", "wheat.md"),
        (),
        (),
        ("canola.md",),
    ]
    assert [item.question.filters.document_types for item in items][3] == ("guide",)
    assert items[4].question.filters.tags == {"crop": ("canola",)}
    assert items[5].question.filters.as_of == "2024-01-01"


@pytest.mark.parametrize(
    ("more", "status", "code"),
    [
        ({"gold": [{"doc_id": "never.md", "start": 0, "end": 1}]}, 404, "no-document"),
        ({"gold": [{"doc_id": "canola.md", "start": 5, "end": 5}]}, 422, "span"),
        ({"gold": [{"doc_id": "canola.md", "start": 5, "end": 99_999}]}, 422, "span"),
        ({"gold": [{"doc_id": "canola.md", "start": -1, "end": 5}]}, 422, "body"),
        ({"gold": [{"doc_id": "notes/windows.txt", "start": 26, "end": 27}]}, 422, "span"),
        ({"gold": [{"doc_id": "canola.md", "start": 0, "end": 5}], "verdict": "right"}, 422, "gold"),
        ({"verdict": "perhaps"}, 422, "body"),
        ({"question": ""}, 422, "body"),
        ({"filters": {"as_of": "yesterday"}}, 422, "question"),
        ({"mood": "good"}, 422, "body"),
    ],
)
def test_a_mark_that_says_nothing_sensible_is_refused(
    marking: Uploads, more: dict[str, Any], status: int, code: str
) -> None:
    response = marking.client.post("/marks", json={"question": ANSWERED, "verdict": "wrong", **more})

    assert (response.status_code, response.json()["error"]["code"]) == (status, code), response.text
    assert stored(marking) == []


def test_evaluation_and_calibration_take_what_was_marked(marking: Uploads, small: SmallCorpus, tmp_path: Path) -> None:
    mark(marking, ANSWERED, "right")
    mark(marking, "Sow wheat at how many cm in October?", "right", filters={"tags": {"crop": "wheat"}})
    mark(marking, HALVORSEN, "right")
    mark(marking, "Why \N{EAR OF RICE}\u2028?", "right")
    path = marking.state / "labelled.jsonl"
    items = read_labelled(path)

    assert [item.answerable for item in items] == [True, True, False, False]
    texts = {one: marking.get(one, "/text").text for one in ("canola.md", "wheat.md")}
    assert gold_problems(items, texts.get) == ()
    measured = run("eval", path, "--index", small.index, "--json", folder=tmp_path)
    assert measured.code == 0, measured.talk
    assert measured.object["questions"] == 4
    calibrated = run("calibrate", path, "--index", small.index, folder=tmp_path)
    assert "Traceback" not in calibrated.talk
    assert "line" not in calibrated.talk.partition("hint:")[0]  # it may find them too few, but not unreadable


def test_a_full_disk_loses_no_mark_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marks = MarkFile(tmp_path / "labelled.jsonl")
    marks.put({"id": "1"})

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("os.fsync", full)
        with pytest.raises(OSError, match="No space"):
            marks.put({"id": "2"})
    assert (tmp_path / "labelled.jsonl").read_bytes() == b'{"id": "1"}\n'
    assert sorted(path.name for path in tmp_path.iterdir()) == [".labelled.jsonl.lock", "labelled.jsonl"]


def test_a_folder_that_cannot_be_written_to_is_told(marking: Uploads) -> None:
    (marking.state / ".labelled.jsonl.lock").mkdir()
    response = marking.client.post("/marks", json={"question": ANSWERED, "verdict": "right"})

    assert (response.status_code, response.json()["error"]["code"]) == (507, "no-room")


def test_lines_that_somebody_wrote_by_hand_stay(tmp_path: Path) -> None:
    path = tmp_path / "labelled.jsonl"
    path.write_bytes(b'{"id": "1", "question": "a"}\nnot JSON\n\n[1]\r\n{"id": 7}\n{"id": "2"}')
    marks = MarkFile(path)

    assert marks.put({"id": "1", "question": "\ud800 b"}) == 5
    assert path.read_bytes() == (b'{"id": "1", "question": "\\ud800 b"}\nnot JSON\n[1]\n{"id": 7}\n{"id": "2"}\n')


def test_the_id_of_a_mark_does_not_depend_on_the_order_of_filters() -> None:
    assert mark_id("q", {"a": 1, "b": 2}) == mark_id("q", {"b": 2, "a": 1}) != mark_id("Q", {"a": 1, "b": 2})


_MARK = """
import sys
from pathlib import Path
from quoth.http.mark_routes import MarkFile
marks = MarkFile(Path(sys.argv[1]))
sys.stdin.read()
for number in range(30):
    marks.put({"id": f"{sys.argv[2]}-{number}"})
"""


def test_processes_that_mark_at_once_lose_nothing(tmp_path: Path) -> None:
    others = [python(_MARK, tmp_path / "labelled.jsonl", str(number)) for number in range(3)]
    for other in others:
        assert other.stdin is not None
        other.stdin.close()
    for other in others:
        with other:
            assert other.wait(PATIENCE) == 0

    assert MarkFile(tmp_path / "labelled.jsonl").count() == 90


def seen(uploads: Uploads, question: str) -> dict[str, Any]:
    answer = uploads.client.post("/answer", json={"question": question}).json()
    quoted = [{name: one[name] for name in ("doc_id", "start", "end")} for one in answer["answer_sentences"]]
    return {"index": answer["run_notes"]["index"], "quoted": quoted}


@pytest.mark.parametrize("question", [ANSWERED, HALVORSEN])
def test_only_the_answer_that_was_seen_is_marked(marking: Uploads, question: str) -> None:
    saw = seen(marking, question)
    other = {"doc_id": "wheat.md", "start": 0, "end": 5}
    for stale in ({"index": "0" * 16}, {"quoted": [*saw["quoted"], other]}, {"quoted": [other]}):
        body = {"question": question, "verdict": "right", **saw, **stale}
        refused = marking.client.post("/marks", json=body)
        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "index-changed"), stale
    assert stored(marking) == []

    assert mark(marking, question, "right", **saw)["labelled"] == 1


def test_an_answer_of_documents_that_were_changed_is_not_marked(own: SmallCorpus, tmp_path: Path) -> None:
    with serving(plan(own.index, tmp_path / "state")) as uploads:
        saw = seen(uploads, ANSWERED)
        assert uploads.put_done("oats.md", "Oats grow well.\n")["state"] == "done"
        refused = uploads.client.post("/marks", json={"question": ANSWERED, "verdict": "right", **saw})

        assert (refused.status_code, refused.json()["error"]["code"]) == (409, "index-changed")
        assert stored(uploads) == []


def test_a_mark_says_whose_key_it_came_with(small: SmallCorpus, tmp_path: Path) -> None:
    made = plan(small.index, tmp_path / "state")
    key, token = KeyFile(made.state / "keys.json").add("reader", scopes=[KeyScope.READ], per_minute=None)
    with serving(replace(made, auth=True)) as uploads:
        uploads.client.headers["Authorization"] = f"Bearer {token}"
        mark(uploads, ANSWERED, "right")
        (line,) = stored(uploads)

        assert line["marked_by"] == key.id
        assert token not in json.dumps(line)
        (item,) = read_labelled(uploads.state / "labelled.jsonl")
        assert item.question.text == ANSWERED


def test_no_more_marks_are_kept_than_can_be(tmp_path: Path) -> None:
    marks = MarkFile(tmp_path / "labelled.jsonl", most=2)
    assert [marks.put({"id": one}) for one in "ab"] == [1, 2]
    with pytest.raises(HttpFault, match="as many answers are marked as are kept"):
        marks.put({"id": "c"})

    assert marks.put({"id": "a", "question": "another"}) == 2


def test_who_marks_one_too_many_is_told(marking: Uploads) -> None:
    marking.state.mkdir(exist_ok=True)
    lines = "".join(f'{{"id": "{number}"}}\n' for number in range(100_000))
    (marking.state / "labelled.jsonl").write_text(lines)
    response = marking.client.post("/marks", json={"question": ANSWERED, "verdict": "right"})

    assert (response.status_code, response.json()["error"]["code"]) == (507, "no-room")
