from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quoth.errors import QuothError
from quoth.evaluation.evaluate import evaluate
from quoth.evaluation.judgements import FAULT_CONFIDENCE, Exactness, ResultOrigin
from quoth.evaluation.saved_runs import evaluation_json, judge_run
from quoth.output.render import json_line
from quoth.types import Span

from .samples import GOLD, answer, item, quote, staged

TEXT = "0123456789xxxxxxxxxx" + "." * 40
ITEMS = [item("1", GOLD), item("2", GOLD), item("3")]


def result(id_: str, *spans: tuple[int, int], abstained: bool = False, **changes: object) -> dict[str, Any]:
    cited = [{"doc_id": "a.md", "start": start, "end": end, "text": TEXT[start:end]} for start, end in spans]
    return {
        "question_id": id_,
        "question": f"question {id_}?",
        "abstained": abstained,
        "answer_sentences": [] if abstained else cited,
        "final_answer": "" if abstained else "\n".join(str(one["text"]) for one in cited),
        "confidence": 0.5,
        "reason": {"code": "low_confidence", "detail": "Not sure."} if abstained else None,
        "nearest": cited if abstained else [],
        "run_notes": {
            "scores": {"redundancy_before": 0.6, "redundancy_after": 0.4},
            "profile": "fields",
            "index": "i",
            "settings": "s",
            "calibrated": False,
        },
        **changes,
    }


def written(folder: Path, *lines: object) -> Path:
    path = folder / "run.jsonl"
    texts = [line if isinstance(line, str) else json_line(line) for line in lines]  # type: ignore[arg-type]
    path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")
    return path


def text_of(doc_id: str) -> str | None:
    return TEXT if doc_id == "a.md" else None


def test_answers_are_judged_by_their_quotes_and_abstentions_by_what_came_nearest(tmp_path: Path) -> None:
    run = written(tmp_path, result("1", (10, 15)), result("2", (5, 11), abstained=True), result("3", (10, 20)))
    (first, second, third), problems = judge_run(run, ITEMS, text_of=text_of)

    assert problems == ()
    assert [one.right for one in (first, second, third)] == [True, True, False]
    assert [one.abstained for one in (first, second, third)] == [False, True, False]
    assert (second.reason, second.detail) == ("low_confidence", "Not sure.")
    assert second.quotes[0].place == ("a.md", Span(5, 11))
    assert first.exactness == Exactness(1, 0)
    assert first.redundancy == (0.6, 0.4)
    assert first.origin == ResultOrigin("fields", "i", "s", False)
    assert first.stages is None


def test_a_citation_that_does_not_hold_is_counted(tmp_path: Path) -> None:
    moved = result("1", (10, 15))
    moved["answer_sentences"][0]["start"] = 9
    run = written(tmp_path, moved, result("2", (10, 15), final_answer="other words"), result("3", (0, 5)))
    judged, _ = judge_run(run, ITEMS, text_of=text_of)

    assert [one.exactness for one in judged] == [Exactness(1, 1), Exactness(2, 1), Exactness(1, 0)]
    assert all(one.exactness is None for one in judge_run(run, ITEMS, text_of=None)[0])


@pytest.mark.parametrize(
    "lines",
    [
        [],
        ["{"],
        ["7"],
        [result("2", (10, 20)), result("2", (10, 20))],
        [result("2", (10, 20), question="Another?")],
        [result("2", (10, 20), confidence=None)],
        [result("2", (10, 20), confidence=1.5)],
        ['{"question_id": "2", "question": "question 2?", "confidence": NaN}'],
        [{**result("2", (10, 20)), "abstained": "no"}],
        [result("2", answer_sentences=[{"doc_id": "a.md", "start": 10.0, "end": 20, "text": "x" * 10}])],
        [result("2", answer_sentences=[{"doc_id": "a.md", "start": 20, "end": 10, "text": ""}])],
        [result("2", answer_sentences=["xxxx"])],
        [result("2", (10, 20), nearest=[None])],
        [result("2", (10, 20), reason="why")],
    ],
    ids=str,
)
def test_a_question_without_a_usable_result_counts_as_wrong_and_never_vanishes(
    tmp_path: Path, lines: list[object]
) -> None:
    judged, _ = judge_run(written(tmp_path, result("1", (10, 20)), *lines), ITEMS, text_of=text_of)

    assert [one.labelled.question.id for one in judged] == ["1", "2", "3"]
    assert judged[0].fault is None
    assert judged[1].fault is not None
    assert (judged[1].right, judged[1].abstained, judged[1].confidence) == (False, False, FAULT_CONFIDENCE)


def test_lines_that_belong_to_no_question_are_named(tmp_path: Path) -> None:
    run = written(tmp_path, result("1", (10, 20)), "cut off {", *(result(f"x{n}", (0, 5)) for n in range(7)))
    _, problems = judge_run(run, ITEMS, text_of=None)

    assert problems == (
        "line 2 of the run is no result and was left out",
        "x0, x1, x2, x3, x4 and 2 more in the run: no such question is in the set",
    )


@pytest.mark.parametrize("content", ["", "\n", "no json\n", "[1]\n"])
def test_a_file_without_results_is_refused(tmp_path: Path, content: str) -> None:
    (tmp_path / "run.jsonl").write_text(content, encoding="utf-8")

    with pytest.raises(QuothError, match="holds no result") as raised:
        judge_run(tmp_path / "run.jsonl", ITEMS, text_of=None)
    assert raised.value.hint
    with pytest.raises(QuothError, match="cannot read"):
        judge_run(tmp_path / "absent.jsonl", ITEMS, text_of=None)


LINES = [result("1", (10, 20)), result("2", (0, 5), confidence=0.7), result("3", (0, 5), abstained=True)]


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(lines=st.permutations(LINES), items=st.permutations(ITEMS))
def test_the_order_of_lines_does_not_matter(tmp_path: Path, lines: list[dict[str, Any]], items: list[Any]) -> None:
    expected, _ = judge_run(written(tmp_path, *LINES), ITEMS, text_of=text_of)
    judged, notes = judge_run(written(tmp_path, *lines), items, text_of=text_of)

    assert evaluate(judged, notes=notes) == evaluate(expected, notes=())


def test_a_run_that_eval_saved_keeps_its_stages_as_long_as_the_gold_is_the_same(tmp_path: Path) -> None:
    one = staged(answer(ITEMS[0], 0.9, quote(10, 20)), *[(1,)] * 5)
    path = tmp_path / "saved.json"
    path.write_text(json.dumps(evaluation_json(evaluate([one], notes=()))), encoding="utf-8")

    assert judge_run(path, ITEMS[:1], text_of=None) == ((one,), ())
    moved = item("1", (50, 60))
    assert judge_run(path, [moved], text_of=None)[0] == (replace(one, labelled=moved, right=False, stages=None),)
    judged, problems = judge_run(path, ITEMS[1:], text_of=None)
    assert all(other.fault is not None for other in judged)
    assert problems == ("1 in the run: no such question is in the set",)
