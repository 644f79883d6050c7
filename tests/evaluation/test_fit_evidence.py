"""Fitted evidence: folds that share nothing, and a section that comes back from the settings file as it went in."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from quoth.answer.calibration import check_fit, fit_circumstances
from quoth.cli.evaluation_tables import WEIGHTS_IN_WORDS
from quoth.errors import CalibrationError, SettingsError
from quoth.evaluation.calibrate import put_section
from quoth.evaluation.fit_evidence import SECTION, EvidenceFit, folds_of
from quoth.evaluation.fit_quality import FOLDS, HeldOut, PredictionQuality
from quoth.evaluation.fit_report import fit_json, fit_section, shortfall
from quoth.evaluation.labelled_questions import LabelledQuestion
from quoth.overrides import Overrides, read_settings_file
from quoth.search.logistic import ANSWER_SIGNS, INTERCEPT, SENTENCE_SIGNS, EvidenceModel, Logistic, fitted_model
from quoth.settings import EvidenceSettings
from quoth.types import ModelIdentity

from .samples import GOLD, item

MADE_FOR = fit_circumstances(
    reranker="reader", mode="hybrid", reader="r1", model=ModelIdentity("minilm", "r1", "fp32", 384), store="embedded"
)


def in_document(labelled: LabelledQuestion, doc_id: str) -> LabelledQuestion:
    return replace(labelled, gold=tuple(replace(gold, doc_id=doc_id) for gold in labelled.gold))


def questions(answerable: int, unanswerable: int, *, documents: int) -> list[LabelledQuestion]:
    """Questions spread over so many documents."""
    yes = [in_document(item(f"y{number}", GOLD), f"{number % documents}.md") for number in range(answerable)]
    return [*yes, *(item(f"n{number}") for number in range(unanswerable))]


def quality(log_loss: float) -> PredictionQuality:
    return PredictionQuality(log_loss, 0.9, 0.1)


def made(
    *,
    before: float = 0.5,
    after: float = 0.4,
    margin: float = 0.02,
    constant: float = 0.6,
    answers: float = 0.49,
    well: float = 0.8,
) -> EvidenceFit:
    held_out = HeldOut(quality(before), quality(after), margin, constant)
    return EvidenceFit(
        questions=30,
        answerable=20,
        grouped_by="text",
        in_force=EvidenceModel(Logistic(-1.0, {"reader": 0.5}), Logistic(0.0, {"support": 1.0}), "shipped"),
        sentence=Logistic(-2.0, {"reader": 0.6, "lexical": 0.0001}),
        answer=Logistic(0.5, {"support": 1.0, "missing": -0.2}),
        sentences=held_out,
        answers=HeldOut(quality(0.5), quality(answers), 0.02, 0.6),
        well=(0.8, well),
        made_for=MADE_FOR,
    )


def test_a_text_or_a_document_never_lies_in_two_folds() -> None:
    asked = questions(40, 20, documents=10)
    again = replace(asked[0], question=replace(asked[1].question, id="again"), gold=asked[0].gold)
    folds, grouped_by = folds_of([*asked, again])

    assert grouped_by == "text and document"
    assert set(folds) == set(range(FOLDS))
    by_document = [{folds[at] for at in range(number, 40, 10)} for number in range(10)]
    assert all(len(found) == 1 for found in by_document)
    assert by_document[0] == by_document[1] == {folds[-1]}  # a question has the words of one and the gold of the other
    assert max(folds.count(fold) for fold in range(FOLDS)) <= 16


def test_few_documents_are_not_kept_together() -> None:
    folds, grouped_by = folds_of(questions(40, 20, documents=2))

    assert grouped_by == "text"
    assert [folds.count(fold) for fold in range(FOLDS)] == [12] * FOLDS
    assert [folds[40:].count(fold) for fold in range(FOLDS)] == [4] * FOLDS


@pytest.mark.parametrize(("answerable", "unanswerable"), [(19, 10), (20, 9), (50, 0)])
def test_too_few_questions_are_named_with_how_many_it_takes(answerable: int, unanswerable: int) -> None:
    with pytest.raises(CalibrationError, match="at least 20 and 10") as caught:
        folds_of(questions(answerable, unanswerable, documents=9))

    assert f"{answerable} answerable and {unanswerable} unanswerable" in str(caught.value)
    assert "Label more questions" in caught.value.hint


def test_the_same_few_questions_again_and_again_are_refused() -> None:
    yes, no = item("y", GOLD), item("n")

    with pytest.raises(CalibrationError, match="only 2 different texts"):
        folds_of([yes] * 20 + [no] * 10)


@pytest.mark.parametrize(
    ("before", "after", "margin", "constant", "better"),
    [
        (0.5, 0.4, 0.05, 0.6, True),
        (0.5, 0.4, 0.15, 0.6, False),
        (0.5, 0.6, 0.05, 0.7, False),
        (0.9, 0.5, 0.05, 0.4, False),
    ],
)
def test_a_fit_is_kept_when_it_predicts_clearly_better_than_before_and_better_than_without_features(
    before: float, after: float, margin: float, constant: float, better: bool
) -> None:
    fitted = made(before=before, after=after, margin=margin, constant=constant)
    result = fit_json(fitted, written=None)

    assert fitted.better is result["better"] is better
    assert (result["message"] is None) is better


def test_a_fit_that_is_clearly_better_for_sentences_must_not_be_worse_for_answers() -> None:
    assert made(answers=0.49).better
    assert not made(answers=0.51).better


def test_a_fit_that_decides_fewer_questions_well_is_not_kept() -> None:
    worse = made(well=0.7)

    assert not worse.better
    assert "0.700 of the questions are decided well (in force 0.800)" in shortfall(worse)[0]


def test_weights_of_answers_may_be_fitted_alone() -> None:
    assert not replace(made(answers=0.49), sentences=None).better
    assert replace(made(answers=0.4), sentences=None).better


def test_the_figures_of_a_fit_that_is_not_kept_are_named() -> None:
    why, todo = shortfall(made(before=0.5, after=0.6))

    assert "log loss of sentences is 0.600 ± 0.020 (in force 0.500, without any feature 0.600)" in why
    assert "log loss of answers is 0.490 ± 0.020 (in force 0.500, without any feature 0.600)" in why
    assert "unanswerable" in todo


def test_the_weights_come_back_from_the_settings_file(tmp_path: Path) -> None:
    fitted = made()
    path = tmp_path / "quoth.yaml"
    path.write_text("selection: {max_sentences: 4}\n")
    put_section(path, SECTION, fit_section(fitted))
    settings = Overrides(read_settings_file(path), {}, {}).over({}, profile="general")
    model = fitted_model(settings.evidence)

    assert settings.selection.max_sentences == 4
    assert (model.sentence, model.answer) == (fitted.sentence, fitted.answer)
    assert model.revision.startswith("fitted ")
    assert settings.evidence.questions == 30
    check_fit(settings.evidence, MADE_FOR)


def test_other_weights_have_another_revision_and_digest() -> None:
    one = EvidenceSettings({"intercept": 0.0, "late": 1.0}, {"intercept": 0.0, "support": 1.0}, 30, MADE_FOR)
    other = replace(one, answer={"intercept": 0.1, "support": 1.0})

    assert fitted_model(one).revision != fitted_model(other).revision


@pytest.mark.parametrize("weights", [{"late": 1.0}, {"intercept": 1.0}, {"intercept": 1.0, "charm": 2.0}])
def test_weights_that_make_no_model_are_refused(weights: dict[str, float]) -> None:
    with pytest.raises(SettingsError, match=r"evidence\.sentence must hold an intercept") as caught:
        fitted_model(EvidenceSettings(weights, {"intercept": 0.0, "support": 1.0}, 30, MADE_FOR))

    assert "quoth fit" in caught.value.hint


def test_weights_for_another_reader_are_refused_with_the_way_out() -> None:
    evidence = EvidenceSettings({"intercept": 0.0, "late": 1.0}, {"intercept": 0.0, "support": 1.0}, 30, MADE_FOR)

    with pytest.raises(CalibrationError, match=r"reader \(r1 then, r2 now\)") as caught:
        check_fit(evidence, MADE_FOR | {"reader": "r2"})

    assert "quoth fit" in caught.value.hint
    assert "evidence.sentence={}" in caught.value.hint
    check_fit(EvidenceSettings(), MADE_FOR | {"reader": "r2"})


def test_every_weight_can_be_told_in_words() -> None:
    assert {INTERCEPT, *SENTENCE_SIGNS, *ANSWER_SIGNS} <= WEIGHTS_IN_WORDS.keys()
