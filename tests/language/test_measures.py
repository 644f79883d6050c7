"""Measures: what a question wants to have measured, and which texts could say it."""

from __future__ import annotations

import pytest

from quoth.language.asked_quantities import asked_dimensions, asks_for_a_number, could_state


@pytest.mark.parametrize(
    ("question", "dimensions"),
    [
        ("How deep is canola sown?", {"length"}),
        ("How long is the pause?", {"length", "time", "month"}),
        ("How many pounds of nitrogen per acre?", {"mass/area"}),
        ("How many days before harvest?", {"time"}),
        ("At what temperature?", {"temperature"}),
        ("What is the fee?", {"dollar", "euro", "sterling"}),
        ("Why is canola sown?", set()),
    ],
)
def test_the_words_of_a_question_tell_what_it_wants_measured(question: str, dimensions: set[str]) -> None:
    assert asked_dimensions(question) == dimensions


@pytest.mark.parametrize(
    ("question", "number"),
    [
        ("How deep is canola sown?", True),
        ("What seeding rate suits rye?", True),
        ("What is the maximum height?", True),
        ("How is canola sown?", False),
        ("What are the risks?", False),
    ],
)
def test_some_questions_only_a_number_can_answer(question: str, *, number: bool) -> None:
    assert asks_for_a_number(question) is number


@pytest.mark.parametrize(
    ("text", "possible"),
    [
        ("Sow at 2.5 cm.", True),
        ("Canola | 1.2-2.5 | 4", True),
        ("Sow two to three centimetres down.", True),
        ("Sow 5 kg/ha.", False),
        ("Sow by 10 October 2021.", False),
        ("Sow in no-till stubble.", False),
        ("Sow shallow.", False),
    ],
)
def test_a_text_could_state_a_depth(text: str, *, possible: bool) -> None:
    assert could_state(text, "How deep is canola sown?") is possible


def test_where_no_number_is_asked_for_any_text_will_do() -> None:
    assert could_state("Sow shallow.", "How is canola sown?")
