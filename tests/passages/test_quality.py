from __future__ import annotations

import json
from dataclasses import replace
from itertools import permutations

import pytest

from quoth.passages.quality import (
    Grade,
    MeasureSummary,
    Quality,
    QualityMeasure,
    quality_json,
    quality_of,
    summary_json,
    summary_of,
)
from quoth.passages.quality import (
    SourceRelevance as Relevance,
)
from quoth.types import FoundBy, Status
from retrievals import retrieval

BOTH, VECTOR, FULL_TEXT = FoundBy.BOTH, FoundBy.VECTOR, FoundBy.FULL_TEXT

# Fractions of powers of two, so that sums are exact.
GOOD = retrieval((BOTH, 0.875), (VECTOR, 0.8125), (FULL_TEXT, 0.75), (VECTOR, 0.5), (BOTH, 0.5), (FULL_TEXT, 0.375))
NOTHING = retrieval(status=Status.NO_RESULTS)


def sample() -> Quality:
    return quality_of(GOOD)


def test_the_signs_of_a_retrieval() -> None:
    assert quality_of(GOOD) == Quality(
        status=Status.SUCCESS,
        top1=0.875,
        relevant=3,
        full_text_only=1,
        vector_only=2,
        sources={
            BOTH: Relevance(2, 1.375),
            VECTOR: Relevance(2, 1.3125),
            FULL_TEXT: Relevance(2, 1.125),
        },
        degraded=(),
    )
    assert [quality_of(GOOD).grade(measure) for measure in QualityMeasure] == [Grade.TARGET] * 4
    assert quality_of(GOOD).flags == ()


def test_the_order_is_taken_as_given() -> None:
    quality = quality_of(
        retrieval((VECTOR, 0.4), (BOTH, 0.9), (BOTH, 0.8), (BOTH, 0.7), (BOTH, 0.6), (FULL_TEXT, 0.99))
    )

    assert quality.top1 == 0.4
    assert (quality.vector_only, quality.full_text_only) == (1, 0)
    assert quality.sources[FULL_TEXT] == Relevance(1, 0.99)


def test_nothing_found_is_red_throughout() -> None:
    quality = quality_of(NOTHING)

    assert quality.top1 == 0.0
    assert quality.flags == ("top1_low", "relevant_few", "full_text_only_none", "vector_only_none")
    assert {source: tally.mean for source, tally in quality.sources.items()} == dict.fromkeys(FoundBy)


@pytest.mark.parametrize(
    ("top1", "grade"),
    [(0.0, "red"), (0.4999, "red"), (0.5, "ok"), (0.75, "ok"), (0.7501, "target"), (1.0, "target")],
)
def test_the_grade_of_the_first(top1: float, grade: str) -> None:
    quality = replace(sample(), top1=top1)

    assert quality.grade(QualityMeasure.TOP1) == grade
    assert ("top1_low" in quality.flags) == (grade == "red")


@pytest.mark.parametrize(
    ("measure", "grades"),
    [
        (QualityMeasure.RELEVANT, ["red", "red", "ok", "target", "target", "target"]),
        (QualityMeasure.FULL_TEXT_ONLY, ["red", "target", "target", "ok", "ok", "red"]),
        (QualityMeasure.VECTOR_ONLY, ["red", "ok", "target", "target", "ok", "red"]),
    ],
)
def test_the_grades_of_counts(measure: QualityMeasure, grades: list[str]) -> None:
    counts = range(6)
    many = [replace(sample(), relevant=count, full_text_only=count, vector_only=count) for count in counts]

    assert [one.grade(measure) for one in many] == grades


def test_every_flag_has_its_name() -> None:
    empty = replace(sample(), top1=0.1, relevant=1, full_text_only=0, vector_only=5)
    full = replace(sample(), full_text_only=5, vector_only=0)

    assert empty.flags == ("top1_low", "relevant_few", "full_text_only_none", "vector_only_all")
    assert full.flags == ("full_text_only_all", "vector_only_none")


def test_just_at_the_bound_is_not_above_it() -> None:
    assert quality_of(retrieval((BOTH, 0.6), (BOTH, 0.6000001))).relevant == 1


def test_many_together() -> None:
    weak = retrieval((FULL_TEXT, 0.375), (FULL_TEXT, 0.25), status=Status.LOW_CONFIDENCE, degraded=("dense",))
    summary = summary_of(quality_of(one) for one in (GOOD, weak, NOTHING, GOOD))

    assert summary.queries == 4
    assert summary.measures[QualityMeasure.TOP1] == MeasureSummary(0.53125, 0.625, 0.5, 0.5)
    assert summary.measures[QualityMeasure.RELEVANT] == MeasureSummary(1.5, 1.5, 0.5, 0.5)
    assert summary.measures[QualityMeasure.FULL_TEXT_ONLY] == MeasureSummary(1.0, 1.0, 0.75, 0.25)
    assert summary.measures[QualityMeasure.VECTOR_ONLY] == MeasureSummary(1.0, 1.0, 0.5, 0.5)
    assert summary.sources == {
        BOTH: Relevance(4, 2.75),
        VECTOR: Relevance(4, 2.625),
        FULL_TEXT: Relevance(6, 2.875),
    }
    assert summary.statuses == {Status.SUCCESS: 2, Status.LOW_CONFIDENCE: 1, Status.NO_RESULTS: 1}
    assert summary.flags == {"full_text_only_none": 1, "relevant_few": 2, "top1_low": 2, "vector_only_none": 2}
    assert summary.degraded == 1


def test_the_order_of_many_makes_no_difference() -> None:
    many = [quality_of(retrieval((BOTH, 0.1 * number), (VECTOR, 0.7 / (number + 1)))) for number in range(5)]

    assert len({json.dumps(summary_json(summary_of(order))) for order in permutations(many)}) == 1


def test_none_at_all() -> None:
    summary = summary_of([])

    assert (summary.queries, summary.measures, summary.degraded) == (0, {}, 0)
    assert summary_json(summary) == {
        "queries": 0,
        "measures": {},
        "sources": {source: {"count": 0, "mean_relevance": None} for source in ("both", "vector", "full_text")},
        "statuses": {"success": 0, "low_confidence": 0, "no_results": 0},
        "flags": {},
        "degraded": 0,
    }


def test_a_quality_as_json() -> None:
    quality = quality_of(retrieval((BOTH, 0.76543), (FULL_TEXT, 1 / 3), degraded=("dense",)))

    assert json.loads(json.dumps(quality_json(quality))) == {
        "status": "success",
        "measures": {
            "top1": {"value": 0.7654, "grade": "target"},
            "relevant": {"value": 1, "grade": "red"},
            "full_text_only": {"value": 1, "grade": "target"},
            "vector_only": {"value": 0, "grade": "red"},
        },
        "sources": {
            "both": {"count": 1, "mean_relevance": 0.7654},
            "vector": {"count": 0, "mean_relevance": None},
            "full_text": {"count": 1, "mean_relevance": 0.3333},
        },
        "degraded": ["dense"],
        "flags": ["relevant_few", "vector_only_none"],
    }


def test_a_summary_as_json() -> None:
    content = summary_json(summary_of([quality_of(GOOD), quality_of(NOTHING)]))

    assert content["queries"] == 2
    assert content["measures"]["top1"] == {"mean": 0.4375, "median": 0.4375, "on_target": 0.5, "red": 0.5}
    assert content["sources"]["full_text"] == {"count": 2, "mean_relevance": 0.5625}
    assert json.loads(json.dumps(content)) == content
