"""`quoth retrieve`, `quoth check` and `quoth status --quality` as their users start them."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from fake_openai import FakeOpenAI

from .command_line import HASH, run, write_files

SCHEMA = json.loads(files("quoth.output").joinpath("schemas/retrieval.schema.json").read_text(encoding="utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)
FRONT = "---\ntitle: {title}\ndocument_type: {kind}\neffective_date: {date}\n{more}---\n\n"
FILES: dict[str, bytes | str] = {
    "ccr.md": FRONT.format(
        title="Declaration",
        kind="ccr",
        date="2009-06-01",
        more='superseded_by:\n  - {section: "Section 7.3", by: amendment.md}\n',
    )
    + '# Article I\n\n"Rear Yard" means the yard behind the Dwelling.\n\n'
    "# Article VII\n\n## Section 7.3 Fences\n\nA fence in a Rear Yard shall not exceed five (5) feet in height.\n",
    "amendment.md": FRONT.format(title="First Amendment", kind="amendment", date="2022-04-01", more="")
    + "# Section 1\n\nA fence in a Rear Yard shall not exceed six (6) feet in height; see Section 2.\n\n"
    "# Section 2\n\nHeight is measured from the finished grade \N{EN DASH} on the higher side.\n",
    "city.md": FRONT.format(title="City Code", kind="city_code", date="2018-07-01", more="")
    + "# Fences\n\nA fence in a rear yard shall not exceed seven (7) feet in height.\n",
}
QUESTION = "How high may a fence in a rear yard be, in feet of height, which it shall not exceed?"


@pytest.fixture(scope="module")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("rules")
    folder = write_files(place / "corpus", FILES)
    ran = run("ingest", folder, "--index", place / "index", "--profile", "governance")
    assert ran.code == 0, ran.talk
    return place


def retrieved(rules: Path, *arguments: str, variables: dict[str, str] | None = None) -> dict[str, Any]:
    ran = run(
        "retrieve", QUESTION, "--index", rules / "index", "--json", *arguments, variables={**HASH, **(variables or {})}
    )
    assert ran.code == 0, ran.talk
    VALIDATOR.validate(ran.object)
    return ran.object


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_every_object_of_the_schema_is_closed() -> None:
    for name, one in {"retrieval": SCHEMA, **SCHEMA["$defs"]}.items():
        if one.get("type") == "object":
            assert one["additionalProperties"] is False, name
            assert set(one["required"]) <= set(one["properties"]), name


def test_every_passage_and_source_is_an_exact_slice(rules: Path) -> None:
    found = retrieved(rules)
    texts = {name: (rules / "corpus" / name).read_bytes().decode() for name in FILES}

    assert found["query"] == QUESTION
    assert found["status"] == "success"
    for one in found["passages"]:
        assert texts[one["doc_id"]][one["start"] : one["end"]] == one["content"]
        assert one["chunk_id"] == f"{one['doc_id']}:{one['start']}-{one['end']}"
    for one in found["sources"]:
        block = found["context"].split("[SOURCE ")[one["number"]]
        assert texts[one["doc_id"]][one["start"] : one["end"]] in block


def test_a_conflict_is_named_with_both_sides(rules: Path) -> None:
    (conflict,) = retrieved(rules)["conflicts"]

    assert [one["says"] for one in conflict["statements"]] == ["six (6) feet", "seven (7) feet"]


def test_a_day_changes_what_is_in_force(rules: Path) -> None:
    found = retrieved(rules, "--as-of", "2021-01-01")

    assert found["filters"] == {"as_of": "2021-01-01"}
    assert {one["doc_id"] for one in found["passages"]} == {"ccr.md", "city.md"}
    assert all(one["superseded_by"] is None for one in found["passages"])


def test_a_day_that_is_none_is_refused(rules: Path) -> None:
    ran = run("retrieve", QUESTION, "--index", rules / "index", "--as-of", "yesterday")

    assert ran.code == 1
    assert "YYYY-MM-DD" in ran.talk


def test_ask_takes_a_day_as_well(rules: Path) -> None:
    def first(*arguments: str) -> str:
        ran = run("ask", QUESTION, "--index", rules / "index", "--json", "--type", "ccr", *arguments)
        return str(ran.object["answer_sentences"][0]["text"])

    assert "six (6)" in first()
    assert "five (5)" in first("--as-of", "2021-01-01")


def test_the_context_alone_is_data_and_the_warning_is_talk(rules: Path) -> None:
    ran = run("retrieve", QUESTION, "--index", rules / "index", "--context", "--doc", "ccr.md")

    assert ran.text.startswith("[SOURCE 1]\nDocument: Declaration\n")
    assert "Superseded-by: " in ran.text
    assert ran.text.endswith("\n\n---\n")
    assert "superseded" in ran.talk


def test_the_context_and_the_json_hold_the_same(rules: Path) -> None:
    ran = run("retrieve", QUESTION, "--index", rules / "index", "--context")

    assert ran.text == retrieved(rules)["context"]


def test_json_and_context_together_are_wrong_usage(rules: Path) -> None:
    assert run("retrieve", QUESTION, "--index", rules / "index", "--context", "--json").code == 2


def test_at_most_so_many_passages(rules: Path) -> None:
    assert len(retrieved(rules, "--max", "1")["passages"]) == 1


def test_the_terminal_shows_badges_labels_and_conflicts(rules: Path) -> None:
    text = run("retrieve", QUESTION, "--index", rules / "index", "--why").text

    assert "First Amendment" in text and "[binding]" in text
    assert "superseded by amendment.md" in text
    assert "Conflict about" in text
    assert "ordered by" in text


def test_an_answer_shows_where_its_rule_stands_and_what_it_is_worth(rules: Path) -> None:
    text = run("ask", QUESTION, "--index", rules / "index").text

    assert "First Amendment, §1 · binding" in text
    assert "Conflict about" in text


def test_the_stages_are_timed_on_request(rules: Path) -> None:
    ran = run("retrieve", QUESTION, "--index", rules / "index", "--timings", "--json", "--set", "cache.memory_mb=0")

    assert all(stage in ran.talk for stage in ("analyse", "search", "passages", "rerank", "choose", "context"))
    assert "ms" not in ran.text


def test_nothing_found_is_said_and_no_error(rules: Path) -> None:
    ran = run("retrieve", "photosynthesis of algae", "--index", rules / "index", "--set", "context.nothing=0.9")

    assert ran.code == 0
    assert ran.text.startswith("Nothing found.")


def test_a_judging_model_over_http_has_the_last_word(rules: Path) -> None:
    with FakeOpenAI() as server:
        settings = {"QUOTH_RERANK_KIND": "llm", "QUOTH_LLM_BASE_URL": server.base_url}
        found = retrieved(rules, "--why", variables=settings)

    assert found["degraded"] == []
    assert found["trace"]["reranker"] == "llm"
    assert found["trace"]["usage"]["model"] == "gpt-4o"
    assert all(one["reasoning"] for one in found["passages"])


@pytest.mark.parametrize("mode", ["garbage", "wrong_json", "rude", "down", "status:429", "status:500", "slow"])
def test_a_judging_model_that_fails_leaves_the_order_before_it(rules: Path, mode: str) -> None:
    plain = retrieved(rules)
    with FakeOpenAI() as server:
        server.behave(mode, **({"seconds": 30} if mode == "slow" else {}))
        settings = {
            "QUOTH_RERANK_KIND": "llm",
            "QUOTH_LLM_BASE_URL": server.base_url,
            "QUOTH_LLM_SECONDS": "0.5",
            "QUOTH_LLM_RETRIES": "1",
        }
        found = retrieved(rules, variables=settings)

    assert found["degraded"] == ["rerank"]
    assert "The judging model could not be used" in found["warning"]
    assert [one["chunk_id"] for one in found["passages"]] == [one["chunk_id"] for one in plain["passages"]]


def _questions(place: Path, count: int) -> Path:
    text = str(FILES["city.md"])
    gold = "A fence in a rear yard shall not exceed seven (7) feet in height."
    start = text.index(gold)
    lines = [
        {
            "id": str(number),
            "question": f"How high may a fence be in a rear yard, number {number}?",
            "answerable": True,
            "gold": [{"doc_id": "city.md", "start": start, "end": start + len(gold), "text": gold}],
            "gold_mode": "any",
        }
        for number in range(count)
    ]
    place.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return place


def test_the_checklist_measures_each_part(rules: Path, tmp_path: Path) -> None:
    questions = _questions(tmp_path / "questions.jsonl", 10)
    ran = run("check", questions, "--index", rules / "index", "--json", "-q")
    points = {one["name"]: one for one in ran.object["points"]}

    assert list(points) == [
        "vector search finds relevant passages",
        "full text finds exact terminology",
        "hybrid beats either alone",
        "reranking lifts the right passages",
        "the context fits its budget",
        "end-to-end latency",
    ]
    assert points["full text finds exact terminology"]["passed"] is True
    assert points["the context fits its budget"]["passed"] is True
    assert ran.code == (0 if ran.object["passed"] else 1)


def test_a_point_that_fails_makes_the_command_fail(rules: Path, tmp_path: Path) -> None:
    questions = _questions(tmp_path / "questions.jsonl", 10)
    ran = run("check", questions, "--index", rules / "index", "-q", "--set", "rerank.kind=none")

    assert ran.code == 1  # without a reranker nothing is lifted
    assert "FAIL" in ran.text


def test_too_few_questions_cannot_check(rules: Path, tmp_path: Path) -> None:
    ran = run("check", _questions(tmp_path / "questions.jsonl", 9), "--index", rules / "index", "-q")

    assert ran.code == 1
    assert "at least 10" in ran.talk


def test_the_quality_of_a_file_of_questions(rules: Path, tmp_path: Path) -> None:
    questions = _questions(tmp_path / "questions.jsonl", 3)
    found = run("status", "--quality", "--questions", questions, "--index", rules / "index", "--json", "-q").object

    assert found["summary"]["queries"] == 3
    assert set(found["summary"]["measures"]) == {"top1", "relevant", "full_text_only", "vector_only"}
    assert found["questions"][0]["question"].endswith("number 0?")


def test_lines_that_cannot_be_read_or_asked_are_named(rules: Path, tmp_path: Path) -> None:
    questions = tmp_path / "questions.jsonl"
    questions.write_text('{"question": "How high?"}\n{"quest": 1}\n{"question": "!!!"}\n', encoding="utf-8")
    ran = run("status", "--quality", "--questions", questions, "--index", rules / "index", "--json", "-q")

    assert ran.code == 1
    assert ran.object["summary"]["queries"] == 1
    assert "line 2" in ran.talk and "question 3" in ran.talk


def test_a_question_that_cannot_be_asked_counts_as_not_found(rules: Path, tmp_path: Path) -> None:
    questions = _questions(tmp_path / "questions.jsonl", 9)
    line = json.loads(questions.read_text(encoding="utf-8").splitlines()[0]) | {"id": "odd", "question": "!!!"}
    questions.write_text(questions.read_text(encoding="utf-8") + "\n" + json.dumps(line), encoding="utf-8")
    ran = run("check", questions, "--index", rules / "index", "--json", "-q")

    assert ran.object["points"][0]["measured"] == "90.0%"


def test_the_query_log_is_opt_in_and_summarised(rules: Path, tmp_path: Path) -> None:
    log = {"QUOTH_LOG_QUERIES": str(tmp_path / "queries.db")}
    retrieved(rules)
    assert not (tmp_path / "queries.db").exists()

    retrieved(rules, variables=log)
    retrieved(rules, variables=log)
    ran = run("status", "--quality", "--index", rules / "index", variables={**HASH, **log})

    assert "2 retrievals" in ran.text
    assert "How high may a fence" in ran.text


def test_without_a_log_or_questions_the_next_step_is_named(rules: Path) -> None:
    ran = run("status", "--quality", "--index", rules / "index")

    assert ran.code == 1
    assert "QUOTH_LOG_QUERIES" in ran.talk


def test_eval_measures_passages_on_request(rules: Path, tmp_path: Path) -> None:
    questions = _questions(tmp_path / "questions.jsonl", 3)
    report = tmp_path / "report.html"
    ran = run("eval", questions, "--index", rules / "index", "--passages", "--json", "--report", report, "-q")

    assert ran.object["passages"]["recall_at_5"] == 1.0
    assert ran.object["passages"]["statuses"]["unanswerable"] == {"success": 0, "low_confidence": 0, "no_results": 0}
    assert "<h2>Passages</h2>" in report.read_text(encoding="utf-8")
