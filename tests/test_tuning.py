"""The tables of docs/tuning.md: what they count, where they go, and that the page has a place for each."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import tuning
from evaluation.samples import abstention, answer, item, quote, six
from quoth.overrides import Overrides

ROOT = Path(__file__).parents[1]

PAGE = (ROOT / "docs" / "tuning.md").read_text(encoding="utf-8")


def test_a_threshold_answers_what_is_as_sure_as_it_or_surer() -> None:
    loose, middle, strict = tuning.threshold_points(six(), [0.5, 0.8, 0.95])

    # Four answerable questions, three of them right, at 0.9, 0.8, 0.7 and 0.6; an unanswerable one at 0.5.
    assert (loose.answered, loose.false, loose.right, loose.refused) == (5 / 6, 1 / 2, 3 / 5, 0.0)
    assert (middle.answered, middle.false, middle.right, middle.refused) == (2 / 6, 0.0, 1.0, 1 / 2)
    assert (strict.answered, strict.false, strict.refused) == (0.0, 0.0, 1.0)
    assert math.isnan(strict.right)


def test_what_another_check_refuses_is_answered_at_no_threshold() -> None:
    refused = abstention(item("q", (10, 20)), 0.9, quote(10, 20))

    assert tuning.threshold_points([refused], [0.0])[0].answered == 0.0


def test_the_figures_are_those_of_the_evaluation_and_a_few_more() -> None:
    figures = tuning.figures_of(six())

    assert figures["hit@1"] == 0.5
    assert figures["right_of_answers"] == pytest.approx(3 / 5)
    assert figures["refused"] == 0.0
    assert figures["found"] == 3 / 4


def test_an_answer_to_a_set_without_unanswerable_questions_has_no_false_answers_to_count() -> None:
    only = [answer(item("q", (10, 20)), 0.9, quote(10, 20))]

    assert tuning.rows_of([("x", tuning.figures_of(only))], [("false answers", "false_answer_rate")]) == [["x", "-"]]


def test_the_value_in_force_has_a_row_of_its_own_and_is_bold() -> None:
    values = tuning.with_current((0.3, 0.4), 0.25)

    assert [tuning.labelled_value(value, 0.25) for value in values] == ["**0.25**", "0.30", "0.40"]
    assert tuning.with_current((0.3, 0.4), 0.4) == [0.3, 0.4]
    assert tuning.labelled_value(6, 6) == "**6**"


def test_a_table_is_markdown() -> None:
    assert tuning.table(["a", "b"], [["x", "1"]]) == "| a | b |\n|---|---:|\n| x | 1 |"


@pytest.mark.parametrize(
    ("cosine", "band"), [(0.69, "below 0.70"), (0.70, "0.70 to 0.82"), (0.82, "0.70 to 0.82"), (0.83, "above 0.82")]
)
def test_every_cosine_has_a_band(cosine: float, band: str) -> None:
    assert tuning.band_of(cosine) == band


def test_bands_count_pairs_and_those_with_the_same_gold() -> None:
    pairs = [
        tuning.Pair(0.5, golden=False, same=False),
        tuning.Pair(0.9, golden=True, same=True),
        tuning.Pair(0.9, golden=True, same=False),
        tuning.Pair(1.0, golden=False, same=False),
    ]

    assert tuning.band_table(pairs).splitlines()[2:] == [
        "| below 0.70 | 1 | 0.250 | 0 | - |",
        "| 0.70 to 0.82 | 0 | 0.000 | 0 | - |",
        "| above 0.82 | 3 | 0.750 | 2 | 0.500 |",
    ]


def test_a_limit_takes_questions_from_all_over_the_set() -> None:
    items = [item(str(number)) for number in range(10)]

    assert [one.question.id for one in tuning.spaced(items, 3)] == ["0", "3", "6"]
    assert tuning.spaced(items, None) == tuning.spaced(items, 99) == tuple(items)


def test_a_part_replaces_what_stands_between_its_markers() -> None:
    page = (
        "a\n<!-- measured:begin x -->\nold\n<!-- measured:end -->\nb\n<!-- measured:begin y -->\n<!-- measured:end -->"
    )
    once = tuning.fill(page, {"x": "new"})

    assert once.startswith("a\n<!-- measured:begin x -->\n\nnew\n\n<!-- measured:end -->\nb\n<!-- measured:begin y -->")
    assert tuning.fill(once, {"x": "new"}) == once
    with pytest.raises(SystemExit, match="no place for z"):
        tuning.fill(page, {"z": "new"})


def test_the_page_has_a_place_for_every_part_and_for_no_other() -> None:
    assert sorted(re.findall(r"<!-- measured:begin (\S+) -->", PAGE)) == sorted(tuning.PARTS)
    assert PAGE.count("<!-- measured:end -->") == len(tuning.PARTS)


def test_the_presets_of_the_page_can_be_set() -> None:
    presets = tuning.presets_of(PAGE)

    assert list(presets) == ["more precision", "more recall", "more diversity"]
    digests = {Overrides({}, {}, flags).over({}, profile="general").digest for flags in ({}, *presets.values())}
    assert len(digests) == 4


def test_the_chart_is_a_picture_of_every_set() -> None:
    picture = tuning.chart({"one": tuning.threshold_points(six(), tuning.THRESHOLDS), "none": []})

    root = ET.fromstring(picture)  # noqa: S314 - made here
    assert sum(element.tag.endswith("polyline") for element in root) == 4
    assert "nan" not in picture
