"""`quoth calibrate`: from labelled questions to settings that are used, and refused where they do not hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from .command_line import Ran, failed, run
from .small_corpus import CANOLA, HALVORSEN, WHEAT, SmallCorpus


def labelled(corpus: SmallCorpus, question: str, doc_id: str, gold: str | None) -> dict[str, Any]:
    if gold is None:
        return {"question": question, "answerable": False, "gold": []}
    start = corpus.source(doc_id).index(gold)
    place = {"doc_id": doc_id, "start": start, "end": start + len(gold), "text": gold}
    return {"question": question, "answerable": True, "gold": [place]}


def write_questions(path: Path, *rows: tuple[dict[str, Any], int]) -> Path:
    """Each row as often as its number says."""
    several = [row for row, count in rows for _ in range(count)]
    path.write_text("".join(json.dumps({"id": str(place), **row}) + "\n" for place, row in enumerate(several)))
    return path


@pytest.fixture
def good(own: SmallCorpus) -> Path:
    """Questions that are answered rightly, and some that a check refuses."""
    canola = labelled(own, "Sow canola at what depth into moist soil?", "canola.md", CANOLA)
    wheat = labelled(own, "Sow wheat at how many cm in October?", "wheat.md", WHEAT)
    refused = labelled(own, HALVORSEN, "canola.md", None)
    return write_questions(own.folder.parent / "good.jsonl", (canola, 60), (wheat, 60), (refused, 10))


def calibrate(corpus: SmallCorpus, questions: Path, *arguments: str) -> Ran:
    return run("calibrate", questions, "--index", corpus.index, *arguments, folder=questions.parent)


def ask(corpus: SmallCorpus, *arguments: str) -> Ran:
    question = "Sow canola at what depth into moist soil?"
    return run("ask", question, "--index", corpus.index, "--json", *arguments, folder=corpus.folder.parent)


def test_the_result_is_shown_written_and_used(own: SmallCorpus, good: Path) -> None:
    before = ask(own).object
    ran = calibrate(own, good)
    after = ask(own).object

    assert ran.code == 0, ran.talk
    assert "certified" in ran.text
    assert "warning: the 130 questions have only 3 different texts" in ran.talk
    assert "120 of 130 questions are answered, 0 of them wrongly" in ran.text
    section = yaml.safe_load((good.parent / "quoth.yaml").read_text())["calibration"]
    assert (section["risk"], section["confidence"], section["questions"]) == (0.05, 0.95, 130)
    assert (section["answered"], section["wrong"]) == (120, 0)
    assert section["made_for"]["store"] == "embedded"
    assert (before["run_notes"]["calibrated"], after["run_notes"]["calibrated"]) == (False, True)
    assert after["answer_sentences"] == before["answer_sentences"]
    assert after["confidence"] != before["confidence"]


def test_the_settings_of_the_user_stay(own: SmallCorpus, good: Path) -> None:
    mine = "# mine\nselection: {max_sentences: 3} # three\n"
    (good.parent / "quoth.yaml").write_text(mine)
    calibrate(own, good)
    first = (good.parent / "quoth.yaml").read_text()
    calibrate(own, good)

    assert first.startswith(mine)
    assert (good.parent / "quoth.yaml").read_text() == first
    assert ask(own).object["run_notes"]["calibrated"]


def test_a_question_below_the_calibrated_threshold_is_declined(own: SmallCorpus, good: Path) -> None:
    calibrate(own, good)
    declined = ask(own, "--set", "calibration.threshold=0.99").object

    assert declined["reason"]["code"] == "low_confidence"
    assert declined["run_notes"]["calibrated"]


def test_a_calibration_for_other_settings_is_refused_with_the_way_out(own: SmallCorpus, good: Path) -> None:
    calibrate(own, good)
    refused = ask(own, "--set", "retrieval.candidates=7")

    assert failed(refused, "retrieval.candidates (50 then, 7 now)", "quoth calibrate", "calibration.threshold=null")
    aside = ask(own, "--set", "retrieval.candidates=7", "--set", "calibration.threshold=null")
    assert aside.object["run_notes"]["calibrated"] is False


def test_another_calibration_takes_the_place_of_one_that_no_longer_holds(own: SmallCorpus, good: Path) -> None:
    calibrate(own, good)
    again = calibrate(own, good, "--set", "retrieval.candidates=7")

    assert again.code == 0, again.talk
    assert ask(own, "--set", "retrieval.candidates=7").code == 0
    assert failed(ask(own), "retrieval.candidates (7 then, 50 now)")


def test_more_documents_leave_a_calibration_in_force(own: SmallCorpus, good: Path) -> None:
    calibrate(own, good)
    (own.folder / "barley.md").write_text("# Barley\n\nSow barley early in spring.\n")
    ingested = run("ingest", own.folder, "--index", own.index, "--profile", own.profile, folder=good.parent)

    assert ingested.code == 0, ingested.talk
    assert ask(own).object["run_notes"]["calibrated"]


def test_a_profile_that_changed_ends_a_calibration(own: SmallCorpus, good: Path) -> None:
    calibrate(own, good)
    own.profile.write_text(own.profile.read_text() + "synonyms:\n- [straw, stubble]\n")
    run("ingest", own.folder, "--index", own.index, "--profile", own.profile, folder=good.parent)

    assert failed(ask(own), "profile (fields, ")


def test_a_dry_run_writes_nothing(own: SmallCorpus, good: Path) -> None:
    ran = calibrate(own, good, "--dry-run")

    assert ran.code == 0, ran.talk
    assert "Nothing was written" in ran.text
    assert not (good.parent / "quoth.yaml").exists()


def test_json_holds_the_whole_table(own: SmallCorpus, good: Path) -> None:
    result = calibrate(own, good, "--json").object

    assert result["certified"] is True
    assert result["written"] == "quoth.yaml"
    assert len(result["thresholds"]) == 100
    chosen = next(one for one in result["thresholds"] if one["threshold"] == result["threshold"])
    assert chosen["certified"] is True
    assert chosen["bound"] == result["bound"] <= result["risk"]
    assert yaml.safe_load((good.parent / "quoth.yaml").read_text())["calibration"]["slope"] == result["slope"]


def test_a_named_settings_file_is_written(own: SmallCorpus, good: Path) -> None:
    (good.parent / "mine.yaml").write_text("# mine\n")
    calibrate(own, good, "--config", "mine.yaml")

    assert (good.parent / "mine.yaml").read_text().startswith("# mine\n\ncalibration:\n")
    assert not (good.parent / "quoth.yaml").exists()


def test_too_few_questions_are_named_with_how_many_it_takes(own: SmallCorpus, good: Path) -> None:
    canola = labelled(own, "Sow canola at what depth into moist soil?", "canola.md", CANOLA)
    few = write_questions(good.parent / "few.jsonl", (canola, 89))

    assert failed(calibrate(own, few), "89 questions, 89 of them answered, are too few", "at least 90", "--risk 0.1")
    assert not (good.parent / "quoth.yaml").exists()


def test_wrong_answers_leave_nothing_certified_and_nothing_written(own: SmallCorpus, good: Path) -> None:
    answered = labelled(own, "Sow canola at what depth into moist soil?", "canola.md", CANOLA)
    trap = labelled(own, "Sow wheat at how many cm in October?", "wheat.md", None)
    bad = write_questions(good.parent / "bad.jsonl", (answered, 60), (trap, 60))
    ran = calibrate(own, bad)
    as_json = calibrate(own, bad, "--json")

    assert (ran.code, as_json.code) == (1, 1)
    assert "error: no threshold keeps the share of wrong answers at or below 0.05" in ran.talk
    assert "hint: Accept more with --risk" in ran.talk
    assert "threshold" in ran.text
    assert as_json.object["certified"] is False
    assert as_json.object["threshold"] is None
    assert as_json.object["message"] in ran.talk
    assert not (good.parent / "quoth.yaml").exists()


def test_a_question_that_cannot_be_asked_stops_the_calibration(own: SmallCorpus, good: Path) -> None:
    ran = calibrate(own, good, "--set", "retrieval.max_question_characters=40")

    assert failed(ran, "questions could not be asked", "take them out")


def test_questions_without_labels_are_refused(own: SmallCorpus, good: Path) -> None:
    plain = good.parent / "plain.txt"
    plain.write_text("How deep?\n")

    assert failed(calibrate(own, plain), "line 1")


def test_questions_in_groups_need_as_many_groups(own: SmallCorpus, good: Path) -> None:
    ran = calibrate(own, good, "--group-by", "text")

    assert failed(ran, "3 groups of questions, 2 of them answered, are too few", "at least 90")
    assert calibrate(own, good, "--group-by", "sentence").code == 2


@pytest.mark.parametrize("option", ["--risk=0", "--risk=0.9", "--confidence=1", "--confidence=0.2"])
def test_a_promise_that_makes_no_sense_is_wrong_usage(own: SmallCorpus, good: Path, option: str) -> None:
    assert calibrate(own, good, option).code == 2
