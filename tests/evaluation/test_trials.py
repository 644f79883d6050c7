"""Judged questions become trials, and what weakens the promise is said."""

from __future__ import annotations

from dataclasses import replace

import pytest

from quoth.errors import CalibrationError
from quoth.evaluation.calibrate import Grouping, crowding, groups_by, trials_of, without_calibration, without_threshold
from quoth.evaluation.certification import CalibrationTrial
from quoth.evaluation.judgements import Judgement, faulty
from quoth.evaluation.labelled_questions import LabelledQuestion
from quoth.overrides import Overrides
from quoth.types import NO_FILTERS, Question


def item(text: str, *, doc_id: str | None = None) -> LabelledQuestion:
    filters = replace(NO_FILTERS, doc_ids=(doc_id,)) if doc_id else NO_FILTERS
    return LabelledQuestion(Question(text, text, filters), answerable=False, gold=(), gold_mode="any")


def judged(*, abstained: bool, right: bool) -> Judgement:
    return replace(faulty(item("How deep?"), ""), fault=None, confidence=0.7, abstained=abstained, right=right)


def test_an_abstention_with_no_threshold_in_force_is_answered_by_none() -> None:
    trials = trials_of([judged(abstained=True, right=False), judged(abstained=False, right=True)])

    assert trials == (
        CalibrationTrial(0.7, answered=False, wrong=True),
        CalibrationTrial(0.7, answered=True, wrong=False),
    )


def test_a_question_that_could_not_be_asked_is_named() -> None:
    with pytest.raises(CalibrationError, match=r"1 of 2 questions could not be asked; question How deep\?: too long"):
        trials_of([judged(abstained=False, right=True), faulty(item("How deep?"), "too long")])


def test_neither_the_threshold_nor_an_earlier_calibration_is_in_force() -> None:
    mine = {"calibration": {"threshold": 0.9}, "decision": {"abstain_score_thresh": 0.8, "support_score": 0.3}}
    overrides = Overrides(mine, {}, {"calibration.slope": "3"})
    plain = without_calibration(overrides).over({}, profile="general")
    free = without_threshold(overrides, {"store": "embedded", "a": '"0.7"'}).over({}, profile="general")

    assert plain.calibration.threshold is None
    assert (free.calibration.threshold, free.calibration.slope, free.calibration.intercept) == (0.0, 1.0, 0.0)
    assert free.calibration.made_for == {"store": "embedded", "a": '"0.7"'}
    assert plain.decision == free.decision
    assert (free.decision.abstain_score_thresh, free.decision.support_score) == (0.8, 0.3)


def test_questions_that_differ_need_no_warning() -> None:
    assert crowding([item(f"Question {place}?") for place in range(10)]) is None
    assert crowding([item(f"Question {place}?", doc_id=f"{place}.md") for place in range(10)]) is None


def test_the_same_words_again_and_again_are_warned_of() -> None:
    warning = crowding([item("How  DEEP?" if place % 2 else "How deep?") for place in range(10)])

    assert warning is not None
    assert "10 questions have only 1 different texts;" in warning


def test_many_questions_about_few_documents_are_warned_of() -> None:
    warning = crowding([item(f"Question {place}?", doc_id=f"{place % 2}.md") for place in range(10)])

    assert warning is not None
    assert "only 2 documents;" in warning


def test_questions_are_grouped_by_their_words_or_by_their_document() -> None:
    items = [item("How deep?", doc_id="a.md"), item("how  DEEP?", doc_id="b.md"), item("How wide?")]
    by_document = groups_by(items, Grouping.DOCUMENT)

    assert groups_by(items, Grouping.NONE) is None
    assert groups_by(items, Grouping.TEXT) == ["how deep?", "how deep?", "how wide?"]
    assert by_document is not None
    assert len(set(by_document)) == 3
