"""Questions that take something false for granted."""

from __future__ import annotations

import pytest

from quoth.language.quantities import quantities
from stress.premise import false_premises, opposite_premises, premise
from stress.swap import SwapKind


@pytest.mark.parametrize(
    ("sentence", "question"),
    [
        ("Plant corn 4 to 5 cm deep.", "Where does it say to plant corn 4 to 5 cm deep?"),
        ("Canola grows best at pH 6.0-7.0.", "Where does it say that canola grows best at pH 6.0-7.0?"),
        ("(a) A charge of Twenty-Five Dollars ($25) is due.", "Where does it say that a charge of $25 is due?"),
        ("Seed going to new land must be treated.", "Where does it say that seed going to new land must be treated?"),
    ],
)
def test_a_sentence_is_asked_for_its_place(sentence: str, question: str) -> None:
    assert premise(sentence) == question


@pytest.mark.parametrize("sentence", ["| Corn | 4-5 |", "no capital.", 'The "Board" has met.', "Long " * 40 + "one."])
def test_what_is_no_plain_sentence_is_not_asked(sentence: str) -> None:
    assert premise(sentence) is None


def test_a_false_amount_differs_in_number_or_unit_and_is_stated_nowhere() -> None:
    sentence = "Plant corn 4 to 5 cm deep."
    stated = quantities(sentence + " Elsewhere 4 to 5 inches.")
    made = list(false_premises(sentence, stated=stated, seed=1))

    assert {one.kind for one in made} == {SwapKind.NUMBER, SwapKind.UNIT}
    assert {one.after for one in made if one.kind is SwapKind.UNIT} == {"4 to 5 feet"}
    assert all(one.before == "4 to 5 cm" for one in made)


def test_no_share_exceeds_the_whole() -> None:
    made = list(false_premises("Keep 60% of the soil covered.", stated=(), seed=1))

    assert made
    assert all(quantities(one.after)[0].high <= 100 for one in made)


def test_a_statement_is_turned_to_its_opposite() -> None:
    made = [one.question for one in opposite_premises("Short-term rentals are prohibited on every Lot.")]

    assert made == ["Where does it say that short-term rentals are allowed on every Lot?"]
