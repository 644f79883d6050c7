"""Units that a question names for its answer, and whether a text speaks of any."""

from __future__ import annotations

import pytest

from quoth.language.asked_quantities import asked_units, speaks_in


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How many pounds of nitrogen per acre does corn need?", [("pounds", "mass"), ("acre", "area")]),
        ("About how many days before harvest?", [("days", "time")]),
        ("According to the guide, how much sulphur per litre?", [("litre", "volume")]),
        ("How many dogs may I keep?", []),
        ("How many plants per square metre?", []),
        ("Which method tells how many gallons per hour to set?", []),
        ("Why does a crop use less water per day?", []),
    ],
)
def test_only_a_question_for_an_amount_names_its_units(question: str, expected: list[tuple[str, str]]) -> None:
    assert list(asked_units(question)) == expected


@pytest.mark.parametrize(
    ("text", "dimension"),
    [
        ("Apply 150 lb N/acre.", "mass"),
        ("Apply 150 lb N/acre.", "area"),
        ("Give it 3 g each.", "mass"),
        ("Pay $5.", "dollar"),
        ("Within forty-five (45) days.", "time"),
        ("Every two years.", "time"),
        ("Water it daily.", "time"),
        ("A yield in kg/ha.", "mass"),
        ("About 8% of it.", "share"),
    ],
)
def test_a_text_speaks_in_a_unit_in_figures_in_words_or_as_a_rate(text: str, dimension: str) -> None:
    assert speaks_in(text, dimension)


@pytest.mark.parametrize(
    ("text", "dimension"), [("Apply 150 lb N/acre.", "volume"), ("A good guide.", "mass"), ("Sow 4 cm deep.", "time")]
)
def test_a_text_does_not_speak_in_other_units(text: str, dimension: str) -> None:
    assert not speaks_in(text, dimension)
