"""A calibration at work: probabilities in the same order, its own threshold, and only where it was made for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from quoth.answer.calibration import (
    calibrated,
    check_calibration,
    circumstances,
    settings_in_force,
    threshold_in_force,
)
from quoth.errors import CalibrationError
from quoth.overrides import with_strings
from quoth.settings import CalibrationSettings, Settings, setting_keys
from quoth.types import Filters, ModelIdentity

MODEL = ModelIdentity("minilm", "r1", "fp32", 384)
PROFILE = ("general", "name: general\n")
SCORES = [0.0, 1e-9, 0.1, 0.25, 0.5, 0.75, 0.9, 0.999, 1.0]


def now(settings: Settings = Settings(), *, model: ModelIdentity = MODEL, store: str = "embedded") -> dict[str, str]:  # noqa: B008 - frozen
    return circumstances(settings, confidence="fused score", model=model, store=store, profile=PROFILE)


def made(*, threshold: float = 0.5, slope: float = 1.0, intercept: float = 0.0) -> CalibrationSettings:
    return CalibrationSettings(threshold=threshold, slope=slope, intercept=intercept, made_for=now())


@pytest.mark.parametrize("score", SCORES)
def test_without_a_calibration_a_confidence_stays_what_it_is(score: float) -> None:
    assert calibrated(score, CalibrationSettings()) == score
    assert threshold_in_force(CalibrationSettings(), plain=0.4) == 0.4


@pytest.mark.parametrize(("slope", "intercept"), [(1.0, 0.0), (0.01, -3.0), (8.0, 20.0), (50.0, -700.0)])
def test_probabilities_lie_between_0_and_1_in_the_order_of_the_scores(slope: float, intercept: float) -> None:
    probabilities = [calibrated(score, made(slope=slope, intercept=intercept)) for score in SCORES]

    assert probabilities == sorted(probabilities)
    assert all(0 <= one <= 1 for one in probabilities)


def test_the_plain_map_leaves_scores_alone_but_for_the_ends() -> None:
    assert [calibrated(score, made()) for score in SCORES] == pytest.approx(SCORES, abs=1e-4)


@pytest.mark.parametrize(
    ("filters", "degraded", "shards", "holds"),
    [
        (Filters(), (), (), True),
        (Filters(doc_ids="a.md"), ("rerank",), (), True),
        (Filters(), ("dense",), (), False),
        (Filters(), (), ("shard 1 of 2",), False),
        (Filters(regions="references"), (), (), False),
    ],
)
def test_a_calibration_holds_for_whole_searches_of_the_whole_text(
    filters: Filters, degraded: tuple[str, ...], shards: tuple[str, ...], holds: bool
) -> None:
    settings = replace(Settings(), calibration=made())
    in_force = settings_in_force(settings, filters, degraded=degraded, missing_shards=shards)

    assert in_force.calibration == (settings.calibration if holds else CalibrationSettings())


def test_the_calibrated_threshold_takes_the_place_of_the_plain_one() -> None:
    settings = replace(Settings(), calibration=made(threshold=0.6, slope=2.0, intercept=-1.0))

    assert threshold_in_force(settings.calibration, plain=0.4) == calibrated(0.6, settings.calibration)


@pytest.mark.parametrize("score", [0.0, 0.31, 0.59994, 0.59996, 0.6, 0.95])
@pytest.mark.parametrize("slope", [0.01, 1.0, 7.0])
def test_the_same_questions_reach_the_threshold_before_and_after_the_map(score: float, slope: float) -> None:
    settings = replace(Settings(), calibration=made(threshold=0.59995, slope=slope, intercept=-0.3))

    reached = calibrated(score, settings.calibration) >= threshold_in_force(settings.calibration, plain=0.4)
    assert reached == (score >= 0.59995)


def test_a_calibration_holds_where_it_was_made() -> None:
    check_calibration(made(), now())
    check_calibration(CalibrationSettings(), now())


@pytest.mark.parametrize(
    ("there", "name"),
    [
        (now(model=replace(MODEL, revision="r2")), "model (minilm, r1, fp32, 384 then, minilm, r2, fp32, 384 now)"),
        (now(store="postgres"), "store (embedded then, postgres now)"),
        (now() | {"profile": "farm, 12"}, "profile (general, "),
        (now() | {"splitter": "0"}, "splitter ("),
        (now() | {"confidence": "another"}, "confidence ("),
        (now() | {"new.setting": "1"}, "new.setting (nothing then, 1 now)"),
        (
            now(with_strings(Settings(), {"selection.max_sentences": "2"}, source="test")),
            "selection.max_sentences (6 then, 2 now)",
        ),
    ],
)
def test_a_calibration_for_something_else_is_refused_by_name(there: dict[str, str], name: str) -> None:
    with pytest.raises(CalibrationError) as caught:
        check_calibration(made(), there)

    assert name in str(caught.value)
    assert "quoth calibrate" in caught.value.hint
    assert "remove" in caught.value.hint


def test_a_calibration_that_does_not_say_what_it_was_made_for_is_refused() -> None:
    with pytest.raises(CalibrationError, match="model"):
        check_calibration(CalibrationSettings(threshold=0.5), now())


FREE = ("store.faiss_threshold=9", "embedding.threads=1", "embedding.batch_size=4", "embedding.path=/elsewhere")
ITS_OWN = ("calibration.threshold=0.3", "retrieval.max_question_characters=9")


@pytest.mark.parametrize("assignment", [*FREE, *ITS_OWN])
def test_what_changes_no_confidence_may_change(assignment: str) -> None:
    key, _, value = assignment.partition("=")

    assert now(with_strings(Settings(), {key: value}, source="test")) == now()


def test_every_other_setting_is_part_of_what_it_was_made_for() -> None:
    sections = {"retrieval", "rerank", "selection", "decision"}
    free = {"retrieval.max_question_characters", "rerank.model", "rerank.download"}  # the confidence names the model

    assert {key for key in setting_keys() if key.partition(".")[0] in sections} - free <= now().keys()


def test_a_calibration_changes_the_digest_only_when_it_is_in_force() -> None:
    assert replace(Settings(), calibration=CalibrationSettings(slope=2.0)).digest == Settings().digest
    assert replace(Settings(), calibration=made()).digest != Settings().digest
