"""Changed questions: one thing is exchanged for something that the evidence does not hold."""

from __future__ import annotations

import pytest

from stress.swap import Pool, Swap, SwapKind, pool_of, swaps

POOL = pool_of(
    ["Who runs Verdanta Seeds?", "What does Greta Halvorsen advise?", "Is the MON-810 trait sold?"],
    terms=[["canola", "barley", "flax"], ["tomatoes", "onions"]],
)


def changed(question: str, *evidence: str, kind: SwapKind, pool: Pool = POOL) -> list[Swap]:
    made = swaps(question, evidence=evidence, pool=pool, per_kind=5, seed=1)
    return [one for one in made if one.kind is kind]


def test_a_pool_holds_names_and_codes_but_no_places() -> None:
    pool = pool_of(["Who leads Acme Corp in Ohio?", "Is MON-810 sold by Acme Corp?"], places=["Ohio"])

    assert pool == Pool(names=("Acme Corp",), codes=("MON-810",), places=("Ohio",), terms=())


def test_a_name_is_exchanged_for_one_of_the_same_shape() -> None:
    made = changed("What does Helena Marchetti grow?", "Helena Marchetti grows rice.", kind=SwapKind.ENTITY)

    assert {one.after for one in made} == {"Verdanta Seeds", "Greta Halvorsen"}
    assert all(one.before == "Helena Marchetti" and one.stated for one in made)


def test_a_term_is_exchanged_for_another_of_its_kind_in_the_same_number() -> None:
    one = changed("How deep is canola sown?", "Sow canola 2 cm deep, flax 1 cm.", kind=SwapKind.ENTITY)
    many = changed("Why do tomatoes crack?", "Tomatoes crack when it rains.", kind=SwapKind.ENTITY)

    assert [swap.question for swap in one] == ["How deep is barley sown?"]
    assert [swap.question for swap in many] == ["Why do onions crack?"]


def test_a_place_is_exchanged_or_added() -> None:
    exchanged = changed("How many farms are in Ohio?", "Ohio has 900 farms.", kind=SwapKind.PLACE)
    added = changed("How deep is corn sown?", "Sow corn 4 cm deep.", kind=SwapKind.PLACE)

    assert len(exchanged) == len(added) == 5
    assert all(one.before == "Ohio" and one.question == f"How many farms are in {one.after}?" for one in exchanged)
    assert all(one.before == "" and one.question == f"How deep is corn sown in {one.after}?" for one in added)


def test_a_phrase_is_put_in_front_where_the_end_would_not_bear_it() -> None:
    made = changed("What is it made of?", "It is made of clay.", kind=SwapKind.PLACE)

    assert len(made) == 5
    assert all(one.question == f"In {one.after}, what is it made of?" for one in made)


def test_a_year_is_exchanged_for_one_that_the_evidence_does_not_state() -> None:
    years = " ".join(str(year) for year in range(1960, 2030) if year != 1999)

    assert {one.question for one in changed("Who won in 2000?", years, kind=SwapKind.YEAR)} == {"Who won in 1999?"}


def test_a_year_is_added_where_the_question_has_none_and_asks_for_none() -> None:
    made = changed("How many dogs may I keep?", "Two dogs.", kind=SwapKind.YEAR)

    assert made
    assert all(
        f" {one.after} " in one.question and one.question.endswith(", how many dogs may I keep?") for one in made
    )
    assert not changed("In what year was it built?", "It was built in 1990.", kind=SwapKind.YEAR)


def test_what_goes_by_its_number_is_given_another_number() -> None:
    made = changed("Why was Lot 47 refused?", "Lot 47 and Lot 62 were refused.", kind=SwapKind.NUMBER)

    assert made
    assert all(one.question == f"Why was {one.after} refused?" and one.after != "Lot 62" for one in made)


@pytest.mark.parametrize("question", ["May a fence be 12 feet high?", "What if it rains 20 mm?"])
def test_an_amount_that_is_asked_about_is_left_alone(question: str) -> None:
    assert not changed(question, "No fence over 6 feet.", kind=SwapKind.NUMBER)
    assert not changed(question, "No fence over 6 feet.", kind=SwapKind.UNIT)


def test_an_amount_that_is_presumed_gets_another_number_and_another_unit() -> None:
    question, evidence = "Why are fences limited to 6 feet?", "Fences are limited to 6 feet."
    numbers = changed(question, evidence, kind=SwapKind.NUMBER)
    units = changed(question, evidence, kind=SwapKind.UNIT)

    assert numbers
    assert "Why are fences limited to 6 feet?" not in {one.question for one in numbers}
    assert "6 metres" in {one.after for one in units}


def test_an_opposite_counts_unless_the_evidence_speaks_of_it_or_answers_either_way() -> None:
    evidence = "The maximum height is six feet."

    made = changed("What is the maximum height?", evidence, kind=SwapKind.POLARITY)
    assert [one.question for one in made] == ["What is the minimum height?"]
    assert not changed("What is the maximum height?", evidence, "The minimum is 2.", kind=SwapKind.POLARITY)
    assert not changed("Is the maximum height six feet?", evidence, kind=SwapKind.POLARITY)


def test_the_same_seed_gives_the_same_changes_and_another_seed_others() -> None:
    question, evidence = "How deep is canola sown?", ["Sow canola 2 cm deep."]
    first = swaps(question, evidence=evidence, pool=POOL, per_kind=3, seed=1)

    assert swaps(question, evidence=evidence, pool=POOL, per_kind=3, seed=1) == first
    assert swaps(question, evidence=evidence, pool=POOL, per_kind=3, seed=2) != first


def test_nothing_put_in_occurs_in_the_evidence() -> None:
    evidence = ["Sow canola 2 cm deep in Ohio or Iowa in 1990, never flax."]
    made = swaps("How deep is canola sown?", evidence=evidence, pool=POOL, per_kind=40, seed=3)

    assert made
    assert not {one.after for one in made} & {"flax", "Ohio", "Iowa", "1990"}
    assert len({one.question for one in made}) == len(made)
