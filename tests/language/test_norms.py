"""What a sentence lays down: bounds, values and permissions, each with the case that it is for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.answer.conflicts.norm_clauses import Stance
from quoth.answer.conflicts.norm_words import headings_of, separated_by_headings, stem, wording
from quoth.answer.conflicts.norms import Bound, norms
from quoth.language.quantities import normalise_numbers, stated_quantities


def said(text: str) -> list[tuple[str, str]]:
    """Each norm of a sentence: its words and its role."""
    return [(text[one.span.start : one.span.end], str(one.bound or one.stance)) for one in norms(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("No fence shall exceed six (6) feet.", ("six (6) feet", Bound.MOST)),
        ("A fence must not be higher than 2 m.", ("2 m", Bound.MOST)),
        ("Reports shall be filed no later than 30 days after the audit.", ("30 days", Bound.MOST)),
        ("Reports shall be filed within ten days.", ("ten days", Bound.MOST)),
        ("The maximum load of the lift is 500 kg.", ("500 kg", Bound.MOST)),
        ("Doors must be less than 1 m wide.", ("1 m", Bound.MOST)),
        ("Passwords must have at least twelve characters.", ("twelve characters", Bound.LEAST)),
        ("Passwords must have no fewer than 8 characters.", ("8 characters", Bound.LEAST)),
        ("A minimum of two weeks is required.", ("two weeks", Bound.LEAST)),
        ("The fee for a copy is $20.", ("$20", Bound.VALUE)),
        ("Bulbs should be planted at a depth of two to four inches.", ("two to four inches", Bound.VALUE)),
        ("Seeding depth: 2-3 cm", ("2-3 cm", Bound.VALUE)),
        ("A shed of more than 120 square feet shall be painted.", None),
        ("If the fence exceeds four feet, it shall be painted.", None),
        ("In the trial the plants were 30 cm high.", None),
        ("Frames shall be 20 cm by 30 cm.", None),
    ],
)
def test_the_role_of_a_number_is_read_from_the_words_around(text: str, expected: tuple[str, str] | None) -> None:
    assert [one for one in said(text) if one[1] in set(Bound)] == ([expected] if expected else [])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Dogs are prohibited.", ("prohibited", Stance.FORBIDDEN)),
        ("No dog shall be kept.", ("No dog shall be kept", Stance.FORBIDDEN)),
        ("Tenants may not keep dogs.", ("may not keep", Stance.FORBIDDEN)),
        ("Dogs are not allowed.", ("not allowed", Stance.FORBIDDEN)),
        ("Dogs are welcome.", ("are welcome", Stance.ALLOWED)),
        ("Tenants may keep dogs.", ("may keep", Stance.ALLOWED)),
        ("Dogs are allowed with the consent of the owner.", ("with the consent", Stance.CONSENT_NEEDED)),
        ("No dog shall be kept without written permission.", ("without written permission", Stance.CONSENT_NEEDED)),
        ("A dish may be installed without approval.", ("without approval", Stance.CONSENT_FREE)),
        ("No permit is required for a shed.", ("No permit is required", Stance.CONSENT_FREE)),
        ("A shed requires a permit.", ("requires a permit", Stance.CONSENT_NEEDED)),
        ("Dogs are prohibited unless they are on a leash.", None),
        ("Dogs are allowed if they are on a leash.", None),
        ("Fences shall not exceed six feet.", None),
        ("Dogs like to run.", None),
    ],
)
def test_the_stance_of_a_clause(text: str, expected: tuple[str, str] | None) -> None:
    assert [one for one in said(text) if one[1] in set(Stance)] == ([expected] if expected else [])


def test_an_exception_speaks_of_another_case() -> None:
    text = "Fences shall not exceed six feet, except that a pool fence may be seven feet high."

    assert said(text) == [("six feet", Bound.MOST)]


def test_the_condition_that_opens_a_sentence_holds_for_all_of_its_clauses() -> None:
    found = norms("For oak, the width shall be 4 cm, and the thickness of a board shall be 2 cm.")

    assert [sorted(one.words) for one in found] == [["oak"], ["board", "oak"]]


def test_a_conjoined_verb_keeps_its_subject() -> None:
    (found,) = norms("Sheds shall stand in the garden and shall not exceed 3 m in height.")

    assert sorted(found.words) == ["shed"]
    assert found.attribute == "height"


def test_what_another_text_says_is_no_norm() -> None:
    assert norms("Section 7.3 of the Declaration limits fences to five (5) feet.") == ()
    assert norms("Whereas fences shall not exceed five feet;") == ()


def test_who_acts_is_told_from_what_is_ruled() -> None:
    (active,) = norms("The board shall decide an appeal within 30 days.")
    (passive,) = norms("An appeal shall be decided by the board within 30 days.")

    assert active.words == passive.words
    assert active.agents == passive.agents == {stem("board")}


def test_lists_of_alternatives_need_a_conjunction() -> None:
    (group,) = wording("a fence, wall or hedge").lists

    assert [sorted(chunk) for chunk in group] == [["fenc"], ["wall"], ["hedg"]]
    assert wording("on a corner lot, a fence").lists == ()


def test_only_a_particular_thing_is_definite() -> None:
    assert wording("the rear fence").definite
    assert not wording("the maximum height of a fence").definite
    assert not wording("no fence").definite


@pytest.mark.parametrize(
    ("one", "other", "parted"),
    [
        (("Front Yards",), ("Rear Yards",), True),
        (("Existing Fences",), ("Fences",), True),
        (("Solar Systems",), ("Fences",), True),
        (("Interior",), ("Exterior",), True),
        (("Animals",), ("Pets",), False),
        (("Section 1. Replacement of Section 7.3",), ("§ 17.40.030 Height Limits",), False),
        ((), ("Fences and Walls",), False),
    ],
)
def test_headings_part_cases(one: tuple[str, ...], other: tuple[str, ...], *, parted: bool) -> None:
    words = frozenset({stem("fence"), stem("wall")})

    assert separated_by_headings(headings_of(one), headings_of(other), words) is parted


def test_spelled_numbers_are_read_where_they_stand() -> None:
    text = "One hundred twenty (120) days, five feet, two to four inches and Two Million Dollars ($2,000,000)"

    found = stated_quantities(normalise_numbers(text))

    assert [text[one.span.start : one.span.end] for one in found] == [
        "One hundred twenty (120) days",
        "five feet",
        "two to four inches",
        "Two Million Dollars",
        "$2,000,000",
    ]
    assert [round(one.high, 4) for one in found] == [10_368_000, 1.524, 0.1016, 2_000_000, 2_000_000]


def test_a_count_has_what_is_counted_for_its_dimension() -> None:
    found = stated_quantities(normalise_numbers("three (3) household pets, 10 business days and 200 square feet"))

    assert [one.dimension for one in found] == ["count:pet", "count:day", "count:square feet"]


@given(st.text())
def test_levelling_moves_nothing(text: str) -> None:
    assert len(normalise_numbers(text)) == len(text)


_WORDS = st.sampled_from(
    "no a the fence yard shall not exceed may is are six (6) 7 feet, $5 or and ; except unless if for within § Section"
    " 7.3 by without approval prohibited more than up to".split(" ")
)


@given(st.one_of(st.text(), st.lists(_WORDS, max_size=30).map(" ".join)))
def test_what_is_said_lies_in_the_sentence(text: str) -> None:
    assert all(0 <= one.span.start < one.span.end <= len(text) for one in norms(text))
